/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted while a file is read that anybody may have made. */
#include "core/base/work.h"
#include "tests/kit/test.h"

static uint64_t steps_until_it_ends(struct ep_work *work, uint64_t each)
{
	uint64_t steps = 0;

	while (ep_work_take(work, each) == 0)
		steps += each;
	return steps;
}

EP_TEST(steps_end_where_they_were_said_to)
{
	static const uint64_t each[] = {1, 7, 4096, 250000, 1000000};

	for (size_t i = 0; i < EP_LEN(each); i++) {
		struct ep_work work;
		uint64_t steps;

		ep_work_init(&work, 1000000, 0, NULL, NULL);
		steps = steps_until_it_ends(&work, each[i]);
		assert_true(steps <= 1000000 && steps + each[i] > 1000000);
		assert_int_equal(ep_work_result(&work), -ETIME);
		assert_int_equal(ep_work_take(&work, 1), -ETIME); /* for good */
	}
}

EP_TEST(more_steps_are_added)
{
	struct ep_work work;

	ep_work_init(&work, 10, 0, NULL, NULL);
	ep_work_add(&work, 1000);
	assert_int_equal(steps_until_it_ends(&work, 1), 1010);
}

EP_TEST(nobody_counts_without_work)
{
	assert_int_equal(ep_work_take(NULL, UINT64_MAX), 0);
	assert_int_equal(ep_work_result(NULL), 0);
	assert_int_equal(ep_memory_budget_take(NULL, SIZE_MAX), 0);
}

EP_TEST(it_ends_soon_after_it_is_stopped)
{
	atomic_bool stopped = false;
	struct ep_work work;

	ep_work_init(&work, UINT64_MAX / 2, 0, &stopped, NULL);
	assert_int_equal(ep_work_take(&work, 1), 0);
	atomic_store(&stopped, true);
	assert_true(steps_until_it_ends(&work, 1) < 1000000);
	assert_int_equal(ep_work_result(&work), -ECANCELED);
}

EP_TEST(memory_is_refused_before_it_is_taken)
{
	struct ep_memory_budget budget = {.limit = 100};

	assert_int_equal(ep_memory_budget_take(&budget, 60), 0);
	assert_int_equal(ep_memory_budget_take(&budget, 60), -EAGAIN); /* others hold it */
	assert_int_equal(ep_memory_budget_take(&budget, 101), -E2BIG);
	assert_int_equal(ep_memory_budget_take(&budget, SIZE_MAX), -E2BIG);
	assert_int_equal(budget.used, 60);
	assert_int_equal(budget.refused, 3);
	ep_memory_budget_give(&budget, 60);
	assert_int_equal(ep_memory_budget_take(&budget, 100), 0);
	assert_int_equal(budget.peak, 100);
	ep_memory_budget_give(&budget, 100);
	assert_int_equal(budget.used, 0);
}

/* What is kept is not for others, until the limit is set anew. */
EP_TEST(memory_that_is_spent_is_there_no_more)
{
	struct ep_memory_budget budget = {.limit = 100};

	assert_int_equal(ep_memory_budget_take(&budget, 60), 0);
	ep_memory_budget_spend(&budget, 60);
	assert_int_equal(budget.used, 0);
	assert_int_equal(budget.limit, 40);
	assert_int_equal(ep_memory_budget_take(&budget, 60), -E2BIG);
	assert_int_equal(ep_memory_budget_take(&budget, 40), 0);
	budget.limit = 10; /* it was set anew meanwhile */
	ep_memory_budget_spend(&budget, 40);
	assert_int_equal(budget.limit, 0);
	assert_int_equal(budget.used, 0);
	ep_memory_budget_spend(NULL, 1);
}
