/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `diff`: two profiles, or some of each side, compared. Each file is read by itself, so that the
 * lengths of recordings add up; for the page those of a side are merged to one.
 */
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/parts/summary.h"
#include "core/cli/parts/text.h"
#include "core/config/config.h"
#include "core/profile/batch.h"
#include "core/profile/labels.h"
#include "reports/commands/commands.h"
#include "reports/commands/parts/diff_args.h"
#include "reports/commands/parts/diff_print.h"
#include "reports/commands/view_files.h"
#include "reports/commands/written.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <uv.h>

struct side {
	const char *const *paths;
	size_t n;
	struct ep_vec files;   /* struct ep_view_files, one for each path */
	struct ep_vec batches; /* struct ep_batch *, likewise */
	struct ep_vec labelled; /* struct ep_labelled, likewise: what is compared */
	struct ep_vec grouped;	/* struct ep_grouped, likewise: or that, if not functions are */
	struct ep_profile_builder *builder; /* of all of them; NULL: no page is wanted */
	struct ep_batch *batch;
	char title[320];
};

struct diff {
	struct ep_diff_args args;
	struct side sides[EP_MOVERS_SIDES];
	struct ep_movers *movers;
	char *base_path; /* a temporary file: the base's bytes, for the page */
	struct ep_written written; /* the page */
};

static void diff_fini(struct diff *diff)
{
	struct ep_view_files *files;
	struct ep_labelled *labelled;
	struct ep_grouped *grouped;
	struct ep_batch **batch;

	for (int i = 0; i < EP_MOVERS_SIDES; i++) {
		ep_vec_each(&diff->sides[i].files, files)
			ep_view_files_fini(files);
		ep_vec_fini(&diff->sides[i].files);
		ep_vec_each(&diff->sides[i].batches, batch)
			ep_batch_unref(*batch);
		ep_vec_fini(&diff->sides[i].batches);
		ep_vec_each (&diff->sides[i].labelled, labelled)
			ep_labelled_fini(labelled);
		ep_vec_fini(&diff->sides[i].labelled);
		ep_vec_each (&diff->sides[i].grouped, grouped)
			ep_grouped_fini(grouped);
		ep_vec_fini(&diff->sides[i].grouped);
		ep_profile_builder_free(diff->sides[i].builder);
		ep_batch_unref(diff->sides[i].batch);
	}
	(void)ep_written_finish(&diff->written, true, EP_EXIT_OK);
	ep_movers_free(diff->movers);
	ep_diff_args_fini(&diff->args);
	if (diff->base_path)
		(void)unlink(diff->base_path);
	free(diff->base_path);
}

static enum ep_exit fail(const char *what, int r)
{
	fprintf(stderr, "ebpf-profiler: %s: %s\n", what, ep_strerror(r));
	return EP_EXIT_FAILED;
}

/* --- reading --------------------------------------------------------------------------------- */

static enum ep_exit open_side(struct diff *diff, struct side *side)
{
	enum ep_exit status = EP_EXIT_OK;

	for (size_t i = 0; i < side->n && status == EP_EXIT_OK; i++) {
		struct ep_view_files *files = ep_vec_push(&side->files);

		if (!files)
			return fail(side->paths[i], -ENOMEM);
		ep_view_files_init(files);
		status = ep_view_files_open(files, &side->paths[i], 1, &diff->args.view);
		if (i == 0)
			snprintf(side->title, sizeof(side->title), "%s", files->title);
	}
	if (side->n > 1) {
		size_t bytes = strlen(side->title);

		snprintf(side->title + bytes, sizeof(side->title) - bytes, " and %zu more",
			 side->n - 1);
	}
	return status;
}

