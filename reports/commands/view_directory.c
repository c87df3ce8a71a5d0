/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/view_directory.h"
#include "core/base/clock.h"
#include "core/base/parse.h"
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

/* A name as the agent gives it: "profile-HOST-" STAMP "-2" ".otlp.gz". */
struct dated {
	char *name;	     /* owned */
	size_t series_bytes; /* before the stamp */
	size_t stem_bytes;   /* before the extension */
	uint64_t start_ns;
	uint64_t end_ns, guess_end_ns; /* as in struct ep_view_dated */
	uint32_t number;	       /* among the names of one second */
	int loss;		       /* by its format, see loss_of */
	bool is_edge;
};

static void closedirp(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* --- the newest ------------------------------------------------------------------------------ */

/*
 * Of formats that are read again, in the order of what they keep: of two files of one interval the
 * one that lost less is read. -1: it is none of them.
 */
static int loss_of(const struct ep_output_format *format)
{
	static const char *const names[] = {"otlp", "html", "firefox", "perf", /* without times: */
					    "pprof", "folded"};

	for (size_t i = 0; format && i < EP_LEN(names); i++) {
		if (strcmp(format->name, names[i]) == 0)
			return (int)i;
	}
	return -1;
}

/* Written by `record` or by name one of ours: a page may be anything. */
static bool is_profile(const char *name)
{
	const struct ep_output_format *format = name[0] == '.' ? NULL : ep_output_format_of(name);

	if (loss_of(format) < 0)
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

/* False when the name is not of that form, or of what is not read again. */
static bool parse_name(const char *name, struct dated *file)
{
	int loss = loss_of(ep_output_format_of(name));
	const char *stamp = NULL, *pos;
	uint64_t number = 1;
	struct tm tm = {0};
	time_t seconds;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || loss < 0)
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
	pos = stamp + STAMP_BYTES;
	if (*pos == '-') {
		pos++;
		if (ep_parse_u64(&pos, pos + strlen(pos), 10, &number) < 0 || number > UINT32_MAX)
			return false;
	}
	if (seconds <= 0 || *pos != '.')
		return false;
	*file = (struct dated){
		.series_bytes = (size_t)(stamp - name),
		.stem_bytes = (size_t)(pos - name),
		.start_ns = (uint64_t)seconds * EP_NS_PER_SEC,
		.number = (uint32_t)number,
		.loss = loss,
	};
	return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_series(const struct dated *a, const struct dated *b)
{
	int r = compare_numbers(a->series_bytes, b->series_bytes);

	r = r ? r : strncmp(a->name, b->name, a->series_bytes);
	return r ? r : strcmp(a->name + a->stem_bytes, b->name + b->stem_bytes);
}

/* One output of one host after the other: there a file's end is where the next begins. */
static int by_series(const void *left, const void *right)
{
	const struct dated *a = left, *b = right;
	int r = compare_series(a, b);

	r = r ? r : compare_numbers(a->start_ns, b->start_ns);
	return r ? r : compare_numbers(a->number, b->number);
}

static int by_start(const void *left, const void *right)
{
	const struct dated *a = left, *b = right;
	int r = compare_numbers(a->start_ns, b->start_ns);

	r = r ? r : compare_numbers(a->series_bytes, b->series_bytes);
	r = r ? r : strncmp(a->name, b->name, a->series_bytes);
	r = r ? r : compare_numbers(a->number, b->number);
	r = r ? r : a->loss - b->loss;
	return r ? r : strcmp(a->name, b->name);
}

static void dated_fini(struct ep_vec *files)
{
	struct dated *file;

	ep_vec_each (files, file)
		free(file->name);
	ep_vec_fini(files);
}

static int list(DIR *dir, struct ep_vec *files)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		struct dated parsed, *file;

		if (!parse_name(entry->d_name, &parsed))
			continue;
		file = ep_vec_push(files);
		if (!file)
			return files->len == files->max ? -E2BIG : -ENOMEM;
		*file = parsed;
		file->name = strdup(entry->d_name);
		if (!file->name)
			return -ENOMEM;
	}
	return files->len == 0 ? -ENOENT : 0;
}

