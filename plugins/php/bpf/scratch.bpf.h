/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of a walk leave for each other, and the parts of PHP's structures that are the
 * same in 7.3 to 8.6 (zend_compile.h, zend_types.h, zend_vm_opcodes.h).
 */
#ifndef PHP_SCRATCH_BPF_H
#define PHP_SCRATCH_BPF_H

#include "plugins/php/php_shared.h"
#include "plugins/shared/bpf/seen.bpf.h"
#include "plugins/shared/bpf/window.bpf.h"

/* zend_execute_data, in words */
enum frame_word {
	FRAME_OPLINE = 0,
	FRAME_FUNC = 3,
	FRAME_THIS = 4,
	FRAME_INFO = 5, /* type of This, and flags of the call: 32 bits */
	FRAME_PREV = 6,
	FRAME_WORDS = 7, /* that are looked at */
};
#define FRAME_BYTES (FRAME_WORDS * 8ull)

#define INFO_TYPE      0xffu
#define INFO_OBJECT    8u /* IS_OBJECT */
#define INFO_TOP       (1u << 17)
#define INFO_GENERATOR (1u << 24)

/* Numbers of ops. */
#define OP_INCLUDE	   73
#define OP_FRAMELESS_FIRST 204 /* 8.4 on: ZEND_FRAMELESS_ICALL_0 to 3 */
#define OP_FRAMELESS_LAST  207
/* The walk reads two words of an op, from offset 16 on. */
#define OP_READ	    16
#define OP_INCLUDES 16 /* the last bit of extended_value that says how a file comes in */

enum php_phase {
	PHP_PHASE_START = 0,
	PHP_PHASE_FRAME,    /* the next frame */
	PHP_PHASE_COLLECT,  /* generators that wait for the one before */
	PHP_PHASE_DONE,
};

/* What a function is for a frame. */
struct php_known {
	__u64 words[3];
	__u64 n;	     /* of the words; 0: no frame */
	__u64 aux;	     /* without an index */
	__u64 opcodes, last; /* its oplines */
	__u64 plain; /* `last` of a user function whose frames may be plain ones (push_plain); else
			0 */
};

struct php_seen_function {
	struct ep_seen is; /* its address */
	struct php_known known;
	__u64 is_user;
	__u64 n_args; /* the first oplines receive them */
};

/* What copies of a function have in common: closures of the same code. */
struct php_seen_copy {
	struct ep_seen is; /* its oplines */
	__u64 name, class, file;
	struct php_known known;
};

#define PHP_COPIES_SHIFT   4
#define PHP_SEEN_SHIFT	   7
#define PHP_FUNCTION_WORDS 32u /* PHP_FUNCTION_BYTES, and up to a power of two */
#define PHP_WINDOW_WORDS   128
#define PHP_MAX_WAITING	   256u /* generators that wait for one */

/* The words that jump_fcontext saves on the native stack (asm/jump_x86_64_sysv_elf_gas.S). */
enum context_word {
	CONTEXT_RBX = 6,
	CONTEXT_RBP,
	CONTEXT_PC,
	CONTEXT_WORDS,
};

struct php_scratch {
	__u64 sequence;
	__u64 phase;
	__u64 globals;		      /* the executor's; 0: not looked for, or none */
	__u64 frame, prev;	      /* the next zend_execute_data, the one after it */
	__u64 special;		      /* 0: the next frame may be a plain one (push_plain) */
	__u64 innermost;	      /* 1: no frame has been passed */
	__u64 from_c;		      /* 1: what was passed last was called by C, or nothing was */
	__u64 open; /* 1: the frame at `entry_at` has been entered, and is not marked so yet */
	__u64 entry_at, last_at; /* headers of the last one that was entered, of the last frame */
	__u64 comes,
		code_at; /* 1: how the code of the frame at `code_at` came in is not known yet */
	__u64 register_frame, register_opline; /* r14, r15 of what was interrupted; 0: not known */
	__u64 makes; /* 1: what was interrupted makes a frame, or is about to run it */
	__u64 current;		      /* of the globals, while another one is looked at */
	/* Generators that wait. */
	__u64 generator, behind;      /* the next one; the frame after all that wait */
	__u64 n_waiting, waits;	      /* 1: the next frame is one of them */
	/* The frame in hand. */
	__u64 opline, func, info, this;
	__u64 function, copy;	      /* where they are in the tables */
	__u64 n_copies;		      /* that were met */
	__u64 index;		      /* of its opline */
	__u64 runs;		      /* 1: it runs; 0: it is made, or none */
	__u64 value;
	__u64 frameless;	      /* its function, which is pushed before it; 0: none */
	__u64 op[2], op_lost;	      /* op_lost 1: it could not be read */
	/* Of the native stack. */
	__u64 left_jit;		      /* 1: a JIT's code was found on it */
	__u64 at_jit;		      /* 1: that is what was interrupted */
	__u64 goes_on;		      /* 1: this run goes on with the walk of the one before */
	__u64 fiber, followed; /* context of the fiber whose stack it is; how many were left */
	struct php_parts parts;
	/* All before is zeroed for each sample; what is here is of one that has its number, or
	 * written first. */
	__u64 waiting[PHP_MAX_WAITING];
	__u64 context[CONTEXT_WORDS];
	__u64 words[PHP_FUNCTION_WORDS];
	EP_WINDOW(PHP_WINDOW_WORDS) window;
	struct php_seen_function functions[1u << PHP_SEEN_SHIFT];
	struct php_seen_copy copies[1u << PHP_COPIES_SHIFT];
};

EP_SCRATCH_UP_TO(struct php_scratch, waiting)

#endif
