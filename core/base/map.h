/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash table from a 64-bit key to a 64-bit value: open addressing, linear probing, a power of two
 * of slots, backward-shift deletion (no tombstones). Values may hold pointers. Not thread-safe.
 */
#ifndef EP_BASE_MAP_H
#define EP_BASE_MAP_H

#include "core/base/util.h"

struct ep_map_slot {
	uint64_t key;
	uint64_t value;
};

struct ep_map {
	struct ep_map_slot *slots;
	uint8_t *used;
	size_t len; /* keys present */
	size_t cap; /* slots, a power of two or 0 */
	size_t max; /* keys allowed */
};

void ep_map_init(struct ep_map *map, size_t max);
void ep_map_fini(struct ep_map *map); /* accepts a zeroed map */

/* The value's address, valid until the next set or remove; NULL when the key is absent. */
uint64_t *ep_map_find(const struct ep_map *map, uint64_t key);
/* Adds or replaces. 0, -E2BIG at the maximum, -ENOMEM. */
int ep_map_set(struct ep_map *map, uint64_t key, uint64_t value);
/* True when the key was present. */
bool ep_map_remove(struct ep_map *map, uint64_t key);
size_t ep_map_bytes(const struct ep_map *map);

/* Iteration: start with *pos 0; NULL at the end. Do not change the map meanwhile. */
struct ep_map_slot *ep_map_next(const struct ep_map *map, size_t *pos);

/* The same where values are pointers: the value of a key, NULL when it is absent; the next one. */
void *ep_map_get(const struct ep_map *map, uint64_t key);
void *ep_map_next_pointer(const struct ep_map *map, size_t *pos);
/* For each: `item` is a pointer declared by the caller. */
#define ep_map_each(map, item)                                                                     \
	for (size_t ep_pos_ = 0; ((item) = ep_map_next_pointer((map), &ep_pos_)) != NULL;)

/*
 * Entries with larger keys: those of equal hashes are a chain, of which the map holds the first.
 * The caller compares whole keys.
 */
struct ep_map_link {
	struct ep_map_link *next;
	uint64_t hash;
};
struct ep_map_link *ep_map_chain(const struct ep_map *map, uint64_t hash); /* NULL: none */
/* 0, -E2BIG, -ENOMEM: it is not in the map. */
int ep_map_link(struct ep_map *map, uint64_t hash, struct ep_map_link *link);
void ep_map_unlink(struct ep_map *map, struct ep_map_link *link); /* which is in it */

/* A good 64-bit mix (MurmurHash3's finalizer), for callers that build keys. */
uint64_t ep_mix64(uint64_t x);

#endif
