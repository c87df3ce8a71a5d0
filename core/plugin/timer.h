/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be done at a time, on the loop's thread: one timer of the loop for all of that
 * (core/base/due.h). Times are CLOCK_MONOTONIC; the timer has milliseconds and is never early.
 */
#ifndef EP_PLUGIN_TIMER_H
#define EP_PLUGIN_TIMER_H

#include "core/base/due.h"

#include <uv.h>

/* Embedded in what waits; all but these two zeroed at first. */
struct ep_timeout {
	void (*run)(void *arg);
	void *arg;
	struct ep_due due;
};

struct ep_timer {
	struct ep_due_queue queue;
	uv_timer_t handle;
	uint64_t running_ns; /* while timeouts are run: the time of that; else 0 */
	bool stopped;
};

void ep_timer_init(struct ep_timer *timer, struct uv_loop_s *loop);
/* From here on nothing is run; the loop must run once more before the timer's memory goes. */
void ep_timer_stop(struct ep_timer *timer);
/* Runs it once, then or later. Also moves it; UINT64_MAX takes it back. */
void ep_timer_set(struct ep_timer *timer, struct ep_timeout *timeout, uint64_t at_ns);
void ep_timer_unset(struct ep_timer *timer, struct ep_timeout *timeout);

static inline bool ep_timeout_is_set(const struct ep_timeout *timeout)
{
	return ep_due_is_set(&timeout->due);
}

#endif
