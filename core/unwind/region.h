/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anonymous memory that goes back to the system when it is unmapped: section bytes and the arrays
 * of a table are megabytes that live for milliseconds, and would leave holes in the heap.
 */
#ifndef EP_UNWIND_REGION_H
#define EP_UNWIND_REGION_H

#include "core/base/work.h"

struct ep_region {
	void *data;
	size_t bytes;
	struct ep_memory_budget *budget; /* `held` bytes were taken from it; NULL: none */
	size_t held;
};

/*
 * Into a zeroed region, or one that was charged for. Zeroed memory; nothing is committed until it
 * is touched, but for the first `fill_bytes`, which are there at once: cheaper than one fault for
 * each page that will be written. 0, -ENOMEM.
 */
int ep_region_map(size_t bytes, size_t fill_bytes, struct ep_region *ret_region);
/* So many bytes of it will be touched. 0, and those of core/base/work.h. */
int ep_region_pay(struct ep_region *region, struct ep_work *work, size_t bytes);
/* Gives back what lies after the first `bytes`. */
void ep_region_shrink(struct ep_region *region, size_t bytes);
void ep_region_unmap(struct ep_region *region); /* accepts a zeroed region */

#endif