/* Functions under the names of labels: two that share one are compared apart. */
static int make_compared(struct diff *diff, struct side *side, const struct ep_labels *labels,
			 const struct ep_batch *batch, const struct ep_batch **ret_batch)
{
	struct ep_labelled *labelled;
	struct ep_grouped *grouped;
	int r = -ENOMEM;

	if (diff->args.by == EP_TALLY_FUNCTION) {
		labelled = ep_vec_push(&side->labelled);
		r = labelled ? ep_labels_draw(labels, batch, labelled) : r;
		*ret_batch = r == 0 ? &labelled->batch : NULL;
		return r;
	}
	grouped = ep_vec_push(&side->grouped);
	r = grouped ? ep_group_make(batch, diff->args.by, grouped) : r;
	*ret_batch = r == 0 ? &grouped->batch : NULL;
	return r;
}

static enum ep_exit add_batch(struct diff *diff, const struct ep_labels *labels,
			      enum ep_movers_side number, const char *path,
			      const struct ep_batch *batch)
{
	struct side *side = &diff->sides[number];
	const struct ep_batch *compared;
	int r = make_compared(diff, side, labels, batch, &compared);

	if (r == 0)
		r = ep_movers_add(diff->movers, number, compared);
	if (r == -EINVAL) {
		fprintf(stderr,
			"ebpf-profiler: %s: it counts %s, and the profiles before it something else: they "
			"cannot be compared\n",
			path, batch->weight_unit);
		return EP_EXIT_FAILED;
	}
	if (r == 0 && side->builder)
		r = ep_profile_add_batch(side->builder, batch, NULL);
	return r < 0 ? fail(path, r) : EP_EXIT_OK;
}

static const struct ep_batch *batch_at(const struct side *side, size_t i)
{
	return *ep_vec_at(&side->batches, struct ep_batch *, i);
}

static enum ep_exit add_side(struct diff *diff, const struct ep_labels *labels,
			     enum ep_movers_side number)
{
	struct side *side = &diff->sides[number];
	enum ep_exit status = EP_EXIT_OK;
	int r;

	if (diff->args.outputs.n) {
		r = ep_profile_builder_new(&side->builder);
		if (r < 0)
			return fail(side->title, r);
	}
	r = ep_vec_reserve(&side->labelled, side->batches.len); /* the movers point into them */
	if (r == 0)
		r = ep_vec_reserve(&side->grouped, side->batches.len);
	if (r < 0)
		return fail(side->title, r);
	for (size_t i = 0; i < side->batches.len && status == EP_EXIT_OK; i++)
		status = add_batch(diff, labels, number,
				   ep_vec_at(&side->files, struct ep_view_files, i)->title,
				   batch_at(side, i));
	if (status != EP_EXIT_OK || !side->builder)
		return status;
	r = ep_profile_finish(side->builder, &side->batch);
	if (r < 0)
		return fail(side->title, r);
	side->batch->title = side->title;
	return EP_EXIT_OK;
}

static enum ep_exit add_both(struct diff *diff)
{
	ep_cleanup(ep_labels_fini) struct ep_labels labels;
	enum ep_exit status;
	int r = 0;

	ep_labels_init(&labels, true);
	for (int number = 0; number < EP_MOVERS_SIDES; number++)
		for (size_t i = 0; i < diff->sides[number].batches.len && r == 0; i++)
			r = ep_labels_learn(&labels, (unsigned int)number,
					    batch_at(&diff->sides[number], i));
	if (r < 0)
		return fail("diff", r);
	status = add_side(diff, &labels, EP_MOVERS_A);
	return status == EP_EXIT_OK ? add_side(diff, &labels, EP_MOVERS_B) : status;
}

static enum ep_exit read_side(struct diff *diff, enum ep_movers_side number)
{
	struct side *side = &diff->sides[number];
	struct ep_view_files *files;
	enum ep_exit status = EP_EXIT_OK;

	ep_vec_each (&side->files, files) {
		struct ep_batch **batch = ep_vec_push(&side->batches);

		if (!batch)
			return fail(files->title, -ENOMEM);
		status = ep_view_files_read(files, &diff->args.view, batch);
		if (status != EP_EXIT_OK)
			return status;
	}
	return status;
}

