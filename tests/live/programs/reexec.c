/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reexec SECONDS: executes itself again and again without doing anything else, one pid: nearly all
 * of its time is the kernel's exec and the dynamic linker's. The second argument, when it is there,
 * is set by itself: when to end.
 */
#include "zoo.h"

#include <inttypes.h>
#include <unistd.h>

KEEP void exec_again(char **argv)
{
	char end[32];
	char *next[] = {argv[0], argv[1], end, NULL};

	snprintf(end, sizeof(end), "%" PRIu64, zoo_end_ns);
	execv(argv[0], next); /* not /proc/self/exe: the name would be "exe" */
	perror(argv[0]);
	BARRIER();
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc > 2)
		zoo_go_on(argv[1], argv[2], "0"); /* it says nothing of its starts */
	else
		zoo_set_end(strtod(argv[1], NULL));
	if (!zoo_time_left())
		return 0;
	exec_again(argv);
	return 1;
}
