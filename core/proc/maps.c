/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/maps.h"
#include "core/base/bisect.h"
#include "core/base/parse.h"
#include "core/proc/devices.h"
#include "core/proc/process.h"
#include "core/proc/readers.h"
#include "core/proc/suspects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/*
 * The kernel hands out about a page per read. The longest line is a path of PATH_MAX newlines,
 * each printed as four bytes (fs/seq_file.c mangle_path); anything longer is not a line of maps.
 */
#define BUFFER_BYTES	     (32 * 1024)
#define PATH_BYTES_PER_ENTRY 256

#define DELETED	      " (deleted)"
#define DELETED_BYTES (sizeof(DELETED) - 1)

void ep_maps_init(struct ep_maps *maps, size_t max)
{
	*maps = (struct ep_maps){0};
	ep_vec_init(&maps->mappings, sizeof(struct ep_mapping), max);
	ep_vec_init(&maps->paths, 1, max * PATH_BYTES_PER_ENTRY);
}

void ep_maps_fini(struct ep_maps *maps)
{
	ep_vec_fini(&maps->mappings);
	ep_vec_fini(&maps->paths);
}

/* --- one line --------------------------------------------------------------------------------- */

static int parse_hex(const char **pos, const char *end, uint64_t *ret_value)
{
	return ep_parse_u64(pos, end, 16, ret_value);
}

static bool skip_char(const char **pos, const char *end, char c)
{
	if (*pos >= end || **pos != c)
		return false;
	(*pos)++;
	return true;
}

static int parse_range(const char **pos, const char *end, struct ep_mapping *m)
{
	if (parse_hex(pos, end, &m->start) < 0 || !skip_char(pos, end, '-') ||
	    parse_hex(pos, end, &m->end) < 0 || !skip_char(pos, end, ' ') || m->start >= m->end)
		return -EBADMSG;
	return 0;
}

static int parse_prot(const char **pos, const char *end, struct ep_mapping *m)
{
	const char *p = *pos;

	if (end - p < 5 || p[4] != ' ')
		return -EBADMSG;
	m->prot = (p[0] == 'r' ? EP_PROT_READ : 0) | (p[1] == 'w' ? EP_PROT_WRITE : 0) |
		  (p[2] == 'x' ? EP_PROT_EXEC : 0) | (p[3] == 's' ? EP_PROT_SHARED : 0);
	*pos = p + 5;
	return 0;
}

static int parse_file_id(const char **pos, const char *end, struct ep_mapping *m)
{
	uint64_t major, minor;

	if (parse_hex(pos, end, &m->file_off) < 0 || !skip_char(pos, end, ' ') ||
	    parse_hex(pos, end, &major) < 0 || !skip_char(pos, end, ':') ||
	    parse_hex(pos, end, &minor) < 0 || !skip_char(pos, end, ' ') ||
	    ep_parse_u64(pos, end, 10, &m->inode) < 0 || major > UINT32_MAX || minor > UINT32_MAX)
		return -EBADMSG;
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;
	return 0;
}

static bool starts_with(const struct ep_mapping *m, const char *prefix)
{
	size_t len = strlen(prefix);

	return m->path_bytes >= len && memcmp(m->path, prefix, len) == 0;
}

static bool path_is(const struct ep_mapping *m, const char *path)
{
	return m->path_bytes == strlen(path) && starts_with(m, path);
}

/*
 * Names are made in fs/proc/task_mmu.c get_vma_name, ipc/shm.c ("SYSV%08x") and mm/shmem.c
 * ("dev/zero" for shared anonymous memory, "memfd:"); checked at v6.18.
 */
static uint8_t kind_of(const struct ep_mapping *m)
{
	if (starts_with(m, "/memfd:"))
		return EP_MAPPING_MEMFD;
	if (m->deleted &&
	    (path_is(m, "/dev/zero") || starts_with(m, "/SYSV") || path_is(m, "/anon_hugepage")))
		return EP_MAPPING_ANON;
	if (m->inode != 0 && starts_with(m, "/"))
		return EP_MAPPING_FILE;
	if (path_is(m, "[vdso]"))
		return EP_MAPPING_VDSO;
	if (m->path_bytes == 0 || path_is(m, "[heap]") || path_is(m, "[stack]") ||
	    starts_with(m, "[anon") || starts_with(m, "//anon"))
		return EP_MAPPING_ANON;
	return m->inode != 0 ? EP_MAPPING_FILE : EP_MAPPING_OTHER;
}

static void set_path(struct ep_mapping *m, const char *path, size_t bytes)
{
	m->path = path;
	m->deleted = bytes > DELETED_BYTES &&
		     memcmp(path + bytes - DELETED_BYTES, DELETED, DELETED_BYTES) == 0;
	m->path_bytes = (uint32_t)(m->deleted ? bytes - DELETED_BYTES : bytes);
	m->kind = kind_of(m);
}

