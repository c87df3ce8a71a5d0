/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/open.h"
#include "core/base/clock.h"
#include "core/proc/devices.h"
#include "core/proc/memory.h"
#include "core/proc/process.h"
#include "core/proc/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define VDSO_MAX_BYTES (64u * 1024)

void ep_proc_file_close(struct ep_proc_file *file)
{
	ep_closep(&file->fd);
	file->fd = -1;
}

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif
/* Of our own functions: the file is on a file system that may never answer. A reader is asked for it. */
#define SUSPECT -EREMOTE

/* By the number that maps print, before anything is looked at; 0: it is in no line. */
static bool mapping_is_suspect(pid_t pid, const struct ep_mapping *m)
{
	return ep_readers_are_there() && m->kind == EP_MAPPING_FILE && (m->dev_major || m->dev_minor) &&
	       ep_device_is_suspect(pid, m->dev_major, m->dev_minor);
}

/* By what was found. Takes a descriptor, or an error in its place; gives it, or SUSPECT and the device. */
static int unless_suspect(pid_t pid, int fd, uint64_t *ret_dev)
{
	uint64_t inode;

	if (fd < 0 || !ep_readers_are_there())
		return fd;
	if (ep_device_of_fd(fd, ret_dev, &inode) == 0 && !ep_device_is_suspect(pid, major(*ret_dev), minor(*ret_dev)))
		return fd;
	close(fd);
	return SUSPECT;
}

/* --- finding the file: O_PATH descriptors, which open nothing yet ----------------------------- */

