/* SPDX-License-Identifier: Apache-2.0 */
/* What the filter of system calls costs the agent: CPU time of a call without it and with it, the best of many rounds. */
#include "core/base/clock.h"
#include "core/base/system_calls.h"
#include "core/base/util.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS	200000
#define REFUSED 20000
#define ROUNDS	15
#define CANNOT	77

static double cpu_ns(void)
{
	return (double)ep_clock_thread_cpu_ns();
}

static double measure(int calls, long number, long argument)
{
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		double start = cpu_ns(), each;

		for (int i = 0; i < calls; i++)
			(void)syscall(number, argument, 0, 0, 0, 0);
		each = (cpu_ns() - start) / calls;
		best = EP_MIN(best, each);
	}
	return best;
}

int main(void)
{
	double plain = measure(CALLS, SYS_getppid, 0), with_argument = measure(CALLS, SYS_prctl, PR_GET_DUMPABLE), start;
	int r;

	start = cpu_ns();
	r = ep_system_calls_limit(EP_CALLERS_AGENT);
	if (r < 0) {
		puts("skip: no filters of system calls here");
		return CANNOT;
	}
	printf("made and installed\t%.1f\tms\t\tfor information\n", (cpu_ns() - start) / 1e6);
	printf("call that is allowed, in addition to its %.0f ns\t%.0f\tns\t\tfor information\n", plain,
	       measure(CALLS, SYS_getppid, 0) - plain);
	printf("call whose argument counts, in addition to its %.0f ns\t%.0f\tns\t\tfor information\n", with_argument,
	       measure(CALLS, SYS_prctl, PR_GET_DUMPABLE) - with_argument);
	printf("call that is refused, counted\t%.0f\tns\t\tfor information\n", measure(REFUSED, SYS_personality, 0xffffffff));
	return 0;
}
