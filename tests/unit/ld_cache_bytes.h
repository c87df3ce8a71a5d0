/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an ld.so.cache, in the formats that core/proc/ld_cache.c draws. */
#ifndef EP_TEST_LD_CACHE_BYTES_H
#define EP_TEST_LD_CACHE_BYTES_H

#include "core/base/vec.h"

#include <assert.h>
#include <string.h>

struct cache_entry {
	uint32_t flags;
	const char *name, *path;
};

static inline void put_u32(struct ep_vec *bytes, uint32_t value)
{
	assert(ep_vec_append(bytes, &value, sizeof(value)) == 0);
}

static inline void put_strings(struct ep_vec *bytes, const struct cache_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert(ep_vec_append(bytes, entries[i].name, strlen(entries[i].name) + 1) == 0);
		assert(ep_vec_append(bytes, entries[i].path, strlen(entries[i].path) + 1) == 0);
	}
}

/* Flags, name and path of each; strings begin at `off` of whatever they are relative to. */
static inline void put_entries(struct ep_vec *bytes, const struct cache_entry *entries, size_t n,
			       uint32_t off, size_t more_bytes)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t name_bytes = (uint32_t)strlen(entries[i].name) + 1;

		put_u32(bytes, entries[i].flags);
		put_u32(bytes, off);
		put_u32(bytes, off + name_bytes);
		assert(more_bytes == 0 || ep_vec_append(bytes, NULL, more_bytes) == 0);
		off += name_bytes + (uint32_t)strlen(entries[i].path) + 1;
	}
}

static inline void put_new_cache(struct ep_vec *bytes, const struct cache_entry *entries, size_t n,
				 uint8_t order)
{
	assert(ep_vec_append(bytes, "glibc-ld.so.cache1.1", 20) == 0);
	put_u32(bytes, (uint32_t)n);
	put_u32(bytes, 0);
	put_u32(bytes, order);
	assert(ep_vec_append(bytes, NULL, 16) == 0);
	put_entries(bytes, entries, n, 48 + (uint32_t)n * 24, 12);
	put_strings(bytes, entries, n);
}

/* With the new format after it, when `inner` is not NULL; the strings are after both. */
static inline void put_old_cache(struct ep_vec *bytes, const struct cache_entry *entries, size_t n,
				 const struct ep_vec *inner)
{
	size_t pad = -(16 + 12 * n) % 8;

	assert(ep_vec_append(bytes, "ld.so-1.7.0\0", 12) == 0);
	put_u32(bytes, (uint32_t)n);
	put_entries(bytes, entries, n, inner ? (uint32_t)(pad + inner->len) : 0, 0);
	if (inner) {
		assert(ep_vec_append(bytes, NULL, pad) == 0);
		assert(ep_vec_append(bytes, inner->data, inner->len) == 0);
	}
	put_strings(bytes, entries, n);
}

#endif
