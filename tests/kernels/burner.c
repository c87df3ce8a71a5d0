/* SPDX-License-Identifier: Apache-2.0 */
/* A stack 30 functions deep, of two functions that call each other with frames of their own size. */
#include "../live/programs/zoo.h"

#define LEVELS 15

ZOO_DEFINE_SPIN(spin)

KEEP int outer(int levels);

KEEP int inner(int levels)
{
	volatile char room[40];

	room[0] = (char)levels;
	if (levels > 1)
		outer(levels - 1);
	else
		spin(SPINS_PER_MS * 10);
	BARRIER();
	return room[0];
}

KEEP int outer(int levels)
{
	volatile char room[168];

	room[0] = (char)inner(levels);
	BARRIER();
	return room[0];
}

int main(int argc, char **argv)
{
	static char truth[32 + LEVELS * 12];
	size_t len = (size_t)snprintf(truth, sizeof(truth), "STACK spin");

	for (int i = 0; i < LEVELS; i++)
		len += (size_t)snprintf(truth + len, sizeof(truth) - len, " inner outer");
	snprintf(truth + len, sizeof(truth) - len, " main\n");
	zoo_start(argc, argv, truth);
	while (zoo_time_left())
		outer(LEVELS);
	return 0;
}
