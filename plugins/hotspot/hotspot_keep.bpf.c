/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the names of a recently started JVM's interpreted methods are made of, as
 * symbolize/methods.c reads it; in the first second nearly all frames are interpreted, and what is
 * compiled is named while the process is there.
 *
 *	Method ─► ConstMethod (and its lines, if all of it fits) ─► ConstantPool ─► class ─► Symbol
 *						entries: name, signature, file ─► Symbols
 *
 * A class's own part is sent once.
 */
#include "ebpf-profiler/bpf/keeper.h"
#include "plugins/hotspot/hotspot_shared.h"

EP_KEEPER();

#define HOTSPOT_KEEP_FRAMES 48
#define SYMBOL_BYTES	    64 /* that are read at once: nearly all of most */
#define SYMBOL_MAX_BYTES    256
#define CONST_MAX_BYTES	    512

static __always_inline __u64 word_at(const __u8 *piece, __u32 off)
{
	return *(const __u64 *)(piece + (off & (EP_KEPT_PIECE_BYTES - 8)));
}

/* A u2, which is in one word. */
static __always_inline __u64 half_at(const __u8 *piece, __u32 off)
{
	return word_at(piece, off) >> (8 * (off & 6)) & 0xffff;
}

static __always_inline void keep_symbol(const struct hotspot_state *state, struct ep_keep *keep,
					__u64 addr)
{
	const __u8 *symbol = ep_keep_memory(keep, addr, SYMBOL_BYTES);
	__u64 bytes;

	if (!symbol)
		return;
	bytes = state->symbol_body + half_at(symbol, state->symbol_length);
	if (bytes > SYMBOL_BYTES)
		ep_keep_longer(keep, addr, SYMBOL_BYTES,
			       bytes < SYMBOL_MAX_BYTES ? bytes : SYMBOL_MAX_BYTES);
}

/* An entry of the pool, and the Symbol that it leads to. */
static __always_inline void keep_entry(const struct hotspot_state *state, struct ep_keep *keep,
				       __u64 pool, __u64 number)
{
	const __u8 *entry = ep_keep_memory(keep, pool + state->pool_bytes + 8 * number, 8);

	if (entry)
		keep_symbol(state, keep, *(const __u64 *)entry);
}

static __always_inline void keep_class(const struct hotspot_state *state, struct ep_keep *keep,
				       __u64 pool)
{
	const __u8 *head = ep_keep_memory(keep, pool, state->pool_bytes), *class;
	__u64 file, name, at;

	if (!head)
		return;
	at = word_at(head, state->pool_holder);
	file = state->pool_file ? half_at(head, state->pool_file) : 0;
	class = ep_keep_memory(keep, at, state->class_bytes);
	if (!class)
		return;
	name = word_at(class, state->class_name);
	if (state->class_file)
		file = half_at(class, state->class_file);
	keep_symbol(state, keep, name);
	if (file)
		keep_entry(state, keep, pool, file);
}

static __always_inline void keep_method(const struct hotspot_state *state,
					const struct ep_record *rec, struct ep_keep *keep,
					__u64 method)
{
	const __u8 *head = ep_keep_memory(keep, method + state->method_const, 8);
	__u64 at, bytes, pool, name, signature;

	if (!head)
		return;
	at = *(const __u64 *)head;
	head = ep_keep_memory(keep, at, state->const_bytes);
	if (!head)
		return;
	bytes = 8 * half_at(head, state->const_words);
	pool = word_at(head, state->const_pool);
	name = half_at(head, state->const_code_size + 2);
	signature = half_at(head, state->const_code_size + 4);
	if (bytes > state->const_bytes && bytes <= CONST_MAX_BYTES)
		ep_keep_longer(keep, at, state->const_bytes, bytes);
	keep_entry(state, keep, pool, name);
	keep_entry(state, keep, pool, signature);
	if (ep_keep_is_new(rec, keep, pool, 0))
		keep_class(state, keep, pool);
}

SEC("perf_event")
int hotspot_keep(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	struct ep_keep *keep = rec ? ep_keep_begin(rec) : NULL;
	const struct hotspot_state *state = rec ? ep_get_state(rec) : NULL;

	for (__u64 i = 0; keep && state && i < HOTSPOT_KEEP_FRAMES; i++) {
		const __u64 *frame = ep_keep_next(rec, keep);

		if (!frame)
			break;
		if (ep_keep_is_mine(frame) &&
		    HOTSPOT_FRAME(EP_FRAME_FLAGS(frame[0])) == HOTSPOT_FRAME_INTERPRETED &&
		    ep_keep_is_new(rec, keep, frame[1], frame[2]))
			keep_method(state, rec, keep, frame[1]);
	}
	if (keep)
		ep_keep_send(rec, keep);
	ep_keep_end(ctx, rec);
	return 0;
}
