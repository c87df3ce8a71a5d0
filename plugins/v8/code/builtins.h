/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8's builtins that are embedded in an executable (7.4, Node 12, and up): where they are, what
 * they are called, and how the frame is left at each of their instructions. All from the file: with
 * its symbols, and without them.
 *
 *	builtin_metadata[]: names, by id ──┐
 *	embedded blob's descriptors, by id ├──► builtins, by address ──► rows, from the code
 *	embedded blob's code ──────────────┘
 */
#ifndef V8_BUILTINS_H
#define V8_BUILTINS_H

#include "core/base/vec.h"
#include "ebpf-profiler/unwinder.h"

#include <stddef.h>
#include <stdint.h>

#define V8_MAX_BUILTINS	    8192	/* 2415 in Node 26 */
#define V8_MAX_BLOB_BYTES   (16u << 20) /* 2.2 MB in Node 26 */
#define V8_MAX_BUILTIN_ROWS 40000 /* 24 207 in Node 26; what would be more has none */

struct v8_builtins; /* constant once read: any thread */

struct v8_builtin {
	/* As builtins-definitions.h has it: "InterpreterEntryTrampoline". Where the file does not
	 * tell, which it may not of functions of C++: "Cpp" and the id. */
	const char *name;
	uint64_t va;
	uint32_t bytes; /* of code, without what fills up */
	uint16_t id;	/* Builtin, of this version */
	uint8_t kind;	/* of builtin_metadata; its numbers change with versions */
	uint8_t flags;	/* enum v8_builtin_flag */
};

enum v8_builtin_flag {
	V8_BUILTIN_HANDLER = 1 << 0, /* of a bytecode: returns to v8_builtins_dispatch_return */
};

/* DWARF numbers of registers, System V ABI for x86-64, figure 3.36. */
#define V8_ROW_RBP	   6
#define V8_ROW_RSP	   7
#define V8_ROW_NONE	   255 /* as base: not known, a walk ends here */
#define V8_RETURN_ON_STACK 255 /* at CFA - 8 */

/* How the frame is left at [va, va_end): CFA, which is the caller's rsp, = base + offset. */
struct v8_builtin_row {
	uint64_t va, va_end;
	int32_t offset;
	int16_t rbp_at;	   /* the caller's rbp: at CFA + rbp_at; 0: still in rbp */
	uint8_t base;	   /* mostly rsp or rbp, seldom another register, or V8_ROW_NONE */
	uint8_t return_in; /* a register, or V8_RETURN_ON_STACK */
	/*
	 * Of a builtin that makes its caller's frame (BaselineOutOfLinePrologue, 16 and up): the
	 * row leads back to the caller, with rbp as it is, which is the caller's frame as soon as
	 * it was made.
	 */
	bool makes_frame;
};

/* Offsets that the code of some builtins uses, of JSEntry and CEntry from r13 (the root register);
 * 0: none such. */
struct v8_entry_offsets {
	int32_t isolate;	/* r13 + this: Isolate, negative in all versions up to 26 */
	int32_t c_entry_fp;	/* pushed at rbp - 64 */
	int32_t fast_c_call_fp; /* at rbp - 72 */
	int32_t fast_c_call_pc; /* at rbp - 80 */
	int32_t js_entry_sp;
	/* Of DeoptimizationEntry_Eager: Deoptimizer::input_, a FrameDescription; there, words of
	 * the frame. */
	int32_t deopt_input, deopt_content;
};

/*
 * 0; -ENODATA: no embedded builtins (V8 before 7.4, or no V8); -EBADMSG: there are some, but not as
 * any layout has them; -E2BIG, -ENOMEM, and what the host's functions give.
 */
int v8_builtins_read(const struct ep_unwinder_host *host, const struct ep_file *file,
		     struct v8_builtins **ret_builtins);
void v8_builtins_free(struct v8_builtins *builtins); /* NULL: nothing */

/* The blob's code: every builtin is within. */
uint64_t v8_builtins_va(const struct v8_builtins *builtins);
uint64_t v8_builtins_bytes(const struct v8_builtins *builtins);

/* Ascending by address. */
size_t v8_builtins_count(const struct v8_builtins *builtins);
const struct v8_builtin *v8_builtins_get(const struct v8_builtins *builtins, size_t index);
/* By name; by an address in it (what fills up after it belongs to it). NULL: none. */
const struct v8_builtin *v8_builtins_find(const struct v8_builtins *builtins, const char *name);
const struct v8_builtin *v8_builtins_at(const struct v8_builtins *builtins, uint64_t va);

/*
 * What bytecode handlers return to: after the call by which InterpreterEntryTrampoline dispatches.
 * Every frame of an interpreted function that is not the leaf has it as its pc. 0: not found.
 */
uint64_t v8_builtins_dispatch_return(const struct v8_builtins *builtins);
void v8_builtins_entry_offsets(const struct v8_builtins *builtins, struct v8_entry_offsets *ret);

/*
 * struct v8_builtin_row: ascending, disjoint, at most V8_MAX_BUILTIN_ROWS; neighbours that say the
 * same are one. Between them there is no code. struct ep_code_row's cfa_reg is `base`. Made of the
 * file's code as it is now, which takes most of the time that a file costs, and much memory: who
 * wants them makes them, and drops them. To be freed (ep_vec_fini). 0, -ENOMEM, and what the host's
 * functions give.
 */
int v8_builtins_make_rows(const struct v8_builtins *builtins, const struct ep_unwinder_host *host,
			  const struct ep_file *file, struct ep_vec *ret_rows);

#endif
