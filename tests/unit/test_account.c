/* SPDX-License-Identifier: Apache-2.0 */
/* What programs may spend, with a clock that stands still until it is set. */
#include "core/language/account.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#define MS EP_NS_PER_MS
#define S  EP_NS_PER_SEC
#define START (1000 * S)

static void charge(struct ep_accounts *all, struct ep_account *account, uint64_t spent_ns, uint64_t worth_ns,
		uint64_t now_ns)
{
	struct ep_cost cost = {0};

	ep_cost_add(&cost, spent_ns, worth_ns);
	ep_account_charge(all, account, &cost, now_ns);
}

EP_TEST(what_work_takes_beyond_its_worth_is_expensive)
{
	struct ep_cost cost = {0};

	ep_cost_add(&cost, 3, 5);
	ep_cost_add(&cost, 12, 5);
	assert_int_equal(cost.cheap_ns, 8);
	assert_int_equal(cost.expensive_ns, 7);
}

/* 20 000 frames of 20 us. */
EP_TEST(a_large_program_is_within_its_budget)
{
	struct ep_accounts all = {0};
	struct ep_account account = {.was_sampled = true};

	for (int i = 0; i < 20000; i++)
		charge(&all, &account, 20000, MS / 2, START);
	assert_true(ep_account_is_within_budget(&all, &account, START));
	assert_int_equal(ep_account_wait_ns(&all, &account, START), 0);
	assert_int_equal(ep_account_spent_ns(&account, START), 400 * MS);
	assert_int_equal(all.spent_ns, 400 * MS);
	assert_int_equal(all.shared_spent_ns, 0);
}

EP_TEST(what_was_spent_comes_back)
{
	struct ep_accounts all = {0};
	struct ep_account account = {.was_sampled = true};

	charge(&all, &account, 21 * MS, 0, START);
	assert_false(ep_account_is_within_budget(&all, &account, START));
	assert_true(ep_account_is_within_budget(&all, &account, START + 2 * S));
	assert_int_equal(ep_account_spent_ns(&account, START + 20 * S), 11 * MS);
	assert_int_equal(ep_account_spent_ns(&account, START + 60 * S), 0);
	charge(&all, &account, 501 * MS, S, START + 60 * S);
	assert_false(ep_account_is_within_budget(&all, &account, START + 60 * S));
	assert_true(ep_account_is_within_budget(&all, &account, START + 62 * S));
}

/* However many there are, and whatever a step of theirs takes; the last one may be too much. */
EP_TEST(programs_over_budget_share_a_small_part_of_a_cpu)
{
	static struct ep_account accounts[60];
	struct ep_accounts all = {0};
	uint64_t now_ns = START, steps = 0;

	for (size_t i = 0; i < EP_LEN(accounts); i++)
		accounts[i].was_sampled = true;

	for (; now_ns < START + 100 * S; now_ns += 2 * MS) {
		for (size_t i = 0; i < EP_LEN(accounts); i++) {
			if (ep_account_wait_ns(&all, &accounts[i], now_ns) > 0)
				continue;
			charge(&all, &accounts[i], 25 * MS, MS / 2, now_ns);
			steps++;
		}
	}
	/* 4 % together and 0.05 % each, what all of them have at once, and a step that each has begun. */
	assert_in_range(all.spent_ns, 4 * S, 7 * S + 300 * MS + 60 * (20 + 25) * MS);
	assert_true(all.spent_ns < 10 * S);
	assert_int_equal(all.spent_ns, steps * 25 * MS);
}

EP_TEST(others_do_not_wait_for_those_over_budget)
{
	struct ep_accounts all = {0};
	struct ep_account over = {.was_sampled = true}, within = {.was_sampled = true};

	charge(&all, &over, 10 * S, MS, START);
	assert_true(ep_account_wait_ns(&all, &over, START) > 100 * S);
	assert_int_equal(ep_account_wait_ns(&all, &within, START), 0);
	charge(&all, &within, 10 * MS, MS, START);
	assert_int_equal(ep_account_wait_ns(&all, &within, START), 0);
	assert_true(ep_account_spent_ns(&within, START) < ep_account_spent_ns(&over, START));
}

