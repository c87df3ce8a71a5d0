/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/view_files.h"
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/profile/batch.h"
#include "reports/commands/view_directory.h"
#include "reports/read/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* A profile that is open, or was read. */
struct view_input {
	const char *directory; /* of the command line, chosen from by times; NULL: named itself */
	struct ep_input *input;	    /* owned */
	struct ep_view_dated dated; /* of a directory; its path is not kept */
	struct ep_batch *batch;	    /* a reference, once read: the edges of a directory */
};

void ep_view_files_init(struct ep_view_files *files)
{
	*files = (struct ep_view_files){0};
	ep_vec_init(&files->inputs, sizeof(struct view_input), EP_VIEW_MAX_FILES);
}

void ep_view_files_fini(struct ep_view_files *files)
{
	struct view_input *input;

	ep_vec_each (&files->inputs, input) {
		ep_input_close(input->input);
		ep_batch_unref(input->batch);
	}
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

/* dated: NULL for what was named itself, as is directory. */
static enum ep_exit open_file(struct ep_view_files *files, const char *path, const char *directory,
			      const struct ep_view_dated *dated)
{
	struct view_input *slot = ep_vec_push(&files->inputs);
	char why[EP_READ_WHY_BYTES] = "";
	int r;

	if (!slot)
		return fail_errno(path, files->inputs.len == files->inputs.max ? -E2BIG : -ENOMEM);
	*slot = (struct view_input){.directory = directory};
	if (dated)
		slot->dated = *dated;
	slot->dated.path = NULL;
	r = ep_input_open(path, &slot->input, why);
	if (r < 0) {
		files->inputs.len--;
		fail(why);
		return r == -EACCES || r == -EPERM ? EP_EXIT_PERMISSION : EP_EXIT_FAILED;
	}
	if (files->inputs.len == 1)
		snprintf(files->title, sizeof(files->title), "%s", directory ? directory : path);
	return EP_EXIT_OK;
}

static void chosen_fini(struct ep_vec *chosen)
{
	struct ep_view_dated *dated;

	ep_vec_each (chosen, dated)
		free(dated->path);
	ep_vec_fini(chosen);
}

static enum ep_exit no_file_of_that_time(const char *directory)
{
	fprintf(stderr,
		"ebpf-profiler: %s: no file is of that time: see `ls %s` for those there are\n",
		directory, directory);
	return EP_EXIT_NO_SAMPLES;
}

static enum ep_exit open_directory(struct ep_view_files *files, const char *directory,
				   const struct ep_view_args *args)
{
	bool has_times = ep_view_filter_has_times(args->filter);
	ep_cleanup(chosen_fini) struct ep_vec chosen = {0};
	enum ep_exit status = EP_EXIT_OK;
	const struct ep_view_dated *dated;
	int r;

	ep_vec_init(&chosen, sizeof(struct ep_view_dated), EP_VIEW_MAX_FILES);
	r = ep_view_directory_choose(directory, args->filter, &chosen);
	if (r == -ENOENT) {
		fprintf(stderr,
			"ebpf-profiler: %s: no profile of the agent is in it "
			"(profile-HOST-TIME.otlp.gz): give a file, or the directory that the configuration "
			"names\n",
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
	if (chosen.len == 0)
		return no_file_of_that_time(directory);
	ep_vec_each (&chosen, dated)
		status = status == EP_EXIT_OK ? open_file(files, dated->path,
							  has_times ? directory : NULL, dated)
					      : status;
	return status;
}

static enum ep_exit open_newest(struct ep_view_files *files)
{
	ep_autofree char *path = NULL;
	int r = ep_view_newest_here(".", &path);

	if (r == -ENOENT)
		return fail(
			"no profile is here: name a FILE, or record one: ebpf-profiler record -d 10");
	return r < 0 ? fail_errno(".", r) : open_file(files, path, NULL, NULL);
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

	/* With capabilities of the file, only what its caller may read is to be read. */
	if (ep_is_elevated() && ep_read_drop_root() < 0)
		return fail("cannot give up privileges");
	allow_many_files();
	if (n_paths == 0)
		status = open_newest(files);
	for (size_t i = 0; i < n_paths && status == EP_EXIT_OK; i++)
		status = is_directory(paths[i]) ? open_directory(files, paths[i], args)
						: open_file(files, paths[i], NULL, NULL);
	if (status == EP_EXIT_OK && n_paths > 1) {
		size_t bytes = strlen(files->title);

		snprintf(files->title + bytes, sizeof(files->title) - bytes, " and %zu more",
			 n_paths - 1);
	}
	return status;
}

enum ep_exit ep_view_files_drop_root(void)
{
	int r = ep_read_drop_root();

	if (r < 0)
		fprintf(stderr, "ebpf-profiler: cannot give up privileges: %s\n", ep_strerror(r));
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

/* --- read a directory ------------------------------------------------------------------------ */

static int read_one(struct view_input *input, char *why)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	int r = input->batch ? 0 : ep_profile_builder_new(&builder);

	if (r == 0 && builder)
		r = ep_input_read(input->input, builder, why);
	ep_input_close(ep_take(input->input));
	return r < 0 || !builder ? r : ep_profile_finish(builder, &input->batch);
}

static bool overlaps(struct ep_view_range a, struct ep_view_range b)
{
	return a.start_ns < b.end_ns && a.end_ns > b.start_ns;
}

/* From when to when a file that was read is; its name knows where it does not say it. */
static struct ep_view_range span_of(const struct view_input *input)
{
	const struct ep_batch *batch = input->batch;

	if (batch->start_ns && batch->duration_ns) /* the last sample may be at the very end */
		return (struct ep_view_range){batch->start_ns,
					      batch->start_ns + batch->duration_ns};
	return (struct ep_view_range){input->dated.start_ns, input->dated.guess_end_ns};
}

/* What the times mean for a directory, whose edges are read for that. */
static int resolve(struct view_input *inputs, size_t n, const struct ep_view_filter *filter,
		   struct ep_view_range *ret_range, char *why)
{
	struct ep_view_range all = {UINT64_MAX, 0};

	for (size_t i = 0; ep_view_filter_is_relative(filter) && i < n; i++) {
		struct ep_view_range span;
		int r;

		if (!inputs[i].dated.is_edge)
			continue;
		r = read_one(&inputs[i], why);
		if (r < 0)
			return r;
		span = span_of(&inputs[i]);
		all.start_ns = EP_MIN(all.start_ns, span.start_ns);
		all.end_ns = EP_MAX(all.end_ns, span.end_ns);
	}
	*ret_range = ep_view_filter_range(filter, all.start_ns, all.end_ns);
	return 0;
}

struct reading {
	const struct ep_view_args *args;
	struct ep_profile_builder *builder; /* of what passes */
	struct ep_batch *unfiltered;	    /* a reference: one of those in which nothing passed */
	size_t n_used, n_whole;		    /* files of directories; those without times */
	char why[EP_MAX(EP_READ_WHY_BYTES, EP_VIEW_WHY_BYTES)];
};

/* Files that keep no times, as pprof ones, are a grain of their own: whole ones are taken. */
static int use(struct reading *reading, struct view_input *input, struct ep_view_range range)
{
	static const struct ep_view_range whole = {0, UINT64_MAX};
	ep_cleanup(ep_batch_unrefp) struct ep_batch *filtered = NULL;
	struct ep_view_range span = span_of(input);
	bool has_times = ep_view_has_times(input->batch);
	int r;

	span.end_ns += has_times; /* the last sample may be at the very end */
	if (!overlaps(span, range))
		return 0;
	reading->n_used++;
	reading->n_whole += !has_times;
	r = ep_view_filter_apply_within(reading->args->filter, input->batch,
					has_times ? range : whole, &filtered);
	if (r < 0)
		return r;
	if (input->batch->n_samples && !filtered->n_samples) {
		ep_batch_unref(reading->unfiltered);
		reading->unfiltered = input->batch;
		ep_batch_ref(input->batch);
	}
	return ep_profile_add_batch(reading->builder, filtered, NULL);
}

static int read_directory(struct reading *reading, struct view_input *inputs, size_t n)
{
	struct ep_view_range range;
	int r = resolve(inputs, n, reading->args->filter, &range, reading->why);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct ep_view_dated *dated = &inputs[i].dated;
		struct ep_view_range by_name = {dated->start_ns, dated->end_ns};

		if (overlaps(by_name, range)) {
			r = read_one(&inputs[i], reading->why);
			r = r < 0 ? r : use(reading, &inputs[i], range);
		}
		ep_input_close(ep_take(inputs[i].input));
		ep_batch_unref(ep_take(inputs[i].batch));
	}
	return r;
}

/* --- read ------------------------------------------------------------------------------------ */

/* Those that were named, merged; relative times count from their start and end. */
static int read_named(struct ep_view_files *files, struct reading *reading,
		      struct ep_batch **ret_batch)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL;
	struct view_input *input;
	int r = ep_profile_builder_new(&builder);

	ep_vec_each (&files->inputs, input) {
		if (input->directory)
			continue;
		if (r == 0)
			r = ep_input_read(input->input, builder, reading->why);
		ep_input_close(ep_take(input->input));
	}
	r = r < 0 ? r : ep_profile_finish(builder, &batch);
	r = r < 0 ? r : ep_view_filter_apply(reading->args->filter, batch, ret_batch, reading->why);
	if (r == 0 && !(*ret_batch)->n_samples)
		reading->unfiltered = ep_take(batch);
	return r;
}

static size_t count_named(const struct ep_view_files *files)
{
	const struct view_input *input;
	size_t n = 0;

	ep_vec_each (&files->inputs, input)
		n += !input->directory;
	return n;
}

static int read_all(struct ep_view_files *files, struct reading *reading,
		    struct ep_batch **ret_batch)
{
	ep_cleanup(ep_batch_unrefp) struct ep_batch *named = NULL;
	struct view_input *inputs = files->inputs.data;
	size_t n_named = count_named(files), n = files->inputs.len, end;
	int r = 0;

	if (n_named == n)
		return read_named(files, reading, ret_batch);
	r = ep_profile_builder_new(&reading->builder);
	if (r == 0 && n_named)
		r = read_named(files, reading, &named);
	if (r == 0 && named)
		r = ep_profile_add_batch(reading->builder, named, NULL);
	for (size_t i = 0; r == 0 && i < n; i = end) {
		for (end = i + 1; end < n && inputs[end].directory == inputs[i].directory;)
			end++;
		if (inputs[i].directory)
			r = read_directory(reading, inputs + i, end - i);
	}
	return r < 0 ? r : ep_profile_finish(reading->builder, ret_batch);
}

static enum ep_exit no_samples(const struct ep_view_filter *filter, const struct ep_batch *batch)
{
	char why[EP_VIEW_WHY_BYTES];

	if (!batch->n_samples)
		fprintf(stderr, "ebpf-profiler: no samples are in there\n");
	else if (ep_view_filter_explain(filter, batch, why))
		fprintf(stderr, "ebpf-profiler: no sample passes these filters: %s\n", why);
	else
		fprintf(stderr,
			"ebpf-profiler: no sample passes these filters: leave one out, or see what there is with "
			"--by process, thread, cpu or kind\n");
	return EP_EXIT_NO_SAMPLES;
}

static void say_whole(const struct reading *reading)
{
	if (!reading->n_whole || reading->args->quiet)
		return;
	if (reading->n_whole == reading->n_used)
		fprintf(stderr, "ebpf-profiler: these files keep no time of a sample: those that "
				"touch the range are taken whole\n");
	else
		fprintf(stderr,
			"ebpf-profiler: %zu of %zu files keep no time of a sample: they touch the range "
			"and are taken whole\n",
			reading->n_whole, reading->n_used);
}

static enum ep_exit read_into(struct ep_view_files *files, struct reading *reading,
			      struct ep_batch **ret_batch)
{
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL;
	int r = read_all(files, reading, &batch);

	if (r < 0)
		return fail(reading->why[0] ? reading->why : ep_strerror(r));
	if (batch->n_samples) {
		say_whole(reading);
		*ret_batch = ep_take(batch);
		return EP_EXIT_OK;
	}
	if (reading->unfiltered)
		return no_samples(reading->args->filter, reading->unfiltered);
	if (!reading->n_used)
		return no_file_of_that_time(files->title);
	return no_samples(reading->args->filter, batch);
}

enum ep_exit ep_view_files_read(struct ep_view_files *files, const struct ep_view_args *args,
				struct ep_batch **ret_batch)
{
	struct reading reading = {.args = args};
	enum ep_exit status = read_into(files, &reading, ret_batch);

	ep_profile_builder_free(reading.builder);
	ep_batch_unref(reading.unfiltered);
	return status;
}
