/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "reports/view/filter.h"
#include "tests/unit/view_batch.h"

#include <time.h>

EP_TEST_RELEASES(ep_view_filter_free)

static struct ep_batch *filtered(struct ep_view_filter *filter, struct ep_batch *batch)
{
	struct ep_batch *result = NULL;
	char why[EP_VIEW_WHY_BYTES] = "";

	assert_int_equal(ep_view_filter_apply(filter, batch, &result, why), 0);
	ep_test_owns(result, release_batch);
	check_batch(result);
	return result;
}

static struct ep_view_filter *new_filter(void)
{
	struct ep_view_filter *filter;

	assert_int_equal(ep_view_filter_new(&filter), 0);
	ep_test_owns(filter, ep_view_filter_free_made);
	return filter;
}

/* A rule: a letter for its key, then the value. */
static void add(struct ep_view_filter *filter, const char *rule)
{
	static const char keys[] = "pcetgukIX"; /* in the order of enum ep_view_key */
	char why[EP_VIEW_WHY_BYTES] = "";
	const char *key = strchr(keys, rule[0]);

	assert_non_null(key);
	assert_int_equal(ep_view_filter_add(filter, (enum ep_view_key)(key - keys), rule + 1, why), 0);
}

static const struct {
	const char *label, *rules[4];
	uint64_t weight;
} passes[] = {
	{"nothing", {NULL}, 100},
	{"a process", {"p10"}, 30},
	{"two processes", {"p10,20"}, 70},
	{"two processes, one by one", {"p10", "p20"}, 70},
	{"all but one", {"p!30"}, 70},
	{"all but two", {"p!30", "p!10"}, 40},
	{"included and excluded", {"p10,20", "p!20"}, 30},
	{"no such process", {"p99"}, 0},
	{"a name", {"cprog-py"}, 30},
	{"a pattern", {"c*r[ov]*"}, 70},
	{"not a pattern", {"c!prog*"}, 70},
	{"a thread's id", {"t20"}, 40},
	{"a thread's name", {"tworker*"}, 30},
	{"a thread by id or name", {"t30", "tworker*"}, 60},
	{"the beginning of a container's id", {"gabc"}, 40},
	{"outside of any container", {"g"}, 60},
	{"inside of any", {"g!"}, 40},
	{"a CPU", {"u1"}, 30},
	{"CPUs", {"u1-2"}, 70},
	{"a list of CPUs", {"u0,2-3"}, 70},
	{"not a CPU", {"u!3"}, 70},
	{"names", {"I^spin"}, 40},
	{"one of two names", {"I^spin$", "Iparse"}, 70},
	{"a name in the middle of a stack", {"I^main$"}, 100},
	{"an inlined name", {"Iinlined"}, 20},
	{"without a name", {"Xparse"}, 70},
	{"with and without", {"Imain", "Xspin"}, 60},
	{"different rules must all hold", {"p10,20", "u2"}, 40},
	{"different rules that no sample passes", {"p10", "cserver"}, 0},
};

EP_TEST(rules_choose_samples)
{
	struct ep_batch *batch = view_batch(true);

	for (size_t i = 0; i < EP_LEN(passes); i++) {
		struct ep_view_filter *filter = new_filter();
		struct ep_batch *result;

		for (size_t k = 0; k < EP_LEN(passes[i].rules) && passes[i].rules[k]; k++)
			add(filter, passes[i].rules[k]);
		result = filtered(filter, batch);
		if (weight_in(result) != passes[i].weight)
			fail_msg("%s: weight %" PRIu64 ", not %" PRIu64, passes[i].label, weight_in(result),
				 passes[i].weight);
	}
}

EP_TEST(an_empty_filter_is_the_batch_itself)
{
	struct ep_batch *batch = view_batch(false), *result;
	struct ep_view_filter *filter = new_filter();

	assert_true(ep_view_filter_is_empty(filter));
	result = filtered(filter, batch);
	assert_ptr_equal(result, batch);
}

EP_TEST(kinds_choose_frames_and_give_their_time_to_callers)
{
	struct ep_batch *batch = view_batch(true), *result;
	struct ep_view_filter *filter = new_filter();
	uint32_t sample;

	add(filter, "ktoy");
	result = filtered(filter, batch);
	assert_int_equal(weight_in(result), 30); /* the other stacks have no such frame */
	sample = sample_with_leaf(result, "parse");
	assert_int_equal(depth_in(result, sample), 1);

	filter = new_filter();
	add(filter, "k!kernel");
	result = filtered(filter, batch);
	assert_int_equal(weight_in(result), 100);
	sample = sample_with_leaf(result, "write"); /* called the kernel */
	assert_int_equal(depth_in(result, sample), 2);
}

#define START VIEW_START_NS
#define END   (VIEW_START_NS + VIEW_DURATION_NS)

