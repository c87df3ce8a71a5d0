/* SPDX-License-Identifier: Apache-2.0 */
/* Each outcome of each call in each state of a language in a process, and what a call said. */
#include "core/plugin/attached.h"
#include "core/plugin/unwinder.h"
#include "tests/kit/test.h"

#include <limits.h>

static const char letters[EP_ATTACHMENT_COUNT + 1] = "WADRG"; /* of the states, in their order */

/* The letter of the new state, then a, d, f: again, detach, forget. */
static void print_step(char text[8], struct ep_attachment_step step)
{
	snprintf(text, 8, "%c%s%s%s", letters[step.state],
		 step.actions & EP_ATTACHMENT_AGAIN ? "a" : "",
		 step.actions & EP_ATTACHMENT_DETACH ? "d" : "",
		 step.actions & EP_ATTACHMENT_FORGET ? "f" : "");
}

struct row {
	enum ep_attachment_call call;
	int result;
	const char *after[EP_ATTACHMENT_COUNT]; /* in WAITING, ATTACHED, DORMANT, REFUSED, GONE */
};

#define ATTACH	  EP_ATTACHMENT_ATTACH
#define REFRESH	  EP_ATTACHMENT_REFRESH
#define SYMBOLIZE EP_ATTACHMENT_SYMBOLIZE
#define REST	  EP_ATTACHMENT_REST

static const struct row rows[] = {
	/*			       W      A      D      R    G */
	{ATTACH, 0,		     {"A",   "A",   "A",   "R", "G"}},
	{ATTACH, EP_NOT_YET,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, EP_NOT_MINE,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, EP_FRAME_GONE,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, INT_MAX,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, -EFAULT,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, -ENOMEM,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, -EPERM,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, INT_MIN,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, -ENOTSUP,	     {"Rf",  "A",   "Rf",  "R", "G"}},
	{ATTACH, -ESRCH,	     {"Gf",  "A",   "Gf",  "R", "G"}},

	{REFRESH, 0,		     {"W",   "A",   "D",   "R", "G"}},
	{REFRESH, EP_NOT_YET,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, EP_NOT_MINE,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, EP_FRAME_GONE,     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, INT_MAX,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, -EFAULT,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, -ENOMEM,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, -EPERM,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, INT_MIN,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, -ENOTSUP,	     {"W",   "Rdf", "D",   "R", "G"}},
	{REFRESH, -ESRCH,	     {"W",   "Gdf", "D",   "R", "G"}},

	{SYMBOLIZE, 0,		     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, EP_NOT_YET,	     {"W",   "Aa",  "D",   "R", "G"}},
	{SYMBOLIZE, EP_NOT_MINE,     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, EP_FRAME_GONE,   {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, INT_MAX,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -EFAULT,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -ENOMEM,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -EPERM,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, INT_MIN,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -ENOTSUP,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -ESRCH,	     {"W",   "Ga",  "D",   "R", "G"}},

	{REST, 0,		     {"W",   "Dd",  "D",   "R", "Gd"}},
};

EP_TEST(each_outcome_leads_where_the_table_says)
{
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		for (int from = 0; from < EP_ATTACHMENT_COUNT; from++) {
			char text[8];

			print_step(text, ep_attachment_after((enum ep_attachment)from, rows[i].call,
							     rows[i].result));
			if (strcmp(text, rows[i].after[from]) != 0)
				fail_msg("call %d in %c, result %d: %s, not %s", (int)rows[i].call,
					 letters[from], rows[i].result, text, rows[i].after[from]);
		}
	}
}

/* Of whatever a plugin returns. */
static void check_step(enum ep_attachment from, enum ep_attachment_call call, int result)
{
	struct ep_attachment_step step = ep_attachment_after(from, call, result);

	if (from == EP_ATTACHMENT_REFUSED || from == EP_ATTACHMENT_GONE)
		assert_int_equal(step.state, from);
	if (step.state == EP_ATTACHMENT_REFUSED && from != step.state)
		assert_int_equal(result, -ENOTSUP);
	if (step.state == EP_ATTACHMENT_GONE && from != step.state)
		assert_int_equal(result, -ESRCH);
	if (step.actions & EP_ATTACHMENT_DETACH)
		assert_int_not_equal(step.state, EP_ATTACHMENT_ATTACHED);
	if (step.actions & EP_ATTACHMENT_FORGET)
		assert_true(result == -ENOTSUP || result == -ESRCH);
	if (step.actions & EP_ATTACHMENT_AGAIN)
		assert_int_not_equal(result, 0);
	assert_true(step.state < EP_ATTACHMENT_COUNT);
}

