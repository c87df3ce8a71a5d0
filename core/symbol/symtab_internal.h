/* SPDX-License-Identifier: Apache-2.0 */
/* The table's fields, and what its builder and the PLT reader pass to each other. */
#ifndef EP_SYMBOL_SYMTAB_INTERNAL_H
#define EP_SYMBOL_SYMTAB_INTERNAL_H

#include "core/base/vec.h"
#include "core/symbol/symtab.h"

#include <time.h>

/*
 *	meta   31    30 29  28               0
 *	      | plt | source |      size      |
 */
struct symtab_entry {
	uint32_t start; /* from base_va */
	uint32_t meta;
	uint32_t name_off; /* in its source */
};
_Static_assert(sizeof(struct symtab_entry) == 12, "the memory budget counts on 12 bytes");

#define SYMTAB_MAX_SIZE	 ((1u << 29) - 1)
#define SYMTAB_SOURCES	 4
#define SYMTAB_META(size, source, plt) ((size) | (uint32_t)(source) << 29 | (uint32_t)(plt) << 31)
#define SYMTAB_SIZE(meta)   ((meta)&SYMTAB_MAX_SIZE)
#define SYMTAB_SOURCE(meta) ((meta) >> 29 & 3)
#define SYMTAB_PLT(meta)    ((meta) >> 31)

/* Where names are: a string table in a file, or a block of ours. */
struct symtab_names {
	int fd;		   /* owned, -1 when they are in block */
	uint64_t file_off; /* of the string table */
	uint64_t file_bytes; /* and size and mtime of the file when the table was built */
	struct timespec mtime;
	char *block; /* owned */
	uint64_t bytes;
};

struct ep_symtab {
	uint64_t base_va;
	struct symtab_entry *entries; /* sorted by start, starts differ */
	size_t n_entries;
	struct symtab_names names[SYMTAB_SOURCES];
};

/* A stub of the PLT: name_off points into the string table of .dynsym. */
struct plt_stub {
	uint64_t va;
	uint32_t bytes;
	uint32_t name_off;
};

/* Appends struct plt_stub to `stubs`. 0 also when there is no PLT, -E2BIG, -ENOMEM, -EBADMSG. */
int ep_plt_collect(const struct ep_elf *elf, struct ep_vec *stubs);

#endif
