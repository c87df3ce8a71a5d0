/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are counted by stack and block first, so that each stack is walked once. A function is counted once for
 * each stack, by the number of the stack that counted it last.
 */
#include "reports/view/bursts.h"
#include "ebpf-profiler/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SAMPLES (20 * EP_BURSTS_BLOCKS)

typedef uint32_t blocks[EP_BURSTS_BLOCKS];

struct counts {
	const struct ep_batch *batch;
	const struct ep_bursts_choice *choice;
	uint64_t limits[EP_BURSTS_BLOCKS - 1]; /* where a block ends and the next begins */
	uint64_t *times;
	blocks *by_stack;
	blocks *self, *total; /* by number */
	uint32_t *last_stack; /* by number */
	blocks all;
};

static void counts_fini(struct counts *counts)
{
	free(counts->times);
	free(counts->by_stack);
	free(counts->self);
	free(counts->total);
	free(counts->last_stack);
}

static int by_time(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int find_limits(struct counts *counts, uint32_t n)
{
	counts->times = malloc(n * sizeof(*counts->times));
	if (!counts->times)
		return -ENOMEM;
	memcpy(counts->times, counts->batch->sample_time_ns, n * sizeof(*counts->times));
	qsort(counts->times, n, sizeof(*counts->times), by_time);
	for (size_t i = 0; i + 1 < EP_BURSTS_BLOCKS; i++)
		counts->limits[i] = counts->times[(i + 1) * n / EP_BURSTS_BLOCKS];
	return 0;
}

static size_t block_of(const struct counts *counts, uint64_t time_ns)
{
	size_t block = 0;

	while (block + 1 < EP_BURSTS_BLOCKS && time_ns >= counts->limits[block])
		block++;
	return block;
}

static void count_samples(struct counts *counts)
{
	const struct ep_batch *batch = counts->batch;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		for (uint32_t k = batch->sample_time_first[i]; k < batch->sample_time_first[i + 1]; k++) {
			size_t block = block_of(counts, batch->sample_time_ns[k]);

			counts->by_stack[batch->sample_stack[i]][block]++;
			counts->all[block]++;
		}
	}
}

static void add_blocks(blocks *to, const blocks *from)
{
	for (size_t i = 0; i < EP_BURSTS_BLOCKS; i++)
		(*to)[i] += (*from)[i];
}

static void count_function(struct counts *counts, uint32_t number, uint32_t stack, bool is_leaf)
{
	if (number == EP_BURSTS_NONE)
		return;
	if (is_leaf)
		add_blocks(&counts->self[number], (const blocks *)&counts->by_stack[stack]);
	if (counts->last_stack[number] == stack + 1)
		return;
	counts->last_stack[number] = stack + 1;
	add_blocks(&counts->total[number], (const blocks *)&counts->by_stack[stack]);
}

/* As movers count them: an error or gap where it is all there is, code of no file as one. */
static void count_location(struct counts *counts, uint32_t location, uint32_t stack, bool is_leaf)
{
	const struct ep_batch *batch = counts->batch;
	uint32_t first = batch->location_line_first[location], end = batch->location_line_first[location + 1];

	if (!is_leaf && (batch->location_flags[location] & (EP_LOCATION_ERROR | EP_LOCATION_GAP)))
		return;
	if (EP_HAS(batch, location_unnamed) && batch->location_unnamed[location] == EP_UNNAMED_NO_FILE) {
		count_function(counts, counts->choice->no_file, stack, is_leaf);
		return;
	}
	for (uint32_t line = first; line < end; line++)
		count_function(counts, counts->choice->number_of[batch->line_function[line]], stack,
			       is_leaf && line == first);
}

static void count_stacks(struct counts *counts)
{
	const struct ep_batch *batch = counts->batch;
	static const blocks none;

	for (uint32_t i = 0; i < batch->n_stacks; i++) {
		uint32_t first = batch->stack_location_first[i], end = batch->stack_location_first[i + 1];

		if (memcmp(counts->by_stack[i], none, sizeof(none)) == 0)
			continue;
		for (uint32_t k = first; k < end; k++)
			count_location(counts, batch->stack_location[k], i, k == first);
	}
}

static void add_squares(struct ep_bursts *bursts, const struct counts *counts, const blocks *found, double share)
{
	for (size_t i = 0; i < EP_BURSTS_BLOCKS && share > 0 && share < 1; i++) {
		double expected = counts->all[i] * share, off = (*found)[i] - expected;

		if (counts->all[i] == 0)
			continue;
		bursts->squares += off * off / (expected * (1 - share));
		bursts->n_blocks++;
	}
}

int ep_bursts_add(const struct ep_batch *batch, const struct ep_bursts_choice *choice, struct ep_bursts *self,
		  struct ep_bursts *total)
{
	ep_cleanup(counts_fini) struct counts counts = {.batch = batch, .choice = choice};
	uint32_t n = batch->sample_time_first ? batch->sample_time_first[batch->n_samples] : 0;
	int r;

	if (n < LEAST_SAMPLES)
		return 0;
	counts.by_stack = calloc((size_t)batch->n_stacks + 1, sizeof(blocks));
	counts.self = calloc((size_t)choice->n + 1, sizeof(blocks));
	counts.total = calloc((size_t)choice->n + 1, sizeof(blocks));
	counts.last_stack = calloc((size_t)choice->n + 1, sizeof(*counts.last_stack));
	if (!counts.by_stack || !counts.self || !counts.total || !counts.last_stack)
		return -ENOMEM;
	r = find_limits(&counts, n);
	if (r < 0)
		return r;
	count_samples(&counts);
	count_stacks(&counts);
	for (uint32_t i = 0; i < choice->n; i++) {
		add_squares(&self[i], &counts, (const blocks *)&counts.self[i], choice->self_share[i]);
		add_squares(&total[i], &counts, (const blocks *)&counts.total[i], choice->total_share[i]);
	}
	return 0;
}

double ep_bursts_dispersion(const struct ep_bursts *bursts)
{
	return bursts->n_blocks > bursts->n_means ? bursts->squares / (bursts->n_blocks - bursts->n_means) : 1;
}
