/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/kernel_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#define MAX_ARRAY_BYTES	 (64u << 20)
#define MAX_HASH_ENTRIES 1024

static bool is_array(const struct ep_kernel_map *map)
{
	return map->type == BPF_MAP_TYPE_ARRAY || map->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool is_hash(const struct ep_kernel_map *map)
{
	return map->type == BPF_MAP_TYPE_HASH || map->type == BPF_MAP_TYPE_LRU_HASH ||
	       map->type == BPF_MAP_TYPE_PERCPU_HASH || map->type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static void free_map(struct ep_kernel_map *map)
{
	for (uint32_t i = 0; map->inner && i < map->max_entries; i++) {
		if (map->inner[i]) {
			free(map->inner[i]->values);
			free(map->inner[i]);
		}
	}
	free(map->inner);
	free(map->values);
	ep_vec_fini(&map->entries);
	free(map);
}

void ep_kernel_maps_fini(struct ep_kernel_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free_map(maps->maps[i]);
	maps->n = 0;
}

/* Those every object declares for itself, and means the same by (ebpf-profiler/bpf/unwinder.h). */
static bool is_shared(const char *name)
{
	static const char *const names[] = {"ep_records", "ep_progs",  "ep_chunks",
					    "ep_memo",	  "ep_states", "ep_lang_counts"};

	for (size_t i = 0; i < EP_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

struct ep_kernel_map *ep_kernel_maps_find(const struct ep_kernel_maps *maps, const char *object,
					  const char *name)
{
	for (size_t i = 0; i < maps->n; i++) {
		struct ep_kernel_map *map = maps->maps[i];

		if (strcmp(map->name, name) == 0 &&
		    (!map->object || strcmp(map->object, object) == 0))
			return map;
	}
	return NULL;
}

/* An entry of a hash is the value, which programs want aligned, then the key. */
static size_t key_off(const struct ep_kernel_map *map)
{
	return EP_ALIGN_UP(map->value_bytes, 8);
}

static int allocate(struct ep_kernel_map *map)
{
	uint64_t bytes = (uint64_t)map->max_entries * map->value_bytes;

	if (map->type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
		map->inner = calloc(map->max_entries, sizeof(struct ep_kernel_map *));
		return map->inner ? 0 : -ENOMEM;
	}
	if (is_hash(map)) {
		if (map->key_bytes == 0 || map->key_bytes > 512 || map->value_bytes > 65536)
			return -EBADMSG;
		map->max_entries = EP_MIN(map->max_entries, MAX_HASH_ENTRIES);
		ep_vec_init(&map->entries, key_off(map) + EP_ALIGN_UP(map->key_bytes, 8),
			    map->max_entries);
		/* Programs keep addresses of values: they must not move. */
		return ep_vec_reserve(&map->entries, map->max_entries);
	}
	if (!is_array(map))
		return 0; /* ring and program array: the kernel itself */
	if (bytes == 0 || bytes > MAX_ARRAY_BYTES || map->key_bytes != sizeof(uint32_t))
		return -EBADMSG;
	map->values = calloc(1, bytes);
	return map->values ? 0 : -ENOMEM;
}

static int add_map(struct ep_kernel_maps *maps, const char *object, const struct bpf_map *from)
{
	const char *name = bpf_map__name(from);
	struct ep_kernel_map *map;
	int r;

	if (is_shared(name) && ep_kernel_maps_find(maps, object, name))
		return 0;
	if (maps->n == EP_LEN(maps->maps) || strlen(name) >= sizeof(map->name))
		return -E2BIG;
	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	snprintf(map->name, sizeof(map->name), "%s", name);
	map->object = is_shared(name) ? NULL : object;
	map->type = bpf_map__type(from);
	map->key_bytes = bpf_map__key_size(from);
	map->value_bytes = bpf_map__value_size(from);
	map->max_entries = bpf_map__max_entries(from);
	r = allocate(map);
	if (r < 0)
		free_map(map);
	else
		maps->maps[maps->n++] = map;
	return r;
}

int ep_kernel_maps_add(struct ep_kernel_maps *maps, const char *object, const void *elf,
		       size_t bytes)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "replay");
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	struct bpf_object *bpf = bpf_object__open_mem(elf, bytes, &opts);
	struct bpf_map *map;
	int r = bpf ? 0 : -EBADMSG;

	if (bpf) {
		bpf_object__for_each_map(map, bpf)
		{
			if (r == 0 && !bpf_map__is_internal(map))
				r = add_map(maps, object, map);
		}
		bpf_object__close(bpf);
	}
	(void)libbpf_set_print(print);
	return r;
}

static uint8_t *find_entry(struct ep_kernel_map *map, const void *key)
{
	uint8_t *entry = map->entries.data;

	for (size_t i = 0; i < map->entries.len; i++, entry += map->entries.elem_bytes) {
		if (memcmp(entry + key_off(map), key, map->key_bytes) == 0)
			return entry;
	}
	return NULL;
}

void *ep_kernel_map_lookup(struct ep_kernel_map *map, const void *key)
{
	uint32_t index;

	if (is_hash(map))
		return find_entry(map, key);
	memcpy(&index, key, sizeof(index));
	if (index >= map->max_entries)
		return NULL;
	if (map->inner)
		return map->inner[index];
	return map->values ? map->values + (size_t)index * map->value_bytes : NULL;
}

int ep_kernel_map_update(struct ep_kernel_map *map, const void *key, const void *value,
			 uint64_t flags)
{
	void *old = map->inner ? NULL : ep_kernel_map_lookup(map, key);
	uint8_t *entry;

	if (old && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!old && (!is_hash(map) || flags == BPF_EXIST))
		return -ENOENT;
	if (old) {
		memcpy(old, value, map->value_bytes);
		return 0;
	}
	if (map->entries.len == map->entries.max)
		return -E2BIG;
	entry = ep_vec_push(&map->entries);
	if (!entry)
		return -ENOMEM;
	memcpy(entry, value, map->value_bytes);
	memcpy(entry + key_off(map), key, map->key_bytes);
	return 0;
}

int ep_kernel_map_delete(struct ep_kernel_map *map, const void *key)
{
	uint8_t *entry = is_hash(map) ? find_entry(map, key) : NULL;
	uint8_t *last;

	if (!entry)
		return -ENOENT;
	last = (uint8_t *)map->entries.data + (map->entries.len - 1) * map->entries.elem_bytes;
	memmove(entry, last, map->entries.elem_bytes);
	map->entries.len--;
	return 0;
}

int ep_kernel_map_add_inner(struct ep_kernel_map *map, uint32_t index, uint32_t value_bytes,
			    struct ep_kernel_map **ret_inner)
{
	struct ep_kernel_map *inner;
	int r;

	if (!map->inner || index >= map->max_entries || map->inner[index])
		return -EINVAL;
	inner = calloc(1, sizeof(*inner));
	if (!inner)
		return -ENOMEM;
	*inner = (struct ep_kernel_map){.type = BPF_MAP_TYPE_ARRAY,
					.key_bytes = sizeof(uint32_t),
					.value_bytes = value_bytes,
					.max_entries = 1};
	r = allocate(inner);
	if (r < 0)
		free(inner);
	else
		*ret_inner = map->inner[index] = inner;
	return r;
}

void ep_kernel_map_drop_inner(struct ep_kernel_map *map, uint32_t index)
{
	struct ep_kernel_map *inner = map->inner[index];

	map->inner[index] = NULL;
	if (inner)
		free(inner->values);
	free(inner);
}
