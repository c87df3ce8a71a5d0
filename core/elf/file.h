/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file opened for reading: headers, sections, notes. All bytes are read with pread into
 * memory we own, never mapped from the file, since a file truncated under us would then be a
 * SIGBUS. Everything in it is hostile: each offset and length is checked against the file's size,
 * sections above `EP_ELF_MAX_SECTION` are refused, and so are those that lie in a hole of the file.
 * Only 64-bit little-endian files, and only regular ones. An open file changes nothing in itself:
 * any thread may read it. One that has work to charge (core/base/work.h) is its thread's alone;
 * each read and each look for a section takes from it, and says so when it has ended.
 */
#ifndef EP_ELF_FILE_H
#define EP_ELF_FILE_H

#include "core/base/work.h"

#include <elf.h>

/* To be read whole. The largest that was met is a .strtab of 20 MB; of unwind tables 7.7 MB. */
#define EP_ELF_MAX_SECTION (64ull << 20)
#define EP_ELF_BUILD_ID_MAX 64

struct ep_elf;

struct ep_elf_segment { /* a PT_LOAD with PF_X */
	uint64_t va;
	uint64_t mem_bytes;
	uint64_t file_off;
	uint64_t file_bytes;
	uint64_t align; /* p_align */
};

struct ep_elf_section {
	uint64_t va;
	uint64_t file_off;
	uint64_t bytes; /* as stored; a compressed section's read gives more */
	uint32_t type;	/* SHT_* */
	uint32_t index;
	uint32_t link;
	uint64_t entry_bytes;
	uint64_t flags;
};

/* Bytes of a section, owned. `mapped` tells fini how they were got. */
struct ep_elf_bytes {
	const uint8_t *data;
	size_t bytes;
	size_t mapped;
	struct ep_memory_budget *budget; /* that they were taken from, or NULL */
};
void ep_elf_bytes_fini(struct ep_elf_bytes *bytes);

/* Takes fd in every case. 0, -EBADMSG (not such a file), -ENOTSUP (not 64-bit LE), -errno. */
int ep_elf_open_fd(int fd, struct ep_elf **ret_elf);
/*
 * What a file is worth that nobody has looked at: a start, and more for each byte it has on its disk once it is open.
 */
void ep_elf_work_init(struct ep_work *work, const atomic_bool *stopped,
		      struct ep_memory_budget *memory);
/* The same, charged to `work` from the first byte on; it outlives the file. And those of work. */
int ep_elf_open_work(int fd, struct ep_work *work, struct ep_elf **ret_elf);
int ep_elf_open(const char *path, struct ep_elf **ret_elf);
/* An ELF image in memory (vDSO, .gnu_debugdata); the bytes are copied. */
int ep_elf_open_memory(const void *data, size_t bytes, struct ep_elf **ret_elf);
void ep_elf_close(struct ep_elf *elf);
static inline void ep_elf_closep(struct ep_elf **elf)
{
	ep_elf_close(*elf);
}

uint16_t ep_elf_machine(const struct ep_elf *elf); /* EM_X86_64, EM_AARCH64, ... */
uint16_t ep_elf_type(const struct ep_elf *elf);	   /* ET_EXEC, ET_DYN, ET_REL */
uint64_t ep_elf_entry_va(const struct ep_elf *elf);
uint64_t ep_elf_file_bytes(const struct ep_elf *elf);
int ep_elf_fd(const struct ep_elf *elf); /* borrowed; -1 for an image in memory */
/* What reads are charged to; NULL: nobody counts. */
struct ep_work *ep_elf_work(const struct ep_elf *elf);
void ep_elf_set_work(struct ep_elf *elf, struct ep_work *work);
/* What the file has on its disk: holes have nothing. An image: its length. */
uint64_t ep_elf_stored_bytes(const struct ep_elf *elf);
/* How many steps the whole file is worth, by that; a multiple of what any real one took. */
uint64_t ep_elf_steps(const struct ep_elf *elf);

