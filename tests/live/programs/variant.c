/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of two programs that are linked with the same build id, or with none, and lie in one place:
 * the same functions by other names, at other addresses, with other frames. Burns as many
 * milliseconds of CPU time as it is asked.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GLUE(a, b) a##_##b
#define NAME(a, b) GLUE(a, b)
#define KEEP	   __attribute__((noinline, noclone))

static volatile unsigned long sink;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#if FRAME_BYTES > 64
KEEP void NAME(unused, VARIANT)(void)
{
	for (int i = 0; i < 100; i++)
		sink ^= sink << 7 ^ sink >> 9;
}
#endif

KEEP void NAME(spin, VARIANT)(unsigned long n)
{
	volatile char frame[FRAME_BYTES];

	memset((char *)frame, (int)n, sizeof(frame));
	for (unsigned long i = 0; i < 200000; i++)
		sink += i * n + (unsigned char)frame[i % sizeof(frame)];
}

KEEP void NAME(work, VARIANT)(long end_ms)
{
	volatile long frame[FRAME_BYTES / 8];

	frame[0] = end_ms;
	while (now_ms() < frame[0])
		NAME(spin, VARIANT)(sink);
}

int main(int argc, char **argv)
{
	NAME(work, VARIANT)(now_ms() + (argc > 1 ? strtol(argv[1], NULL, 10) : 100));
	return 0;
}
