/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks that never came: a simulated clock, looked at now and then. */
#include "core/base/clock.h"
#include "core/bpf/idle.h"
#include "core/bpf/missed.h"
#include "tests/kit/test.h"

#define PERIOD_NS 50000000ull
#define START_NS  777777777ull

/* A timer that ticks each period, but for the times that something else is reported of. */
struct clock {
	struct ep_missed missed;
	uint64_t now_ns;
	uint64_t next_ns;  /* when the next tick is due */
	uint64_t armed_ns;
	uint64_t idle_ns;
	struct ep_ticks ticks;
};

static struct clock the_clock;

static int begin(void **state)
{
	struct ep_missed_look first = {.before_ns = START_NS, .behind_ns = START_NS};

	the_clock = (struct clock){.now_ns = START_NS, .next_ns = START_NS + PERIOD_NS};
	the_clock.ticks = (struct ep_ticks){.sampled = 7, .filtered = 8, .idle = 9};
	first.ticks = the_clock.ticks; /* of an earlier event on this CPU */
	ep_missed_begin(&the_clock.missed, PERIOD_NS, &first);
	return 0;
}

static void pass(uint64_t ns)
{
	the_clock.now_ns += ns;
	the_clock.armed_ns += ns;
}

static void run(uint64_t ns, uint64_t *what)
{
	pass(ns);
	for (; the_clock.next_ns <= the_clock.now_ns; the_clock.next_ns += PERIOD_NS)
		(*what)++;
}

/* The CPU was taken away: one tick for all that were due meanwhile (hrtimer_forward_now). */
static void steal(uint64_t ns)
{
	pass(ns);
	if (the_clock.next_ns > the_clock.now_ns)
		return;
	the_clock.ticks.sampled++;
	while (the_clock.next_ns <= the_clock.now_ns)
		the_clock.next_ns += PERIOD_NS;
}

/* Ticks that fall into a walk; BPF counts them when it ends, and one that nobody knows of never. */
static void walk(uint64_t ticks)
{
	pass(ticks * PERIOD_NS);
	the_clock.next_ns += ticks * PERIOD_NS;
}

static void look(bool is_last)
{
	struct ep_missed_look look = {
		.before_ns = the_clock.now_ns,
		.behind_ns = the_clock.now_ns + 100000,
		.armed_ns = the_clock.armed_ns,
		.idle_ns = the_clock.idle_ns,
		.ticks = the_clock.ticks,
	};

	ep_missed_look(&the_clock.missed, &look, is_last);
}

EP_TEST_WITH(a_clock_that_ticks_misses_nothing, begin, NULL)
{
	for (int i = 0; i < 10000; i++) {
		run(123456789, i % 3 ? &the_clock.ticks.sampled : &the_clock.ticks.idle);
		look(false);
	}
	look(true);
	assert_int_equal(the_clock.missed.ticks, 0);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 0);
}

EP_TEST_WITH(stolen_ticks_are_missed_once, begin, NULL)
{
	run(EP_NS_PER_SEC, &the_clock.ticks.sampled);
	steal(4 * PERIOD_NS + 1000); /* one tick, which came late: three are missing */
	look(false);
	assert_int_equal(the_clock.missed.ticks, 0); /* they may be late */
	for (int i = 0; i < 5; i++) {
		run(EP_NS_PER_SEC, &the_clock.ticks.sampled);
		look(false);
		assert_int_equal(the_clock.missed.ticks, 3);
	}
	steal(2 * PERIOD_NS);
	look(true);
	look(true);
	assert_int_equal(the_clock.missed.ticks, 4);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 4);
}

/* It is due and has not come, since its CPU is away or has interrupts off while we look. */
EP_TEST_WITH(a_late_tick_is_not_missed, begin, NULL)
{
	for (int i = 0; i < 100; i++) {
		run(EP_NS_PER_SEC, &the_clock.ticks.sampled);
		pass(the_clock.next_ns - the_clock.now_ns + 1000);
		look(false);
		run(0, &the_clock.ticks.sampled);
		look(false);
	}
	look(true);
	assert_int_equal(the_clock.missed.ticks, 0);
}

/* It sleeps without ticks of its own clock, and those of ours do not come either. */
EP_TEST_WITH(ticks_of_an_idle_cpu_are_no_samples, begin, NULL)
{
	for (int i = 0; i < 10; i++) {
		run(EP_NS_PER_SEC, &the_clock.ticks.sampled);
		steal(EP_NS_PER_SEC);
		the_clock.idle_ns += EP_NS_PER_SEC;
		look(false);
	}
	look(true);
	assert_in_range(the_clock.missed.ticks, 180, 200);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 0);
	steal(EP_NS_PER_SEC); /* and now it was not idle */
	look(true);
	look(true);
	assert_in_range(ep_missed_lost(&the_clock.missed), 8, 20);
}

