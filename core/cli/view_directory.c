/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/view_directory.h"
#include "core/base/clock.h"
#include "core/cli/parts/output_format.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_NAMES   (1u << 20)
#define PREFIX	    "profile-"
#define STAMP_BYTES 15 /* 20260131-235959 */

struct dated {
	char *name; /* owned */
	uint64_t start_ns;
	bool has_times; /* of samples */
};

static void closedirp(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* --- the newest ------------------------------------------------------------------------------ */

/* Written by `record` or by name one of ours: a page may be anything. */
static bool is_profile(const char *name)
{
	const struct ep_output_format *format = name[0] == '.' ? NULL : ep_output_format_of(name);

	if (!format)
		return false;
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 || strcmp(format->name, "otlp") == 0 ||
	       strcmp(format->name, "pprof") == 0;
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
		return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
	return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

int ep_view_newest_here(const char *directory, char **ret_path)
{
	ep_cleanup(closedirp) DIR *dir = opendir(directory);
	ep_autofree char *newest = NULL;
	const struct dirent *entry;
	struct stat of_newest = {0};

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		struct stat st;

		if (!is_profile(entry->d_name) || fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (newest && !is_newer(&st, &of_newest))
			continue;
		free(newest);
		newest = strdup(entry->d_name);
		if (!newest)
			return -ENOMEM;
		of_newest = st;
	}
	if (!newest)
		return -ENOENT;
	if (strcmp(directory, ".") == 0)
		*ret_path = ep_take(newest);
	else if (asprintf(ret_path, "%s/%s", directory, newest) < 0)
		return -ENOMEM;
	return 0;
}

/* --- the agent's ----------------------------------------------------------------------------- */

/* Start of the agent's file; false when the name is not of that form. */
static bool parse_name(const char *name, uint64_t *ret_start_ns)
{
	const struct ep_output_format *format = ep_output_format_of(name);
	const char *stamp = NULL;
	struct tm tm = {0};
	time_t seconds;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !format)
		return false;
	/* The host's name may have dashes and digits as well: the stamp is the last of this form.
	 */
	for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-')) {
		if (strspn(dash + 1, "0123456789") == 8 && dash[9] == '-' &&
		    strspn(dash + 10, "0123456789") == 6 &&
		    (dash[1 + STAMP_BYTES] == '.' || dash[1 + STAMP_BYTES] == '-'))
			stamp = dash + 1;
	}
	if (!stamp || !strptime(stamp, "%Y%m%d-%H%M%S", &tm))
		return false;
	seconds = timegm(&tm);
	*ret_start_ns = (uint64_t)seconds * EP_NS_PER_SEC;
	return seconds > 0;
}

static int by_start(const void *left, const void *right)
{
	const struct dated *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return strverscmp(a->name, b->name); /* -2, -10: of one second */
}

static void dated_fini(struct ep_vec *files)
{
	struct dated *file;

	ep_vec_each (files, file)
		free(file->name);
	ep_vec_fini(files);
}

static int list(const char *directory, struct ep_vec *files)
{
	ep_cleanup(closedirp) DIR *dir = opendir(directory);
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		uint64_t start_ns;
		struct dated *file;

		if (!parse_name(entry->d_name, &start_ns))
			continue;
		file = ep_vec_push(files);
		if (!file)
			return files->len == files->max ? -E2BIG : -ENOMEM;
		file->start_ns = start_ns;
		file->has_times =
			ep_output_format_of(entry->d_name) != ep_output_format_find("pprof");
		file->name = strdup(entry->d_name);
		if (!file->name)
			return -ENOMEM;
	}
	if (files->len == 0)
		return -ENOENT;
	qsort(files->data, files->len, files->elem_bytes, by_start);
	return 0;
}

/*
 * A file ends where the next begins; names are cut to the second, so that a part of one more may
 * belong to it, where samples can be told apart. The newest has no end that is known before it is
 * read.
 */
static uint64_t end_of(const struct dated *files, size_t n, size_t i)
{
	if (i + 1 < n)
		return files[i + 1].start_ns + (files[i].has_times ? EP_NS_PER_SEC : 0);
	return UINT64_MAX;
}

static int push_path(struct ep_vec *paths, const char *directory, const char *name)
{
	char **path = ep_vec_push(paths);

	if (!path)
		return paths->len == paths->max ? -E2BIG : -ENOMEM;
	return asprintf(path, "%s/%s", directory, name) < 0 ? (*path = NULL, -ENOMEM) : 0;
}

int ep_view_directory_choose(const char *directory, const struct ep_view_filter *filter,
			     struct ep_vec *paths)
{
	ep_cleanup(dated_fini) struct ep_vec list_of = {0};
	const struct dated *files;
	struct ep_view_range range;
	uint64_t last_ns;
	size_t n;
	int r;

	ep_vec_init(&list_of, sizeof(struct dated), MAX_NAMES);
	r = list(directory, &list_of);
	if (r < 0)
		return r;
	files = list_of.data;
	n = list_of.len;
	if (!ep_view_filter_has_times(filter))
		return push_path(paths, directory, files[n - 1].name);
	last_ns = files[n - 1].start_ns;
	if (n > 1) /* its end, as far as can be known */
		last_ns += last_ns - files[n - 2].start_ns;
	range = ep_view_filter_range(filter, files[0].start_ns, last_ns);
	for (size_t i = 0; i < n && r == 0; i++)
		if (files[i].start_ns < range.end_ns && end_of(files, n, i) > range.start_ns)
			r = push_path(paths, directory, files[i].name);
	return r;
}
