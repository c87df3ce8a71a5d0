/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protects SECONDS [MAPPINGS]: so many executable mappings, and each 5 ms one page among them
 * becomes writable and executable again, as a JIT's would. Prints READY when they are mapped.
 * Pages of a private file mapping, every second one executable: so the kernel merges none of them,
 * and tells profilers of each.
 */
#include "zoo.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static size_t page;

/* A file of zeros after each page; executable ones are as if from a library. */
static char *map_pages(size_t n)
{
	int fd = memfd_create("protects", MFD_CLOEXEC);
	char *memory;

	if (fd < 0 || ftruncate(fd, (off_t)(n * page)) < 0)
		return NULL;
	memory = mmap(NULL, n * page, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static int make_executable(char *memory, size_t n)
{
	for (size_t i = 0; i < n; i += 2) {
		if (mprotect(memory + i * page, page, PROT_READ | PROT_EXEC) < 0)
			return -1;
	}
	return 0;
}

KEEP int toggle(char *at)
{
	int r = mprotect(at, page, PROT_READ | PROT_WRITE);

	if (r == 0)
		r = mprotect(at, page, PROT_READ | PROT_EXEC);
	BARRIER();
	return r;
}

int main(int argc, char **argv)
{
	size_t n = 2 * (argc > 2 ? strtoul(argv[2], NULL, 10) : 15000);
	const struct timespec rest = {.tv_nsec = 5000000};
	char *memory;

	page = (size_t)sysconf(_SC_PAGESIZE);
	memory = map_pages(n);
	if (!memory || make_executable(memory, n) < 0) {
		perror("protects");
		return 1;
	}
	zoo_start(argc, argv, "READY\n");
	for (size_t i = 0; zoo_time_left(); i = (i + 2) % n) {
		if (toggle(memory + i * page) < 0) {
			perror("mprotect");
			return 1;
		}
		nanosleep(&rest, NULL);
	}
	return 0;
}
