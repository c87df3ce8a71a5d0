/* SPDX-License-Identifier: Apache-2.0 */
/* core/base/directory.c: where others can put their own in the place of what we write. */
#include "core/base/directory.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

struct fixture {
	const char *top, *inner, *link;
};

static char why[EP_DIRECTORY_WHY_BYTES];

static int set_up(void **state)
{
	static struct fixture fx;

	fx.top = ep_test_directory();
	fx.inner = ep_test_path(fx.top, "inner");
	fx.link = ep_test_path(fx.top, "link");
	*state = &fx;
	return mkdir(fx.inner, 0755) | symlink("inner", fx.link);
}

#define DIRECTORY_TEST(name) EP_TEST_ON(name, struct fixture *fx, set_up, NULL)

DIRECTORY_TEST(modes_that_let_others_write_are_refused)
{
	static const struct {
		mode_t mode;
		int result;
	} cases[] = {{0700, 0}, {0755, 0}, {0757, -EPERM}, {0777, -EPERM}, {01777, 0}, {01757, 0}};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		assert_int_equal(chmod(fx->inner, cases[i].mode), 0);
		assert_int_equal(ep_directory_check(fx->inner, why), cases[i].result);
		assert_int_equal(ep_directory_check(fx->link, why), cases[i].result);
	}
	assert_int_equal(chmod(fx->inner, 0777), 0);
	assert_int_equal(ep_directory_check(fx->inner, why), -EPERM);
	assert_non_null(strstr(why, fx->inner));
	assert_non_null(strstr(why, "may be written by everybody"));
}

DIRECTORY_TEST(those_above_count_as_well)
{
	assert_int_equal(chmod(fx->top, 0777), 0);
	assert_int_equal(ep_directory_check(fx->inner, why), -EPERM);
	assert_int_equal(chmod(fx->top, 01777), 0);
	assert_int_equal(ep_directory_check(fx->inner, why), 0);
}

DIRECTORY_TEST(what_is_not_there_is_for_others_to_say)
{
	assert_int_equal(ep_directory_check(ep_test_path(fx->top, "none"), why), 0);
	assert_int_equal(ep_directory_check("/", why), 0);
}

DIRECTORY_TEST(of_others_only_who_called_sudo_is_trusted)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(fx->inner, NOBODY, NOBODY), 0);
	assert_int_equal(ep_directory_check(fx->inner, why), -EPERM);
	assert_non_null(strstr(why, "belongs to user 65534"));
	(void)setenv("SUDO_UID", "65534", 1);
	(void)setenv("SUDO_GID", "65534", 1);
	assert_int_equal(ep_directory_check(fx->inner, why), 0);
	(void)unsetenv("SUDO_UID");
	(void)unsetenv("SUDO_GID");
}

/* Root's group is root; a group of several users is none of ours. */
DIRECTORY_TEST(a_group_may_write_when_it_is_a_users_own)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(fx->inner, 0775), 0);
	assert_int_equal(ep_directory_check(fx->inner, why), 0);
	assert_int_equal(chown(fx->inner, 0, NOBODY), 0);
	assert_int_equal(chmod(fx->inner, 0775), 0);
	assert_int_equal(ep_directory_check(fx->inner, why), -EPERM);
	assert_non_null(strstr(why, "may be written by its group"));
}
