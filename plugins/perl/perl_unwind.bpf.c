/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the contexts of Perl's interpreter, from the innermost one of the thread to the main
 * program. Contexts are in arrays, one for each "stackinfo", and these are a list (cop.h):
 *
 *	PL_curstackinfo ─► si_cxstack  | BLOCK | SUB | LOOP | EVAL | ◄─ si_cxix
 *	                   si_prev ─► si_cxstack | BLOCK | SUB |
 *	                              si_prev ─► NULL			the main one
 *
 * Of a frame the context says what was called and what is to go on with when it returns: the
 * caller's statement (blk_oldcop) and op (retop). So a frame's own statement is in the context
 * before it, towards the leaf, and in PL_curcop for the innermost one.
 *
 * A run loop (PL_runops) is called by C, and these of its frames end its group:
 *
 *	call_sv, overload, tie,	SUB with retop NULL: nothing to go on with, back to C.
 *				call_sv(G_EVAL)
 *	DESTROY, signals, ...	pushes an EVAL before it, which is also its frame
 *	sort, (?{}), MULTICALL	the first context of a stackinfo of its own, which stays there while
 *				C runs in between: then it is no frame
 *	eval_sv			EVAL with retop NULL, when its text is compiled
 *	docatch			EVAL that has a jump buffer of its own (pp_ctl.c: S_docatch)
 *	defer			DEFER
 *	perl_run		BLOCK at the bottom of the main stackinfo (pp_enter of the program)
 */
#include "plugins/perl/bpf/catch.bpf.h"
#include "plugins/perl/bpf/frame.bpf.h"
#include "plugins/perl/bpf/interpreter.bpf.h"
#include "plugins/shared/bpf/mark.bpf.h"

EP_UNWINDER();

/* About 2 300 instructions of the verifier each; ep_self.frames_per_run is lower. */
#define PL_MAX_CONTEXTS_PER_RUN 256

static __always_inline __u32 next_stack(struct pl_scratch *s)
{
	if (!s->previous)
		return EP_MARK_END;
	/* Which op pushed the stackinfo is not reported. */
	s->op = 0;
	s->leaf = 0;
	return take_stack(s, s->previous) ? EP_MARK_AGAIN : EP_MARK_ERROR;
}

static __always_inline bool is_complete(const struct pl_scratch *s)
{
	return s->kind && (s->found.kind || s->base || s->type == CX_END);
}

static __always_inline __u32 step_context(struct ep_record *rec, const struct pl_state *state,
					  struct pl_scratch *s)
{
	s->was_first = s->first;
	s->first = 0;
	if (!read_context(state, s))
		return EP_MARK_ERROR;
	EP_MEET();
	if (is_passed(s))
		return EP_MARK_AGAIN;
	EP_MEET();
	if (s->phase == PL_PHASE_LOOK) {
		look(state, s);
		return EP_MARK_AGAIN;
	}
	find(state, s);
	EP_MEET();
	if (is_complete(s) && !push_pending(rec, s))
		return EP_MARK_FULL;
	EP_MEET();
	if (s->type == CX_END)
		return next_stack(s);
	s->base |= s->found.hidden;
	if (s->found.kind)
		set_pending(state, s);
	EP_MEET();
	if (s->found.look)
		begin_look(state, s);
	EP_MEET();
	if (s->found.leave)
		leave_frame(s);
	return EP_MARK_AGAIN;
}

static __always_inline void finish(struct ep_record *rec, struct pl_scratch *s, __u32 step)
{
	if (step == EP_MARK_ERROR)
		ep_push_error(rec, ep_self.first_error + PL_ERROR_CONTEXT, s->contexts);
	else if (step != EP_MARK_END)
		ep_push_error(rec, ep_self.first_error + PL_ERROR_DEEP, s->contexts);
	s->phase = PL_PHASE_DONE;
}

SEC("perf_event")
int perl_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct pl_state *state;
	struct pl_scratch *s;

	if (!rec)
		return 0;
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	if (state && s && !ep_is_entered(rec)) {
		if (s->phase == PL_PHASE_START)
			start(rec, state, s);
		if (s->phase == PL_PHASE_WALK || s->phase == PL_PHASE_LOOK)
			finish(rec, s, EP_MARK_STEPS(ctx, rec, PL_MAX_CONTEXTS_PER_RUN,
						     step_context(rec, state, s)));
	}
	ep_next(ctx, rec);
	return 0;
}
