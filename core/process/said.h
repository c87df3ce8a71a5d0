/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin says of a process for BPF: a state and ranges. It says so in calls (attach, refresh,
 * symbolize), and only what is said in a call that returns 0 holds: one struct collects what the
 * call says, another is what holds.
 */
#ifndef EP_PROCESS_SAID_H
#define EP_PROCESS_SAID_H

#include "core/base/vec.h"
#include "ebpf-profiler/unwinder.h"

struct ep_said {
	bool has_state, has_ranges; /* said at all */
	bool anonymous;		    /* it takes anonymous code */
	size_t state_bytes;
	uint8_t state[EP_STATE_BYTES];
	struct ep_vec ranges; /* struct ep_range: the exact ones, sorted, disjoint */
};

void ep_said_init(struct ep_said *said);
void ep_said_fini(struct ep_said *said); /* accepts a zeroed one */
void ep_said_clear(struct ep_said *said);

/* As the services of struct ep_unwinder_host. After an error all is as it was. */
int ep_said_set_state(struct ep_said *said, const void *state, size_t bytes);
int ep_said_set_ranges(struct ep_said *said, const struct ep_range *ranges, size_t n);

/*
 * At the end of a call: what it said is added to what holds if it returned 0, and forgotten
 * otherwise. True when something was added.
 */
bool ep_said_end(struct ep_said *holds, struct ep_said *call, int result);

#endif
