/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/golang/golang.h"

#include <errno.h>

/* Nothing is remembered of a process: its instance is the executable. */
int go_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct go_executable *exe = executable;
	uint64_t bias = exe->host->target_bias(target);
	struct ep_range ranges[GO_MAX_CODES] = {{0}};
	struct go_state state = {0};
	int r = exe->host->tls_path(target, &exe->g, &state.g);

	if (r < 0)
		return r == -ENODATA ? EP_NOT_YET : r;
	state.offsets = exe->offsets;
	state.frame_bytes = exe->frame_bytes;
	state.depth_off = exe->depth_off;
	for (uint32_t i = 0; i < exe->n_codes; i++) {
		state.codes[i] = exe->codes[i];
		state.codes[i].start += bias;
		ranges[i] = (struct ep_range){.start = state.codes[i].start,
					      .end = state.codes[i].start + state.codes[i].bytes,
					      .mode = EP_RANGE_ENTER,
					      .data = state.codes[i].kind};
	}
	r = exe->host->set_state(target, &state, sizeof(state));
	if (r == 0)
		r = exe->host->set_ranges(target, ranges, exe->n_codes);
	if (r == 0)
		*ret_instance = executable;
	return r;
}

void go_detach(void *instance)
{
	(void)instance;
}
