/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the PHP unwinder see: what user space tells BPF of a process, and what a frame
 * says. All that is named is at multiples of eight, below 2^47. PHP_KIND_...
 *
 *		63          44 43                     0
 *	word 0	| check 0..19  | opcodes / 8           |	FUNCTION: a user function or method
 *	word 1	| check 20..39 | zend_function / 8     |
 *
 *	word 0	| check 0..19  | opcodes / 8           |	CODE: a file's, or an eval's: its
 *	word 1	| check 20..39 | filename / 8          |	zend_function is a copy that is gone
 *								with the call, as its oplines are
 *
 *	word 0	| file 40..43 | check 0..15 | opcodes / 8 |	CLOSURE: a closure, or a trampoline:
 *	word 1	| file 0..19   | function_name / 8     |	its zend_function is a copy, too
 *	word 2	| file 20..39  | scope / 8             |
 *
 *	word 1	| file 0..19   | line_start            |	OLD_CLOSURE: the same to 8.3, where
 *								all are "{closure}"
 *
 *	word 0	| check 0..19  | function_name / 8     |	INTERNAL: a function in C, also one
 *	word 1	| check 20..39 | scope / 8             |	called without a frame (8.4)
 *
 *	word 0	its zend_function			UNREADABLE: one word
 *
 *	aux	| kind: 4 bits | of closures: check 16..19 | index of the opline: 24 bits |
 *		                                             of CODE: its line
 *	flags	| 0 | how it came in, of CODE: bits 4..2 |
 *
 * The index of a caller is that of its call itself, so nothing is to be subtracted. PHP_NO_LINE:
 * not known, as in the leaf of code of the JIT, and in all that has no oplines. How it came in
 * (enum php_came) its caller tells, which comes after it.
 */
#ifndef PHP_SHARED_H
#define PHP_SHARED_H

#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/tls.h"
#include "plugins/php/check.h"

#include <linux/types.h>

enum php_kind {
	PHP_KIND_FUNCTION = 0,
	PHP_KIND_CODE,
	PHP_KIND_CLOSURE,
	PHP_KIND_INTERNAL,
	PHP_KIND_UNREADABLE,
	PHP_KIND_OLD_CLOSURE,
	PHP_N_KINDS,
};

enum php_came {
	PHP_CAME_MAIN = 0, /* no PHP called it: {main} */
	PHP_CAME_EVAL,
	PHP_CAME_INCLUDE,
	PHP_CAME_INCLUDE_ONCE,
	PHP_CAME_REQUIRE,
	PHP_CAME_REQUIRE_ONCE,
	PHP_CAME_OTHERWISE, /* C brought it in, such as spl_autoload */
	PHP_CAME_UNKNOWN,   /* what its caller says could not be read */
};

#define PHP_INDEX_BITS	 24
#define PHP_NO_LINE	 ((1u << PHP_INDEX_BITS) - 1)
#define PHP_CAME_SHIFT	 2
#define PHP_KIND_SHIFT	 28
#define PHP_ADDRESS_BITS 44
#define PHP_ADDRESS_MASK ((1ull << PHP_ADDRESS_BITS) - 1)
#define PHP_HALF_MASK	 ((1ull << PHP_HALF_CHECK) - 1)
#define PHP_SHORT_MASK	 ((1ull << PHP_SHORT_CHECK) - 1)

static inline __attribute__((always_inline)) __u32 php_aux(__u32 kind, __u32 index)
{
	return kind << PHP_KIND_SHIFT | (index & PHP_NO_LINE);
}

/* The same of a closure. */
static inline __attribute__((always_inline)) __u32 php_closure_aux(__u32 kind, __u32 index,
								   __u64 check)
{
	return php_aux(kind, index) | (__u32)(check >> PHP_SHORT_CHECK & 15) << PHP_INDEX_BITS;
}

static inline __attribute__((always_inline)) __u32 php_kind(__u32 aux)
{
	return aux >> PHP_KIND_SHIFT;
}

static inline __attribute__((always_inline)) __u32 php_came(__u32 flags)
{
	return flags >> PHP_CAME_SHIFT & 7;
}

static inline __attribute__((always_inline)) __u32 php_index(__u32 aux)
{
	return aux & PHP_NO_LINE;
}

/* An address with 20 more bits. */
static inline __attribute__((always_inline)) __u64 php_word(__u64 addr, __u64 more)
{
	return (addr >> 3 & PHP_ADDRESS_MASK) | more << PHP_ADDRESS_BITS;
}

/* The address of a word of any kind but UNREADABLE. */
static inline __attribute__((always_inline)) __u64 php_address(__u64 word)
{
	return (word & PHP_ADDRESS_MASK) << 3;
}

/* The check of all kinds but CLOSURE. */
static inline __attribute__((always_inline)) __u64 php_word_check(__u64 word0, __u64 word1)
{
	return word0 >> PHP_ADDRESS_BITS | word1 >> PHP_ADDRESS_BITS << PHP_HALF_CHECK;
}

