/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of vfork, 50 us each: its frame has nothing on the stack while the child is made, and
 * runs. It pauses from time to time: nothing but vfork, 100 000 a second, makes a machine that is
 * busy with other work lose records of the kernel, and whose the samples are is not known then.
 */
#include "zoo.h"

#include <sys/wait.h>
#include <unistd.h>

ZOO_DEFINE_SPIN(rest)

KEEP void have_a_child(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	BARRIER();
}

KEEP void have_children(void)
{
	for (int i = 0; i < 20; i++)
		have_a_child();
	rest(SPINS_PER_MS / 4);
	BARRIER();
}

ZOO_MAIN("STACK ... vfork|__vfork have_a_child have_children main\n" /* BPF programs are no KERNEL */
	 "STACK ... LIBC have_a_child have_children main\n" /* waitpid, _exit */
	 "STACK rest have_children main\n"
	 "MAY KERNEL ... [exit]\n" /* its memory is not its own any more */
	 "MAY ?*@plt ?have_a_child have_children main\n",
	 have_children())
