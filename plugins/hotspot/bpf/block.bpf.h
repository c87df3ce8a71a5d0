/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From an address in a heap of code to its block:
 *
 *	segment map     255: free; n: the block begins n segments before, or before that; 0: here
 *	block           HeapBlock::Header (length in segments, used) | CodeBlob ... | code ...
 *
 * Free blocks that are joined leave more hops than one; what they lead to is checked.
 */
#ifndef HOTSPOT_BLOCK_BPF_H
#define HOTSPOT_BLOCK_BPF_H

#include "plugins/hotspot/bpf/scratch.bpf.h"

#define HOTSPOT_MAX_HOPS 64 /* of at most 254 segments each: src/hotspot/share/memory/heap.cpp */
#define HOTSPOT_FREE	 0xff

/* A field of the block that was read: sign-extended from its bytes, 0 where it is absent. */
static __always_inline __u64 get_field(const struct hotspot_walk *w,
				       const struct hotspot_field *field)
{
	__u32 at = (field->off + w->state->block_header_bytes) & 511, shift = field->shift;
	__u64 raw = *(const __u64 *)(w->s->block_bytes + at), sign;

	raw = raw << (shift & 63) >> (shift & 63);
	sign = (__u64)(field->is_signed & 1) << ((63 - shift) & 63);
	raw = (raw ^ sign) - sign;
	return raw & ((__u64)(shift >> 6 & 1) - 1);
}

/* One that every block has, and that is not negative. */
static __always_inline __u64 get_number(const struct hotspot_walk *w,
					const struct hotspot_field *field)
{
	__u32 at = (field->off + w->state->block_header_bytes) & 511;

	return *(const __u64 *)(w->s->block_bytes + at) << (field->shift & 63) >>
	       (field->shift & 63);
}

/*
 * One read of the map's bytes that end at `at`, and hops within them: without branches, all of
 * which a verifier walks. A free segment's is as one that leads out. Before the map there may be
 * nothing to read: then the next hop leads to `at` itself.
 */
static __always_inline __u64 hop_within(const struct hotspot_walk *w, __u64 at)
{
	__u64 last = HOTSPOT_HOPS - 1, i = last;
	__u64 failed =
		(__u64)bpf_probe_read_user(w->s->hops, HOTSPOT_HOPS, (void *)(at - last)) >> 63;

	EP_OPAQUE(failed);
#pragma unroll
	for (__u32 n = 0; n < HOTSPOT_HOPS_WITHIN; n++) {
		__u64 hop = w->s->hops[i & (HOTSPOT_HOPS - 1)], is_out = (i - hop) >> 63;

		EP_OPAQUE(is_out);
		i -= hop & (is_out - 1);
	}
	w->s->hop = (w->s->hops[i & (HOTSPOT_HOPS - 1)] & (failed - 1)) | failed;
	return at + failed - ((last - i) & (failed - 1));
}

/* From where what was read does not reach. */
static __always_inline __u64 hop_on(const struct hotspot_walk *w, __u64 at)
{
	for (__u64 i = 0; i < HOTSPOT_MAX_HOPS; i++) {
		if (bpf_probe_read_user(&w->s->hop, 1, (void *)at))
			w->s->hop = HOTSPOT_FREE;
		if ((__u8)(w->s->hop + 1) <= 1) /* free, or here */
			break;
		at -= w->s->hop;
	}
	return at;
}

/* Where what holds an address of the range that was found begins; 0: nothing does. */
static __always_inline __u64 find_start(const struct hotspot_walk *w, __u64 addr)
{
	__u64 map = w->s->ranges.code.data & HOTSPOT_SEGMAP_MASK;
	__u64 shift = w->s->ranges.code.data >> HOTSPOT_SEGMENT_SHIFT & 31;
	__u64 at = hop_within(w, map + (addr >> shift));

	EP_MEET();
	if ((__u8)(w->s->hop + 1) > 1)
		at = hop_on(w, at - w->s->hop);
	w->s->value = at; /* and not on the stack */
	EP_MEET();
	return w->s->hop ? 0 : (w->s->value - map) << shift;
}

/* By the first eight bytes of the name: src/hotspot/share/code/codeBlob.cpp, nmethod.cpp, 8 to
 * 22. */
