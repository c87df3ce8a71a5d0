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

static const struct {
	const char *label, *text;
	size_t n_blocks; /* 0: whatever it is */
	struct {
		uint32_t uid, owner;
	} ids[10]; /* up to a 0 that is not the first */
} cases[] = {
	{"ids that nobody was given are users", "", 0,
	 {{0, 0}, {1, 1}, {1000, 1000}, {99999, 99999}, {100000, 100000}, {100001, 100001}, {100002, 100002}, {165536, 165536},
	  {1234567890, 1234567890}, {UINT32_MAX, UINT32_MAX}}},
	{"ids that a user has in a namespace are one owner", /* 900009: ann's, too */
	 "ann:100000:65536\nbob:165536:65536\n1000:4294901760:65535\nann:900000:10\n", 0,
	 {{99999, 99999}, {100000, 100000}, {165535, 100000}, {165536, 165536}, {231071, 165536}, {231072, 231072},
	  {900009, 100000}, {900010, 900010}, {UINT32_MAX - 1, 4294901760}, {UINT32_MAX, UINT32_MAX}}},
	{"containers of root are an owner each", "root:1000000:1000000000\nann:100000:200000\n", 0,
	 {{1000000, 1000000}, {1065535, 1000000}, {1065536, 1065536}, {299999, 100000}}},
	{"lines that are not understood are passed over",
	 "# a comment\n\n:5:5\nann\nann:\nann:x:1\nann:1\nann:1:\nann:0:10\nann:5:0\n"
	 "ann:4294967296:1\nann:1:4294967296\nann:99999999999999999999:1\nann 7 7\nbob:7:7", 1,
	 {{13, 7}, {14, 14}}},
};

EP_TEST_EACH(ids_have_owners, size_t, i, EP_LEN(cases))
{
	print_message("%s\n", cases[i].label);
	parse(cases[i].text);
	if (cases[i].n_blocks)
		assert_int_equal(subuids.blocks.len, cases[i].n_blocks);
	for (size_t k = 0; k < EP_LEN(cases[i].ids) && (k == 0 || cases[i].ids[k].uid); k++)
		assert_int_equal(ep_subuids_owner(&subuids, cases[i].ids[k].uid), cases[i].ids[k].owner);
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
