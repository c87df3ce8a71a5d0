/* SPDX-License-Identifier: Apache-2.0 */
/* Places and the two kinds of proof are those of the gdb manual, 18.3 "Separate Debug Files". */
#include "core/elf/debug_file.h"

#include "core/base/log.h"
#include "core/elf/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <zlib.h>

#define DEBUG_DIR      "/usr/lib/debug"
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif
#define MAX_CRC_BYTES  ((uint64_t)1 << 30)
#define CRC_STEP_BYTES ((size_t)64 << 10)

/* What a candidate has to prove. */
struct wanted {
	const struct ep_elf *elf;
	uint8_t build_id[EP_ELF_BUILD_ID_MAX];
	int build_id_bytes;	 /* or negative: none */
	char link[NAME_MAX + 1]; /* file name of .gnu_debuglink, "" when absent */
	uint32_t link_crc;
};

/* ---- proof ---- */

static bool same_file(const struct ep_elf *a, const struct ep_elf *b)
{
	struct stat st_a, st_b;

	if (a->fd < 0 || b->fd < 0 || fstat(a->fd, &st_a) < 0 || fstat(b->fd, &st_b) < 0)
		return false;
	return st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

static bool crc_is(const struct ep_elf *elf, uint32_t wanted_crc)
{
	ep_autofree uint8_t *buf = NULL;
	unsigned long crc = 0;

	if (elf->bytes > MAX_CRC_BYTES)
		return false;
	buf = malloc(CRC_STEP_BYTES);
	if (!buf)
		return false;
	for (uint64_t off = 0; off < elf->bytes; off += CRC_STEP_BYTES) {
		size_t step = EP_MIN(elf->bytes - off, CRC_STEP_BYTES);

		if (ep_work_take(elf->work, step) < 0 || ep_elf_read_at(elf, off, buf, step) < 0)
			return false;
		crc = crc32(crc, buf, (uInt)step);
	}
	return crc == wanted_crc;
}

/*
 * Its owner is root or whoever owns the program, and nobody else may write it: a build id and a
 * CRC are written into a file of one's own in a second, and a program may lie in a directory where
 * others may put files.
 */
static bool is_trusted(const struct ep_elf *elf, const struct ep_elf *debug)
{
	struct stat st, of_elf;

	if (fstat(debug->fd, &st) < 0 || st.st_mode & S_IWOTH)
		return false;
	return st.st_uid == 0 ||
	       (elf->fd >= 0 && fstat(elf->fd, &of_elf) == 0 && st.st_uid == of_elf.st_uid);
}

static bool belongs(const struct wanted *wanted, const struct ep_elf *debug)
{
	uint8_t id[EP_ELF_BUILD_ID_MAX];

	if (!is_trusted(wanted->elf, debug))
		return false;
	if (same_file(wanted->elf, debug) || ep_elf_machine(debug) != ep_elf_machine(wanted->elf))
		return false;
	if (wanted->build_id_bytes > 0)
		return ep_elf_build_id(debug, id) == wanted->build_id_bytes &&
		       !memcmp(id, wanted->build_id, (size_t)wanted->build_id_bytes);
	return wanted->link[0] && crc_is(debug, wanted->link_crc);
}

/* ---- places ---- */

/* openat2 (Linux 5.6) has no wrapper in glibc 2.36. RESOLVE_IN_ROOT: as if in a chroot. */
static int open_below(int fd, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, fd, path, &how, sizeof(how));
}

/*
 * 0 when the file is there and belongs, -ENODATA otherwise, or what is transient. Takes the descriptor, or -1 and
 * errno.
 */
static int try_fd(const struct wanted *wanted, int fd, const char *path, struct ep_elf **ret_elf)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *debug = NULL;
	int r = fd < 0 ? -errno : ep_elf_open_path_fd(fd, wanted->elf->work, &debug);

	if (r < 0)
		return ep_is_transient(r) || r == -ECANCELED ? r : -ENODATA;
	if (!belongs(wanted, debug)) {
		ep_log(EP_LOG_DEBUG, "elf: %s: not the debug file looked for", path);
		return -ENODATA;
	}
	*ret_elf = ep_take(debug);
	return 0;
}

static int try_path(const struct wanted *wanted, int root_fd, const char *path, struct ep_elf **ret_elf)
{
	return try_fd(wanted, open_below(root_fd, path, RESOLVE_IN_ROOT), path, ret_elf);
}