static enum ep_exit read_all(struct diff *diff)
{
	enum ep_exit status = open_side(diff, &diff->sides[EP_MOVERS_A]);

	if (status == EP_EXIT_OK)
		status = open_side(diff, &diff->sides[EP_MOVERS_B]);
	if (status == EP_EXIT_OK)
		status = ep_written_give_up_root(&diff->written, &diff->args.outputs,
						 diff->args.force);
	if (status == EP_EXIT_OK)
		status = read_side(diff, EP_MOVERS_A);
	if (status == EP_EXIT_OK)
		status = read_side(diff, EP_MOVERS_B);
	return status == EP_EXIT_OK ? add_both(diff) : status;
}

/* --- the page -------------------------------------------------------------------------------- */

static void on_flushed(void *arg)
{
	(void)arg;
}

/* As OTLP, into a temporary file: the page has its bytes. */
static enum ep_exit write_base(struct diff *diff, const char *plugin_dir)
{
	const char *directory = getenv("TMPDIR");
	struct ep_value values[2];
	struct ep_outputs outputs;
	int fd, r;

	if (asprintf(&diff->base_path, "%s/ebpf-profiler-XXXXXX.otlp.gz",
		     directory ? directory : "/tmp") < 0) {
		diff->base_path = NULL;
		return fail("diff", -ENOMEM);
	}
	fd = mkostemps(diff->base_path, (int)strlen(".otlp.gz"), O_CLOEXEC);
	if (fd < 0) {
		free(ep_take(diff->base_path));
		return fail("no temporary file", -errno);
	}
	close(fd);
	values[0] = (struct ep_value){
		.key = "path", .type = EP_VALUE_STRING, .string = diff->base_path};
	values[1] = (struct ep_value){.key = "force", .type = EP_VALUE_BOOL, .boolean = true};
	ep_outputs_init(&outputs, plugin_dir);
	r = ep_outputs_open(&outputs, ep_output_format_find("otlp")->plugin, NULL, NULL, values,
			    EP_LEN(values));
	if (r == 0) {
		ep_outputs_submit(&outputs, 0, diff->sides[EP_MOVERS_A].batch);
		ep_outputs_flush(&outputs, on_flushed, NULL);
		uv_run(uv_default_loop(), UV_RUN_DEFAULT);
		r = ep_outputs_result(&outputs);
	}
	ep_outputs_fini(&outputs);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

static enum ep_exit write_page(struct diff *diff)
{
	struct ep_config_file *config = ep_cmd_load_config(NULL);
	enum ep_exit status;

	if (!config)
		return EP_EXIT_USAGE;
	ep_host_init(uv_default_loop(), EP_VERSION);
	status = write_base(diff, config->plugins.dir);
	if (status == EP_EXIT_OK)
		status = ep_written_open(&diff->written, &diff->args.outputs, config->plugins.dir,
					 diff->args.force, diff->base_path);
	if (status == EP_EXIT_OK)
		status = ep_written_write(&diff->written, diff->sides[EP_MOVERS_B].batch);
	status = ep_written_finish(&diff->written, diff->args.view.quiet, status);
	ep_config_free(config);
	return status;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void print(const struct diff *diff)
{
	struct ep_summary_info style;
	struct ep_diff_print print = {
		.title_a = diff->sides[EP_MOVERS_A].title,
		.title_b = diff->sides[EP_MOVERS_B].title,
		.amount = diff->args.amount,
		.by = diff->args.by,
		.rows = diff->args.rows,
	};

	ep_summary_style(stdout, &style);
	print.width = style.width;
	print.color = style.color;
	if (diff->args.json)
		ep_diff_print_json(stdout, diff->movers, &print);
	else
		ep_diff_print_text(stdout, diff->movers, &print);
}

/* What cannot be seen is no proof that nothing is there. */
static enum ep_exit check_power(const struct diff *diff)
{
	double least = ep_diff_least_change(diff->movers, diff->args.amount, 0),
	       limit = diff->args.fail_above;

