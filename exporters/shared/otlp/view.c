/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/view.h"
#include "ebpf-profiler/abi.h"

void otlp_view_of(const struct ep_batch *batch, struct otlp_view *ret_view)
{
	struct otlp_view view = {0};

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
	*ret_view = view;
}
