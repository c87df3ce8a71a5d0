/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anonymous memory that goes back to the system when it is unmapped: section bytes and the arrays
 * of a table are megabytes that live for milliseconds, and would leave holes in the heap.
 */
#ifndef EP_UNWIND_REGION_H
#define EP_UNWIND_REGION_H

#include "core/base/util.h"

struct ep_region {
	void *data;
	size_t bytes;
};

/*
 * Zeroed memory; nothing is committed until it is touched, but for the first `fill_bytes`, which
 * are there at once: cheaper than one fault for each page that will be written. 0, -ENOMEM.
 */
int ep_region_map(size_t bytes, size_t fill_bytes, struct ep_region *ret_region);
/* Gives back what lies behind the first `bytes`. */
void ep_region_shrink(struct ep_region *region, size_t bytes);
void ep_region_unmap(struct ep_region *region); /* accepts a zeroed region */

#endif
