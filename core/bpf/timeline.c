/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings are added one after the other, and each is nearly sorted: blocks are sorted by
 * insertion, which finds nothing to do, and then merged from the bottom up, which skips neighbours
 * that are in order. Never more than n log n steps, whatever the times are.
 */
#include "core/bpf/timeline.h"

#include <string.h>

#define BLOCK 16

void ep_timeline_init(struct ep_timeline *timeline, size_t max)
{
	ep_vec_init(&timeline->moments, sizeof(struct ep_moment), max);
	ep_vec_init(&timeline->scratch, sizeof(struct ep_moment), max);
	timeline->n_sorted = 0;
}

void ep_timeline_fini(struct ep_timeline *timeline)
{
	ep_vec_fini(&timeline->moments);
	ep_vec_fini(&timeline->scratch);
}

int ep_timeline_reserve(struct ep_timeline *timeline, size_t len)
{
	int r = ep_vec_reserve(&timeline->scratch, len);

	return r < 0 ? r : ep_vec_reserve(&timeline->moments, len);
}

bool ep_timeline_add(struct ep_timeline *timeline, const struct ep_moment *moment)
{
	struct ep_vec *moments = &timeline->moments;

	if (moments->len == EP_MIN(moments->cap, timeline->scratch.cap))
		return false;
	*ep_vec_at(moments, struct ep_moment, moments->len++) = *moment;
	return true;
}

static bool is_before(const struct ep_moment *a, const struct ep_moment *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->rank < b->rank);
}

static void sort_block(struct ep_moment *at, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		struct ep_moment moment = at[i];
		size_t to = i;

		for (; to > 0 && is_before(&moment, &at[to - 1]); to--)
			at[to] = at[to - 1];
		at[to] = moment;
	}
}

/* Merges [0, middle) and [middle, len). Only what is older than the last of the left part moves. */
static void merge(struct ep_moment *at, size_t middle, size_t len, struct ep_moment *scratch)
{
	size_t left = 0, right = middle, to;

	if (middle >= len || !is_before(&at[middle], &at[middle - 1]))
		return;
	while (!is_before(&at[middle], &at[left]))
		left++;
	memcpy(scratch, at + left, (middle - left) * sizeof(*at));
	to = left;
	middle -= left;
	for (left = 0; left < middle && right < len;)
		at[to++] = is_before(&at[right], &scratch[left]) ? at[right++] : scratch[left++];
	memcpy(at + to, scratch + left, (middle - left) * sizeof(*at));
}

static void sort(struct ep_moment *at, size_t len, struct ep_moment *scratch)
{
	for (size_t i = 0; i < len; i += BLOCK)
		sort_block(at + i, EP_MIN(len - i, (size_t)BLOCK));
	for (size_t width = BLOCK; width < len; width *= 2) {
		for (size_t i = 0; i + width < len; i += 2 * width)
			merge(at + i, width, EP_MIN(len - i, 2 * width), scratch);
	}
}

void ep_timeline_sort(struct ep_timeline *timeline)
{
	struct ep_moment *at = timeline->moments.data, *scratch = timeline->scratch.data;
	size_t len = timeline->moments.len, n_sorted = timeline->n_sorted;

	if (n_sorted < len)
		sort(at + n_sorted, len - n_sorted, scratch);
	if (n_sorted > 0)
		merge(at, n_sorted, len, scratch);
	timeline->n_sorted = len;
}

size_t ep_timeline_count_until(const struct ep_timeline *timeline, uint64_t time_ns)
{
	size_t low = 0, high = timeline->moments.len;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ep_timeline_at(timeline, middle)->time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void ep_timeline_drop(struct ep_timeline *timeline, size_t n)
{
	struct ep_moment *at = timeline->moments.data;

	timeline->moments.len -= n;
	timeline->n_sorted -= EP_MIN(n, timeline->n_sorted);
	if (timeline->moments.len)
		memmove(at, at + n, timeline->moments.len * sizeof(*at));
}
