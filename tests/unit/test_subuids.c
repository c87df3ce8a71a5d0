/* SPDX-License-Identifier: Apache-2.0 */
/* Whom ids belong to, by texts as subuid(5) has them. */
#include "core/proc/subuids.h"
#include "tests/kit/test.h"

#include <string.h>

static void release(void *subuids)
{
	ep_subuids_fini(subuids);
}

static struct ep_subuids subuids;

static void parse(const char *text)
{
	assert_int_equal(ep_subuids_parse(text, strlen(text), &subuids), 0);
	ep_test_owns(&subuids, release);
}

EP_TEST(ids_that_nobody_was_given_are_users)
{
	static const uint32_t uids[] = {0, 1, 1000, 99999, 100000, 165536, 1234567890, UINT32_MAX};

	parse("");
	for (size_t i = 0; i < EP_LEN(uids); i++)
		assert_int_equal(ep_subuids_owner(&subuids, uids[i]), uids[i]);
	assert_int_not_equal(ep_subuids_owner(&subuids, 100001),
			     ep_subuids_owner(&subuids, 100002));
}

EP_TEST(ids_that_a_user_has_in_a_namespace_are_one_owner)
{
	parse("ann:100000:65536\n"
	      "bob:165536:65536\n"
	      "1000:4294901760:65535\n"
	      "ann:900000:10\n");
	assert_int_equal(ep_subuids_owner(&subuids, 99999), 99999);
	assert_int_equal(ep_subuids_owner(&subuids, 100000), 100000);
	assert_int_equal(ep_subuids_owner(&subuids, 165535), 100000);
	assert_int_equal(ep_subuids_owner(&subuids, 165536), 165536);
	assert_int_equal(ep_subuids_owner(&subuids, 231071), 165536);
	assert_int_equal(ep_subuids_owner(&subuids, 231072), 231072);
	assert_int_equal(ep_subuids_owner(&subuids, 900009), 100000); /* ann's, too */
	assert_int_equal(ep_subuids_owner(&subuids, 900010), 900010);
	assert_int_equal(ep_subuids_owner(&subuids, UINT32_MAX - 1), 4294901760);
	assert_int_equal(ep_subuids_owner(&subuids, UINT32_MAX), UINT32_MAX);
}

/* Container managers of the machine have one large block, and give each container a piece of it. */
EP_TEST(containers_of_root_are_an_owner_each)
{
	parse("root:1000000:1000000000\nann:100000:200000\n");
	assert_int_equal(ep_subuids_owner(&subuids, 1000000), 1000000);
	assert_int_equal(ep_subuids_owner(&subuids, 1065535), 1000000);
	assert_int_equal(ep_subuids_owner(&subuids, 1065536), 1065536);
	assert_int_equal(ep_subuids_owner(&subuids, 299999), 100000);
}

EP_TEST(lines_that_are_not_understood_are_passed_over)
{
	parse("# a comment\n\n:5:5\nann\nann:\nann:x:1\nann:1\nann:1:\nann:0:10\nann:5:0\n"
	      "ann:4294967296:1\nann:1:4294967296\nann:99999999999999999999:1\nann 7 7\nbob:7:7");
	assert_int_equal(subuids.blocks.len, 1);
	assert_int_equal(ep_subuids_owner(&subuids, 13), 7);
	assert_int_equal(ep_subuids_owner(&subuids, 14), 14);
}

EP_TEST(a_file_that_is_not_there_has_no_blocks)
{
	ep_subuids_read("/nowhere/subuid", &subuids);
	assert_int_equal(ep_subuids_owner(&subuids, 100001), 100001);
	ep_subuids_fini(&subuids);
}

/* As many lines as nobody has. */
EP_TEST(a_large_file_is_read_in_part)
{
	const char *path = ep_test_path(ep_test_directory(), "subuid");
	ep_cleanup(ep_vec_fini) struct ep_vec text;

	ep_vec_init(&text, 1, 1 << 20);
	for (unsigned int i = 1; i <= EP_SUBUIDS_MAX + 5; i++)
		assert_int_equal(ep_vec_printf(&text, "u%u:%u:10\n", i, i * 100), 0);
	ep_test_write(path, text.data);
	ep_subuids_read(path, &subuids);
	ep_test_owns(&subuids, release);
	assert_int_equal(subuids.blocks.len, EP_SUBUIDS_MAX);
	assert_int_equal(ep_subuids_owner(&subuids, EP_SUBUIDS_MAX * 100 + 9),
			 EP_SUBUIDS_MAX * 100);
	assert_int_equal(ep_subuids_owner(&subuids, EP_SUBUIDS_MAX * 100 + 109),
			 EP_SUBUIDS_MAX * 100 + 109);
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}
