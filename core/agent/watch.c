/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/watch.h"
#include "core/base/clock.h"
#include "core/base/util.h"

#define REST_FACTOR 20
/*
 * What wakes us now and then is seen to at once, since a program that was executed maps its
 * libraries in the next moments; what does all the time no more than some 40 times a second.
 * After the part of a long pause that covers what was done, such programs are seen to all the same
 * in which a language was met before: they may live for 0.1 s, and their frames cannot be walked
 * later. A look for one takes some 0.1 ms. While recently started programs of languages do what is
 * new, pauses are shorter: names of theirs are gone when they are.
 */
#define SHORT_REST_MS	       2
#define LONG_REST_MS	       25
#define YOUNG_REST_MS	       8
#define PER_SECOND(n, at_once) {.unit_ns = EP_NS_PER_SEC / (n), .burst = (at_once)}
static const struct ep_rate short_rests_rate = EP_WATCH_SHORT_RESTS;
static const struct ep_rate execs_rate = PER_SECOND(40, 80);
static const struct ep_rate young_rate = PER_SECOND(60, 240);
/* Where it is woken for nothing so often, mappings are looked for in turns of LONG_REST_MS. */
static const struct ep_rate peeks_rate = PER_SECOND(10, 20);

static void on_paused(uv_timer_t *timer);
static void on_rested(uv_timer_t *timer);
static void on_dozed(uv_timer_t *timer);

static void start_timer(struct ep_watch *watch, uv_timer_cb then, uint64_t ms)
{
	uv_timer_start(&watch->rest, then, EP_MAX(EP_MIN(ms, (uint64_t)watch->options.max_rest_ms), 1u), 0);
}

static void rest(struct ep_watch *watch, uint64_t ms)
{
	watch->options.control->asleep = 0;
	uv_timer_stop(&watch->pause);
	for (size_t i = 0; i < watch->n_polls; i++)
		uv_poll_stop(&watch->polls[i]);
	start_timer(watch, on_rested, ms);
}

/* The least rest where something wakes us all the time. */
static uint64_t long_rest_ms(struct ep_watch *watch)
{
	uint32_t young = __atomic_exchange_n(&watch->options.control->young, 0, __ATOMIC_ACQ_REL);

	if (young && ep_bucket_take(&watch->young, young_rate, ep_clock_mono_ns()))
		return YOUNG_REST_MS;
	return EP_MIN(LONG_REST_MS, watch->options.max_rest_ms);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct ep_watch *watch = poll->data;
	uint64_t spent_ns, rest_ms, long_ms = long_rest_ms(watch);

	(void)status, (void)events;
	watch->wakes++;
	(void)watch->options.look(watch->options.arg);
	spent_ns = ep_clock_thread_cpu_ns() - watch->cpu_ns;
	rest_ms = REST_FACTOR * spent_ns / EP_NS_PER_MS;
	watch->doze_ms = 0;
	if (ep_bucket_take(&watch->short_rests, short_rests_rate, ep_clock_mono_ns()))
		rest_ms = EP_MIN(rest_ms, (uint64_t)SHORT_REST_MS);
	else if (rest_ms < long_ms)
		watch->doze_ms = long_ms - rest_ms;
	rest(watch, rest_ms);
}

/* Its records stay where they are: the next look has them. */
static void on_side(uv_poll_t *poll, int status, int events)
{
	struct ep_watch *watch = poll->data;

	if (!watch->options.matters || watch->options.matters(watch->options.arg)) {
		on_poll(poll, status, events);
		return;
	}
	watch->peeks++;
	if (ep_bucket_take(&watch->free_peeks, peeks_rate, ep_clock_mono_ns()))
		return; /* cheaper than a pause, if there are few */
	uv_poll_stop(poll);
	uv_timer_start(&watch->pause, on_paused, EP_MIN(LONG_REST_MS, watch->options.max_rest_ms), 0);
}

/* While it is idle: a delay ends the pause. */
static void on_paused(uv_timer_t *timer)
{
	struct ep_watch *watch = timer->data;

	uv_poll_start(watch->side, UV_READABLE, on_side);
}

static void sleep_again(struct ep_watch *watch)
{
	watch->cpu_ns = ep_clock_thread_cpu_ns();
	for (size_t i = 0; i < watch->n_polls; i++) {
		uv_poll_t *poll = &watch->polls[i];

		uv_poll_start(poll, UV_READABLE, poll == watch->side ? on_side : on_poll);
	}
	watch->options.control->asleep = 1;
}

/* While nothing else wakes us. Where there are too many, the rest goes on. */
static void on_exec(uv_poll_t *poll, int status, int events)
{
	struct ep_watch *watch = poll->data;

	if (ep_bucket_take(&watch->execs, execs_rate, ep_clock_mono_ns()))
		on_poll(poll, status, events);
	else
		uv_poll_stop(poll);
}

static void on_dozed(uv_timer_t *timer)
{
	struct ep_watch *watch = timer->data;

	if (watch->options.look(watch->options.arg))
		rest(watch, 1);
	else
		sleep_again(watch);
}

static void on_rested(uv_timer_t *timer)
{
	struct ep_watch *watch = timer->data;

	if (!watch->doze_ms) {
		on_dozed(timer);
		return;
	}
	watch->cpu_ns = ep_clock_thread_cpu_ns();
	uv_poll_start(&watch->polls[0], UV_READABLE, on_exec);
	start_timer(watch, on_dozed, watch->doze_ms);
	watch->doze_ms = 0;
}

static void on_tick(uv_timer_t *timer)
{
	struct ep_watch *watch = timer->data;

	(void)watch->options.look(watch->options.arg);
	watch->options.tick(watch->options.arg);
}

static int add_poll(struct ep_watch *watch, int fd)
{
	int r = fd < 0 ? 0 : uv_poll_init(watch->options.loop, &watch->polls[watch->n_polls], fd);

	if (fd < 0 || r < 0)
		return r;
	watch->polls[watch->n_polls++].data = watch;
	return 0;
}

int ep_watch_init(struct ep_watch *watch, const struct ep_watch_options *options)
{
	int r;

	*watch = (struct ep_watch){.options = *options};
	uv_timer_init(options->loop, &watch->rest);
	uv_timer_init(options->loop, &watch->ticks);
	uv_timer_init(options->loop, &watch->pause);
	watch->rest.data = watch->pause.data = watch;
	watch->ticks.data = watch;
	r = add_poll(watch, options->exec_fd);
	if (r == 0)
		r = add_poll(watch, options->ring_fd);
	if (r == 0)
		r = add_poll(watch, options->side_fd);
	if (r == 0 && options->side_fd >= 0)
		watch->side = &watch->polls[watch->n_polls - 1];
	return r;
}

void ep_watch_start(struct ep_watch *watch)
{
	uv_timer_start(&watch->ticks, on_tick, EP_WATCH_TICK_MS, EP_WATCH_TICK_MS);
	sleep_again(watch);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void ep_watch_close(struct ep_watch *watch)
{
	watch->options.control->asleep = 0;
	close_handle((uv_handle_t *)&watch->rest);
	close_handle((uv_handle_t *)&watch->ticks);
	close_handle((uv_handle_t *)&watch->pause);
	for (size_t i = 0; i < watch->n_polls; i++)
		close_handle((uv_handle_t *)&watch->polls[i]);
}
