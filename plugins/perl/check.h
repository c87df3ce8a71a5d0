/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The check of a frame: 44 bits that tell what it ran from what was later put at the same address.
 * The BPF program takes it when it meets the frame, the symbolizer when it reads the names. If they
 * differ, what the frame ran is gone.
 *
 * A sub's check is made of words of its CV's body that say which code it is: the package it was
 * compiled in, its op tree, its glob or name, and PL_cop_seqmax as it was when it was compiled
 * (CvOUTSIDE_SEQ), a number that only grows: so two pieces of code never have the same check,
 * though each may be where the other was, and all closures of one sub have (cv.h and pad.c:
 * pad_new, S_cv_clone, v5.28.3 to v5.40.0).
 *
 * A closure's check, and that of any frame that is no sub, is made of the statement: line, file,
 * package, and cop_seq, which is the same number when the statement was compiled (cop.h: struct
 * cop).
 */
#ifndef PL_CHECK_H
#define PL_CHECK_H

#include "plugins/shared/check.h"

#include <linux/types.h>

#define PL_CHECK_BITS 44
#define PL_CHECK_MASK ((1ull << PL_CHECK_BITS) - 1)

/* struct xpvcv from xcv_stash on, cv.h: words. The same in all of v5.28.3 to v5.44.0. */
enum pl_cv_word {
	PL_CV_STASH = 0,	/* xcv_stash, at 32 */
	PL_CV_START = 1,	/* xcv_start_u: first op, or of XS what is passed on */
	PL_CV_ROOT = 2,		/* xcv_root_u: op tree, or the XS function */
	PL_CV_GV = 3,		/* xcv_gv_u: GV or HEK */
	PL_CV_FILE = 4,		/* xcv_file */
	PL_CV_PADLIST = 5,	/* xcv_padlist_u */
	PL_CV_OUTSIDE = 6,	/* xcv_outside */
	PL_CV_SEQ_FLAGS = 7,	/* xcv_outside_seq, xcv_flags */
	PL_CV_DEPTH = 8,	/* xcv_depth, 32 bits */
	PL_CV_WORDS = 9,
};
#define PL_CV_AT 32 /* of xcv_stash in the body */

/* cv.h, the same in all releases. */
#define PL_CVF_ISXSUB  0x0008u
#define PL_CVF_CLONED  0x0040u
#define PL_CVF_ANON    0x0080u
#define PL_CVF_NAMED   0x8000u
#define PL_CVF_LEXICAL 0x10000u

/* Those of the flags that never change while it lives, and tell how its name is read. */
#define PL_CVF_CHECKED (PL_CVF_ISXSUB | PL_CVF_ANON | PL_CVF_NAMED | PL_CVF_LEXICAL)

static inline __attribute__((always_inline)) __u64 pl_check_cv(const __u64 *words)
{
	__u64 hash = check_mix(1, words[PL_CV_STASH]);

	hash = check_mix(hash, words[PL_CV_ROOT]);
	hash = check_mix(hash, words[PL_CV_GV]);
	hash = check_mix(hash,
			 words[PL_CV_SEQ_FLAGS] & (0xffffffffull | (__u64)PL_CVF_CHECKED << 32));
	return hash & PL_CHECK_MASK;
}

/* struct cop from cop_line on, cop.h: 32 bits each. The same in all of v5.28.3 to v5.44.0. */
enum pl_cop_int {
	PL_COP_LINE = 0, /* cop_line, at 36 */
	PL_COP_STASH = 1, /* cop_stashoff or cop_stash: 64 bits */
	PL_COP_FILE = 3,  /* cop_file or cop_filegv: 64 bits */
	PL_COP_HINTS = 5,
	PL_COP_SEQ = 6, /* cop_seq */
	PL_COP_INTS = 7,
};
#define PL_COP_AT 36 /* of cop_line */
#define PL_NO_LINE 0xffffffffu /* cop_line while a file is compiled; handy.h: NOLINE */

static inline __attribute__((always_inline)) __u64 pl_check_cop(const __u32 *ints)
{
	__u64 hash = check_mix(2, ints[PL_COP_LINE] | (__u64)ints[PL_COP_SEQ] << 32);

	hash = check_mix(hash, ints[PL_COP_STASH] | (__u64)ints[PL_COP_STASH + 1] << 32);
	hash = check_mix(hash, ints[PL_COP_FILE] | (__u64)ints[PL_COP_FILE + 1] << 32);
	return hash & PL_CHECK_MASK;
}

/*
 * A closure's check also has what holds its name, which may be freed before the code. Words of a
 * HEK: its hash and length, 0; of a GV: its name's HEK, its stash.
 */
static inline __attribute__((always_inline)) __u64 pl_check_name(__u64 check, __u64 word0,
								 __u64 word1)
{
	return check_mix(check_mix(check, word0), word1) & PL_CHECK_MASK;
}

/* Word 2 of frames with PL_FRAME_NAME (perl_shared.h), without the line, for a sub with a HEK. */
static inline __attribute__((always_inline)) __u64 pl_name_of_hek(__u64 hek, __u64 stash)
{
	return check_mix(check_mix(5, hek), stash) & PL_CHECK_MASK;
}

/* The same for a closure. `head`: hash and length of the name's HEK, the same for the same name. */
static inline __attribute__((always_inline)) __u64 pl_name_of_closure(__u64 head, __u64 stash)
{
	return (stash >> 3 & PL_CHECK_MASK) | check_mix(6, head) << PL_CHECK_BITS;
}

#define PL_GV_NAME_AT 32 /* struct xpvgv, gv.h: xiv_u.xivu_namehek; then xnv_u.xgv_stash */

/* A file's name is hashed as PL_FILE_WORDS words, zeros after its end; only the beginning of a
 * longer one. */
#define PL_FILE_WORDS	   16
#define PL_FILE_NAME_BYTES (PL_FILE_WORDS * 8) /* with the NUL */

static inline __attribute__((always_inline)) __u64 pl_hash_file(const __u64 *words)
{
	__u64 hash = 4;

#pragma GCC unroll 16
	for (int i = 0; i < PL_FILE_WORDS; i++)
		hash = check_mix(hash, words[i]);
	return hash | 1; /* 0: none */
}

#endif
