/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deepstack SECONDS FRAMES...: spends its time in a leaf below a stack of so many user frames, all
 * of them counted: leaf, a ring of sixteen functions (eight of them in a library), main, and the
 * three that glibc starts main with. Several FRAMES take turns of 20 ms.
 */
#include "deepstack.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AROUND	5 /* leaf, main, __libc_start_call_main, __libc_start_main, _start */
#define TURN_NS 20000000u
#define SPINS	200000 /* well below a millisecond between two looks at the clock */

static uint64_t turn_end_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static KEEP int leaf(int levels)
{
	do {
		for (int i = 0; i < SPINS; i++)
			__asm__ volatile("");
	} while (now_ns() < turn_end_ns);
	return levels;
}

static KEEP int level_1(int levels);

#define STEP(function) (levels > 1 ? function(levels - 1) : leaf(0))

LEVEL(level_8, 56, levels > 1 ? deepstack_library(levels - 1, level_1, leaf) : leaf(0))
LEVEL(level_7, 8, STEP(level_8))
LEVEL(level_6, 104, STEP(level_7))
LEVEL(level_5, 24, STEP(level_6))
LEVEL(level_4, 152, STEP(level_5))
LEVEL(level_3, 16, STEP(level_4))
LEVEL(level_2, 40, STEP(level_3))
LEVEL(level_1, 8, STEP(level_2))

int main(int argc, char **argv)
{
	uint64_t end_ns = now_ns() + (uint64_t)(argc > 1 ? strtod(argv[1], NULL) * 1e9 : 0);
	int sum = 0;

	if (argc < 3) {
		fputs("usage: deepstack SECONDS FRAMES...\n", stderr);
		return 2;
	}
	while (now_ns() < end_ns) {
		for (int i = 2; i < argc; i++) {
			turn_end_ns = now_ns() + TURN_NS;
			sum += level_1((int)strtol(argv[i], NULL, 10) - AROUND);
			BARRIER();
		}
	}
	return sum == 1;
}
