/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/groups.h"
#include "core/base/map.h"

#include <errno.h>
#include <string.h>

static uint64_t period_of_row(const struct ep_batch *batch, uint32_t row)
{
	uint32_t count = batch->sample_count[row];

	return count ? ep_batch_weight_ns(batch, row) / count : batch->period_ns;
}

static int number_periods(struct otlp_groups *groups, const struct ep_batch *batch)
{
	ep_cleanup(ep_map_fini) struct ep_map known;
	int r = 0;

	ep_map_init(&known, batch->n_samples);
	for (uint32_t row = 0; row < batch->n_samples && r == 0; row++) {
		uint64_t period_ns = period_of_row(batch, row);
		const uint64_t *index = ep_map_find(&known, period_ns);

		groups->period_of[row] = index ? (uint32_t)*index : groups->n_periods;
		if (index)
			continue;
		r = ep_map_set(&known, period_ns, groups->n_periods);
		groups->period_ns[groups->n_periods++] = period_ns;
	}
	return r < 0 ? -ENOMEM : 0;
}

/* A counting sort: it is stable. */
int otlp_groups_sort(uint32_t *order, uint32_t n, const uint32_t *key_of, uint32_t n_keys)
{
	ep_autofree uint32_t *starts = calloc((size_t)n_keys + 1, sizeof(*starts));
	ep_autofree uint32_t *from = malloc(((size_t)n + 1) * sizeof(*from));

	if (!starts || !from)
		return -ENOMEM;
	memcpy(from, order, n * sizeof(*from));
	for (uint32_t i = 0; i < n; i++)
		starts[key_of[from[i]] + 1]++;
	for (uint32_t key = 1; key <= n_keys; key++)
		starts[key] += starts[key - 1];
	for (uint32_t i = 0; i < n; i++)
		order[starts[key_of[from[i]]]++] = from[i];
	return 0;
}

/* By the last key first. */
static int sort_rows(struct otlp_groups *groups, const struct ep_batch *batch,
		     const struct otlp_view *view)
{
	uint32_t n = batch->n_samples;
	int r = 0;

	for (uint32_t row = 0; row < n; row++)
		groups->order[row] = row;
	if (groups->n_periods > 1)
		r = otlp_groups_sort(groups->order, n, groups->period_of, groups->n_periods);
	if (r == 0 && view->sample_event)
		r = otlp_groups_sort(groups->order, n, view->sample_event, view->n_events);
	return r < 0 ? r : otlp_groups_sort(groups->order, n, batch->sample_process, batch->n_processes);
}

int otlp_groups_init(struct otlp_groups *groups, const struct ep_batch *batch,
		     const struct otlp_view *view)
{
	size_t room = (size_t)batch->n_samples + 1;
	int r;

	*groups = (struct otlp_groups){
		.order = calloc(room, sizeof(*groups->order)),
		.period_of = calloc(room, sizeof(*groups->period_of)),
		.period_ns = calloc(room, sizeof(*groups->period_ns)),
	};
	if (!groups->order || !groups->period_of || !groups->period_ns)
		return -ENOMEM;
	r = number_periods(groups, batch);
	return r < 0 ? r : sort_rows(groups, batch, view);
}

void otlp_groups_fini(struct otlp_groups *groups)
{
	free(groups->order);
	free(groups->period_of);
	free(groups->period_ns);
	*groups = (struct otlp_groups){0};
}
