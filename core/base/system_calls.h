/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls this process may make, from one moment on and in all its threads (seccomp(2)). The lists are
 * system_calls.def.
 *
 * A call outside the agent's list does nothing and fails with ENOSYS, as on a kernel that does not have it, so that a
 * newer libc does without. It is counted and, by whoever watches, reported: it is a mistake of
 * ours, or an attack.
 *
 *	call ── kernel ── SIGSYS ── handler: counts, wakes the loop, returns ENOSYS ── the thread goes on
 *	                                                 loop: one line for each number
 *
 * Calls that libraries only try, and calls that glibc makes while it blocks all signals (a blocked SIGSYS would end the
 * process), are refused by the kernel itself with the same ENOSYS, and nobody counts these: clone3, clone, fork, vfork
 * and io_uring's.
 */
#ifndef EP_BASE_SYSTEM_CALLS_H
#define EP_BASE_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ep_callers {
	EP_CALLERS_AGENT,   /* samples, names, writes and sends */
	EP_CALLERS_COMMAND, /* the same, and it ends the command that it started: record, top */
	EP_CALLERS_CAPTURE, /* as the agent, and it stops threads of others: ptrace */
	/* Reads files and memory for others over sockets that it has. No call that it may not make is counted. */
	EP_CALLERS_READER,
};

/*
 * From here on, for good; no new privileges (PR_SET_NO_NEW_PRIVS) either. While there is one thread that matters: it
 * takes in all threads on kernels that can. 0, or a negative errno: nothing is limited then. -EINVAL: the kernel has no
 * filters; other causes are a container's own filter and too little memory.
 */
int ep_system_calls_limit(enum ep_callers callers);
/* How many there are in the list. */
size_t ep_system_calls_allowed(enum ep_callers callers);

/*
 * Calls wake(arg) after a refused call, in a signal handler of any thread: it must be async-signal-safe. NULL: nobody
 * is informed.
 */
void ep_system_calls_watch(void (*wake)(void *arg), void *arg);

struct ep_refused_call {
	int number;
	char name[32]; /* "mount", "unknown" */
};
/* The next that was refused and was not given by this function yet; false: there is none. One thread's. */
bool ep_system_calls_next_refused(struct ep_refused_call *ret_call);
uint64_t ep_system_calls_refused(void); /* how often, all of them */
void ep_system_calls_print_counters(FILE *out);

#endif
