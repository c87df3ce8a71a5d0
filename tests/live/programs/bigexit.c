/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bigexit [MB]: maps so much memory, touches each small page of it, and ends without giving it
 * back: that is left to the kernel's exit_mmap.
 */
#include "zoo.h"

#include <sys/mman.h>

#define SMALL_PAGE 4096u

KEEP void touch_all(volatile char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += SMALL_PAGE)
		memory[i] = 1;
	BARRIER();
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 200) << 20;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	(void)madvise(memory, bytes, MADV_NOHUGEPAGE); /* as many pages as there can be */
	touch_all(memory, bytes);
	return 0;
}
