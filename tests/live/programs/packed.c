/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out an ELF file in memory of no file, as packers and loaders of their own do, and runs it from its entry:
 * packed SECONDS FILE.
 */
#include "zoo.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES 4096ull

static int protection(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

static const char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *data;

	if (fd < 0 || fstat(fd, &st) < 0 || !(data = malloc((size_t)st.st_size)) ||
	    read(fd, data, (size_t)st.st_size) != st.st_size)
		exit(1);
	close(fd);
	return data;
}

static void *unpack(const char *file)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Phdr *loads = (const Elf64_Phdr *)(file + header->e_phoff);
	uint64_t bytes = 0;
	char *base;

	for (int i = 0; i < header->e_phnum; i++) {
		if (loads[i].p_type == PT_LOAD)
			bytes = loads[i].p_vaddr + loads[i].p_memsz;
	}
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		exit(1);
	for (int i = 0; i < header->e_phnum; i++) {
		if (loads[i].p_type == PT_LOAD)
			memcpy(base + loads[i].p_vaddr, file + loads[i].p_offset, loads[i].p_filesz);
	}
	for (int i = 0; i < header->e_phnum; i++) {
		uint64_t start = loads[i].p_vaddr & -PAGE_BYTES;

		if (loads[i].p_type == PT_LOAD &&
		    mprotect(base + start, loads[i].p_vaddr + loads[i].p_memsz - start, protection(loads[i].p_flags)) != 0)
			exit(1);
	}
	return base + header->e_entry;
}

int main(int argc, char **argv)
{
	void (*outer)(void) = argc > 2 ? (void (*)(void))unpack(read_file(argv[2])) : NULL;

	if (!outer)
		return 1;
	zoo_start(argc, argv, "STACK image_spin image_inner image_outer main\n");
	while (zoo_time_left()) {
		outer();
		BARRIER();
	}
	return 0;
}
