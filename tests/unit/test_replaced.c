/* SPDX-License-Identifier: Apache-2.0 */
/* core/base/replaced.c: what may be replaced by a file, and where a link leads. */
#include "core/base/replaced.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#define NOBODY 65534

struct fixture {
	char dir[64], path[128], other[128], inner[128];
};

static int set_up(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	snprintf(fx->dir, sizeof(fx->dir), "/tmp/ep-replaced-XXXXXX");
	if (!mkdtemp(fx->dir))
		return -1;
	snprintf(fx->path, sizeof(fx->path), "%s/path", fx->dir);
	snprintf(fx->other, sizeof(fx->other), "%s/other", fx->dir);
	snprintf(fx->inner, sizeof(fx->inner), "%s/dir", fx->dir);
	*state = fx;
	return mkdir(fx->inner, 0755);
}

static int tear_down(void **state)
{
	struct fixture *fx = *state;
	int r;

	(void)unlink(fx->path);
	(void)unlink(fx->other);
	(void)rmdir(fx->inner);
	r = rmdir(fx->dir);
	free(fx);
	return r;
}

#define REPLACED_TEST(name) EP_TEST_ON(name, struct fixture *fx, set_up, tear_down)

static int make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	return fd < 0 ? fd : close(fd);
}

static int make_pipe(const char *path)
{
	return mkfifo(path, 0600);
}

static int make_device(const char *path)
{
	return mknod(path, S_IFCHR | 0600, makedev(1, 3)); /* null */
}

static int make_disk(const char *path)
{
	return mknod(path, S_IFBLK | 0600, makedev(7, 0));
}

static int make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	ep_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static int make_nothing(const char *path)
{
	(void)path;
	return 0;
}

static const struct {
	const char *label;
	int (*make)(const char *path);
	int found;
	bool needs_root;
} kinds[] = {
	{"nothing", make_nothing, 0, false},
	{"a file", make_file, EP_REPLACED_FILE, false},
	{"a pipe", make_pipe, -ENOTSUP, false},
	{"a socket", make_socket, -ENOTSUP, false},
	{"a device", make_device, -ENOTSUP, true},
	{"a disk", make_disk, -ENOTSUP, true},
};

/* By its name, by a link beside it, and by one that leads there from elsewhere. */
REPLACED_TEST(only_a_file_is_replaced)
{
	char found[PATH_MAX];

	for (size_t i = 0; i < EP_LEN(kinds); i++) {
		if (kinds[i].needs_root && geteuid() != 0)
			continue;
		if (kinds[i].make(fx->path) < 0 && kinds[i].needs_root) /* a container may not */
			continue;
		assert_int_equal(ep_replaced_find(fx->path, found), kinds[i].found);
		if (kinds[i].found >= 0)
			assert_string_equal(found, fx->path);
		assert_int_equal(symlink("path", fx->other), 0);
		assert_int_equal(ep_replaced_find(fx->other, found), kinds[i].found);
		if (kinds[i].found >= 0)
			assert_string_equal(found, fx->path);
		assert_int_equal(unlink(fx->other), 0);
		assert_int_equal(symlink(fx->path, fx->other), 0);
		assert_int_equal(ep_replaced_find(fx->other, NULL), kinds[i].found);
		(void)unlink(fx->path);
		(void)unlink(fx->other);
		assert_true(kinds[i].found >= 0 || ep_replaced_why(kinds[i].found));
	}
}

REPLACED_TEST(a_directory_is_no_file)
{
	assert_int_equal(ep_replaced_find(fx->inner, NULL), -EISDIR);
	assert_int_equal(symlink("dir", fx->path), 0);
	assert_int_equal(ep_replaced_find(fx->path, NULL), -EISDIR);
	assert_non_null(strstr(ep_replaced_why(-EISDIR), "name a file in it"));
}

REPLACED_TEST(links_to_links_are_followed_and_circles_are_not)
{
	char found[PATH_MAX], via[256];

	snprintf(via, sizeof(via), "%s/dir/../other", fx->dir);
	assert_int_equal(symlink(via, fx->path), 0);
	assert_int_equal(ep_replaced_find(fx->path, found), 0);
	assert_string_equal(found, via);
	assert_int_equal(symlink("dir/file", fx->other), 0);
	assert_int_equal(ep_replaced_find(fx->path, found), 0);
	assert_non_null(strstr(found, "/dir/../dir/file"));
	assert_int_equal(unlink(fx->other), 0);
	assert_int_equal(symlink("path", fx->other), 0);
	assert_int_equal(ep_replaced_find(fx->path, found), -ELOOP);
}

/* /dev/stdout and the like: what the kernel's links say is no path. */
REPLACED_TEST(the_kernels_links_are_what_they_lead_to)
{
	char link[64], found[PATH_MAX];
	int ends[2], fd;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", ends[1]);
	assert_int_equal(ep_replaced_find(link, found), -ENOTSUP);
	close(ends[0]);
	close(ends[1]);
	fd = open(fx->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_int_equal(ep_replaced_find(link, found), EP_REPLACED_FILE);
	assert_string_equal(found, fx->path);
	assert_int_equal(unlink(fx->path), 0); /* "... (deleted)" */
	assert_int_equal(ep_replaced_find(link, found), -ELOOP);
	close(fd);
}

/* Where others may write they could lead root to any file. */
REPLACED_TEST(links_of_others_are_not_followed)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(make_file(fx->path), 0);
	assert_int_equal(symlink("path", fx->other), 0);
	assert_int_equal(lchown(fx->other, NOBODY, NOBODY), 0);
	assert_int_equal(ep_replaced_find(fx->other, NULL), -ELOOP);
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	assert_int_equal(ep_replaced_find(fx->other, NULL), EP_REPLACED_FILE);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

REPLACED_TEST(paths_are_bounded)
{
	static char path[2 * PATH_MAX];
	char found[PATH_MAX];

	memset(path, 'x', sizeof(path) - 1);
	assert_int_equal(ep_replaced_find(path, found), -ENAMETOOLONG);
	memset(path, 0, sizeof(path));
	memset(path, '/', PATH_MAX - 8);
	snprintf(path + PATH_MAX - 8, 8, "%s", "x");
	assert_int_equal(symlink(path, fx->path), 0);
	(void)ep_replaced_find(fx->path, found);
}
