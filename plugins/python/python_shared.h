/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the Python unwinder see: what user space tells BPF of a process, and what a
 * frame says.
 *
 *	frame	aux: check of the code object (symbolize/check.h); 0: it could not be read
 *		word 0: its address (0: see PY_FRAME_CLEANUP); where there is no word 1, the
 *		upper 16 bits are the instruction offset, in bytes
 *		word 1: instruction offset, signed (symbolize/names.h): where one is too large
 *
 * Two words for nearly every frame: 1000 frames, as deep as Python goes by default, must fit.
 */
#ifndef PY_SHARED_H
#define PY_SHARED_H

#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/tls.h"

#include <linux/types.h>

/*
 * Code address 0, pushed for an evaluation without frames between others: the interpreter destroys
 * what a function that returned to C has left (_PyEval_FrameClearAndPop), and that runs Python.
 */
#define PY_FRAME_CLEANUP 0

#define PY_INSTRUCTION_SHIFT 48
#define PY_ADDRESS_MASK	     ((1ull << PY_INSTRUCTION_SHIFT) - 1)

#define PY_TLS_PATHS 2

/* Largest windows read from a frame and from a code object. */
#define PY_FRAME_BYTES 128
#define PY_CODE_BYTES  256

enum py_flags {
	PY_CFRAME = 1 << 0,	     /* 3.11, 3.12: the thread has a CFrame, which has the frame */
	PY_BYTECODE_COPIES = 1 << 1, /* free-threaded 3.14 on: threads have bytecode of their own */
};

/* How the caller of JIT code is found. */
enum py_jit {
	PY_JIT_NONE = 0,
	PY_JIT_STACK = 1, /* 3.13, 3.14: an executor begins with a function that saves registers */
	PY_JIT_POINTER = 2, /* 3.15: the frame pointer is that of _PyJIT_Entry */
};

#define PY_EVAL_RANGES 2

#define PY_NO_SHIM 256u /* first_shim: above any owner */

/*
 * Offsets are bytes. Those of frames are relative to the window that is read. What differs between
 * versions is reported by masks where it can be: each branch of the walk doubles what the verifier
 * has to look at.
 */
struct py_state {
	__u64 holder_addr;	 /* of the pointer to the state of the thread with the GIL, or 0 */
	__u64 interpreters_addr; /* of the pointer to the first interpreter, or 0 */
	__u64 code_type;	 /* address of PyCode_Type */
	struct ep_tls paths[PY_TLS_PATHS]; /* to a thread's own state; tried in order */
	__s64 thread_id_off;		   /* PyThreadState.thread_id - thread pointer */
	__u32 flags;			   /* enum py_flags */

	__u32 interp_next, interp_threads;
	__u32 thread_next, thread_frame, thread_id;
	__u32 cframe_frame; /* with PY_CFRAME */

	__u32 frame_start, frame_bytes; /* the window */
	__u32 frame_previous, frame_code, frame_instruction;
	__u32 frame_owner;
	__u32 frame_entry;  /* 3.11: a byte, whether the frame was entered from C */
	__u32 frame_copy;   /* index of the copy, with PY_BYTECODE_COPIES */
	__u32 first_shim;   /* owners from here on are shims; PY_NO_SHIM */
	__u32 entry_mask;   /* 1: frame_entry counts */
	__u32 entry_always; /* 1: up to 3.10, each frame is an evaluation of its own */
	__u32 index_shift;  /* up to 3.10: a frame's instruction is index << shift */

	__u32 code_bytes; /* read from the object's address on */
	__u32 code_object_type, code_check, code_check_mask;
	__u32 code_first_traceable, code_instructions, code_copies;
	__u64 address_mask;	/* ~0: a frame's instruction is an address (3.11 on), 0: an index */
	__s64 always_traceable; /* 0, or the lowest number there is: up to 3.10 */
	/* For names (python_keep.bpf.c). */
	__u16 head_bytes; /* of a code object, from its address on; 0: more than is kept */
	__u16 code_name, code_file, code_lines;
	__u16 str_length, str_state, str_kind_shift, str_ascii_data, str_compact_data;
	__u16 bytes_size, bytes_data;
	__u16 pad16;
	__u32 jit;		/* enum py_jit */
	__u32 eval_bytes[PY_EVAL_RANGES]; /* of the evaluation loop's parts: it calls JIT code */
	__u32 pad;
	__u64 eval_addr[PY_EVAL_RANGES];
};
_Static_assert(sizeof(struct py_state) <= EP_STATE_BYTES, "py_state is too large");

enum py_error {
	PY_ERROR_FRAME = 0,
	PY_ERROR_NOT_CODE,
	PY_ERROR_DEEP,
};

enum py_counter {
	PY_COUNT_THREADS_UNKNOWN = 0,
	PY_COUNT_CODE_UNREADABLE,
	PY_COUNT_CODE_GONE,
	PY_COUNT_JIT_UNKNOWN,
};

#endif