static int map_files_fd(pid_t pid, const struct ep_mapping *m)
{
	char path[96];
	int fd;

	/* Names have no padding, unlike the lines of maps (fs/proc/base.c proc_map_files). */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start,
		 m->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Of a thread that is alive, when the main thread is not. */
static int map_files_any_fd(pid_t pid, const struct ep_mapping *m)
{
	int fd = map_files_fd(pid, m);
	pid_t tid;

	if (fd != -ENOENT || ep_process_find_live_thread(pid, &tid) < 0)
		return fd;
	return map_files_fd(tid, m);
}

/* Where a path may lead to a file system that never answers, the kernel looks into what it remembers alone. */
static uint64_t resolve_cached(void)
{
	return ep_readers_are_there() && ep_devices_any_suspect() ? RESOLVE_CACHED : 0;
}

/* The path as the process sees it: symlinks and ".." stay below its root. */
static int in_root_fd(pid_t pid, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve_cached(),
	};
	ep_autoclose int root = -1;
	char root_path[64];
	long fd;

	snprintf(root_path, sizeof(root_path), "/proc/%d/root", (int)pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static int plain_fd(const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve_cached()};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * The mapped file has this inode, but maps may print another device than stat does: btrfs and
 * overlayfs give each subvolume or mount an anonymous one, major 0. Between real devices it must
 * agree.
 */
static bool is_mapped_file(const struct stat *st, const struct ep_mapping *m)
{
	if (!S_ISREG(st->st_mode) || st->st_ino != m->inode)
		return false;
	if (major(st->st_dev) == m->dev_major && minor(st->st_dev) == m->dev_minor)
		return true;
	return major(st->st_dev) == 0 && m->dev_major == 0;
}

/* Takes fd. */
static int check_fd(pid_t pid, int found_fd, const struct ep_mapping *m)
{
	uint64_t dev;
	int fd = unless_suspect(pid, found_fd, &dev);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && is_mapped_file(&st, m))
		return fd;
	close(fd);
	return -ENOENT;
}

static int find_by_path(pid_t pid, const struct ep_mapping *m)
{
	int fd;

	if (m->deleted || m->path[0] != '/')
		return -ENOENT;
	fd = check_fd(pid, in_root_fd(pid, m->path), m);
	return fd >= 0 ? fd : check_fd(pid, plain_fd(m->path), m);
}

static bool is_gone(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

static int find_fd(pid_t pid, const struct ep_mapping *m, uint64_t *ret_dev)
{
	int first = unless_suspect(pid, map_files_any_fd(pid, m), ret_dev), fd;

	if (first >= 0 || first == SUSPECT)
		return first;
	fd = find_by_path(pid, m);
	if (fd >= 0)
		return fd;
	return is_gone(pid) ? -ESRCH : first;
}

/* --- opening it ------------------------------------------------------------------------------- */

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * (int64_t)EP_NS_PER_SEC + t.tv_nsec;
}

static int identify(int path_fd, struct ep_proc_file *ret_file)
{
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	*ret_file = (struct ep_proc_file){
		.fd = -1,
		.dev = st.st_dev,
		.inode = st.st_ino,
		.bytes = (uint64_t)st.st_size,
		.mtime_ns = ns_of(st.st_mtim),
		.ctime_ns = ns_of(st.st_ctim),
	};
	return 0;
}

/* SUSPECT: of the device in ret_file. */
static int find_and_identify(pid_t pid, const struct ep_mapping *m, int *ret_path_fd,
			     struct ep_proc_file *ret_file)
{
	ep_autoclose int path_fd = -1;
	int r;

	if (m->kind != EP_MAPPING_FILE && m->kind != EP_MAPPING_MEMFD)
		return -ENOTSUP;
	ret_file->dev = makedev(m->dev_major, m->dev_minor);
	if (mapping_is_suspect(pid, m))
		return SUSPECT;
	path_fd = find_fd(pid, m, &ret_file->dev);
	if (path_fd < 0)
		return path_fd;
	r = identify(path_fd, ret_file);
	if (r < 0)
		return r;
	*ret_path_fd = ep_take_fd(path_fd);
	return 0;
}

/*
 * The file that was identified, and no other. Its generation: fs/ext4/ioctl.c, EXT4_IOC_GETVERSION
 * and its like; other file systems refuse.
 */
static int reopen(int path_fd, const struct ep_proc_file *identified, struct ep_proc_file *ret_file)
{
	unsigned int generation = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_file = *identified;
	ret_file->fd = fd;
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
		ret_file->generation = generation;
	return 0;
}

int ep_proc_open_mapping(pid_t pid, const struct ep_mapping *m, struct ep_proc_file *ret_file)
{
	ep_autoclose int path_fd = -1;
	struct ep_proc_file file;
	int r = find_and_identify(pid, m, &path_fd, &file);

	if (r == SUSPECT)
		return ep_readers_open_mapping(pid, m, file.dev, false, ret_file);
	return r < 0 ? r : reopen(path_fd, &file, ret_file);
}

/* Takes an O_PATH descriptor, or the error that came in its place. */
static int open_found(int found_fd, struct ep_proc_file *ret_file)
{
	ep_autoclose int path_fd = found_fd;
	struct ep_proc_file file;
	int r = path_fd < 0 ? path_fd : identify(path_fd, &file);

	return r < 0 ? r : reopen(path_fd, &file, ret_file);
}

/*
 * A mapping is identified by fstat of what map_files or its path leads to: on overlayfs and btrfs
 * that is what fstat of the path says, too, whatever device the lines of maps print. The path is one that the
 * caller chose: who waits for it is he who named it.
 */
int ep_proc_open_path(const char *path, struct ep_proc_file *ret_file)
{
	int found = open(path, O_PATH | O_CLOEXEC), fd;
	uint64_t dev = 0;

	fd = unless_suspect(0, found < 0 ? -errno : found, &dev);
	return fd == SUSPECT ? ep_readers_open_below(0, path, dev, ret_file) : open_found(fd, ret_file);
}

int ep_proc_find_path(const char *path)
{
	int fd = plain_fd(path);

	return fd == -EAGAIN ? -ENOENT : fd;
}

int ep_proc_open_range(pid_t pid, uint64_t start, uint64_t end, struct ep_proc_file *ret_file)
{
	struct ep_mapping mapping = {.start = start, .end = end};
	uint64_t dev = 0;
	int fd = unless_suspect(pid, map_files_any_fd(pid, &mapping), &dev);

	return fd == SUSPECT ? ep_readers_open_range(pid, start, end, dev, ret_file) : open_found(fd, ret_file);
}

int ep_proc_open_below(const struct ep_proc_root *root, const char *path,
		       struct ep_proc_file *ret_file)
{
	uint64_t dev = 0;
	int fd = unless_suspect(root->pid, path[0] == '/' ? ep_proc_root_find(root, path) : -ENOENT, &dev);

	return fd == SUSPECT ? ep_readers_open_below(root->pid, path, dev, ret_file) : open_found(fd, ret_file);
}

void ep_proc_file_set_view(struct ep_proc_file *file, const struct ep_proc_root *root,
			   const char *path)
{
	if (!ep_proc_view_is_ours(&root->view) &&
	    !ep_proc_root_shares(root, path, file->dev, file->inode))
		file->view = root->view;
}

bool ep_proc_is_suspect(const struct ep_proc_file *file, pid_t pid)
{
	return file->inode && ep_readers_are_there() &&
	       ep_device_is_suspect(pid, major(file->dev), minor(file->dev));
}

/* Names in such a root are looked up by many (debug files), and any of them may never come. */
static bool leads_to_suspects(pid_t pid)
{
	return ep_readers_are_there() && ep_devices_any_suspect() && ep_devices_process_sees_suspect(pid);
}

int ep_proc_file_open_root(const struct ep_proc_file *file, pid_t pid,
			   struct ep_proc_root *ret_root, char name[EP_ROOT_NAME_BYTES])
{
	int r;

	*ret_root = (struct ep_proc_root){.fd = -1};
	name[0] = '\0';
	if (ep_proc_is_suspect(file, pid)) {
		snprintf(name, EP_ROOT_NAME_BYTES, EP_ROOT_GONE);
		return 0;
	}
	if (ep_proc_view_is_ours(&file->view))
		return 0;
	r = ep_proc_root_open(pid, file->start_ns, ret_root);
	if (r == 0 && ep_proc_view_is_same(&ret_root->view, &file->view) && !leads_to_suspects(pid))
		snprintf(name, EP_ROOT_NAME_BYTES, "/proc/self/fd/%d", ret_root->fd);
	else
		snprintf(name, EP_ROOT_NAME_BYTES, EP_ROOT_GONE);
	return ep_is_transient(r) ? r : 0;
}

int ep_proc_stat_mapping(pid_t pid, const struct ep_mapping *m, struct ep_proc_file *ret_file)
{
	ep_autoclose int path_fd = -1;
	struct ep_proc_file file;
	int r = find_and_identify(pid, m, &path_fd, &file);

	if (r == SUSPECT)
		return ep_readers_open_mapping(pid, m, file.dev, true, ret_file);
	if (r < 0)
		return r;
	*ret_file = file;
	if (reopen(path_fd, &file, ret_file) == 0)
		ep_proc_file_close(ret_file);
	return 0;
}

/* --- vDSO ------------------------------------------------------------------------------------- */

static int read_own_vdso(struct ep_vec *bytes)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	uint64_t addr = getauxval(AT_SYSINFO_EHDR);
	const struct ep_mapping *own;
	int r;

	ep_maps_init(&maps, 4096);
	r = ep_maps_read(&maps, getpid(), EP_MAPS_EXECUTABLE);
	if (r < 0)
		return r;
	own = ep_maps_find(&maps, addr);
	if (!own || own->kind != EP_MAPPING_VDSO)
		return -ENOENT;
	if (own->end - own->start > VDSO_MAX_BYTES)
		return -E2BIG;
	return ep_vec_append(bytes, (const void *)(uintptr_t)own->start,
			     (size_t)(own->end - own->start));
}

