// SPDX-License-Identifier: Apache-2.0
#include "_cgo_export.h"

#include <unistd.h>

__attribute__((noinline)) void c_stand(void)
{
	for (;;)
		pause();
}

__attribute__((noinline)) unsigned long c_turn(unsigned long left)
{
	volatile unsigned long x = goTurn(left);

	return x + 1;
}
