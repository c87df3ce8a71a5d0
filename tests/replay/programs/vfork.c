/* SPDX-License-Identifier: Apache-2.0 */
/* A child of vfork that runs on in its parent's frames: record the child. */
#include "stand.h"

#include <sys/wait.h>

KEEP void in_child(void)
{
	alarm(60);
	stand();
	BARRIER();
}

KEEP void start_child(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		in_child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(void)
{
	alarm(60);
	start_child();
	BARRIER();
	return 0;
}
