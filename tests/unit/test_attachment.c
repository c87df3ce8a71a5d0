/* SPDX-License-Identifier: Apache-2.0 */
/* Each outcome of each call in each state of a language in a process, and what a call said. */
#include "core/process/attachment.h"
#include "core/process/said.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

static void each_outcome_leads_where_the_table_says(void **state)
{
	(void)state;
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

static void only_two_errors_are_final(void **state)
{
	(void)state;
	for (int from = 0; from < EP_ATTACHMENT_COUNT; from++) {
		for (int call = 0; call < EP_ATTACHMENT_CALLS; call++) {
			for (int result = -4096; result <= 4096; result++)
				check_step((enum ep_attachment)from,
					   (enum ep_attachment_call)call, result);
		}
	}
}

/* --- an instance, or none ---------------------------------------------------------------------- */

static int attach_result;
static void *attach_instance;

static int attach(void *executable, struct ep_target *target, void **ret_instance)
{
	(void)executable, (void)target;
	*ret_instance = attach_instance;
	return attach_result;
}

static int call_attach(int result, void *given, void **ret_instance)
{
	static const struct ep_unwinder_ops ops = {.size = sizeof(ops), .attach = attach};

	attach_result = result;
	attach_instance = given;
	return ep_attachment_attach(&ops, NULL, NULL, ret_instance);
}

static void there_is_an_instance_when_attach_says_0(void **state)
{
	static const int results[] = {EP_NOT_YET, -ENOTSUP, -ESRCH, -EFAULT, 99};
	void *instance = NULL, *given = &instance;

	(void)state;
	assert_int_equal(call_attach(0, given, &instance), 0);
	assert_ptr_equal(instance, given);
	assert_int_equal(call_attach(0, NULL, &instance), -ENOTSUP);
	assert_null(instance);
	for (size_t i = 0; i < EP_LEN(results); i++) {
		instance = given;
		assert_int_equal(call_attach(results[i], given, &instance), results[i]);
		assert_null(instance);
	}
}

/* --- what a call said ---------------------------------------------------------------------------- */

static const struct ep_range two[] = {
	{.start = 0x3000, .end = 0x4000, .data = 3},
	{.start = 0x1000, .end = 0x2000, .mode = EP_RANGE_ENTER, .data = 1},
};
static const struct ep_range anonymous = {
	.end = UINT64_MAX, .mode = EP_RANGE_ENTER, .flags = EP_RANGE_ANONYMOUS};

struct said {
	struct ep_said holds, call;
};

static void init_said(struct said *said)
{
	ep_said_init(&said->holds);
	ep_said_init(&said->call);
	assert_int_equal(ep_said_set_state(&said->call, "first", 5), 0);
	assert_int_equal(ep_said_set_ranges(&said->call, two, 2), 0);
	assert_true(ep_said_end(&said->holds, &said->call, 0));
}

static void fini_said(struct said *said)
{
	ep_said_fini(&said->holds);
	ep_said_fini(&said->call);
}

static void assert_first(const struct said *said)
{
	const struct ep_range *ranges = said->holds.ranges.data;

	assert_true(said->holds.has_state);
	assert_int_equal(said->holds.state_bytes, 5);
	assert_memory_equal(said->holds.state, "first", 5);
	assert_int_equal(said->holds.ranges.len, 2);
	assert_int_equal(ranges[0].data, 1);
	assert_int_equal(ranges[1].data, 3);
	assert_false(said->holds.anonymous);
}

static void what_a_call_that_fails_said_is_forgotten(void **state)
{
	static const int results[] = {EP_NOT_YET, -ENOTSUP, -ESRCH, -EFAULT, 99};
	struct said said;

	(void)state;
	init_said(&said);
	for (size_t i = 0; i < EP_LEN(results); i++) {
		assert_int_equal(ep_said_set_state(&said.call, "other", 5), 0);
		assert_int_equal(ep_said_set_ranges(&said.call, &anonymous, 1), 0);
		assert_false(ep_said_end(&said.holds, &said.call, results[i]));
		assert_first(&said);
		/* nor does it come with the next one */
		assert_false(ep_said_end(&said.holds, &said.call, 0));
		assert_first(&said);
	}
	fini_said(&said);
}

static void what_a_call_does_not_say_still_holds(void **state)
{
	struct said said;

	(void)state;
	init_said(&said);
	assert_int_equal(ep_said_set_ranges(&said.call, &anonymous, 1), 0);
	assert_true(ep_said_end(&said.holds, &said.call, 0));
	assert_memory_equal(said.holds.state, "first", 5);
	assert_int_equal(said.holds.ranges.len, 0);
	assert_true(said.holds.anonymous);
	assert_int_equal(ep_said_set_state(&said.call, "2nd", 3), 0);
	assert_true(ep_said_end(&said.holds, &said.call, 0));
	assert_int_equal(said.holds.state_bytes, 3);
	assert_true(said.holds.anonymous);
	fini_said(&said);
}

static void what_cannot_be_said_changes_nothing(void **state)
{
	static const struct ep_range overlap[] = {{.start = 1, .end = 3}, {.start = 2, .end = 4}};
	uint8_t too_much[EP_STATE_BYTES + 1] = {0};
	struct said said;

	(void)state;
	init_said(&said);
	assert_int_equal(ep_said_set_state(&said.call, too_much, sizeof(too_much)), -E2BIG);
	assert_int_equal(ep_said_set_ranges(&said.call, overlap, 2), -EINVAL);
	assert_false(ep_said_end(&said.holds, &said.call, 0));
	assert_first(&said);
	fini_said(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_outcome_leads_where_the_table_says),
		cmocka_unit_test(only_two_errors_are_final),
		cmocka_unit_test(there_is_an_instance_when_attach_says_0),
		cmocka_unit_test(what_a_call_that_fails_said_is_forgotten),
		cmocka_unit_test(what_a_call_does_not_say_still_holds),
		cmocka_unit_test(what_cannot_be_said_changes_nothing),
	};

	return cmocka_run_group_tests_name("attachment", tests, NULL, NULL);
}
