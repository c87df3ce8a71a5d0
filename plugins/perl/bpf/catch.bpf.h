/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether an EVAL was docatch's is known when the EVAL around it is found, or where its run loop
 * began: both have the same jump buffer unless docatch made one; a run loop that catches nothing
 * (CATCH_SET(TRUE)) leaves that to the first EVAL in it. So there is a second, faster walk ahead,
 * at each EVAL (PL_PHASE_LOOK).
 */
#ifndef PL_CATCH_BPF_H
#define PL_CATCH_BPF_H

#include "plugins/perl/bpf/context.bpf.h"

static __always_inline void begin_look(const struct pl_state *state, struct pl_scratch *s)
{
	s->look_env = cx_word(s, state->cx_eval_env);
	s->back = s->at;
	s->boundary = 0;
	s->phase = PL_PHASE_LOOK;
}

static __always_inline void end_look(struct pl_scratch *s, __u32 caught)
{
	s->base |= caught;
	s->boundary = 0;
	s->phase = PL_PHASE_WALK;
	s->at = s->back;
	/* A try block that nothing in C knows of is no frame to caller(). */
	if (s->kind == PL_KIND_TRY && !s->base) {
		s->kind = PL_KIND_NONE;
		s->leaf = s->flags;
	}
}

static __always_inline void step_look(const struct pl_state *state, struct pl_scratch *s)
{
	__u32 type = s->type;

	if (s->boundary)
		end_look(s, !is_fake_eval(s));
	else if (type == CX_EVAL)
		end_look(s, is_set(cx_word(s, state->cx_eval_env) ^ s->look_env));
	else if (type == CX_SUB && !cx_word(s, CX_RETOP))
		s->boundary = 1;
}

static __always_inline void look(const struct pl_state *state, struct pl_scratch *s)
{
	if (s->type == CX_END) /* perl_run catches; of another stackinfo nobody did */
		end_look(s, s->boundary | is_set(s->previous));
	else
		step_look(state, s);
}

#endif