/* When the newest of a series was complete: its end at the latest. */
static uint64_t written_ns(DIR *dir, const char *name)
{
	struct stat st;

	return fstatat(dirfd(dir), name, &st, 0) == 0 && st.st_mtim.tv_sec > 0
		       ? (uint64_t)st.st_mtim.tv_sec * EP_NS_PER_SEC + EP_NS_PER_SEC
		       : 0;
}

/* Names are cut to the second, so that a part of one more may belong to a file. */
static void find_ends(struct ep_vec *list)
{
	struct dated *files = list->data;
	size_t n = list->len;

	qsort(files, n, sizeof(*files), by_series);
	for (size_t i = 0; i < n; i++) {
		bool is_first = i == 0 || compare_series(&files[i - 1], &files[i]) != 0;
		bool is_last = i + 1 == n || compare_series(&files[i], &files[i + 1]) != 0;
		struct dated *file = &files[i];

		file->is_edge = is_first || is_last;
		file->end_ns = is_last ? UINT64_MAX : files[i + 1].start_ns + EP_NS_PER_SEC;
		file->guess_end_ns = !is_last	? files[i + 1].start_ns
				     : is_first ? file->start_ns
						: 2 * file->start_ns - files[i - 1].start_ns;
	}
	qsort(files, n, sizeof(*files), by_start);
}

/* Two outputs of one interval say the same: the one that lost less is read. */
static bool is_twin(const struct dated *files, size_t i)
{
	return i > 0 && files[i].stem_bytes == files[i - 1].stem_bytes &&
	       strncmp(files[i].name, files[i - 1].name, files[i].stem_bytes) == 0;
}

/* All that the times may mean: what the first and the last file say of themselves decides. */
static struct ep_view_range widest_range(DIR *dir, const struct ep_view_filter *filter,
					 const struct dated *files, size_t n)
{
	uint64_t first_ns = files[0].start_ns, last_ns = files[n - 1].start_ns, end_ns = last_ns;
	struct ep_view_range early, late;

	for (size_t i = 0; i < n; i++)
		if (files[i].end_ns == UINT64_MAX)
			end_ns = EP_MAX(end_ns, EP_MAX(files[i].guess_end_ns,
						       written_ns(dir, files[i].name)));
	early = ep_view_filter_range(filter, first_ns, last_ns);
	late = ep_view_filter_range(filter, first_ns + EP_NS_PER_SEC, end_ns);
	return (struct ep_view_range){
		.start_ns = EP_MIN(early.start_ns, late.start_ns),
		.end_ns = EP_MAX(early.end_ns, late.end_ns),
	};
}

static int push(struct ep_vec *chosen, const char *directory, const struct dated *file)
{
	struct ep_view_dated *slot = ep_vec_push(chosen);

	if (!slot)
		return chosen->len == chosen->max ? -E2BIG : -ENOMEM;
	*slot = (struct ep_view_dated){
		.start_ns = file->start_ns,
		.end_ns = file->end_ns,
		.guess_end_ns = file->guess_end_ns,
		.is_edge = file->is_edge,
	};
	return asprintf(&slot->path, "%s/%s", directory, file->name) < 0
		       ? (slot->path = NULL, -ENOMEM)
		       : 0;
}

int ep_view_directory_choose(const char *directory, const struct ep_view_filter *filter,
			     struct ep_vec *chosen)
{
	ep_cleanup(dated_fini) struct ep_vec list_of = {0};
	ep_cleanup(closedirp) DIR *dir = opendir(directory);
	bool is_relative = ep_view_filter_is_relative(filter);
	const struct dated *files;
	struct ep_view_range range;
	size_t n;
	int r;

	if (!dir)
		return -errno;
	ep_vec_init(&list_of, sizeof(struct dated), MAX_NAMES);
	r = list(dir, &list_of);
	if (r < 0)
		return r;
	find_ends(&list_of);
	files = list_of.data;
	n = list_of.len;
	if (!ep_view_filter_has_times(filter)) {
		while (is_twin(files, n - 1))
			n--;
		return push(chosen, directory, &files[n - 1]);
	}
	range = widest_range(dir, filter, files, n);
	for (size_t i = 0; i < n && r == 0; i++)
		if (!is_twin(files, i) &&
		    ((files[i].start_ns < range.end_ns && files[i].end_ns > range.start_ns) ||
		     (is_relative && files[i].is_edge)))
			r = push(chosen, directory, &files[i]);
	return r;
}