EP_TEST(only_two_errors_are_final)
{
	for (int from = 0; from < EP_ATTACHMENT_COUNT; from++) {
		for (int call = 0; call < EP_ATTACHMENT_CALLS; call++) {
			for (int result = -4096; result <= 4096; result++)
				check_step((enum ep_attachment)from,
					   (enum ep_attachment_call)call, result);
		}
	}
}

/* --- calls of a plugin that does as it is told ------------------------------------------------- */

static const struct ep_range two[] = {
	{.start = 0x3000, .end = 0x4000, .data = 3},
	{.start = 0x1000, .end = 0x2000, .mode = EP_RANGE_ENTER, .data = 1},
};
#define ANONYMOUS {.end = UINT64_MAX, .mode = EP_RANGE_ENTER, .flags = EP_RANGE_ANONYMOUS}
static const struct ep_range anonymous = ANONYMOUS;

static struct {
	int result;
	void *instance; /* of attach */
	const char *state; /* what is set, if anything */
	const struct ep_range *ranges;
	size_t n_ranges;
	struct ep_target *target;
	int n_calls, n_detached;
} script;

static int answer(void)
{
	const struct ep_target_ops *ops = script.target->ops;

	script.n_calls++;
	if (script.state)
		assert_int_equal(ops->set_state(script.target->arg, script.state, strlen(script.state)), 0);
	if (script.ranges)
		assert_int_equal(ops->set_ranges(script.target->arg, script.ranges, script.n_ranges), 0);
	return script.result;
}

static int attach(void *executable, struct ep_target *target, void **ret_instance)
{
	assert_ptr_equal(executable, &script);
	script.target = target;
	*ret_instance = script.instance;
	return answer();
}

static int refresh(void *instance)
{
	assert_ptr_equal(instance, &script);
	return answer();
}

static int symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	assert_ptr_equal(instance, &script);
	return answer();
}

static void detach(void *instance)
{
	assert_ptr_equal(instance, &script);
	script.n_detached++;
}

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops), .attach = attach, .refresh = refresh, .symbolize = symbolize, .detach = detach};

/* Attached; its state is "first", its ranges are two. */
static void begin(struct ep_attached *attached)
{
	memset(&script, 0, sizeof(script));
	script.instance = &script;
	script.state = "first";
	script.ranges = two;
	script.n_ranges = 2;
	ep_attached_init(attached, &ops, &script, NULL, NULL, 7, 0);
	assert_false(ep_attached_attach(attached));
	assert_true(attached->is_changed);
	attached->is_changed = false;
	script.ranges = NULL;
	script.state = NULL;
}

static void assert_first(const struct ep_attached *attached)
{
	const struct ep_range *ranges = attached->holds.ranges.data;

	assert_true(attached->holds.has_state);
	assert_int_equal(attached->holds.state_bytes, 5);
	assert_memory_equal(attached->holds.state, "first", 5);
	assert_int_equal(attached->holds.ranges.len, 2);
	assert_int_equal(ranges[0].data, 1);
	assert_int_equal(ranges[1].data, 3);
	assert_false(attached->holds.anonymous);
	assert_false(attached->is_changed);
}

EP_TEST(there_is_an_instance_when_attach_says_0)
{
	static const int results[] = {EP_NOT_YET, -ENOTSUP, -ESRCH, -EFAULT, 99};
	struct ep_attached attached;

	begin(&attached);
	assert_ptr_equal(attached.instance, &script);
	ep_attached_fini(&attached);
	assert_int_equal(script.n_detached, 1);
	script.instance = NULL;
	ep_attached_init(&attached, &ops, &script, NULL, NULL, 7, 0);
	assert_false(ep_attached_attach(&attached));
	assert_int_equal(attached.result, -ENOTSUP);
	assert_int_equal(attached.state, EP_ATTACHMENT_REFUSED);
	ep_attached_fini(&attached);
	script.instance = &script;
	for (size_t i = 0; i < EP_LEN(results); i++) {
		script.result = results[i];
		ep_attached_init(&attached, &ops, &script, NULL, NULL, 7, 0);
		(void)ep_attached_attach(&attached);
		assert_int_equal(attached.result, results[i]);
		assert_null(attached.instance);
		ep_attached_fini(&attached);
	}
	assert_int_equal(script.n_detached, 1);
}

