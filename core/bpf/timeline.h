/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of records by time, for core/bpf/order.c: where each lies, not what it says. Sorted by
 * (time, rank), equal ones in the order in which they were added.
 */
#ifndef EP_BPF_TIMELINE_H
#define EP_BPF_TIMELINE_H

#include "core/base/vec.h"

struct ep_moment {
	uint64_t time_ns;
	const void *record;
	uint32_t bytes;
	uint16_t source; /* which ring, for its owner */
	uint8_t rank;	 /* among those of the same time */
};

struct ep_timeline {
	struct ep_vec moments; /* struct ep_moment */
	struct ep_vec scratch;
	size_t n_sorted; /* the first ones already are */
};

void ep_timeline_init(struct ep_timeline *timeline, size_t max);
void ep_timeline_fini(struct ep_timeline *timeline);
/* Makes space, so that adding and sorting need no memory. 0, -E2BIG, -ENOMEM. */
int ep_timeline_reserve(struct ep_timeline *timeline, size_t len);

/* False: no space. */
bool ep_timeline_add(struct ep_timeline *timeline, const struct ep_moment *moment);
void ep_timeline_sort(struct ep_timeline *timeline);
/* How many are up to and with `time_ns`, when sorted. */
size_t ep_timeline_count_until(const struct ep_timeline *timeline, uint64_t time_ns);
/* Removes the first ones. */
void ep_timeline_drop(struct ep_timeline *timeline, size_t n);

static inline size_t ep_timeline_len(const struct ep_timeline *timeline)
{
	return timeline->moments.len;
}

static inline struct ep_moment *ep_timeline_at(const struct ep_timeline *timeline, size_t i)
{
	return ep_vec_at(&timeline->moments, struct ep_moment, i);
}

#endif
