/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortlived [MS]: burns so many milliseconds of its own CPU time in short_leaf, and ends. What it
 * spends beyond that is the kernel's and the dynamic linker's: at 1 ms more than half of its life.
 */
#include "zoo.h"

#define CHUNKS_PER_MS 20u

ZOO_DEFINE_SPIN(short_leaf)

static uint64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

KEEP void short_middle(void)
{
	short_leaf(SPINS_PER_MS / CHUNKS_PER_MS);
	BARRIER();
}

KEEP void short_burn(uint64_t end_ns)
{
	while (used_ns() < end_ns)
		short_middle();
	BARRIER();
}

int main(int argc, char **argv)
{
	double ms = argc > 1 ? strtod(argv[1], NULL) : 10;

	short_burn(used_ns() + (uint64_t)(ms * 1e6));
	return 0;
}
