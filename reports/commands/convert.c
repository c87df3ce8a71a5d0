/* SPDX-License-Identifier: Apache-2.0 */
/* `convert`: profiles read, merged, filtered, named, and written by exporters. */
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/parts/text.h"
#include "core/config/config.h"
#include "core/profile/batch.h"
#include "core/profile/builder.h"
#include "core/profile/labels.h"
#include "reports/commands/commands.h"
#include "reports/commands/debuginfod.h"
#include "reports/commands/parts/convert_args.h"
#include "reports/commands/view_files.h"
#include "reports/commands/written.h"
#include "reports/read/reader.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <uv.h>

struct convert {
	const struct ep_convert_args *args;
	struct ep_view_files inputs;
	struct ep_written written;
	struct ep_batch *batch;
};

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

/* --- labels ---------------------------------------------------------------------------------- */

static int copy_batch(const struct ep_batch *batch, struct ep_batch **ret_batch)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	int r = ep_profile_builder_new(&builder);

	if (r == 0)
		r = ep_profile_add_batch(builder, batch, NULL);
	return r < 0 ? r : ep_profile_finish(builder, ret_batch);
}

/* The names that tables show, in place of those that several functions have. */
static enum ep_exit draw_labels(struct convert *convert)
{
	ep_cleanup(ep_labelled_fini) struct ep_labelled labelled = {0};
	ep_cleanup(ep_labels_fini) struct ep_labels labels;
	struct ep_batch *named = NULL;
	int r;

	ep_labels_init(&labels, false);
	r = ep_labels_learn(&labels, 0, convert->batch);
	if (r == 0)
		r = ep_labels_draw(&labels, convert->batch, &labelled);
	if (r == 0)
		r = copy_batch(&labelled.batch, &named);
	if (r < 0) {
		fprintf(stderr, "ebpf-profiler: --labels: %s\n", ep_strerror(r));
		return EP_EXIT_FAILED;
	}
	ep_batch_unref(convert->batch);
	convert->batch = named;
	return EP_EXIT_OK;
}

/* --- the way of a file ----------------------------------------------------------------------- */

static enum ep_exit run(struct convert *convert, const char *plugin_dir)
{
	const struct ep_convert_args *args = convert->args;
	const struct ep_view_args *view = &args->view;
	enum ep_exit status =
		ep_view_files_open(&convert->inputs, view->files, view->n_files, view);

	if (status == EP_EXIT_OK)
		status = ep_written_give_up_root(&convert->written, &args->outputs, args->force);
	if (status == EP_EXIT_OK)
		status = check_directories(&args->sources);
	if (status == EP_EXIT_OK)
		status = ep_written_open(&convert->written, &args->outputs, plugin_dir, args->force,
					 NULL);
	if (status == EP_EXIT_OK)
		status = ep_view_files_read(&convert->inputs, view, &convert->batch);
	if (status == EP_EXIT_OK && args->symbols)
		status = add_symbols(convert);
	if (status == EP_EXIT_OK && args->labels)
		status = draw_labels(convert);
	return status == EP_EXIT_OK ? ep_written_write(&convert->written, convert->batch) : status;
}

static enum ep_exit convert_files(const struct ep_convert_args *args)
{
	struct ep_config_file *config = ep_cmd_load_config(NULL);
	struct convert convert = {.args = args};
	enum ep_exit status;

	if (!config)
		return EP_EXIT_USAGE;
	ep_written_init(&convert.written);
	ep_view_files_init(&convert.inputs);
	ep_host_init(uv_default_loop(), EP_VERSION);
	status = run(&convert, config->plugins.dir);
	status = ep_written_finish(&convert.written, args->view.quiet, status);
	ep_batch_unref(convert.batch);
	ep_view_files_fini(&convert.inputs);
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
