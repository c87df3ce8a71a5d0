/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames whose size is not known at compile time, and frames that are aligned to more than the ABI
 * gives: the caller's frame is then found through a register, or through memory.
 */
#include "zoo.h"

#include <alloca.h>

ZOO_DEFINE_SPIN(spin)

#if defined(__x86_64__)
#define REALIGN __attribute__((force_align_arg_pointer))
#else
#define REALIGN
#endif

KEEP void burn_with(volatile char *room, unsigned int bytes)
{
	room[bytes - 1] = 1;
	spin(SPINS_PER_MS / 4);
	BARRIER();
}

KEEP void with_alloca(unsigned int bytes)
{
	burn_with(alloca(bytes), bytes);
	BARRIER();
}

KEEP void with_vla(unsigned int bytes)
{
	char room[bytes];

	burn_with(room, bytes);
	BARRIER();
}

KEEP REALIGN void realigned(unsigned int bytes)
{
	__attribute__((aligned(64))) char room[256];

	burn_with(room, bytes & 255);
	BARRIER();
}

/* More than six arguments, so that some come on the stack: they are reached by a saved pointer. */
KEEP REALIGN void realigned_and_dynamic(unsigned int bytes, int b, int c, int d, int e, int f,
					int g, int h)
{
	__attribute__((aligned(64))) volatile char fixed[128];
	char *room = alloca(bytes + (unsigned int)(g + h));

	fixed[0] = (char)(b + c + d + e + f);
	burn_with(room, bytes);
	BARRIER();
	fixed[1] = room[0] + (char)(fixed[0] + h);
}

int main(int argc, char **argv)
{
	zoo_start(argc, argv,
		  "STACK spin burn_with with_alloca main\n"
		  "STACK spin burn_with with_vla main\n"
		  "STACK spin burn_with realigned main\n"
		  "STACK spin burn_with realigned_and_dynamic main\n");
	for (unsigned int i = 100; zoo_time_left(); i = i % 3000 + 1) {
		with_alloca(i);
		with_vla(i);
		realigned(i | 1);
		realigned_and_dynamic(i, 1, 2, 3, 4, 5, 6, 7);
	}
	return 0;
}
