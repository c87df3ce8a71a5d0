/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks that never came: a simulated clock, looked at now and then. */
#include "core/base/clock.h"
#include "core/bpf/idle.h"
#include "core/bpf/missed.h"
#include "tests/kit/test.h"

#include <string.h>

#define PERIOD_NS 50000000ull
#define START_NS  777777777ull

/* A timer that ticks each period, but for the times that something else is said of. */
struct clock {
	struct ep_missed missed;
	uint64_t now_ns;
	uint64_t next_ns;  /* when the next tick is due */
	uint64_t armed_ns;
	uint64_t idle_ns;
	struct ep_ticks ticks;
};

static void clock_begin(struct clock *clock)
{
	struct ep_missed_look first = {.before_ns = START_NS, .behind_ns = START_NS};

	*clock = (struct clock){.now_ns = START_NS, .next_ns = START_NS + PERIOD_NS};
	clock->ticks = (struct ep_ticks){.sampled = 7, .filtered = 8, .idle = 9};
	first.ticks = clock->ticks; /* of an earlier event on this CPU */
	ep_missed_begin(&clock->missed, PERIOD_NS, &first);
}

static void pass(struct clock *clock, uint64_t ns)
{
	clock->now_ns += ns;
	clock->armed_ns += ns;
}

static void run(struct clock *clock, uint64_t ns, uint64_t *what)
{
	pass(clock, ns);
	for (; clock->next_ns <= clock->now_ns; clock->next_ns += PERIOD_NS)
		(*what)++;
}

/* The CPU was taken away: one tick for all that were due meanwhile (hrtimer_forward_now). */
static void steal(struct clock *clock, uint64_t ns)
{
	pass(clock, ns);
	if (clock->next_ns > clock->now_ns)
		return;
	clock->ticks.sampled++;
	while (clock->next_ns <= clock->now_ns)
		clock->next_ns += PERIOD_NS;
}

static void look(struct clock *clock, bool is_last)
{
	struct ep_missed_look look = {
		.before_ns = clock->now_ns,
		.behind_ns = clock->now_ns + 100000,
		.armed_ns = clock->armed_ns,
		.idle_ns = clock->idle_ns,
		.ticks = clock->ticks,
	};

	ep_missed_look(&clock->missed, &look, is_last);
}

EP_TEST(a_clock_that_ticks_misses_nothing)
{
	struct clock clock;

	clock_begin(&clock);
	for (int i = 0; i < 10000; i++) {
		run(&clock, 123456789, i % 3 ? &clock.ticks.sampled : &clock.ticks.idle);
		look(&clock, false);
	}
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 0);
	assert_int_equal(ep_missed_lost(&clock.missed), 0);
}

EP_TEST(stolen_ticks_are_missed_once)
{
	struct clock clock;

	clock_begin(&clock);
	run(&clock, EP_NS_PER_SEC, &clock.ticks.sampled);
	steal(&clock, 4 * PERIOD_NS + 1000); /* one tick, which came late: three are missing */
	look(&clock, false);
	assert_int_equal(clock.missed.ticks, 0); /* they may be late */
	for (int i = 0; i < 5; i++) {
		run(&clock, EP_NS_PER_SEC, &clock.ticks.sampled);
		look(&clock, false);
		assert_int_equal(clock.missed.ticks, 3);
	}
	steal(&clock, 2 * PERIOD_NS);
	look(&clock, true);
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 4);
	assert_int_equal(ep_missed_lost(&clock.missed), 4);
}

/* It is due and has not come, since its CPU is away or has interrupts off while we look. */
EP_TEST(a_late_tick_is_not_missed)
{
	struct clock clock;

	clock_begin(&clock);
	for (int i = 0; i < 100; i++) {
		run(&clock, EP_NS_PER_SEC, &clock.ticks.sampled);
		pass(&clock, clock.next_ns - clock.now_ns + 1000);
		look(&clock, false);
		run(&clock, 0, &clock.ticks.sampled);
		look(&clock, false);
	}
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 0);
}

/* It sleeps without ticks of its own clock, and those of ours do not come either. */
EP_TEST(ticks_of_an_idle_cpu_are_no_samples)
{
	struct clock clock;

	clock_begin(&clock);
	for (int i = 0; i < 10; i++) {
		run(&clock, EP_NS_PER_SEC, &clock.ticks.sampled);
		steal(&clock, EP_NS_PER_SEC);
		clock.idle_ns += EP_NS_PER_SEC;
		look(&clock, false);
	}
	look(&clock, true);
	assert_in_range(clock.missed.ticks, 180, 200);
	assert_int_equal(ep_missed_lost(&clock.missed), 0);
	steal(&clock, EP_NS_PER_SEC); /* and now it was not idle */
	look(&clock, true);
	look(&clock, true);
	assert_in_range(ep_missed_lost(&clock.missed), 8, 20);
}