EP_TEST(who_was_never_sampled_leaves_half_to_others)
{
	struct ep_accounts all = {0};
	struct ep_account runs = {.was_sampled = true}, sleeps = {0};

	charge(&all, &sleeps, 6 * MS, 0, START);
	assert_false(ep_account_is_within_budget(&all, &sleeps, START));
	charge(&all, &runs, 6 * MS, 0, START);
	assert_true(ep_account_is_within_budget(&all, &runs, START));
	charge(&all, &runs, 14 * MS + 200 * MS, 0, START); /* of 300 ms that are shared, 1 is spent */
	assert_int_equal(ep_account_wait_ns(&all, &runs, START), 0);
	assert_int_equal(ep_account_wait_ns(&all, &sleeps, START), 25 * 51 * MS);
	assert_int_equal(ep_account_wait_ns(&all, &sleeps, START + 25 * 51 * MS), 0);
	sleeps.was_sampled = true;
	assert_int_equal(ep_account_wait_ns(&all, &sleeps, START), 0);
}

/* New programs of an owner, so many a second, each of which is attached to once if it has a budget: what that takes. */
static uint64_t storm_ns(struct ep_accounts *all, uint32_t owner, int per_second, uint64_t cost_ns, uint64_t *ret_attached)
{
	uint64_t before_ns = all->spent_ns, now_ns = START;

	*ret_attached = 0;
	for (int i = 0; i < 100 * per_second; i++, now_ns += S / (uint64_t)per_second) {
		struct ep_account account = {.owner = owner, .was_sampled = true};
		struct ep_cost cost = {.owner_ns = cost_ns};

		if (ep_account_wait_ns(all, &account, now_ns) > 0)
			continue;
		ep_cost_add(&cost, cost_ns, 10 * MS);
		ep_account_charge(all, &account, &cost, now_ns);
		++*ret_attached;
	}
	return all->spent_ns - before_ns;
}

EP_TEST(who_starts_programs_in_a_loop_is_charged_for_all_of_them)
{
	struct ep_accounts all = {.n_cpus = 2};
	struct ep_account same = {.owner = 1000, .was_sampled = true}, other = {.owner = 1001, .was_sampled = true};
	uint64_t attached;

	/* 4 % for 100 s, and what it and all that are over budget have at once: it is charged for theirs, too. */
	assert_in_range(storm_ns(&all, 1000, 100, 3 * MS, &attached), 5 * S, 5 * S + 310 * MS);
	assert_false(ep_account_is_within_budget(&all, &same, START + 100 * S));
	assert_true(ep_account_is_within_budget(&all, &other, START + 100 * S));
	assert_true(ep_account_is_within_budget(&all, &same, START + 126 * S)); /* the second is there again */
}

EP_TEST(honest_short_programs_are_attached_to)
{
	struct ep_accounts all = {.n_cpus = 2}, large = {.n_cpus = 50};
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
	struct ep_accounts all = {0};
	struct ep_account first = {.owner = 1};
	uint64_t attached;

	(void)storm_ns(&all, 1, 100, 3 * MS, &attached);
	for (uint32_t owner = 2; owner < 500; owner++) {
		struct ep_account account = {.owner = owner};
		const struct ep_cost cost = {.cheap_ns = MS, .owner_ns = MS};

		ep_account_charge(&all, &account, &cost, START + 100 * S);
	}
	assert_false(ep_account_is_within_budget(&all, &first, START + 100 * S));
	ep_accounts_drain(&all, S);
	assert_true(ep_account_is_within_budget(&all, &first, START + 100 * S));
}

EP_TEST(a_child_has_what_its_parent_has_left)
{
	struct ep_accounts all = {0};
	struct ep_account parent = {0}, child;

	charge(&all, &parent, 100 * MS, MS, START);
	child = parent;
	assert_false(ep_account_is_within_budget(&all, &child, START));
}

/* Cheap costs have an allowance of their own, expensive ones what all share. */
EP_TEST(at_the_end_a_large_program_gets_its_names)
{
	struct ep_accounts all = {0};
	struct ep_account large = {.was_sampled = true}, over = {.was_sampled = true};

	charge(&all, &large, 2 * S, 3 * S, START);
	charge(&all, &over, 2 * S, MS, START);
	assert_true(ep_account_wait_ns(&all, &large, START) > 0);
	ep_accounts_drain(&all, 2 * S);
	assert_int_equal(ep_account_wait_ns(&all, &over, START), 0);
	charge(&all, &over, 301 * MS, 0, START);
	assert_true(ep_account_wait_ns(&all, &over, START) > 0);
	assert_int_equal(ep_account_wait_ns(&all, &large, START), 0);
	charge(&all, &large, 1999 * MS, 3 * S, START);
	assert_int_equal(ep_account_wait_ns(&all, &large, START), 0);
	charge(&all, &large, MS, S, START);
	assert_int_equal(ep_account_wait_ns(&all, &large, START), UINT64_MAX);
}