EP_TEST(what_a_refresh_that_fails_set_is_forgotten)
{
	static const int results[] = {EP_NOT_YET, -EFAULT, 99};
	ep_cleanup(ep_attached_fini) struct ep_attached attached;

	begin(&attached);
	for (size_t i = 0; i < EP_LEN(results); i++) {
		script.state = "other";
		script.ranges = &anonymous;
		script.n_ranges = 1;
		script.result = results[i];
		assert_true(ep_attached_refresh(&attached));
		assert_first(&attached);
		/* nor does it come with the next one */
		script.state = NULL;
		script.ranges = NULL;
		script.result = 0;
		assert_false(ep_attached_refresh(&attached));
		assert_first(&attached);
	}
}

EP_TEST(what_is_not_set_still_holds_until_the_next_attach)
{
	ep_cleanup(ep_attached_fini) struct ep_attached attached;

	begin(&attached);
	script.ranges = &anonymous;
	script.n_ranges = 1;
	assert_false(ep_attached_refresh(&attached));
	assert_memory_equal(attached.holds.state, "first", 5);
	assert_int_equal(attached.holds.ranges.len, 0);
	assert_true(attached.holds.anonymous);
	script.ranges = NULL;
	script.state = "2nd";
	assert_false(ep_attached_refresh(&attached));
	assert_int_equal(attached.holds.state_bytes, 3);
	assert_true(attached.holds.anonymous);
	ep_attached_rest(&attached);
	assert_int_equal(script.n_detached, 1);
	assert_true(attached.holds.anonymous);
	assert_false(ep_attached_attach(&attached));
	assert_false(attached.holds.anonymous);
}

EP_TEST(what_symbolize_sets_holds_whatever_it_returns)
{
	static const int results[] = {EP_FRAME_GONE, EP_NOT_YET, -ENOTSUP, -EFAULT, -ESRCH};
	ep_cleanup(ep_attached_fini) struct ep_attached attached;

	begin(&attached);
	for (size_t i = 0; i < EP_LEN(results); i++) {
		char text[] = {(char)('a' + i), 0};

		script.state = text;
		script.result = results[i];
		(void)ep_attached_symbolize(&attached, NULL, NULL);
		assert_int_equal(attached.holds.state[0], text[0]);
	}
	assert_int_equal(attached.state, EP_ATTACHMENT_ATTACHED); /* until the last frame */
	ep_attached_end_names(&attached);
	assert_int_equal(attached.state, EP_ATTACHMENT_GONE);
	assert_int_equal(script.n_detached, 0);
}

EP_TEST(who_is_refused_is_detached_and_forgotten)
{
	static const int results[] = {-ENOTSUP, -ESRCH};
	struct ep_attached attached;

	for (size_t i = 0; i < EP_LEN(results); i++) {
		begin(&attached);
		script.result = results[i];
		assert_false(ep_attached_refresh(&attached));
		assert_int_equal(script.n_detached, 1);
		assert_true(attached.is_changed);
		assert_false(attached.holds.has_state);
		assert_int_equal(attached.holds.ranges.len, 0);
		script.n_calls = 0;
		(void)ep_attached_refresh(&attached);
		(void)ep_attached_symbolize(&attached, NULL, NULL);
		assert_int_equal(attached.result, -ESRCH);
		assert_int_equal(script.n_calls, 0);
		ep_attached_fini(&attached);
		assert_int_equal(script.n_detached, 1);
	}
}

EP_TEST(what_cannot_be_set_changes_nothing)
{
	static const struct ep_range overlap[] = {{.start = 1, .end = 3}, ANONYMOUS, {.start = 2, .end = 4}};
	uint8_t too_much[EP_STATE_BYTES + 1] = {0};
	ep_cleanup(ep_attached_fini) struct ep_attached attached;
	const struct ep_target *target = &attached.target;

	begin(&attached);
	assert_int_equal(target->ops->set_state(target->arg, too_much, sizeof(too_much)), -E2BIG);
	assert_int_equal(target->ops->set_ranges(target->arg, overlap, 3), -EINVAL);
	assert_false(ep_attached_refresh(&attached));
	assert_first(&attached);
	assert_int_equal(target->ops->set_ranges(target->arg, overlap, 2), 0);
	assert_false(ep_attached_refresh(&attached));
	assert_int_equal(attached.holds.ranges.len, 1);
	assert_true(attached.holds.anonymous);
}