EP_TEST(idle_time_is_read_by_cpu)
{
	static const char text[] = "cpu  1 2 3 4 5 6\ncpu0 10 0 20 300 40 1\ncpu2 1 1 1 7 0 0 0\nintr 5\n";
	ep_cleanup(ep_vec_fini) struct ep_vec idle;

	ep_idle_init(&idle);
	assert_int_equal(ep_idle_parse(&idle, text, strlen(text)), 0);
	assert_int_equal(ep_idle_get(&idle, 0), 3400000000ull);
	assert_int_equal(ep_idle_get(&idle, 1), 0);
	assert_int_equal(ep_idle_get(&idle, 2), 70000000ull);
	assert_int_equal(ep_idle_get(&idle, 3), 0);
	assert_true(ep_idle_parse(&idle, "cpu0 1 2\n", 9) < 0);
}

EP_TEST(time_away_is_nobodys)
{
	struct clock clock;

	clock_begin(&clock);
	run(&clock, EP_NS_PER_SEC, &clock.ticks.sampled);
	look(&clock, false);
	clock.now_ns += 3 * EP_NS_PER_SEC; /* offline: the event does not get older */
	look(&clock, false);
	clock.now_ns += EP_NS_PER_SEC;
	look(&clock, false);
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 0);
}

/* /proc/stat has no line of it then: that its idle time is 0 makes it not busy. */
EP_TEST(idle_time_of_a_cpu_that_is_away_stays)
{
	struct clock clock;

	clock_begin(&clock);
	run(&clock, EP_NS_PER_SEC, &clock.ticks.sampled);
	steal(&clock, 9 * EP_NS_PER_SEC);
	clock.idle_ns += 9 * EP_NS_PER_SEC;
	look(&clock, false);
	clock.idle_ns = 0;
	look(&clock, false);
	look(&clock, true);
	assert_in_range(clock.missed.ticks, 170, 190);
	assert_int_equal(ep_missed_lost(&clock.missed), 0);
}

/* Throttled for a while, it ticks at once when it goes on, and each period from then on. */
EP_TEST(a_grid_that_moved_hides_nothing)
{
	struct clock clock;

	clock_begin(&clock);
	for (int i = 0; i < 20; i++) {
		run(&clock, EP_NS_PER_SEC, &clock.ticks.sampled);
		clock.now_ns += 4000000;
		clock.ticks.sampled++;
		clock.next_ns = clock.now_ns + PERIOD_NS;
		look(&clock, false);
	}
	assert_int_equal(clock.missed.ticks, 0);
	steal(&clock, 10 * PERIOD_NS);
	look(&clock, false);
	look(&clock, false);
	assert_in_range(clock.missed.ticks, 8, 9);
}

EP_TEST(lost_samples_are_the_wanted_share)
{
	struct clock clock;

	clock_begin(&clock);
	run(&clock, 100 * PERIOD_NS, &clock.ticks.sampled);
	run(&clock, 300 * PERIOD_NS, &clock.ticks.filtered);
	run(&clock, 1000 * PERIOD_NS, &clock.ticks.idle);
	steal(&clock, 42 * PERIOD_NS);
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 41);
	assert_int_equal(ep_missed_lost(&clock.missed), 10);
}

EP_TEST(an_idle_cpu_loses_no_samples)
{
	struct clock clock;

	clock_begin(&clock);
	run(&clock, 10 * PERIOD_NS, &clock.ticks.idle);
	pass(&clock, 10 * PERIOD_NS);
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 10);
	assert_int_equal(ep_missed_lost(&clock.missed), 0);
}

/* The clock that tells how long it was armed is 300 ppm slow; the timer does not follow it. */
EP_TEST(clocks_may_differ)
{
	struct clock clock;

	clock_begin(&clock);
	for (int i = 0; i < 20000; i++) { /* a day */
		run(&clock, 5 * EP_NS_PER_SEC, &clock.ticks.idle);
		clock.armed_ns -= 5 * EP_NS_PER_SEC / 1000000 * 300;
		look(&clock, false);
	}
	assert_int_equal(clock.missed.ticks, 0);
	steal(&clock, 5 * PERIOD_NS);
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 4);
}
