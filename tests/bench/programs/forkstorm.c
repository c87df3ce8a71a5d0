/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forkstorm SECONDS RATE MAPPINGS: has so many executable mappings of its own file, as a server
 * with plugins has of many, and forks so often a second; each child ends at once. It says when it
 * has them, and begins when it reads a line. Prints how many it forked and the seconds it took.
 */
#include "clocks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096u

/* With a page between them, so that none becomes a part of the one before. */
static int map(unsigned long n)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *space = mmap(NULL, 2 * n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned long i = 0; fd >= 0 && space != MAP_FAILED && i < n; i++) {
		if (mmap(space + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
			return -1;
	}
	return fd < 0 || space == MAP_FAILED ? -1 : 0;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
	uint64_t begin_ns, end_ns, gap_ns, n = 0;

	if (argc < 4 || map(strtoul(argv[3], NULL, 10)) < 0)
		return 2;
	puts("mapped");
	fflush(stdout);
	(void)getchar();
	begin_ns = now_ns();
	end_ns = begin_ns + (uint64_t)(strtod(argv[1], NULL) * 1e9);
	gap_ns = (uint64_t)(1e9 / strtod(argv[2], NULL));
	for (; now_ns() < end_ns; n++) {
		pid_t pid;

		sleep_until(begin_ns + n * gap_ns);
		pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	printf("%" PRIu64 " %.3f\n", n, (double)(now_ns() - begin_ns) / 1e9);
	return 0;
}
