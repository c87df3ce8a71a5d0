/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remaps [MAPPINGS] [file]: so many mappings, every second one executable, and one after the other of these becomes
 * writable and executable again, as fast as it goes: the kernel tells profilers of each. Prints READY when they are
 * mapped. Of anonymous memory, or of a private file. Until it is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page;

static char *map_pages(size_t n, int fd)
{
	char *memory = mmap(NULL, n * page, PROT_READ, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int open_pages(size_t n)
{
	int fd = memfd_create("remaps", MFD_CLOEXEC);

	return fd >= 0 && ftruncate(fd, (off_t)(n * page)) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)atol(argv[1]) : 30000;
	int fd = -1;
	char *memory;

	page = (size_t)getpagesize();
	if (argc > 2 && strcmp(argv[2], "file") == 0)
		fd = open_pages(n);
	memory = map_pages(n, fd);
	if (!memory)
		return 1;
	for (size_t i = 0; i < n; i += 2) {
		if (mprotect(memory + i * page, page, PROT_READ | PROT_EXEC) < 0)
			return 1;
	}
	printf("READY\n");
	fflush(stdout);
	for (size_t i = 0;; i = i + 2 < n ? i + 2 : 0) {
		if (mprotect(memory + i * page, page, PROT_READ | PROT_WRITE) < 0 ||
		    mprotect(memory + i * page, page, PROT_READ | PROT_EXEC) < 0)
			return 1;
	}
}
