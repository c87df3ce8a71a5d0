/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The toy JIT from inside: what its files know of each other. jit.h is what others may see of it.
 *
 *	jit.c      modes, the jitted programs, the C functions they call
 *	heap.c     where blocks of code lie
 *	compile.c  a function's ops become a block
 *	move.c     functions move, old blocks are freed
 *	truth.c    which stacks there can be
 */
#ifndef RUNTIME_H
#define RUNTIME_H

#include "jit.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif
#define BARRIER() __asm__ volatile("" ::: "memory")
#define LEN(x)	  (sizeof(x) / sizeof((x)[0]))

/* --- the language: a function is a list of ops, and has one number as its argument --- */

enum jit_op_kind {
	JIT_RETURN,
	JIT_BURN,   /* a loop */
	JIT_SPILL,  /* much more stack, and a loop in which sp moves */
	JIT_CALL,   /* a function, with the same argument */
	JIT_INLINE, /* a function whose ops are put here; it has no JIT_DEEPER or JIT_LAST */
	JIT_NATIVE, /* a C function, struct jit_native */
	JIT_DEEPER, /* if the argument is not 0: calls itself with one less, and returns */
	JIT_LAST,   /* if the argument is not 0: returns */
};

struct jit_op {
	enum jit_op_kind kind;
	uint32_t line;
	const void *what;
};

enum jit_native_kind {
	NATIVE_SPINS,
	NATIVE_CALLS_BACK, /* jit_program.called_back with one less; spins when the argument is 0 */
	NATIVE_DIVES,	   /* jit_program.between frames, then spins */
};

struct jit_native {
	const char *name; /* that is known of C's frames, when it is the only one; as a token */
	const char *via;  /* and what a profiler may show of its caller, which is harder to walk; or
			     NULL */
	void (*call)(long argument);
	enum jit_native_kind kind;
};

/* What the threads run: around C frames, first, jitted and C frames in turns. */
struct jit_program {
	struct jit_function *first, *called_back;
	long argument;
	long around, between;
	uint32_t n_threads;
	uint32_t burns; /* times SPINS: deep ones more, so that the way there is little of it */
};
extern struct jit_program jit_program;

/* --- heap.c --- */

enum jit_place { JIT_IN_HEAP_0, JIT_IN_HEAP_1, JIT_IN_PAGE };

void jit_heaps_init(void);
/* NULL: full. In a page there is space for JIT_PAGE_BYTES. */
struct jit_block *jit_place_new(enum jit_place place, uint32_t bytes);
enum jit_place jit_place_of(const struct jit_block *block);
/* Overwrites all of it. `keep_page`: a page may be used again, else it is unmapped. */
void jit_place_free(struct jit_block *block, bool keep_page);
/* Gives all of heap 1 back to the kernel, if there is no block in it. */
void jit_heap_decommit(void);

/* --- compile.c: one thread at a time --- */

/* NULL: no space for it. Nobody calls it yet. */
struct jit_block *jit_compile(const struct jit_function *function, enum jit_place place);
void jit_make_stubs(void);
uint32_t jit_random(uint32_t below);
extern long (*jit_enter)(struct jit_thread *thread, uint64_t entry, long argument);

/* --- move.c --- */

#define JIT_MAX_FUNCTIONS 16
#define JIT_MAX_THREADS	  4

extern struct jit_thread jit_threads[JIT_MAX_THREADS];
/* Adds all functions that the program calls. */
void jit_functions_add(struct jit_function *const *functions, size_t n);
/* A function goes to a place, if there is space; its old block is freed when it can be. */
void jit_move(size_t function, enum jit_place place);
enum jit_place jit_place_now(size_t function);
void jit_free_unused(bool keep_pages);
/* How long a block is kept that could be freed, as other JITs do; 0 at first. */
void jit_set_keep(uint64_t ns);
size_t jit_count_functions(void);
/* By a thread, when its stack has no jitted frame; `done`: nor will it ever have. */
void jit_thread_pause(struct jit_thread *self, bool done);

/* --- truth.c --- */

struct truth_frame {
	const char *name;
	uint32_t line; /* 0: C */
};

#define TRUTH_MAX_FRAMES 4096
#define TRUTH_MAX	 16

struct truth {
	size_t n;
	struct truth_frame frames[TRUTH_MAX_FRAMES]; /* root first */
};
extern struct truth *truths[TRUTH_MAX];
extern size_t n_truths;

void truth_find(void);
void truth_print(const char *roots);

#endif