int ep_maps_parse_line(const char *line, size_t bytes, struct ep_mapping *ret_mapping)
{
	const char *pos = line, *end = line + bytes;
	struct ep_mapping m = {0};

	if (bytes > BUFFER_BYTES || parse_range(&pos, end, &m) < 0 ||
	    parse_prot(&pos, end, &m) < 0 || parse_file_id(&pos, end, &m) < 0)
		return -EBADMSG;
	while (pos < end && *pos == ' ')
		pos++;
	set_path(&m, pos, (size_t)(end - pos));
	*ret_mapping = m;
	return 0;
}

/* --- many lines ------------------------------------------------------------------------------- */

static struct ep_mapping *last_mapping(const struct ep_maps *maps)
{
	size_t len = maps->mappings.len;

	return len ? ep_vec_at(&maps->mappings, struct ep_mapping, len - 1) : NULL;
}

/* While lines are read, `path` holds an offset into `paths`, which may still move. */
static size_t path_off(const struct ep_mapping *m)
{
	return (size_t)(uintptr_t)m->path;
}

/* Copies a path and turns "\012" back into a newline (fs/seq_file.c: nothing else is escaped). */
static int add_path(struct ep_maps *maps, struct ep_mapping *m)
{
	size_t off = maps->paths.len, out = 0;
	char *dst;
	int r = ep_vec_append(&maps->paths, NULL, (size_t)m->path_bytes + 1);

	if (r < 0)
		return r;
	dst = (char *)maps->paths.data + off;
	for (size_t in = 0; in < m->path_bytes; in++) {
		bool newline = m->path_bytes - in >= 4 && memcmp(m->path + in, "\\012", 4) == 0;

		dst[out++] = newline ? '\n' : m->path[in];
		in += newline ? 3 : 0;
	}
	dst[out] = '\0';
	maps->paths.len = off + out + 1;
	m->path_bytes = (uint32_t)out;
	m->path = (const char *)(uintptr_t)off;
	return 0;
}

/* Neighbours are mostly parts of one file: they share the string. */
static int intern_path(struct ep_maps *maps, struct ep_mapping *m)
{
	const struct ep_mapping *last = last_mapping(maps);
	const char *text = maps->paths.data;

	if (last && last->path_bytes == m->path_bytes &&
	    memcmp(text + path_off(last), m->path, m->path_bytes) == 0) {
		m->path = last->path;
		return 0;
	}
	return add_path(maps, m);
}

static int add_mapping(struct ep_maps *maps, struct ep_mapping *m)
{
	const struct ep_mapping *last = last_mapping(maps);
	struct ep_mapping *slot;
	int r;

	if (last && m->start < last->end)
		return -EBADMSG;
	if (maps->mappings.len == maps->mappings.max)
		return -E2BIG;
	r = intern_path(maps, m);
	if (r < 0)
		return r;
	slot = ep_vec_push(&maps->mappings);
	if (!slot)
		return -ENOMEM;
	*slot = *m;
	return 0;
}

static bool is_executable(const char *line, size_t bytes)
{
	const char *space = memchr(line, ' ', bytes);

	return space && line + bytes - space > 3 && space[3] == 'x';
}

/* The fourth field of a line that is well formed: range, permissions, offset. */
static bool find_dev(const char *line, size_t bytes, const char **ret_dev, size_t *ret_bytes)
{
	const char *end = line + bytes, *space;

	for (int i = 0; i < 3; i++) {
		space = memchr(line, ' ', (size_t)(end - line));
		if (!space)
			return false;
		line = space + 1;
	}
	space = memchr(line, ' ', (size_t)(end - line));
	*ret_dev = line;
	*ret_bytes = space ? (size_t)(space - line) : 0;
	return space;
}

/* Neighbours are mostly of one device. Of all lines, since any of them may be what is read later. */
static void look_at_dev(struct ep_maps *maps, const char *line, size_t bytes)
{
	uint64_t dev_major, dev_minor;
	const char *dev, *end;
	size_t n;

	if (!find_dev(line, bytes, &dev, &n) || n > sizeof(maps->last_dev) ||
	    (n == maps->last_dev_bytes && memcmp(dev, maps->last_dev, n) == 0) || (n == 5 && memcmp(dev, "00:00", n) == 0))
		return;
	memcpy(maps->last_dev, dev, n);
	maps->last_dev_bytes = (uint8_t)n;
	end = dev + n;
	if (parse_hex(&dev, end, &dev_major) == 0 && skip_char(&dev, end, ':') && parse_hex(&dev, end, &dev_minor) == 0 &&
	    ep_device_is_suspect(maps->pid, (uint32_t)dev_major, (uint32_t)dev_minor))
		ep_suspects_add(maps->pid);
}

