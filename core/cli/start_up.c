/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/start_up.h"
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/proc/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* libuv's pool has so many, unless UV_THREADPOOL_SIZE says otherwise (libuv, docs/src/threadpool.rst). */
#define THREADS 4
/* A session has about a hundred; with fewer than these not even an event loop starts. */
#define MIN_FILES 64

/* How SIGPIPE was when we were started: a disposition is the process's as well. */
static bool pipe_was_ignored;

/*
 * Else the next file that is opened is taken for a standard stream: libuv refuses to close it with an
 * assertion. Nothing can be written to the one in standard output's place, so that `-o -` fails as it would
 * have with the stream closed.
 */
void ep_start_up_streams(void)
{
	static const int modes[] = {O_RDONLY, O_RDONLY, O_RDWR};
	int fd;

	for (size_t i = 0; i < EP_LEN(modes); i++) {
		if (fcntl((int)i, F_GETFD) >= 0 || errno != EBADF)
			continue;
		fd = open("/dev/null", modes[i]); /* the lowest that is free: this one */
		if (fd != (int)i && fd >= 0)
			close(fd);
	}
	pipe_was_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
	(void)signal(SIGXFSZ, SIG_IGN); /* a write over RLIMIT_FSIZE is then EFBIG */
}

struct gate {
	pthread_mutex_t mutex;
};

static void *wait_at_gate(void *arg)
{
	struct gate *gate = arg;

	pthread_mutex_lock(&gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
	return NULL;
}

/* libuv aborts when it cannot start its pool (src/threadpool.c, init_threads): tried before, all at a time. */
static int try_threads(void)
{
	struct gate gate = {PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[THREADS];
	int n = 0, r = 0;

	pthread_mutex_lock(&gate.mutex);
	while (n < THREADS && r == 0) {
		r = -pthread_create(&threads[n], NULL, wait_at_gate, &gate);
		n += r == 0;
	}
	pthread_mutex_unlock(&gate.mutex);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	pthread_mutex_destroy(&gate.mutex);
	return r;
}

static int try_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= MIN_FILES)
		return 0;
	limit.rlim_cur = EP_MIN((rlim_t)MIN_FILES, limit.rlim_max);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur < MIN_FILES ? -EMFILE : 0;
}

int ep_start_up_check(void)
{
	int r = try_files();

	if (r < 0) {
		fprintf(stderr, "ebpf-profiler: no more than a few files may be open: raise ulimit -n to %d at least\n",
			MIN_FILES);
		return r;
	}
	r = try_threads();
	if (r < 0)
		fprintf(stderr,
			"ebpf-profiler: cannot start threads: %s; see the limits of processes (ulimit -u, pids.max of "
			"the cgroup) and of memory (ulimit -v)\n",
			ep_strerror(r));
	return r;
}

/* poll(2): the writing end of a pipe has POLLERR once nobody has the reading end. */
static bool reader_has_gone(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

/* An earlier write may have failed: stdio does not keep why. */
static int flush(void)
{
	if (fflush(stdout) != 0)
		return -errno;
	if (!ferror(stdout))
		return 0;
	return reader_has_gone() ? -EPIPE : -EIO;
}

int ep_start_up_finish(int status)
{
	int r = flush();

	if (r < 0 && r != -EPIPE) {
		fprintf(stderr, "ebpf-profiler: standard output: %s\n", ep_strerror(r));
		status = status == EP_EXIT_OK ? EP_EXIT_FAILED : status;
	}
	if (r != -EPIPE && status != EP_EXIT_PIPE)
		return status;
	if (!pipe_was_ignored) {
		(void)signal(SIGPIPE, SIG_DFL);
		(void)raise(SIGPIPE);
	}
	return 128 + SIGPIPE;
}

_Noreturn void ep_start_up_leave(int status)
{
	ep_readers_end();
	status = ep_start_up_finish(status);
	fflush(stderr);
	_exit(status);
}
