/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixedwork [UNITS]: does the same work of 50 to 100 ms again and again, and prints for each time
 * when it began (ns, CLOCK_MONOTONIC), when it ended, and the ns between without those it waited
 * while others had the CPU; interrupts are in it. The work is instructions and a table of 16 KiB,
 * so that both the time that interrupts take and the cache they use are felt.
 */
#include "clocks.h"

#include <inttypes.h>

#define ROUNDS	    30000000u
#define TABLE_WORDS 4096u

static uint32_t table[TABLE_WORDS];

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
		uint64_t waited = waited_ns(), start_ns = now_ns(), end_ns;

		x = work(x);
		end_ns = now_ns();
		waited = waited_ns() - waited;
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", start_ns, end_ns,
		       end_ns - start_ns - waited);
		fflush(stdout);
	}
	return x == 0;
}
