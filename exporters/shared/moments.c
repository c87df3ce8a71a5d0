/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/moments.h"
#include "core/base/util.h"

#include <errno.h>

static uint32_t times_of(const struct ep_batch *batch, uint32_t row)
{
	return batch->sample_time_first[row + 1] - batch->sample_time_first[row];
}

static struct ep_moment *add_row(const struct ep_batch *batch, uint32_t row, struct ep_moment *to)
{
	uint32_t first = batch->sample_time_first[row], n = times_of(batch, row);
	uint64_t weight = ep_batch_weight_ns(batch, row);

	if (n == 0) {
		*to = (struct ep_moment){.time_ns = batch->start_ns, .weight = weight, .row = row};
		return to + 1;
	}
	for (uint32_t i = 0; i < n; i++, to++)
		*to = (struct ep_moment){
			.time_ns = batch->sample_time_ns[first + i],
			.weight = weight / n + (i < weight % n),
			.row = row,
			.timed = true,
		};
	return to;
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct ep_moment *a = left, *b = right;
	const uint32_t *group_of_row = arg;

	if (group_of_row && group_of_row[a->row] != group_of_row[b->row])
		return group_of_row[a->row] < group_of_row[b->row] ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

int ep_moments_new(const struct ep_batch *batch, const uint32_t *group_of_row, struct ep_moment **ret_moments,
		   size_t *ret_n)
{
	ep_autofree struct ep_moment *moments = NULL;
	struct ep_moment *end;
	size_t n = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++)
		n += EP_MAX(times_of(batch, i), 1u);
	*ret_moments = NULL;
	*ret_n = n;
	if (n == 0)
		return 0;
	moments = reallocarray(NULL, n, sizeof(*moments));
	if (!moments)
		return -ENOMEM;
	end = moments;
	for (uint32_t i = 0; i < batch->n_samples; i++)
		end = add_row(batch, i, end);
	qsort_r(moments, n, sizeof(*moments), compare, (void *)group_of_row);
	*ret_moments = ep_take(moments);
	return 0;
}