/* --- of a closure ----------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) __u64 php_closure_word0(__u64 opcodes, __u64 file,
								     __u64 check)
{
	return php_word(opcodes, (check & PHP_SHORT_MASK) | file >> 43 << PHP_SHORT_CHECK);
}

static inline __attribute__((always_inline)) __u64 php_closure_word1(__u64 name, __u64 file)
{
	return php_word(name, file >> 3 & PHP_HALF_MASK);
}

static inline __attribute__((always_inline)) __u64 php_closure_word2(__u64 class, __u64 file)
{
	return php_word(class, file >> 23 & PHP_HALF_MASK);
}

/* Of it the lowest PHP_CLOSURE_CHECK bits. */
static inline __attribute__((always_inline)) __u64 php_closure_check(__u64 word0, __u32 aux)
{
	return (word0 >> PHP_ADDRESS_BITS & PHP_SHORT_MASK) | (__u64)(aux >> PHP_INDEX_BITS & 15)
								      << PHP_SHORT_CHECK;
}

static inline __attribute__((always_inline)) __u64 php_closure_file(__u64 word0, __u64 word1,
								    __u64 word2)
{
	return (word1 >> PHP_ADDRESS_BITS) << 3 | (word2 >> PHP_ADDRESS_BITS) << 23 |
	       (word0 >> (PHP_ADDRESS_BITS + PHP_SHORT_CHECK)) << 43;
}

/* --- a process -------------------------------------------------------------------------------- */

/* Offsets that are the same in 7.3 to 8.6 (zend_compile.h, zend_types.h, zend.h). */
#define PHP_OP_BYTES	    32 /* zend_op */
#define PHP_OP_EXTENDED	    20
#define PHP_OP_LINENO	    24
#define PHP_OP_OPCODE	    28
#define PHP_FUNCTION_FLAGS  4 /* zend_function: its first byte is its type */
#define PHP_FUNCTION_NAME   8
#define PHP_FUNCTION_SCOPE  16
#define PHP_FUNCTION_ARGS   32
#define PHP_CLASS_NAME	    8 /* zend_class_entry */
#define PHP_STRING_HASH	    8 /* zend_string */
#define PHP_STRING_LEN	    16
#define PHP_STRING_BYTES    24
#define PHP_FUNCTION_BYTES  192u /* of an op_array up to line_end, in all releases less */

#define PHP_HEAD_BYTES	    128u /* of a string that are read at once: most are in it whole */
#define PHP_BLOCK_OPS	    16u	 /* oplines that are read at once, for their lines */
/* of a string's text that are read at most; the snapshot program sends as much */
#define PHP_TEXT_BYTES 1000u

#define PHP_TYPE_INTERNAL 1
#define PHP_TYPE_USER	  2
#define PHP_TYPE_EVAL	  4

#define PHP_RETURNS 6
#define PHP_MAKERS  2

/*
 * The executor's globals (zend_globals.h) are at `globals_addr`, or with threads (ZTS) at
 * `globals_off` after what the path `cache` leads to. Addresses 0, offsets 0: there is none.
 */
struct php_state {
	struct ep_tls cache;
	__u64 globals_addr, globals_off;
	__u64 loop_start, loop_end;   /* execute_ex */
	__u64 code_start, code_end;   /* the runtime's file */
	__u64 returns[PHP_RETURNS];   /* where execute_ex returns to; 0: no more */
	struct {
		__u32 first, bytes; /* first: from code_start on */
	} makers[PHP_MAKERS];	      /* what makes frames, before they run */
	__u64 finish_addr;	      /* where a fiber's C stack ends */
	__u64 frameless_addr;	      /* the variable zend_flf_functions */
	__u32 globals_bytes;	      /* all of them: exception_op lies in it */
	__u32 current_off;	      /* in them: current_execute_data */
	__u32 before_exception_off;   /* opline_before_exception */
	__u32 fiber_off;	      /* current_fiber_context */
	__u32 fiber_caller_off;	      /* in a fiber's context: the context of who resumed it */
	__u32 loop_frame, loop_saved; /* struct x86_prologue of execute_ex */
	__u32 loop_has_fp;
	__u32 hybrid;		      /* 1: in the loop r14 is the frame and r15 the opline */
	__u32 copy_flags;	      /* of fn_flags: the zend_function is a copy; */
	__u32 old_closure, fake_closure; /* its name says nothing, its first line does; but with
					    this it does */
	__u32 unproven;		      /* 1: BPF must look itself whether the layout holds */
	__u32 release;		      /* PHP_RELEASE */
	__u16 op_last, op_opcodes, op_file, op_line; /* zend_op_array */
	__u16 generator_data, generator_parent; /* zend_generator: execute_data, node.parent */
	__u16 pad[2];
};
_Static_assert(sizeof(struct php_state) <= EP_STATE_BYTES, "php_state is too large");

enum php_error {
	PHP_ERROR_FRAME = 0, /* it cannot be read */
	PHP_ERROR_DEEP,
	PHP_ERROR_FIBER, /* who resumed it was not found */
};

enum php_counter {
	PHP_COUNT_NO_GLOBALS = 0, /* stacks of threads that have none */
	PHP_COUNT_GONE,		  /* functions that changed before they were named */
	PHP_COUNT_JIT_LOST, /* code that may be a JIT's, whose way back to the loop was not found */
};

#endif