EP_TEST(idle_time_is_read_by_cpu)
{
	static const char text[] = "cpu  1 2 3 4 5 6 7\ncpu0 10 0 20 300 40 0 0\ncpu2 1 2 4 7 0 8 16 99\nintr 5\n";
	ep_cleanup(ep_vec_fini) struct ep_vec idle;

	ep_idle_init(&idle);
	assert_int_equal(ep_idle_parse(&idle, text, strlen(text)), 0);
	assert_int_equal(ep_idle_get(&idle, 0).idle_ns, 3400000000ull);
	assert_int_equal(ep_idle_get(&idle, 1).idle_ns, 0);
	assert_int_equal(ep_idle_get(&idle, 2).idle_ns, 70000000ull);
	assert_int_equal(ep_idle_get(&idle, 2).busy_ns, 310000000ull);
	assert_int_equal(ep_idle_get(&idle, 3).idle_ns, 0);
	assert_true(ep_idle_parse(&idle, "cpu0 1 2\n", 9) < 0);
}

EP_TEST_WITH(time_away_is_nobodys, begin, NULL)
{
	run(EP_NS_PER_SEC, &the_clock.ticks.sampled);
	look(false);
	the_clock.now_ns += 3 * EP_NS_PER_SEC; /* offline: the event does not get older */
	look(false);
	the_clock.now_ns += EP_NS_PER_SEC;
	look(false);
	look(true);
	assert_int_equal(the_clock.missed.ticks, 0);
}

/* /proc/stat has no line of it then: that its idle time is 0 makes it not busy. */
EP_TEST_WITH(idle_time_of_a_cpu_that_is_away_stays, begin, NULL)
{
	run(EP_NS_PER_SEC, &the_clock.ticks.sampled);
	steal(9 * EP_NS_PER_SEC);
	the_clock.idle_ns += 9 * EP_NS_PER_SEC;
	look(false);
	the_clock.idle_ns = 0;
	look(false);
	look(true);
	assert_in_range(the_clock.missed.ticks, 170, 190);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 0);
}

/* Throttled for a while, it ticks at once when it goes on, and each period from then on. */
EP_TEST_WITH(a_grid_that_moved_hides_nothing, begin, NULL)
{
	for (int i = 0; i < 20; i++) {
		run(EP_NS_PER_SEC, &the_clock.ticks.sampled);
		the_clock.now_ns += 4000000;
		the_clock.ticks.sampled++;
		the_clock.next_ns = the_clock.now_ns + PERIOD_NS;
		look(false);
	}
	assert_int_equal(the_clock.missed.ticks, 0);
	steal(10 * PERIOD_NS);
	look(false);
	look(false);
	assert_in_range(the_clock.missed.ticks, 8, 9);
}

EP_TEST_WITH(lost_samples_are_the_wanted_share, begin, NULL)
{
	run(100 * PERIOD_NS, &the_clock.ticks.sampled);
	run(300 * PERIOD_NS, &the_clock.ticks.filtered);
	run(1000 * PERIOD_NS, &the_clock.ticks.idle);
	steal(42 * PERIOD_NS);
	look(true);
	assert_int_equal(the_clock.missed.ticks, 41);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 10);
}

/* Who is sampled has a tenth of the ticks, and makes all those of its walks miss. */
EP_TEST_WITH(ticks_that_walks_took_are_of_who_was_walked, begin, NULL)
{
	for (int i = 0; i < 50; i++) {
		run(9 * PERIOD_NS, &the_clock.ticks.filtered);
		run(PERIOD_NS, &the_clock.ticks.sampled);
		walk(4);
		the_clock.ticks.overrun += 4;
		look(false);
	}
	look(true);
	assert_int_equal(ep_missed_ticks(&the_clock.missed), 200);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 200);
}

/* What is missing beside: by their share, to which the ticks of walks belong. */
EP_TEST_WITH(other_missing_ticks_go_by_the_share_with_walks, begin, NULL)
{
	run(100 * PERIOD_NS, &the_clock.ticks.filtered);
	run(25 * PERIOD_NS, &the_clock.ticks.sampled);
	walk(75);
	the_clock.ticks.overrun += 75;
	look(false);
	walk(40); /* those that are late, and nobody knows why */
	look(true);
	assert_int_equal(ep_missed_ticks(&the_clock.missed), 75 + 40);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 75 + 20);
}

/* BPF counts it when the walk ends, and the sample before. */
EP_TEST_WITH(a_walk_that_goes_on_while_we_look_is_counted_once, begin, NULL)
{
	run(10 * PERIOD_NS, &the_clock.ticks.sampled);
	walk(3);
	look(false);
	the_clock.ticks.overrun += 3;
	look(false);
	look(true);
	assert_int_equal(ep_missed_ticks(&the_clock.missed), 3);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 3);
}

EP_TEST_WITH(an_idle_cpu_loses_no_samples, begin, NULL)
{
	run(10 * PERIOD_NS, &the_clock.ticks.idle);
	pass(10 * PERIOD_NS);
	look(true);
	assert_int_equal(the_clock.missed.ticks, 10);
	assert_int_equal(ep_missed_lost(&the_clock.missed), 0);
}

/* The clock that tells how long it was armed is 300 ppm slow; the timer does not follow it. */
EP_TEST_WITH(clocks_may_differ, begin, NULL)
{
	for (int i = 0; i < 20000; i++) { /* a day */
		run(5 * EP_NS_PER_SEC, &the_clock.ticks.idle);
		the_clock.armed_ns -= 5 * EP_NS_PER_SEC / 1000000 * 300;
		look(false);
	}
	assert_int_equal(the_clock.missed.ticks, 0);
	steal(5 * PERIOD_NS);
	look(true);
	assert_int_equal(the_clock.missed.ticks, 4);
}
