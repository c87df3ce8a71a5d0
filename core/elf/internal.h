/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of core/elf share: the fields of an open ELF file, and memory for bytes. */
#ifndef EP_ELF_INTERNAL_H
#define EP_ELF_INTERNAL_H

#include "core/elf/file.h"

/*
 * Exactly one of fd and image is the source of bytes. Headers are copied at open; `bytes` is the
 * size then, and a file that shrinks later gives -EBADMSG at the read that notices.
 */
struct ep_elf {
	int fd;
	uint8_t *image;
	uint64_t bytes;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t n_segments;
	Elf64_Shdr *sections;
	size_t n_sections;
	char *names; /* .shstrtab */
	size_t names_bytes;
	struct ep_work *work; /* borrowed; NULL: nobody counts */
	struct ep_memory_budget *budget; /* `held` was taken from it for what is kept here */
	size_t held;
	uint64_t stored_bytes;
};

/* Of a file that has none: what program headers and the dynamic section tell. 0, -ENOMEM. */
int ep_elf_make_sections(struct ep_elf *elf);
/* Where .eh_frame is, if nothing of the file tells: by what it is. 0, -ENODATA, -ENOMEM. Reads segments whole. */
int ep_elf_search_eh_frame(const struct ep_elf *elf, uint64_t *ret_va, uint64_t *ret_bytes);

/*
 * Zeroed memory for `bytes` bytes, taken from the budget of `work`, which may be NULL: small from the heap, large
 * from mmap, which fini gives back.
 */
int ep_elf_bytes_new(struct ep_work *work, size_t bytes, struct ep_elf_bytes *ret_bytes);
/* Takes `image`, which came from malloc, in every case; `held` bytes of the budget go with it. */
int ep_elf_open_image(uint8_t *image, size_t bytes, struct ep_work *work, size_t held,
		      struct ep_elf **ret_elf);
/* Takes path_fd, opened with O_PATH, in every case. -EBADMSG when it is no regular file. */
int ep_elf_open_path_fd(int path_fd, struct ep_work *work, struct ep_elf **ret_elf);
/* The stored bytes of a section, not decompressed. */
int ep_elf_read_stored(const struct ep_elf *elf, const struct ep_elf_section *section,
		       struct ep_elf_bytes *ret_bytes);
/* `stored` begins with an Elf64_Chdr. 0, -EBADMSG, -E2BIG, -ENOTSUP, -ENOMEM. */
int ep_elf_decompress(struct ep_work *work, const struct ep_elf_bytes *stored,
		      struct ep_elf_bytes *ret_bytes);

#endif