/* When the other one cannot be read: ours, if it is of that size. */
static int own_vdso_instead(struct ep_vec *bytes, size_t off, size_t size)
{
	int r;

	bytes->len = off;
	r = read_own_vdso(bytes);
	if (r == 0 && bytes->len - off != size)
		r = -EFAULT;
	return r;
}

int ep_proc_read_vdso(pid_t pid, const struct ep_mapping *m, struct ep_vec *bytes)
{
	uint64_t size = m->end - m->start;
	size_t off = bytes->len;
	char *dst;
	int r;

	if (m->kind != EP_MAPPING_VDSO)
		return -EINVAL;
	if (size > VDSO_MAX_BYTES)
		return -E2BIG;
	r = ep_vec_append(bytes, NULL, (size_t)size);
	if (r < 0)
		return r;
	dst = (char *)bytes->data + off;
	r = ep_memory_read(pid, m->start, dst, (size_t)size);
	if (r < 0 && r != -ESRCH)
		r = own_vdso_instead(bytes, off, (size_t)size);
	if (r < 0)
		bytes->len = off;
	return r;
}

int ep_proc_open_vdso(pid_t pid, const struct ep_mapping *m, struct ep_proc_file *ret_file)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes = {0};
	ep_autoclose int fd = memfd_create("vdso", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	ep_vec_init(&bytes, 1, VDSO_MAX_BYTES);
	r = m ? ep_proc_read_vdso(pid, m, &bytes) : read_own_vdso(&bytes);
	if (r == 0 && pwrite(fd, bytes.data, bytes.len, 0) != (ssize_t)bytes.len)
		r = -EIO;
	if (r == 0)
		*ret_file = (struct ep_proc_file){.bytes = bytes.len, .fd = ep_take_fd(fd)};
	return r;
}