static const struct {
	const char *label;
	struct ep_view_moment from, to;
	uint64_t weight, start_ns, duration_ns;
} ranges[] = {
	{"all", {0}, {0}, 100, START, END - START},
	{"after the start", {EP_VIEW_FROM_START, 5 * EP_NS_PER_SEC}, {0}, 50, START + 5 * EP_NS_PER_SEC, 5 * EP_NS_PER_SEC},
	{"up to a time after the start", {0}, {EP_VIEW_FROM_START, 5 * EP_NS_PER_SEC}, 50, START, 5 * EP_NS_PER_SEC},
	{"before the end", {EP_VIEW_FROM_END, 2 * EP_NS_PER_SEC}, {0}, 20, END - 2 * EP_NS_PER_SEC, 2 * EP_NS_PER_SEC},
	{"between",
	 {EP_VIEW_FROM_START, 2 * EP_NS_PER_SEC},
	 {EP_VIEW_FROM_END, 7 * EP_NS_PER_SEC},
	 10,
	 START + 2 * EP_NS_PER_SEC,
	 EP_NS_PER_SEC},
	{"by the clock", {EP_VIEW_WALL_CLOCK, START + EP_NS_PER_SEC}, {EP_VIEW_WALL_CLOCK, START + 2 * EP_NS_PER_SEC}, 10,
	 START + EP_NS_PER_SEC, EP_NS_PER_SEC},
	{"before all", {0}, {EP_VIEW_WALL_CLOCK, 1}, 0, START, 0},
	{"the wrong way round", {EP_VIEW_FROM_END, EP_NS_PER_SEC}, {EP_VIEW_FROM_START, EP_NS_PER_SEC}, 0,
	 END - EP_NS_PER_SEC, 0},
};

EP_TEST(times_choose_samples)
{
	struct ep_batch *batch = view_batch(true);

	for (size_t i = 0; i < EP_LEN(ranges); i++) {
		struct ep_view_filter *filter = new_filter();
		struct ep_batch *result;

		ep_view_filter_set_from(filter, ranges[i].from);
		ep_view_filter_set_to(filter, ranges[i].to);
		result = filtered(filter, batch);
		if (weight_in(result) != ranges[i].weight || result->start_ns != ranges[i].start_ns ||
		    result->duration_ns != ranges[i].duration_ns)
			fail_msg("%s: weight %" PRIu64 " from %" PRIu64 " for %" PRIu64, ranges[i].label,
				 weight_in(result), result->start_ns - START, result->duration_ns);
	}
}

EP_TEST(times_of_a_profile_without_them_are_refused)
{
	struct ep_batch *batch = view_batch(false), *result = NULL;
	struct ep_view_filter *filter = new_filter();
	char why[EP_VIEW_WHY_BYTES] = "";

	ep_view_filter_set_from(filter, (struct ep_view_moment){EP_VIEW_FROM_START, 1});
	assert_int_equal(ep_view_filter_apply(filter, batch, &result, why), -ENODATA);
	assert_non_null(strstr(why, "--from and --to need the time of each sample"));
}

EP_TEST(a_time_of_day_is_the_first_of_the_recording)
{
	const uint64_t hour = 3600 * EP_NS_PER_SEC, start = 1000 * 24 * hour + 22 * hour; /* 22:00 */
	struct ep_view_filter *filter = new_filter();
	struct ep_view_range range;

	setenv("TZ", "UTC", 1);
	tzset();
	ep_view_filter_set_from(filter, (struct ep_view_moment){EP_VIEW_TIME_OF_DAY, 23 * hour});
	range = ep_view_filter_range(filter, start, start + 10 * hour);
	assert_int_equal(range.start_ns, start + hour);
	assert_int_equal(range.end_ns, UINT64_MAX);
	ep_view_filter_set_from(filter, (struct ep_view_moment){EP_VIEW_TIME_OF_DAY, 3 * hour});
	range = ep_view_filter_range(filter, start, start + 10 * hour);
	assert_int_equal(range.start_ns, start + 5 * hour); /* of the next day */
	range = ep_view_filter_range(filter, start, start + hour);
	assert_int_equal(range.start_ns, start - 19 * hour); /* which is not in the recording */
}

static const struct {
	enum ep_view_key key;
	const char *value, *why;
} wrong[] = {
	{EP_VIEW_PID, "x", "takes process ids, like 1234,1235 or !1234, not 'x'"},
	{EP_VIEW_PID, "1,", "takes process ids, like 1234,1235 or !1234, not '1,'"},
	{EP_VIEW_PID, "1-2", "takes process ids, like 1234,1235 or !1234, not '1-2'"},
	{EP_VIEW_PID, "99999999999", "takes process ids, like 1234,1235 or !1234, not '99999999999'"},
	{EP_VIEW_CPU, "3-1", "takes numbers of CPUs, like 0-3,7, not '3-1'"},
	{EP_VIEW_CPU, "", "takes numbers of CPUs, like 0-3,7, not ''"},
	{EP_VIEW_COMM, "", "takes a name, like make or 'make*', not ''"},
	{EP_VIEW_COMM, "!", "takes a name, like make or 'make*', not '!'"},
	{EP_VIEW_THREAD, "", "takes a thread's name or id, like 'worker*' or 1234, not ''"},
	{EP_VIEW_KIND, "kernel,", "takes kinds of frames, like kernel,native, not 'kernel,'"},
	{EP_VIEW_KEEP, "a(b", "takes a regular expression, not 'a(b': Unmatched ( or \\("},
};

EP_TEST(wrong_values_say_what_is_taken)
{
	struct ep_view_filter *filter = new_filter();

	for (size_t i = 0; i < EP_LEN(wrong); i++) {
		char why[EP_VIEW_WHY_BYTES] = "";

		assert_int_equal(ep_view_filter_add(filter, wrong[i].key, wrong[i].value, why), -EINVAL);
		assert_string_equal(why, wrong[i].why);
	}
}

EP_TEST(rules_are_bounded)
{
	struct ep_view_filter *filter = new_filter();
	char why[EP_VIEW_WHY_BYTES];

	for (int i = 0; i < EP_VIEW_MAX_RULES; i++)
		add(filter, "p1");
	assert_int_equal(ep_view_filter_add(filter, EP_VIEW_PID, "1", why), -E2BIG);
}
