/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gaps SECONDS: looks at the clock all the time and adds up the times it could not, gaps of half a
 * microsecond and more, without those it waited while others had the CPU. What is left is made by
 * interrupts, switches and the host. Prints: ns of gaps, ns of all the time, number of gaps.
 */
#include "clocks.h"

#include <inttypes.h>

#define SHORTEST_NS 500u

int main(int argc, char **argv)
{
	uint64_t waited = waited_ns(), start_ns = now_ns(), last_ns = start_ns;
	uint64_t end_ns = start_ns + (uint64_t)(argc > 1 ? strtod(argv[1], NULL) * 1e9 : 1e9);
	uint64_t gap_ns = 0, n_gaps = 0;

	while (last_ns < end_ns) {
		uint64_t at_ns = now_ns(), gap = at_ns - last_ns;

		last_ns = at_ns;
		if (gap >= SHORTEST_NS) {
			gap_ns += gap;
			n_gaps++;
		}
	}
	waited = waited_ns() - waited;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", gap_ns > waited ? gap_ns - waited : 0,
	       last_ns - start_ns - waited, n_gaps);
	return 0;
}
