/* SPDX-License-Identifier: Apache-2.0 */
/* core/agent/renamed.c: this program under another name than its file's, as Node.js and PyTorch are. */
#include "core/agent/renamed.h"
#include "tests/kit/test.h"

#include <sys/prctl.h>

static char own_comm[EP_PROCESS_COMM_BYTES];

static int set_up(void **state)
{
	(void)state;
	return prctl(PR_GET_NAME, own_comm) | prctl(PR_SET_NAME, "Main\033Thread");
}

static int tear_down(void **state)
{
	(void)state;
	return prctl(PR_SET_NAME, own_comm);
}

static struct ep_renamed find(const char *const *values, size_t n)
{
	struct ep_filter filter = {0};
	struct ep_renamed renamed;
	char error[512];

	for (size_t i = 0; i < n; i++)
		assert_int_equal(ep_filter_add(&filter, EP_FILTER_COMM, "--comm", values[i], error, sizeof(error)), 0);
	assert_int_equal(ep_renamed_find(&filter, &renamed), 0);
	return renamed;
}

#define FIND(...)                                                                                  \
	find((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

EP_TEST_WITH(who_has_another_name_than_its_file_is_found, set_up, tear_down)
{
	struct ep_renamed renamed = FIND("test_rena?ed");
	char text[512], wanted[128];

	(void)state;
	assert_true(renamed.n >= 1);
	assert_string_equal(renamed.file, "test_renamed");
	if (renamed.n > 1 || renamed.pid != getpid()) /* the same test beside this one */
		skip();
	ep_renamed_print(&renamed, text, sizeof(text));
	snprintf(wanted, sizeof(wanted),
		 "1 process runs test_renamed and has another name (%d is 'Main?Thread'): choose by file, --exe test_renamed",
		 (int)getpid());
	assert_string_equal(text, wanted);
}

EP_TEST_WITH(who_has_the_name_is_counted, set_up, tear_down)
{
	struct ep_renamed renamed = FIND("Main?Thread");

	(void)state;
	assert_true(renamed.n_named >= 1);
	assert_int_equal(renamed.n, 0);
}

EP_TEST_WITH(excluded_names_ask_for_nobody, set_up, tear_down)
{
	(void)state;
	assert_int_equal(FIND("!test_renamed").n, 0);
	assert_int_equal(FIND("no such program").n, 0);
}
