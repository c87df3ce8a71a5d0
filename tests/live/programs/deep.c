/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion 900 deep; each level has a frame of another size. */
#include "zoo.h"

#include <alloca.h>

ZOO_DEFINE_SPIN(spin)

KEEP int down(int levels)
{
	volatile char *room = alloca((size_t)(levels % 7) * 16 + 16);
	int sum;

	room[0] = (char)levels;
	if (levels > 1)
		sum = down(levels - 1);
	else
		spin(SPINS_PER_MS * 20), sum = 0;
	BARRIER();
	return sum + room[0];
}

ZOO_MAIN("STACK spin down{900} main\n", down(900))
