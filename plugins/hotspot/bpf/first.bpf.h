/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first compiled frame of a walk: the one that was interrupted, or that has called native code.
 * Its sp is not where its frame's size says while it spills registers below the frame, be it for a
 * barrier of a collector, for an intrinsic or (8) around a call. What lies where the return address
 * should be is then an older one, which looks good by itself; it gives itself away by what its call
 * was of:
 *
 *	call rel32 to	this method's code				: good
 *			a stub, an adapter, a method handle linker	: good, it leads to any
 *									method
 *			another method's code				: not ours; words above are
 *									tried
 *
 * and by what is after it, where that one's frame should end.
 *
 * Done once, before the frames.
 */
#ifndef HOTSPOT_FIRST_BPF_H
#define HOTSPOT_FIRST_BPF_H

#include "plugins/hotspot/bpf/block.bpf.h"
#include "plugins/hotspot/bpf/leaf.bpf.h"
#include "plugins/hotspot/bpf/scratch.bpf.h"

/* Compiled frames end at a multiple of 16: src/hotspot/cpu/x86/globalDefinitions_x86.hpp, 8 to
 * 27. */
#define HOTSPOT_FIRST_TRIES 48
#define HOTSPOT_PUSHA_WORDS 71
/* bytes of popa that may have run: it has not moved sp before its end */
#define HOTSPOT_POPA_BEHIND 96
/* and what is before it: the call, all vector registers stored and loaded */
#define HOTSPOT_POPA_BYTES 768
#define HOTSPOT_CODE_MAX 1024 /* bytes of the words: a power of two */
#define HOTSPOT_MOVES 256 /* bytes of code, of 20 arguments or so */
/* bytes to the fp of an interpreter's frame: 65535 words and more */
#define HOTSPOT_FIRST_ABOVE 0x100000

/* What the call before a return address, which was read, leads to; 0: another kind of call, or
 * none. */
static __always_inline __u64 get_target(const struct hotspot_walk *w, __u64 addr)
{
	__u64 is_call = 1 ^ ep_is_set((w->s->before ^ 0xe8000000) & 0xff000000);

	return (addr + (__u64)((__s64)w->s->before >> 32)) & -is_call;
}

static __always_inline bool is_in(const struct hotspot_callee *callee, __u64 addr)
{
	return addr - callee->begin < callee->end - callee->begin;
}

/* A method's call of a static one of the interpreter goes by a piece of code after its own. */
static __always_inline bool is_behind_code(const struct hotspot_walk *w, __u64 from, __u64 target)
{
	return from - w->s->code_begin < w->s->code_end - w->s->code_begin &&
	       target - w->s->code_begin > get_field(w, &w->state->frame_complete);
}

/* May a call lead to the callee? Its own method, but for a version that was made later, is asked
 * for. */
static __always_inline bool leads_there(const struct hotspot_walk *w, __u64 from, __u64 target)
{
	if (is_in(&w->s->callee, target) ||
	    !ep_ranges_see(&w->s->ranges, w->rec, w->chunk, target) ||
	    HOTSPOT_CODE(w->s->ranges.code.data) != HOTSPOT_CODE_HEAP || !find_block(w, target) ||
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
	if (!ep_ranges_see(&w->s->ranges, w->rec, w->chunk, addr) ||
	    HOTSPOT_CODE(w->s->ranges.code.data) != HOTSPOT_CODE_HEAP || !find_block(w, addr - 1) ||
	    w->s->blob != HOTSPOT_BLOB_METHOD)
		return false;
	be_callee(w);
	w->s->link_slot += w->s->frame_bytes;
	return true;
}

/* Two return addresses in a row: an old one that is right by itself does not lead to another
 * one. */
static __always_inline bool is_chain(const struct hotspot_walk *w, __u64 slot)
{
	w->s->link_slot = slot;
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < 2; i++) {
		__u64 addr, target;

		if (!EP_WINDOW_SEE(&w->s->stack, w->s->sequence, w->s->link_slot, 8))
			return true;
		w->s->link = EP_WINDOW_WORD(&w->s->stack, 0);
		EP_MEET();
		addr = w->s->link;
		/* No code at all: the walk sees that by itself. */
		if (!ep_ranges_near(&w->s->ranges, addr) || !ep_read_word(addr - 8, &w->s->before))
			return !i;
		target = get_target(w, addr);
		if (target && !leads_there(w, addr, target))
			return false;
		EP_MEET();
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

		if (!ep_read_word(slot, &w->s->value))
			return;
		addr = w->s->value;
		if (!ep_ranges_near(&w->s->ranges, addr) || !ep_read_word(addr - 8, &w->s->before))
			continue;
		w->s->value = get_target(w, addr);
		if (is_in(&w->s->callee, w->s->value)) {
			w->s->searched_slot = slot;
			return;
		}
	}
}