	if (least <= limit || (limit <= 0 && isfinite(least)))
		return EP_EXIT_OK;
	fprintf(stderr, "ebpf-profiler: %" PRIu64 " and %" PRIu64 " samples can show ",
		ep_movers_sum(diff->movers, EP_MOVERS_A).count,
		ep_movers_sum(diff->movers, EP_MOVERS_B).count);
	if (isfinite(least))
		fprintf(stderr, "a change of %.2f%s at the least, not the %g of --fail-above",
			least, ep_diff_unit(diff->movers, diff->args.amount), limit);
	else
		fprintf(stderr, "no change at all");
	fprintf(stderr, ": record longer, or several times (--base A1 --base A2 B1 B2)\n");
	return EP_EXIT_NO_SAMPLES;
}

static enum ep_exit check_limit(const struct diff *diff)
{
	const struct ep_mover *worst;
	char name[EP_TEXT_BYTES];
	double low;

	if (diff->args.fail_above < 0)
		return EP_EXIT_OK;
	worst = ep_diff_worst(diff->movers, diff->args.amount, diff->args.fail_above, &low);
	if (!worst)
		return check_power(diff);
	fprintf(stderr,
		"ebpf-profiler: %s takes at least %.2f%s more than before, above the %g of --fail-above\n",
		ep_text_fit_name(worst->name, 200, name), low,
		ep_diff_unit(diff->movers, diff->args.amount), diff->args.fail_above);
	return EP_EXIT_QUALITY;
}

static enum ep_exit run(struct diff *diff)
{
	const struct ep_movers_options options = {.amount = diff->args.amount};
	const struct ep_output_choices *page = &diff->args.outputs;
	enum ep_exit status = EP_EXIT_OK;
	int r;

	if (page->n) /* before anything is read */
		status = ep_output_files_check(page->list[0].path, diff->args.force);
	if (status != EP_EXIT_OK)
		return status;
	r = ep_movers_new(&options, &diff->movers);
	if (r < 0)
		return fail("diff", r);
	status = read_all(diff);
	if (status != EP_EXIT_OK)
		return status;
	r = ep_movers_compare(diff->movers);
	if (r == -ENODATA) {
		fprintf(stderr,
			"ebpf-profiler: --absolute: a profile does not say how long it was recorded: compare "
			"shares\n");
		return EP_EXIT_FAILED;
	}
	if (r < 0)
		return fail("diff", r);
	print(diff);
	if (page->n)
		status = write_page(diff);
	return status == EP_EXIT_OK ? check_limit(diff) : status;
}

int ep_cmd_diff(const struct ep_args *args)
{
	ep_cleanup(diff_fini) struct diff diff = {0};
	int r = ep_diff_args_parse(&diff.args, args->rest_argc, args->rest_argv);
	enum ep_exit status;

	ep_written_init(&diff.written);
	for (int i = 0; i < EP_MOVERS_SIDES; i++) {
		struct side *side = &diff.sides[i];

		ep_vec_init(&side->files, sizeof(struct ep_view_files), EP_VIEW_MAX_FILES);
		ep_vec_init(&side->batches, sizeof(struct ep_batch *), EP_VIEW_MAX_FILES);
		ep_vec_init(&side->labelled, sizeof(struct ep_labelled), EP_VIEW_MAX_FILES);
		ep_vec_init(&side->grouped, sizeof(struct ep_grouped), EP_VIEW_MAX_FILES);
	}
	if (!ep_view_args_go(&diff.args.view, &ep_diff_syntax, r, &status))
		return status;
	diff.sides[EP_MOVERS_A].paths = diff.args.bases;
	diff.sides[EP_MOVERS_A].n = diff.args.n_bases;
	diff.sides[EP_MOVERS_B].paths = diff.args.view.files + diff.args.others_at;
	diff.sides[EP_MOVERS_B].n = diff.args.view.n_files - diff.args.others_at;
	return run(&diff);
}