static int try_build_id(const struct wanted *wanted, int root_fd, struct ep_elf **ret_elf)
{
	char path[sizeof(DEBUG_DIR "/.build-id/") + 2 * EP_ELF_BUILD_ID_MAX + sizeof("/.debug")];
	int pos;

	if (wanted->build_id_bytes < 2)
		return -ENODATA;
	pos = snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%02x/", wanted->build_id[0]);
	for (int i = 1; i < wanted->build_id_bytes; i++)
		pos += snprintf(path + pos, sizeof(path) - (size_t)pos, "%02x",
				wanted->build_id[i]);
	snprintf(path + pos, sizeof(path) - (size_t)pos, ".debug");
	return try_path(wanted, root_fd, path, ret_elf);
}

/*
 * The directory of the program, or -1. It is anybody's, and who may put files there may mount there or put links
 * there that lead to a file system that never answers: it is looked for in what the kernel remembers of a path that
 * is in use (RESOLVE_CACHED; -EINVAL before Linux 5.12), and has to be on the program's own file system.
 */
static int open_directory(const struct wanted *wanted, int root_fd, const char *path)
{
	int fd = open_below(root_fd, path, RESOLVE_IN_ROOT | RESOLVE_CACHED);
	struct statx dir;
	struct stat st;

	if (fd < 0 && errno == EINVAL)
		fd = open_below(root_fd, path, RESOLVE_IN_ROOT);
	if (fd < 0)
		return -1;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &dir) == 0 && wanted->elf->fd >= 0 &&
	    fstat(wanted->elf->fd, &st) == 0 && makedev(dir.stx_dev_major, dir.stx_dev_minor) == st.st_dev)
		return fd;
	close(fd);
	return -1;
}

/* Beside the program: on its own file system. */
static int try_beside(const struct wanted *wanted, int root_fd, const char *directory, struct ep_elf **ret_elf)
{
	static const char *const places[] = {"", ".debug/"};
	ep_autoclose int dir_fd = open_directory(wanted, root_fd, directory);
	char path[NAME_MAX + 16];
	int r = -ENODATA;

	for (size_t i = 0; i < EP_LEN(places) && dir_fd >= 0 && r == -ENODATA; i++) {
		snprintf(path, sizeof(path), "%s%s", places[i], wanted->link);
		r = try_fd(wanted, open_below(dir_fd, path, RESOLVE_NO_XDEV), path, ret_elf);
	}
	return r;
}

static int try_debuglink(const struct wanted *wanted, int root_fd, const char *elf_path,
			 struct ep_elf **ret_elf)
{
	const char *slash = strrchr(elf_path, '/');
	char path[PATH_MAX];
	int len, r;

	if (!wanted->link[0] || !slash)
		return -ENODATA;
	len = snprintf(path, sizeof(path), "%.*s/", (int)(slash - elf_path), elf_path);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENODATA;
	r = try_beside(wanted, root_fd, path, ret_elf);
	if (r != -ENODATA)
		return r;
	len = snprintf(path, sizeof(path), DEBUG_DIR "%.*s/%s", (int)(slash - elf_path), elf_path, wanted->link);
	return len > 0 && (size_t)len < sizeof(path) ? try_path(wanted, root_fd, path, ret_elf) : -ENODATA;
}

static void wanted_init(struct wanted *wanted, const struct ep_elf *elf)
{
	*wanted = (struct wanted){.elf = elf};
	wanted->build_id_bytes = ep_elf_build_id(elf, wanted->build_id);
	if (ep_elf_debuglink(elf, wanted->link, sizeof(wanted->link), &wanted->link_crc) < 0 ||
	    strchr(wanted->link, '/') || !strcmp(wanted->link, "..") || !strcmp(wanted->link, "."))
		wanted->link[0] = '\0';
}

int ep_debug_file_open(const struct ep_elf *elf, const char *root, const char *path,
		       struct ep_elf **ret_elf)
{
	ep_autoclose int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ep_autoclose int root_fd = open(root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = root_fd < 0 && ep_is_transient(-errno) ? -errno : -ENODATA;
	struct wanted wanted;

	wanted_init(&wanted, elf);
	if (root_fd >= 0)
		r = try_build_id(&wanted, root_fd, ret_elf);
	if (r == -ENODATA && host_fd >= 0 && root[0])
		r = try_build_id(&wanted, host_fd, ret_elf);
	if (r == -ENODATA && root_fd >= 0)
		r = try_debuglink(&wanted, root_fd, path, ret_elf);
	return r;
}
