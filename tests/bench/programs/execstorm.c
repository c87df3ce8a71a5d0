/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execstorm SECONDS RATE PROGRAM: starts PROGRAM so often a second, from two processes
 * in turn, since each has to wait until its child executes. Each of the two prints how many it
 * started and the seconds it took. When the machine cannot keep the pace it starts the next one as
 * soon as it can; at most LIMIT children of each live at once. Each comes at a random moment of its
 * own slot: a storm in step with a profiler's timer would be seen at one moment of its life alone.
 */
#include "clocks.h"

#include <inttypes.h>
#include <spawn.h>
#include <sys/wait.h>

#define STARTERS 2u
#define LIMIT	 64u

static char *no_environment[] = {NULL};

static int start(char *program)
{
	char *arguments[] = {program, NULL};
	pid_t pid;

	return posix_spawn(&pid, program, NULL, NULL, arguments, no_environment);
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* One starter's part of the storm: how many it started. */
static uint64_t storm(uint64_t begin_ns, uint64_t end_ns, uint64_t step_ns, char *program)
{
	unsigned int living = 0, random = (unsigned int)getpid();
	uint64_t n = 0;

	for (; now_ns() < end_ns; n++) {
		/* Takes what ended; when there are too many, waits for one. */
		while (living && waitpid(-1, NULL, living >= LIMIT ? 0 : WNOHANG) > 0)
			living--;
		sleep_until(begin_ns + n * step_ns + step_ns * (uint64_t)rand_r(&random) / RAND_MAX);
		if (start(program) != 0) {
			perror(program);
			exit(1);
		}
		living++;
	}
	while (living && waitpid(-1, NULL, 0) > 0)
		living--;
	return n;
}

static void be_starter(unsigned int i, char **argv, uint64_t begin_ns)
{
	uint64_t end_ns = begin_ns + (uint64_t)(strtod(argv[1], NULL) * 1e9);
	uint64_t gap_ns = (uint64_t)(1e9 / strtod(argv[2], NULL));
	uint64_t n = storm(begin_ns + i * gap_ns, end_ns, gap_ns * STARTERS, argv[3]);

	printf("%" PRIu64 " %.3f\n", n, (double)(now_ns() - begin_ns) / 1e9);
	exit(0);
}

int main(int argc, char **argv)
{
	uint64_t begin_ns = now_ns();
	int status, failed = 0;

	if (argc < 4)
		return 2;
	for (unsigned int i = 0; i < STARTERS; i++) {
		pid_t pid = fork();

		if (pid == 0)
			be_starter(i, argv, begin_ns);
		failed |= pid < 0;
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
