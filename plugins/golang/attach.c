/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/golang/golang.h"

#include <errno.h>
#include <stdlib.h>

/* An instance has nothing to remember but whose it is. */
struct go_instance {
	const struct go_executable *exe;
};

static void fill_state(const struct go_executable *exe, uint64_t bias, struct go_state *state)
{
	state->offsets = exe->offsets;
	state->frame_bytes = exe->frame_bytes;
	state->depth_off = exe->depth_off;
	for (uint32_t i = 0; i < exe->n_codes; i++) {
		state->codes[i] = exe->codes[i];
		state->codes[i].start += bias;
	}
}

static int tell(const struct go_executable *exe, struct ep_target *target, const struct go_state *state)
{
	struct ep_range ranges[GO_MAX_CODES] = {{0}};
	int r;

	for (uint32_t i = 0; i < exe->n_codes; i++)
		ranges[i] = (struct ep_range){.start = state->codes[i].start,
					      .end = state->codes[i].start + state->codes[i].bytes,
					      .mode = EP_RANGE_ENTER,
					      .data = state->codes[i].kind};
	r = exe->host->set_state(target, state, sizeof(*state));
	return r < 0 ? r : exe->host->set_ranges(target, ranges, exe->n_codes);
}

int go_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct go_executable *exe = executable;
	struct go_state state = {0};
	struct go_instance *instance;
	int r = exe->host->tls_path(target, &exe->g, &state.g);

	if (r < 0)
		return r == -ENODATA ? EP_NOT_YET : r;
	fill_state(exe, exe->host->target_bias(target), &state);
	instance = malloc(sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	instance->exe = exe;
	r = tell(exe, target, &state);
	if (r < 0) {
		free(instance);
		return r;
	}
	*ret_instance = instance;
	return 0;
}

void go_detach(void *instance)
{
	free(instance);
}
