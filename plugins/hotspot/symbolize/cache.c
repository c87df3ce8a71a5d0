/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/symbolize/cache.h"

#include "core/base/map.h"
#include "core/base/util.h"

#include <errno.h>

#define BUCKETS 1024 /* a power of two; 512 KiB hold about so many items */

struct hotspot_cache {
	struct hotspot_item *buckets[BUCKETS];
	struct hotspot_item *newest, *oldest;
	size_t bytes, max_bytes; /* of all items that are alive */
	uint64_t serial;
};

int hotspot_cache_new(size_t max_bytes, struct hotspot_cache **ret)
{
	struct hotspot_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->max_bytes = max_bytes;
	*ret = cache;
	return 0;
}

size_t hotspot_cache_bytes(const struct hotspot_cache *cache)
{
	return sizeof(*cache) + cache->bytes;
}

static struct hotspot_item **bucket_of(struct hotspot_cache *cache, uint32_t kind, uint64_t key0,
				       uint64_t key1)
{
	return &cache->buckets[ep_mix64(key0 ^ ep_mix64(key1 + kind)) & (BUCKETS - 1)];
}

static void unlink_use(struct hotspot_cache *cache, struct hotspot_item *item)
{
	*(item->newer ? &item->newer->older : &cache->newest) = item->older;
	*(item->older ? &item->older->newer : &cache->oldest) = item->newer;
}

static void link_newest(struct hotspot_cache *cache, struct hotspot_item *item)
{
	item->newer = NULL;
	item->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = item;
	cache->newest = item;
}

struct hotspot_item *hotspot_item_ref(struct hotspot_item *item)
{
	item->refs++;
	return item;
}

void hotspot_item_unref(struct hotspot_item *item)
{
	if (!item || --item->refs)
		return;
	item->cache->bytes -= item->bytes;
	item->free(item);
}

void hotspot_cache_remove(struct hotspot_item *item)
{
	struct hotspot_cache *cache = item->cache;
	struct hotspot_item **link;

	if (!item->in)
		return;
	link = bucket_of(cache, item->kind, item->key[0], item->key[1]);
	while (*link != item)
		link = &(*link)->chain;
	*link = item->chain;
	unlink_use(cache, item);
	item->in = false;
	hotspot_item_unref(item);
}

void hotspot_cache_free(struct hotspot_cache *cache)
{
	if (!cache)
		return;
	while (cache->oldest)
		hotspot_cache_remove(cache->oldest);
	free(cache);
}

static struct hotspot_item *find(struct hotspot_cache *cache, uint32_t kind, uint64_t key0,
				 uint64_t key1)
{
	struct hotspot_item *item = *bucket_of(cache, kind, key0, key1);

	while (item && (item->kind != kind || item->key[0] != key0 || item->key[1] != key1))
		item = item->chain;
	return item;
}

struct hotspot_item *hotspot_cache_find(struct hotspot_cache *cache, uint32_t kind, uint64_t key0,
					uint64_t key1)
{
	struct hotspot_item *item = find(cache, kind, key0, key1);

	if (!item)
		return NULL;
	if (item != cache->newest) {
		unlink_use(cache, item);
		link_newest(cache, item);
	}
	return hotspot_item_ref(item);
}

void hotspot_cache_put(struct hotspot_cache *cache, struct hotspot_item *item)
{
	struct hotspot_item **bucket = bucket_of(cache, item->kind, item->key[0], item->key[1]);
	struct hotspot_item *old = find(cache, item->kind, item->key[0], item->key[1]);

	item->cache = cache;
	item->refs = 1;
	item->serial = ++cache->serial;
	cache->bytes += item->bytes;
	if (old)
		hotspot_cache_remove(old);
	if (item->bytes > cache->max_bytes / 2)
		return;
	item->chain = *bucket;
	*bucket = item;
	link_newest(cache, item);
	item->in = true;
	hotspot_item_ref(item);
	while (cache->bytes > cache->max_bytes && cache->oldest != item)
		hotspot_cache_remove(cache->oldest);
}
