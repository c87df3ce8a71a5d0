/* SPDX-License-Identifier: Apache-2.0 */
/* What programs may spend, with a clock that stands still until it is set. */
#include "core/process/purse.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#define MS EP_NS_PER_MS
#define S  EP_NS_PER_SEC
#define START (1000 * S)

static void pay(struct ep_purses *all, struct ep_purse *purse, uint64_t spent_ns, uint64_t worth_ns,
		uint64_t now_ns)
{
	struct ep_cost cost = {0};

	ep_cost_add(&cost, spent_ns, worth_ns);
	ep_purse_pay(all, purse, &cost, now_ns);
}

EP_TEST(what_work_takes_beyond_its_worth_is_dear)
{
	struct ep_cost cost = {0};

	ep_cost_add(&cost, 3, 5);
	ep_cost_add(&cost, 12, 5);
	assert_int_equal(cost.plain_ns, 8);
	assert_int_equal(cost.dear_ns, 7);
}

/* 20 000 frames of 20 us. */
EP_TEST(a_large_program_is_modest)
{
	struct ep_purses all = {0};
	struct ep_purse purse = {.was_sampled = true};

	for (int i = 0; i < 20000; i++)
		pay(&all, &purse, 20000, MS / 2, START);
	assert_true(ep_purse_is_modest(&all, &purse, START));
	assert_int_equal(ep_purse_wait_ns(&all, &purse, START), 0);
	assert_int_equal(ep_purse_spent_ns(&purse, START), 400 * MS);
	assert_int_equal(all.spent_ns, 400 * MS);
	assert_int_equal(all.greedy_spent_ns, 0);
}

EP_TEST(what_was_spent_comes_back)
{
	struct ep_purses all = {0};
	struct ep_purse purse = {.was_sampled = true};

	pay(&all, &purse, 21 * MS, 0, START);
	assert_false(ep_purse_is_modest(&all, &purse, START));
	assert_true(ep_purse_is_modest(&all, &purse, START + 2 * S));
	assert_int_equal(ep_purse_spent_ns(&purse, START + 20 * S), 11 * MS);
	assert_int_equal(ep_purse_spent_ns(&purse, START + 60 * S), 0);
	pay(&all, &purse, 501 * MS, S, START + 60 * S);
	assert_false(ep_purse_is_modest(&all, &purse, START + 60 * S));
	assert_true(ep_purse_is_modest(&all, &purse, START + 62 * S));
}

/* However many there are, and whatever a step of theirs takes; the last one may be too much. */
EP_TEST(greedy_programs_share_a_small_part_of_a_cpu)
{
	static struct ep_purse purses[60];
	struct ep_purses all = {0};
	uint64_t now_ns = START, steps = 0;

	for (size_t i = 0; i < EP_LEN(purses); i++)
		purses[i].was_sampled = true;

	for (; now_ns < START + 100 * S; now_ns += 2 * MS) {
		for (size_t i = 0; i < EP_LEN(purses); i++) {
			if (ep_purse_wait_ns(&all, &purses[i], now_ns) > 0)
				continue;
			pay(&all, &purses[i], 25 * MS, MS / 2, now_ns);
			steps++;
		}
	}
	/* 4 % together and 0.05 % each, what all of them have at once, and a step that each has begun. */
	assert_in_range(all.spent_ns, 4 * S, 7 * S + 300 * MS + 60 * (20 + 25) * MS);
	assert_true(all.spent_ns < 10 * S);
	assert_int_equal(all.spent_ns, steps * 25 * MS);
}

EP_TEST(others_do_not_wait_for_greedy_ones)
{
	struct ep_purses all = {0};
	struct ep_purse greedy = {.was_sampled = true}, modest = {.was_sampled = true};

	pay(&all, &greedy, 10 * S, MS, START);
	assert_true(ep_purse_wait_ns(&all, &greedy, START) > 100 * S);
	assert_int_equal(ep_purse_wait_ns(&all, &modest, START), 0);
	pay(&all, &modest, 10 * MS, MS, START);
	assert_int_equal(ep_purse_wait_ns(&all, &modest, START), 0);
	assert_true(ep_purse_spent_ns(&modest, START) < ep_purse_spent_ns(&greedy, START));
}

EP_TEST(who_was_never_sampled_leaves_half_to_others)
{
	struct ep_purses all = {0};
	struct ep_purse runs = {.was_sampled = true}, sleeps = {0};

	pay(&all, &sleeps, 6 * MS, 0, START);
	assert_false(ep_purse_is_modest(&all, &sleeps, START));
	pay(&all, &runs, 6 * MS, 0, START);
	assert_true(ep_purse_is_modest(&all, &runs, START));
	pay(&all, &runs, 14 * MS + 200 * MS, 0, START); /* of 300 ms that are shared, 1 is spent */
	assert_int_equal(ep_purse_wait_ns(&all, &runs, START), 0);
	assert_int_equal(ep_purse_wait_ns(&all, &sleeps, START), 25 * 51 * MS);
	assert_int_equal(ep_purse_wait_ns(&all, &sleeps, START + 25 * 51 * MS), 0);
	sleeps.was_sampled = true;
	assert_int_equal(ep_purse_wait_ns(&all, &sleeps, START), 0);
}

