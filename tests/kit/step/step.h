/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-steps a thread and walks its stack at each instruction, with the plugin's own program
 *(core/replay). What the walk says of callers a language's test compares with what the executed
 *instructions say: its shadow stack.
 *
 *	tracee.c	the thread: stopped, stepped, run to an address
 *	walk.c		the walk
 */
#ifndef EP_KIT_STEP_H
#define EP_KIT_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define STEP_CODE_BYTES 16 /* an x86 instruction has at most 15 */

/* --- tracee.c */

struct tracee {
	pid_t pid, tid;
	int signal; /* that it gets when it goes on */
	struct user_regs_struct regs;
};

int tracee_seize(const struct tracee *tracee);
/* 0; -ESRCH: it has ended; -ETIMEDOUT: it did not stop in some seconds. SIGALRM must have a
 * handler. */
int tracee_stop(struct tracee *tracee);
int tracee_continue(struct tracee *tracee, unsigned int microseconds);
/* One instruction, or the first of a signal's handler. A signal is kept for the next step: 1. */
int tracee_step(struct tracee *tracee);
/*
 * Until pc is `addr` with this sp: 0. 1: it is at `away`, and sp is above: it went past that; 0 for
 * none. -ETIMEDOUT: it was stopped elsewhere.
 */
int tracee_run_to(struct tracee *tracee, uint64_t addr, uint64_t sp, uint64_t away,
		  unsigned int milliseconds);
void tracee_end(struct tracee *tracee);
uint64_t tracee_word(const struct tracee *tracee, uint64_t addr); /* 0: cannot be read */

/* --- walk.c */

struct ep_record;
struct ep_sample;
struct walker;

/* Is asked before each piece of memory that a walk reads: true: it cannot be read. */
typedef bool (*walker_deny)(void *arg, const struct walker *walker, size_t bytes);

/* plugins: the directory of the language's plugin. `deny` may be NULL. */
int walker_new(pid_t pid, const char *plugins, walker_deny deny, void *arg,
	       struct walker **ret_walker);
void walker_free(struct walker *walker);
/* Its words come after it; it is the walker's, and holds until the next walk. */
int walker_walk(struct walker *walker, const struct tracee *tracee,
		const struct ep_sample **ret_sample);
/* What the walk has asked for: mappings have changed. */
int walker_refresh(struct walker *walker, const struct ep_sample *sample);
/* BPF's record of the walk that is under way, or was. */
const struct ep_record *walker_record(const struct walker *walker);
/* Where in memory a native frame's executable has this address; 0: nowhere. */
uint64_t walker_native_pc(const struct walker *walker, uint32_t id, uint64_t va);

#endif
