/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read of a process to name its frames: functions, compiled code, tables of lines. An item
 * is found by its kind and three words, of which some tell it from what was at its address before.
 *
 * Each item belongs to a class, and each class has a budget of bytes: what was used longest ago
 * goes first. An item that alone would fill more than half of its class's budget is oversized. All
 * oversized items share one budget, so that a large table does not push out many small items, and
 * is not read again for each frame either. An item that was evicted lives on, and counts, as long
 * as somebody refers to it. Not thread-safe: one instance owns a cache.
 */
#ifndef NAMES_CACHE_H
#define NAMES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_MAX_CLASSES 4
#define NAMES_KEY_WORDS	  3

struct names_cache;

/* The first member of what is kept. What a look-up touches lies in its first 64 bytes. */
struct names_item {
	struct names_item *chain; /* of its bucket */
	uint64_t key[NAMES_KEY_WORDS];
	uint8_t kind, class;
	uint8_t budget; /* its class, or that of oversized items */
	bool in;	/* may be found */
	uint32_t refs;
	struct names_item *newer, *older; /* by use, of its budget */
	struct names_cache *cache;
	void (*free)(struct names_item *item); /* NULL: it is one block of memory */
	uint32_t bytes;
	uint32_t serial; /* counts items that were put */
};

/* Bytes. */
struct names_budget {
	size_t classes[NAMES_MAX_CLASSES];
	size_t oversized; /* of all oversized items; one that is larger is not kept */
};

int names_cache_new(const struct names_budget *budget, struct names_cache **ret_cache);
void names_cache_free(struct names_cache *cache);	   /* after all references to its items */
size_t names_cache_bytes(const struct names_cache *cache); /* of heap */
size_t names_cache_len(const struct names_cache *cache);

/* What the item is the first member of; NULL, or borrowed: valid until the next put or remove. */
void *names_cache_peek(struct names_cache *cache, uint32_t kind, uint64_t key0, uint64_t key1,
		       uint64_t key2);
/* The same, but with a reference. */
void *names_cache_find(struct names_cache *cache, uint32_t kind, uint64_t key0, uint64_t key1,
		       uint64_t key2);
/*
 * Takes over an item whose kind, class, key, bytes and free are set; the caller gets its one
 * reference. Replaces one of the same key. One that is not kept goes with its last reference.
 */
void names_cache_put(struct names_cache *cache, struct names_item *item);
void names_cache_remove(struct names_item *item);

struct names_item *names_item_ref(struct names_item *item);
void names_item_unref(struct names_item *item); /* accepts NULL */

/* A function with one name: strings and what the language has with them, in one block of memory. */
struct names_function {
	struct names_item item;
	const char *function, *file; /* "": not known */
	uint32_t line, start_line;
	size_t table_bytes;
	uint64_t table[]; /* of the language, such as its lines; the strings follow */
};

/* Copies everything; key and lines are 0. 0 or -ENOMEM. The caller puts it, or frees it. */
int names_function_new(const char *function, const char *file, const void *table,
		       size_t table_bytes, struct names_function **ret);

/* A copy of what has no name, by two words. 0, or -ENOMEM: then it is not kept. */
int names_cache_keep(struct names_cache *cache, uint32_t kind, uint32_t class, uint64_t key0,
		     uint64_t key1, const void *data, size_t bytes);
/* That copy, borrowed as by names_cache_peek. *ret_bytes: may be NULL. */
const void *names_cache_kept(struct names_cache *cache, uint32_t kind, uint64_t key0, uint64_t key1,
			     size_t *ret_bytes);

#endif
