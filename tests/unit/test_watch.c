/* SPDX-License-Identifier: Apache-2.0 */
/* When the kernel's records are looked at: what wakes whom out of which rest, and what it costs at most. */
#include "core/agent/watch.h"
#include "core/base/clock.h"
#include "tests/kit/test.h"

#include <sys/eventfd.h>
#include <unistd.h>

#define MAX_LOOKS 4096
#define TRIES	  200
/* LONG_REST_MS of watch.c. No rest is shorter than its timer says, but for the loop's clock, of whole ms. */
#define LONG_NS	   ((25 - 2) * EP_NS_PER_MS)
#define SHORTER_NS ((8 - 2) * EP_NS_PER_MS) /* YOUNG_REST_MS */

struct world {
	uv_loop_t loop;
	struct ep_watch watch;
	struct ep_control control;
	int ring_fd, side_fd, exec_fd;
	uint64_t burn_ns;  /* of each look */
	uint64_t look_ns;  /* when the last one was over */
	uint64_t rests_ns[MAX_LOOKS]; /* between that and the next */
	size_t n_looks;
	bool is_behind; /* each look leaves something for the next */
	bool matters; /* what the side-band has */
	bool young; /* there is something new of recently started programs in each look */
};

static void burn(uint64_t ns)
{
	uint64_t end_ns = ep_clock_thread_cpu_ns() + ns;

	while (ep_clock_thread_cpu_ns() < end_ns)
		;
}

/* An exec is reported once; what else there is never ends. */
static bool look(void *arg)
{
	struct world *world = arg;
	uint64_t now_ns = ep_clock_mono_ns(), value;

	if (world->n_looks < MAX_LOOKS)
		world->rests_ns[world->n_looks++] = now_ns - world->look_ns;
	(void)read(world->exec_fd, &value, sizeof(value));
	world->control.young = world->young;
	burn(world->burn_ns);
	world->look_ns = ep_clock_mono_ns();
	return world->is_behind;
}

static bool matters(void *arg)
{
	return ((struct world *)arg)->matters;
}

static void tick(void *arg)
{
}

