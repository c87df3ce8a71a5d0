/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of cgroup v2: where it is mounted, and what is in it. A cgroup's number is that of its
 * directory's inode, which the kernel never uses twice (kernfs, since Linux 5.5).
 */
#ifndef EP_PROC_CGROUPS_H
#define EP_PROC_CGROUPS_H

#include "core/base/util.h"

#include <sys/types.h>

#define EP_CGROUP_PATH_BYTES 4096
#define EP_CGROUP_MAX	     65536 /* looked at; deeper than that many levels: */
#define EP_CGROUP_MAX_DEPTH  64

struct ep_cgroup {
	const char *path; /* from the root of the tree, "/system.slice/x.service"; "/" is the root */
	const char *name; /* its last component */
	uint64_t id;
	uint32_t above; /* what the visit of the one above reported */
};
/* What it says is `above` of those below. Called for a cgroup before its directory is read. */
typedef uint32_t (*ep_cgroup_visit)(void *arg, const struct ep_cgroup *cgroup);

/* The directory without a slash at its end. 0, -ENOENT: it is not mounted here, -errno. */
int ep_cgroup_find_mount(char mount[EP_CGROUP_PATH_BYTES]);
/* The text of a mountinfo. 0, -ENOENT. */
int ep_cgroup_parse_mount(const char *text, size_t bytes, char mount[EP_CGROUP_PATH_BYTES]);

/* Visits all there are; those that vanish meanwhile are left out. 0, -E2BIG, -ENOMEM, -errno. */
int ep_cgroups_walk(const char *mount, ep_cgroup_visit visit, void *arg);

/*
 * The path that the text of a /proc/PID/cgroup names in this tree, as our cgroup namespace sees it.
 * 0, -ENODATA and "" when there is none.
 */
int ep_cgroup_parse_path(const char *text, size_t bytes, char path[EP_CGROUP_PATH_BYTES]);
/* The number of a path in the tree that was mounted when this was first asked. 0: unknown. Any
 * thread. */
uint64_t ep_cgroup_number(const char *path);

/* Of a process: 0, -ESRCH, -ENODATA when it is in none of this tree. */
int ep_cgroup_read_id(const char *mount, pid_t pid, uint64_t *ret_id);

#endif
