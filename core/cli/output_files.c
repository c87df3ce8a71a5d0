/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/output_files.h"
#include "core/cli/parts/text.h"
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/base/replaced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define TEMPORARY_NAME "/profile"

/* --- files on their way to somewhere else ---------------------------------------------------- */

static char *make_directory(void)
{
	const char *top = secure_getenv("TMPDIR");
	ep_autofree char *directory = NULL;
	char *path;

	if (asprintf(&directory, "%s/ebpf-profiler-XXXXXX", top && *top ? top : "/tmp") < 0)
		return NULL;
	if (!mkdtemp(directory))
		return NULL;
	return asprintf(&path, "%s" TEMPORARY_NAME, directory) < 0 ? NULL : path;
}

char *ep_output_files_temporary(void)
{
	struct ep_rights rights;
	char *path;

	if (ep_rights_of_caller(&rights) < 0) /* as the file in it is made */
		return NULL;
	path = make_directory();
	ep_rights_restore(&rights);
	return path;
}

static int write_all(int to, const char *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(to, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int copy(int fd, int to)
{
	char buf[16384];
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		r = write_all(to, buf, (size_t)n);
	return r;
}

void ep_output_files_discard(const char *path)
{
	ep_autofree char *directory = strndup(path, strlen(path) - strlen(TEMPORARY_NAME));
	struct ep_rights rights;

	if (ep_rights_of_caller(&rights) < 0)
		return;
	(void)unlink(path);
	if (directory)
		(void)rmdir(directory);
	ep_rights_restore(&rights);
}

int ep_output_files_copy(const char *path, int to)
{
	ep_autoclose int fd = ep_open_as_caller(path, 0);
	int r = fd >= 0 ? copy(fd, to) : 0; /* no samples: no file */

	ep_output_files_discard(path);
	return r;
}

/* --- names ----------------------------------------------------------------------------------- */

/* A page; where that plugin was left out of the build, pprof. */
static const struct ep_output_format *default_format(const char *plugin_dir)
{
	const struct ep_output_format *page = ep_output_format_find("html");
	ep_autofree char *path = NULL;

	if (asprintf(&path, "%s/%s.so", plugin_dir, page->plugin) >= 0 && access(path, F_OK) == 0)
		return page;
	return ep_output_format_find("pprof");
}

static char *default_name(const char *what, const struct ep_output_format *format)
{
	time_t now = time(NULL);
	char when[32], *name;
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	return asprintf(&name, "profile-%s-%s%s", what, when, format->extensions[0]) < 0 ? NULL
											 : name;
}

static bool is_stdout(const struct ep_output_files *files, size_t i)
{
	return strcmp(files->shown[i], "-") == 0;
}

static enum ep_exit check_stdout(const struct ep_output_format *format)
{
	if (format->is_text || !isatty(STDOUT_FILENO))
		return EP_EXIT_OK;
	fprintf(stderr,
		"ebpf-profiler: -o -: %s is not text and standard output is a terminal; send it into a "
		"file or a pipe, or choose text, like -f folded\n",
		format->name);
	return EP_EXIT_USAGE;
}

static void say_kind(const char *path, int r)
{
	fprintf(stderr, "ebpf-profiler: %s %s%s\n", path, ep_replaced_why(r),
		r == -ENOTSUP ? ", or give -o - and send standard output there" : "");
}

static void say_exists(const char *path)
{
	fprintf(stderr,
		"ebpf-profiler: %s exists; give another -o FILE, or --force to replace it\n", path);
}

enum ep_exit ep_output_files_check(const char *path, bool force)
{
	struct ep_rights rights;
	int r;

	if (ep_rights_of_caller(&rights) < 0)
		return EP_EXIT_FAILED;
	r = ep_replaced_find(path, NULL);
	ep_rights_restore(&rights);
	if (ep_replaced_why(r))
		say_kind(path, r);
	else if (r == EP_REPLACED_FILE && !force)
		say_exists(path);
	else
		return EP_EXIT_OK;
	return EP_EXIT_FAILED;
}

/* What is there now may be another file than a moment before: so nothing is waited for, and it is
 * asked again. */
static int open_file_there(const char *path)
{
	ep_autoclose int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? ep_take_fd(fd) : -ENOTSUP;
}

/* As root: a link that leads nowhere is one that exists. */
int ep_output_files_hold(const char *path, bool force, char **ret_made)
{
	ep_autofree char *made = NULL;
	char target[PATH_MAX];
	int fd = ep_replaced_find(path, target);

	if (fd == 0) {
		made = strdup(force ? target : path);
		fd = made ? open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
			  : -1;
		fd = fd < 0 ? -errno : fd;
	} else if (fd == EP_REPLACED_FILE) {
		fd = force ? open_file_there(target) : -EEXIST;
	}
	if (fd == -EEXIST)
		say_exists(path);
	else if (ep_replaced_why(fd))
		say_kind(path, fd);
	else if (fd < 0)
		fprintf(stderr, "ebpf-profiler: %s: cannot be written: %s\n", path,
			ep_strerror(fd));
	*ret_made = fd < 0 ? NULL : ep_take(made);
	return fd;
}

/* Takes `path`. */
static enum ep_exit add(struct ep_output_files *files, const char *shown, char *path,
			const struct ep_output_format *format, bool force)
{
	if (!path) {
		fprintf(stderr, "ebpf-profiler: no temporary file: %s\n", ep_strerror(-errno));
		return EP_EXIT_FAILED;
	}
	files->paths[files->n] = path;
	files->shown[files->n] = shown ? shown : path;
	files->formats[files->n] = format;
	files->n++;
	return is_stdout(files, files->n - 1) ? check_stdout(format)
					      : ep_output_files_check(path, force);
}

enum ep_exit ep_output_files_name(struct ep_output_files *files,
				  const struct ep_output_choices *choices, const char *what,
				  const char *plugin_dir, bool force)
{
	enum ep_exit status = EP_EXIT_OK;

	if (choices->n == 0) {
		const struct ep_output_format *format =
			choices->format ? choices->format : default_format(plugin_dir);

		return add(files, NULL, default_name(what, format), format, force);
	}
	for (size_t i = 0; i < choices->n && status == EP_EXIT_OK; i++) {
		const char *path = choices->list[i].path;

		status = add(files, path,
			     strcmp(path, "-") == 0 ? ep_output_files_temporary() : strdup(path),
			     choices->list[i].format, force);
	}
	return status;
}

int ep_output_files_open(const struct ep_output_files *files, struct ep_outputs *outputs,
			 bool force, const char *base)
{
	for (size_t i = 0; i < files->n; i++) {
		struct ep_value values[] = {
			{.key = "path", .type = EP_VALUE_STRING, .string = files->paths[i]},
			{.key = "force", .type = EP_VALUE_BOOL, .boolean = force},
			{.key = "base", .type = EP_VALUE_STRING, .string = base},
		};
		int r = ep_outputs_open(outputs, files->formats[i]->plugin, NULL, NULL, values,
					EP_LEN(values) - !base);

		if (r < 0)
			return r;
	}
	return 0;
}

size_t ep_output_files_written(const struct ep_output_files *files,
			       const struct ep_outputs *outputs,
			       const char *ret_shown[EP_OUTPUTS_MAX],
			       const struct ep_output_format *ret_formats[EP_OUTPUTS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++) {
		if (ep_outputs_result_of(outputs, i) < 0)
			continue;
		ret_shown[n] = files->shown[i];
		ret_formats[n++] = files->formats[i];
	}
	return n;
}

void ep_output_files_say_unwritten(const struct ep_output_files *files,
				   const struct ep_outputs *outputs)
{
	char path[EP_TEXT_BYTES];

	for (size_t i = 0; i < files->n; i++) {
		int r = ep_outputs_result_of(outputs, i);
		bool is_full = r == -ENOSPC || r == -EDQUOT;

		if (r < 0)
			fprintf(stderr, "ebpf-profiler: not written: %s: %s%s\n",
				ep_text_fit(files->shown[i], 200, path), ep_strerror(r),
				is_full ? ": record once more with -o in a directory that has space, like -o /dev/shm/"
					  "profile.otlp.gz"
					: "");
	}
}

int ep_output_files_finish(struct ep_output_files *files)
{
	int result = 0;

	for (size_t i = 0; i < files->n; i++) {
		int r = is_stdout(files, i) ? ep_output_files_copy(files->paths[i], STDOUT_FILENO)
					    : 0;

		if (r < 0 && r != -EPIPE)
			fprintf(stderr,
				"ebpf-profiler: standard output: %s: the profile is not there\n",
				ep_strerror(r));
		result = result ? result : r;
		free(files->paths[i]);
	}
	*files = (struct ep_output_files){0};
	return result;
}
