/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/said.h"
#include "core/process/rows.h"

#include <errno.h>
#include <string.h>

void ep_said_init(struct ep_said *said)
{
	*said = (struct ep_said){0};
	ep_vec_init(&said->ranges, sizeof(struct ep_range), EP_MAX_RANGES);
}

void ep_said_fini(struct ep_said *said)
{
	ep_vec_fini(&said->ranges);
}

void ep_said_clear(struct ep_said *said)
{
	ep_said_fini(said);
	ep_said_init(said);
}

int ep_said_set_state(struct ep_said *said, const void *state, size_t bytes)
{
	if (bytes > sizeof(said->state))
		return -E2BIG;
	memcpy(said->state, state, bytes);
	said->state_bytes = bytes;
	said->has_state = true;
	return 0;
}

int ep_said_set_ranges(struct ep_said *said, const struct ep_range *ranges, size_t n)
{
	struct ep_vec exact;
	bool anonymous;
	int r;

	ep_vec_init(&exact, sizeof(struct ep_range), EP_MAX_RANGES);
	r = ep_ranges_take(ranges, n, &exact, &anonymous);
	if (r < 0) {
		ep_vec_fini(&exact);
		return r;
	}
	ep_vec_fini(&said->ranges);
	said->ranges = exact;
	said->anonymous = anonymous;
	said->has_ranges = true;
	return 0;
}

static void move_ranges(struct ep_said *to, struct ep_said *from)
{
	struct ep_vec old = to->ranges;

	to->ranges = from->ranges;
	from->ranges = old;
	to->anonymous = from->anonymous;
	to->has_ranges = true;
}

bool ep_said_end(struct ep_said *holds, struct ep_said *call, int result)
{
	bool added = result == 0 && (call->has_state || call->has_ranges);

	if (added && call->has_state)
		(void)ep_said_set_state(holds, call->state, call->state_bytes);
	if (added && call->has_ranges)
		move_ranges(holds, call);
	ep_said_clear(call);
	return added;
}
