/* SPDX-License-Identifier: Apache-2.0 */
/* sleepers N: N processes of this program that do nothing, until this one dies. Says "ready". */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

extern char **environ;

static int sleep_for_ever(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before */
		return 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	char parent[16], *child[] = {argv[0], "sleep", parent, NULL};
	pid_t pid;
	int r;

	if (argc == 3)
		return sleep_for_ever((pid_t)strtol(argv[2], NULL, 10));
	if (argc != 2)
		return fputs("usage: sleepers N\n", stderr), 2;
	snprintf(parent, sizeof(parent), "%d", (int)getpid());
	for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
		r = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ);
		if (r != 0)
			return fprintf(stderr, "sleepers: %s\n", strerror(r)), 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
