/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the toy JIT publishes in its memory for whoever unwinds it from outside: structures, and the
 * rules that hold for them. All numbers are little-endian, all addresses the process's own. x86-64.
 *
 * Where code is. There are two heaps, reserved as a whole and committed as they grow, and single
 * anonymous pages. In a heap a block of code begins at a multiple of 64 bytes, a unit. The heap's
 * map has a byte for each unit, and lies elsewhere:
 *
 *	heap   |  free  |      block A      |        block B, 300 units         |  free  |
 *	map    |  0  0  |  1   2   3   4    |  1   2   3  ...  254  254  254    |  0  0  |
 *
 *	0: no block here; 1: a block begins here; n: go back n - 1 units and look again.
 *	A byte is at most 254, so that JIT_MAX_HOPS looks suffice for the largest block.
 *
 * In an anonymous page there is one block, which begins with the page. No list of pages is
 * published: the magic tells.
 *
 * What a block is. A header, two tables, and the code:
 *
 *	+0          struct jit_block
 *	pcs_off     struct jit_pc[n_pcs]        sorted by code_off, the first has 0
 *	scopes_off  struct jit_scope[n_scopes]  [0] is the block's own function
 *	code_off    code_bytes of machine code
 *	bytes       the end, a multiple of 64
 *
 * What a frame is. No frame pointer: rbp is a register like any other, and not kept for the
 * caller. A struct jit_pc holds for all instructions from its code_off to the next one's: before
 * such an instruction runs, sp and the return address are so far apart:
 *
 *	higher addresses
 *	    ...                    caller's frame
 *	    argument               <── the caller's sp when this frame has returned: sp + depth + 8
 *	    return address         <── sp + depth, "the slot"
 *	    locals, spilled        ─┐
 *	    arguments pushed        ├─ depth bytes; changes within a function
 *	    ...                    ─┘
 *	    (sp points here)
 *	lower addresses
 *
 * The pc of an interrupted instruction is looked up as it is. A return address is after a call,
 * which may be the last instruction of its scope or line: look up the byte before it.
 *
 * What a frame is called. A jit_pc names a scope and a line in it. Each scope but [0] is a function
 * that was inlined into the scope `caller`, at `line` of that one:
 *
 *	for (; scope != JIT_NO_SCOPE; line = scopes[scope].line, scope = scopes[scope].caller)
 *		innermost first: scopes[scope].function, at line
 *
 * How C and jitted code call each other. Two blocks of kind other than JIT_FUNCTION, which have
 * tables like all:
 *
 *	entry_stub  C calls jitted code. Keeps C's registers: where JIT_PC_FP_SAVED is set, C's rbp
 *	            is at slot - JIT_FP_DEPTH, else still, or again, in rbp. Where
 *	            JIT_PC_ANCHOR_SAVED is set, the thread's anchor from before is at
 *	            slot - JIT_ANCHOR_DEPTH, else still, or again, in the thread.
 *	call_stub   jitted code calls C. Sets the thread's anchor to its own return point and sp
 *	            until C has returned: a walk goes on there if C has no unwind rules.
 *
 *	 main ─► entry_stub ─► f ─► call_stub ─► C ─► entry_stub ─► g ─► call_stub ─► no_rules ─► C2
 *	              ▲ anchor {0, 0}   │              ▲ anchor 1        │                        ▲
 *	              └─ saved here     └─ anchor 1 ───┘ saved here      └─ anchor 2, in the thread
 *
 * So a walk that begins in C2 and cannot pass no_rules goes on at anchor 2; when it is after g
 * and its entry_stub and cannot pass C, at the anchor saved in that frame, not at the thread's. An
 * anchor whose sp is 0 is none: sp is written last when one is set, and first when it is taken
 * away.
 *
 * When memory holds still. As long as a frame of a block may be on any stack, the block does not
 * change. Functions move all the time, and old blocks are overwritten and their space is used
 * again: an address says nothing a moment later, but no two blocks ever have the same unique_id.
 * struct jit_function and its strings live as long as the process.
 */
#ifndef JIT_H
#define JIT_H

#include <stdint.h>

#ifndef JIT_VERSION
#define JIT_VERSION   1
#endif
#define JIT_MAGIC     0x4b434f4c4254494aull /* "JITBLOCK" */
#define JIT_HEAPS     2
#define JIT_HEAP_BYTES (1u << 20)
#define JIT_UNIT_BYTES 64u
#define JIT_PAGE_BYTES 4096u

#define JIT_MAP_FREE  0
#define JIT_MAP_START 1
#define JIT_MAP_MAX   254

