/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of deepstack share: a ring of functions, half of them in a library. */
#ifndef DEEPSTACK_H
#define DEEPSTACK_H

typedef int deepstack_level(int levels);

/* Eight frames of the library, then `next`, until `levels` are used up; the last calls `leaf`. */
int deepstack_library(int levels, deepstack_level *next, deepstack_level *leaf);

#define KEEP	__attribute__((noinline, noclone, noipa))
#define BARRIER() __asm__ volatile("" ::: "memory")

/* One function: `bytes` of stack, and a call that the barrier keeps from being a jump. */
#define LEVEL(name, bytes, call)                                                                   \
	static KEEP int name(int levels)                                                           \
	{                                                                                          \
		volatile char room[bytes];                                                         \
		int sum;                                                                           \
                                                                                                   \
		room[0] = (char)levels;                                                            \
		sum = call;                                                                        \
		BARRIER();                                                                         \
		return sum + room[0] + levels;                                                     \
	}

#endif
