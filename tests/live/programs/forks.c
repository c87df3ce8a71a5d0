/* SPDX-License-Identifier: Apache-2.0 */
/* A storm of children that live 20 ms each, and never exec. */
#include "zoo.h"

#include <sys/wait.h>
#include <unistd.h>

ZOO_DEFINE_SPIN(spin)

KEEP void be_a_child(void)
{
	spin(SPINS_PER_MS * 20);
	BARRIER();
}

KEEP void have_a_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		be_a_child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	BARRIER();
}

ZOO_MAIN("STACK spin be_a_child have_a_child main\n"
	 "MAY KERNEL ... have_a_child main\n" /* fork itself is not cheap */
	 "MAY ?KERNEL LIBC ... have_a_child main\n",
	 have_a_child())
