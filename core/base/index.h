/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index over a table whose rows have ids from 1: finds ids by the hash of their key. The table
 * holds the keys, so a find gives candidates that the caller compares. Open addressing, linear
 * probing, a power of two of slots, nothing is ever removed.
 *
 *	slot   63              32 31               0
 *	      |  hash, high half |  id, 0: free    |
 *
 *	for (id = ep_index_first(&index, hash, &pos); id; id = ep_index_next(&index, hash, &pos))
 *		if (table[id] is it) ...
 */
#ifndef EP_BASE_INDEX_H
#define EP_BASE_INDEX_H

#include "core/base/util.h"

struct ep_index {
	uint64_t *slots;
	size_t len;
	size_t cap; /* a power of two, or 0 */
};

void ep_index_fini(struct ep_index *index); /* accepts a zeroed index */
void ep_index_clear(struct ep_index *index);
/* Heap bytes that the next add needs on top: 0 nearly always. For callers that keep a budget. */
size_t ep_index_growth_bytes(const struct ep_index *index);
/* Adds an id that is not in it. 0, -ENOMEM. */
int ep_index_add(struct ep_index *index, uint64_t hash, uint32_t id);

/* The position is the hash's high half too: it is what a slot keeps when the index grows. */
static inline uint32_t ep_index_scan(const struct ep_index *index, uint64_t hash, size_t *pos)
{
	size_t mask = index->cap - 1;
	uint64_t slot;

	for (; (slot = index->slots[*pos & mask]) != 0; (*pos)++) {
		if ((slot ^ hash) >> 32 == 0)
			return (uint32_t)slot;
	}
	return 0;
}

static inline uint32_t ep_index_first(const struct ep_index *index, uint64_t hash, size_t *pos)
{
	*pos = (size_t)(hash >> 32);
	return index->cap ? ep_index_scan(index, hash, pos) : 0;
}

static inline uint32_t ep_index_next(const struct ep_index *index, uint64_t hash, size_t *pos)
{
	(*pos)++;
	return ep_index_scan(index, hash, pos);
}

static inline size_t ep_index_bytes(const struct ep_index *index)
{
	return index->cap * sizeof(*index->slots);
}

#endif
