/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/file.h"
#include "core/base/elevated.h"
#include "core/base/replaced.h"
#include "core/base/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#define OUT_BYTES     (64 * 1024)
#define GZIP_WINDOW   (15 + 16) /* zlib.h: 15 bits of window, + 16 for a gzip header */
#define MEM_LEVEL     8		/* zlib's default */
#define PREFIX	      "profile-"
#define TEMP_SUFFIX   ".tmp"
#define STAMP_BYTES   15 /* 20260131-235959 */
#define STALE_SECONDS 3600
#define NS_PER_SECOND 1000000000ull
#define FILE_MODE     0600 /* kernel addresses, paths and arguments are for its owner */
#define TEMP_TRIES    100

/*
 * Whose rights a file is made with: of who called sudo, where he may write; else our own, which are those of
 * our caller when we may do more than he.
 */
struct maker {
	bool is_sudo; /* there is a caller of sudo */
	bool is_own;  /* he may not write there */
	struct ep_sudo_caller caller;
};

struct ep_file {
	int fd;
	bool compressed;
	bool finished;	     /* deflate has ended, all bytes are in the file */
	struct maker maker;
	char temp[PATH_MAX]; /* "": the file has no name yet, or its own */
	uint64_t bytes;
	z_stream z;
	uint8_t out[OUT_BYTES];
};

static int enter(const struct maker *maker, struct ep_rights *ret_rights)
{
	if (maker->is_sudo && !maker->is_own)
		return ep_rights_of_sudo_caller(&maker->caller, ret_rights);
	return ep_rights_of_caller(ret_rights);
}

static int find_maker(struct maker *ret_maker)
{
	struct maker maker = {0};
	int r = ep_sudo_caller(&maker.caller);

	if (r < 0)
		return r;
	maker.is_sudo = r == 0;
	*ret_maker = maker;
	return 0;
}

static int check_as(const struct maker *maker, const char *dir, const char *path)
{
	struct ep_rights rights;
	int r = enter(maker, &rights);

	if (r < 0)
		return r;
	r = path[0] ? ep_replaced_find(path, NULL) : 0;
	if (r < 0 && !ep_replaced_why(r)) /* who opens it says so */
		r = 0;
	if (r == 0 && path[0] && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		r = EP_REPLACED_FILE; /* a link whose target is not there */
	if (r == EP_REPLACED_FILE)
		r = -EEXIST;
	else if (r == 0 && faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
		r = -errno;
	ep_rights_restore(&rights);
	return r;
}

int ep_file_check(const char *dir, const char *path)
{
	struct maker maker;
	int r = find_maker(&maker);

	if (r == 0)
		r = check_as(&maker, dir, path);
	if (r == 0 || r == -EEXIST || !maker.is_sudo)
		return r;
	maker.is_own = true;
	return check_as(&maker, dir, path);
}

/* --- names nobody can guess --- */

/* In the directory of path. Others may write there too: a name they know they could take before us. */
static int make_temp_name(const char *path, char *name, size_t bytes)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash - path + 1) : 0, n;
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	n = snprintf(name, bytes, "%.*s.%s.%016" PRIx64 TEMP_SUFFIX, dir_len, path, path + dir_len, random);
	return n < 0 || (size_t)n >= bytes ? -ENAMETOOLONG : 0;
}

static int open_named(struct ep_file *file, const char *path)
{
	int r = -EEXIST;

	for (int i = 0; i < TEMP_TRIES && r == -EEXIST; i++) {
		r = make_temp_name(path, file->temp, sizeof(file->temp));
		if (r < 0)
			break;
		file->fd = open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
		r = file->fd < 0 ? -errno : 0;
	}
	if (r < 0)
		file->temp[0] = '\0';
	return r;
}

/*
 * Without a name until it is whole. Not every file system can (FAT, NFS, FUSE), and naming it needs /proc: open(2),
 * O_TMPFILE.
 */
