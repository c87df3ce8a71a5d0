/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/view_files.h"
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/cli/view_directory.h"
#include "core/profile/batch.h"
#include "readers/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

void ep_view_files_init(struct ep_view_files *files)
{
	*files = (struct ep_view_files){0};
	ep_vec_init(&files->inputs, sizeof(struct ep_input *), EP_VIEW_MAX_FILES);
}

void ep_view_files_fini(struct ep_view_files *files)
{
	struct ep_input **input;

	ep_vec_each (&files->inputs, input)
		ep_input_close(*input);
	ep_vec_fini(&files->inputs);
}

static enum ep_exit fail(const char *text)
{
	fprintf(stderr, "ebpf-profiler: %s\n", text);
	return EP_EXIT_FAILED;
}

static enum ep_exit fail_errno(const char *path, int r)
{
	fprintf(stderr, "ebpf-profiler: %s: %s\n", path, ep_strerror(r));
	return r == -EACCES || r == -EPERM ? EP_EXIT_PERMISSION : EP_EXIT_FAILED;
}

/* --- open ------------------------------------------------------------------------------------ */

static enum ep_exit open_file(struct ep_view_files *files, const char *path)
{
	struct ep_input **slot = ep_vec_push(&files->inputs);
	char why[EP_READ_WHY_BYTES] = "";
	int r;

	if (!slot)
		return fail_errno(path, files->inputs.len == files->inputs.max ? -E2BIG : -ENOMEM);
	r = ep_input_open(path, slot, why);
	if (r < 0) {
		files->inputs.len--;
		fail(why);
		return r == -EACCES || r == -EPERM ? EP_EXIT_PERMISSION : EP_EXIT_FAILED;
	}
	if (files->inputs.len == 1)
		snprintf(files->title, sizeof(files->title), "%s", path);
	return EP_EXIT_OK;
}

static void paths_fini(struct ep_vec *paths)
{
	char **path;

	ep_vec_each (paths, path)
		free(*path);
	ep_vec_fini(paths);
}

static enum ep_exit open_directory(struct ep_view_files *files, const char *directory,
				   const struct ep_view_args *args)
{
	ep_cleanup(paths_fini) struct ep_vec paths = {0};
	enum ep_exit status = EP_EXIT_OK;
	char **path;
	int r;

	ep_vec_init(&paths, sizeof(char *), EP_VIEW_MAX_FILES);
	r = ep_view_directory_choose(directory, args->filter, &paths);
	if (r == -ENOENT) {
		fprintf(stderr,
			"ebpf-profiler: %s: no profile of the agent is in it (profile-HOST-TIME.pb.gz): give "
			"a file, or the directory that the configuration names\n",
			directory);
		return EP_EXIT_FAILED;
	}
	if (r == -E2BIG) {
		fprintf(stderr,
			"ebpf-profiler: %s: more than %d files are in that range: ask for less with --from "
			"and --to\n",
			directory, EP_VIEW_MAX_FILES);
		return EP_EXIT_FAILED;
	}
	if (r < 0)
		return fail_errno(directory, r);
	if (paths.len == 0) {
		fprintf(stderr,
			"ebpf-profiler: %s: no file is of that time: see `ls %s` for those there are\n",
			directory, directory);
		return EP_EXIT_NO_SAMPLES;
	}
	files->by_file = true;
	ep_vec_each (&paths, path)
		status = status == EP_EXIT_OK ? open_file(files, *path) : status;
	return status;
}

static enum ep_exit open_newest(struct ep_view_files *files)
{
	ep_autofree char *path = NULL;
	int r = ep_view_newest_here(".", &path);

	if (r == -ENOENT)
		return fail(
			"no profile is here: name a FILE, or record one: ebpf-profiler record -d 10");
	return r < 0 ? fail_errno(".", r) : open_file(files, path);
}

/* Each file is open until it is read. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = EP_MIN(limit.rlim_max, (rlim_t)EP_VIEW_MAX_FILES * 2);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum ep_exit ep_view_files_open(struct ep_view_files *files, const char *const *paths,
				size_t n_paths, const struct ep_view_args *args)
{
	enum ep_exit status = EP_EXIT_OK;
	size_t all;

	/* With capabilities of the file, only what its caller may read is to be read. */
	if (ep_is_elevated() && ep_read_drop_root() < 0)
		return fail("cannot give up privileges");
	allow_many_files();
	if (n_paths == 0)
		status = open_newest(files);
	for (size_t i = 0; i < n_paths && status == EP_EXIT_OK; i++)
		status = is_directory(paths[i]) ? open_directory(files, paths[i], args)
						: open_file(files, paths[i]);
	all = files->inputs.len;
	if (status == EP_EXIT_OK && all > 1) {
		size_t bytes = strlen(files->title);

		snprintf(files->title + bytes, sizeof(files->title) - bytes, " and %zu more",
			 all - 1);
	}
	return status;
}

/* --- read ------------------------------------------------------------------------------------ */

static int read_all(struct ep_view_files *files, struct ep_batch **ret_batch, char *why)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	struct ep_input **input;
	int r = ep_profile_builder_new(&builder);

	ep_vec_each (&files->inputs, input) {
		if (r == 0)
			r = ep_input_read(*input, builder, why);
		ep_input_close(ep_take(*input));
	}
	return r < 0 ? r : ep_profile_finish(builder, ret_batch);
}

static bool has_times(const struct ep_batch *batch)
{
	return batch->n_samples == 0 || batch->sample_time_first[batch->n_samples] > 0;
}

/* Files that keep no times, as the agent's pprof ones, are a grain of their own: whole ones are
 * shown. */
static void forget_times(struct ep_view_files *files, const struct ep_batch *batch,
			 const struct ep_view_args *args)
{
	static const struct ep_view_moment none;

	if (!files->by_file || !ep_view_filter_has_times(args->filter) || has_times(batch))
		return;
	ep_view_filter_set_from(args->filter, none);
	ep_view_filter_set_to(args->filter, none);
	if (!args->quiet)
		fprintf(stderr,
			"ebpf-profiler: these files keep no time of a sample: those that touch the range are "
			"taken whole\n");
}

static enum ep_exit no_samples(const struct ep_view_filter *filter, const struct ep_batch *batch)
{
	char why[EP_VIEW_WHY_BYTES];

	if (!batch->n_samples)
		fprintf(stderr, "ebpf-profiler: no samples are in there\n");
	else if (ep_view_filter_explain(filter, batch, why))
		fprintf(stderr, "ebpf-profiler: no sample passes these filters: %s\n", why);
	else
		fprintf(stderr, "ebpf-profiler: no sample passes these filters: leave one out, or see what there is with "
				"--by process, thread, cpu or kind\n");
	return EP_EXIT_NO_SAMPLES;
}

enum ep_exit ep_view_files_read(struct ep_view_files *files, const struct ep_view_args *args,
				struct ep_batch **ret_batch)
{
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL, *filtered = NULL;
	char why[EP_MAX(EP_READ_WHY_BYTES, EP_VIEW_WHY_BYTES)] = "";
	int r = read_all(files, &batch, why);

	if (r < 0)
		return fail(why[0] ? why : ep_strerror(r));
	forget_times(files, batch, args);
	r = ep_view_filter_apply(args->filter, batch, &filtered, why);
	if (r < 0)
		return fail(why[0] ? why : ep_strerror(r));
	if (filtered->n_samples == 0)
		return no_samples(args->filter, batch);
	*ret_batch = ep_take(filtered);
	return EP_EXIT_OK;
}
