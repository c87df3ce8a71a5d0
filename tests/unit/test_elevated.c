/* SPDX-License-Identifier: Apache-2.0 */
/* core/base/elevated.c: who called sudo, and files opened with his rights. With the capabilities of a file: tests/live. */
#include "core/base/elevated.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

static void set_sudo(const char *uid, const char *gid)
{
	(void)unsetenv("SUDO_UID");
	(void)unsetenv("SUDO_GID");
	if (uid)
		(void)setenv("SUDO_UID", uid, 1);
	if (gid)
		(void)setenv("SUDO_GID", gid, 1);
}

EP_TEST(who_called_sudo_is_a_number)
{
	static const struct {
		const char *uid, *gid;
		int result;
	} cases[] = {
		{NULL, NULL, EP_SUDO_NONE},
		{"", "", EP_SUDO_NONE}, /* as a shell takes it away */
		{"0", "0", EP_SUDO_NONE},
		{"1000", "100", 0},
		{"nobody", "100", -EINVAL},
		{"-1", "100", -EINVAL},
		{"1000 ", "100", -EINVAL},
		{"4294967295", "100", -EINVAL}, /* setresuid(2): "leave it" */
		{"4294968296", "100", -EINVAL}, /* 1000 in 32 bits */
		{"1000", NULL, -EINVAL},
		{"1000", "users", -EINVAL},
	};

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_sudo_caller caller = {0};

		set_sudo(cases[i].uid, cases[i].gid);
		assert_int_equal(ep_sudo_caller(&caller), cases[i].result);
		if (cases[i].result == 0) {
			assert_int_equal(caller.uid, 1000);
			assert_int_equal(caller.gid, 100);
		}
	}
	set_sudo(NULL, NULL);
}

EP_TEST(who_is_not_root_was_not_made_so_by_sudo)
{
	struct ep_sudo_caller caller;

	if (geteuid() == 0)
		assert_int_equal(seteuid(NOBODY), 0);
	set_sudo("x", "y");
	assert_int_equal(ep_sudo_caller(&caller), EP_SUDO_NONE);
	set_sudo(NULL, NULL);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

EP_TEST(rights_are_of_the_caller_and_come_back)
{
	const struct ep_sudo_caller caller = {.uid = NOBODY, .gid = NOBODY};
	char path[] = "/tmp/ep-elevated-XXXXXX";
	ep_autoclose int made = mkstemp(path), fd = -1;
	struct ep_rights rights;

	assert_true(made >= 0);
	if (geteuid() != 0) {
		(void)unlink(path);
		skip();
	}
	assert_int_equal(fchmod(made, 0600), 0);
	assert_int_equal(ep_rights_of_sudo_caller(&caller, &rights), 0);
	assert_int_equal(open(path, O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EACCES);
	ep_rights_restore(&rights);
	assert_int_equal(setfsuid((uid_t)-1), 0);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0); /* CAP_CHOWN is back, and the right to open anybody's */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)unlink(path);
	ep_rights_restore(&rights); /* once more is nothing */
}

EP_TEST(who_is_no_more_than_his_caller_opens_as_before)
{
	struct ep_rights rights;
	ep_autoclose int fd = ep_open_as_caller("/dev/null", 0);

	assert_true(fd >= 0);
	assert_int_equal(ep_open_as_caller("/nowhere/to/be/found", 0), -ENOENT);
	assert_int_equal(ep_rights_of_caller(&rights), 0);
	assert_false(rights.changed);
}
