/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/timer.h"
#include "core/base/clock.h"
#include "core/base/util.h"

static void on_timer(uv_timer_t *handle);

/* For the first one: a timer that fires early only arms itself once more. */
static void arm(struct ep_timer *timer, uint64_t least_ms)
{
	uint64_t now_ns = ep_clock_mono_ns(), first_ns, wait_ms;

	if (timer->stopped || timer->running_ns || !timer->queue.first)
		return;
	first_ns = EP_MAX(timer->queue.first->at_ns, now_ns);
	wait_ms = (first_ns - now_ns + EP_NS_PER_MS - 1) / EP_NS_PER_MS;
	/* It counts from the turn's begin, which may be long ago. */
	uv_update_time(timer->handle.loop);
	uv_timer_start(&timer->handle, on_timer, EP_MAX(wait_ms, least_ms), 0);
}

/* What one sets anew waits for another turn of the loop, which comes to rings in between. */
static void on_timer(uv_timer_t *handle)
{
	struct ep_timer *timer = handle->data;
	struct ep_due *due;

	timer->running_ns = ep_clock_mono_ns();
	while ((due = timer->queue.first) != NULL && due->at_ns <= timer->running_ns) {
		struct ep_timeout *timeout = EP_CONTAINER(due, struct ep_timeout, due);

		ep_due_unset(&timer->queue, due);
		timeout->run(timeout->arg);
	}
	timer->running_ns = 0;
	arm(timer, 1);
}

void ep_timer_init(struct ep_timer *timer, struct uv_loop_s *loop)
{
	*timer = (struct ep_timer){0};
	uv_timer_init(loop, &timer->handle);
	timer->handle.data = timer;
}

void ep_timer_stop(struct ep_timer *timer)
{
	timer->stopped = true;
	uv_close((uv_handle_t *)&timer->handle, NULL);
}

void ep_timer_set(struct ep_timer *timer, struct ep_timeout *timeout, uint64_t at_ns)
{
	if (at_ns == UINT64_MAX) {
		ep_timer_unset(timer, timeout);
		return;
	}
	ep_due_set(&timer->queue, &timeout->due, EP_MAX(at_ns, timer->running_ns + 1));
	if (timer->queue.first == &timeout->due)
		arm(timer, 0);
}

void ep_timer_unset(struct ep_timer *timer, struct ep_timeout *timeout)
{
	ep_due_unset(&timer->queue, &timeout->due);
}
