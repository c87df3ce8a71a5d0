/* SPDX-License-Identifier: Apache-2.0 */
/* What the host is given of names that are kept, and lines in tables of runs. */
#include "plugins/shared/names/add.h"

#include "core/base/util.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct ep_name added; /* by add_name, which says `outcome` */
static int outcome;

static int add_name(struct ep_names *names, const struct ep_name *name)
{
	assert_ptr_equal(names, &outcome);
	assert_int_equal(name->size, sizeof(*name));
	added = *name;
	return outcome;
}

static const struct ep_unwinder_host host = {.size = sizeof(host), .add_name = add_name};
#define NAMES ((struct ep_names *)&outcome)

EP_TEST(host_is_given_what_is_kept_and_what_comes_with_it)
{
	struct names_function *function;

	assert_int_equal(names_function_new("f", "a.toy", NULL, 0, &function), 0);
	function->start_line = 7;
	function->line = 8; /* the language's: not given unless it says so */
	outcome = -E2BIG;
	assert_int_equal(names_add(&host, NAMES, function,
				   (struct ep_name){.line = 9, .system_name = "_f"}),
			 -E2BIG);
	assert_string_equal(added.function, "f");
	assert_string_equal(added.file, "a.toy");
	assert_string_equal(added.system_name, "_f");
	assert_int_equal(added.start_line, 7);
	assert_int_equal(added.line, 9);
	free(function);
}

EP_TEST(file_that_is_not_known_is_none)
{
	struct names_function *function;

	assert_int_equal(names_function_new("f", "", NULL, 0, &function), 0);
	outcome = 0;
	assert_int_equal(names_add(&host, NAMES, function, (struct ep_name){0}), 0);
	assert_null(added.file);
	assert_int_equal(added.line, 0);
	free(function);
}

EP_TEST(text_says_why_it_is_no_name)
{
	outcome = -ENOMEM;
	assert_int_equal(
		names_add_text(&host, NAMES, "(freed)", EP_UNNAMED_GONE, EP_NAME_STANDS_IN),
		-ENOMEM);
	assert_string_equal(added.function, "(freed)");
	assert_int_equal(added.unnamed, EP_UNNAMED_GONE);
	assert_int_equal(added.flags, EP_NAME_STANDS_IN);
	assert_null(added.file);
}

EP_TEST(line_is_that_of_the_run_before)
{
	static const struct names_run runs[] = {{4, 10}, {8, 0}, {20, 12}};
	static const uint32_t expected[][2] = {{0, 0}, {3, 0},	 {4, 10},  {7, 10},
					       {8, 0}, {19, 0}, {20, 12}, {UINT32_MAX, 12}};

	for (size_t i = 0; i < EP_LEN(expected); i++)
		assert_int_equal(names_find_line(runs, EP_LEN(runs), expected[i][0]),
				 expected[i][1]);
	assert_int_equal(names_find_line(runs, 0, 5), 0);
}
