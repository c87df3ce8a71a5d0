/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file systems may be read by ourselves. A page of a FUSE mount comes when a program wants it
 * to, one of a network file system when a server does: a thread that waits for it hangs in the
 * kernel, where not even SIGKILL ends it. What is there is known by /proc/PID/mountinfo alone,
 * which asks no file system:
 *
 *	a type of the kernel's own, with data on a block device or in memory	trusted
 *	overlay, in a process of our user namespace: root mounted it		trusted
 *	the file system of our own root: without it we do not run		trusted
 *	what files have that nobody mounts (memfd, anon_inode, sockets)		trusted
 *	everything else, and what no line of mountinfo names			suspect
 *
 * Devices are known by number, and the numbers of those without a block device are used again: what
 * was learned is true for a second, and ends when our own mounts change. All calls may come from any
 * thread.
 */
#ifndef EP_PROC_DEVICES_H
#define EP_PROC_DEVICES_H

#include "core/base/util.h"

#include <sys/types.h>

/* One line of mountinfo; the strings end where they end in it, without a NUL. */
struct ep_mount {
	uint32_t dev_major, dev_minor;
	const char *point, *type;
	size_t point_bytes, type_bytes;
};

/* 0, -EBADMSG. */
int ep_mount_parse(const char *line, size_t bytes, struct ep_mount *ret_mount);

/* Whether files of this device, which the process `pid` has mapped or opened, are suspect. */
bool ep_device_is_suspect(pid_t pid, uint32_t dev_major, uint32_t dev_minor);
/*
 * Device and inode of what a descriptor leads to, which may be one of O_PATH: without asking its
 * file system. 0, -errno.
 */
int ep_device_of_fd(int fd, uint64_t *ret_dev, uint64_t *ret_inode);
/* Whether there is a suspect mount anywhere, as far as was seen. Cheap: asked before each read of
 * memory. */
bool ep_devices_any_suspect(void);
/* Whether the process sees a suspect mount: a look-up in its root may lead there. */
bool ep_devices_process_sees_suspect(pid_t pid);

#endif
