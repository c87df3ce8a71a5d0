/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/output_files.h"
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/cli/stdout_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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

/* A file is replaced as a whole: in the place of /dev/null or of a pipe there would be one afterwards. */
static enum ep_exit check_file(const char *path, bool force)
{
	struct ep_rights rights;
	struct stat st = {0};

	if (ep_rights_of_caller(&rights) < 0)
		return EP_EXIT_FAILED;
	if (stat(path, &st) < 0)
		st.st_mode = S_IFREG;
	ep_rights_restore(&rights);
	if (!S_ISREG(st.st_mode)) {
		fprintf(stderr, "ebpf-profiler: %s is not a regular file; give another -o FILE, or -o - and send "
				"standard output there\n", path);
		return EP_EXIT_FAILED;
	}
	if (force || access(path, F_OK) != 0)
		return EP_EXIT_OK;
	fprintf(stderr,
		"ebpf-profiler: %s exists; give another -o FILE, or --force to replace it\n", path);
	return EP_EXIT_FAILED;
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
	return is_stdout(files, files->n - 1) ? check_stdout(format) : check_file(path, force);
}

enum ep_exit ep_output_files_name(struct ep_output_files *files, const struct ep_output_choices *choices,
				  const char *what, const char *plugin_dir, bool force)
{
	enum ep_exit status = EP_EXIT_OK;

	if (choices->n == 0) {
		const struct ep_output_format *format =
			choices->format ? choices->format : default_format(plugin_dir);

		return add(files, NULL, default_name(what, format), format, force);
	}
	for (size_t i = 0; i < choices->n && status == EP_EXIT_OK; i++) {
		const char *path = choices->list[i].path;

		status = add(files, path, strcmp(path, "-") == 0 ? ep_stdout_file_new() : strdup(path),
			     choices->list[i].format, force);
	}
	return status;
}

int ep_output_files_open(const struct ep_output_files *files, struct ep_outputs *outputs, bool force)
{
	for (size_t i = 0; i < files->n; i++) {
		struct ep_value values[] = {
			{.key = "path", .type = EP_VALUE_STRING, .string = files->paths[i]},
			{.key = "force", .type = EP_VALUE_BOOL, .boolean = force},
		};
		int r = ep_outputs_open(outputs, files->formats[i]->plugin, NULL, NULL, values,
					EP_LEN(values));

		if (r < 0)
			return r;
	}
	return 0;
}

size_t ep_output_files_written(const struct ep_output_files *files, const struct ep_outputs *outputs,
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

bool ep_output_files_use_stdout(const struct ep_output_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		if (is_stdout(files, i))
			return true;
	}
	return false;
}

int ep_output_files_finish(struct ep_output_files *files)
{
	int result = 0;

	for (size_t i = 0; i < files->n; i++) {
		int r = is_stdout(files, i) ? ep_stdout_file_finish(files->paths[i]) : 0;

		if (result == 0)
			result = r;
		free(files->paths[i]);
	}
	*files = (struct ep_output_files){0};
	return result;
}
