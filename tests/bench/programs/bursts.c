/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bursts SECONDS PERIOD_MS BURST_MS PHASE_MS: uses CPU for BURST_MS at the start of each period and
 * sleeps for its rest, as what works by a timer does. Periods are those of CLOCK_MONOTONIC, moved
 * by the phase, so that programs that are started together keep their distance. Prints the CPU
 * time it used, in ns.
 */
#include "clocks.h"

#include <errno.h>
#include <inttypes.h>

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
			     .tv_nsec = (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	uint64_t end_ns, period_ns, burst_ns, phase_ns, next_ns;
	struct timespec cpu;

	if (argc != 5) {
		fprintf(stderr, "usage: bursts SECONDS PERIOD_MS BURST_MS PHASE_MS\n");
		return 2;
	}
	end_ns = now_ns() + (uint64_t)(strtod(argv[1], NULL) * 1e9);
	period_ns = (uint64_t)(strtod(argv[2], NULL) * 1e6);
	burst_ns = (uint64_t)(strtod(argv[3], NULL) * 1e6);
	phase_ns = (uint64_t)(strtod(argv[4], NULL) * 1e6);
	next_ns = (now_ns() / period_ns + 1) * period_ns + phase_ns;
	for (; next_ns < end_ns; next_ns += period_ns) {
		sleep_until(next_ns);
		while (now_ns() < next_ns + burst_ns)
			;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	printf("%" PRIu64 "\n", (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec);
	return 0;
}
