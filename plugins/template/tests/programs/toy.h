/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter as small as they come, for an unwinder to be tried with: toy functions call
 * toy functions inside one toy_run, and C functions, which may call toy_run again.
 */
#ifndef TOY_H
#define TOY_H

#include "tests/live/programs/zoo.h"

#include <stddef.h>

enum toy_op {
	TOY_RETURN,
	TOY_CALL, /* a toy function */
	TOY_C,	  /* a C function */
	TOY_BUSY, /* the interpreter itself works */
};

struct toy_instruction {
	enum toy_op op;
	uint32_t line;
	const void *what;
};

struct toy_function {
	const char *name, *file;
	uint32_t line;
	uint32_t pad;
	const struct toy_instruction *code;
};

struct toy_frame {
	struct toy_frame *previous;
	const struct toy_function *function;
	uint32_t line;
	uint32_t entry;	  /* C called toy_run for it */
	uint64_t rest[5]; /* as large as what an unwinder reads */
};

#ifndef TOY_VERSION
#define TOY_VERSION 1
#endif
#define TOY_DEPTH 10 /* toy functions in one toy_run */

__thread struct toy_frame *toy_top;

struct toy_about {
	uint32_t version, ready;
	uint32_t frame_previous, frame_function, frame_line, frame_entry;
	uint32_t function_name, function_file, function_line;
	uint32_t pad;
};
volatile struct toy_about toy_about = {
	.version = TOY_VERSION,
	.frame_previous = offsetof(struct toy_frame, previous),
	.frame_function = offsetof(struct toy_frame, function),
	.frame_line = offsetof(struct toy_frame, line),
	.frame_entry = offsetof(struct toy_frame, entry),
	.function_name = offsetof(struct toy_function, name),
	.function_file = offsetof(struct toy_function, file),
	.function_line = offsetof(struct toy_function, line),
};

static void enter(struct toy_frame *frame, const struct toy_function *function, uint32_t entry)
{
	*frame = (struct toy_frame){toy_top, function, function->line, entry, {0}};
	/* Filled first; and the compiler is not to know that it is a local of its caller. */
	__asm__ volatile("" : "+r"(frame) : : "memory");
	toy_top = frame;
}

KEEP void toy_run(const struct toy_function *function);
KEEP void toy_run(const struct toy_function *function)
{
	struct toy_frame frames[TOY_DEPTH];
	const struct toy_instruction *next[TOY_DEPTH];
	int at = 0;

	enter(&frames[0], function, 1);
	next[0] = function->code;
	while (at >= 0) {
		const struct toy_instruction *instruction = next[at]++;

		frames[at].line = instruction->line;
		BARRIER();
		switch (instruction->op) {
		case TOY_CALL:
			at++;
			enter(&frames[at], instruction->what, 0);
			next[at] = frames[at].function->code;
			break;
		case TOY_C:
			((void (*)(void))(uintptr_t)instruction->what)();
			break;
		case TOY_BUSY:
			for (unsigned int i = 0; i < SPINS_PER_MS; i++)
				__asm__ volatile("");
			break;
		case TOY_RETURN:
			toy_top = frames[at--].previous;
			break;
		}
	}
}

#endif
