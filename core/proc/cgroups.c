/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/cgroups.h"
#include "core/base/parse.h"
#include "core/base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOUNTS_MAX_BYTES (4u << 20)
#define PROC_MAX_BYTES	 65536

/* --- where it is mounted ----------------------------------------------------------------------- */

/* mountinfo writes space, tab, newline and backslash as \040 and so on (proc_pid_mountinfo(5)). */
static void unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		unsigned int byte;

		if (in[0] == '\\' && sscanf(in + 1, "%3o", &byte) == 1 && byte < 256) {
			*out++ = (char)byte;
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
}

/* "36 25 0:32 / /sys/fs/cgroup rw,... - cgroup2 cgroup2 rw": the fifth field, where a "-" precedes the type. */
static bool take_mount(const char *line, size_t bytes, char mount[EP_CGROUP_PATH_BYTES])
{
	const char *type = line ? memmem(line, bytes, " - cgroup2 ", strlen(" - cgroup2 ")) : NULL;
	const char *pos = line, *end;

	if (!type)
		return false;
	for (int i = 0; i < 4 && pos; i++) {
		pos = memchr(pos, ' ', (size_t)(type - pos));
		pos = pos ? pos + 1 : NULL;
	}
	end = pos ? memchr(pos, ' ', (size_t)(type - pos) + 1) : NULL;
	if (!end || end == pos || end - pos >= EP_CGROUP_PATH_BYTES)
		return false;
	memcpy(mount, pos, (size_t)(end - pos));
	mount[end - pos] = '\0';
	unescape(mount);
	return *mount == '/';
}

int ep_cgroup_parse_mount(const char *text, size_t bytes, char mount[EP_CGROUP_PATH_BYTES])
{
	const char *end = text + bytes;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;

		if (take_mount(text, (size_t)(line_end - text), mount))
			return 0;
		text = line_end + 1;
	}
	return -ENOENT;
}

static int read_text(const char *path, size_t max, struct ep_vec *text)
{
	int r;

	ep_vec_init(text, 1, max);
	r = ep_read_file(path, text);
	return r == -E2BIG ? 0 : r;
}

int ep_cgroup_find_mount(char mount[EP_CGROUP_PATH_BYTES])
{
	ep_cleanup(ep_vec_fini) struct ep_vec text = {0};
	int r = read_text("/proc/self/mountinfo", MOUNTS_MAX_BYTES, &text);

	return r < 0 ? r : ep_cgroup_parse_mount(text.data, text.len, mount);
}

/* --- what is in it ----------------------------------------------------------------------------- */

/* A directory that was not looked at yet. */
struct pending {
	char *path;
	uint32_t above, depth;
};

struct walk {
	const char *mount;
	ep_cgroup_visit visit;
	void *arg;
	struct ep_vec pending; /* struct pending */
	size_t n;
};

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int walk_push(struct walk *walk, const char *path, uint32_t above, uint32_t depth)
{
	struct pending *pending;
	char *copy = strdup(path);

	pending = copy ? ep_vec_push(&walk->pending) : NULL;
	if (!pending) {
		free(copy);
		return -ENOMEM;
	}
	*pending = (struct pending){copy, above, depth};
	return 0;
}

/* "/" has no text of its own here, so that paths of children are path, slash, name. */
static int walk_children(struct walk *walk, DIR *dir, const struct pending *at, uint32_t bits)
{
	char path[EP_CGROUP_PATH_BYTES];
	struct dirent *entry;
	int r = 0;

	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", at->path, entry->d_name) >= (int)sizeof(path))
			continue;
		r = walk_push(walk, path, bits, at->depth + 1);
	}
	return r;
}

static int walk_one(struct walk *walk, const struct pending *at)
{
	ep_cleanup(closedirp) DIR *dir = NULL;
	char path[2 * EP_CGROUP_PATH_BYTES];
	const char *slash = strrchr(at->path, '/');
	struct ep_cgroup cgroup = {.path = *at->path ? at->path : "/", .above = at->above};
	struct stat st;
	uint32_t bits;

	if (++walk->n > EP_CGROUP_MAX)
		return -E2BIG;
	snprintf(path, sizeof(path), "%s%s", walk->mount, at->path);
	dir = opendir(path);
	if (!dir || fstat(dirfd(dir), &st) < 0)
		return 0;
	cgroup.id = (uint64_t)st.st_ino;
	cgroup.name = slash ? slash + 1 : "";
	bits = walk->visit(walk->arg, &cgroup);
	return at->depth < EP_CGROUP_MAX_DEPTH ? walk_children(walk, dir, at, bits) : 0;
}

int ep_cgroups_walk(const char *mount, ep_cgroup_visit visit, void *arg)
{
	struct walk walk = {.mount = mount, .visit = visit, .arg = arg};
	struct pending at;
	int r;

	ep_vec_init(&walk.pending, sizeof(struct pending), EP_CGROUP_MAX);
	r = walk_push(&walk, "", 0, 0);
	while (walk.pending.len > 0) {
		at = *ep_vec_at(&walk.pending, struct pending, --walk.pending.len);
		if (r == 0)
			r = walk_one(&walk, &at);
		free(at.path);
	}
	ep_vec_fini(&walk.pending);
	return r;
}

int ep_cgroup_parse_path(const char *text, size_t bytes, char path[EP_CGROUP_PATH_BYTES])
{
	const char *line = memmem(text, bytes, "0::", 3), *end;

	path[0] = '\0';
	if (!line || (line != text && line[-1] != '\n'))
		return -ENODATA;
	line += 3;
	end = memchr(line, '\n', bytes - (size_t)(line - text));
	if (!end || end - line >= EP_CGROUP_PATH_BYTES || memchr(line, '\0', (size_t)(end - line)))
		return -ENODATA;
	memcpy(path, line, (size_t)(end - line));
	path[end - line] = '\0';
	return 0;
}

static int number_of(const char *mount, const char *path, uint64_t *ret_id)
{
	char whole[2 * EP_CGROUP_PATH_BYTES];
	struct stat st;

	snprintf(whole, sizeof(whole), "%s%s", mount, path);
	if (stat(whole, &st) < 0)
		return -errno;
	*ret_id = (uint64_t)st.st_ino;
	return 0;
}

static char own_mount[EP_CGROUP_PATH_BYTES];
static pthread_once_t own_mount_is_found = PTHREAD_ONCE_INIT;

static void find_own_mount(void)
{
	if (ep_cgroup_find_mount(own_mount) < 0)
		own_mount[0] = '\0';
}

uint64_t ep_cgroup_number(const char *path)
{
	uint64_t id;

	pthread_once(&own_mount_is_found, find_own_mount);
	return own_mount[0] && path[0] && number_of(own_mount, path, &id) == 0 ? id : 0;
}

int ep_cgroup_read_id(const char *mount, pid_t pid, uint64_t *ret_id)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text = {0};
	char path[EP_CGROUP_PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	r = read_text(path, PROC_MAX_BYTES, &text);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = ep_cgroup_parse_path(text.data, text.len, path);
	if (r == 0)
		r = number_of(mount, path, ret_id);
	return r < 0 ? -ENODATA : 0;
}
