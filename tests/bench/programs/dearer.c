/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose shares of the CPU time are known, called in turn until so much CPU time is used; `dearer` has a
 * fifth of it, and so much per cent more work than that.
 *
 *	dearer SECONDS PERCENT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define UNIT 2000

static volatile uint64_t sink;

/* Each a function of its own, of `work` units. */
#define FUNCTION(name)                                                                             \
	__attribute__((noinline, noclone)) static void name(unsigned int work)                     \
	{                                                                                          \
		uint64_t x = sink + __LINE__;                                                      \
												   \
		for (unsigned int i = 0; i < work; i++)                                            \
			x = x * 6364136223846793005u + 1442695040888963407u;                       \
		sink = x;                                                                          \
	}

FUNCTION(dearer)
FUNCTION(one)
FUNCTION(two)
FUNCTION(three)
FUNCTION(four)
FUNCTION(five)
FUNCTION(six)
FUNCTION(seven)
FUNCTION(eight)
FUNCTION(nine)
FUNCTION(ten)

__attribute__((noinline)) static void first_half(void)
{
	one(24 * UNIT / 10);
	two(12 * UNIT / 10);
	three(8 * UNIT / 10);
	four(4 * UNIT / 10);
	five(2 * UNIT / 10);
}

__attribute__((noinline)) static void second_half(void)
{
	six(15 * UNIT / 10);
	seven(8 * UNIT / 10);
	eight(5 * UNIT / 10);
	nine(UNIT / 10);
	ten(UNIT / 10);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? strtod(argv[1], NULL) : 0;
	unsigned int percent = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;

	if (seconds <= 0) {
		fprintf(stderr, "usage: dearer SECONDS PERCENT\n");
		return 2;
	}
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 50; i++) {
			dearer(20 * UNIT / 10 * (100 + percent) / 100);
			first_half();
			second_half();
		}
	}
	return 0;
}
