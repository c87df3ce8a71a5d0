/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of each CPU's sampling clock. Clocks of exactly 1/F are in lockstep with whatever else
 * is periodic: at 20 Hz a program that works for 5 ms each 50 ms is hit by all of them or by none.
 * So each CPU has a period of its own, fixed for ever, 3 to 10 % off 1/F (docs/sampling.md):
 *
 *	CPU 0	50 ms + 4.7 %	CPU 1	50 ms - 4.7 %
 *	CPU 2	50 ms + 9.0 %	CPU 3	50 ms - 9.0 %	...
 *
 * The two of a pair have 1/F as their mean. How far they are off is the golden ratio's sequence,
 * which fills the range evenly however many there are, without the steps by which a period would
 * come near to a small fraction or multiple of the periods that programs have. A function of
 * frequency and CPU number alone: a CPU that was away comes back with the period it had.
 */
#ifndef EP_BPF_PERIOD_H
#define EP_BPF_PERIOD_H

#include "core/base/util.h"

/* No timer of the kernel is shorter than 10 us: perf_swevent_hrtimer, linux/kernel/events/core.c. */
#define EP_PERIOD_MAX_FREQ_HZ 10000

struct ep_periods;

/* For CPUs 0 .. n_cpus - 1 at 1 .. EP_PERIOD_MAX_FREQ_HZ. 0, -EINVAL, -ENOMEM. */
int ep_periods_new(uint32_t freq_hz, uint32_t n_cpus, struct ep_periods **ret_periods);
void ep_periods_free(struct ep_periods *periods); /* accepts NULL */
/* A CPU beyond those given has 1/F. */
uint64_t ep_periods_get(const struct ep_periods *periods, uint32_t cpu);

/*
 * Whether a clock of this period beats with what repeats each other_ns: whether p periods of the
 * one are nearly q of the other, for any p and a q of at most 32. A clock that ticks many times
 * meanwhile does not. Neither is 0.
 */
bool ep_period_beats(uint64_t period_ns, uint64_t other_ns);

#endif
