/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `convert`: profiles read, merged, filtered, named, and written by exporters. Everything after the
 * inputs are open happens without root's rights. The user who called sudo writes the outputs
 * himself; who is root without sudo becomes nobody, who may write nowhere: then outputs are opened
 * before, and filled with what was written into a directory of nobody's. What was not filled is
 * removed by a process that stays root.
 */
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/output_files.h"
#include "core/cli/parts/text.h"
#include "core/cli/stdout_file.h"
#include "core/config/config.h"
#include "core/profile/batch.h"
#include "reports/commands/commands.h"
#include "reports/commands/debuginfod.h"
#include "reports/commands/parts/convert_args.h"
#include "reports/commands/remover.h"
#include "reports/commands/view_files.h"
#include "reports/read/reader.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <uv.h>

struct convert {
	const struct ep_convert_args *args;
	struct ep_view_files inputs;
	struct ep_output_files files;
	bool nobody;		  /* who was root became nobody */
	int kept[EP_OUTPUTS_MAX]; /* outputs that root opened; -1: none */
	char *made[EP_OUTPUTS_MAX]; /* those of them that were not there before, else NULL */
	struct ep_remover remover;
	uint64_t written; /* bit n: output n */
	struct ep_outputs outputs;
	struct ep_batch *batch;
};

/* --- outputs --------------------------------------------------------------------------------- */

static bool becomes_nobody(void)
{
	struct ep_sudo_caller caller;

	return geteuid() == 0 && ep_sudo_caller(&caller) != 0;
}

static enum ep_exit keep_outputs(struct convert *convert)
{
	const struct ep_output_choices *outputs = &convert->args->outputs;
	int r = 0;

