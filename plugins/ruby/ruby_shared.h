/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the Ruby unwinder see: what user space tells BPF of a process, and what a
 * frame says. Iseq bodies are malloc'ed and method entries are slots of the heap: multiples of
 * eight, below 2^47.
 *
 *		63          44 43                     0
 *	word 0	| check 0..19 | body of the iseq / 8   |	0: none
 *	word 1	| check 20..39 | method entry / 8      |	0: none
 *	aux	| kind (31..24) | index of the instruction (23..0) |
 *
 *	RUBY_KIND_ISEQ		a frame of the interpreter or of a JIT: body, and the entry if it is
 *				in a method
 *	RUBY_KIND_CFUNC		a method in C: the entry alone
 *	RUBY_KIND_COLLECTOR	no method: the collector runs; one word: enum ruby_collecting
 *	RUBY_KIND_UNREADABLE	one word, the control frame: it could not be read
 *
 * The index is that of the word after the instruction (calc_pos of vm_backtrace.c looks at index -
 * 1); RUBY_NO_INDEX: not known. A JIT's leaf, whose pc may be old.
 */
#ifndef RUBY_SHARED_H
#define RUBY_SHARED_H

#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/tls.h"
#include "plugins/ruby/check.h"

#include <linux/types.h>

enum ruby_kind {
	RUBY_KIND_ISEQ = 0,
	RUBY_KIND_CFUNC,
	RUBY_KIND_COLLECTOR,
	RUBY_KIND_UNREADABLE,
};

/* enum gc_mode of gc.c, 2.5 to 4.0. */
enum ruby_collecting {
	RUBY_COLLECTING = 0,
	RUBY_MARKING,
	RUBY_SWEEPING,
	RUBY_COMPACTING,
};

#define RUBY_INDEX_BITS	  24
#define RUBY_NO_INDEX	  ((1u << RUBY_INDEX_BITS) - 1)
#define RUBY_ADDRESS_BITS 44
#define RUBY_ADDRESS_MASK ((1ull << RUBY_ADDRESS_BITS) - 1)

static inline __attribute__((always_inline)) __u32 ruby_aux(__u32 kind, __u32 index)
{
	return kind << RUBY_INDEX_BITS | (index & RUBY_NO_INDEX);
}

static inline __attribute__((always_inline)) __u32 ruby_kind(__u32 aux)
{
	return aux >> RUBY_INDEX_BITS;
}

static inline __attribute__((always_inline)) __u32 ruby_index(__u32 aux)
{
	return aux & RUBY_NO_INDEX;
}

static inline __attribute__((always_inline)) __u64 ruby_word0(__u64 body, __u64 check)
{
	return (body >> 3 & RUBY_ADDRESS_MASK) | check << RUBY_ADDRESS_BITS;
}

static inline __attribute__((always_inline)) __u64 ruby_word1(__u64 entry, __u64 check)
{
	return (entry >> 3 & RUBY_ADDRESS_MASK) | check >> RUBY_HALF_CHECK << RUBY_ADDRESS_BITS;
}

/* The body of word 0, the entry of word 1. */
static inline __attribute__((always_inline)) __u64 ruby_address(__u64 word)
{
	return (word & RUBY_ADDRESS_MASK) << 3;
}

static inline __attribute__((always_inline)) __u64 ruby_check(__u64 word0, __u64 word1)
{
	return word0 >> RUBY_ADDRESS_BITS | word1 >> RUBY_ADDRESS_BITS << RUBY_HALF_CHECK;
}

/*
 * Where the execution context (ec) is: at the end of a path from the thread pointer, from 3.0 on;
 * to 2.7 in a global, of the thread that has the lock.
 */
struct ruby_state {
	struct ep_tls ec;
	__u64 ec_addr;	    /* of that global; 0: none */
	__u64 vm_addr;	    /* of the pointer to the VM; 0: the collector's flag is not known, */
	__u32 vm_unread;    /* 1: as it could not be read */
	__u64 code_start, code_end; /* of the runtime's file: where a JIT's code returns to */
	__u64 exec_start, exec_end;	/* rb_vm_exec, after whose prologue its frame is */
	__u32 exec_frame, exec_saved;	/* struct x86_prologue */
	__u32 exec_has_fp;
	__u32 objspace_off; /* in the VM: the collector's pointer; at collector_off its flag */
	__u32 collector_off;
	__u32 collector_bit; /* of 32 bits */
	__u32 thread_off;    /* in the ec: its thread */
	__u32 thread_id_off; /* in a thread: pthread_self; 0: not asked */
	__u32 blocking_off;  /* in a thread: not 0 while it has let go of the lock */
	__u32 cfp_bytes, cfp_jit_return; /* rb_control_frame_t; jit_return 0: it has none */
	__u32 body_info; /* rb_iseq_constant_body: insns_info.body, the last word of its check */
	__u32 def_serial;		 /* 0: definitions have no number */
	__u32 unproven;			 /* 1: BPF must look itself whether the layout holds */
	/* For names alone, of struct ruby_layout and ruby_namer. */
	__u64 symbols_addr, path_id, attached_id;
	__u32 last_op_id;
	__u16 body_bytes, body_info_size, body_succ, body_parent, body_local, info_bytes;
	__u16 string_in_flags, class_ext, class_variables, class_path, class_attached,
		class_singleton;
};
_Static_assert(sizeof(struct ruby_state) <= EP_STATE_BYTES, "ruby_state is too large");

/* The largest rb_control_frame_t, and the part of a body that is read. */
#define RUBY_CFP_BYTES	64
#define RUBY_BODY_BYTES 128u

/* What the snapshot program sends of an object and the symbolizer asks for. */
#define RUBY_HEAD_BYTES	   128 /* of a string: most are in it whole */
#define RUBY_CLASS_BYTES   192
#define RUBY_MAX_VARIABLES 40 /* of a class; names are among the first */
#define RUBY_KEPT_TEXT	   1000
#define RUBY_KEPT_LINES	   1024u /* bytes of a table of lines */

enum ruby_error {
	RUBY_ERROR_STACK = 0, /* the VM's stack cannot be read */
	RUBY_ERROR_DEEP,
};

enum ruby_counter {
	RUBY_COUNT_NO_CONTEXT = 0, /* stacks of threads that have none */
	RUBY_COUNT_GONE,	   /* bodies and entries that changed before they were named */
	RUBY_COUNT_JIT_LOST, /* code that may be a JIT's, whose return address was not found */
};

#endif
