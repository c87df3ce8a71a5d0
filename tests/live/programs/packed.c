/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out an ELF file in memory of no file, as packers and loaders of their own do, and runs it
 * from its entry: packed SECONDS FILE [WAY]. WAY: "rwx", all of it is writable and executable from
 * the first; "memfd", each of its executable segments is in a file of memory of its own; "slowly",
 * one segment after the other, with a pause before each.
 */
#include "zoo.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES 4096ull
#define PAUSE_US   10000

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

/* A segment's pages anew, from a file that has nothing else. */
static void map_memfd(char *start, uint64_t bytes, int prot)
{
	int fd = memfd_create("packed", 0);

	if (fd < 0 || write(fd, start, bytes) != (ssize_t)bytes ||
	    mmap(start, bytes, prot, MAP_PRIVATE | MAP_FIXED, fd, 0) != start)
		exit(1);
	close(fd);
}

static void protect(char *start, uint64_t bytes, uint32_t flags, const char *way)
{
	if (strcmp(way, "memfd") == 0 && flags & PF_X)
		map_memfd(start, bytes, protection(flags));
	else if (mprotect(start, bytes, protection(flags)) != 0)
		exit(1);
}

/* As UPX does: memory that was reserved without any right is written to, and has its rights then.
 */
static void put_slowly(char *base, const Elf64_Phdr *load, const char *file)
{
	char *start = base + (load->p_vaddr & -PAGE_BYTES);
	uint64_t bytes = (uint64_t)(base + load->p_vaddr + load->p_memsz - start);

	usleep(PAUSE_US);
	if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	usleep(PAUSE_US);
	memcpy(base + load->p_vaddr, file + load->p_offset, load->p_filesz);
	if (mprotect(start, bytes, protection(load->p_flags)) != 0)
		exit(1);
}

static void *unpack(const char *file, const char *way)
{
	bool is_rwx = strcmp(way, "rwx") == 0, is_slow = strcmp(way, "slowly") == 0;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Phdr *loads = (const Elf64_Phdr *)(file + header->e_phoff);
	uint64_t bytes = 0;
	char *base;

	for (int i = 0; i < header->e_phnum; i++) {
		if (loads[i].p_type == PT_LOAD)
			bytes = loads[i].p_vaddr + loads[i].p_memsz;
	}
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE | (is_rwx ? PROT_EXEC : 0),
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED || (is_slow && mprotect(base, bytes, PROT_NONE) != 0))
		exit(1);
	for (int i = 0; i < header->e_phnum; i++) {
		if (loads[i].p_type == PT_LOAD && is_slow)
			put_slowly(base, &loads[i], file);
		else if (loads[i].p_type == PT_LOAD)
			memcpy(base + loads[i].p_vaddr, file + loads[i].p_offset, loads[i].p_filesz);
	}
	for (int i = 0; i < header->e_phnum && !is_rwx && !is_slow; i++) {
		uint64_t start = loads[i].p_vaddr & -PAGE_BYTES;

		if (loads[i].p_type == PT_LOAD)
			protect(base + start, loads[i].p_vaddr + loads[i].p_memsz - start,
				loads[i].p_flags, way);
	}
	return base + header->e_entry;
}

int main(int argc, char **argv)
{
	void (*outer)(void) =
		argc > 2 ? (void (*)(void))unpack(read_file(argv[2]), argc > 3 ? argv[3] : "")
			 : NULL;

	if (!outer)
		return 1;
	zoo_start(argc, argv, "STACK image_spin image_inner image_outer main\n");
	while (zoo_time_left()) {
		outer();
		BARRIER();
	}
	return 0;
}