static __always_inline __u64 blob_of_name(__u64 name)
{
	__u64 blob = HOTSPOT_BLOB_OTHER;

	if (name == 0x00646f6874656d6eull ||
	    name == 0x6e2065766974616eull) /* "nmethod", "native n" */
		blob = HOTSPOT_BLOB_METHOD;
	if (name == 0x6320656c62617476ull) /* "vtable c" */
		blob = HOTSPOT_BLOB_VTABLE;
	if (name == 0x204932432f433249ull) /* "I2C/C2I " */
		blob = HOTSPOT_BLOB_ADAPTER;
	if (name == 0x6148646f6874654dull) /* "MethodHa" */
		blob = HOTSPOT_BLOB_MH_ADAPTER;
	return blob;
}

/*
 * Nearly all blocks of a stack have the same name, at one address. One that cannot be read, since
 * its page is not in memory, says nothing: a method must not become a stub by it.
 */
static __always_inline __u64 read_name(const struct hotspot_walk *w)
{
	__u64 name = get_number(w, &w->state->name);

	if (name != w->s->name) {
		w->s->name = 0;
		if (!ep_read_word(name, &w->s->value))
			return HOTSPOT_BLOB_UNREADABLE;
		w->s->name = name;
		w->s->name_blob = blob_of_name(w->s->value);
	}
	return w->s->name_blob;
}

/* Of an absent one: where a block or its code begins, or 0, to none of which a call returns. */
static __always_inline __u64 handler_at(const struct hotspot_walk *w,
					const struct hotspot_field *field)
{
	__u64 how = w->state->deopt_relative;

	return get_field(w, field) + (w->s->block & -(how & 1)) +
	       (w->s->code_begin & -(how >> 1 & 1));
}

/* What each of its frames asks for. */
static __always_inline void look_at_method(const struct hotspot_walk *w)
{
	const struct hotspot_state *state = w->state;

	w->s->frame_bytes = get_number(w, &state->frame_size) * 8;
	w->s->method = get_number(w, &state->method);
	w->s->compiled = HOTSPOT_COMPILED_WORD(get_number(w, &state->compile_id), w->s->method);
	w->s->deopt = handler_at(w, &state->deopt);
	w->s->deopt_mh = handler_at(w, &state->deopt_mh);
}

static __always_inline void classify(const struct hotspot_walk *w)
{
	const struct hotspot_state *state = w->state;
	__u64 base = w->s->block & -(__u64)(state->relative & 1);

	w->s->code_begin = base + get_number(w, &state->code_begin);
	w->s->code_end = base + get_number(w, &state->code_end);
	if (state->has_kind)
		w->s->blob = state->blobs[get_number(w, &state->kind) & (HOTSPOT_MAX_KINDS - 1)];
	else
		w->s->blob = read_name(w);
	if (w->s->blob == HOTSPOT_BLOB_UNREADABLE) /* no address is in its code */
		w->s->code_end = w->s->code_begin;
	look_at_method(w);
}

/* Reads what holds an address; false: it is free. */
static __always_inline bool read_block(const struct hotspot_walk *w, __u64 addr)
{
	const struct hotspot_state *state = w->state;
	__u64 start = find_start(w, addr), length;
	__u64 shift = w->s->ranges.code.data >> HOTSPOT_SEGMENT_SHIFT & 31;

	if (!start)
		return false;
	w->s->block = 0;
	w->s->block_end = 0;
	if (bpf_probe_read_user(w->s->block_bytes, state->block_bytes & 511, (void *)start))
		return false;
	length = *(const __u64 *)w->s->block_bytes;
	length = length << (state->block_length_shift & 63) >> (state->block_length_shift & 63);
	if (!w->s->block_bytes[state->block_used_off & 31] || (addr - start) >> shift >= length)
		return false;
	w->s->block = start + state->block_header_bytes;
	w->s->block_end = start + (length << shift);
	classify(w);
	return true;
}

/*
 * The block whose code an address is in: that of the frame before for recursive ones. Nobody frees
 * what is on the stack of the thread that is sampled, so what was read holds for the sample.
 */
static __always_inline bool find_block(const struct hotspot_walk *w, __u64 addr)
{
	if (addr - w->s->block >= w->s->block_end - w->s->block && !read_block(w, addr))
		return false;
	return addr - w->s->code_begin < w->s->code_end - w->s->code_begin;
}

#endif
