/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose shares of the CPU time are known, called in turn until so much CPU time is used;
 * `dearer` has a fifth of it, and so much per cent more work than that.
 *
 *	dearer SECONDS PERCENT
 *
 * or a fixed amount of work: so many rounds of so many steps, of which `dearer` has so many
 * thousandths and the others 950 together.
 *
 *	dearer --work ROUNDS STEPS THOUSANDTHS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

__attribute__((noinline)) static void first_half(unsigned int unit)
{
	one(24 * unit / 10);
	two(12 * unit / 10);
	three(8 * unit / 10);
	four(4 * unit / 10);
	five(2 * unit / 10);
}

__attribute__((noinline)) static void second_half(unsigned int unit)
{
	six(15 * unit / 10);
	seven(8 * unit / 10);
	eight(5 * unit / 10);
	nine(unit / 10);
	ten(unit / 10);
}

/* The others have 80 tenths of a unit. */
static int work(char **argv)
{
	unsigned int rounds = (unsigned int)strtoul(argv[0], NULL, 10);
	unsigned int steps = (unsigned int)strtoul(argv[1], NULL, 10);
	unsigned int thousandths = (unsigned int)strtoul(argv[2], NULL, 10);

	for (unsigned int i = 0; i < rounds; i++) {
		dearer((unsigned int)((uint64_t)steps * thousandths / 1000));
		first_half((unsigned int)((uint64_t)steps * 950 / 1000 / 8));
		second_half((unsigned int)((uint64_t)steps * 950 / 1000 / 8));
	}
	return 0;
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

	if (argc == 5 && strcmp(argv[1], "--work") == 0)
		return work(argv + 2);
	if (seconds <= 0) {
		fprintf(stderr,
			"usage: dearer SECONDS PERCENT | --work ROUNDS STEPS THOUSANDTHS\n");
		return 2;
	}
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 50; i++) {
			dearer(20 * UNIT / 10 * (100 + percent) / 100);
			first_half(UNIT);
			second_half(UNIT);
		}
	}
	return 0;
}
