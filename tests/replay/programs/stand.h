/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that stay in one stack until they are recorded, or their minute is over. */
#ifndef TESTS_REPLAY_STAND_H
#define TESTS_REPLAY_STAND_H

#include <stdlib.h>
#include <unistd.h>

#define KEEP	  __attribute__((noipa))
#define BARRIER() __asm__ volatile("" ::: "memory")

/* The leaf of the stack: no calls, no memory. */
static KEEP void stand(void)
{
	for (;;)
		__asm__ volatile("");
}

#endif
