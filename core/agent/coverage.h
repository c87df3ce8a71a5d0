/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of what should be sampled was: ticks that were due, and samples that were lost. Sums since the start,
 * made of the counters of BPF and of the ticks that never came (core/bpf/missed.h). They never go back.
 */
#ifndef EP_AGENT_COVERAGE_H
#define EP_AGENT_COVERAGE_H

#include "core/base/util.h"
#include "core/bpf/events.h"

struct ep_bpf;

struct ep_coverage {
	struct ep_events_missed missed; /* as of the last look for them */
	uint64_t lost;			/* samples in the ring and before */
	uint64_t due;			/* samples, as far as is known */
};

/* Each returns what came since it was called last. The second one looks for ticks that never came. */
uint64_t ep_coverage_add_due(struct ep_coverage *coverage, const struct ep_bpf *bpf);
uint64_t ep_coverage_add_lost(struct ep_coverage *coverage, const struct ep_bpf *bpf, struct ep_events *events);

#endif
