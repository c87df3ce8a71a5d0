/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the Perl unwinder see: what user space tells BPF of a process, and what a
 * frame says. Perl allocates all of these at multiples of eight, below 2^47:
 *
 *		63          48 47  44 43                     0
 *	word 0	| check 8..23 | kind | what it is             |
 *	word 1	|   check 24..43     | statement (COP) / 8    |
 *	aux	| check 0..7 | where in the statement: 24 bits |
 *
 * A frame whose code or statement could not be read has one word, and says nothing but its kind.
 *
 * What it is: of a sub or format its CV / 8; of a closure its effective GV or HEK / 8, since its CV
 * may live for a moment only, and its statements for long; of BEGIN its stash / 8; of what is in a
 * text (PL_FRAME_TEXT) line << 24 | the number of the text, since both may be gone (of a closure
 * that is word 2); of anything else 0. Where: (op - statement) / 8, signed, 0: not known. The op is
 * the one that is running where the frame has PL_FRAME_LEAF, else the one that is next when what
 * was called returns.
 *
 * What is compiled, and what a file does when it is loaded, is freed right after: with
 * PL_FRAME_FILE there is no statement, where is the line, and word 2 the hash of the file's name
 * (pl_hash_file). In a program's first second word 1 is where that name is, so that it can be sent
 * (perl_keep.bpf.c); else 0, since the same file that is loaded again has it elsewhere.
 *
 * What is freed right after it ran may be gone with what has its name. PL_FRAME_NAME: word 2 tells
 * its name from all others, and whoever had that name before gave it to the symbolizer:
 *
 *	of a sub	| line: 20 bits | its GV / 8, with PL_FRAME_NAMED a hash of HEK and stash |
 *	of a closure	| hash of the name | its stash / 8 |
 *
 * A closure has it when somebody has given it a name of its own (Sub::Util); a sub when it is one
 * of the innermost PL_NEAR_FRAMES. Two words for nearly every frame: 1 000 frames deep must fit.
 */
#ifndef PL_SHARED_H
#define PL_SHARED_H

#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/tls.h"
#include "plugins/perl/check.h"

#include <linux/types.h>

enum pl_kind {
	PL_KIND_NONE = 0,
	PL_KIND_SUB,	/* a sub, or code in a regex that has a CV of its own */
	PL_KIND_FORMAT, /* write() */
	PL_KIND_BLOCK,	/* eval { } */
	PL_KIND_TEXT,	/* eval "" */
	PL_KIND_FILE,	/* require, use, do FILE */
	PL_KIND_TRY,	/* try, catch: shown only where it has a run loop of its own */
	PL_KIND_DEFER,	/* defer, finally */
	PL_KIND_SORT,	/* a block that compares */
	PL_KIND_REGEX,	/* (?{ }) in the sub that has the regex */
	PL_KIND_MAIN,	/* the program outside of all subs */
	PL_KIND_BEGIN,	/* while it is compiled, also of use */
	PL_KIND_CLOSURE, /* a sub without a name, or one whose CV is a clone */
};

enum pl_frame_flag {
	PL_FRAME_LEAF = 1 << 2,
	PL_FRAME_FILE = 1 << 3,
	PL_FRAME_TEXT = 1 << 4,	     /* its file is "(eval NUMBER)" */
	PL_FRAME_NAMED = 1 << 5,     /* of a closure, and with PL_FRAME_NAME: it has a HEK */
	PL_FRAME_LEXICAL = 1 << 6,   /* of a closure: "my sub" */
	PL_FRAME_NAME = 1 << 7,
};

#define PL_NEAR_FRAMES 32

/* Texts are read up to a multiple of it at a time. */
#define PL_TEXT_STEP 64u

#define PL_TEXT_BITS 24 /* of a text's number; 20 of a line are left */

#define PL_ADDRESS_BITS 44
#define PL_ADDRESS_MASK ((1ull << PL_ADDRESS_BITS) - 1)
#define PL_KIND_SHIFT	44
#define PL_CHECK_SHIFT	48
#define PL_OP_BITS	24
#define PL_OP_MASK	((1u << PL_OP_BITS) - 1)

/*
 * Where the interpreter is: at the end of a path from the thread pointer; where there is none
 * (yet), where `holder_addr` points to. Without either its members are variables: the offsets are
 * addresses.
 */
struct pl_state {
	struct ep_tls interp;
	__u64 holder_addr;
	__u64 op_off, cop_off, stack_off; /* PL_op, PL_curcop, PL_curstackinfo */
	__u64 defstash_off, dbsub_off;	  /* PL_defstash, PL_DBsub */
	__u64 compiling_off;		  /* PL_compiling */
	__u32 cx_bytes;			  /* sizeof(PERL_CONTEXT) */
	__u32 cx_sub_cv, cx_eval_cv, cx_eval_env;
	__u32 op_entersub, op_require, op_entereval; /* numbers of ops */
	__u32 threads; /* 1: a statement has its file's name, else the glob of its file */
	__u32 holder_of_main; /* 1: `holder_addr` is of the main thread's interpreter alone */
	__u32 unproven;	      /* 1: BPF must look itself whether the layout holds */
	__u32 aux_in_body;    /* 1: of a stash, what has its name; else after its buckets */
	__u32 pad;
};
_Static_assert(sizeof(struct pl_state) <= EP_STATE_BYTES, "pl_state is too large");

/* The largest PERL_CONTEXT. */
#define PL_CX_BYTES 128

enum pl_error {
	PL_ERROR_CONTEXT = 0,
	PL_ERROR_DEEP,
};

enum pl_counter {
	PL_COUNT_NO_INTERPRETER = 0,
	PL_COUNT_GONE,
	PL_COUNT_PLACE_GONE,
};

#endif
