/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread keeps of its stack: where Java called native code last (JavaFrameAnchor), the
 * innermost continuation, and frames that are being remade.
 */
#ifndef HOTSPOT_THREAD_BPF_H
#define HOTSPOT_THREAD_BPF_H

#include "plugins/hotspot/bpf/scratch.bpf.h"

/* in Java code: src/hotspot/cpu/x86/macroAssembler_x86.hpp, 8 to 27 */
#define HOTSPOT_REG_THREAD 15

/* Code of Java that was interrupted has the thread in r15; it is used where its variable is not
 * known. */
static __always_inline __u64 get_thread(const struct hotspot_walk *w)
{
	if (ep_enter_read_tls(w, &w->state->thread) && w->s->value)
		w->s->thread = w->s->value;
	EP_MEET();
	return w->s->thread;
}

static __always_inline void note_thread(const struct hotspot_walk *w)
{
	if (!w->s->thread && !w->state->thread.steps && ep_enter_knows(w, HOTSPOT_REG_THREAD))
		w->s->thread = w->rec->walk.regs[HOTSPOT_REG_THREAD];
}

/* Into exit. False: there is none, or it cannot be read. */
static __always_inline bool read_anchor(const struct hotspot_walk *w)
{
	const struct hotspot_state *state = w->state;
	struct hotspot_scratch *s = w->s;
	__u64 anchor = s->anchor;

	if (!ep_read_word(anchor + state->anchor_sp, &s->exit.sp) || !s->exit.sp ||
	    !ep_read_word(anchor + state->anchor_pc, &s->exit.pc) ||
	    !ep_read_word(anchor + state->anchor_fp, &s->exit.fp))
		return false;
	/* Not set: the VM was called, and the return address is what that call pushed:
	 * src/hotspot/cpu/x86/javaFrameAnchor_x86.hpp and frame_x86.cpp, make_walkable, 8 to 27. */
	return s->exit.pc || ep_read_word(s->exit.sp - 8, &s->exit.pc);
}

/* The call stub at fp: it keeps where Java was left before. */
static __always_inline void pass_call_stub(const struct hotspot_walk *w)
{
	__u64 wrapper = 0;

	if (w->rec->walk.pc != w->state->call_stub_return)
		return;
	if (ep_read_word(ep_enter_fp(w) + w->state->wrapper_slot * 8, &w->s->value))
		wrapper = w->s->value;
	w->s->anchor = wrapper ? wrapper + w->state->wrapper_anchor : 0;
}

/* The call stub, and the rest of Java is worth more than what has called it. */
static __always_inline bool skip_native(const struct hotspot_walk *w)
{
	return w->rec->walk.pc == w->state->call_stub_return && w->s->anchor &&
	       ep_enter_may_skip(w) && read_anchor(w) && ep_enter_skip(w);
}

static __always_inline bool ep_enter_find_exit(const struct hotspot_walk *w)
{
	if (!w->s->anchor) {
		__u64 thread = get_thread(w);

		w->s->anchor = thread ? thread + w->state->thread_anchor : 0;
	}
	return w->s->anchor && read_anchor(w);
}

/*
 * Are frames being remade? The deoptimization blob has called the VM, and what is after it may be
 * frames of the interpreter that nobody has filled yet.
 */
static __always_inline bool is_remaking(const struct hotspot_walk *w)
{
	__u64 thread;

	if (w->s->seen || w->rec->walk.interrupted || !w->state->thread_vframes)
		return false;
	thread = get_thread(w);
	return thread && ep_read_word(thread + w->state->thread_vframes, &w->s->value) &&
	       w->s->value;
}

static __always_inline bool is_barrier(const struct hotspot_walk *w)
{
	__u64 pc = w->rec->walk.pc;

	return w->rec->walk.return_address && pc &&
	       (pc == w->state->return_barrier || pc == w->state->return_barrier_exception);
}

/*
 * The frame before returns to the heap: what of the virtual thread was not needed yet lies there.
 * On this stack the carrier's frames follow, after that of Continuation.enterSpecial: its sp is
 * the ContinuationEntry's address (src/hotspot/cpu/x86/continuationEntry_x86.inline.hpp, to_frame,
 * 21 to 27).
 */
static __always_inline void be_barrier(const struct hotspot_walk *w)
{
	__u64 thread = get_thread(w);
	struct hotspot_frame_at *at = &w->s->at;

	at->flags = HOTSPOT_FRAME_HEAP_FRAMES;
	at->aux = 0;
	at->n_words = 0;
	at->pushes = 1;
	at->may_stand = 1;
	at->how = HOTSPOT_HOW_KNOWN;
	at->fp = ep_enter_fp(w);
	w->s->exact = 1;
	w->s->sure = 1;
	w->s->searches = 0;
	if (!thread || !w->state->thread_continuation || !w->state->continuation_return_at ||
	    !ep_read_word(thread + w->state->thread_continuation, &at->sp) ||
	    !ep_read_word(w->state->continuation_return_at, &at->pc) || at->pc == w->rec->walk.pc)
		fail_own(w, HOTSPOT_ERROR_CONTINUATION);
}

#endif
