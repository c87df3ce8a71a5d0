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
 * and by what is behind it, where that one's frame should end.
 *
 * Done once, before the frames.
 */
#ifndef HOTSPOT_FIRST_BPF_H
#define HOTSPOT_FIRST_BPF_H

#include "plugins/hotspot/bpf/block.bpf.h"
#include "plugins/hotspot/bpf/leaf.bpf.h"
#include "plugins/hotspot/bpf/window.bpf.h"

/* Compiled frames end at a multiple of 16: src/hotspot/cpu/x86/globalDefinitions_x86.hpp, 8 to 27. */
#define HOTSPOT_FIRST_TRIES 48
#define HOTSPOT_PUSHA_WORDS 71
#define HOTSPOT_POPA_BEHIND 96	/* bytes of popa that may have run: it has not moved sp before its end */
#define HOTSPOT_POPA_BYTES  768 /* and what is before it: the call, all vector registers stored and loaded */
#define HOTSPOT_MOVES 256 /* bytes of code, of 20 arguments or so */
#define HOTSPOT_FIRST_ABOVE 0x100000 /* bytes to the fp of an interpreter's frame: 65535 words and more */

/* What the call before a return address, which was read, leads to; 0: another kind of call, or none. */
static __always_inline __u64 get_target(const struct hotspot_walk *w, __u64 addr)
{
	__u64 is_call = 1 ^ is_set((w->b->before ^ 0xe8000000) & 0xff000000);

	return (addr + (__u64)((__s64)w->b->before >> 32)) & -is_call;
}

static __always_inline bool is_in(const struct hotspot_callee *callee, __u64 addr)
{
	return addr - callee->begin < callee->end - callee->begin;
}

/* A method's call of a static one of the interpreter goes by a piece of code behind its own. */
static __always_inline bool is_behind_code(const struct hotspot_walk *w, __u64 from, __u64 target)
{
	return from - w->s->code_begin < w->s->code_end - w->s->code_begin &&
	       target - w->s->code_begin > get_field(w, &w->state->frame_complete);
}

/* May a call lead to the callee? Its own method, but for a version that was made later, is asked for. */
static __always_inline bool leads_there(const struct hotspot_walk *w, __u64 from, __u64 target)
{
	if (is_in(&w->s->callee, target) || !find_range(w, target) ||
	    HOTSPOT_CODE(w->s->code.data) != HOTSPOT_CODE_HEAP || !find_block(w, target) ||
	    w->s->blob != HOTSPOT_BLOB_METHOD)
		return true;
	return !w->s->frame_bytes || is_behind_code(w, from, target) ||
	       w->s->method == w->s->callee.method;
}

static __always_inline void be_callee(const struct hotspot_walk *w)
{
	w->s->callee.begin = w->s->code_begin;
	w->s->callee.end = w->s->code_end;
	w->s->callee.method = w->s->method;
}

/* To the frame that a return address is in, if it is one of a method. */
static __always_inline bool next_link(const struct hotspot_walk *w, __u64 addr)
{
	if (!find_range(w, addr) || HOTSPOT_CODE(w->s->code.data) != HOTSPOT_CODE_HEAP ||
	    !find_block(w, addr - 1) || w->s->blob != HOTSPOT_BLOB_METHOD)
		return false;
	be_callee(w);
	w->s->link_slot += w->s->frame_bytes;
	return true;
}

/* Two return addresses in a row: an old one that is right by itself does not lead to another one. */
static __always_inline bool is_chain(const struct hotspot_walk *w, __u64 slot)
{
	w->s->link_slot = slot;
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < 2; i++) {
		__u64 addr, target;

		if (!see_stack(w, w->s->link_slot, 8))
			return true;
		w->s->link = get_seen(w, 0);
		HOTSPOT_MEET();
		addr = w->s->link;
		/* No code at all: the walk sees that by itself. */
		if (!is_near(w, addr) || !read_word(addr - 8, &w->b->before))
			return !i;
		target = get_target(w, addr);
		if (target && !leads_there(w, addr, target))
			return false;
		HOTSPOT_MEET();
		if (!next_link(w, w->s->link))
			return true;
	}
	return true;
}

