/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that were read before: of code, told by its check, and of a place in it. Bounded in number
 * and bytes; what was found longest ago goes first. Entries are one block of memory each.
 */
#ifndef PL_CACHE_H
#define PL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define PL_CACHE_MAX_ENTRIES 8192
#define PL_CACHE_MAX_BYTES   ((size_t)2 << 20)

/* cop 0: the name alone. */
struct pl_key {
	uint64_t code;	/* check and kind */
	uint64_t cop;	/* address of the statement */
	uint64_t place; /* op and which one it is */
};

struct pl_entry {
	struct pl_entry *chain;		/* of its bucket */
	struct pl_entry *newer, *older; /* by use */
	struct pl_key key;
	uint32_t line, start_line;
	size_t bytes; /* of this block */
	const char *function, *file; /* file: "" where it is not known */
	char strings[];
};

struct pl_names_cache;

/* At most max_bytes of heap for entries (0: PL_CACHE_MAX_BYTES). 0 or -ENOMEM. */
int pl_names_cache_new(size_t max_bytes, struct pl_names_cache **ret_cache);
void pl_names_cache_free(struct pl_names_cache *cache);
size_t pl_names_cache_bytes(const struct pl_names_cache *cache);

/* Valid until the next put. */
const struct pl_entry *pl_cache_find(struct pl_names_cache *cache, const struct pl_key *key);
/* Copies it; one that is there stays as it is. 0, -ENOMEM, -E2BIG (half of the cache alone). */
int pl_cache_put(struct pl_names_cache *cache, const struct pl_entry *entry);
/* The same, but one that is there with another function goes. */
int pl_cache_replace(struct pl_names_cache *cache, const struct pl_entry *entry);

#endif
