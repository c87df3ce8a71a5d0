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

static void find_cost(const struct ep_batch *batch, struct otlp_view *view)
{
	if (EP_HAS(batch, due_samples))
		view->due_samples = batch->due_samples;
	if (EP_HAS(batch, agent_cpu_ns))
		view->agent_cpu_ns = batch->agent_cpu_ns;
	if (EP_HAS(batch, bpf_ns))
		view->bpf_ns = batch->bpf_ns;
	if (EP_HAS(batch, n_cpus))
		view->n_cpus = batch->n_cpus;
}

void otlp_view_of(const struct ep_batch *batch, struct otlp_view *ret_view)
{
	struct otlp_view view = {.weight_unit = "nanoseconds", .title = ""};

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
	if (EP_HAS(batch, title))
		view.title = batch->title;
	if (EP_HAS(batch, stack_error_text))
		view.stack_error_text = batch->stack_error_text;
	if (EP_HAS(batch, process_image))
		view.process_image = batch->process_image;
	find_cost(batch, &view);
	*ret_view = view;
}