static void tell(int fd)
{
	uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

static int start(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct ep_watch_options options = {
		.loop = &world->loop,
		.control = &world->control,
		.max_rest_ms = 200,
		.look = look,
		.tick = tick,
		.arg = world,
	};

	uv_loop_init(&world->loop);
	options.ring_fd = world->ring_fd = eventfd(0, EFD_NONBLOCK);
	options.side_fd = world->side_fd = eventfd(0, EFD_NONBLOCK);
	options.exec_fd = world->exec_fd = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(ep_watch_init(&world->watch, &options), 0);
	*state = world;
	return 0;
}

static int stop(void **state)
{
	ep_autofree struct world *world = *state;

	ep_watch_close(&world->watch);
	uv_run(&world->loop, UV_RUN_DEFAULT);
	uv_loop_close(&world->loop);
	close(world->ring_fd);
	close(world->side_fd);
	close(world->exec_fd);
	return 0;
}

/* The next look, and how long after the one before. */
static uint64_t next_rest(struct world *world)
{
	size_t n = world->n_looks;

	assert_true(n < MAX_LOOKS);
	while (world->n_looks == n)
		uv_run(&world->loop, UV_RUN_ONCE);
	return world->rests_ns[n];
}

static bool is_tired(const struct world *world)
{
	static const struct ep_rate rate = EP_WATCH_SHORT_RESTS;

	return ep_bucket_wait_ns(&world->watch.short_rests, rate, 1, ep_clock_mono_ns()) > 0;
}

/* What wakes it all the time has used up the short pauses. */
static void tire(struct world *world)
{
	tell(world->ring_fd);
	ep_watch_start(&world->watch);
	for (unsigned int i = 0; i < TRIES && !is_tired(world); i++)
		(void)next_rest(world);
	assert_true(is_tired(world));
}

static bool is_long(uint64_t ns)
{
	return ns >= LONG_NS;
}

#define WORLD_TEST(name) EP_TEST_ON(name, struct world *world, start, stop)

/* A ring that always has something is looked at after a long rest, which nothing shortens. */
WORLD_TEST(samples_wait)
{
	unsigned int n_long = 0;

	tire(world);
	tell(world->side_fd);
	for (unsigned int i = 0; i < 20; i++)
		n_long += is_long(next_rest(world));
	/* Each second look finds the ring ready, and ten short pauses a second are saved up. */
	assert_in_range(n_long, 4, 20);
}

/* What a look at the end of a rest leaves is soon looked at: no second rest of that kind follows. */
WORLD_TEST(what_is_left_is_soon_looked_at)
{
	unsigned int n_long = 0;

	tire(world);
	for (unsigned int i = 0; i < TRIES && !world->watch.doze_ms; i++)
		(void)next_rest(world);
	assert_true(world->watch.doze_ms > 0);
	world->is_behind = true;
	for (unsigned int i = 0; i < 20; i++)
		n_long += is_long(next_rest(world));
	assert_in_range(n_long, 0, 4);
}

/* Of many execs one at least, on a machine that has other things to do. */
WORLD_TEST(an_exec_is_seen_to)
{
	unsigned int n_short = 0;

	tire(world);
	for (unsigned int i = 0; i < TRIES && n_short < 3; i++) {
		/* No delay runs, it is idle: anything wakes it. */
		while (uv_is_active((const uv_handle_t *)&world->watch.polls[1]))
			(void)next_rest(world);
		tell(world->exec_fd);
		n_short += !is_long(next_rest(world));
	}
	assert_int_equal(n_short, 3);
}

/* As long as there are not too many of them. */
WORLD_TEST(names_of_young_programs_are_soon_looked_for)
{
	unsigned int n_short = 0, n_long = 0;

	tire(world);
	world->young = true;
	for (unsigned int i = 0; i < TRIES && n_short < 3; i++) {
		uint64_t ns = next_rest(world);

		n_short += ns >= SHORTER_NS && !is_long(ns);
	}
	assert_int_equal(n_short, 3);
	world->watch.young.paid_ns = UINT64_MAX;
	(void)next_rest(world);
	for (unsigned int i = 0; i < 20; i++)
		n_long += is_long(next_rest(world));
	assert_in_range(n_long, 4, 20);
}

/* Of programs that live for some ms each nothing is to be had. */
WORLD_TEST(too_many_execs_wait)
{
	unsigned int n_long = 0;

	tire(world);
	world->watch.execs.paid_ns = UINT64_MAX;
	for (unsigned int i = 0; i < 20; i++) {
		tell(world->exec_fd);
		n_long += is_long(next_rest(world));
	}
	assert_in_range(n_long, 4, 20);
}

/* What wakes it cannot make it take more than a twentieth of a CPU. */
WORLD_TEST(execs_are_paid_for)
{
	uint64_t start_ns, allowed;
	unsigned int n_cheap = 0;

	tire(world);
	world->burn_ns = EP_NS_PER_MS;
	tell(world->exec_fd);
	(void)next_rest(world);
	start_ns = ep_clock_mono_ns();
	for (unsigned int i = 0; i < 12; i++) {
		tell(world->exec_fd);
		n_cheap += next_rest(world) < 8 * EP_NS_PER_MS;
	}
	/* Ten short pauses a second come back, and the look at the end of a rest is not covered. */
	allowed = 1 + 10 * (ep_clock_mono_ns() - start_ns) / EP_NS_PER_SEC;
	assert_true(n_cheap <= 6 + allowed);
}

/* Nothing was idle: an exec is not what user space lies in wait for. */
WORLD_TEST(the_kernel_wakes_sleepers_alone)
{
	ep_watch_start(&world->watch);
	assert_int_equal(world->control.asleep, 1);
	tell(world->exec_fd);
	(void)next_rest(world);
	assert_int_equal(world->control.asleep, 0);
}

/* What it is woken for is of others: as often as it likes, nothing is looked at. */
WORLD_TEST(mappings_of_others_wait)
{
	world->watch.options.matters = matters;
	world->watch.options.max_rest_ms = 1;
	tell(world->side_fd);
	ep_watch_start(&world->watch);
	uv_timer_stop(&world->watch.ticks);
	while (world->watch.peeks < 60)
		uv_run(&world->loop, UV_RUN_ONCE);
	assert_int_equal(world->n_looks, 0);
	assert_int_equal(world->control.asleep, 1);
	world->matters = true;
	(void)next_rest(world);
	assert_int_equal(world->watch.wakes, 1);
}

/* In a pause of the side-band all else wakes it, and after the rest the side-band does again. */
WORLD_TEST(a_pause_is_the_side_bands_alone)
{
	world->watch.options.matters = matters;
	tell(world->side_fd);
	ep_watch_start(&world->watch);
	uv_timer_stop(&world->watch.ticks);
	while (!uv_is_active((const uv_handle_t *)&world->watch.pause))
		uv_run(&world->loop, UV_RUN_ONCE);
	assert_int_equal(world->n_looks, 0);
	tell(world->ring_fd);
	(void)next_rest(world);
	assert_int_equal(world->watch.wakes, 1);
	assert_false(uv_is_active((const uv_handle_t *)&world->watch.pause));
	world->matters = true;
	while (world->watch.wakes < 3)
		(void)next_rest(world);
}
