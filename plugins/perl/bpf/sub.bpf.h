/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code of a frame (CV): its body, its check and what has its name.
 */
#ifndef PL_SUB_BPF_H
#define PL_SUB_BPF_H

#include "plugins/perl/bpf/scratch.bpf.h"

/* The body of found.cv, where that is a CV. */
static __always_inline void read_cv(struct pl_scratch *s)
{
	__u32 type;

	s->found.readable = 0;
	s->found.fault = is_set(s->found.cv);
	if (!s->found.cv || bpf_probe_read_user(s->sv, sizeof(s->sv), (void *)s->found.cv))
		return;
	s->found.fault = 0;
	type = (__u32)(s->sv[1] >> SV_TYPE_SHIFT) & 0xff;
	if (type != SV_TYPE_CV && type != SV_TYPE_FORM)
		return;
	if (bpf_probe_read_user(s->body, sizeof(s->body), (void *)(s->sv[0] + PL_CV_AT)) == 0)
		s->found.readable = 1;
	s->found.fault = 1 - s->found.readable;
}

static __always_inline bool is_running(const struct pl_scratch *s)
{
	return (__s32)(__u32)s->body[PL_CV_DEPTH] > 0;
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
	__u64 named = is_set(s->body[PL_CV_SEQ_FLAGS] >> 32 & PL_CVF_NAMED), gv;

	gv = s->body[PL_CV_GV];
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
 * A lexical sub that somebody has asked for a glob, such as the debugger, owns that one: it goes with
 * the CV, but its name is the one that all of them share (gv.c: cvgv_from_hek).
 */
static __always_inline __u64 lexical_name(struct pl_scratch *s, __u64 gv)
{
	read_or_zero(&s->at_name, gv);
	read_or_zero(&s->at_name, s->at_name + PL_GV_NAME_AT);
	return s->at_name;
}

static __always_inline void set_closure(struct pl_scratch *s)
{
	__u64 what = s->body[PL_CV_GV], flags = s->body[PL_CV_SEQ_FLAGS] >> 32;

	s->kind = PL_KIND_CLOSURE;
	if (flags & PL_CVF_NAMED)
		s->flags |= PL_FRAME_NAMED;
	else if (flags & PL_CVF_LEXICAL)
		what = lexical_name(s, what);
	else
		what = effective_glob(s, what);
	s->frame_what = what >> 3;
	s->blank = 1 - is_set(what);
	PL_FORGET();
	if (s->body[PL_CV_SEQ_FLAGS] >> 32 & PL_CVF_LEXICAL)
		s->flags |= PL_FRAME_NAMED | PL_FRAME_LEXICAL;
	/* It may not have come to its first statement. */
	if (s->was_first && s->cop == cx_word(s, CX_COP))
		s->frame_cop = s->body[PL_CV_START];
	PL_FORGET();
}

/* 1: it has a name, and not that of those that are all called "__ANON__". */
static __always_inline __u32 has_own_name(struct pl_scratch *s)
{
	__u32 globbed = 1 - is_set(s->flags & PL_FRAME_NAMED);

	bpf_probe_read_user(s->hek, sizeof(s->hek), (void *)(s->name[0] * globbed));
	return globbed & is_set(s->name[1]) & is_set(s->hek[0]) & is_set(s->hek[1] ^ ANON_NAME);
}

/* The check, if its name can be read. What was named by hand has a glob that goes with it. */
static __always_inline void check_closure(struct pl_scratch *s)
{
	__u64 what = s->frame_what << 3, globbed = 1 - is_set(s->flags & PL_FRAME_NAMED), found, own;

	read_or_zero(&s->at_name, what);
	what += globbed * (s->at_name + PL_GV_NAME_AT - what);
	bpf_probe_read_user(s->name, sizeof(s->name), (void *)what);
	/* Of a HEK its first word alone. */
	s->name[1] *= 1 - is_set(s->flags & PL_FRAME_NAMED);
	found = is_set(s->name[0]);
	own = has_own_name(s);
	s->flags += own * PL_FRAME_NAME - own * (s->flags & PL_FRAME_TEXT);
	s->frame_file = own * pl_name_of_closure(s->hek[0], s->name[1]) +
			(1 - own) * s->frame_file;
	s->frame_check = own * s->frame_check +
			 (1 - own) * found *
				 pl_check_name(s->frame_check, s->name[0], s->name[1]);
}

/* What is freed right after it ran is near the leaf, and has been compiled not long ago. */
static __always_inline void take_name(struct pl_scratch *s)
{
	__u64 named = is_set(s->body[PL_CV_SEQ_FLAGS] >> 32 & PL_CVF_NAMED), name;

	if (s->n_frames > PL_NEAR_FRAMES)
		return;
	bpf_probe_read_user(s->cop_ints, sizeof(__u32), (void *)(s->frame_cop + PL_COP_AT));
	name = named * pl_name_of_hek(s->body[PL_CV_GV], s->body[PL_CV_STASH]) +
	       (1 - named) * (s->body[PL_CV_GV] >> 3);
	s->flags |= PL_FRAME_NAME | (__u32)named * PL_FRAME_NAMED;
	s->frame_file = (name & PL_ADDRESS_MASK) | (__u64)s->cop_ints[0] << PL_ADDRESS_BITS;
}

static __always_inline void set_named(struct pl_scratch *s)
{
	s->frame_what = s->found.cv >> 3;
	s->blank = 1 - s->found.readable;
	s->frame_check = pl_check_cv(s->body);
	/* It may have passed its last one, too. */
	s->doubted = s->was_first * (1 - is_set(s->cop ^ cx_word(s, CX_COP)));
	take_name(s);
}

static __always_inline void set_sub(struct pl_scratch *s)
{
	s->frame_cv = s->found.cv;
	if (s->found.readable && (s->base || s->dbsub) && is_begin(s)) {
		s->kind = PL_KIND_BEGIN;
		s->frame_what = s->body[PL_CV_STASH] >> 3;
	}
	PL_FORGET();
	if (s->kind == PL_KIND_BEGIN)
		return;
	if (s->found.readable && s->body[PL_CV_SEQ_FLAGS] >> 32 & (PL_CVF_CLONED | PL_CVF_ANON))
		set_closure(s);
	else
		set_named(s);
}

#endif
