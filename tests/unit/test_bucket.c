/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets and waits, with a clock that stands still until it is set. */
#include "core/base/backoff.h"
#include "core/base/bucket.h"
#include "tests/kit/test.h"

#define S     EP_NS_PER_SEC
#define START (1000 * S)

EP_TEST(a_bucket_is_a_burst_and_then_a_rate)
{
	const struct ep_rate rate = ep_rate_per_second(10, 3);
	struct ep_bucket bucket = {0};
	uint64_t now_ns = START;

	for (int i = 0; i < 3; i++)
		assert_true(ep_bucket_take(&bucket, rate, now_ns));
	assert_false(ep_bucket_take(&bucket, rate, now_ns));
	assert_int_equal(ep_bucket_wait_ns(&bucket, rate, 1, now_ns), S / 10);
	assert_false(ep_bucket_take(&bucket, rate, now_ns += S / 20));
	assert_int_equal(ep_bucket_wait_ns(&bucket, rate, 1, now_ns), S / 20);
	assert_true(ep_bucket_take(&bucket, rate, now_ns += S / 20));
	assert_false(ep_bucket_take(&bucket, rate, now_ns));
}

/* However long nothing was taken, it holds no more than the burst. */
EP_TEST(a_quiet_day_saves_up_one_burst)
{
	const struct ep_rate rate = ep_rate_per_second(10, 3);
	struct ep_bucket bucket = {0};

	assert_true(ep_bucket_take(&bucket, rate, START));
	for (int i = 0; i < 3; i++)
		assert_true(ep_bucket_take(&bucket, rate, START + 86400 * S));
	assert_false(ep_bucket_take(&bucket, rate, START + 86400 * S));
}

EP_TEST(an_overdrawn_bucket_comes_back)
{
	const struct ep_rate rate = {.unit_ns = 20, .burst = S / 10};
	struct ep_bucket bucket = {0};

	ep_bucket_charge(&bucket, rate, S / 10, START);
	assert_int_equal(ep_bucket_wait_ns(&bucket, rate, 0, START), 0);
	ep_bucket_charge(&bucket, rate, S, START);
	assert_int_equal(ep_bucket_over(&bucket, rate, START), S);
	assert_int_equal(ep_bucket_taken(&bucket, rate, START), S + S / 10);
	assert_int_equal(ep_bucket_wait_ns(&bucket, rate, 0, START), 20 * S);
	assert_int_equal(ep_bucket_over(&bucket, rate, START + 10 * S), S / 2);
	assert_int_equal(ep_bucket_wait_ns(&bucket, rate, 0, START + 20 * S), 0);
	assert_int_equal(ep_bucket_taken(&bucket, rate, START + 60 * S), 0);
}

EP_TEST(what_is_drained_is_never_more_than_there_is)
{
	const struct ep_rate rate = ep_rate_per_second(10, 3);
	struct ep_bucket bucket = {0};

	ep_bucket_drain(&bucket, rate, 2, START);
	assert_true(ep_bucket_take(&bucket, rate, START));
	ep_bucket_drain(&bucket, rate, UINT64_MAX, START);
	assert_int_equal(ep_bucket_wait_ns(&bucket, rate, 1, START), S / 10);
}

EP_TEST(a_cost_beyond_all_bounds_is_for_ever)
{
	const struct ep_rate rate = {.unit_ns = 20, .burst = 5};
	struct ep_bucket bucket = {0};

	ep_bucket_charge(&bucket, rate, UINT64_MAX, START);
	assert_int_equal(bucket.paid_ns, UINT64_MAX);
	ep_bucket_charge(&bucket, rate, 1, START);
	assert_int_equal(bucket.paid_ns, UINT64_MAX);
	assert_true(ep_bucket_wait_ns(&bucket, rate, 0, START) > 1000000 * S);
	assert_false(ep_bucket_take(&bucket, rate, START));
}

EP_TEST(waits_grow_up_to_the_longest)
{
	static const struct ep_backoff backoff = {.first = 50, .longest = 350, .percent = 200};
	static const uint64_t waits[] = {50, 100, 200, 350, 350};
	uint64_t wait = 0;

	for (size_t i = 0; i < EP_LEN(waits); i++) {
		wait = ep_backoff_after(backoff, wait);
		assert_int_equal(wait, waits[i]);
	}
}
