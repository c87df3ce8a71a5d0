/* SPDX-License-Identifier: GPL-2.0-only */
/* Code at fixed places: by the rule of its range (hotspot_shared.h). */
#ifndef HOTSPOT_FIXED_BPF_H
#define HOTSPOT_FIXED_BPF_H

#include "plugins/hotspot/bpf/interpreter.bpf.h"

/*
 * The interpreter is entered: its frame is not there yet, or not whole. What compiled code that
 * called it had as sp is in r13, or in its slot already: arguments lie between.
 */
static __always_inline void set_sender_sp(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	w->s->value = w->rec->walk.regs[HOTSPOT_REG_BCP];
	if (HOTSPOT_RULE_BASE(w->s->ranges.code.data) == EP_REG_FP &&
	    !ep_read_word(ep_enter_fp(w) + w->state->sender_sp_slot * 8, &w->s->value))
		return;
	if (w->s->value - at->sp < HOTSPOT_FIXED_MAX)
		at->sp = w->s->value;
}

/* The old sp is in memory, and with it CFA. */
static __always_inline bool return_by_saved_sp(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 rule = w->s->ranges.code.data;
	__u32 fp_at = HOTSPOT_RULE_FP_AT(rule);

	if (!ep_read_word(ep_enter_sp(w) + HOTSPOT_RULE_OFFSET(rule), &w->s->value))
		return false;
	at->sp = w->s->value + 8 * (__u64)HOTSPOT_RULE_RETURN_IN(rule);
	at->fp = ep_enter_fp(w);
	return ep_read_word(at->sp - 8, &at->pc) &&
	       (!fp_at || ep_read_word(at->sp - 8 * (__u64)fp_at, &at->fp));
}

/* Frames of a virtual thread come out of the heap just now: as if the one before returned to
 * there. */
static __always_inline bool return_to_barrier(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	at->pc = w->state->return_barrier;
	at->sp = ep_enter_sp(w);
	at->fp = ep_enter_fp(w);
	at->may_stand = 1;
	return at->pc;
}

/* How a stub is left whose rule has no register as its base. */
static __always_inline bool is_left_otherwise(const struct hotspot_walk *w)
{
	__u32 base = HOTSPOT_RULE_BASE(w->s->ranges.code.data);

	if (base == HOTSPOT_RULE_CONTINUATION)
		return return_to_barrier(w);
	return base == HOTSPOT_RULE_SAVED_SP && return_by_saved_sp(w);
}

static __always_inline void step_stub(const struct hotspot_walk *w)
{
	be_stub(w);
	w->s->exact = 0;
	w->s->sure = 1;
	w->s->searches = 0;
	w->s->at.how = has_rule(w, w->s->ranges.code.data) ? HOTSPOT_HOW_RULE : HOTSPOT_HOW_GUESS;
	EP_MEET();
	if (is_left_otherwise(w))
		w->s->at.how = HOTSPOT_HOW_KNOWN;
	EP_MEET();
	/* What code of the interpreter calls it has its registers from: C's, and it may use none of
	 * them. */
	w->s->at.keeps_regs = w->rec->walk.interrupted * EP_CALLEE_REGS;
	if (is_remaking(w))
		fail_own(w, HOTSPOT_ERROR_DEOPT);
	pass_call_stub(w);
}

/* Its method is not known where a stub that it called has used rbx: then it is but code. */
static __always_inline void step_entry(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	if (!ep_enter_knows(w, HOTSPOT_REG_METHOD) || !has_rule(w, w->s->ranges.code.data) ||
	    !be_interpreted(w, w->rec->walk.regs[HOTSPOT_REG_METHOD])) {
		step_stub(w);
		return;
	}
	at->aux = w->s->way.quad & 0xffff ? 0 : HOTSPOT_BCI_NATIVE;
	at->how = HOTSPOT_HOW_KNOWN;
	return_by_rule(w);
	set_sender_sp(w);
}

#endif
