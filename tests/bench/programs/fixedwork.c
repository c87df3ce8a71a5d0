/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixedwork [UNITS]: does the same work of about 50 ms again and again, and prints for each time
 * when it began (ns, CLOCK_MONOTONIC) and how long it took (ns). The work is instructions and a
 * table of 16 KiB, so that both the time interrupts take and the cache they use are felt.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS	    16000000u
#define TABLE_WORDS 4096u

static uint32_t table[TABLE_WORDS];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t work(uint32_t seed)
{
	uint32_t x = seed | 1;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		table[x % TABLE_WORDS] += x;
	}
	return x + table[x % TABLE_WORDS];
}

int main(int argc, char **argv)
{
	long units = argc > 1 ? strtol(argv[1], NULL, 10) : 1L << 30;
	uint32_t x = 1;

	for (long i = 0; i < units; i++) {
		uint64_t start_ns = now_ns();

		x = work(x);
		printf("%" PRIu64 " %" PRIu64 "\n", start_ns, now_ns() - start_ns);
		fflush(stdout);
	}
	return x == 0;
}
