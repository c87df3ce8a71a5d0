/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the file of a mapping of another process, which may live in a container, a chroot, or
 * nowhere any more (deleted, memfd). Tried in this order, since only the first names the mapped
 * file itself and the others name a path that may hold another file by now:
 *
 *	/proc/PID/map_files/START-END	any regular file will do
 *	/proc/PID/root + path		the inode must be the mapping's
 *	path				the same
 *
 * Device nodes and FIFOs are never opened, only looked at.
 */
#ifndef EP_PROC_OPEN_H
#define EP_PROC_OPEN_H

#include "core/base/vec.h"
#include "core/proc/maps.h"
#include "core/proc/root.h"

#include <errno.h>

struct ep_proc_file {
	int fd; /* read-only, close-on-exec */
	uint64_t dev;
	uint64_t inode;
	uint64_t generation; /* of the inode, whose number is used again; 0: unknown */
	uint64_t bytes;
	int64_t mtime_ns; /* tells whether it is written to; the change time, whether it is deleted,
			     too */
	int64_t ctime_ns; /* dev, inode, generation, ctime, bytes: one content of one file */
	struct ep_proc_view view; /* in which it was found, and files beside it are; ours unless
				     somebody sets it */
	uint64_t start_ns;	  /* of the process in which that was; 0: unknown, or in none */
};

/* In one view. */
static inline bool ep_proc_file_is_same_inode(const struct ep_proc_file *a,
					      const struct ep_proc_file *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->generation == b->generation &&
	       ep_proc_view_is_same(&a->view, &b->view);
}

/* One content of one file, in whichever view. */
static inline bool ep_proc_file_has_same_bytes(const struct ep_proc_file *a,
					       const struct ep_proc_file *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->generation == b->generation &&
	       a->ctime_ns == b->ctime_ns && a->bytes == b->bytes;
}

static inline bool ep_proc_file_is_same(const struct ep_proc_file *a, const struct ep_proc_file *b)
{
	return ep_proc_file_has_same_bytes(a, b) && ep_proc_view_is_same(&a->view, &b->view);
}

/*
 * Gives ret_file, whose fd the caller closes or takes. 0; -ESRCH the process is gone; -ENOENT no
 * file found that is surely the mapped one (also: the mapping is gone); -ENOTSUP not a regular
 * file; -EACCES, -EPERM, -EMFILE, ...
 */
int ep_proc_open_mapping(pid_t pid, const struct ep_mapping *mapping,
			 struct ep_proc_file *ret_file);
/*
 * Whether such an error may pass, so that the file is worth another try later: its file system does not
 * answer, there is no memory for a copy of it (core/proc/readers.h), or we have no memory or descriptors left.
 */
static inline bool ep_proc_is_refused(int r)
{
	return r == -ETIMEDOUT || ep_is_transient(r);
}
/*
 * Only the identity: enough to find an executable that is known already. `fd` is -1 in ret_file.
 * Errors as above; a file that cannot be opened has one as well.
 */
int ep_proc_stat_mapping(pid_t pid, const struct ep_mapping *mapping,
			 struct ep_proc_file *ret_file);
/*
 * A file that may be mapped later, by its path in our own mount namespace: the identity is that
 * which its mappings will have. 0, -ENOTSUP not a regular file, -errno.
 */
int ep_proc_open_path(const char *path, struct ep_proc_file *ret_file);
/*
 * Only a descriptor (O_PATH), by a path of ours that others chose: -ENOENT also where the kernel would have to ask a
 * file system, and there is one that may never answer. What is found may be on one.
 */
int ep_proc_find_path(const char *path);
/*
 * What a process maps at [start, end), by map_files alone; a path as a process sees it, below its
 * root. Whoever asks judges whether it is the file that was meant. Errors as of ep_proc_open_mapping.
 */
int ep_proc_open_range(pid_t pid, uint64_t start, uint64_t end, struct ep_proc_file *ret_file);
int ep_proc_open_below(const struct ep_proc_root *root, const char *path,
		       struct ep_proc_file *ret_file);
/* Whether it is on a file system that may never answer, so that its descriptor is a copy's; pid: of a user of it. */
bool ep_proc_is_suspect(const struct ep_proc_file *file, pid_t pid);
/* That of a process that knows the file by `path`; ours, where that is as good. */
void ep_proc_file_set_view(struct ep_proc_file *file, const struct ep_proc_root *root,
			   const char *path);
/*
 * The root of the view in which a file is, by the process `pid` in which it was found, for those
 * who take a root by its name: "" is ours, EP_ROOT_GONE one that is not to be had any more. The
 * name is good while `ret_root`, which is given in every case, is open. A root where a look-up may
 * never come back (core/proc/devices.h), and that of a file there, count as gone. 0, -EMFILE and
 * others that pass.
 */
#define EP_ROOT_NAME_BYTES 32
#define EP_ROOT_GONE	   "/dev/null" /* no directory */
int ep_proc_file_open_root(const struct ep_proc_file *file, pid_t pid,
			   struct ep_proc_root *ret_root, char name[EP_ROOT_NAME_BYTES]);
void ep_proc_file_close(struct ep_proc_file *file); /* accepts fd -1 */

/*
 * The bytes of a [vdso] mapping, a whole ELF image, appended to `bytes` (of one-byte elements).
 * 0, -EINVAL not a vDSO, -E2BIG, -ESRCH, -EFAULT, -ENOMEM.
 */
int ep_proc_read_vdso(pid_t pid, const struct ep_mapping *mapping, struct ep_vec *bytes);
/*
 * The same as a file in memory, without identity; `mapping` NULL: of our own, which is that of
 * every 64-bit process. -ENOENT: the kernel gave us none.
 */
int ep_proc_open_vdso(pid_t pid, const struct ep_mapping *mapping, struct ep_proc_file *ret_file);

#endif
