/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code of a frame (CV): its body, its check and what has its name.
 */
#ifndef PL_SUB_BPF_H
#define PL_SUB_BPF_H

#include "plugins/perl/bpf/memory.bpf.h"

static __always_inline bool is_closure(const struct pl_seen_cv *seen)
{
	return seen->body[PL_CV_SEQ_FLAGS] >> 32 & (PL_CVF_CLONED | PL_CVF_ANON);
}

/* Its body into the table; false: it is no CV, or could not be read (found.fault). */
static __always_inline bool read_body(struct pl_scratch *s)
{
	struct pl_seen_cv *seen = seen_cv(s);
	__u32 type;

	s->found.fault = 1;
	if (!see_near(s, &s->heads, s->found.cv, sizeof(s->sv)))
		return false;
	s->body_at = EP_WINDOW_WORD(&s->heads, 0) + PL_CV_AT;
	type = (__u32)(EP_WINDOW_WORD(&s->heads, 1) >> SV_TYPE_SHIFT) & 0xff;
	if (type != SV_TYPE_CV && type != SV_TYPE_FORM) {
		s->found.fault = 0;
		return false;
	}
	seen->is.sequence = 0;
	if (!see_near(s, &s->bodies, s->body_at, sizeof(seen->body)))
		return false;
#pragma unroll
	for (__u64 i = 0; i < PL_CV_WORDS; i++)
		seen->body[i] = EP_WINDOW_WORD(&s->bodies, i);
	s->found.fault = 0;
	seen->check = is_closure(seen) ? 0 : pl_check_cv(seen->body);
	seen->is.key = s->found.cv;
	seen->is.sequence = s->sequence;
	return true;
}

/* cv_word() is of found.cv, where that is a CV. */
static __always_inline void see_cv(struct pl_scratch *s)
{
	if (!s->found.cv)
		return;
	s->cv_at = ep_seen_slot(s->found.cv, PL_SEEN_CVS_SHIFT);
	EP_MEET();
	s->found.readable = ep_is_seen(&seen_cv(s)->is, s->sequence, s->found.cv) ||
			    read_body(s);
}

static __always_inline bool is_running(const struct pl_scratch *s)
{
	return (__s32)(__u32)cv_word(s, PL_CV_DEPTH) > 0;
}

/* "BEGIN" */
#define BEGIN_NAME  0x4e49474542ull
#define BEGIN_BYTES 6
#define HEK_KEY	    8  /* struct hek, hv.h */
/* "__ANON__", its first eight bytes */
#define ANON_NAME 0x5f5f4e4f4e415f5full

/* It is called while it is compiled, and freed right after (op.c: process_special_blocks). */
static __always_inline bool is_begin(struct pl_scratch *s)
{
	__u64 named = is_set(cv_flags(s) & PL_CVF_NAMED), gv;

	gv = cv_word(s, PL_CV_GV);
	read_or_zero(&s->at_name, gv);
	read_or_zero(&s->at_name, s->at_name + PL_GV_NAME_AT);
	s->at_name = named * gv + (1 - named) * s->at_name;
	read_or_zero(&s->at_name, s->at_name + HEK_KEY);
	return (s->at_name & ((1ull << 8 * BEGIN_BYTES) - 1)) == BEGIN_NAME;
}

/* A glob's sub has the name of its effective glob, as it is now (gv.c: gv_efullname4). */
static __always_inline __u64 effective_glob(struct pl_scratch *s, __u64 gv)
{
	__u64 found;

	read_or_zero(&s->at_name, gv + SV_U);
	read_or_zero(&s->at_name, s->at_name + GP_EGV);
	found = is_set(s->at_name);
	return found * s->at_name + (1 - found) * gv;
}

/*
 * A lexical sub that somebody has asked for a glob, such as the debugger, owns that one: it goes
 * with the CV, but its name is the one that all of them share (gv.c: cvgv_from_hek).
 */
static __always_inline __u64 lexical_name(struct pl_scratch *s, __u64 gv)
{
	read_or_zero(&s->at_name, gv);
	read_or_zero(&s->at_name, s->at_name + PL_GV_NAME_AT);
	return s->at_name;
}

/* It has a name, and not that of those that are all called "__ANON__". */
static __always_inline __u32 has_own_name(struct pl_scratch *s, __u32 globbed)
{
	const struct pl_seen_name *seen = seen_name(s);

	bpf_probe_read_user(s->hek, sizeof(s->hek), (void *)(seen->words[0] * globbed));
	return globbed & is_set(seen->words[1]) & is_set(s->hek[0]) & is_set(s->hek[1] ^ ANON_NAME);
}

