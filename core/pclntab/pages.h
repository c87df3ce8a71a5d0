/* SPDX-License-Identifier: Apache-2.0 */
/* A file's bytes through a cache of pages: what is read again and again is read from the file once. */
#ifndef EP_PCLNTAB_PAGES_H
#define EP_PCLNTAB_PAGES_H

#include "core/base/util.h"

#define EP_PAGES_WAYS 4
#define EP_PAGES_SETS 16

struct ep_elf;

struct ep_pages {
	const struct ep_elf *elf;
	uint64_t file_bytes;
	uint32_t page_bytes; /* a power of two: 1 << page_shift */
	uint32_t page_shift;
	/* Of each set, newest first: page number + 1 (0: none), and where its bytes are. */
	uint64_t numbers[EP_PAGES_SETS][EP_PAGES_WAYS];
	uint8_t places[EP_PAGES_SETS][EP_PAGES_WAYS];
	uint8_t *data; /* NULL: nothing was read yet */
};

void ep_pages_init(struct ep_pages *pages, const struct ep_elf *elf, size_t bytes);
void ep_pages_fini(struct ep_pages *pages); /* accepts a zeroed one */
/* 0; -EBADMSG when that is beyond the file's end; -ENOMEM; -errno. */
int ep_pages_read(struct ep_pages *pages, uint64_t off, void *buf, size_t bytes);

#endif
