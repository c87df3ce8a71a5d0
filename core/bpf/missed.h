/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks of a sampling clock that never came. When the timer's interrupt is late (a virtual CPU was
 * stolen, interrupts were off), the kernel leaves out the ticks that are over meanwhile, and one
 * sample comes for all of them (perf_swevent_hrtimer calls hrtimer_forward_now,
 * linux/kernel/events/core.c). Nobody knows what ran then, so they are lost samples, and no sample
 * counts for more than its period. A CPU that sleeps without ticks of its own clock loses most of
 * them too, where nothing is lost: as many are lost samples as its time out of idle had space for.
 *
 * Of one kind BPF knows whose they are: the walk of a deep stack may take longer than a period. The
 * ticks that are over when it ends are lost samples of the process that was walked (bpf/finish.bpf.h).
 *
 * How many there should have been follows from the period, since the timer keeps its grid, and from
 * the time it was armed; how many there were, BPF counts. Pure arithmetic: core/bpf/ticker.c
 * asks the kernel.
 */
#ifndef EP_BPF_MISSED_H
#define EP_BPF_MISSED_H

#include "core/base/util.h"

/* What one CPU's ticks found, since the programs were loaded. */
struct ep_ticks {
	uint64_t sampled;
	uint64_t filtered; /* a process that nobody asked for */
	uint64_t idle;
	uint64_t overrun; /* never came: sampled processes were walked meanwhile */
};

/* One look at a clock. Ticks go on meanwhile, so there is a time before and one after it. */
struct ep_missed_look {
	uint64_t before_ns, behind_ns; /* CLOCK_MONOTONIC, which the timer runs by */
	uint64_t armed_ns; /* how long it was armed in all, by a clock of about that rate */
	uint64_t idle_ns;  /* how long its CPU was idle in all */
	struct ep_ticks ticks;
};

struct ep_missed {
	uint64_t period_ns;
	struct ep_missed_look first, last;
	uint64_t still_ns;   /* it was not armed: its CPU went away, or the kernel throttled it */
	int64_t extra;	     /* ticks beyond those of the grid that it began with */
	int64_t missing;     /* at the last look */
	uint64_t overrun;    /* missing, and BPF says whose they are */
	uint64_t ticks;	     /* known to be missing, besides */
	uint64_t busy_ticks; /* of those, when its CPU was not idle */
	uint64_t lost_65536; /* of those, how many would have been samples, times 65536 */
};

/* The first look: its times are from when the clock runs for certain, its ticks from before. */
void ep_missed_begin(struct ep_missed *missed, uint64_t period_ns,
		     const struct ep_missed_look *first);
/*
 * A tick that is only late must not be taken for a missing one: it counts when two looks in a row
 * miss it, or when the look is the last one, with the clock stopped.
 */
void ep_missed_look(struct ep_missed *missed, const struct ep_missed_look *look, bool is_last);

static inline uint64_t ep_missed_ticks(const struct ep_missed *missed)
{
	return missed->overrun + missed->ticks;
}

/* Of those, how many would have been samples. */
static inline uint64_t ep_missed_lost(const struct ep_missed *missed)
{
	return missed->overrun + missed->lost_65536 / 65536;
}

#endif
