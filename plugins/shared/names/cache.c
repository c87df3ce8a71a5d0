/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with chains, and a list by use for each budget. */
#include "plugins/shared/names/cache.h"

#include "core/base/map.h"
#include "core/base/util.h"

#include <errno.h>
#include <string.h>

#define FIRST_BUCKETS 64 /* a power of two, like all later numbers of them */
#define OVERSIZED     NAMES_MAX_CLASSES

struct budget {
	struct names_item *newest, *oldest; /* that may be found */
	size_t bytes, max_bytes;	    /* of all that are alive */
};

struct names_cache {
	struct names_item **buckets;
	size_t n_buckets, len;
	struct budget budgets[NAMES_MAX_CLASSES + 1];
	uint32_t serial;
};

int names_cache_new(const struct names_budget *budget, struct names_cache **ret_cache)
{
	struct names_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->buckets = calloc(FIRST_BUCKETS, sizeof(struct names_item *));
	if (!cache->buckets) {
		free(cache);
		return -ENOMEM;
	}
	cache->n_buckets = FIRST_BUCKETS;
	for (size_t i = 0; i < NAMES_MAX_CLASSES; i++)
		cache->budgets[i].max_bytes = budget->classes[i];
	cache->budgets[OVERSIZED].max_bytes = budget->oversized;
	*ret_cache = cache;
	return 0;
}

void names_cache_free(struct names_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < EP_LEN(cache->budgets); i++) {
		while (cache->budgets[i].oldest)
			names_cache_remove(cache->budgets[i].oldest);
	}
	free(cache->buckets);
	free(cache);
}

size_t names_cache_bytes(const struct names_cache *cache)
{
	size_t bytes = sizeof(*cache) + cache->n_buckets * sizeof(struct names_item *);

	for (size_t i = 0; i < EP_LEN(cache->budgets); i++)
		bytes += cache->budgets[i].bytes;
	return bytes;
}

size_t names_cache_len(const struct names_cache *cache)
{
	return cache->len;
}

static struct budget *budget_of(const struct names_item *item)
{
	return &item->cache->budgets[item->budget];
}

static struct names_item **bucket_of(const struct names_cache *cache, uint32_t kind,
				     const uint64_t key[NAMES_KEY_WORDS])
{
	/* Odd numbers without a pattern: the golden ratio, and xxHash's second prime. */
	uint64_t hash = ep_mix64(key[0] ^ key[1] * 0x9e3779b97f4a7c15ull ^
				 (key[2] + kind) * 0xc2b2ae3d27d4eb4full);

	return &cache->buckets[hash & (cache->n_buckets - 1)];
}

static void unlink_use(struct names_item *item)
{
	struct budget *budget = budget_of(item);

	*(item->newer ? &item->newer->older : &budget->newest) = item->older;
	*(item->older ? &item->older->newer : &budget->oldest) = item->newer;
}

static void link_newest(struct names_item *item)
{
	struct budget *budget = budget_of(item);

	item->newer = NULL;
	item->older = budget->newest;
	*(budget->newest ? &budget->newest->newer : &budget->oldest) = item;
	budget->newest = item;
}

static void link_bucket(struct names_item *item)
{
	struct names_item **bucket = bucket_of(item->cache, item->kind, item->key);

	item->chain = *bucket;
	*bucket = item;
}

/* When there is no memory for more buckets, chains get longer. */
static void grow(struct names_cache *cache)
{
	size_t n = cache->n_buckets * 2;
	struct names_item **buckets = calloc(n, sizeof(struct names_item *));

	if (!buckets)
		return;
	free(cache->buckets);
	cache->buckets = buckets;
	cache->n_buckets = n;
	for (size_t i = 0; i < EP_LEN(cache->budgets); i++) {
		for (struct names_item *item = cache->budgets[i].newest; item; item = item->older)
			link_bucket(item);
	}
}

struct names_item *names_item_ref(struct names_item *item)
{
	item->refs++;
	return item;
}

void names_item_unref(struct names_item *item)
{
	if (!item || --item->refs)
		return;
	budget_of(item)->bytes -= item->bytes;
	if (item->free)
		item->free(item);
	else
		free(item);
}

