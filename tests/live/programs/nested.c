/* SPDX-License-Identifier: Apache-2.0 */
/* The plainest stack there is; built in every way a program can be built and started. */
#include "zoo.h"

ZOO_DEFINE_SPIN(spin)

KEEP void inner(void)
{
	spin(SPINS_PER_MS);
	BARRIER();
}

KEEP void middle(int pad)
{
	volatile char room[200];

	room[pad] = 1;
	inner();
	BARRIER();
	room[0] = room[pad];
}

KEEP void outer(void)
{
	middle(7);
	BARRIER();
}

ZOO_MAIN("STACK spin inner middle outer main\n", outer())
