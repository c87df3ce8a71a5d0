/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/python/symbolize/code_cache.h"

#include "core/base/map.h"

#include <errno.h>
#include <string.h>

#define FIRST_BUCKETS 64 /* a power of two, like all later numbers of them */

struct py_code_cache {
	struct py_code_entry **buckets;
	size_t n_buckets, len;
	size_t bytes, max_bytes; /* of entries */
	struct py_code_entry *newest, *oldest;
};

int py_code_cache_new(size_t max_bytes, struct py_code_cache **ret_cache)
{
	struct py_code_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->buckets = calloc(FIRST_BUCKETS, sizeof(struct py_code_entry *));
	if (!cache->buckets) {
		free(cache);
		return -ENOMEM;
	}
	cache->n_buckets = FIRST_BUCKETS;
	cache->max_bytes = max_bytes ? max_bytes : PY_CACHE_MAX_BYTES;
	*ret_cache = cache;
	return 0;
}

void py_code_cache_free(struct py_code_cache *cache)
{
	if (!cache)
		return;
	while (cache->newest) {
		struct py_code_entry *entry = cache->newest;

		cache->newest = entry->older;
		free(entry);
	}
	free(cache->buckets);
	free(cache);
}

size_t py_code_cache_bytes(const struct py_code_cache *cache)
{
	return sizeof(*cache) + cache->n_buckets * sizeof(struct py_code_entry *) + cache->bytes;
}

int py_code_entry_new(const char *function, const char *file, const struct py_lines *lines,
		      struct py_code_entry **ret_entry)
{
	size_t function_bytes = strlen(function) + 1, file_bytes = strlen(file) + 1;
	size_t runs_bytes = lines->len * sizeof(struct py_line_run);
	size_t bytes = sizeof(struct py_code_entry) + runs_bytes + function_bytes + file_bytes;
	struct py_code_entry *entry = malloc(bytes);
	char *strings;

	if (!entry)
		return -ENOMEM;
	*entry = (struct py_code_entry){.bytes = bytes, .n_runs = lines->len};
	if (runs_bytes)
		memcpy(entry->runs, lines->runs, runs_bytes);
	strings = (char *)&entry->runs[lines->len];
	entry->function = memcpy(strings, function, function_bytes);
	entry->file = memcpy(strings + function_bytes, file, file_bytes);
	*ret_entry = entry;
	return 0;
}

static struct py_code_entry **bucket_of(const struct py_code_cache *cache, uint64_t code_addr,
					uint32_t check)
{
	return &cache->buckets[ep_mix64(code_addr ^ (uint64_t)check << 32) &
			       (cache->n_buckets - 1)];
}

static void unlink_use(struct py_code_cache *cache, struct py_code_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct py_code_cache *cache, struct py_code_entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

struct py_code_entry *py_code_cache_find(struct py_code_cache *cache, uint64_t code_addr,
					 uint32_t check)
{
	struct py_code_entry *entry = *bucket_of(cache, code_addr, check);

	while (entry && (entry->code_addr != code_addr || entry->check != check))
		entry = entry->chain;
	if (entry && entry != cache->newest) {
		unlink_use(cache, entry);
		link_newest(cache, entry);
	}
	return entry;
}

static void evict_oldest(struct py_code_cache *cache)
{
	struct py_code_entry *entry = cache->oldest;
	struct py_code_entry **link = bucket_of(cache, entry->code_addr, entry->check);

	while (*link != entry)
		link = &(*link)->chain;
	*link = entry->chain;
	unlink_use(cache, entry);
	cache->bytes -= entry->bytes;
	cache->len--;
	free(entry);
}

/* When there is no memory for more buckets, chains get longer. */
static void grow(struct py_code_cache *cache)
{
	size_t n = cache->n_buckets * 2;
	struct py_code_entry **buckets = calloc(n, sizeof(struct py_code_entry *));

	if (!buckets)
		return;
	free(cache->buckets);
	cache->buckets = buckets;
	cache->n_buckets = n;
	for (struct py_code_entry *entry = cache->newest; entry; entry = entry->older) {
		struct py_code_entry **bucket = bucket_of(cache, entry->code_addr, entry->check);

		entry->chain = *bucket;
		*bucket = entry;
	}
}

int py_code_cache_put(struct py_code_cache *cache, struct py_code_entry *entry)
{
	struct py_code_entry **bucket;

	if (entry->bytes > cache->max_bytes / 2)
		return -E2BIG;
	while (cache->len >= PY_CACHE_MAX_ENTRIES ||
	       (cache->len && cache->bytes + entry->bytes > cache->max_bytes))
		evict_oldest(cache);
	if (cache->len >= cache->n_buckets)
		grow(cache);
	bucket = bucket_of(cache, entry->code_addr, entry->check);
	entry->chain = *bucket;
	*bucket = entry;
	link_newest(cache, entry);
	cache->bytes += entry->bytes;
	cache->len++;
	return 0;
}
