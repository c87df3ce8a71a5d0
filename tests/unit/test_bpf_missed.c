/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks that never came: a simulated clock, looked at now and then. */
#include "core/base/clock.h"
#include "core/bpf/idle.h"
#include "core/bpf/missed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

static void a_clock_that_ticks_misses_nothing(void **state)
{
	struct clock clock;

	(void)state;
	clock_begin(&clock);
	for (int i = 0; i < 10000; i++) {
		run(&clock, 123456789, i % 3 ? &clock.ticks.sampled : &clock.ticks.idle);
		look(&clock, false);
	}
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 0);
	assert_int_equal(ep_missed_lost(&clock.missed), 0);
}

static void stolen_ticks_are_missed_once(void **state)
{
	struct clock clock;

	(void)state;
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
static void a_late_tick_is_not_missed(void **state)
{
	struct clock clock;

	(void)state;
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
static void ticks_of_an_idle_cpu_are_no_samples(void **state)
{
	struct clock clock;

	(void)state;
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

static void idle_time_is_read_by_cpu(void **state)
{
	static const char text[] = "cpu  1 2 3 4 5 6\ncpu0 10 0 20 300 40 1\ncpu2 1 1 1 7 0 0 0\nintr 5\n";
	struct ep_vec idle;

	(void)state;
	ep_idle_init(&idle);
	assert_int_equal(ep_idle_parse(&idle, text, strlen(text)), 0);
	assert_int_equal(ep_idle_get(&idle, 0), 3400000000ull);
	assert_int_equal(ep_idle_get(&idle, 1), 0);
	assert_int_equal(ep_idle_get(&idle, 2), 70000000ull);
	assert_int_equal(ep_idle_get(&idle, 3), 0);
	assert_true(ep_idle_parse(&idle, "cpu0 1 2\n", 9) < 0);
	ep_vec_fini(&idle);
}

static void time_away_is_nobodys(void **state)
{
	struct clock clock;

	(void)state;
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
static void idle_time_of_a_cpu_that_is_away_stays(void **state)
{
	struct clock clock;

	(void)state;
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
static void a_grid_that_moved_hides_nothing(void **state)
{
	struct clock clock;

	(void)state;
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

static void lost_samples_are_the_wanted_share(void **state)
{
	struct clock clock;

	(void)state;
	clock_begin(&clock);
	run(&clock, 100 * PERIOD_NS, &clock.ticks.sampled);
	run(&clock, 300 * PERIOD_NS, &clock.ticks.filtered);
	run(&clock, 1000 * PERIOD_NS, &clock.ticks.idle);
	steal(&clock, 42 * PERIOD_NS);
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 41);
	assert_int_equal(ep_missed_lost(&clock.missed), 10);
}

static void an_idle_cpu_loses_no_samples(void **state)
{
	struct clock clock;

	(void)state;
	clock_begin(&clock);
	run(&clock, 10 * PERIOD_NS, &clock.ticks.idle);
	pass(&clock, 10 * PERIOD_NS);
	look(&clock, true);
	assert_int_equal(clock.missed.ticks, 10);
	assert_int_equal(ep_missed_lost(&clock.missed), 0);
}

/* The clock that tells how long it was armed is 300 ppm slow; the timer does not follow it. */
static void clocks_may_differ(void **state)
{
	struct clock clock;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_ticks_misses_nothing),
		cmocka_unit_test(stolen_ticks_are_missed_once),
		cmocka_unit_test(a_late_tick_is_not_missed),
		cmocka_unit_test(ticks_of_an_idle_cpu_are_no_samples),
		cmocka_unit_test(idle_time_is_read_by_cpu),
		cmocka_unit_test(time_away_is_nobodys),
		cmocka_unit_test(idle_time_of_a_cpu_that_is_away_stays),
		cmocka_unit_test(a_grid_that_moved_hides_nothing),
		cmocka_unit_test(lost_samples_are_the_wanted_share),
		cmocka_unit_test(an_idle_cpu_loses_no_samples),
		cmocka_unit_test(clocks_may_differ),
	};

	return cmocka_run_group_tests_name("bpf_missed", tests, NULL, NULL);
}
