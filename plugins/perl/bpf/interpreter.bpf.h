/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the interpreter of the thread is, and what it runs.
 */
#ifndef PL_INTERPRETER_BPF_H
#define PL_INTERPRETER_BPF_H

#include "plugins/perl/bpf/scratch.bpf.h"

static __always_inline bool take_stack(struct pl_scratch *s, __u64 stack)
{
	if (!stack || bpf_probe_read_user(s->si, SI_BYTES, (void *)stack))
		return false;
	s->contexts = s->si[SI_CONTEXTS / 8];
	s->previous = s->si[SI_PREVIOUS / 8];
	s->at = (__s32)(__u32)s->si[SI_INDEX / 8];
	s->window_contexts = 0;
	return true;
}

static __always_inline void take_op(struct pl_scratch *s)
{
	if (!s->op || bpf_probe_read_user(s->op_words, OP_BYTES, (void *)s->op))
		return;
	s->op_next = s->op_words[OP_NEXT / 8];
	s->op_type = (__u32)s->op_words[OP_TYPE / 8] & OP_TYPE_MASK;
}

/* perl -d: a GV, whose sub calls all others, and is none to caller() (pp_ctl.c: caller_cx). */
static __always_inline void take_dbsub(const struct pl_state *state, struct pl_scratch *s,
				       __u64 interp)
{
	__u64 gv = 0;

	if (!state->dbsub_off || !ep_read_word(interp + state->dbsub_off, &gv) || !gv)
		return;
	if (ep_read_word(gv + SV_U, &gv) && gv)
		ep_read_word(gv + GP_CV, &s->dbsub);
}

static __always_inline bool find_interpreter(const struct ep_record *rec,
					     const struct pl_state *state, __u64 *interp)
{
	if (state->interp.steps)
		return ep_read_tls(&state->interp, ep_thread_pointer(), interp) && *interp;
	if (state->holder_of_main && rec->sample.tid != rec->sample.pid)
		return false;
	if (state->holder_addr)
		return ep_read_word(state->holder_addr, interp) && *interp;
	*interp = 0;
	return true;
}

/* The least of what attach asks: PL_defstash is a hash, PL_curstackinfo has no more than it may. */
static __always_inline bool is_likely(const struct pl_state *state, struct pl_scratch *s,
				      __u64 interp)
{
	__u64 stash = 0;

	if (!ep_read_word(interp + state->defstash_off, &stash) || !stash ||
	    bpf_probe_read_user(s->sv, sizeof(s->sv), (void *)stash))
		return false;
	return ((s->sv[1] >> SV_TYPE_SHIFT) & 0xff) == SV_TYPE_HASH && s->at >= -1 &&
	       s->at <= (__s32)(s->si[SI_INDEX / 8] >> 32);
}

static __always_inline void start(struct ep_record *rec, const struct pl_state *state,
				  struct pl_scratch *s)
{
	__u64 interp = 0, stack = 0;

	s->phase = PL_PHASE_DONE;
	if (state->unproven)
		ep_ask_refresh(rec);
	if (!find_interpreter(rec, state, &interp)) {
		ep_count(PL_COUNT_NO_INTERPRETER);
		return;
	}
	if (!ep_read_word(interp + state->op_off, &s->op) ||
	    !ep_read_word(interp + state->cop_off, &s->cop) ||
	    !ep_read_word(interp + state->stack_off, &stack) || !take_stack(s, stack) ||
	    (state->unproven && !is_likely(state, s, interp)))
		return;
	s->compiling = interp + state->compiling_off;
	s->young = ep_is_set(rec->sample.flags & EP_SAMPLE_YOUNG);
	take_op(s);
	take_dbsub(state, s, interp);
	s->first = 1;
	s->leaf = PL_FRAME_LEAF;
	s->phase = PL_PHASE_WALK;
}

#endif
