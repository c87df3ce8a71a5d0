/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a walk has read is not read again: its thread is in the sample and does not run, so all of
 * it is as it was.
 *
 *	contexts	a window of sixteen: each is followed by the one outside of it
 *	CVs		| tables by address, which hold for the sample whose number they have: who
 *	closures' names	| calls itself is in the stack many times
 *	statements	|
 *	heads of CVs,	where one closure calls another, 1 KiB at a time: outer ones were made
 *			before, and
 *	their bodies	lie before them (sv.c: arenas)
 *
 * Reads cost by their number more than by their bytes.
 */
#ifndef PL_MEMORY_BPF_H
#define PL_MEMORY_BPF_H

#include "plugins/perl/bpf/scratch.bpf.h"

/* --- contexts --------------------------------------------------------------------------------- */

static __always_inline __u64 cx_word(const struct pl_scratch *s, __u32 off)
{
	return s->window[(s->cx_at + off) / 8 & (PL_WINDOW_BYTES / 8 - 1)];
}

static __always_inline __u32 cx_flags(const struct pl_scratch *s)
{
	return s->cx_head & 0xff;
}

static __always_inline __u32 cx_op(const struct pl_scratch *s)
{
	return (__u32)(s->cx_head >> 8 * CX_U16 & 0xffff) >> CX_OP_SHIFT;
}

/*
 * What is compared is what is passed: verifiers of 5.10 and 6.1 know no bounds of what was on the
 * stack.
 */
static __always_inline void read_contexts(struct pl_scratch *s, __u64 first, __u64 n, __u64 bytes)
{
	__u64 from = s->contexts + first * bytes, size = n * bytes;

	s->window_first = first;
	s->window_contexts = 0;
	EP_OPAQUE(from);
	EP_OPAQUE(size);
	if (size <= PL_WINDOW_BYTES && !bpf_probe_read_user(s->window, size, (void *)from))
		s->window_contexts = n;
}

/* Those up to cx_index, or it alone where a page of the others is not there. */
static __always_inline void move_window(const struct pl_state *state, struct pl_scratch *s)
{
	__u64 at = s->cx_index, before = at < PL_WINDOW_CONTEXTS ? at : PL_WINDOW_CONTEXTS - 1;

	read_contexts(s, at - before, before + 1, state->cx_bytes);
	EP_MEET();
	if (!s->window_contexts)
		read_contexts(s, s->cx_index, 1, state->cx_bytes);
}

/* Brings a context into the window: cx_word() is of it. */
static __always_inline bool see_context(const struct pl_state *state, struct pl_scratch *s,
					__u64 at)
{
	s->cx_index = at;
	EP_MEET();
	if (s->cx_index - s->window_first >= s->window_contexts)
		move_window(state, s);
	EP_MEET();
	if (!s->window_contexts)
		return false;
	s->cx_at = (s->cx_index - s->window_first) * state->cx_bytes;
	EP_MEET();
	s->cx_head = cx_word(s, 0);
	return true;
}

/* --- what is near ----------------------------------------------------------------------------- */

/* What is before them, too, of a closure; of others what is near is nobody's: then it is no read of
 * much. */
static __always_inline void read_near(struct pl_scratch *s, struct ep_window *window, __u64 *words,
				      __u64 addr, __u64 bytes)
{
	window->bytes = 0;
	window->sequence = s->sequence;
	window->first = addr + bytes - PL_NEAR_WORDS * 8;
	if (s->kind == PL_KIND_CLOSURE &&
	    !bpf_probe_read_user(words, PL_NEAR_WORDS * 8, (void *)window->first))
		window->bytes = PL_NEAR_WORDS * 8;
	EP_MEET();
	if (window->bytes)
		return;
	window->first = addr;
	if (!bpf_probe_read_user(words, bytes, (void *)addr))
		window->bytes = bytes;
}

/* Brings bytes at an address into it: EP_WINDOW_WORD() is of them. */
#define see_near(s, window, addr, bytes) see_before(s, &(window)->is, (window)->words, addr, bytes)
static __always_inline bool see_before(struct pl_scratch *s, struct ep_window *window, __u64 *words,
				       __u64 addr, __u64 bytes)
{
	if (ep_window_misses(window, s->sequence, addr, bytes))
		read_near(s, window, words, addr, bytes);
	EP_MEET();
	window->at = (addr - window->first) >> 3;
	return window->bytes;
}

/* --- tables ----------------------------------------------------------------------------------- */

static __always_inline struct pl_seen_cv *seen_cv(struct pl_scratch *s)
{
	return &s->cvs[s->cv_at & (PL_SEEN_CVS - 1)];
}

static __always_inline struct pl_seen_name *seen_name(struct pl_scratch *s)
{
	return &s->names[s->name_at & (PL_SEEN_NAMES - 1)];
}

static __always_inline struct pl_seen_statement *seen_statement(struct pl_scratch *s)
{
	return &s->statements[s->statement_at & (PL_SEEN_STATEMENTS - 1)];
}

/* Of the CV that was looked at last. */
static __always_inline __u64 cv_word(const struct pl_scratch *s, enum pl_cv_word word)
{
	return s->cvs[s->cv_at & (PL_SEEN_CVS - 1)].body[word];
}

static __always_inline __u32 cv_flags(const struct pl_scratch *s)
{
	return (__u32)(cv_word(s, PL_CV_SEQ_FLAGS) >> 32);
}

#endif
