/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runners N [PERIOD_MS]: N processes of this program, each of which works for a fifth of a millisecond in each
 * period (2000 ms), at a phase of its own, until this one dies. The last one calls itself "chosen" and
 * works a millisecond of each five. Says "ready PID" of that one.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

static void work(uint64_t work_ns, uint64_t rest_ns, uint64_t phase_ns)
{
	sleep_ns(phase_ns);
	for (;;) {
		uint64_t end = used_ns() + work_ns;

		while (used_ns() < end)
			for (int i = 0; i < 1000; i++)
				sink++;
		sleep_ns(rest_ns);
	}
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	uint64_t period_ns = 1000000ull * (argc > 2 ? strtoul(argv[2], NULL, 10) : 2000);
	pid_t pid = 0, parent = getpid();

	for (long i = 0; i < n; i++) {
		pid = fork();
		if (pid != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			return 1;
		if (i == n - 1) {
			prctl(PR_SET_NAME, "chosen");
			work(1000000, 4000000, 0);
		}
		work(200000, period_ns, period_ns / (uint64_t)n * (uint64_t)i);
	}
	printf("ready %d\n", (int)pid);
	fflush(stdout);
	pause();
	return 0;
}
