/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a context is: a frame or none, and the last one of its run loop or not.
 */
#ifndef PL_CONTEXT_BPF_H
#define PL_CONTEXT_BPF_H

#include "plugins/perl/bpf/sub.bpf.h"

/* A type that no context has: the stackinfo has no more. */
#define CX_END 0x100u

/* The context at `at`, and its type, or CX_END. */
static __always_inline bool read_context(const struct pl_state *state, struct pl_scratch *s)
{
	__s64 at = s->at;

	s->type = CX_END;
	if (at < 0)
		return true;
	s->at = at - 1;
	if (at >= 1 << 24 || !see_context(state, s, (__u64)at))
		return false;
	s->type = cx_flags(s) & CX_TYPE_MASK;
	return true;
}

/* Loops and blocks, of which most contexts are, say nothing of frames but at the bottom. */
static __always_inline bool is_passed(const struct pl_scratch *s)
{
	const __u32 frames = 1u << CX_SUB | 1u << CX_FORMAT | 1u << CX_EVAL | 1u << CX_DEFER;

	return !((frames >> (s->type & CX_TYPE_MASK) & 1) | s->base | s->boundary) && s->at >= 0;
}

/*
 * The innermost context, which may be half written (inline.h: cx_pushblock, cx_pushsub; a sub's
 * depth grows after that), or be left of a sub that has returned.
 */
static __always_inline bool is_half_made(const struct pl_state *state, const struct pl_scratch *s)
{
	if (!s->found.fault && (!s->found.readable || !is_running(s)))
		return true;
	/* pp_entersub has pushed it, and nothing of it has run. call_sv's op has no number. */
	return (!s->op_type || s->op_type == state->op_entersub) && s->op &&
	       s->op_next == cx_word(s, CX_RETOP) && s->cop == cx_word(s, CX_COP);
}

/*
 * What stays at the bottom of a stackinfo for many calls: C runs between two of them. The loop that
 * has ended left no op; statements are put back (regexec.c; pp_sort.c: S_sortcv).
 */
static __always_inline bool is_between_calls(const struct pl_scratch *s)
{
	return s->at < 0 && s->previous && (!s->op || s->cop == cx_word(s, CX_COP));
}

static __always_inline void find_sub(const struct pl_state *state, struct pl_scratch *s)
{
	__u64 retop = cx_word(s, CX_RETOP);
	struct pl_found *found = &s->found;

	found->leave = 1;
	if (s->was_first && cx_flags(s) & CX_MULTICALL) {
		if (is_between_calls(s))
			return;
	} else if (s->was_first && is_half_made(state, s)) {
		/* Where it is being left, what is next is the caller's. */
		found->leave = s->op_type && s->op_type != state->op_entersub;
		return;
	}
	/* sort calls an XS function for each comparison, without a run loop. */
	if (found->readable && cv_flags(s) & PL_CVF_ISXSUB)
		return;
	if (s->dbsub && found->cv == s->dbsub) {
		found->hidden = 1 - is_set(retop);
		return;
	}
	/* A sub that calls itself is at the same statement as its caller. */
	s->doubted &= is_set(found->cv ^ s->frame_cv);
	found->kind = cx_flags(s) & CX_RE_FAKE ? PL_KIND_REGEX : PL_KIND_SUB;
	found->base = 1 - is_set(retop);
}

/* Its text is being compiled: no run loop of its own yet (pp_ctl.c: S_doeval_compile). */
static __always_inline bool is_compiling(const struct pl_scratch *s)
{
	return s->found.readable && !is_running(s);
}

static __always_inline void find_eval(const struct pl_state *state, struct pl_scratch *s)
{
	__u64 retop = cx_word(s, CX_RETOP);
	struct pl_found *found = &s->found;

	found->leave = 1;
	if (cx_flags(s) & CX_EVALBLOCK) {
		found->kind = PL_KIND_BLOCK;
		found->base = s->merged;
		found->look = is_set(retop);
		if (cx_flags(s) & CX_TRY) {
			found->kind = PL_KIND_TRY;
			found->leave = 0;
		}
		return;
	}
	/* Its last op is running: the statement is the caller's again. */
	if (s->was_first && s->cop == cx_word(s, CX_COP))
		return;
	/* Its CV is not made yet, or it is what was left of another one. */
	if (s->was_first && !found->readable && !found->fault) {
		found->leave = 0;
		return;
	}
	if (is_compiling(s)) {
		/* eval_sv, which has called no run loop: no frame of anyone */
		if (!retop)
			return;
		/*
		 * What goes on after an eval that was docatch's is still in its run loop: then
		 * that is the text's. Where there is none a last group too many joins the one
		 * before it.
		 */
		found->look = s->was_first;
	} else {
		found->look = is_set(retop);
		found->base = 1 - found->look;
	}
	found->kind = cx_op(s) == state->op_require ? PL_KIND_FILE : PL_KIND_TEXT;
}

/* What has a run loop of its own, and no retop. */
static __always_inline void find_block(struct pl_scratch *s, __u32 kind)
{
	s->found.kind = kind;
	s->found.base = 1;
	s->found.leave = 1;
}

static __always_inline void find_bottom(struct pl_scratch *s, __u32 type)
{
	if (type == CX_BLOCK && !s->previous)
		find_block(s, PL_KIND_MAIN);
	if (type == CX_NULL && s->previous) {
		find_block(s, PL_KIND_SORT);
		if (s->was_first && is_between_calls(s))
			s->found.kind = PL_KIND_NONE;
	}
}

static __always_inline void classify(const struct pl_state *state, struct pl_scratch *s)
{
	__u32 type = s->type;

	if (type == CX_SUB)
		find_sub(state, s);
	else if (type == CX_EVAL)
		find_eval(state, s);
	else if (type == CX_DEFER)
		find_block(s, PL_KIND_DEFER);
	else if (type == CX_FORMAT)
		s->found.kind = PL_KIND_FORMAT, s->found.leave = 1;
	else if (s->at < 0)
		find_bottom(s, type);
}

static __always_inline bool is_fake_eval(const struct pl_scratch *s)
{
	return (cx_flags(s) & (CX_TYPE_MASK | CX_EVALBLOCK)) == (CX_EVAL | CX_EVALBLOCK) &&
	       !cx_word(s, CX_RETOP);
}

static __always_inline void find(const struct pl_state *state, struct pl_scratch *s)
{
	struct pl_found *found = &s->found;

	__builtin_memset(found, 0, sizeof(*found));
	s->merged = 0;
	if (s->type == CX_END)
		return;
	if (s->type == CX_SUB || s->type == CX_FORMAT)
		found->cv = cx_word(s, state->cx_sub_cv);
	else if (s->type == CX_EVAL && !(cx_flags(s) & CX_EVALBLOCK))
		found->cv = cx_word(s, state->cx_eval_cv);
	EP_MEET();
	see_cv(s);
	/* call_sv(G_EVAL) has pushed both: its EVAL is the last of the group. */
	if (s->base && s->frame_cv && is_fake_eval(s)) {
		s->merged = 1;
		s->base = 0;
	}
	EP_MEET();
	classify(state, s);
}

#endif