static __always_inline bool follows_call(const struct hotspot_walk *w, __u64 slot)
{
	return ep_read_word(slot, &w->s->value) && ep_ranges_near(&w->s->ranges, w->s->value) &&
	       ep_read_word(w->s->value - 8, &w->s->before) && ep_is_call(&w->s->before);
}

/*
 * 1 where bytes that a mask chooses are among the first of the words, which were read as code. No
 * branches: of all numbers only 0 has its highest bit set when it is one less. After the code is
 * no byte of theirs.
 */
static __always_inline __u64 find_bytes(const struct hotspot_walk *w, __u64 n, __u32 wanted,
					__u32 mask)
{
	__u64 found = 0;

	w->s->words[n / 8] = 0;
	EP_MEET();
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < n; i += 4) {
		__u64 code =
			*(const __u64 *)((const __u8 *)w->s->words + (i & (HOTSPOT_CODE_MAX - 1)));

		found |= (__u64)(((__u32)code ^ wanted) & mask) - 1;
		found |= (__u64)(((__u32)(code >> 8) ^ wanted) & mask) - 1;
		found |= (__u64)(((__u32)(code >> 16) ^ wanted) & mask) - 1;
		found |= (__u64)(((__u32)(code >> 24) ^ wanted) & mask) - 1;
	}
	return found >> 63;
}

/* popa begins with mov r15, [rsp] (assembler_x86.cpp, 8). */
static __always_inline bool has_popa_ahead(const struct hotspot_walk *w)
{
	__u64 from = w->rec->walk.pc - HOTSPOT_POPA_BEHIND;

	return !bpf_probe_read_user(w->s->words, HOTSPOT_POPA_BYTES, (void *)from) &&
	       find_bytes(w, HOTSPOT_POPA_BYTES, 0x243c8b4c, 0xffffffff);
}

/*
 * Registers were saved by pusha, around a call of C for an x87 intrinsic: it has stored sp as it
 * was five words below that, which tells, and rbp below it, which settles it: the same is
 * still in its register (src/hotspot/cpu/x86: only 8, macroAssembler_x86.cpp, pusha and
 * fp_runtime_fallback). Below them are vector registers, arguments and results, and what aligns sp:
 *
 *	sp | 0 to 5 words | ymm, 100h or none | xmm, 100h | 50h: rbp | 58h: 28h + its own address
 *	   | 80h: the frame
 *
 * Words that were left on a stack look like it: every stub that saves registers does it by pusha.
 * So no other release is asked; and an address after a call where the return address should be is
 * it, but for code that has a popa ahead: there it is what was left.
 */
static __always_inline void find_pusha(const struct hotspot_walk *w)
{
	static const __u64 words[] = {0, 32, 33, 34, 35, 36, 37, 64, 65, 66, 67, 68, 69};
	__u64 sp = ep_enter_sp(w), fp = ep_enter_fp(w);

	if (!w->state->has_pusha ||
	    bpf_probe_read_user(w->s->words, HOTSPOT_PUSHA_WORDS * 8, (void *)(sp + 0x50)))
		return;
	w->s->pusha = 0;
	w->s->pusha_seems = 0;
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		__u64 at = words[i], bytes = 0x80 + at * 8;
		__u64 differs = w->s->words[(at + 1) & 127] ^ (sp + bytes);

		w->s->pusha_seems |= bytes * ep_is_same(differs, 0);
		w->s->pusha |= bytes * ep_is_same(differs | (w->s->words[at & 127] ^ fp), 0);
	}
	EP_MEET();
	if (!w->s->pusha_seems || (follows_call(w, w->s->first_slot) && !has_popa_ahead(w)))
		return;
	w->s->pushed = w->s->pusha;
	w->s->spilled |= w->s->pusha_seems & ~15ull;
}

