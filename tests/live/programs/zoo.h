/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the live test programs share. Each takes the seconds to run as its argument, prints on its
 * first lines which stacks its CPU time is spent in, and then spends it there. The grammar of a
 * STACK line, leaf first, is in ../stacks.py.
 *
 * Truth rests on three things: KEEP functions stay functions with their name and their own frame,
 * a BARRIER behind a call keeps it from becoming a jump, and the clock is read only about once a
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

static uint64_t zoo_end_ns;

#define ZOO_INLINE static inline __attribute__((always_inline))

ZOO_INLINE uint64_t zoo_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

ZOO_INLINE int zoo_time_left(void)
{
	return zoo_now_ns() < zoo_end_ns;
}

static inline double zoo_seconds(int argc, char **argv)
{
	return argc > 1 ? strtod(argv[1], NULL) : 1;
}

/* CPU time of all threads and of children that were waited for: what the samples must add up to. */
static inline void zoo_print_cpu(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("CPU %.3f\n",
	       (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
			children.ru_stime.tv_sec) +
		       (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec +
				children.ru_utime.tv_usec + children.ru_stime.tv_usec) /
			       1e6);
}

/* `truth`: whole lines, each "STACK leaf ... root\n". */
static inline void zoo_start(int argc, char **argv, const char *truth)
{
	fputs(truth, stdout);
	atexit(zoo_print_cpu);
	fflush(stdout);
	zoo_end_ns = zoo_now_ns() + (uint64_t)(zoo_seconds(argc, argv) * 1e9);
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
