/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pending frame: found in its context, and pushed when what it depends on is known.
 */
#ifndef PL_FRAME_BPF_H
#define PL_FRAME_BPF_H

#include "plugins/perl/bpf/statement.bpf.h"
#include "plugins/perl/bpf/sub.bpf.h"

static __always_inline __u32 op_bits(const struct pl_scratch *s)
{
	__s64 words = (__s64)(s->frame_op - s->frame_cop) >> 3;

	if (s->flags & PL_FRAME_FILE)
		return s->frame_line & PL_OP_MASK;
	if (!s->frame_op || !s->frame_cop ||
	    (__u64)(words + (1 << (PL_OP_BITS - 1))) >= 1ull << PL_OP_BITS)
		return 0;
	return (__u32)words & PL_OP_MASK;
}

static __always_inline bool push_pending(struct ep_record *rec, struct pl_scratch *s)
{
	__u64 check = s->frame_check, word0, word1;
	__u32 flags, n;

	s->frame_cop &= s->doubted - 1ull;
	s->aux = op_bits(s) | (__u32)(check & 0xff) << PL_OP_BITS;
	EP_MEET();
	check = s->frame_check;
	word0 = (s->frame_what & PL_ADDRESS_MASK) | (check >> 8 & 0xffff) << PL_CHECK_SHIFT |
		(__u64)s->kind << PL_KIND_SHIFT;
	word1 = s->frame_file_at | (s->frame_cop >> 3 & PL_ADDRESS_MASK) |
		(check >> 24) << PL_ADDRESS_BITS;
	flags = s->flags | s->base * EP_FRAME_ENTRY;
	/* A closure's word 0 has no space for its text. */
	n = 2 + (is_set(s->flags & (PL_FRAME_FILE | PL_FRAME_NAME)) |
		 (is_set(s->flags & PL_FRAME_TEXT) & (1 - is_set(s->kind ^ PL_KIND_CLOSURE))));
	n = s->blank + (1 - s->blank) * n;
	s->kind = PL_KIND_NONE;
	s->base = 0;
	return ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, flags, n, s->aux), n, word0, word1,
			     s->frame_file);
}

static __always_inline bool has_cv(const struct pl_scratch *s)
{
	return s->kind == PL_KIND_SUB || s->kind == PL_KIND_FORMAT;
}

/* The context that was found to be a frame becomes the pending one. */
static __always_inline void set_pending(const struct pl_state *state, struct pl_scratch *s)
{
	s->n_frames++;
	s->kind = s->found.kind;
	s->flags = s->leaf;
	s->base = s->found.base;
	s->doubted = 0;
	s->blank = 0;
	s->frame_cv = 0;
	s->frame_what = 0;
	s->frame_file_at = 0;
	s->frame_cop = s->cop;
	s->frame_op = s->op;
	if (has_cv(s))
		set_sub(s);
	EP_MEET();
	if (has_cv(s))
		return;
	check_statement(state, s);
	EP_MEET();
	take_place(state, s);
	EP_MEET();
	if (s->kind == PL_KIND_CLOSURE)
		check_closure(s);
}

static __always_inline void leave_frame(struct pl_scratch *s)
{
	s->cop = cx_word(s, CX_COP);
	s->op = cx_word(s, CX_RETOP);
	s->leaf = 0;
}

#endif