/* Words above: the return address of a call of this very method. */
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
		if (is_in(&w->s->callee, w->b->value)) {
			w->s->searched_slot = slot;
			return;
		}
	}
}

static __always_inline bool follows_call(const struct hotspot_walk *w, __u64 slot)
{
	return read_word(slot, &w->b->value) && is_near(w, w->b->value) &&
	       read_word(w->b->value - 8, &w->b->before) && is_behind_call(w);
}

/* popa begins with mov r15, [rsp] (assembler_x86.cpp, 8). */
static __always_inline bool has_popa_ahead(const struct hotspot_walk *w)
{
	__u64 from = w->rec->walk.pc - HOTSPOT_POPA_BEHIND, none = 1;

	if (bpf_probe_read_user(w->b->words, HOTSPOT_POPA_BYTES, (void *)from))
		return false;
	HOTSPOT_MEET();
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i <= HOTSPOT_POPA_BYTES - 4; i++) {
		const __u8 *code = (const __u8 *)w->b->words + (i & 1023);
		__u64 differs = (code[0] ^ 0x4c) | (code[1] ^ 0x8b) | (code[2] ^ 0x3c) | (code[3] ^ 0x24);

		none &= is_set(differs);
	}
	return 1 ^ none;
}

/*
 * Registers were saved by pusha, around a call of C for an x87 intrinsic: it has stored sp as it was five
 * words below that, which tells, and rbp below it, which leaves no doubt: the same is still in its register
 * (src/hotspot/cpu/x86: only 8, macroAssembler_x86.cpp, pusha and fp_runtime_fallback). Below them are
 * vector registers, arguments and results, and what aligns sp:
 *
 *	sp | 0 to 5 words | ymm, 100h or none | xmm, 100h | 50h: rbp | 58h: 28h + its own address | 80h: the frame
 *
 * Words that were left on a stack look like it: every stub that saves registers does it by pusha. So no other
 * release is asked; and an address behind a call where the return address should be is it, but for code that
 * has a popa ahead: there it is what was left.
 */
static __always_inline void find_pusha(const struct hotspot_walk *w)
{
	static const __u64 words[] = {0, 32, 33, 34, 35, 36, 37, 64, 65, 66, 67, 68, 69};
	__u64 sp = get_sp(w), fp = get_fp(w), pushed = 0, seems = 0;

	if (!w->state->has_pusha ||
	    bpf_probe_read_user(w->b->words, HOTSPOT_PUSHA_WORDS * 8, (void *)(sp + 0x50)))
		return;
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		__u64 at = words[i], bytes = 0x80 + at * 8;
		__u64 differs = w->b->words[(at + 1) & 127] ^ (sp + bytes);

		seems |= if_not(differs, bytes);
		pushed |= if_not(differs | (w->b->words[at & 127] ^ fp), bytes);
	}
	HOTSPOT_MEET();
	if (!seems || (follows_call(w, w->s->first_slot) && !has_popa_ahead(w)))
		return;
	w->s->pushed = pushed;
	w->s->spilled |= seems & ~15ull;
}

/* Is at a slot what a call of this very method returns to? */
static __always_inline bool is_own_call(const struct hotspot_walk *w, __u64 slot)
{
	if (!read_word(slot, &w->b->value) || !is_near(w, w->b->value) ||
	    !read_word(w->b->value - 8, &w->b->before))
		return false;
	return is_in(&w->s->callee, get_target(w, w->b->value));
}

/* Into the window: what a slot has, and the word below it. */
static __always_inline bool returns_to_interpreter(const struct hotspot_walk *w, __u64 slot)
{
	return see_stack(w, slot - 8, 16) && find_range(w, get_seen(w, 1)) &&
	       HOTSPOT_CODE(w->s->code.data) == HOTSPOT_CODE_INTERPRETER;
}

/*
 * An older return address to the interpreter has no fp of a frame above it. One that has is 16 bytes higher
 * where the x87 code of Math.exp and pow has taken two words of the stack (8: macroAssembler_x86.cpp,
 * increase_precision, pow_exp_core_encoding).
 */
