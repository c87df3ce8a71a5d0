/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view/group.h"
#include "core/base/map.h"

#include <errno.h>
#include <stdlib.h>

bool ep_group_is_possible(enum ep_tally_by by)
{
	return by == EP_TALLY_CONTAINER || by == EP_TALLY_PROGRAM || by == EP_TALLY_COMM ||
	       by == EP_TALLY_USER || by == EP_TALLY_UNIT;
}

/* Group i, from 1 on, is function, location and stack i; it has line i - 1. */
static void lay_out(struct ep_grouped *grouped, uint32_t n_groups)
{
	struct ep_batch *batch = &grouped->batch;

	for (uint32_t i = 1; i <= n_groups + 1; i++) {
		grouped->group[i] = i;
		grouped->first[i] = i - 1;
	}
	batch->n_functions = batch->n_locations = batch->n_stacks = n_groups + 1;
	batch->n_lines = batch->n_stack_locations = n_groups;
	batch->function_name = batch->function_system_name = grouped->function_name;
	batch->line_function = batch->stack_location = grouped->group + 1;
	batch->location_line_first = batch->stack_location_first = grouped->first;
	batch->function_file = batch->function_line = grouped->none;
	batch->line_line = batch->line_column = grouped->none;
	batch->location_mapping = batch->location_kind = grouped->none;
	batch->location_flags = batch->location_unnamed = grouped->none;
	batch->stack_error = batch->stack_error_text = grouped->none;
	batch->stack_unnamed = batch->stack_unnamed_text = grouped->none;
	batch->sample_stack = grouped->sample_stack;
}

/* Which group each sample is of: those of equal names are one. */
static int find_groups(const struct ep_batch *batch, enum ep_tally_by by, struct ep_grouped *grouped,
		       uint32_t *ret_n)
{
	ep_cleanup(ep_map_fini) struct ep_map groups;
	uint32_t n = 0;
	int r = 0;

	ep_map_init(&groups, UINT32_MAX);
	for (uint32_t i = 0; i < batch->n_samples && r == 0; i++) {
		uint32_t name = ep_tally_group(batch, by, batch->sample_process[i]);
		const uint64_t *known = ep_map_find(&groups, name);

		grouped->sample_stack[i] = known ? (uint32_t)*known : n + 1;
		if (known)
			continue;
		grouped->function_name[++n] = name;
		r = ep_map_set(&groups, name, n);
	}
	*ret_n = n;
	return r;
}

int ep_group_make(const struct ep_batch *batch, enum ep_tally_by by, struct ep_grouped *ret_grouped)
{
	size_t most = EP_MIN(batch->n_samples, batch->n_processes) + 1; /* groups, with that of row 0 */
	struct ep_grouped grouped = {
		.batch = *batch,
		.function_name = calloc(most + 2, sizeof(uint32_t)),
		.group = calloc(most + 2, sizeof(uint32_t)),
		.first = calloc(most + 2, sizeof(uint32_t)),
		.none = calloc(most + 2, sizeof(uint32_t)),
		.sample_stack = calloc((size_t)batch->n_samples + 1, sizeof(uint32_t)),
	};
	bool is_made = grouped.function_name && grouped.group && grouped.first && grouped.none &&
		       grouped.sample_stack;
	int r = is_made ? 0 : -ENOMEM;
	uint32_t n_groups;

	if (r == 0)
		r = find_groups(batch, by, &grouped, &n_groups);
	if (r < 0) {
		ep_grouped_fini(&grouped);
		return r;
	}
	lay_out(&grouped, n_groups);
	*ret_grouped = grouped;
	return 0;
}

void ep_grouped_fini(struct ep_grouped *grouped)
{
	free(grouped->function_name);
	free(grouped->group);
	free(grouped->first);
	free(grouped->none);
	free(grouped->sample_stack);
	*grouped = (struct ep_grouped){0};
}
