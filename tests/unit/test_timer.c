/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/timer.h"
#include "core/base/clock.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#define MS EP_NS_PER_MS

static struct {
	uv_loop_t loop;
	struct ep_timer timer;
	struct waiter {
		struct ep_timeout timeout;
		uint64_t at_ns;
		int n_run, nth;
		uint64_t again_ns; /* it is set once more, when it runs */
	} waiters[4];
	int n_run;
} world;

static void run(void *arg)
{
	struct waiter *waiter = arg;

	assert_true(ep_clock_mono_ns() >= waiter->at_ns);
	assert_false(ep_timeout_is_set(&waiter->timeout));
	waiter->n_run++;
	waiter->nth = world.n_run++;
	if (waiter->again_ns)
		ep_timer_set(&world.timer, &waiter->timeout, waiter->again_ns);
	waiter->again_ns = 0;
}

static int world_open(void **state)
{
	memset(&world, 0, sizeof(world));
	assert_int_equal(uv_loop_init(&world.loop), 0);
	ep_timer_init(&world.timer, &world.loop);
	for (size_t i = 0; i < EP_LEN(world.waiters); i++)
		world.waiters[i].timeout =
			(struct ep_timeout){.run = run, .arg = &world.waiters[i]};
	return 0;
}

static int world_close(void **state)
{
	ep_timer_stop(&world.timer);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&world.loop), 0);
	return 0;
}

static void set(size_t i, uint64_t after_ns)
{
	world.waiters[i].at_ns = ep_clock_mono_ns() + after_ns;
	ep_timer_set(&world.timer, &world.waiters[i].timeout, world.waiters[i].at_ns);
}

EP_TEST_WITH(each_runs_once_in_order_and_never_early, world_open, world_close)
{
	set(0, 30 * MS);
	set(1, 10 * MS);
	set(2, 20 * MS);
	set(2, 1 * MS); /* earlier now */
	set(3, 5 * MS);
	ep_timer_set(&world.timer, &world.waiters[3].timeout, UINT64_MAX);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	assert_int_equal(world.waiters[0].nth, 2);
	assert_int_equal(world.waiters[1].nth, 1);
	assert_int_equal(world.waiters[2].nth, 0);
	assert_int_equal(world.n_run, 3);
}

/* Also what is set for a time that has passed: else the loop would not go on. */
EP_TEST_WITH(what_is_set_while_it_runs_waits_for_the_next_turn, world_open, world_close)
{
	set(0, 0);
	world.waiters[0].again_ns = 1;
	(void)uv_run(&world.loop, UV_RUN_NOWAIT);
	assert_int_equal(world.waiters[0].n_run, 1);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	assert_int_equal(world.waiters[0].n_run, 2);
}

EP_TEST_WITH(nothing_runs_after_the_end, world_open, world_close)
{
	set(0, 0);
	ep_timer_stop(&world.timer);
	set(1, 0);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	assert_int_equal(world.n_run, 0);
	ep_timer_init(&world.timer, &world.loop); /* is closed after the test */
}
