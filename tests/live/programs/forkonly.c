/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forkonly SECONDS: children that never exec burn 5 ms each in child_only; meanwhile the parent burns
 * in parent_only, until its child ended. Says on its first line who the parent is.
 */
#include "zoo.h"

#include <sys/wait.h>
#include <unistd.h>

#define CHILD_MS 5u

ZOO_DEFINE_SPIN(child_leaf)
ZOO_DEFINE_SPIN(parent_leaf)

KEEP void child_only(void)
{
	child_leaf(SPINS_PER_MS * CHILD_MS);
	BARRIER();
}

KEEP void parent_only(pid_t child)
{
	while (waitpid(child, NULL, WNOHANG) == 0)
		parent_leaf(SPINS_PER_MS / 4);
	BARRIER();
}

KEEP pid_t start_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		child_only();
		_exit(0);
	}
	return child;
}

int main(int argc, char **argv)
{
	printf("PARENT %d\n", (int)getpid());
	zoo_start(argc, argv, "");
	while (zoo_time_left()) {
		pid_t child = start_child();

		if (child < 0) {
			perror("fork");
			return 1;
		}
		parent_only(child);
	}
	return 0;
}
