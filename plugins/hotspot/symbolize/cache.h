/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read of a process: compiled code and methods, by two words of which one tells it from what was
 * at that address before. Bounded by the bytes of all that is alive; what was used longest ago goes first.
 * An item that was evicted lives on, and counts, as long as another one refers to it.
 */
#ifndef HOTSPOT_CACHE_H
#define HOTSPOT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot_cache;

/* The first member of what is kept. */
struct hotspot_item {
	struct hotspot_item *chain;	    /* of its bucket */
	struct hotspot_item *newer, *older; /* by use */
	struct hotspot_cache *cache;
	void (*free)(struct hotspot_item *item);
	uint64_t key[2];
	uint32_t kind;
	uint32_t refs;
	size_t bytes;
	uint64_t serial; /* never twice in a cache */
	bool in;	 /* may be found */
};

int hotspot_cache_new(size_t max_bytes, struct hotspot_cache **ret);
void hotspot_cache_free(struct hotspot_cache *cache); /* after all references to its items */
size_t hotspot_cache_bytes(const struct hotspot_cache *cache);

/* NULL, or with a reference more. */
struct hotspot_item *hotspot_cache_find(struct hotspot_cache *cache, uint32_t kind, uint64_t key0,
					uint64_t key1);
/*
 * Takes over an item whose kind, key, bytes and free are set; the caller has its one reference. Replaces
 * one of the same key. One that alone would fill half of the cache is not kept: it goes with its last
 * reference.
 */
void hotspot_cache_put(struct hotspot_cache *cache, struct hotspot_item *item);
void hotspot_cache_remove(struct hotspot_item *item);
struct hotspot_item *hotspot_item_ref(struct hotspot_item *item);
void hotspot_item_unref(struct hotspot_item *item); /* accepts NULL */

#endif
