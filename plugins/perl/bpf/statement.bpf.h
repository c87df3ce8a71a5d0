/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The statement of a frame (COP): its check, and what of its place is said here and now, since it may be
 * gone when names are asked for.
 */
#ifndef PL_STATEMENT_BPF_H
#define PL_STATEMENT_BPF_H

#include "plugins/perl/bpf/scratch.bpf.h"

/* "(eval " */
#define TEXT_HEAD 0x206c61766528ull
#define TEXT_HEAD_BYTES 6
#define TEXT_DIGITS 8

/* The number in "(eval NUMBER)" (pp_ctl.c: pp_entereval); 0: the file is none. */
static __always_inline __u64 text_number(const struct pl_scratch *s)
{
	__u64 digits = s->text[0] >> 8 * TEXT_HEAD_BYTES | s->text[1] << 16, number = 0, more = 1;

	if ((s->text[0] & ((1ull << 8 * TEXT_HEAD_BYTES) - 1)) != TEXT_HEAD)
		return 0;
	for (__u32 i = 0; i < TEXT_DIGITS; i++) {
		__u64 digit = (digits & 0xff) - '0';

		more *= 1 - ((digit | (9 - digit)) >> 63);
		EP_OPAQUE(more); /* or it becomes a branch */
		number = number * (1 + 9 * more) + digit * more;
		digits >>= 8;
	}
	return number >> PL_TEXT_BITS ? 0 : number;
}

/* The check is that of the statement. */
static __always_inline void check_statement(struct pl_scratch *s)
{
	s->frame_check = 0;
	if (!s->frame_cop)
		return;
	if (bpf_probe_read_user(s->cop_ints, PL_COP_INTS * 4, (void *)(s->frame_cop + PL_COP_AT)))
		s->blank |= is_set(s->kind ^ PL_KIND_CLOSURE);
	else
		s->frame_check = pl_check_cop(s->cop_ints);
}

static __always_inline void take_file(struct pl_scratch *s, __u64 name)
{
	__builtin_memset(s->file, 0, sizeof(s->file));
	if (bpf_probe_read_user_str(s->file, sizeof(s->file), (void *)name) <= 1)
		return;
	s->flags |= PL_FRAME_FILE;
	s->frame_file = pl_hash_file(s->file);
	s->frame_line = s->cop_ints[PL_COP_LINE];
	s->frame_cop = 0;
	s->frame_check = 0;
}

/*
 * What is known here and now, of a statement that may be gone when names are asked for. That which
 * calls BEGIN is made for it, and freed after it.
 */
static __always_inline void take_place(const struct pl_state *state, struct pl_scratch *s)
{
	__u64 name = s->cop_ints[PL_COP_FILE] | (__u64)s->cop_ints[PL_COP_FILE + 1] << 32, number;

	if (!state->threads || !s->frame_check || s->kind == PL_KIND_MAIN)
		return;
	if (bpf_probe_read_user(s->text, sizeof(s->text), (void *)name)) {
		s->blank |= is_set(s->kind ^ PL_KIND_CLOSURE);
		return;
	}
	number = text_number(s);
	if (number && s->kind != PL_KIND_BEGIN) {
		s->flags |= PL_FRAME_TEXT;
		s->frame_file = number | (__u64)s->cop_ints[PL_COP_LINE] << PL_TEXT_BITS;
		if (s->kind != PL_KIND_CLOSURE)
			s->frame_what = s->frame_file;
	} else if (s->kind == PL_KIND_CLOSURE) {
		return;
	} else if (s->kind == PL_KIND_FILE || s->kind == PL_KIND_TEXT ||
		   s->kind == PL_KIND_BEGIN || s->base || s->frame_cop == s->compiling) {
		take_file(s, name);
	}
}

#endif