void names_cache_remove(struct names_item *item)
{
	struct names_item **link;

	if (!item->in)
		return;
	link = bucket_of(item->cache, item->kind, item->key);
	while (*link != item)
		link = &(*link)->chain;
	*link = item->chain;
	unlink_use(item);
	item->in = false;
	item->cache->len--;
	names_item_unref(item);
}

static struct names_item *find(const struct names_cache *cache, uint32_t kind,
			       const uint64_t key[NAMES_KEY_WORDS])
{
	struct names_item *item = *bucket_of(cache, kind, key);

	while (item && (item->kind != kind || memcmp(item->key, key, sizeof(item->key)) != 0))
		item = item->chain;
	return item;
}

void *names_cache_peek(struct names_cache *cache, uint32_t kind, uint64_t key0, uint64_t key1,
		       uint64_t key2)
{
	struct names_item *item = find(cache, kind, (uint64_t[]){key0, key1, key2});

	if (item && item->newer) {
		unlink_use(item);
		link_newest(item);
	}
	return item;
}

void *names_cache_find(struct names_cache *cache, uint32_t kind, uint64_t key0, uint64_t key1,
		       uint64_t key2)
{
	struct names_item *item = names_cache_peek(cache, kind, key0, key1, key2);

	return item ? names_item_ref(item) : NULL;
}

void names_cache_put(struct names_cache *cache, struct names_item *item)
{
	struct names_item *old = find(cache, item->kind, item->key);
	struct budget *budget;

	item->cache = cache;
	item->refs = 1;
	item->serial = ++cache->serial;
	item->budget =
		item->bytes > cache->budgets[item->class].max_bytes / 2 ? OVERSIZED : item->class;
	budget = budget_of(item);
	budget->bytes += item->bytes;
	if (old)
		names_cache_remove(old);
	if (item->bytes > budget->max_bytes)
		return;
	if (cache->len / 2 >= cache->n_buckets)
		grow(cache);
	link_bucket(item);
	link_newest(item);
	item->in = true;
	cache->len++;
	names_item_ref(item);
	while (budget->bytes > budget->max_bytes && budget->oldest != item)
		names_cache_remove(budget->oldest);
}

int names_function_new(const char *function, const char *file, const void *table,
		       size_t table_bytes, struct names_function **ret)
{
	size_t function_bytes = strlen(function) + 1, file_bytes = strlen(file) + 1;
	size_t table_end = EP_ALIGN_UP(table_bytes, 8);
	size_t bytes = sizeof(struct names_function) + table_end + function_bytes + file_bytes;
	struct names_function *made = malloc(bytes);
	char *strings;

	if (!made)
		return -ENOMEM;
	*made = (struct names_function){.item.bytes = (uint32_t)bytes, .table_bytes = table_bytes};
	if (table_bytes)
		memcpy(made->table, table, table_bytes);
	strings = (char *)made->table + table_end;
	made->function = memcpy(strings, function, function_bytes);
	made->file = memcpy(strings + function_bytes, file, file_bytes);
	*ret = made;
	return 0;
}

int names_cache_keep(struct names_cache *cache, uint32_t kind, uint32_t class, uint64_t key0,
		     uint64_t key1, const void *data, size_t bytes)
{
	struct names_function *made;
	int r = names_function_new("", "", data, bytes, &made);

	if (r < 0)
		return r;
	made->item.kind = (uint8_t)kind;
	made->item.class = (uint8_t)class;
	made->item.key[0] = key0;
	made->item.key[1] = key1;
	names_cache_put(cache, &made->item);
	names_item_unref(&made->item);
	return 0;
}

const void *names_cache_kept(struct names_cache *cache, uint32_t kind, uint64_t key0, uint64_t key1,
			     size_t *ret_bytes)
{
	const struct names_function *found = names_cache_peek(cache, kind, key0, key1, 0);

	if (found && ret_bytes)
		*ret_bytes = found->table_bytes;
	return found ? found->table : NULL;
}