static int take_line(struct ep_maps *maps, const char *line, size_t bytes,
		     enum ep_maps_filter filter)
{
	struct ep_mapping m;
	int r;

	maps->seen++;
	if (maps->pid)
		look_at_dev(maps, line, bytes);
	if (filter == EP_MAPS_EXECUTABLE && !is_executable(line, bytes))
		return 0;
	r = ep_maps_parse_line(line, bytes, &m);
	if (r == 0 && m.start >> 63)
		return 0;
	if (r == 0)
		r = add_mapping(maps, &m);
	if (r == -ENOMEM)
		return r;
	maps->dropped += r < 0;
	return 0;
}

/* Takes whole lines; *ret_used is how many bytes they were. */
static int take_lines(struct ep_maps *maps, const char *data, size_t bytes,
		      enum ep_maps_filter filter, size_t *ret_used)
{
	const char *line = data, *end = data + bytes, *newline;
	int r;

	while (line < end && (newline = memchr(line, '\n', (size_t)(end - line)))) {
		r = take_line(maps, line, (size_t)(newline - line), filter);
		if (r < 0)
			return r;
		line = newline + 1;
	}
	*ret_used = (size_t)(line - data);
	return 0;
}

static void start(struct ep_maps *maps)
{
	maps->mappings.len = maps->paths.len = 0;
	maps->seen = maps->dropped = 0;
	maps->last_dev_bytes = 0;
}

static void finish(struct ep_maps *maps)
{
	struct ep_mapping *m;

	ep_vec_each (&maps->mappings, m)
		m->path = (const char *)maps->paths.data + path_off(m);
}

int ep_maps_parse(struct ep_maps *maps, const char *data, size_t bytes, enum ep_maps_filter filter)
{
	size_t used;
	int r;

	start(maps);
	r = take_lines(maps, data, bytes, filter, &used);
	if (r == 0 && used < bytes)
		r = take_line(maps, data + used, bytes - used, filter);
	finish(maps);
	return r;
}

static ssize_t read_retry(int fd, char *buffer, size_t bytes)
{
	ssize_t n;

	do
		n = read(fd, buffer, bytes);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* A line that fills the whole buffer is thrown away; its tail fails to parse and is counted. */
static int read_lines(struct ep_maps *maps, int fd, enum ep_maps_filter filter)
{
	char buffer[BUFFER_BYTES];
	size_t len = 0, used;
	ssize_t n;
	int r;

	while ((n = read_retry(fd, buffer + len, sizeof(buffer) - len)) > 0) {
		len += (size_t)n;
		r = take_lines(maps, buffer, len, filter, &used);
		if (r < 0)
			return r;
		if (used == 0 && len == sizeof(buffer))
			used = len;
		memmove(buffer, buffer + used, len - used);
		len -= used;
	}
	return n < 0 ? (int)n : len ? take_line(maps, buffer, len, filter) : 0;
}

int ep_maps_read_fd(struct ep_maps *maps, int fd, enum ep_maps_filter filter)
{
	int r;

	start(maps);
	r = read_lines(maps, fd, filter);
	finish(maps);
	return r;
}

static int read_path(struct ep_maps *maps, pid_t pid, enum ep_maps_filter filter)
{
	ep_autoclose int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return ep_maps_read_fd(maps, fd, filter);
}

int ep_maps_read(struct ep_maps *maps, pid_t pid, enum ep_maps_filter filter)
{
	pid_t tid;
	int r;

	maps->pid = ep_readers_are_there() ? pid : 0;
	r = read_path(maps, pid, filter);
	if (r == 0 && maps->seen == 0 && ep_process_find_live_thread(pid, &tid) == 0)
		r = read_path(maps, tid, filter);
	maps->pid = 0;
	return r;
}

const struct ep_mapping *ep_maps_find(const struct ep_maps *maps, uint64_t addr)
{
	const struct ep_mapping *all = maps->mappings.data;
	size_t at = ep_bisect(maps->mappings.len, i, addr >= all[i].end);

	return at < maps->mappings.len && addr >= all[at].start ? &all[at] : NULL;
}

bool ep_maps_find_moved(const struct ep_maps *maps, const struct ep_mapping *mapping, const struct ep_mapping **ret_file)
{
	const struct ep_mapping *first = maps->mappings.data, *before = mapping - 1, *after = mapping + 1;

	if (mapping->kind != EP_MAPPING_ANON || !(mapping->prot & EP_PROT_EXEC) || mapping == first ||
	    after == first + maps->mappings.len)
		return false;
	*ret_file = before;
	return before->kind == EP_MAPPING_FILE && after->kind == EP_MAPPING_FILE && before->inode == after->inode &&
	       before->dev_major == after->dev_major && before->dev_minor == after->dev_minor &&
	       after->start - before->start == after->file_off - before->file_off;
}
