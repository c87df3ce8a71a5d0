/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/elevated.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_WORDS _LINUX_CAPABILITY_U32S_3

/* Capabilities of this thread (capget(2)). */
struct capabilities {
	struct __user_cap_data_struct data[CAP_WORDS];
};

static int get_capabilities(struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, capabilities->data) < 0 ? -errno : 0;
}

static int set_capabilities(const struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &header, capabilities->data) < 0 ? -errno : 0;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

/* None in effect while it is opened; those that are permitted stay, and come back. */
static int open_without_capabilities(const char *path)
{
	struct capabilities had, none;
	int r = get_capabilities(&had), fd;

	if (r < 0)
		return r;
	none = had;
	for (size_t i = 0; i < CAP_WORDS; i++)
		none.data[i].effective = 0;
	r = set_capabilities(&none);
	if (r < 0)
		return r;
	fd = open_file(path);
	(void)set_capabilities(&had);
	return fd;
}

int ep_open_as_caller(const char *path)
{
	int fd, fsuid, fsgid;

	if (!ep_is_elevated())
		return open_file(path);
	fsgid = setfsgid(getgid());
	fsuid = setfsuid(getuid());
	fd = open_without_capabilities(path);
	(void)setfsuid((uid_t)fsuid);
	(void)setfsgid((gid_t)fsgid);
	return fd;
}
