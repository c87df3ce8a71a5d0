/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the runtime keeps of a thread, its Thread (vm/threads.h, v8.0.0):
 *
 *	m_pvHJRetAddr, m_ppvHJRetAddrPtr	where the thread returns to, if suspension has put
 *			OnHijackTripThread into the word that the second one leads to
 *	m_pFrame ─► Frame ─► Frame ─► .. ─► -1	where managed code has called native code, the last
 *			call first
 *
 * Of the Frames InlinedCallFrame (P/Invoke) has the caller's registers, and those that helpers make
 * have a TransitionBlock (vm/amd64/cgencpu.h: the registers that a called function saves, then the
 * return address). Which of both one is tells its return address: after a call, in managed code.
 */
#ifndef DOTNET_THREAD_BPF_H
#define DOTNET_THREAD_BPF_H

#include "plugins/dotnet/bpf/code.bpf.h"
#include "plugins/dotnet/bpf/leaf.bpf.h"

#define THREAD_FRAMES 4 /* that are looked at: the innermost ones may be of no call */
#define BLOCK_AT      0x10 /* of a Frame: TransitionBlock * */
#define BLOCK_FP      0x58
#define BLOCK_PC      0x60
#define BLOCK_BYTES   0x68

/* Into s->thread. Threads of the runtime alone have none, or one without OSId. */
static __always_inline bool find_thread(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	if (!ep_enter_read_tls(w, &w->state->thread) || !s->value)
		return false;
	s->thread = s->value;
	return !bpf_probe_read_user(&s->count, sizeof(s->count),
				    (void *)(s->thread + w->state->thread_id)) &&
	       s->count;
}

/* The return address below s->exit.sp was replaced: the Thread has the true one, and where it was.
 */
static __always_inline void find_hijacked(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	ep_count(DOTNET_COUNT_HIJACKED);
	if (!find_thread(w) ||
	    bpf_probe_read_user(s->hijacked, sizeof(s->hijacked),
				(void *)(s->thread + w->state->thread_hijacked)) ||
	    s->hijacked[1] != s->exit.sp - 8)
		fail(w, DOTNET_ERROR_HIJACKED);
	else
		s->exit.pc = s->hijacked[0];
}

static __always_inline bool is_exit(const struct dotnet_walk *w)
{
	return w->s->exit.sp > ep_enter_sp(w) && is_in_code(w, w->s->exit.pc - 1) &&
	       is_return_address(w, w->s->exit.pc);
}

static __always_inline bool is_call(const struct dotnet_walk *w, __u64 frame)
{
	struct dotnet_scratch *s = w->s;

	return ep_read_word(frame + w->state->call_sp, &s->exit.sp) &&
	       ep_read_word(frame + w->state->call_pc, &s->exit.pc) && s->exit.pc &&
	       ep_read_word(frame + w->state->call_fp, &s->exit.fp) && s->exit.sp <= frame &&
	       is_exit(w);
}

static __always_inline bool is_transition(const struct dotnet_walk *w, __u64 frame)
{
	struct dotnet_scratch *s = w->s;

	if (!ep_read_word(frame + BLOCK_AT, &s->value))
		return false;
	s->exit.sp = s->value + BLOCK_BYTES;
	return s->value >= frame && ep_read_word(s->value + BLOCK_PC, &s->exit.pc) &&
	       ep_read_word(s->value + BLOCK_FP, &s->exit.fp) && is_exit(w);
}

/* Into s->exit: where managed code has called native code last; after that, the call before. */
static __always_inline bool find_last_call(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	if (!s->call &&
	    (!find_thread(w) || !ep_read_word(s->thread + w->state->thread_frame, &s->call)))
		return false;
	s->first = s->call;
	for (__u64 i = 0; i < THREAD_FRAMES; i++) {
		EP_MEET();
		if (s->first + 1 < 2)
			return false;
		s->call = s->first;
		if (is_call(w, s->first))
			return true;
		EP_MEET();
		if (is_transition(w, s->first))
			return true;
		EP_MEET();
		if (!ep_read_word(s->first + w->state->frame_next, &s->first))
			return false;
	}
	return false;
}

#endif
