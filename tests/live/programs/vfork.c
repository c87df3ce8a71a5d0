/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing but vfork: its frame has nothing on the stack while the child is made, and runs. */
#include "zoo.h"

#include <sys/wait.h>
#include <unistd.h>

KEEP void have_a_child(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	BARRIER();
}

ZOO_MAIN("STACK ... vfork|__vfork have_a_child main\n" /* BPF programs are no KERNEL */
	 "STACK ... LIBC have_a_child main\n" /* waitpid, _exit */
	 "MAY KERNEL ... [exit]\n" /* its memory is not its own any more */
	 "MAY have_a_child main\n",
	 have_a_child())
