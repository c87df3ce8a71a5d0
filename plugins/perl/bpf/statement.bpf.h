/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The statement of a frame (COP): its check, and what of its place is reported here and now, since
 * it may be gone when names are asked for.
 */
#ifndef PL_STATEMENT_BPF_H
#define PL_STATEMENT_BPF_H

#include "plugins/perl/bpf/memory.bpf.h"

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

static __always_inline __u64 file_of(const struct pl_seen_statement *seen)
{
	return seen->ints[PL_COP_FILE] | (__u64)seen->ints[PL_COP_FILE + 1] << 32;
}

/* What it says into the table; false: it could not be read. */
static __always_inline bool read_statement(const struct pl_state *state, struct pl_scratch *s)
{
	struct pl_seen_statement *seen = seen_statement(s);

	seen->is.sequence = 0;
	if (bpf_probe_read_user(seen->ints, sizeof(seen->ints), (void *)(s->frame_cop + PL_COP_AT)))
		return false;
	seen->check = pl_check_cop(seen->ints);
	seen->has_file = state->threads &&
			 !bpf_probe_read_user(s->text, sizeof(s->text), (void *)file_of(seen));
	seen->text = 0;
	if (seen->has_file)
		seen->text = text_number(s);
	seen->is.key = s->frame_cop;
	seen->is.sequence = s->sequence;
	return true;
}

/* The check is that of the statement. */
static __always_inline void check_statement(const struct pl_state *state, struct pl_scratch *s)
{
	s->frame_check = 0;
	if (!s->frame_cop)
		return;
	s->statement_at = ep_seen_slot(s->frame_cop, PL_SEEN_STATEMENTS_SHIFT);
	EP_MEET();
	if (ep_is_seen(&seen_statement(s)->is, s->sequence, s->frame_cop) ||
	    read_statement(state, s))
		s->frame_check = seen_statement(s)->check;
	else
		s->blank |= is_set(s->kind ^ PL_KIND_CLOSURE);
}

static __always_inline void take_file(struct pl_scratch *s, __u64 name)
{
	__builtin_memset(s->file, 0, sizeof(s->file));
	if (bpf_probe_read_user_str(s->file, sizeof(s->file), (void *)name) <= 1)
		return;
	s->flags |= PL_FRAME_FILE;
	s->frame_file = pl_hash_file(s->file);
	s->frame_file_at = s->young * name;
	s->frame_line = seen_statement(s)->ints[PL_COP_LINE];
	s->frame_cop = 0;
	s->frame_check = 0;
}

/*
 * What is known here and now, of a statement that may be gone when names are asked for. That which
 * calls BEGIN is made for it, and freed after it.
 */
static __always_inline void take_place(const struct pl_state *state, struct pl_scratch *s)
{
	const struct pl_seen_statement *seen = seen_statement(s);

	if (!state->threads || !s->frame_check || s->kind == PL_KIND_MAIN)
		return;
	if (!seen->has_file) {
		s->blank |= is_set(s->kind ^ PL_KIND_CLOSURE);
		return;
	}
	if (seen->text && s->kind != PL_KIND_BEGIN) {
		s->flags |= PL_FRAME_TEXT;
		s->frame_file = seen->text | (__u64)seen->ints[PL_COP_LINE] << PL_TEXT_BITS;
		if (s->kind != PL_KIND_CLOSURE)
			s->frame_what = s->frame_file;
	} else if (s->kind == PL_KIND_CLOSURE) {
		return;
	} else if (s->kind == PL_KIND_FILE || s->kind == PL_KIND_TEXT ||
		   s->kind == PL_KIND_BEGIN || s->base || s->frame_cop == s->compiling) {
		take_file(s, file_of(seen));
	}
}

#endif
