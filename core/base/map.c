/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/map.h"

#include <errno.h>
#include <string.h>

#define MAP_FIRST_CAP 16

uint64_t ep_mix64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ (x >> 33);
}

void ep_map_init(struct ep_map *map, size_t max)
{
	*map = (struct ep_map){.max = max};
}

void ep_map_fini(struct ep_map *map)
{
	free(map->slots);
	free(map->used);
	*map = (struct ep_map){.max = map->max};
}

size_t ep_map_bytes(const struct ep_map *map)
{
	return map->cap * (sizeof(*map->slots) + sizeof(*map->used));
}

static size_t home_of(const struct ep_map *map, uint64_t key)
{
	return (size_t)ep_mix64(key) & (map->cap - 1);
}

/* The slot that holds the key, or the free slot where it belongs. */
static size_t slot_of(const struct ep_map *map, uint64_t key)
{
	size_t i = home_of(map, key);

	while (map->used[i] && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return i;
}

uint64_t *ep_map_find(const struct ep_map *map, uint64_t key)
{
	size_t i;

	if (map->len == 0)
		return NULL;
	i = slot_of(map, key);
	return map->used[i] ? &map->slots[i].value : NULL;
}

static int rehash(struct ep_map *map, size_t cap)
{
	struct ep_map old = *map;

	map->slots = malloc(cap * sizeof(*map->slots));
	map->used = calloc(cap, sizeof(*map->used));
	if (!map->slots || !map->used) {
		free(map->slots);
		free(map->used);
		*map = old;
		return -ENOMEM;
	}
	map->cap = cap;
	for (size_t i = 0; i < old.cap; i++) {
		if (old.used[i]) {
			size_t to = slot_of(map, old.slots[i].key);

			map->slots[to] = old.slots[i];
			map->used[to] = 1;
		}
	}
	free(old.slots);
	free(old.used);
	return 0;
}

int ep_map_set(struct ep_map *map, uint64_t key, uint64_t value)
{
	uint64_t *present = ep_map_find(map, key);
	size_t i;

	if (present) {
		*present = value;
		return 0;
	}
	if (map->len >= map->max)
		return -E2BIG;
	if ((map->len + 1) * 4 > map->cap * 3) {
		int r = rehash(map, map->cap ? map->cap * 2 : MAP_FIRST_CAP);

		if (r < 0)
			return r;
	}
	i = slot_of(map, key);
	map->slots[i] = (struct ep_map_slot){.key = key, .value = value};
	map->used[i] = 1;
	map->len++;
	return 0;
}

/* Closes the hole at `hole` by moving later keys of the same run back, so that no run is broken. */
static void close_hole(struct ep_map *map, size_t hole)
{
	size_t mask = map->cap - 1;

	for (size_t i = (hole + 1) & mask; map->used[i]; i = (i + 1) & mask) {
		size_t home = home_of(map, map->slots[i].key);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->used[hole] = 0;
}

bool ep_map_remove(struct ep_map *map, uint64_t key)
{
	size_t i;

	if (map->len == 0)
		return false;
	i = slot_of(map, key);
	if (!map->used[i])
		return false;
	close_hole(map, i);
	map->len--;
	return true;
}

struct ep_map_slot *ep_map_next(const struct ep_map *map, size_t *pos)
{
	while (*pos < map->cap) {
		size_t i = (*pos)++;

		if (map->used[i])
			return &map->slots[i];
	}
	return NULL;
}

void *ep_map_get(const struct ep_map *map, uint64_t key)
{
	const uint64_t *value = ep_map_find(map, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

void *ep_map_next_pointer(const struct ep_map *map, size_t *pos)
{
	const struct ep_map_slot *slot = ep_map_next(map, pos);

	return slot ? (void *)(uintptr_t)slot->value : NULL;
}

struct ep_map_link *ep_map_chain(const struct ep_map *map, uint64_t hash)
{
	const uint64_t *first = ep_map_find(map, hash);

	return first ? (struct ep_map_link *)(uintptr_t)*first : NULL;
}

int ep_map_link(struct ep_map *map, uint64_t hash, struct ep_map_link *link)
{
	*link = (struct ep_map_link){.next = ep_map_chain(map, hash), .hash = hash};
	return ep_map_set(map, hash, (uintptr_t)link);
}

void ep_map_unlink(struct ep_map *map, struct ep_map_link *link)
{
	struct ep_map_link *first = ep_map_chain(map, link->hash), **at = &first;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	if (first)
		(void)ep_map_set(map, link->hash, (uintptr_t)first); /* replaces: there is memory */
	else
		ep_map_remove(map, link->hash);
}
