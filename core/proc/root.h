/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process's paths begin, and who arranged what is there: its mount namespace and its root.
 * The same path is another file in another view, and whoever may mount there chooses which. Files
 * that name or unwind the code of others (separate debug files) count in their view alone;
 * docs/security.md has the rule.
 */
#ifndef EP_PROC_ROOT_H
#define EP_PROC_ROOT_H

#include "core/base/util.h"

#include <string.h>
#include <sys/types.h>

struct ep_proc_view {
	uint64_t root_dev, root_inode;
	uint64_t mount_ns; /* inode number; all are 0 in ours */
};
_Static_assert(sizeof(struct ep_proc_view) == 24, "without padding: it is compared");

static inline bool ep_proc_view_is_same(const struct ep_proc_view *a, const struct ep_proc_view *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool ep_proc_view_is_ours(const struct ep_proc_view *view)
{
	return !view->mount_ns;
}

/* That of a process of which nobody can tell: it is in none but its own. */
static inline struct ep_proc_view ep_proc_view_alone(pid_t pid, uint64_t start_ns)
{
	return (struct ep_proc_view){
		.root_dev = (uint64_t)pid, .root_inode = start_ns, .mount_ns = UINT64_MAX};
}

/* The view of one process, while it is open. */
struct ep_proc_root {
	int fd; /* O_PATH; -1: it could not be opened */
	struct ep_proc_view view;
	pid_t pid;
	bool has_debug; /* a directory for debug files that is not ours */
};

/*
 * Gives ret_root, to be closed. Pids are used again: `start_ns` is that of the process that is
 * meant, 0: of any that has the pid. 0, -ESRCH: that process is gone, -errno.
 */
int ep_proc_root_open(pid_t pid, uint64_t start_ns, struct ep_proc_root *ret_root);
void ep_proc_root_close(struct ep_proc_root *root); /* accepts fd -1 */
/*
 * Whether a process speaks for a mount namespace: it is in that one (its inode number), and its
 * user namespace is the one that owns it. A user who made a user namespace of his own, and nothing
 * else, shows others a root of his making (chroot).
 */
bool ep_proc_speaks_for(pid_t pid, uint64_t start_ns, uint64_t mount_ns);

/*
 * Below the root: symbolic links and ".." stay there. A descriptor (O_PATH) or -errno; -EAGAIN: the kernel would have
 * to ask a file system, and there is one that may never answer. What is found may be on one.
 */
int ep_proc_root_find(const struct ep_proc_root *root, const char *path);
/*
 * Whether the file with that device and inode, which a process of this view knows by `path`, has
 * the same path in our view, and nothing beside it there that ours has not: what we have for it is
 * enough.
 */
bool ep_proc_root_shares(const struct ep_proc_root *root, const char *path, uint64_t dev,
			 uint64_t inode);

#endif
