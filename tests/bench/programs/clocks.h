/* SPDX-License-Identifier: Apache-2.0 */
/* Wall clock, and how long the kernel made this thread wait for a CPU: what is left is its own. */
#ifndef BENCH_CLOCKS_H
#define BENCH_CLOCKS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* schedstat is "time on CPU, time waiting on a run queue, slices", ns (proc_pid_schedstat, fs/proc). */
static inline uint64_t waited_ns(void)
{
	static int fd = -1;
	char text[96];
	char *rest;
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		exit(1);
	text[n] = '\0';
	(void)strtoull(text, &rest, 10);
	return strtoull(rest, NULL, 10);
}

#endif
