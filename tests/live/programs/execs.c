/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes itself again and again, one pid with many address spaces, each 100 ms long. The arguments after the first are
 * set by itself: when to end, and the CPU time that was used for anything but starts.
 */
#include "zoo.h"

#include <inttypes.h>
#include <unistd.h>

ZOO_DEFINE_SPIN(spin)

KEEP void short_life(void)
{
	spin(SPINS_PER_MS * 100);
	BARRIER();
}

static void again(char **argv)
{
	char end[32], not_start[32];
	char *next[] = {argv[0], argv[1], end, not_start, NULL};

	snprintf(end, sizeof(end), "%" PRIu64, zoo_end_ns);
	snprintf(not_start, sizeof(not_start), "%" PRIu64, zoo_used_ns() - zoo_start_ns);
	execv("/proc/self/exe", next);
}

int main(int argc, char **argv)
{
	if (argc > 3) {
		zoo_go_on(argv[1], argv[2], argv[3]);
		atexit(zoo_print_cpu);
	} else {
		zoo_start(argc, argv, "STACK spin short_life main\n");
	}
	short_life();
	if (zoo_time_left())
		again(argv);
	return 0;
}
