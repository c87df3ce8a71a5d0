/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a test looks into, and what it says of them: for tests over the runtimes of this
 * machine, which print what they find. Needs the C library alone; functions that a test
 * does not use cost nothing.
 */
#ifndef EP_TESTS_KIT_PROCESS_H
#define EP_TESTS_KIT_PROCESS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

static inline bool expect(bool holds, const char *what)
{
	if (!holds)
		printf("    FAILED: %s\n", what);
	return holds;
}

/* Of this thread. */
static inline double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Where a thread is; it is stopped for that. */
static inline bool process_registers(pid_t tid, struct user_regs_struct *ret)
{
	int status;
	bool done;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return false;
	done = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 && waitpid(tid, &status, __WALL) == tid &&
	       ptrace(PTRACE_GETREGS, tid, 0, ret) == 0;
	(void)ptrace(PTRACE_DETACH, tid, 0, 0);
	return done;
}

#endif
