/* SPDX-License-Identifier: Apache-2.0 */
/* The middle of the stack; compiled without unwind tables, with or without frame pointers. */
#include "bare.h"

void bare_inner(void (*fn)(void))
{
	fn();
	__asm__ volatile("" ::: "memory");
}

void bare_outer(void (*fn)(void))
{
	bare_inner(fn);
	__asm__ volatile("" ::: "memory");
}
