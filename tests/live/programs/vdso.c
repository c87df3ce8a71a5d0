/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock and nothing else: most samples are in the vDSO. */
#include "zoo.h"

KEEP void read_clock(void)
{
	struct timespec t;

	for (int i = 0; i < 20000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	BARRIER();
}

ZOO_MAIN("STACK VDSO ?LIBC read_clock main\n"
	 "MAY ?LIBC|*@plt|*+0x* read_clock main\n",
	 read_clock())
