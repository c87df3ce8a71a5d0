/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a batch one by one, in order of time, for formats that write each of them. The weight of a
 * row is shared out among its samples, so that their sum is exactly the row's. A row without times is one
 * moment at the start of the batch, with all its weight.
 */
#ifndef EP_EXPORTERS_MOMENTS_H
#define EP_EXPORTERS_MOMENTS_H

#include "ebpf-profiler/batch.h"

#include <stdbool.h>
#include <stddef.h>

struct ep_moment {
	uint64_t time_ns; /* wall clock */
	uint64_t weight;  /* in the batch's unit */
	uint32_t row;	  /* of samples */
	bool timed;	  /* false: its time is not known */
};

/*
 * Ordered by group_of_row (NULL: all are one group), then time, then row. 0, -ENOMEM, or -E2BIG. *ret_moments
 * is from malloc, NULL when there are none.
 */
int ep_moments_new(const struct ep_batch *batch, const uint32_t *group_of_row, struct ep_moment **ret_moments,
		   size_t *ret_n);

#endif