/* Executable segments in file order; at most `max` are written. Returns how many there are. */
size_t ep_elf_exec_segments(const struct ep_elf *elf, struct ep_elf_segment *segments, size_t max);
/* The same for all PT_LOAD segments. */
size_t ep_elf_load_segments(const struct ep_elf *elf, struct ep_elf_segment *segments, size_t max);

/* 0, -ENODATA when absent. SHT_NOBITS sections are absent (as in debug files). */
int ep_elf_find_section(const struct ep_elf *elf, const char *name, struct ep_elf_section *ret);
/* The same, SHT_NOBITS ones (.bss, .tbss) too: where they are in memory. */
int ep_elf_find_memory_section(const struct ep_elf *elf, const char *name,
			       struct ep_elf_section *ret);
int ep_elf_find_section_type(const struct ep_elf *elf, uint32_t type, struct ep_elf_section *ret);
/* By index, as sh_link and st_shndx give it: SHT_NOBITS ones too, whose read gives -ENODATA. */
int ep_elf_section_at(const struct ep_elf *elf, uint32_t index, struct ep_elf_section *ret);
/*
 * Where a program header points: PT_GNU_EH_FRAME gives .eh_frame_hdr even when section headers
 * are stripped. 0, -ENODATA.
 */
int ep_elf_find_segment(const struct ep_elf *elf, uint32_t p_type, struct ep_elf_segment *ret);

/*
 * Reads a whole section, decompressing SHF_COMPRESSED (zlib, zstd). 0, -EBADMSG, also for one with a hole in
 * it, -E2BIG, -EAGAIN, -ETIME, -ECANCELED (core/base/work.h), -ENOMEM.
 */
int ep_elf_read_section(const struct ep_elf *elf, const struct ep_elf_section *section,
			struct ep_elf_bytes *ret_bytes);
/* True when nothing was ever written to a part of these bytes of the file. */
bool ep_elf_has_hole(const struct ep_elf *elf, uint64_t file_off, uint64_t bytes);
/* Reads raw bytes of the file. 0, -EBADMSG when beyond the end, -errno. */
int ep_elf_read_at(const struct ep_elf *elf, uint64_t file_off, void *buf, size_t bytes);
/*
 * Reads what is at a virtual address before any relocation, by the segments: beyond the bytes in
 * the file, but inside the segment, is zero. 0, -ENODATA when not all is in one segment, -EBADMSG
 * when the file ends before its segment does, -errno.
 */
int ep_elf_read_va(const struct ep_elf *elf, uint64_t va, void *buf, size_t bytes);

/* GNU build id, at most EP_ELF_BUILD_ID_MAX bytes. Length, or -ENODATA. */
int ep_elf_build_id(const struct ep_elf *elf, uint8_t id[EP_ELF_BUILD_ID_MAX]);
/* The same in a block of notes, as /sys/kernel/notes has them; align is 4 or 8. */
int ep_elf_notes_build_id(const uint8_t *notes, uint64_t bytes, uint64_t align,
			  uint8_t id[EP_ELF_BUILD_ID_MAX]);
/* Go's own build id, a text of at most size - 1 bytes. 0, -ENODATA, -E2BIG. */
int ep_elf_go_build_id(const struct ep_elf *elf, char *id, size_t size);
/* .gnu_debuglink: file name and CRC. 0, -ENODATA, -EBADMSG. */
int ep_elf_debuglink(const struct ep_elf *elf, char *name, size_t name_bytes, uint32_t *ret_crc);
/* .gnu_debugdata: the xz-compressed ELF inside, opened. 0, -ENODATA, -EBADMSG, -E2BIG. */
int ep_elf_open_debugdata(const struct ep_elf *elf, struct ep_elf **ret_elf);
/*
 * File id: first 16 bytes of SHA-256 over the first 4096 bytes, the last 4096 bytes, and the
 * length as a big-endian 64-bit number. 0 or -errno.
 */
int ep_elf_file_id(const struct ep_elf *elf, uint8_t id[16]);

#endif