static __always_inline bool check_interpreter(const struct hotspot_walk *w)
{
	__u64 slot = w->s->first_slot;

	if (!returns_to_interpreter(w, slot) || get_seen(w, 0) - slot < HOTSPOT_FIRST_ABOVE)
		return false;
	HOTSPOT_MEET();
	slot = w->s->first_slot + 16;
	if (!returns_to_interpreter(w, slot) || get_seen(w, 0) - slot >= HOTSPOT_FIRST_ABOVE)
		return false;
	w->s->first_slot = slot;
	return true;
}

static __always_inline void check_first(const struct hotspot_walk *w)
{
	struct hotspot_callee first;

	if (check_interpreter(w))
		return;
	HOTSPOT_MEET();
	be_callee(w);
	first = w->s->callee;
	if (w->s->spilled && is_own_call(w, w->s->first_slot + w->s->spilled)) {
		w->s->first_slot += w->s->spilled;
		return;
	}
	if (is_chain(w, w->s->first_slot))
		return;
	w->s->callee = first;
	w->s->searched_slot = 0;
	search_first(w);
	if (!w->s->searched_slot || !is_chain(w, w->s->searched_slot))
		return;
	w->s->first_slot = w->s->searched_slot;
	w->s->first_is_searched = 1;
}

/*
 * An adapter from compiled code to the interpreter keeps the caller's sp in r13, before it makes room for the
 * arguments; what is there earlier is anybody's (gen_c2i_adapter, sharedRuntime_x86_64.cpp, 8 to 27):
 *
 *	pop rax | mov r13, rsp | sub rsp, n | mov [rsp], rax | mov [rsp + x], argument | ... | jmp
 *
 * One that goes the other way has it from the interpreter, which needs no sp.
 */
static __always_inline void look_at_adapter(const struct hotspot_walk *w)
{
	__u64 none = 1;

	if (bpf_probe_read_user(w->b->words, HOTSPOT_MOVES, (void *)(w->rec->walk.pc - HOTSPOT_MOVES)))
		return;
	HOTSPOT_MEET();
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i <= HOTSPOT_MOVES - 3; i++) {
		const __u8 *code = (const __u8 *)w->b->words + (i & (HOTSPOT_MOVES - 1));
		__u64 differs = (code[0] ^ 0x4c) | (code[1] ^ 0x8b) | (code[2] ^ 0xec);

		none &= is_set(differs);
	}
	w->s->first_sp_moved = 1 ^ none;
}

/* Where the first frame's return address is, if it is one of a method. */
static __always_inline void look_at_first(const struct hotspot_walk *w)
{
	struct ep_walk *walk = &w->rec->walk;
	__u64 frame_bytes, complete;

	w->s->first_slot = 0;
	w->s->first_keeps_fp = 0;
	w->s->first_is_searched = 0;
	w->s->first_sp_moved = 0;
	w->s->spilled = 0;
	w->s->pushed = 0;
	if (!find_range(w, walk->pc) || HOTSPOT_CODE(w->s->code.data) != HOTSPOT_CODE_HEAP ||
	    !find_block(w, walk->pc - walk->return_address))
		return;
	if (w->s->blob == HOTSPOT_BLOB_ADAPTER && walk->interrupted)
		look_at_adapter(w);
	HOTSPOT_MEET();
	if (w->s->blob != HOTSPOT_BLOB_METHOD)
		return;
	frame_bytes = w->s->frame_bytes;
	if (frame_bytes < 16)
		return;
	complete = walk->pc - w->s->code_begin - get_field(w, &w->state->frame_complete);
	w->s->first_slot = get_sp(w) + frame_bytes - 8;
	HOTSPOT_MEET();
	if (walk->interrupted) {
		read_leaf(w);
		if (find_leaf_slot(w, frame_bytes, complete >> 63))
			return;
		w->s->spilled = find_spilled(w, frame_bytes) & ((complete >> 63) - 1);
	}
	HOTSPOT_MEET();
	find_pusha(w);
	HOTSPOT_MEET();
	w->s->first_slot += w->s->pushed;
	w->s->first_slot += (w->s->first_slot + 8) & 8; /* a word was pushed */
	HOTSPOT_MEET();
	if (!w->s->pushed)
		check_first(w);
}

#endif
