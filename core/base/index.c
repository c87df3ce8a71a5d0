/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/index.h"

#include <errno.h>
#include <string.h>

#define INDEX_FIRST_CAP 64

void ep_index_fini(struct ep_index *index)
{
	free(index->slots);
	*index = (struct ep_index){0};
}

void ep_index_clear(struct ep_index *index)
{
	if (index->len)
		memset(index->slots, 0, ep_index_bytes(index));
	index->len = 0;
}

/* Half full at most: probing runs stay short for linear probing without a second hash. */
static bool has_room(const struct ep_index *index)
{
	return (index->len + 1) * 2 <= index->cap;
}

static size_t next_cap(const struct ep_index *index)
{
	return index->cap ? index->cap * 2 : INDEX_FIRST_CAP;
}

size_t ep_index_growth_bytes(const struct ep_index *index)
{
	return has_room(index) ? 0 : (next_cap(index) - index->cap) * sizeof(*index->slots);
}

static void put(uint64_t *slots, size_t cap, size_t pos, uint64_t slot)
{
	while (slots[pos & (cap - 1)])
		pos++;
	slots[pos & (cap - 1)] = slot;
}

static int grow(struct ep_index *index)
{
	size_t cap = next_cap(index);
	uint64_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->cap; i++) {
		if (index->slots[i])
			put(slots, cap, (size_t)(index->slots[i] >> 32), index->slots[i]);
	}
	free(index->slots);
	index->slots = slots;
	index->cap = cap;
	return 0;
}

int ep_index_add(struct ep_index *index, uint64_t hash, uint32_t id)
{
	if (!has_room(index)) {
		int r = grow(index);

		if (r < 0)
			return r;
	}
	put(index->slots, index->cap, (size_t)(hash >> 32), hash >> 32 << 32 | id);
	index->len++;
	return 0;
}
