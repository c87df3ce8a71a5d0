/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/view.h"
#include "core/base/util.h"

void otlp_view_window(const struct ep_batch *batch, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	uint32_t n_times = batch->n_samples ? batch->sample_time_first[batch->n_samples] : 0;
	uint64_t start_ns = batch->start_ns, end_ns = batch->start_ns + batch->duration_ns;

	for (uint32_t i = 0; i < n_times; i++) {
		start_ns = EP_MIN(start_ns, batch->sample_time_ns[i]);
		end_ns = EP_MAX(end_ns, batch->sample_time_ns[i] + 1);
	}
	*ret_start_ns = start_ns;
	*ret_end_ns = end_ns;
}

void otlp_view_of(const struct ep_batch *batch, struct otlp_view *ret_view)
{
	struct otlp_view view = {.weight_unit = "nanoseconds"};

	if (EP_HAS(batch, mapping_go_build_id))
		view.mapping_go_build_id = batch->mapping_go_build_id;
	if (EP_HAS(batch, process_env_first) && EP_HAS(batch, process_env_name) &&
	    EP_HAS(batch, process_env_value)) {
		view.process_env_first = batch->process_env_first;
		view.process_env_name = batch->process_env_name;
		view.process_env_value = batch->process_env_value;
	}
	if (EP_HAS(batch, stack_unnamed) && EP_HAS(batch, stack_unnamed_text)) {
		view.stack_unnamed = batch->stack_unnamed;
		view.stack_unnamed_text = batch->stack_unnamed_text;
	}
	if (EP_HAS(batch, location_unnamed))
		view.location_unnamed = batch->location_unnamed;
	if (EP_HAS(batch, weight_unit) && batch->weight_unit)
		view.weight_unit = batch->weight_unit;
	*ret_view = view;
}