/* What has its name, into the table. */
static __always_inline void read_name(struct pl_scratch *s)
{
	__u64 what = cv_word(s, PL_CV_GV), at;
	__u32 globbed = !(cv_flags(s) & (PL_CVF_NAMED | PL_CVF_LEXICAL));
	struct pl_seen_name *seen = seen_name(s);

	if (globbed)
		what = effective_glob(s, what);
	else if (!(cv_flags(s) & PL_CVF_NAMED))
		what = lexical_name(s, what);
	EP_MEET();
	seen->what = what;
	read_or_zero(&s->at_name, what);
	at = what + globbed * (s->at_name + PL_GV_NAME_AT - what);
	bpf_probe_read_user(seen->words, sizeof(seen->words), (void *)at);
	/* Of a HEK its first word alone. */
	seen->words[1] *= globbed;
	seen->own = has_own_name(s, globbed);
	seen->head = s->hek[0];
}

/* One glob or HEK has one name, but is asked for it in different ways. */
static __always_inline void see_name(struct pl_scratch *s)
{
	/* Both flags are where an address has none. */
	__u64 key = cv_word(s, PL_CV_GV) | (cv_flags(s) / PL_CVF_NAMED & 3);

	s->name_at = ep_seen_slot(key, PL_SEEN_NAMES_SHIFT);
	EP_MEET();
	if (ep_is_seen(&seen_name(s)->is, s->sequence, key))
		return;
	seen_name(s)->is.key = key;
	seen_name(s)->is.sequence = s->sequence;
	read_name(s);
}

static __always_inline void set_closure(struct pl_scratch *s)
{
	__u32 lexical = is_set(cv_flags(s) & PL_CVF_LEXICAL);

	s->kind = PL_KIND_CLOSURE;
	s->flags |= is_set(cv_flags(s) & (PL_CVF_NAMED | PL_CVF_LEXICAL)) * PL_FRAME_NAMED |
		    lexical * PL_FRAME_LEXICAL;
	see_name(s);
	EP_MEET();
	s->frame_what = seen_name(s)->what >> 3;
	s->blank = 1 - is_set(seen_name(s)->what);
	/* It may not have come to its first statement. */
	if (s->was_first && s->cop == cx_word(s, CX_COP))
		s->frame_cop = cv_word(s, PL_CV_START);
	EP_MEET();
}

/* The check, if its name can be read. What was named by hand has a glob that goes with it. */
static __always_inline void check_closure(struct pl_scratch *s)
{
	const struct pl_seen_name *seen = seen_name(s);
	__u64 found = is_set(seen->words[0]), own = seen->own;

	s->flags += own * PL_FRAME_NAME - own * (s->flags & PL_FRAME_TEXT);
	s->frame_file = own * pl_name_of_closure(seen->head, seen->words[1]) +
			(1 - own) * s->frame_file;
	s->frame_check = own * s->frame_check +
			 (1 - own) * found *
				 pl_check_name(s->frame_check, seen->words[0], seen->words[1]);
}

/* What is freed right after it ran is near the leaf, and has been compiled not long ago. */
static __always_inline void take_name(struct pl_scratch *s)
{
	__u64 named = is_set(cv_flags(s) & PL_CVF_NAMED), name;

	if (s->n_frames > PL_NEAR_FRAMES)
		return;
	bpf_probe_read_user(&s->line, sizeof(s->line), (void *)(s->frame_cop + PL_COP_AT));
	name = named * pl_name_of_hek(cv_word(s, PL_CV_GV), cv_word(s, PL_CV_STASH)) +
	       (1 - named) * (cv_word(s, PL_CV_GV) >> 3);
	s->flags |= PL_FRAME_NAME | (__u32)named * PL_FRAME_NAMED;
	s->frame_file = (name & PL_ADDRESS_MASK) | (__u64)s->line << PL_ADDRESS_BITS;
}

static __always_inline void set_named(struct pl_scratch *s)
{
	s->frame_what = s->found.cv >> 3;
	s->blank = 1 - s->found.readable;
	s->frame_check = s->found.readable * seen_cv(s)->check;
	/* It may have passed its last one, too. */
	s->doubted = s->was_first * (1 - is_set(s->cop ^ cx_word(s, CX_COP)));
	take_name(s);
}

static __always_inline void set_sub(struct pl_scratch *s)
{
	s->frame_cv = s->found.cv;
	if (s->found.readable && (s->base || s->dbsub) && is_begin(s)) {
		s->kind = PL_KIND_BEGIN;
		s->frame_what = cv_word(s, PL_CV_STASH) >> 3;
	}
	EP_MEET();
	if (s->kind == PL_KIND_BEGIN)
		return;
	if (s->found.readable && is_closure(seen_cv(s)))
		set_closure(s);
	else
		set_named(s);
}

#endif
