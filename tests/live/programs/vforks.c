/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vforks SECONDS PROGRAM: vfork and execve of a program that does nothing, then vfork and _exit, over
 * and over. Until it execs or ends, the child runs on its parent's stack.
 */
#include "zoo.h"

#include <sys/wait.h>
#include <unistd.h>

static char *no_environment[] = {NULL};

KEEP pid_t vfork_and_exec(char *program)
{
	char *arguments[] = {program, NULL};
	pid_t child = vfork();

	if (child == 0) {
		execve(program, arguments, no_environment);
		_exit(127);
	}
	BARRIER();
	return child;
}

KEEP pid_t vfork_and_exit(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	BARRIER();
	return child;
}

KEEP int wait_for(pid_t child)
{
	int status = -1;

	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		return -1;
	BARRIER();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	zoo_start(argc, argv, "");
	while (zoo_time_left()) {
		if (wait_for(vfork_and_exec(argv[2])) < 0 || wait_for(vfork_and_exit()) < 0) {
			fprintf(stderr, "%s: a child failed\n", argv[2]);
			return 1;
		}
	}
	return 0;
}
