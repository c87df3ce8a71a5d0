/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-steps a thread of CoreCLR and walks its stack at every instruction of managed code and of
 * stubs, with the plugin's own program. The callers that it shows are compared with those that the
 * executed instructions made.
 *
 *	calls.c		the shadow stack: calls that were executed and have not returned
 *	entries.c	where native code enters managed code
 *	ranges.c	which memory has code of the runtime's making, and what the runtime calls it
 *	judge.c		a sample's callers: are they right?
 *	step_dotnet.c	a stretch, its samples
 *
 * All else is tests/kit/step's.
 */
#ifndef DOTNET_STEP_H
#define DOTNET_STEP_H

#include "core/base/vec.h"
#include "tests/kit/step/step.h"

#define STEP_CALLERS 6	 /* that are compared, at most */
#define STEP_STACK   64 /* to the method of a funclet */

/* --- calls.c */

struct call {
	uint64_t slot, addr; /* where its return address lies, and that */
	uint64_t target;
};

struct calls {
	struct ep_vec all; /* struct call: the innermost one is last */
};

void calls_init(struct calls *calls);
void calls_fini(struct calls *calls);
/* The instruction at `before`'s pc, whose bytes are `code`, was executed, or a signal's handler was
 * entered. */
int calls_step(struct calls *calls, const struct tracee *tracee,
	       const struct user_regs_struct *before, const uint8_t *code);
/* No call has ended, where the thread ran freely. */
bool calls_are_there(const struct calls *calls, const struct tracee *tracee);
size_t calls_len(const struct calls *calls);
/* 0: the innermost one. */
const struct call *calls_get(const struct calls *calls, size_t n);

/* --- ranges.c */

enum range_kind {
	RANGE_NATIVE, /* code of a file that is no image */
	RANGE_IMAGE,
	RANGE_MADE, /* JIT code and stubs */
};

struct ranges;

/* NULL: no memory. */
struct ranges *ranges_new(pid_t pid);
void ranges_free(struct ranges *ranges);
enum range_kind ranges_find(struct ranges *ranges, uint64_t addr);
/* Is it in native code that was mapped when ranges_find() read the mappings last? */
bool ranges_has_native(const struct ranges *ranges, uint64_t addr);
/* The map that the runtime writes (DOTNET_PerfMapEnabled), as it is now. 0, -ENOENT. */
int ranges_read_names(struct ranges *ranges, const char *path);
/* Is the address in the burner's method that has a filter? */
bool ranges_has_filter(const struct ranges *ranges, uint64_t addr);
/* Where what it calls one thing begins, and the end of that line. 0: it does not know. */
uint64_t ranges_find_name(const struct ranges *ranges, uint64_t addr, const char **ret_name);

/* --- entries.c */

#define STEP_ENTRIES 16

struct entries {
	uint64_t all[STEP_ENTRIES];
	size_t n, next;
	bool has_jump; /* one that was stepped */
};

void entries_learn(struct entries *entries, uint64_t addr, bool is_jump);
/* The innermost native caller on the stack of managed code is one. */
void entries_search(struct entries *entries, const struct tracee *tracee,
		    const struct ranges *ranges);
/* Other ones each time. */
void entries_choose(struct entries *entries, uint64_t *ret_two);

/* --- judge.c */

struct sample {
	uint64_t pc;
	enum range_kind kind;
	uint32_t n_expected, n_walked, error;
	uint64_t expected[STEP_CALLERS]; /* 0: no more is known, or it does not matter */
	uint64_t entry[STEP_CALLERS];	 /* what that call has called */
	uint64_t called[STEP_CALLERS]; /* whom the instruction before `expected` calls; 0: it has no
					  address */
	uint64_t walked[STEP_CALLERS];
	uint32_t n_stack;
	uint64_t stack[STEP_STACK]; /* all return addresses, the innermost one first */
	uint64_t parent_caller; /* of the method in whose frame rbp is; 0: it was called before */
	uint8_t code[STEP_CODE_BYTES];
};

/* Compares all samples of the run. How many of funclets and of replaced code were judged. */
size_t judge_all(struct stepping *run, struct ranges *ranges);

#endif