#define JIT_MAX_BLOCK_BYTES (64u << 10) /* 1024 units: 5 looks back by 253, and the first */
#define JIT_MAX_HOPS	    6
#define JIT_MAX_PCS	    32
#define JIT_MAX_SCOPES	    8
#define JIT_NO_SCOPE	    0xffffffffu

/* Published part first; the rest is the runtime's. */
struct jit_function {
	const char *name, *file;
	uint32_t line; /* where it begins */
	uint32_t id;
	uint64_t entry; /* address of its code now: all calls go through here */
	const struct jit_op *ops;
};

enum jit_block_kind {
	JIT_FUNCTION = 0,
	JIT_ENTRY_STUB = 1,
	JIT_CALL_STUB = 2,
};

struct jit_block {
	uint64_t magic;	    /* JIT_MAGIC; 0 when it has been freed */
	uint64_t unique_id; /* counts from 1; no other block has it, ever */
	uint64_t function;  /* struct jit_function; of a stub: one that has a name and no ops */
	uint32_t bytes;	    /* of all of the block */
	uint32_t kind;	    /* enum jit_block_kind */
	uint32_t code_off, code_bytes;
	uint32_t pcs_off, n_pcs;
	uint32_t scopes_off, n_scopes;
	uint32_t frame_bytes; /* what the function's first instruction takes from sp */
	uint32_t pad;
};
_Static_assert(sizeof(struct jit_block) == 64, "read by unwinders");

enum jit_pc_flag {
	JIT_PC_FP_SAVED = 1 << 0,
	JIT_PC_ANCHOR_SAVED = 1 << 1,
};

struct jit_pc {
	uint32_t code_off; /* from the first instruction */
	uint32_t depth;	   /* bytes between sp and the return address */
	uint32_t line;	   /* in the innermost scope */
	uint16_t scope;	   /* the innermost */
	uint16_t flags;	   /* enum jit_pc_flag; in entry_stub only */
};
_Static_assert(sizeof(struct jit_pc) == 16, "read by unwinders");

struct jit_scope {
	uint64_t function; /* struct jit_function */
	uint32_t caller;   /* index of the scope it is inlined into; JIT_NO_SCOPE in [0] */
	uint32_t line;	   /* of the call, in that scope */
};
_Static_assert(sizeof(struct jit_scope) == 16, "read by unwinders");

/* Where the innermost jitted frame of a thread is while C runs. */
struct jit_anchor {
	uint64_t pc; /* a return address in call_stub */
	uint64_t sp; /* as it is there; 0: no anchor */
};

#define JIT_FP_DEPTH	 8  /* slot - 8: C's rbp, in entry_stub's frame */
#define JIT_ANCHOR_DEPTH 64 /* slot - 64: struct jit_anchor, in entry_stub's frame */

/* Of each thread that runs jitted code: r15 there, and jit_self. */
struct jit_thread {
	struct jit_anchor anchor;
	uint64_t spins; /* of a loop that burns CPU */
	uint64_t epoch; /* counts up where its stack has no jitted frame: see move.c */
};
extern __thread struct jit_thread *jit_self;

struct jit_heap {
	uint64_t start, end; /* reserved, in part committed; the same for ever */
	uint64_t map;	     /* a byte for each unit */
};

/* All that an unwinder needs to find its way. Offsets and sizes are in bytes. */
struct jit_about {
	uint32_t version;
	uint32_t ready; /* set when all below is */
	struct jit_heap heaps[JIT_HEAPS]; /* [0]: compiled a moment ago; [1]: hot */
	uint64_t entry_stub, call_stub;	  /* their blocks, which stay in heap 0 */
	uint32_t unit_bytes, max_block_bytes;
	uint32_t anywhere; /* 1: there are blocks in anonymous pages, too */
	uint32_t thread_anchor;
	uint32_t anchor_pc, anchor_sp;
	uint32_t block_bytes; /* sizeof, and so on */
	uint32_t block_magic, block_unique_id, block_function, block_size, block_kind;
	uint32_t block_code_off, block_code_bytes, block_pcs_off, block_n_pcs;
	uint32_t block_scopes_off, block_n_scopes;
	uint32_t pc_bytes, pc_code_off, pc_depth, pc_line, pc_scope, pc_flags;
	uint32_t scope_bytes, scope_function, scope_caller, scope_line;
	uint32_t function_name, function_file, function_line;
	uint32_t fp_depth, anchor_depth; /* below the slot of entry_stub's frame */
};
extern volatile struct jit_about jit_about;

#endif
