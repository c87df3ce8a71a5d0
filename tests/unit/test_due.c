/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/due.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#define N 500

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

/* The earliest of those that are set; UINT64_MAX: none is. */
static uint64_t earliest(const struct ep_due *dues)
{
	uint64_t at_ns = UINT64_MAX;

	for (size_t i = 0; i < N; i++) {
		if (ep_due_is_set(&dues[i]))
			at_ns = EP_MIN(at_ns, dues[i].at_ns);
	}
	return at_ns;
}

EP_TEST(the_first_is_the_earliest_whatever_is_moved_and_taken_out)
{
	static struct ep_due dues[N];
	struct ep_due_queue queue = {0};

	for (int turn = 0; turn < 20000; turn++) {
		struct ep_due *due = &dues[random_below(N)];

		if (random_below(3) > 0)
			ep_due_set(&queue, due, random_below(1000));
		else
			ep_due_unset(&queue, random_below(2) && queue.first ? queue.first : due);
		assert_int_equal(queue.first ? queue.first->at_ns : UINT64_MAX, earliest(dues));
	}
}

EP_TEST(all_come_out_in_order_and_none_twice)
{
	static struct ep_due dues[N];
	struct ep_due_queue queue = {0};
	uint64_t last_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < N; i++)
		ep_due_set(&queue, &dues[i], random_below(100));
	for (; queue.first; n++) {
		struct ep_due *due = queue.first;

		assert_true(due->at_ns >= last_ns);
		last_ns = due->at_ns;
		ep_due_unset(&queue, due);
		assert_false(ep_due_is_set(due));
		assert_int_equal(due->at_ns, UINT64_MAX);
	}
	assert_int_equal(n, N);
}
