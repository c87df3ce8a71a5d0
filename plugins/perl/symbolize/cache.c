/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/symbolize/cache.h"

#include "core/base/map.h"
#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64 /* a power of two, like all later numbers of them */

struct pl_names_cache {
	struct pl_entry **buckets;
	size_t n_buckets, len;
	size_t bytes, max_bytes; /* of entries */
	struct pl_entry *newest, *oldest;
};

int pl_names_cache_new(size_t max_bytes, struct pl_names_cache **ret_cache)
{
	struct pl_names_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->buckets = calloc(FIRST_BUCKETS, sizeof(struct pl_entry *));
	if (!cache->buckets) {
		free(cache);
		return -ENOMEM;
	}
	cache->n_buckets = FIRST_BUCKETS;
	cache->max_bytes = max_bytes ? max_bytes : PL_CACHE_MAX_BYTES;
	*ret_cache = cache;
	return 0;
}

void pl_names_cache_free(struct pl_names_cache *cache)
{
	if (!cache)
		return;
	while (cache->newest) {
		struct pl_entry *entry = cache->newest;

		cache->newest = entry->older;
		free(entry);
	}
	free(cache->buckets);
	free(cache);
}

size_t pl_names_cache_bytes(const struct pl_names_cache *cache)
{
	return cache->bytes;
}

static struct pl_entry **bucket_of(const struct pl_names_cache *cache, const struct pl_key *key)
{
	uint64_t hash = ep_mix64(key->code ^ ep_mix64(key->cop ^ ep_mix64(key->place)));

	return &cache->buckets[hash & (cache->n_buckets - 1)];
}

static void unlink_use(struct pl_names_cache *cache, struct pl_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct pl_names_cache *cache, struct pl_entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static struct pl_entry *find(struct pl_names_cache *cache, const struct pl_key *key)
{
	struct pl_entry *entry = *bucket_of(cache, key);

	while (entry && memcmp(&entry->key, key, sizeof(*key)) != 0)
		entry = entry->chain;
	if (entry && entry != cache->newest) {
		unlink_use(cache, entry);
		link_newest(cache, entry);
	}
	return entry;
}

const struct pl_entry *pl_cache_find(struct pl_names_cache *cache, const struct pl_key *key)
{
	return find(cache, key);
}

static void drop(struct pl_names_cache *cache, struct pl_entry *entry)
{
	struct pl_entry **link = bucket_of(cache, &entry->key);

	while (*link != entry)
		link = &(*link)->chain;
	*link = entry->chain;
	unlink_use(cache, entry);
	cache->bytes -= entry->bytes;
	cache->len--;
	free(entry);
}

/* When there is no memory for more buckets, chains get longer. */
static void grow(struct pl_names_cache *cache)
{
	size_t n = cache->n_buckets * 2;
	struct pl_entry **buckets = calloc(n, sizeof(struct pl_entry *));

	if (!buckets)
		return;
	free(cache->buckets);
	cache->buckets = buckets;
	cache->n_buckets = n;
	for (struct pl_entry *entry = cache->newest; entry; entry = entry->older) {
		struct pl_entry **bucket = bucket_of(cache, &entry->key);

		entry->chain = *bucket;
		*bucket = entry;
	}
}

static struct pl_entry *copy_entry(const struct pl_entry *from)
{
	size_t function_bytes = strlen(from->function) + 1, file_bytes = strlen(from->file) + 1;
	size_t bytes = sizeof(*from) + function_bytes + file_bytes;
	struct pl_entry *entry = malloc(bytes);

	if (!entry)
		return NULL;
	*entry = (struct pl_entry){
		.key = from->key,
		.line = from->line,
		.start_line = from->start_line,
		.bytes = bytes,
	};
	entry->function = memcpy(entry->strings, from->function, function_bytes);
	entry->file = memcpy(entry->strings + function_bytes, from->file, file_bytes);
	return entry;
}

int pl_cache_put(struct pl_names_cache *cache, const struct pl_entry *from)
{
	struct pl_entry *entry, **bucket;

	if (pl_cache_find(cache, &from->key))
		return 0;
	entry = copy_entry(from);
	if (!entry)
		return -ENOMEM;
	if (entry->bytes > cache->max_bytes / 2) {
		free(entry);
		return -E2BIG;
	}
	while (cache->len >= PL_CACHE_MAX_ENTRIES ||
	       (cache->len && cache->bytes + entry->bytes > cache->max_bytes))
		drop(cache, cache->oldest);
	if (cache->len >= cache->n_buckets)
		grow(cache);
	bucket = bucket_of(cache, &entry->key);
	entry->chain = *bucket;
	*bucket = entry;
	link_newest(cache, entry);
	cache->bytes += entry->bytes;
	cache->len++;
	return 0;
}

int pl_cache_replace(struct pl_names_cache *cache, const struct pl_entry *from)
{
	struct pl_entry *entry = find(cache, &from->key);

	if (entry && strcmp(entry->function, from->function) != 0)
		drop(cache, entry);
	return pl_cache_put(cache, from);
}
