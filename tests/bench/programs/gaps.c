/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gaps SECONDS: looks at the clock all the time and adds up the times it could not: gaps between
 * half a microsecond and 200, which interrupts (and host exits) make; longer ones are other
 * programs' turns and are left out of the time as well. Prints: gap ns, time ns, number of gaps.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SHORTEST_NS 500u
#define LONGEST_NS  200000u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t last_ns = now_ns(), gap_ns = 0, time_ns = 0, n_gaps = 0;
	uint64_t end_ns = last_ns + (uint64_t)(argc > 1 ? strtod(argv[1], NULL) * 1e9 : 1e9);

	while (last_ns < end_ns) {
		uint64_t at_ns = now_ns(), gap = at_ns - last_ns;

		last_ns = at_ns;
		if (gap > LONGEST_NS)
			continue;
		time_ns += gap;
		if (gap >= SHORTEST_NS) {
			gap_ns += gap;
			n_gaps++;
		}
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", gap_ns, time_ns, n_gaps);
	return 0;
}
