// SPDX-License-Identifier: Apache-2.0
#include "_cgo_export.h"

#include <pthread.h>

typedef unsigned long u64;

__attribute__((noinline)) u64 c_spin(u64 n)
{
	volatile u64 x = n;

	for (u64 i = 0; i < 200000; i++)
		x = x * 6364136223846793005UL + i;
	return x;
}

__attribute__((noinline)) u64 c_turns(u64 n)
{
	volatile u64 x = goTurn(n - 1);

	return x + 1;
}

static void *c_thread(void *arg)
{
	volatile u64 x = 0;

	for (int i = 0; i < *(int *)arg; i++)
		x += goAlone(x);
	return NULL;
}

u64 c_alone(int times)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, c_thread, &times) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
