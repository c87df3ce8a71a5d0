/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/users.h"
#include "core/base/clock.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/ebpf-profiler-users-XXXXXX";
static struct ep_users users;

static void write_file(const char *text, time_t time)
{
	struct timespec times[2] = {{.tv_sec = time}, {.tv_sec = time}};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int make_file(void **state)
{
	int fd;

	(void)state;
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	ep_users_init(&users, path);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	ep_users_fini(&users);
	(void)unlink(path);
	return 0;
}

EP_TEST_WITH(users_have_the_names_of_the_file, make_file, remove_file)
{
	char name[EP_USER_NAME_BYTES];

	write_file("root:x:0:0:root:/root:/bin/sh\nno line\n\nwww:x:33:33::/:\nagain:x:33:33::/:\n", 1000);
	assert_string_equal(ep_users_name(&users, 33, 1, name), "www");
	assert_string_equal(ep_users_name(&users, 0, 1, name), "root");
	assert_string_equal(ep_users_name(&users, 1000, 1, name), "1000");
	assert_string_equal(ep_users_name(&users, UINT32_MAX - 1, 1, name), "4294967294");
}

EP_TEST_WITH(user_that_comes_later_is_looked_for_once_a_second, make_file, remove_file)
{
	char name[EP_USER_NAME_BYTES];

	write_file("root:x:0:0:root:/root:/bin/sh\n", 1000);
	assert_string_equal(ep_users_name(&users, 7, 1, name), "7");
	write_file("root:x:0:0:root:/root:/bin/sh\nnew:x:7:7::/:\n", 2000);
	assert_string_equal(ep_users_name(&users, 7, EP_NS_PER_SEC / 2, name), "7");
	assert_string_equal(ep_users_name(&users, 0, EP_NS_PER_SEC / 2, name), "root");
	assert_string_equal(ep_users_name(&users, 7, 2 * EP_NS_PER_SEC, name), "new");
	assert_string_equal(ep_users_name(&users, 0, 2 * EP_NS_PER_SEC, name), "root");
}

EP_TEST_WITH(without_a_file_users_are_numbers, make_file, remove_file)
{
	char name[EP_USER_NAME_BYTES], *longest = malloc(5000);

	assert_int_equal(unlink(path), 0);
	assert_string_equal(ep_users_name(&users, 0, 1, name), "0");
	assert_non_null(longest);
	memset(longest, 'a', 4999);
	memcpy(longest + 4900, ":x:5:5::/:\n", 12);
	write_file(longest, 1000); /* a line that is too long ends it, or is passed over */
	free(longest);
	(void)ep_users_name(&users, 5, 2 * EP_NS_PER_SEC, name);
	assert_true(strlen(name) < EP_USER_NAME_BYTES);
}