static int open_nameless(struct ep_file *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%.*s", slash ? (int)EP_MAX(slash - path, (ptrdiff_t)1) : 1,
			 slash ? path : ".");

	if (n < 0 || (size_t)n >= sizeof(dir))
		return -ENAMETOOLONG;
	if (access("/proc/self/fd", F_OK) < 0)
		return -ENOTSUP;
	file->fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE);
	return file->fd < 0 ? -errno : 0;
}

/* Where it will have its name: beside what a link at `path` leads to. */
static int open_temp_as(struct ep_file *file, const char *path)
{
	char target[PATH_MAX];
	struct ep_rights rights;
	int r = enter(&file->maker, &rights);

	if (r < 0)
		return r;
	r = ep_replaced_find(path, target);
	if (r >= 0 && open_nameless(file, target) < 0)
		r = open_named(file, target);
	ep_rights_restore(&rights);
	return EP_MIN(r, 0);
}

static int open_temp(struct ep_file *file, const char *path)
{
	int r = find_maker(&file->maker);

	if (r == 0)
		r = open_temp_as(file, path);
	if (r == 0 || !file->maker.is_sudo)
		return r;
	file->maker.is_own = true;
	return open_temp_as(file, path);
}

int ep_file_create(const char *path, int level, struct ep_file **ret_file)
{
	ep_cleanup(ep_file_closep) struct ep_file *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return -ENOMEM;
	file->fd = -1;
	file->compressed = level > 0;
	if (file->compressed &&
	    deflateInit2(&file->z, level, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
		    Z_OK)
		return -ENOMEM;
	file->z.next_out = file->out;
	file->z.avail_out = OUT_BYTES;
	r = open_temp(file, path);
	if (r < 0)
		return r;
	*ret_file = ep_take(file);
	return 0;
}

static int write_all(struct ep_file *file, const uint8_t *data, size_t left)
{
	while (left > 0) {
		ssize_t n = write(file->fd, data, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		left -= (size_t)n;
		file->bytes += (uint64_t)n;
	}
	return 0;
}

static int write_out(struct ep_file *file)
{
	int r = write_all(file, file->out, OUT_BYTES - file->z.avail_out);

	file->z.next_out = file->out;
	file->z.avail_out = OUT_BYTES;
	return r;
}

static int compress_in(struct ep_file *file)
{
	while (file->z.avail_in > 0) {
		int r;

		if (deflate(&file->z, Z_NO_FLUSH) != Z_OK)
			return -EIO;
		r = file->z.avail_out == 0 ? write_out(file) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Small pieces are gathered in `out` when nothing is compressed, too. */
static int gather(struct ep_file *file, const void *data, size_t len)
{
	if (len > file->z.avail_out) {
		int r = write_out(file);

		if (r < 0 || len > OUT_BYTES)
			return r < 0 ? r : write_all(file, data, len);
	}
	memcpy(file->z.next_out, data, len);
	file->z.next_out += len;
	file->z.avail_out -= (uInt)len;
	return 0;
}

int ep_file_write(void *arg, const void *data, size_t len)
{
	struct ep_file *file = arg;

	if (!file->compressed)
		return gather(file, data, len);
	if (len > UINT_MAX)
		return -E2BIG;
	file->z.next_in = (Bytef *)data;
	file->z.avail_in = (uInt)len;
	return compress_in(file);
}

static int finish(struct ep_file *file)
{
	while (!file->finished) {
		int z = file->compressed ? deflate(&file->z, Z_FINISH) : Z_STREAM_END, r;

		if (z != Z_OK && z != Z_STREAM_END)
			return -EIO;
		r = write_out(file);
		if (r < 0)
			return r;
		file->finished = z == Z_STREAM_END;
	}
	return 0;
}

/* --- its name --- */

/* Neither form can replace a file. Not every file system knows the first, FAT lacks the second. */
static int rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(from, to) < 0)
		return -errno;
	(void)unlink(from);
	return 0;
}

static int link_nameless(const struct ep_file *file, const char *path)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* No call gives a file without a name one that is taken: it gets one of its own first. */
static int link_temp(struct ep_file *file, const char *path)
{
	int r = -EEXIST;

	for (int i = 0; i < TEMP_TRIES && r == -EEXIST; i++) {
		r = make_temp_name(path, file->temp, sizeof(file->temp));
		if (r == 0)
			r = link_nameless(file, file->temp);
	}
	if (r < 0)
		file->temp[0] = '\0';
	return r;
}

static int give_name(struct ep_file *file, const char *path, bool replace)
{
	char target[PATH_MAX];
	int r = 0;

	if (!file->temp[0] && !replace)
		return link_nameless(file, path);
	if (replace)
		r = ep_replaced_find(path, target);
	if (r >= 0 && !file->temp[0])
		r = link_temp(file, target);
	if (r < 0)
		return r;
	if (replace)
		r = rename(file->temp, target) < 0 ? -errno : 0;
	else
		r = rename_new(file->temp, path);
	if (r == 0)
		file->temp[0] = '\0';
	return r;
}

/*
 * Not synced to disk first: on a busy journal that can stall every writer of the machine for
 * seconds, and what a power failure could cost is the last interval's file.
 */
int ep_file_publish(struct ep_file *file, const char *path, bool replace, uint64_t *ret_bytes)
{
	struct ep_rights rights;
	int r = finish(file);

	if (r == 0)
		r = enter(&file->maker, &rights);
	if (r < 0)
		return r;
	r = give_name(file, path, replace);
	ep_rights_restore(&rights);
	if (r < 0)
		return r;
	if (file->maker.is_own) /* as good as it goes: he may have no way to it */
		(void)!fchown(file->fd, file->maker.caller.uid, file->maker.caller.gid);
	*ret_bytes = file->bytes;
	return 0;
}

static void remove_temp(struct ep_file *file)
{
	struct ep_rights rights;

	if (!file->temp[0] || enter(&file->maker, &rights) < 0)
		return;
	(void)unlink(file->temp);
	ep_rights_restore(&rights);
}

void ep_file_close(struct ep_file *file)
{
	if (!file)
		return;
	remove_temp(file);
	if (file->fd >= 0)
		close(file->fd);
	if (file->compressed)
		deflateEnd(&file->z);
	free(file);
}

int ep_file_try(const char *path)
{
	static const uint8_t block[4096]; /* tmpfs counts pages */
	ep_cleanup(ep_file_closep) struct ep_file *file = NULL;
	int r = ep_file_create(path, 0, &file);

	return r < 0 ? r : write_all(file, block, sizeof(block));
}

/* --- names --- */

static bool belongs_in_a_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == '_';
}

static int make_prefix(const char *host, char *name, size_t len)
{
	int n = snprintf(name, len, PREFIX "%.64s-", host[0] ? host : "unknown");

	for (int i = 0; i < n; i++)
		name[i] = belongs_in_a_name(name[i]) ? name[i] : '_';
	return n;
}

void ep_file_name(const char *suffix, const char *host, uint64_t time_ns, uint32_t n, char *name, size_t len)
{
	time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
	char prefix[128], stamp[STAMP_BYTES + 1] = "", number[16] = "";
	struct tm tm;

	make_prefix(host, prefix, sizeof(prefix));
	if (gmtime_r(&seconds, &tm))
		strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	if (n > 1)
		snprintf(number, sizeof(number), "-%u", n);
	snprintf(name, len, "%s%s%s%s", prefix, stamp, number, suffix);
}

/* What names of our files begin and end with. */
struct form {
	char prefix[128];
	size_t prefix_len;
	const char *suffix;
};

/* The time stamp within a name of our form, NULL when it is not of that form. */
static const char *stamp_of(const char *name, const struct form *form)
{
	const char *stamp = name + form->prefix_len, *pos;

	if (strncmp(name, form->prefix, form->prefix_len) != 0)
		return NULL;
	if (strspn(stamp, "0123456789") != 8 || stamp[8] != '-' ||
	    strspn(stamp + 9, "0123456789") != 6)
		return NULL;
	pos = stamp + STAMP_BYTES;
	if (*pos == '-') {
		size_t digits = strspn(pos + 1, "0123456789");

		pos += digits ? 1 + digits : 0;
	}
	return strcmp(pos, form->suffix) == 0 ? stamp : NULL;
}

/*
 * A temporary file of a process that was killed while it wrote: nobody else would ever remove it.
 * Writing one takes seconds, so an hour is proof enough.
 */
static bool is_stale(int dir_fd, const char *name, const struct form *form)
{
	const char *suffix = name[0] == '.' ? strstr(name, form->suffix) : NULL;
	char published[NAME_MAX + 1];
	struct stat st;

	if (!suffix)
		return false;
	snprintf(published, sizeof(published), "%.*s", (int)(suffix + strlen(form->suffix) - name - 1),
		 name + 1);
	return stamp_of(published, form) &&
	       strcmp(name + strlen(name) - strlen(TEMP_SUFFIX), TEMP_SUFFIX) == 0 &&
	       fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       time(NULL) - st.st_mtime > STALE_SECONDS;
}

struct names {
	char **items;
	size_t len;
	size_t prefix_len;
};

/* By time, then those of one second by their number: a longer name has a higher one. */
static int compare_names(const void *a, const void *b, void *arg)
{
	const struct names *names = arg;
	const char *x = *(char *const *)a + names->prefix_len;
	const char *y = *(char *const *)b + names->prefix_len;
	int r = strncmp(x, y, STAMP_BYTES);

	if (r == 0)
		r = (strlen(x) > strlen(y)) - (strlen(x) < strlen(y));
	return r ? r : strcmp(x, y);
}

static int add_name(struct names *names, const char *name)
{
	char **items = reallocarray(names->items, names->len + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	names->items = items;
	items[names->len] = strdup(name);
	if (!items[names->len])
		return -ENOMEM;
	names->len++;
	return 0;
}

static void names_fini(struct names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	free(names->items);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int prune(const char *dir_path, const char *suffix, const char *host, uint32_t keep)
{
	ep_cleanup(closedirp) DIR *dir = opendir(dir_path);
	ep_cleanup(names_fini) struct names names = {0};
	struct form form = {.suffix = suffix};
	const struct dirent *entry;
	int removed = 0;

	if (!dir)
		return -errno;
	form.prefix_len = (size_t)make_prefix(host, form.prefix, sizeof(form.prefix));
	names.prefix_len = form.prefix_len;
	while ((entry = readdir(dir)) != NULL) {
		if (is_stale(dirfd(dir), entry->d_name, &form))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
		else if (stamp_of(entry->d_name, &form) && add_name(&names, entry->d_name) < 0)
			return -ENOMEM;
	}
	if (names.len <= keep)
		return 0;
	qsort_r(names.items, names.len, sizeof(*names.items), compare_names, &names);
	for (size_t i = 0; i < names.len - keep; i++)
		removed += unlinkat(dirfd(dir), names.items[i], 0) == 0;
	return removed;
}

int ep_file_prune(const char *dir_path, const char *suffix, const char *host, uint32_t keep)
{
	struct ep_rights rights;
	struct maker maker;
	int r = find_maker(&maker);

	if (r == 0)
		r = enter(&maker, &rights);
	if (r < 0)
		return r;
	if (maker.is_sudo && faccessat(AT_FDCWD, dir_path, W_OK | X_OK, AT_EACCESS) < 0)
		ep_rights_restore(&rights);
	r = prune(dir_path, suffix, host, keep);
	ep_rights_restore(&rights);
	return r;
}
