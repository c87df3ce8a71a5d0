/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coststack [kernel] same FRAMES BYTES: stands in a leaf below one function that calls itself.
 * coststack [kernel] many BYTES: below 41 different functions of three libraries, 46 frames in all.
 *
 * Counted are leaf, main and the three that glibc starts main with. With BYTES the leaf goes over
 * so much memory all the time, which leaves nothing else in the caches of the CPU. With `kernel` it
 * is the kernel that does, in reads of /dev/zero: then samples have a kernel stack. Runs until killed.
 */
#include "manystack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define AROUND	   5
#define LINE	   64
#define LEAST_READ 16384 /* so that nearly all samples of the kernel are of the read itself */

extern many_link a_chain_1, a_chain_2, a_chain_3, b_chain_1, b_chain_2, b_chain_3;
extern many_link c_chain_1, c_chain_2, c_chain_3_short;

static volatile char *memory;
static size_t memory_bytes;
static int zero_fd = -1;

/* Not read(): that would be one more frame. */
static inline long read_zeros(void)
{
	long r = SYS_read;

	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"((long)zero_fd), "S"(memory), "d"(memory_bytes)
			 : "rcx", "r11", "memory");
	return r;
}

static KEEP long leaf(struct many *many)
{
	(void)many;
	while (zero_fd >= 0 && read_zeros() > 0)
		BARRIER();
	for (;;) {
		for (size_t i = 0; i < memory_bytes; i += LINE)
			memory[i]++;
		BARRIER();
	}
	return 0;
}

static KEEP long same(long levels)
{
	volatile char room[40];
	long sum;

	room[0] = (char)levels;
	sum = levels > 1 ? same(levels - 1) : leaf(NULL);
	BARRIER();
	return sum + room[0];
}

static int set_memory(const char *bytes)
{
	memory_bytes = strtoul(bytes, NULL, 10);
	if (zero_fd >= 0 && memory_bytes < LEAST_READ)
		memory_bytes = LEAST_READ;
	memory = memory_bytes ? malloc(memory_bytes) : NULL;
	return memory || !memory_bytes;
}

int main(int argc, char **argv)
{
	struct many many = {
		.links = {a_chain_1, b_chain_1, c_chain_1, a_chain_2, b_chain_2, c_chain_2, a_chain_3,
			  b_chain_3, c_chain_3_short, leaf},
	};
	long sum;

	if (argc > 1 && !strcmp(argv[1], "kernel")) {
		zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		argc--;
		argv++;
	}
	if (argc == 4 && !strcmp(argv[1], "same") && set_memory(argv[3]))
		sum = same(strtol(argv[2], NULL, 10) - AROUND);
	else if (argc == 3 && !strcmp(argv[1], "many") && set_memory(argv[2]))
		sum = many_next(&many);
	else
		return fputs("usage: coststack [kernel] same FRAMES BYTES | [kernel] many BYTES\n", stderr), 2;
	BARRIER();
	return sum == 1;
}
