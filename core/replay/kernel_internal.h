/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the kernel share: its maps. */
#ifndef EP_REPLAY_KERNEL_INTERNAL_H
#define EP_REPLAY_KERNEL_INTERNAL_H

#include "core/base/vec.h"
#include "core/replay/kernel.h"
#include "core/replay/shim/helpers.h"

#define EP_KERNEL_MAX_MAPS 128

struct ep_kernel_map {
	char name[16];
	const char *object; /* borrowed; NULL: shared by all objects */
	uint32_t type;	    /* enum bpf_map_type */
	uint32_t key_bytes, value_bytes, max_entries;
	uint8_t *values;	      /* arrays: all of them, zeroed */
	struct ep_vec entries;	      /* hashes: value, then key */
	struct ep_kernel_map **inner; /* arrays of maps */
};

struct ep_kernel_maps {
	struct ep_kernel_map *maps[EP_KERNEL_MAX_MAPS];
	size_t n;
};

void ep_kernel_maps_fini(struct ep_kernel_maps *maps);
/* Makes those of an object. `object` is borrowed as long as the maps live. */
int ep_kernel_maps_add(struct ep_kernel_maps *maps, const char *object, const void *elf,
		       size_t bytes);
/* By the name an object calls it. */
struct ep_kernel_map *ep_kernel_maps_find(const struct ep_kernel_maps *maps, const char *object,
					  const char *name);

void *ep_kernel_map_lookup(struct ep_kernel_map *map, const void *key);
int ep_kernel_map_update(struct ep_kernel_map *map, const void *key, const void *value,
			 uint64_t flags);
int ep_kernel_map_delete(struct ep_kernel_map *map, const void *key);
int ep_kernel_map_add_inner(struct ep_kernel_map *map, uint32_t index, uint32_t value_bytes,
			    struct ep_kernel_map **ret_inner);
void ep_kernel_map_drop_inner(struct ep_kernel_map *map, uint32_t index);

#endif