	for (size_t i = 0; i < outputs->n && r == 0; i++) {
		const char *path = outputs->list[i].path;

		if (strcmp(path, "-") == 0)
			continue;
		convert->kept[i] =
			ep_output_files_hold(path, convert->args->force, &convert->made[i]);
		r = EP_MIN(convert->kept[i], 0);
	}
	if (ep_remover_start((const char *const *)convert->made, outputs->n, &convert->remover) <
		    0 &&
	    r == 0)
		fprintf(stderr,
			"ebpf-profiler: warning: if this fails, empty files stay: no process could be started\n");
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

/* In place of the files that root opened: where nobody can write. */
static enum ep_exit stage_outputs(struct convert *convert)
{
	for (size_t i = 0; i < convert->files.n; i++) {
		if (convert->kept[i] < 0)
			continue;
		free(convert->files.paths[i]);
		convert->files.paths[i] = ep_stdout_file_new();
		if (!convert->files.paths[i]) {
			fprintf(stderr, "ebpf-profiler: no temporary file: %m\n");
			return EP_EXIT_FAILED;
		}
	}
	return EP_EXIT_OK;
}

static int fill(struct convert *convert, size_t i)
{
	int r = ftruncate(convert->kept[i], 0) < 0 ? -errno : 0;

	if (r == 0)
		r = ep_stdout_file_finish_to(convert->files.paths[i], convert->kept[i]);
	if (r < 0)
		fprintf(stderr, "ebpf-profiler: %s: %s\n", convert->files.shown[i], ep_strerror(r));
	return r;
}

static int finish_outputs(struct convert *convert)
{
	int result = 0;

	for (size_t i = 0; i < EP_LEN(convert->kept); i++) {
		uint64_t bit = 1ull << i;
		int r = 0;

		if (convert->kept[i] < 0)
			continue;
		if (convert->written & bit)
			r = fill(convert, i);
		else if (i < convert->files.n && convert->files.paths[i])
			ep_stdout_file_discard(convert->files.paths[i]);
		if (r < 0)
			convert->written &= ~bit;
		close(ep_take_fd(convert->kept[i]));
		result = result ? result : r;
	}
	ep_remover_finish(&convert->remover, convert->written);
	for (size_t i = 0; i < EP_LEN(convert->made); i++)
		free(convert->made[i]);
	return result;
}

static void on_flushed(void *arg)
{
	(void)arg;
}

static enum ep_exit write_all(struct convert *convert)
{
	for (size_t i = 0; i < convert->files.n; i++)
		ep_outputs_submit(&convert->outputs, i, convert->batch);
	ep_outputs_flush(&convert->outputs, on_flushed, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	for (size_t i = 0; i < convert->files.n; i++)
		convert->written |= (uint64_t)(ep_outputs_result_of(&convert->outputs, i) == 0)
				    << i;
	return ep_outputs_result(&convert->outputs) < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

static void say_written(const struct convert *convert)
{
	const char *separator = "wrote: ";

	for (size_t i = 0; i < convert->files.n && !convert->args->view.quiet; i++) {
		if (strcmp(convert->files.shown[i], "-") == 0 || !(convert->written >> i & 1))
			continue;
		fprintf(stderr, "%s%s", separator, convert->files.shown[i]);
		separator = ", ";
	}
	if (separator[0] == ',')
		fprintf(stderr, "\n");
}

/* --- names ----------------------------------------------------------------------------------- */

#define MISSING_TOLD 5

/* Modules for which no file was found: what is looked for, so that it can be brought. */
struct missing {
	size_t n;
	bool quiet;
};

static void say_missing(void *arg, const char *path, const char *build_id)
{
	struct missing *missing = arg;
	char shown[EP_TEXT_BYTES];

	if (missing->n++ >= MISSING_TOLD || missing->quiet)
		return;
	ep_text_fit(path[0] ? path : "a file without a name", 200, shown);
	if (build_id[0])
		fprintf(stderr, "symbols: no file has the build id of %s: %s\n", shown, build_id);
	else
		fprintf(stderr, "symbols: %s has no build id, by which its file could be told\n",
			shown);
}

static void say_named(const struct convert *convert, const struct ep_symbols_result *result,
		      size_t n_missing)
{
	if (convert->args->view.quiet)
		return;
	if (n_missing > MISSING_TOLD)
		fprintf(stderr, "symbols: and %zu more\n", n_missing - MISSING_TOLD);
	fprintf(stderr,
		"symbols: %u of %u frames without a name have one now; a file was found for %u of %u modules "
		"they are in",
		result->named, result->unnamed, result->modules_found, result->modules);
	if (n_missing && convert->args->sources.n_directories)
		fprintf(stderr,
			"; %s%u ELF files with a build id are in the directories of --debug-dir",
			result->is_cut ? "of more, the first " : "", result->n_files);
	fprintf(stderr, "\n");
}

/* One that is not there would look like one with nothing of use in it. */
static enum ep_exit check_directories(const struct ep_symbols_sources *sources)
{
	for (size_t i = 0; i < sources->n_directories; i++) {
		DIR *dir = opendir(sources->directories[i]);
		int r = dir ? 0 : -errno;

		if (dir)
			closedir(dir);
		if (r == -ENOTDIR)
			fprintf(stderr,
				"ebpf-profiler: --debug-dir %s: is a file: give the directory it is in\n",
				sources->directories[i]);
		else if (r < 0)
			fprintf(stderr, "ebpf-profiler: --debug-dir %s: %s\n",
				sources->directories[i], ep_strerror(r));
		if (r < 0)
			return r == -EACCES ? EP_EXIT_PERMISSION : EP_EXIT_FAILED;
	}
	return EP_EXIT_OK;
}

static enum ep_exit add_symbols(struct convert *convert)
{
	ep_cleanup(ep_debuginfod_closep) struct ep_debuginfod *client = NULL;
	struct ep_symbols_sources sources = convert->args->sources;
	struct ep_symbols_result result;
	struct missing missing = {.quiet = convert->args->view.quiet};
	struct ep_batch *named = NULL;
	int r = 0;

	if (convert->args->debuginfod) {
		r = ep_debuginfod_open(&client);
		if (r < 0)
			return r == -EPERM    ? EP_EXIT_PERMISSION
			       : r == -EINVAL ? EP_EXIT_USAGE
					      : EP_EXIT_FAILED;
		sources.fetch = ep_debuginfod_fetch;
		sources.arg = client;
	}
	sources.missing = say_missing;
	sources.missing_arg = &missing;
	r = ep_symbols_apply(convert->batch, &sources, &named, &result);
	if (r < 0) {
		fprintf(stderr, "ebpf-profiler: --symbols: %s\n", ep_strerror(r));
		return EP_EXIT_FAILED;
	}
	ep_batch_unref(convert->batch);
	convert->batch = named;
	say_named(convert, &result, missing.n);
	return EP_EXIT_OK;
}

/* --- the way of a file ----------------------------------------------------------------------- */

static enum ep_exit give_up_root(struct convert *convert)
{
	enum ep_exit status = EP_EXIT_OK;
	int r;

	convert->nobody = becomes_nobody();
	if (convert->nobody)
		status = keep_outputs(convert);
	if (status != EP_EXIT_OK)
		return status;
	r = ep_read_drop_root();
	if (r < 0)
		fprintf(stderr, "ebpf-profiler: cannot give up privileges: %s\n", ep_strerror(r));
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

static enum ep_exit open_outputs(struct convert *convert, const char *plugin_dir)
{
	const struct ep_convert_args *args = convert->args;
	bool force = args->force || convert->nobody; /* then it was looked at before */
	enum ep_exit status =
		ep_output_files_name(&convert->files, &args->outputs, "", plugin_dir, force);

	if (status == EP_EXIT_OK)
		status = stage_outputs(convert);
	if (status == EP_EXIT_OK &&
	    ep_output_files_open(&convert->files, &convert->outputs, force) < 0)
		status = EP_EXIT_FAILED;
	return status;
}

static enum ep_exit run(struct convert *convert, const char *plugin_dir)
{
	const struct ep_view_args *view = &convert->args->view;
	enum ep_exit status =
		ep_view_files_open(&convert->inputs, view->files, view->n_files, view);

	if (status == EP_EXIT_OK)
		status = give_up_root(convert);
	if (status == EP_EXIT_OK)
		status = check_directories(&convert->args->sources);
	if (status == EP_EXIT_OK)
		status = open_outputs(convert, plugin_dir);
	if (status == EP_EXIT_OK)
		status = ep_view_files_read(&convert->inputs, view, &convert->batch);
	if (status == EP_EXIT_OK && convert->args->symbols)
		status = add_symbols(convert);
	return status == EP_EXIT_OK ? write_all(convert) : status;
}

static enum ep_exit convert_files(const struct ep_convert_args *args)
{
	struct ep_config_file *config = ep_cmd_load_config(NULL);
	struct convert convert = {.args = args};
	enum ep_exit status;
	int r;

	if (!config)
		return EP_EXIT_USAGE;
	for (size_t i = 0; i < EP_LEN(convert.kept); i++)
		convert.kept[i] = -1;
	ep_view_files_init(&convert.inputs);
	ep_host_init(uv_default_loop(), EP_VERSION);
	ep_outputs_init(&convert.outputs, config->plugins.dir);
	status = run(&convert, config->plugins.dir);
	ep_outputs_fini(&convert.outputs);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	ep_batch_unref(convert.batch);
	ep_view_files_fini(&convert.inputs);
	if (finish_outputs(&convert) < 0 && status == EP_EXIT_OK)
		status = EP_EXIT_FAILED;
	say_written(&convert);
	r = ep_output_files_finish(&convert.files);
	if (r < 0 && status == EP_EXIT_OK)
		status = r == -EPIPE ? EP_EXIT_PIPE : EP_EXIT_FAILED;
	ep_config_free(config);
	return status;
}

int ep_cmd_convert(const struct ep_args *args)
{
	ep_cleanup(ep_convert_args_fini) struct ep_convert_args options;
	int r = ep_convert_args_parse(&options, args->rest_argc, args->rest_argv);
	enum ep_exit status;

	return ep_view_args_go(&options.view, &ep_convert_syntax, r, &status)
		       ? convert_files(&options)
		       : status;
}
