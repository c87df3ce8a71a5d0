/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file with very large holes: what anybody can make for nothing. Its sections claim gigabytes, and next to
 * nothing of it is on the disk.
 */
#ifndef EP_TEST_HOSTILE_ELF_H
#define EP_TEST_HOSTILE_ELF_H

#include "tests/kit/test.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#define HOSTILE_HOLE ((uint64_t)1 << 20) /* where the hole begins */
#define HOSTILE_VA   0x400000ull

enum hostile_section {
	HOSTILE_NULL,
	HOSTILE_NAMES,
	HOSTILE_TEXT,
	HOSTILE_EXTRA, /* the first of the test's own */
	HOSTILE_SECTIONS = 8,
};

struct hostile_elf {
	int fd;
	char path[64];
	Elf64_Shdr sections[HOSTILE_SECTIONS];
	uint32_t n_sections;
	char names[256];
	size_t names_bytes;
};

static inline void hostile_write(struct hostile_elf *made, uint64_t off, const void *bytes, size_t n)
{
	assert_int_equal(pwrite(made->fd, bytes, n, (off_t)off), (ssize_t)n);
}

static inline Elf64_Shdr *hostile_add(struct hostile_elf *made, const char *name, uint32_t type,
				      uint64_t off, uint64_t bytes)
{
	Elf64_Shdr *section = &made->sections[made->n_sections++];

	*section = (Elf64_Shdr){.sh_name = (uint32_t)made->names_bytes, .sh_type = type,
				.sh_offset = off, .sh_size = bytes, .sh_addr = HOSTILE_VA + off,
				.sh_flags = SHF_ALLOC};
	memcpy(made->names + made->names_bytes, name, strlen(name) + 1);
	made->names_bytes += strlen(name) + 1;
	return section;
}

static inline void hostile_close(void *thing)
{
	struct hostile_elf *made = thing;

	close(made->fd);
	unlink(made->path);
	free(made);
}

/* A file of that length with a page of code, and no sections of the test's own yet. */
static inline struct hostile_elf *hostile_new(uint64_t bytes)
{
	struct hostile_elf *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	snprintf(made->path, sizeof(made->path), "/tmp/test_hostile.XXXXXX");
	made->fd = mkostemp(made->path, O_CLOEXEC);
	assert_true(made->fd >= 0);
	ep_test_owns(made, hostile_close);
	if (ftruncate(made->fd, (off_t)bytes) < 0)
		skip(); /* no file system for this */
	hostile_add(made, "", SHT_NULL, 0, 0);
	hostile_add(made, ".shstrtab", SHT_STRTAB, 0x2000, sizeof(made->names));
	hostile_add(made, ".text", SHT_PROGBITS, 0x1000, 0x1000)->sh_flags |= SHF_EXECINSTR;
	return made;
}

/* Writes the headers; true when the file system has real holes. */
static inline bool hostile_end(struct hostile_elf *made)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(header), .e_shoff = 0x3000, .e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)made->n_sections, .e_shstrndx = HOSTILE_NAMES,
	};
	Elf64_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000,
			      .p_vaddr = HOSTILE_VA + 0x1000, .p_filesz = 0x1000, .p_memsz = 0x1000,
			      .p_align = 0x1000};

	hostile_write(made, 0, &header, sizeof(header));
	hostile_write(made, sizeof(header), &segment, sizeof(segment));
	hostile_write(made, 0x2000, made->names, sizeof(made->names));
	hostile_write(made, 0x3000, made->sections, sizeof(made->sections));
	return lseek(made->fd, (off_t)HOSTILE_HOLE, SEEK_HOLE) == (off_t)HOSTILE_HOLE;
}

/* A chain of .gnu.hash that goes through 16 GiB of zeros: no entry of it ends it. */
static inline struct hostile_elf *hostile_chain(void)
{
	const uint64_t chain = (uint64_t)1 << 32; /* entries */
	struct hostile_elf *made = hostile_new(HOSTILE_HOLE + 4 * chain + 4096);
	const uint32_t hash[] = {1, 1, 1, 0, UINT32_MAX, UINT32_MAX, 1}; /* one bucket, all pass */
	uint64_t at = HOSTILE_HOLE - sizeof(hash);

	hostile_write(made, at, hash, sizeof(hash));
	hostile_add(made, ".gnu.hash", SHT_GNU_HASH, at, sizeof(hash) + 4 * chain)->sh_link = 4;
	hostile_add(made, ".dynsym", SHT_DYNSYM, HOSTILE_HOLE, (chain - 1) * sizeof(Elf64_Sym))->sh_link = 5;
	hostile_add(made, ".dynstr", SHT_STRTAB, HOSTILE_HOLE, 4096);
	(void)hostile_end(made);
	return made;
}

#endif
