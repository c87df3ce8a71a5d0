/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/coverage.h"
#include "core/bpf/programs.h"

/*
 * Every tick is counted by one of the first three counters, or was missed. When a filter is in use, only the
 * filter's share of the ticks counts as due. The share is the samples, and the ticks that their walks took, divided
 * by all ticks that hit a program; lost ticks are shared in the same way (core/bpf/missed.c). The share changes with
 * time, so the sum could become smaller.
 */
uint64_t ep_coverage_add_due(struct ep_coverage *coverage, const struct ep_bpf *bpf)
{
	uint64_t overrun = ep_bpf_counter(bpf, EP_COUNTER_OVERRUN);
	uint64_t sampled = ep_bpf_counter(bpf, EP_COUNTER_SAMPLES);
	uint64_t filtered = ep_bpf_counter(bpf, EP_COUNTER_FILTERED);
	uint64_t idle = ep_bpf_counter(bpf, EP_COUNTER_IDLE);
	uint64_t all = sampled + filtered + idle + coverage->missed.ticks;
	uint64_t own = sampled + overrun;
	uint64_t due = own ? (uint64_t)((double)all * (double)own / (double)(own + filtered)) : 0;
	uint64_t more = due - EP_MIN(due, coverage->due);

	coverage->due += more;
	return more;
}

/*
 * What the ring had no space for, and what was never sampled since the clock's tick did not come.
 */
uint64_t ep_coverage_add_lost(struct ep_coverage *coverage, const struct ep_bpf *bpf, struct ep_events *events)
{
	uint64_t lost = ep_bpf_counter(bpf, EP_COUNTER_RING_FULL);
	uint64_t more;

	coverage->missed = ep_events_count_missed(events);
	lost += coverage->missed.samples;
	more = lost - coverage->lost;
	coverage->lost = lost;
	return more;
}
