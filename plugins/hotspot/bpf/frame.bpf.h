/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is common to frames: they are pushed, and the walk goes on at their caller, however that is
 * found: enum hotspot_how.
 */
#ifndef HOTSPOT_FRAME_BPF_H
#define HOTSPOT_FRAME_BPF_H

#include "plugins/hotspot/bpf/search.bpf.h"
#include "plugins/hotspot/bpf/thread.bpf.h"

/* A frame of fixed code with a frame pointer is not larger: save areas of all vector registers. */
#define HOTSPOT_FIXED_MAX 0x4000

static __always_inline void push(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 flags = at->flags << HOTSPOT_FRAME_SHIFT |
		      (__u64)w->rec->walk.interrupted * EP_FRAME_INTERRUPTED;
	__u32 n = at->n_words & 3;

	w->s->last_frame = ep_next_header(w->rec);
	w->s->seen = 1;
	if (!ep_push_words(w->rec, EP_FRAME_HEADER(ep_self.kind, flags, n, at->aux), n,
			   at->words[0], at->words[1], 0))
		fail(w, EP_ERROR_TOO_DEEP);
}

static __always_inline void be_stub(const struct hotspot_walk *w)
{
	w->s->at.flags = HOTSPOT_FRAME_STUB;
	w->s->at.aux = 0;
	w->s->at.n_words = 1;
	w->s->at.words[0] = w->rec->walk.pc;
	w->s->at.pushes = 1;
}

/*
 * To what the slot says; the caller's fp is below it or in its register. Another thread may write
 * to the stack after the window was read, where it deoptimizes: a return address as it was before
 * is right, and one that is a handler's already leads to a word that is written before it
 * (frame::patch_pc and deoptimize, share/runtime/frame.cpp, 8 to 27), and is read anew.
 */
static __always_inline void return_by_slot(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = ep_enter_fp(w), keeps = -(at->keeps_fp & 1);

	if (!EP_WINDOW_SEE(&w->s->stack, w->s->sequence, at->slot - 8, 16))
		fail(w, EP_ERROR_BAD_READ);
	at->pc = EP_WINDOW_WORD(&w->s->stack, 1);
	at->fp = (fp & keeps) | (EP_WINDOW_WORD(&w->s->stack, 0) & ~keeps);
	at->sp = at->slot + 8;
}

static __always_inline bool has_rule(const struct hotspot_walk *w, __u64 rule)
{
	__u32 base = HOTSPOT_RULE_BASE(rule), in = HOTSPOT_RULE_RETURN_IN(rule);

	return base < 16 && ep_enter_knows(w, base) &&
	       (in >= HOTSPOT_RULE_ON_STACK || ep_enter_knows(w, in));
}

static __always_inline void return_by_rule(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	const __u64 *regs = w->rec->walk.regs;
	__u64 rule = w->s->ranges.code.data, slot;
	__u32 in = HOTSPOT_RULE_RETURN_IN(rule), fp_at = HOTSPOT_RULE_FP_AT(rule);

	at->sp = regs[HOTSPOT_RULE_BASE(rule) & 15] + HOTSPOT_RULE_OFFSET(rule);
	at->fp = ep_enter_fp(w);
	at->pc = regs[in & 15];
	slot = in == HOTSPOT_RULE_AT_SP ? ep_enter_sp(w) : at->sp - 8;
	if (((in >= HOTSPOT_RULE_ON_STACK || in == HOTSPOT_RULE_AT_SP) &&
	     !ep_read_word(slot, &at->pc)) ||
	    (fp_at && !ep_read_word(at->sp - 8 * (__u64)fp_at, &at->fp)))
		fail(w, EP_ERROR_BAD_READ);
}

/* No rule: a frame pointer counts where a return address of ours is above it. Else from sp on. */
static __always_inline void guess_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = ep_enter_fp(w);

	allow_search(w, ep_enter_sp(w));
	w->s->sure = 0;
	at->how = HOTSPOT_HOW_SEARCH;
	if (fp - ep_enter_sp(w) >= HOTSPOT_FIXED_MAX || (fp & 7) ||
	    bpf_probe_read_user(w->s->pair, sizeof(w->s->pair), (void *)fp) ||
	    !ep_ranges_near(&w->s->ranges, w->s->pair[1]))
		return;
	at->pc = w->s->pair[1];
	at->fp = w->s->pair[0];
	at->sp = fp + 16;
	at->how = HOTSPOT_HOW_KNOWN;
}

/* at.pc, at.sp and at.fp become the walk's. */
static __always_inline void set_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	w->rec->walk.known_regs = EP_KNOWN_ALWAYS | (w->rec->walk.known_regs & at->keeps_regs);
	ep_enter_set_caller(w, at->pc, at->sp, at->fp, at->may_stand);
}

static __always_inline void go_to_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	if (at->how == HOTSPOT_HOW_GUESS)
		guess_caller(w);
	else if (at->how == HOTSPOT_HOW_RULE)
		return_by_rule(w);
	else if (at->how == HOTSPOT_HOW_SLOT)
		return_by_slot(w);
	EP_MEET();
	if (at->how == HOTSPOT_HOW_SEARCH)
		search(w);
	else if (at->how != HOTSPOT_HOW_SKIPPED && !w->s->error)
		set_caller(w);
}

#endif
