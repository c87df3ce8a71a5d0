/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address in code to functions and places in their scripts.
 *
 *	pc ──► Code, by its header, searched for backwards; up to 10.x the instructions are in it,
 *	       from 11.x on in an InstructionStream, which has a pointer to it
 *	    ──► optimized: table of positions; deoptimization data: its function, those inlined in
 *	        it, where each was called (objects/deoptimization-data.h)
 *	        of a return, and where that table is wrong: what it would deoptimize to
 *	        ──► the BytecodeArray's positions
 *	    ──► baseline: bytecode offsets ──► the BytecodeArray's table of positions
 *
 * Nothing of it is trusted unless the code says that it is the given function's.
 */
#ifndef V8_CODES_H
#define V8_CODES_H

#include "plugins/v8/symbolize/heap.h"
#include "plugins/v8/symbolize/positions.h"

#define V8_MAX_INLINED 64 /* in one another */

enum v8_code_kind {
	V8_CODE_OTHER,
	V8_CODE_OPTIMIZED,
	V8_CODE_BASELINE,
	V8_CODE_BUILTIN, /* from 7.8 on in the heap only what leads to one that is embedded */
	V8_CODE_HANDLER, /* of a bytecode, or a stub: 6.2, 6.8 have them in the heap */
	V8_CODE_STUB,
	V8_CODE_WASM,	    /* 6.2 has it in the heap */
	V8_CODE_JS_TO_WASM, /* adapts the arguments of a call; its frame has what is exported */
	V8_CODE_WASM_TO_JS, /* the other way */
};

struct v8_code_object {
	uint64_t object; /* tagged: Code */
	uint64_t start;	 /* of the instructions */
	uint32_t bytes;
	enum v8_code_kind kind;
	bool is_maglev;
};

#define V8_UNKNOWN_PLACE (-1) /* there is no table, or it is not the function's */
#define V8_AT_START	 (-2) /* before all that has a place: where the function begins */

struct v8_call {
	uint64_t function_info; /* without its tag */
	int32_t script_off;	/* or V8_UNKNOWN_PLACE, V8_AT_START */
};

/* Innermost first; the last is the function that the code is of. */
struct v8_stack {
	struct v8_call calls[V8_MAX_INLINED];
	uint32_t n;
	bool is_translated; /* by what it would deoptimize to, not by the table of positions */
};

/* -EBADMSG: there is none. */
int v8_code_find(struct v8_heap *heap, uint64_t pc, struct v8_code_object *ret);

/*
 * What runs at pc. Between two positions (most optimized code has them at calls alone) only what
 * both have in common is named. -EBADMSG: the code is not of this function.
 */
int v8_code_stack(struct v8_heap *heap, const struct v8_code_object *code, uint64_t pc,
		  bool is_return, uint64_t function_info, struct v8_stack *ret);

/* The place of a bytecode, as in v8_call; the array without its tag. -EBADMSG: no BytecodeArray. */
int v8_bytecode_place(struct v8_heap *heap, uint64_t array, uint32_t off, int32_t *ret);
/* The same of the bytecodes that a function has now, whatever code; -1: before them. */
int v8_function_place(struct v8_heap *heap, uint64_t function_info, int32_t off, int32_t *ret);
/* The BytecodeArray that a function has, without its tag. -EBADMSG: none. */
int v8_bytecodes_of(struct v8_heap *heap, uint64_t function_info, uint64_t *ret);

/* The bytes of a table of positions, the caller's; NULL where there is none (yet). */
int v8_positions_read(struct v8_heap *heap, uint64_t object, int32_t off, uint8_t **ret,
		      uint32_t *ret_n);

/* ---- parts of it, on bytes ---- */

struct v8_inlining {
	const uint8_t
		*bytes; /* InliningPositions: 16 each: SourcePosition, number of the literal */
	uint32_t n;
};

/*
 * The inlined calls around one, innermost first, itself among them; ids descend, so there is an
 * end. False: the table is none.
 */
bool v8_inlining_chain(const struct v8_layout *layout, const struct v8_inlining *inlining,
		       int32_t id, int32_t chain[V8_MAX_INLINED], uint32_t *ret_n);

/*
 * From a lazily deoptimized frame's address to where it would have returned; `off` where it is no
 * trampoline's. *ret_deopt: the entry of the deoptimization data for that return; -1: not known.
 */
uint32_t v8_safepoint_return(const struct v8_layout *layout, bool is_maglev, const uint8_t *table,
			     uint32_t n, uint32_t off, int32_t *ret_deopt);

#endif
