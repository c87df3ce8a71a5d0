/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/new_plugin.h"
#include "core/base/log.h"
#include "core/base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_NAME       31	      /* bytes of a plugin's name, plugin.h */
#define MAX_FILE_BYTES ((size_t)1 << 20) /* a template's sources have some 20 KiB */

/* --- names ----------------------------------------------------------------------------------- */

/* Of ASCII, whatever the locale is. */
static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_word(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static char upper_of(char c)
{
	return is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

static int append_upper(struct ep_vec *text, const char *name)
{
	int r = 0;

	for (; r == 0 && *name; name++)
		r = ep_vec_append(text, &(char){upper_of(*name)}, 1);
	return r;
}

static bool is_upper_of(const char *text, const char *name)
{
	while (*name && *text == upper_of(*name))
		text++, name++;
	return !*name;
}

int ep_new_plugin_rename(const char *text, size_t len, const char *from, const char *to,
			 struct ep_vec *ret_text)
{
	size_t n = strlen(from);
	int r = 0;

	for (size_t at = 0; r == 0 && at < len;) {
		char after = at + n < len ? text[at + n] : '\0';
		bool fits = at + n <= len && (at == 0 || !is_word(text[at - 1])) && !is_word(after);

		if (fits && memcmp(text + at, from, n) == 0) {
			r = ep_vec_append(ret_text, to, strlen(to));
			at += n;
		} else if (fits && after == '_' && is_upper_of(text + at, from)) {
			r = append_upper(ret_text, to);
			at += n;
		} else {
			r = ep_vec_append(ret_text, text + at++, 1);
		}
	}
	return r;
}

/* --- files ----------------------------------------------------------------------------------- */

struct copy {
	const char *template_dir, *from, *name;
	char *error;
};

static int refuse(const struct copy *copy, int r, const char *fmt, ...) EP_PRINTF(3, 4);

static int refuse(const struct copy *copy, int r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(copy->error, EP_NEW_PLUGIN_ERROR, fmt, args);
	va_end(args);
	return r;
}

static int read_file(const char *path, struct ep_vec *ret_text)
{
	ep_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (size_t)st.st_size > MAX_FILE_BYTES)
		return -EFBIG;
	r = ep_vec_append(ret_text, NULL, (size_t)st.st_size);
	if (r < 0)
		return r;
	for (size_t at = 0; at < ret_text->len;) {
		ssize_t n = read(fd, (char *)ret_text->data + at, ret_text->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		at += (size_t)n;
	}
	return 0;
}

/* -EEXIST: there is one. */
static int write_file(const char *path, const struct ep_vec *text)
{
	ep_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < text->len;) {
		ssize_t n = write(fd, (const char *)text->data + at, text->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return close(ep_take_fd(fd)) < 0 ? -errno : 0;
}

static int copy_file(const struct copy *copy, const char *source, const char *target)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text, renamed;
	int r;

	ep_vec_init(&text, 1, MAX_FILE_BYTES);
	ep_vec_init(&renamed, 1, MAX_FILE_BYTES * 2);
	r = read_file(source, &text);
	if (r < 0)
		return refuse(copy, r, "cannot read %s: %s: install the profiler anew", source,
			      ep_strerror(r));
	r = ep_new_plugin_rename(text.data, text.len, copy->from, copy->name, &renamed);
	if (r == 0)
		r = write_file(target, &renamed);
	if (r == -EEXIST)
		return refuse(copy, r, "the template has a file %s of its own: choose another name",
			      target);
	if (r < 0)
		return refuse(copy, r, "cannot write %s: %s", target, ep_strerror(r));
	return 0;
}

static int make_directory(const struct copy *copy, const char *path)
{
	int r;

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno == EEXIST)
		return refuse(copy, -EEXIST,
			      "%s is there already: choose another name, or move it away", path);
	r = -errno;
	return refuse(copy, r, "cannot make the directory %s: %s", path, ep_strerror(r));
}

/* Where it goes: NAME, and below it the path in the template with its name changed. */
static int target_of(const struct copy *copy, const FTSENT *entry, char path[PATH_MAX])
{
	ep_cleanup(ep_vec_fini) struct ep_vec below;
	const char *rest = entry->fts_path + strlen(copy->template_dir);
	int r;

	ep_vec_init(&below, 1, PATH_MAX);
	r = ep_new_plugin_rename(rest, strlen(rest) + 1, copy->from, copy->name, &below);
	if (r == 0 && snprintf(path, PATH_MAX, "%s%s", copy->name, (char *)below.data) >= PATH_MAX)
		r = -ENAMETOOLONG;
	if (r < 0)
		return refuse(copy, r, "cannot name %s anew: %s", entry->fts_path, ep_strerror(r));
	return 0;
}

static int copy_entry(const struct copy *copy, const FTSENT *entry)
{
	char target[PATH_MAX];
	int r;

	if (entry->fts_info == FTS_DP || entry->fts_level == FTS_ROOTLEVEL)
		return 0;
	r = target_of(copy, entry, target);
	if (r < 0)
		return r;
	if (entry->fts_info == FTS_D)
		return make_directory(copy, target);
	return copy_file(copy, entry->fts_path, target);
}

static int copy_template(const struct copy *copy)
{
	char *paths[] = {(char *)(uintptr_t)copy->template_dir, NULL};
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int r = 0;

	if (!fts)
		return refuse(copy, -errno, "cannot read %s: %s", copy->template_dir,
			      ep_strerror(-errno));
	while (r == 0 && (entry = fts_read(fts)) != NULL)
		r = copy_entry(copy, entry);
	(void)fts_close(fts);
	return r;
}

static void remove_directory(const char *name)
{
	char *paths[] = {(char *)(uintptr_t)name, NULL};
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	while (fts && (entry = fts_read(fts)) != NULL) {
		if (entry->fts_info == FTS_DP)
			(void)rmdir(entry->fts_path);
		else if (entry->fts_info != FTS_D)
			(void)unlink(entry->fts_path);
	}
	if (fts)
		(void)fts_close(fts);
}

/* --- the whole ------------------------------------------------------------------------------- */

static int check_name(const struct copy *copy)
{
	/* Prefixes of what a plugin includes. */
	static const char *const taken[] = {"bpf", "ep", "fake", "zoo"};
	const char *name = copy->name;
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (!is_lower(name[0]) || name[len] || len > MAX_NAME)
		return refuse(copy, -EINVAL,
			      "'%.64s' cannot be a plugin's name: take a-z, 0-9 and _, a letter "
			      "first, at most %d",
			      name, MAX_NAME);
	for (size_t i = 0; i < EP_LEN(taken); i++) {
		if (strcmp(name, taken[i]) == 0)
			return refuse(copy, -EINVAL,
				      "names with %s_ are the profiler's: choose another name", name);
	}
	return 0;
}

int ep_new_plugin_write(const char *template_dir, const char *from, const char *name,
			char error[EP_NEW_PLUGIN_ERROR])
{
	struct copy copy = {template_dir, from, name, error};
	int r = check_name(&copy);

	if (r < 0)
		return r;
	if (access(template_dir, R_OK | X_OK) < 0)
		return refuse(&copy, -errno,
			      "there is no template %s: install the profiler, all of it (meson "
			      "install)",
			      template_dir);
	r = make_directory(&copy, name);
	if (r < 0)
		return r;
	r = copy_template(&copy);
	if (r < 0)
		remove_directory(name);
	return r;
}
