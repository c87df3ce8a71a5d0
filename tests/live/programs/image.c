/* SPDX-License-Identifier: Apache-2.0 */
/* A library that needs nothing but itself, and begins at image_outer: what packed.c unpacks. */
#define SPINS_PER_MS 1500000u
#define KEEP	     __attribute__((noipa))
#define BARRIER()    __asm__ volatile("" ::: "memory")

KEEP void image_spin(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		__asm__ volatile("");
}

KEEP void image_inner(void)
{
	image_spin(SPINS_PER_MS);
	BARRIER();
}

KEEP void image_outer(void)
{
	image_inner();
	BARRIER();
}
