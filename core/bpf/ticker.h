/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling clock of one CPU: a perf event with a fixed period that runs the entry program at
 * each tick, and what is known of ticks that never came. Embedded, one thread.
 *
 * A period is never changed while the clock runs: PERF_EVENT_IOC_PERIOD stops and starts the timer
 * on its CPU and forgets how far the period had come (__perf_event_period, kernel/events/core.c).
 */
#ifndef EP_BPF_TICKER_H
#define EP_BPF_TICKER_H

#include "core/bpf/missed.h"

struct ep_ticker {
	uint32_t cpu;
	int fd;
	uint64_t period_ns;
	bool is_started;
	uint64_t stopped_ns; /* CLOCK_MONOTONIC; 0: it runs */
	struct ep_missed missed;
	struct ep_missed_look look; /* begun, and not ended yet */
};

/*
 * Not ticking yet. 0 or what perf_event_open reported: -ENODEV when there is no such CPU (any
 * more).
 */
int ep_ticker_open(uint32_t cpu, uint64_t period_ns, int program_fd, struct ep_ticker *ret_ticker);
void ep_ticker_close(struct ep_ticker *ticker);

/* What its CPU's ticks had found until now, and how long it was idle. 0 or a negative errno. */
int ep_ticker_start(struct ep_ticker *ticker, const struct ep_ticks *before, uint64_t idle_ns);
void ep_ticker_stop(struct ep_ticker *ticker);

/*
 * An event does not survive its CPU going offline, even if the CPU is back before anybody looks: it
 * then stands still. A running one gets older from one read to the next. Two interrupts on its CPU.
 */
bool ep_ticker_is_alive(const struct ep_ticker *ticker);

/*
 * Looks for missed ticks: begin, then read the ticks of all CPUs, then end. The look at a clock
 * that was stopped, or is dead, is the last one. `throttles`: the kernel allows fewer samples than
 * the clock makes, so that what it suppresses is missing too. An interrupt on its CPU.
 */
void ep_ticker_begin_look(struct ep_ticker *ticker, bool throttles);
void ep_ticker_end_look(struct ep_ticker *ticker, const struct ep_ticks *ticks, uint64_t idle_ns,
			bool is_last);

#endif
