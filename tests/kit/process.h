/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a test starts and looks into, and what it says of them: for tests over the runtimes
 * of this machine, which print what they find. Needs the C library alone; functions that a test
 * does not use cost nothing.
 */
#ifndef EP_TESTS_KIT_PROCESS_H
#define EP_TESTS_KIT_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* Exits with 77 when it cannot be run. Its output is `out`, -1: nowhere. It does not outlive this
 * process. */
static inline pid_t process_start(const char *const *argv, int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 0);
		dup2(out < 0 ? null : out, 1);
		dup2(null, 2);
		execvp(argv[0], (char *const *)argv);
		_exit(77);
	}
	return pid;
}

/* The same; what it writes is read from `ret_out`, NULL: there is none. */
static inline pid_t process_start_reading(const char *const *argv, FILE **ret_out)
{
	int from[2];
	pid_t pid;

	*ret_out = NULL;
	if (pipe2(from, O_CLOEXEC) < 0)
		return -1;
	pid = process_start(argv, from[1]);
	(void)close(from[1]);
	*ret_out = fdopen(from[0], "r");
	return pid;
}

/* 0 or a negative errno; for tables of functions. `pid`: where its number is. */
static inline int process_read(void *pid, uint64_t addr, void *buf, size_t bytes)
{
	struct iovec local = {.iov_base = buf, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t got = process_vm_readv(*(const pid_t *)pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EFAULT;
}

static inline void process_stop(pid_t pid)
{
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
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
