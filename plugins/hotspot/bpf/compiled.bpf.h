/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of blocks: methods that C1 and C2 compiled, wrappers of native methods, and what has no
 * frame of its own: adapters between interpreter and compiled code, vtable stubs, method handle
 * linkers.
 */
#ifndef HOTSPOT_COMPILED_BPF_H
#define HOTSPOT_COMPILED_BPF_H

#include "plugins/hotspot/bpf/block.bpf.h"
#include "plugins/hotspot/bpf/first.bpf.h"
#include "plugins/hotspot/bpf/fixed.bpf.h"

#define HOTSPOT_REG_RETURN 0 /* rax: adapters move the return address by it, 8 to 27 */
#define HOTSPOT_FRAME_MAX  0x100000
#define HOTSPOT_SEARCHED_SHIFT 3 /* HOTSPOT_FRAME_SEARCHED, in at.flags */
#define HOTSPOT_MOVED_MAX  0x1000 /* bytes of arguments an adapter moves */

static __always_inline bool is_deoptimized(const struct hotspot_walk *w)
{
	__u64 pc = w->rec->walk.pc;

	return w->rec->walk.return_address && (pc == w->s->deopt || pc == w->s->deopt_mh);
}

/* A frame that is to be remade returns to its deoptimization handler, and keeps where it was. */
static __always_inline bool read_original_pc(const struct hotspot_walk *w)
{
	__u64 off = get_field(w, &w->state->orig_pc);

	if (off >= HOTSPOT_FRAME_MAX || !ep_read_word(ep_enter_sp(w) + off, &w->s->value))
		return false;
	return w->s->value - w->s->code_begin <= w->s->code_end - w->s->code_begin;
}

/* Does what is at pc follow a call? Asked where sp is not known to be right. */
static __always_inline bool is_return_address(const struct hotspot_walk *w)
{
	return ep_read_word(w->rec->walk.pc - 8, &w->s->before) && ep_is_call(&w->s->before);
}

static __always_inline void be_compiled(const struct hotspot_walk *w, __u64 pc)
{
	struct hotspot_frame_at *at = &w->s->at;

	at->flags = HOTSPOT_FRAME_COMPILED;
	at->aux = (__u32)(pc - w->s->block);
	at->n_words = 2;
	at->pushes = 1;
	at->words[0] = w->s->block;
	at->words[1] = w->s->compiled;
}

/* From a frame of so many bytes; what called the leaf, or what native code called, is looked at
 * twice. */
static __always_inline void leave_block(const struct hotspot_walk *w, __u64 frame_bytes)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 first = -ep_is_set(w->s->first_slot);

	at->slot = (w->s->first_slot & first) | ((ep_enter_sp(w) + frame_bytes - 8) & ~first);
	at->keeps_fp = w->s->first_keeps_fp | (1 ^ ep_is_set(frame_bytes ^ 8));
	at->flags |= w->s->first_is_searched << HOTSPOT_SEARCHED_SHIFT;
	w->s->counted += w->s->first_is_searched;
	w->s->first_slot = 0;
	w->s->first_keeps_fp = 0;
	w->s->first_is_searched = 0;
	w->s->sure = w->s->exact;
	allow_search(w, at->slot + 8);
	w->s->exact = 1;
	at->how = HOTSPOT_HOW_SLOT;
}

/*
 * C1 pushes the two classes that slow_subtype_check compares, and pops them after the call: until
 * then sp is two words below the frame (c1_LIRAssembler_x86.cpp, emit_typecheck_helper, 8 to 27).
 * pop: 58 to 5f with the register, 41 before it for r8 to r15; an epilogue's is of rbp, 5d.
 */
static __always_inline void drop_pushed(const struct hotspot_walk *w)
{
	struct ep_walk *walk = &w->rec->walk;
	__u64 code, pops = 1, bytes = 0;

	if (w->s->exact || w->s->first_slot || !walk->return_address ||
	    !ep_read_word(walk->pc, &w->s->value))
		return;
	code = w->s->value;
#pragma clang loop unroll(full)
	for (int i = 0; i < 2; i++) {
		__u64 is_high = 1 ^ ep_is_set((code & 0xff) ^ 0x41), pop;

		pop = code >> (8 * is_high) & 0xff;
		pops &= (1 ^ ep_is_set((pop & 0xf8) ^ 0x58)) & (is_high | ep_is_set(pop ^ 0x5d));
		bytes += 8 * pops;
		code >>= 8 + 8 * is_high;
	}
	walk->regs[EP_REG_SP] += bytes;
}

