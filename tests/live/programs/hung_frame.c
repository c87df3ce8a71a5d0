/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hung_frame FILE: a stack whose upper half is FILE, and code in anonymous memory that runs on the lower half. Its
 * caller's frame is in a page that was never read: who walks the stack reads it. Until it is killed.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HALF 65536ul

/* mov %rdi, %rsp; mov %rsi, %rbp; 1: pause; jmp 1b */
static const unsigned char code[] = {0x48, 0x89, 0xfc, 0x48, 0x89, 0xf5, 0xf3, 0x90, 0xeb, 0xfc};

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	char *stack = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || memory == MAP_FAILED ||
	    mmap(stack + HALF, HALF, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return 1;
	memset(stack + HALF / 2, 0, HALF / 2);
	memcpy(memory, code, sizeof(code));
	((void (*)(const char *, const char *))memory)(stack + HALF - 1024, stack + HALF + HALF / 2);
	return 0;
}
