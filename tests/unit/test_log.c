/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "tests/kit/test.h"

#include <string.h>

EP_TEST(what_was_left_out_is_told_once)
{
	struct ep_log_limit limit = {.rate = {.unit_ns = 3600 * EP_NS_PER_SEC, .burst = 1}};

	assert_true(ep_log_limit_ok(&limit));
	assert_int_equal(ep_log_limit_take(&limit), 0);
	for (int i = 0; i < 3999; i++)
		assert_false(ep_log_limit_ok(&limit));
	limit.lines = (struct ep_bucket){0}; /* the hour is over */
	assert_true(ep_log_limit_ok(&limit));
	assert_int_equal(ep_log_limit_take(&limit), 3999);
	assert_int_equal(ep_log_limit_take(&limit), 0);
}

EP_TEST(counts_that_are_zero_are_left_out_when_asked_for)
{
	char text[256] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	ep_put_count(out, "first", 0);
	ep_put_count_quietly(true);
	ep_put_count(out, "second", 0);
	ep_put_count(out, "third", 7);
	ep_put_count_quietly(false);
	fclose(out);
	assert_string_equal(text, "           0  first\n           7  third\n");
}
