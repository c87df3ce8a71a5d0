/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/vec.h"
#include "core/cli/parts/new_plugin.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *get(const char *path)
{
	static char text[256];
	FILE *file = fopen(path, "r");
	size_t n;

	if (!file)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	return text;
}

/* A template, and an empty directory that is the present one. */
static int begin(void **state)
{
	const char *directory = ep_test_directory();

	ep_test_write(ep_test_path(directory, "template/toy.c"),
		      "int toy_run(void); /* the toy */\n");
	ep_test_write(ep_test_path(directory, "template/Makefile"), "NAME = toy\n");
	ep_test_write(ep_test_path(directory, "template/tests/test_toy.c"), "#define TOY_H\n");
	ep_test_write(ep_test_path(directory, "template/tests/stubs.h"), "");
	return chdir(directory) || mkdir("here", 0755) || chdir("here");
}

static int end(void **state)
{
	return chdir("/");
}

static const struct {
	const char *text, *renamed;
} texts[] = {
	{"toy", "new_one"},
	{"toy_run(toy.c, \"toy\")", "new_one_run(new_one.c, \"new_one\")"},
	{"TOY_RUN EP_TOY_X", "NEW_ONE_RUN EP_NEW_ONE_X"},
	{"TOY a TOY", "TOY a TOY"}, /* a word of prose, as JIT */
	{"toys toyed atoy 3toy toy3 Toy", "toys toyed atoy 3toy toy3 Toy"},
	{"test_toy", "test_new_one"},
	{"to toy", "to new_one"},
	{"", ""},
};

EP_TEST(words_are_renamed_and_parts_of_words_are_not)
{
	for (size_t i = 0; i < EP_LEN(texts); i++) {
		ep_cleanup(ep_vec_fini) struct ep_vec out;

		ep_vec_init(&out, 1, 256);
		assert_int_equal(ep_new_plugin_rename(texts[i].text, strlen(texts[i].text), "toy",
						      "new_one", &out),
				 0);
		assert_int_equal(ep_vec_append(&out, "", 1), 0);
		assert_string_equal(out.data, texts[i].renamed);
	}
}

EP_TEST(text_that_grows_too_large_is_refused)
{
	ep_cleanup(ep_vec_fini) struct ep_vec out;

	ep_vec_init(&out, 1, 8);
	assert_int_equal(ep_new_plugin_rename("toy toy", 7, "toy", "longer", &out), -E2BIG);
}

EP_TEST_WITH(template_becomes_a_directory_with_its_name, begin, end)
{
	char error[EP_NEW_PLUGIN_ERROR] = "";

	assert_int_equal(ep_new_plugin_write("../template", "toy", "mine", error), 0);
	assert_string_equal(error, "");
	assert_string_equal(get("mine/mine.c"), "int mine_run(void); /* the mine */\n");
	assert_string_equal(get("mine/Makefile"), "NAME = mine\n");
	assert_string_equal(get("mine/tests/test_mine.c"), "#define MINE_H\n");
	assert_non_null(get("mine/tests/stubs.h"));
	assert_null(get("mine/toy.c"));
}

static const struct {
	const char *name, *error;
	int r;
} refused[] = {
	{"", "cannot be a plugin's name", -EINVAL},
	{"Mine", "cannot be a plugin's name", -EINVAL},
	{"3d", "cannot be a plugin's name", -EINVAL},
	{"../mine", "cannot be a plugin's name", -EINVAL},
	{"a12345678901234567890123456789012", "at most 31", -EINVAL},
	{"ep", "names with ep_ are the profiler's: choose", -EINVAL},
	{"there", "there is there already: choose another name", -EEXIST},
	{"stubs", "the template has a file stubs/tests/stubs.h of its own", -EEXIST},
};

EP_TEST_WITH(what_cannot_be_is_one_sentence_and_leaves_nothing, begin, end)
{
	ep_test_write("../template/tests/toy.h", "");
	ep_test_write("there", "somebody's");
	for (size_t i = 0; i < EP_LEN(refused); i++) {
		char error[EP_NEW_PLUGIN_ERROR] = "";

		assert_int_equal(ep_new_plugin_write("../template", "toy", refused[i].name, error),
				 refused[i].r);
		assert_non_null(strstr(error, refused[i].error));
		assert_null(strchr(error, '\n'));
	}
	assert_string_equal(get("there"), "somebody's");
	assert_int_not_equal(access("stubs", F_OK), 0);
}

EP_TEST_WITH(template_that_is_missing_or_no_file_is_said, begin, end)
{
	char error[EP_NEW_PLUGIN_ERROR] = "";

	assert_int_equal(ep_new_plugin_write("../none", "toy", "mine", error), -ENOENT);
	assert_non_null(strstr(error, "there is no template ../none: install"));
	assert_int_equal(symlink("/etc/passwd", "../template/tests/link"), 0);
	assert_int_equal(ep_new_plugin_write("../template", "toy", "mine", error), -ELOOP);
	assert_non_null(strstr(error, "cannot read ../template/tests/link"));
	assert_int_not_equal(access("mine", F_OK), 0);
}
