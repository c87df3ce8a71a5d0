/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the live test programs share. Each takes the seconds of CPU time to run as its argument, prints on
 * its first lines which stacks that is spent in, and then spends it there. The grammar of a
 * STACK line, leaf first, is in ../stacks.py.
 *
 * Truth rests on three things: KEEP functions stay functions with their name and their own frame,
 * a BARRIER after a call keeps it from becoming a jump, and the clock is read only about once a
 * millisecond, so that samples outside the named stacks are far below the threshold.
 */
#ifndef ZOO_H
#define ZOO_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#if defined(__has_attribute)
#if __has_attribute(noipa)
#define KEEP __attribute__((noipa))
#endif
#endif
#ifndef KEEP
#define KEEP __attribute__((noinline))
#endif
#define BARRIER() __asm__ volatile("" ::: "memory")

#ifdef __cplusplus
#define ZOO_C extern "C"
#else
#define ZOO_C
#endif

#ifndef ZOO_LIBC /* a static program has its C library's frames in a file of its own */
#define ZOO_LIBC "LIBC"
#endif

#define SPINS_PER_MS 1500000u /* about, at a few GHz */

#define ZOO_PATIENCE 3 /* a busy machine gives CPU time for its seconds in so many times them */

static uint64_t zoo_end_ns, zoo_cpu_ns;
static uint64_t zoo_start_ns; /* CPU time before main: to execute it, to load its libraries */

#define ZOO_INLINE static inline __attribute__((always_inline))

ZOO_INLINE uint64_t zoo_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

ZOO_INLINE uint64_t zoo_ns_of(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}

/* CPU time of all threads and of children that were waited for: what the samples must add up to. */
ZOO_INLINE uint64_t zoo_used_ns(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return zoo_ns_of(&self) + zoo_ns_of(&children);
}

/* What was used is asked for once in some milliseconds: two system calls, which take longer where others have the CPUs. */
ZOO_INLINE int zoo_time_left(void)
{
	static unsigned int turn;
	uint64_t now = zoo_now_ns();

	return now < zoo_end_ns || (now < zoo_end_ns + (ZOO_PATIENCE - 1) * zoo_cpu_ns &&
				    (turn++ % 16 > 0 || zoo_used_ns() < zoo_cpu_ns));
}

static inline double zoo_seconds(int argc, char **argv)
{
	return argc > 1 ? strtod(argv[1], NULL) : 1;
}

/* And into how many pieces it was cut: whoever counts samples of it needs to know. */
static inline void zoo_print_cpu(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("START %.3f\nSWITCHES %ld\nCPU %.3f\n", (double)zoo_start_ns / 1e9,
	       self.ru_nvcsw + self.ru_nivcsw + children.ru_nvcsw + children.ru_nivcsw,
	       (double)(zoo_ns_of(&self) + zoo_ns_of(&children)) / 1e9);
}

static inline void zoo_set_end(double seconds)
{
	zoo_cpu_ns = (uint64_t)(seconds * 1e9);
	zoo_end_ns = zoo_now_ns() + zoo_cpu_ns;
}

/*
 * After an exec of itself: the seconds, when to end, and what was used before the exec that was not spent on starts: both
 * from before that.
 */
ZOO_INLINE void zoo_go_on(const char *seconds, const char *end_ns, const char *not_start_ns)
{
	zoo_set_end(strtod(seconds, NULL));
	zoo_end_ns = strtoull(end_ns, NULL, 10);
	zoo_start_ns = zoo_used_ns() - strtoull(not_start_ns, NULL, 10);
}

/* `truth`: whole lines, each "STACK leaf ... root\n". */
static inline void zoo_start(int argc, char **argv, const char *truth)
{
	zoo_start_ns = zoo_used_ns();
	fputs(truth, stdout);
	atexit(zoo_print_cpu);
	fflush(stdout);
	zoo_set_end(zoo_seconds(argc, argv));
}

/* The leaf of most stacks: no calls, no memory. */
#define ZOO_DEFINE_SPIN(name)                                                                      \
	ZOO_C KEEP void name(unsigned int n)                                                       \
	{                                                                                          \
		for (unsigned int i = 0; i < n; i++)                                               \
			__asm__ volatile("");                                                      \
	}

/* A main that tells its stacks and has these statements done until its time is over. */
#define ZOO_MAIN(truth, ...)                                                                       \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		zoo_start(argc, argv, truth);                                                      \
		while (zoo_time_left()) {                                                          \
			__VA_ARGS__;                                                               \
		}                                                                                  \
		return 0;                                                                          \
	}

#endif
