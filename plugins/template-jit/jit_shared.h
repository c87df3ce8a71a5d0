/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the unwinder see. All offsets are those that the process publishes.
 *
 *	range	data: where its heap's map is
 *	frame	words: struct jit_function of what is inlined there, in 47 bits, and above it the
 *		line;
 *		       innermost first, the last one's caller in the next frame or none
 *
 * A frame says the functions and not the block and its offset, though these would be shorter: a
 * block may be gone a millisecond later, functions stay. What names a frame must outlive the
 * sample.
 */
#ifndef JIT_SHARED_H
#define JIT_SHARED_H

#include <ebpf-profiler/bpf/record.h>
#include <ebpf-profiler/bpf/tls.h>

/*
 * Both the descriptor's wish and the loop's bound: 1200 frames take no more runs than there are.
 * The verifier walks some 11000 instructions for each (plugins --check); that of 5.10 more, and it
 * gets 32 from the loader.
 */
#define JIT_MAX_FRAMES_PER_RUN 64

#define JIT_MAGIC	0x4b434f4c4254494aull
#define JIT_PAGE_BYTES	4096ull
#define JIT_BLOCK_BYTES 64 /* of struct jit_block; its offsets lie inside */
#define JIT_PC_BYTES	16 /* of struct jit_pc, and of struct jit_scope */
#define JIT_NO_SCOPE	0xffffffffu

/* Bounds of ours: they may be higher than what the process says it keeps. */
#define JIT_MAX_HOPS   8
#define JIT_MAX_PCS    32
#define JIT_PC_STEPS   6 /* 2^5 */
#define JIT_MAX_SCOPES 8

#define JIT_FRAME_FUNCTIONS EP_FRAME_MAX_WORDS
#define JIT_LINE_SHIFT	    47 /* user addresses are below: x86-64 with four levels of tables */
#define JIT_FUNCTION(word)  ((word) & ((1ull << JIT_LINE_SHIFT) - 1))
#define JIT_LINE(word)	    ((uint32_t)((word) >> JIT_LINE_SHIFT)) /* up to 131071 */

enum jit_pc_flag {
	JIT_PC_FP_SAVED = 1 << 0,
	JIT_PC_ANCHOR_SAVED = 1 << 1,
};

struct jit_state {
	struct ep_tls self; /* path to struct jit_thread */
	__u32 anywhere;	    /* there are blocks in anonymous pages */
	__u32 unit_bytes;
	__u32 thread_anchor, anchor_pc, anchor_sp;
	__u32 block_magic, block_code_off, block_code_bytes;
	__u32 block_pcs_off, block_n_pcs, block_scopes_off, block_n_scopes;
	__u32 pc_code_off, pc_depth, pc_line, pc_scope, pc_flags;
	__u32 scope_function, scope_caller, scope_line;
	__u32 fp_depth, anchor_depth;
};
_Static_assert(sizeof(struct jit_state) <= EP_STATE_BYTES, "jit_state is too large");

/* In the order of the texts in jit.c. */
enum jit_error {
	JIT_ERROR_TABLES = 0,
};

enum jit_counter {
	JIT_COUNT_ANCHORS = 0,
	JIT_COUNT_SKIPPED,
};

#endif
