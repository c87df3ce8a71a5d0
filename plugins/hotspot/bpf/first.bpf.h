/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first compiled frame of a walk: the one that was interrupted, or that has called native code. Its
 * sp is not where its frame's size says while it spills registers below the frame, be it for a barrier
 * of a collector, for an intrinsic or (8) around a call. What lies where the return address should be
 * is then an older one, which looks good by itself; it gives itself away by what its call was of:
 *
 *	call rel32 to	this method's code				: good
 *			a stub, an adapter, a method handle linker	: good, it leads to any method
 *			another method's code				: not ours; words above are tried
 *
 * Done once, before the frames.
 */
#ifndef HOTSPOT_FIRST_BPF_H
#define HOTSPOT_FIRST_BPF_H

#include "plugins/hotspot/bpf/block.bpf.h"
#include "plugins/hotspot/bpf/leaf.bpf.h"

/* Compiled frames end at a multiple of 16: src/hotspot/cpu/x86/globalDefinitions_x86.hpp, 8 to 27. */
#define HOTSPOT_FIRST_TRIES 48

/* What the call before a return address, which was read, leads to; 0: another kind of call, or none. */
static __always_inline __u64 get_target(const struct hotspot_walk *w, __u64 addr)
{
	__u64 is_call = 1 ^ is_set((w->b->before ^ 0xe8000000) & 0xff000000);

	return (addr + (__u64)((__s64)w->b->before >> 32)) & -is_call;
}

/* Of the first frame's method: its block is not what was read last any more. */
static __always_inline bool is_in_first(const struct hotspot_walk *w, __u64 addr)
{
	return addr - w->s->first_begin < w->s->first_end - w->s->first_begin;
}

/* May a call of this lead to the first frame's method? */
static __always_inline bool leads_there(const struct hotspot_walk *w, __u64 target)
{
	if (is_in_first(w, target) || !find_range(w, target) ||
	    HOTSPOT_CODE(w->s->code.data) != HOTSPOT_CODE_HEAP || !find_block(w, target) ||
	    w->s->blob != HOTSPOT_BLOB_METHOD)
		return true;
	return !get_field(w, &w->state->frame_size) ||
	       get_field(w, &w->state->method) == w->s->first_method;
}

static __always_inline bool is_callers(const struct hotspot_walk *w)
{
	__u64 addr = w->b->value, target;

	if (!is_near(w, addr) || !read_word(addr - 8, &w->b->before))
		return true; /* the walk sees what it is */
	target = get_target(w, addr);
	if (!target)
		return true;
	w->b->value = target;
	return leads_there(w, w->b->value);
}

/* Words above: the return address of a call of this very method, or one into the interpreter. */
static __always_inline void search_first(const struct hotspot_walk *w)
{
	for (__u64 i = 1; i <= HOTSPOT_FIRST_TRIES; i++) {
		__u64 slot = ((w->s->first_slot + 8) & ~15ull) - 8 + i * 16, addr;

		if (!read_word(slot, &w->b->value))
			return;
		addr = w->b->value;
		if (!is_near(w, addr) || !read_word(addr - 8, &w->b->before))
			continue;
		w->b->value = get_target(w, addr);
		if (is_in_first(w, w->b->value) || addr == w->state->call_stub_return) {
			w->s->first_slot = slot;
			w->s->first_is_searched = 1;
			return;
		}
	}
}

/*
 * Registers were saved by pusha, around a call of C for an x87 intrinsic: it has stored sp as it was five
 * words below that, which tells (src/hotspot/cpu/x86: only 8, macroAssembler_x86.cpp, pusha and
 * fp_runtime_fallback). Below them are vector registers, the argument, and what aligns sp:
 *
 *	sp | 0, 8, 16 | ymm 0, 100h | xmm 0, 100h | 58h: 28h + its own address | 80h: the frame
 */
static __always_inline __u64 pass_pusha(const struct hotspot_walk *w)
{
	static const __u16 offs[] = {0, 0x100, 0x200, 0x208, 0x210};
	__u64 sp = get_sp(w), pushed = 0;

	if (bpf_probe_read_user(w->b->words, 0x218, (void *)(sp + 0x58)))
		return 0;
#pragma clang loop unroll(full)
	for (__u64 i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		__u64 is = 1 ^ is_set(w->b->words[offs[i] / 8] ^ (sp + 0x80 + offs[i]));

		pushed |= (0x80 + offs[i]) & -is;
	}
	w->s->first_slot += pushed;
	return pushed;
}

static __always_inline void check_first(const struct hotspot_walk *w)
{
	w->s->first_begin = w->s->code_begin;
	w->s->first_end = w->s->code_end;
	w->s->first_method = get_field(w, &w->state->method);
	if (read_word(w->s->first_slot, &w->b->value) && !is_callers(w))
		search_first(w);
}

/* Where the first frame's return address is, if it is one of a method. */
static __always_inline void look_at_first(const struct hotspot_walk *w)
{
	struct ep_walk *walk = &w->rec->walk;
	__u64 frame_bytes, complete;

	w->s->first_slot = 0;
	w->s->first_keeps_fp = 0;
	w->s->first_is_searched = 0;
	if (!find_range(w, walk->pc) || HOTSPOT_CODE(w->s->code.data) != HOTSPOT_CODE_HEAP ||
	    !find_block(w, walk->pc - walk->return_address) || w->s->blob != HOTSPOT_BLOB_METHOD)
		return;
	frame_bytes = get_field(w, &w->state->frame_size) * 8;
	if (frame_bytes < 16)
		return;
	complete = walk->pc - w->s->code_begin - get_field(w, &w->state->frame_complete);
	w->s->first_slot = get_sp(w) + frame_bytes - 8;
	HOTSPOT_MEET();
	if (walk->interrupted) {
		read_leaf(w);
		if (find_leaf_slot(w, frame_bytes, complete >> 63))
			return;
	}
	HOTSPOT_MEET();
	if (!pass_pusha(w))
		check_first(w);
}

#endif
