/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/cache.h"

#include "core/base/map.h"
#include "core/base/util.h"

#include <errno.h>

#define BUCKETS 2048 /* a power of two; 1 MiB holds some thousands of items */

struct v8_uses {
	struct v8_item *newest, *oldest;
	size_t bytes, max_bytes; /* of all items that are alive */
};

struct v8_cache {
	struct v8_item *buckets[BUCKETS];
	struct v8_uses frames, small, large;
	uint64_t serial;
};

int v8_cache_new(size_t max_bytes, size_t large_bytes, struct v8_cache **ret)
{
	struct v8_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->frames.max_bytes = max_bytes / 8;
	cache->small.max_bytes = max_bytes - max_bytes / 8;
	cache->large.max_bytes = large_bytes;
	*ret = cache;
	return 0;
}

size_t v8_cache_bytes(const struct v8_cache *cache)
{
	return sizeof(*cache) + cache->frames.bytes + cache->small.bytes + cache->large.bytes;
}

static struct v8_item **bucket_of(struct v8_cache *cache, uint32_t kind, uint64_t key0,
				       uint64_t key1)
{
	return &cache->buckets[ep_mix64(key0 ^ ep_mix64(key1 + kind)) & (BUCKETS - 1)];
}

static void unlink_use(struct v8_item *item)
{
	*(item->newer ? &item->newer->older : &item->uses->newest) = item->older;
	*(item->older ? &item->older->newer : &item->uses->oldest) = item->newer;
}

static void link_newest(struct v8_item *item)
{
	struct v8_uses *uses = item->uses;

	item->newer = NULL;
	item->older = uses->newest;
	*(uses->newest ? &uses->newest->newer : &uses->oldest) = item;
	uses->newest = item;
}

struct v8_item *v8_item_ref(struct v8_item *item)
{
	item->refs++;
	return item;
}

void v8_item_unref(struct v8_item *item)
{
	if (!item || --item->refs)
		return;
	item->uses->bytes -= item->bytes;
	item->free(item);
}

void v8_cache_remove(struct v8_item *item)
{
	struct v8_cache *cache = item->cache;
	struct v8_item **link;

	if (!item->in)
		return;
	link = bucket_of(cache, item->kind, item->key[0], item->key[1]);
	while (*link != item)
		link = &(*link)->chain;
	*link = item->chain;
	unlink_use(item);
	item->in = false;
	v8_item_unref(item);
}

void v8_cache_free(struct v8_cache *cache)
{
	if (!cache)
		return;
	while (cache->frames.oldest)
		v8_cache_remove(cache->frames.oldest);
	while (cache->small.oldest)
		v8_cache_remove(cache->small.oldest);
	while (cache->large.oldest)
		v8_cache_remove(cache->large.oldest);
	free(cache);
}

static struct v8_item *find(struct v8_cache *cache, uint32_t kind, uint64_t key0,
				 uint64_t key1)
{
	struct v8_item *item = *bucket_of(cache, kind, key0, key1);

	while (item && (item->kind != kind || item->key[0] != key0 || item->key[1] != key1))
		item = item->chain;
	return item;
}

struct v8_item *v8_cache_find(struct v8_cache *cache, uint32_t kind, uint64_t key0,
					uint64_t key1)
{
	struct v8_item *item = find(cache, kind, key0, key1);

	if (!item)
		return NULL;
	if (item != item->uses->newest) {
		unlink_use(item);
		link_newest(item);
	}
	return v8_item_ref(item);
}

void v8_cache_put(struct v8_cache *cache, struct v8_item *item)
{
	struct v8_item **bucket = bucket_of(cache, item->kind, item->key[0], item->key[1]);
	struct v8_item *old = find(cache, item->kind, item->key[0], item->key[1]);
	struct v8_uses *uses = item->bytes > cache->small.max_bytes / 2 ? &cache->large : &cache->small;

	if (item->kind == V8_ITEM_FRAME)
		uses = &cache->frames;
	item->cache = cache;
	item->uses = uses;
	item->refs = 1;
	item->serial = ++cache->serial;
	uses->bytes += item->bytes;
	if (old)
		v8_cache_remove(old);
	if (item->bytes > uses->max_bytes)
		return;
	item->chain = *bucket;
	*bucket = item;
	link_newest(item);
	item->in = true;
	v8_item_ref(item);
	while (uses->bytes > uses->max_bytes && uses->oldest != item)
		v8_cache_remove(uses->oldest);
}
