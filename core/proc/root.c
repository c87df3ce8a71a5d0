/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a process is looked at below one descriptor of /proc/PID, which belongs to that process
 * and no other: when it is gone, look-ups fail (fs/proc/base.c, proc_pid_make_inode keeps the
 * struct pid).
 */
#include "core/proc/root.h"
#include "core/proc/devices.h"
#include "core/proc/process.h"
#include "core/proc/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define DEBUG_DIR    "/usr/lib/debug"
#define CACHED_TRIES 16
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif

void ep_proc_root_close(struct ep_proc_root *root)
{
	ep_closep(&root->fd);
	root->fd = -1;
}

static int open_below(int dir, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_NO_MAGICLINKS | resolve};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * The kernel looks into what it remembers alone. It gives up as well when somebody mounts or renames something
 * meanwhile. -EINVAL before Linux 5.12.
 */
static int open_cached(int dir, const char *path, uint64_t resolve)
{
	int fd = -EAGAIN;

	for (int i = 0; fd == -EAGAIN && i < CACHED_TRIES; i++)
		fd = open_below(dir, path, resolve | RESOLVE_CACHED);
	return fd;
}

int ep_proc_root_find(const struct ep_proc_root *root, const char *path)
{
	int fd;

	if (!ep_readers_are_there() || !ep_devices_any_suspect())
		return open_below(root->fd, path, RESOLVE_IN_ROOT);
	fd = open_cached(root->fd, path, RESOLVE_IN_ROOT);
	if ((fd == -EAGAIN || fd == -EINVAL) && !ep_devices_process_sees_suspect(root->pid))
		fd = open_below(root->fd, path, RESOLVE_IN_ROOT);
	return fd == -EINVAL ? -EAGAIN : fd;
}

/* 0: it cannot be known. */
static uint64_t inode_at(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, 0) < 0 ? 0 : (uint64_t)st.st_ino;
}

static int open_process(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

static bool is_process(int dir, uint64_t start_ns)
{
	ep_autoclose int fd = openat(dir, "stat", O_RDONLY | O_CLOEXEC);
	struct ep_process_info info;
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return n > 0 && ep_process_parse_stat(text, (size_t)n, &info) == 0 &&
	       ep_process_same_start(info.start_ns, start_ns);
}

static bool has_other_debug(const struct ep_proc_root *root)
{
	ep_autoclose int fd = ep_proc_root_find(root, DEBUG_DIR);
	uint64_t dev, inode;
	struct stat ours;

	if (fd < 0)
		return fd != -ENOENT;
	return ep_device_of_fd(fd, &dev, &inode) < 0 || stat(DEBUG_DIR, &ours) < 0 || dev != ours.st_dev ||
	       inode != ours.st_ino;
}

/*
 * The root is opened before its namespace is read: a process that enters another one meanwhile
 * brings the old root into that, never a root of its own into the old one. Nobody without
 * privileges comes back.
 */
static int read_view(int dir, struct ep_proc_root *root)
{
	uint64_t mount_ns, dev, inode;
	struct stat ours;

	root->fd = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	mount_ns = inode_at(dir, "ns/mnt");
	if (!mount_ns || ep_device_of_fd(root->fd, &dev, &inode) < 0 || stat("/", &ours) < 0)
		return -ESRCH;
	if (mount_ns == inode_at(AT_FDCWD, "/proc/self/ns/mnt") && dev == ours.st_dev && inode == ours.st_ino)
		return 0;
	root->view = (struct ep_proc_view){.root_dev = dev, .root_inode = inode, .mount_ns = mount_ns};
	root->has_debug = has_other_debug(root);
	return 0;
}

int ep_proc_root_open(pid_t pid, uint64_t start_ns, struct ep_proc_root *ret_root)
{
	ep_cleanup(ep_proc_root_close) struct ep_proc_root root = {.fd = -1, .pid = pid};
	ep_autoclose int dir = open_process(pid);
	int r;

	if (dir < 0)
		return dir;
	if (start_ns && !is_process(dir, start_ns))
		return -ESRCH;
	r = read_view(dir, &root);
	if (r < 0)
		return r;
	*ret_root = root;
	root.fd = -1;
	return 0;
}

bool ep_proc_speaks_for(pid_t pid, uint64_t start_ns, uint64_t mount_ns)
{
	ep_autoclose int dir = open_process(pid), mounts = -1, owner = -1;
	struct stat st;

	if (dir < 0 || (start_ns && !is_process(dir, start_ns)))
		return false;
	mounts = openat(dir, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (mounts < 0 || fstat(mounts, &st) < 0 || st.st_ino != mount_ns)
		return false;
	owner = ioctl(mounts, NS_GET_USERNS);
	return owner >= 0 && fstat(owner, &st) == 0 && inode_at(dir, "ns/user") == st.st_ino;
}

/*
 * In our view, by what the kernel remembers: a file that is mapped is there, and the path of a stranger leads to no
 * file system that answers late.
 */
static int find_cached(const char *path)
{
	int fd = open_cached(AT_FDCWD, path, 0);

	return fd == -EINVAL ? open_below(AT_FDCWD, path, 0) : fd;
}

bool ep_proc_root_shares(const struct ep_proc_root *root, const char *path, uint64_t dev,
			 uint64_t inode)
{
	ep_autoclose int fd = root->has_debug || path[0] != '/' ? -ENOENT : find_cached(path);
	uint64_t found_dev, found_inode;

	return fd >= 0 && ep_device_of_fd(fd, &found_dev, &found_inode) == 0 && found_dev == dev &&
	       found_inode == inode;
}
