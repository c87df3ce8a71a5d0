/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heaps of code of a process: 8 has one, 9 and newer a list of one to five (segmented code
 * cache, and in the newest one more for code that hardly ever runs). Each is reserved as a whole
 * when the VM starts, so its range never changes, however it grows.
 */
#ifndef HOTSPOT_HEAPS_H
#define HOTSPOT_HEAPS_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/hotspot/layout.h"
#include "plugins/shared/read/memory.h"

#define HOTSPOT_MAX_HEAPS 16

struct hotspot_heap {
	uint64_t start, end; /* reserved */
	uint64_t segmap;     /* one byte for each segment from `start` */
	uint32_t log2_segment;
};

/* Addresses of CodeHeap. 0, EP_NOT_YET: they are not made yet; -EBADMSG: nonsense; what a read
 * says. */
int hotspot_heaps_find(const struct memory *memory, const struct hotspot_layout *layout,
		       uint64_t heaps[HOTSPOT_MAX_HEAPS], size_t *ret_n);
/* What they are, ascending. As hotspot_heaps_find. */
int hotspot_heaps_read(const struct memory *memory, const struct hotspot_layout *layout,
		       struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS], size_t *ret_n);

/*
 * Ranges for BPF, ascending and disjoint: the pieces of fixed code, as many as there is space for,
 * and what they leave of the heaps. At most `max`, which is at least 2 * HOTSPOT_MAX_HEAPS.
 */
size_t hotspot_heaps_ranges(const struct hotspot_heap *heaps, size_t n_heaps,
			    const struct ep_range *pieces, size_t n_pieces, struct ep_range *ret,
			    size_t max);

/*
 * Does the layout of blocks hold? Looks at the first block of a heap, which is made when the VM
 * starts and stays (heap.hpp: HeapBlock, and the CodeBlob after it). 0, EP_NOT_YET: none there;
 * -EBADMSG.
 */
int hotspot_heaps_check(const struct memory *memory, const struct hotspot_layout *layout,
			const struct hotspot_heap *heap);

#endif