/* New programs of an owner, so many a second, each of which is attached to once if it can pay: what that takes. */
static uint64_t storm_ns(struct ep_purses *all, uint32_t owner, int per_second, uint64_t cost_ns, uint64_t *ret_attached)
{
	uint64_t before_ns = all->spent_ns, now_ns = START;

	*ret_attached = 0;
	for (int i = 0; i < 100 * per_second; i++, now_ns += S / (uint64_t)per_second) {
		struct ep_purse purse = {.owner = owner, .was_sampled = true};
		struct ep_cost cost = {.owner_ns = cost_ns};

		if (ep_purse_wait_ns(all, &purse, now_ns) > 0)
			continue;
		ep_cost_add(&cost, cost_ns, 10 * MS);
		ep_purse_pay(all, &purse, &cost, now_ns);
		++*ret_attached;
	}
	return all->spent_ns - before_ns;
}

EP_TEST(who_starts_programs_in_a_loop_pays_for_all_of_them)
{
	struct ep_purses all = {.n_cpus = 2};
	struct ep_purse same = {.owner = 1000, .was_sampled = true}, other = {.owner = 1001, .was_sampled = true};
	uint64_t attached;

	/* 4 % for 100 s, and what it and all that are greedy have at once: it is charged for what they pay, too. */
	assert_in_range(storm_ns(&all, 1000, 100, 3 * MS, &attached), 5 * S, 5 * S + 310 * MS);
	assert_false(ep_purse_is_modest(&all, &same, START + 100 * S));
	assert_true(ep_purse_is_modest(&all, &other, START + 100 * S));
	assert_true(ep_purse_is_modest(&all, &same, START + 126 * S)); /* the second is there again */
}

EP_TEST(honest_short_programs_are_attached_to)
{
	struct ep_purses all = {.n_cpus = 2}, large = {.n_cpus = 50};
	uint64_t attached;

	assert_int_equal(storm_ns(&all, 1000, 20, MS, &attached), 2 * S);
	assert_int_equal(attached, 2000);
	/* 50 CPUs: half of one is 1 %. */
	assert_int_equal(storm_ns(&large, 1000, 400, MS, &attached), 40 * S);
	assert_int_equal(attached, 40000);
	assert_int_equal(storm_ns(&all, 0, 500, MS, &attached), 50 * S); /* root's */
}

EP_TEST(owners_that_spent_least_are_forgotten)
{
	struct ep_purses all = {0};
	struct ep_purse first = {.owner = 1};
	uint64_t attached;

	(void)storm_ns(&all, 1, 100, 3 * MS, &attached);
	for (uint32_t owner = 2; owner < 500; owner++) {
		struct ep_purse purse = {.owner = owner};
		const struct ep_cost cost = {.plain_ns = MS, .owner_ns = MS};

		ep_purse_pay(&all, &purse, &cost, START + 100 * S);
	}
	assert_false(ep_purse_is_modest(&all, &first, START + 100 * S));
	ep_purses_drain(&all, S);
	assert_true(ep_purse_is_modest(&all, &first, START + 100 * S));
}

EP_TEST(a_child_has_what_its_parent_has_left)
{
	struct ep_purses all = {0};
	struct ep_purse parent = {0}, child;

	pay(&all, &parent, 100 * MS, MS, START);
	child = parent;
	assert_false(ep_purse_is_modest(&all, &child, START));
}

/* Plain costs have an allowance of their own, dear ones what all share. */
EP_TEST(at_the_end_a_large_program_gets_its_names)
{
	struct ep_purses all = {0};
	struct ep_purse large = {.was_sampled = true}, greedy = {.was_sampled = true};

	pay(&all, &large, 2 * S, 3 * S, START);
	pay(&all, &greedy, 2 * S, MS, START);
	assert_true(ep_purse_wait_ns(&all, &large, START) > 0);
	ep_purses_drain(&all, 2 * S);
	assert_int_equal(ep_purse_wait_ns(&all, &greedy, START), 0);
	pay(&all, &greedy, 301 * MS, 0, START);
	assert_true(ep_purse_wait_ns(&all, &greedy, START) > 0);
	assert_int_equal(ep_purse_wait_ns(&all, &large, START), 0);
	pay(&all, &large, 1999 * MS, 3 * S, START);
	assert_int_equal(ep_purse_wait_ns(&all, &large, START), 0);
	pay(&all, &large, MS, S, START);
	assert_int_equal(ep_purse_wait_ns(&all, &large, START), UINT64_MAX);
}