static __always_inline void step_method(const struct hotspot_walk *w)
{
	__u64 frame_bytes = w->s->frame_bytes;

	drop_pushed(w);
	w->s->value = w->rec->walk.pc;
	if (is_deoptimized(w)) {
		if (!read_original_pc(w))
			fail_own(w, HOTSPOT_ERROR_DEOPT);
	} else if (!w->s->sure && w->rec->walk.return_address && !is_return_address(w)) {
		w->s->at.how = HOTSPOT_HOW_SEARCH;
		return;
	}
	if (frame_bytes >= HOTSPOT_FRAME_MAX)
		fail_own(w, HOTSPOT_ERROR_BLOCK);
	be_compiled(w, w->s->value);
	/* Method handle linkers say 0: they have but the return address. */
	leave_block(w, frame_bytes + (1 ^ ep_is_set(frame_bytes)) * 8);
}

/*
 * What an adapter and its like has moved: the return address is at sp, but for the instructions
 * between the pop into rax and the push of it; where it has called the VM r13 keeps sp as it was.
 */
static __always_inline void step_frameless(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	const __u64 *regs = w->rec->walk.regs;

	be_stub(w);
	at->aux = (__u32)w->s->blob;
	at->slot = ep_enter_sp(w);
	if (!w->rec->walk.interrupted && ep_enter_knows(w, HOTSPOT_REG_BCP))
		at->slot = regs[HOTSPOT_REG_BCP];
	at->fp = ep_enter_fp(w);
	at->sp = at->slot + 8;
	allow_search(w, ep_enter_sp(w));
	w->s->sure = 0;
	w->s->exact = 0;
	if (!ep_read_word(at->slot, &at->pc))
		fail(w, EP_ERROR_BAD_READ);
	if (!ep_ranges_near(&w->s->ranges, at->pc) && ep_enter_knows(w, HOTSPOT_REG_RETURN)) {
		at->pc = regs[HOTSPOT_REG_RETURN];
		at->sp = at->slot;
	}
	if (w->rec->walk.interrupted && w->s->first_sp_moved &&
	    regs[HOTSPOT_REG_BCP] - at->sp < HOTSPOT_MOVED_MAX)
		at->sp = regs[HOTSPOT_REG_BCP];
	at->how = ep_ranges_near(&w->s->ranges, at->pc) ? HOTSPOT_HOW_KNOWN : HOTSPOT_HOW_SEARCH;
}

/*
 * Stubs by which native code calls Java have no frame's size, but fp, and are left to native code:
 * src/hotspot/cpu/x86/upcallLinker_x86_64.cpp, 18 to 27, universalUpcallHandler_x86_64.cpp, 17.
 */
static __always_inline bool return_by_fp(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = ep_enter_fp(w);

	if (fp - ep_enter_sp(w) >= HOTSPOT_FIXED_MAX || (fp & 7) ||
	    bpf_probe_read_user(w->s->pair, sizeof(w->s->pair), (void *)fp))
		return false;
	at->pc = w->s->pair[1];
	at->fp = w->s->pair[0];
	at->sp = fp + 16;
	return true;
}

/* A blob that was made since user space looked. */
static __always_inline void step_other(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 frame_bytes = w->s->frame_bytes;

	ep_ask_refresh(w->rec);
	if (is_remaking(w))
		fail_own(w, HOTSPOT_ERROR_DEOPT);
	be_stub(w);
	w->s->exact = 0;
	w->s->sure = 0;
	allow_search(w, ep_enter_sp(w));
	at->slot = ep_enter_sp(w) + frame_bytes - 8;
	at->keeps_fp = 0;
	at->how = HOTSPOT_HOW_SLOT;
	if (w->rec->walk.interrupted || frame_bytes < 16 || frame_bytes >= HOTSPOT_FRAME_MAX)
		at->how = HOTSPOT_HOW_GUESS;
	if (!w->rec->walk.interrupted && !frame_bytes && return_by_fp(w)) {
		at->how = HOTSPOT_HOW_KNOWN;
		w->s->searches = 0;
		w->s->sure = 1;
	}
}

#endif