/* Is at a slot what a call of this very method returns to? */
static __always_inline bool is_own_call(const struct hotspot_walk *w, __u64 slot)
{
	if (!ep_read_word(slot, &w->s->value) || !ep_ranges_near(&w->s->ranges, w->s->value) ||
	    !ep_read_word(w->s->value - 8, &w->s->before))
		return false;
	return is_in(&w->s->callee, get_target(w, w->s->value));
}

/* Into the window: what a slot has, and the word below it. */
static __always_inline bool returns_to_interpreter(const struct hotspot_walk *w, __u64 slot)
{
	return EP_WINDOW_SEE(&w->s->stack, w->s->sequence, slot - 8, 16) &&
	       ep_ranges_see(&w->s->ranges, w->rec, w->chunk, EP_WINDOW_WORD(&w->s->stack, 1)) &&
	       HOTSPOT_CODE(w->s->ranges.code.data) == HOTSPOT_CODE_INTERPRETER;
}

/*
 * An older return address to the interpreter has no fp of a frame above it. One that has is 16
 * bytes higher where the x87 code of Math.exp and pow has taken two words of the stack (8:
 * macroAssembler_x86.cpp, increase_precision, pow_exp_core_encoding).
 */
static __always_inline bool check_interpreter(const struct hotspot_walk *w)
{
	__u64 slot = w->s->first_slot;

	if (!returns_to_interpreter(w, slot) ||
	    EP_WINDOW_WORD(&w->s->stack, 0) - slot < HOTSPOT_FIRST_ABOVE)
		return false;
	EP_MEET();
	slot = w->s->first_slot + 16;
	if (!returns_to_interpreter(w, slot) ||
	    EP_WINDOW_WORD(&w->s->stack, 0) - slot >= HOTSPOT_FIRST_ABOVE)
		return false;
	w->s->first_slot = slot;
	return true;
}

static __always_inline void check_first(const struct hotspot_walk *w)
{
	struct hotspot_callee first;

	if (check_interpreter(w))
		return;
	EP_MEET();
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
 * An adapter from compiled code to the interpreter keeps the caller's sp in r13, before it makes
 * space for the arguments; what is there earlier is anybody's (gen_c2i_adapter,
 * sharedRuntime_x86_64.cpp, 8 to 27):
 *
 *	pop rax | mov r13, rsp | sub rsp, n | mov [rsp], rax | mov [rsp + x], argument | ... | jmp
 *
 * One that goes the other way has it from the interpreter, which needs no sp.
 */
static __always_inline void look_at_adapter(const struct hotspot_walk *w)
{
	if (!bpf_probe_read_user(w->s->words, HOTSPOT_MOVES,
				 (void *)(w->rec->walk.pc - HOTSPOT_MOVES)))
		w->s->first_sp_moved = find_bytes(w, HOTSPOT_MOVES, 0xec8b4c, 0xffffff);
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
	if (!ep_ranges_see(&w->s->ranges, w->rec, w->chunk, walk->pc) ||
	    HOTSPOT_CODE(w->s->ranges.code.data) != HOTSPOT_CODE_HEAP ||
	    !find_block(w, walk->pc - walk->return_address))
		return;
	if (w->s->blob == HOTSPOT_BLOB_ADAPTER && walk->interrupted)
		look_at_adapter(w);
	EP_MEET();
	if (w->s->blob != HOTSPOT_BLOB_METHOD)
		return;
	frame_bytes = w->s->frame_bytes;
	if (frame_bytes < 16)
		return;
	complete = walk->pc - w->s->code_begin - get_field(w, &w->state->frame_complete);
	w->s->first_slot = ep_enter_sp(w) + frame_bytes - 8;
	EP_MEET();
	if (walk->interrupted) {
		read_leaf(w);
		if (find_leaf_slot(w, frame_bytes, complete >> 63))
			return;
		w->s->spilled = find_spilled(w, frame_bytes) & ((complete >> 63) - 1);
	}
	EP_MEET();
	find_pusha(w);
	EP_MEET();
	w->s->first_slot += w->s->pushed;
	w->s->first_slot += (w->s->first_slot + 8) & 8; /* a word was pushed */
	EP_MEET();
	if (!w->s->pushed)
		check_first(w);
}

#endif
