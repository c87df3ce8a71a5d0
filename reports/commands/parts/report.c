/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/report.h"
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/profile/labels.h"
#include "ebpf-profiler/batch.h"
#include "reports/view/find.h"
#include "reports/view/quality.h"

#include <inttypes.h>
#include <string.h>

const char *ep_report_unit(const struct ep_batch *batch)
{
	return EP_HAS(batch, weight_unit) && batch->weight_unit ? batch->weight_unit
								: "nanoseconds";
}

bool ep_report_is_time(const struct ep_batch *batch)
{
	return strcmp(ep_report_unit(batch), "nanoseconds") == 0;
}

const char *ep_report_weight(const struct ep_batch *batch, uint64_t weight, char *buf, size_t size)
{
	double seconds = (double)weight / (double)EP_NS_PER_SEC;

	if (!ep_report_is_time(batch))
		snprintf(buf, size, "%" PRIu64, weight);
	else if (weight >= 10 * EP_NS_PER_SEC)
		snprintf(buf, size, "%.1f s", seconds);
	else if (weight >= EP_NS_PER_SEC)
		snprintf(buf, size, "%.2f s", seconds);
	else
		snprintf(buf, size, "%.1f ms", seconds * 1000);
	return buf;
}

/* --- the source of functions ----------------------------------------------------------------- */

static int by_place(const void *left, const void *right, void *arg)
{
	const struct ep_tally_row *a = left, *b = right;
	const struct ep_batch *batch = arg;
	int order = 0;

	if (a->name != b->name)
		order = strcmp(batch->string_text[a->name], batch->string_text[b->name]);
	if (order == 0 && a->file != b->file)
		order = strcmp(batch->string_text[a->file], batch->string_text[b->file]);
	if (order == 0)
		order = a->number < b->number ? -1 : a->number > b->number;
	return order;
}

/* Rows of the functions that are meant, by function, file and line. */
static void keep_wanted(struct ep_tally *lines, const uint8_t *wanted)
{
	struct ep_tally_row *rows = lines->rows.data;
	size_t n = 0;

	for (size_t i = 0; i < lines->rows.len; i++)
		if (wanted[rows[i].name])
			rows[n++] = rows[i];
	lines->rows.len = n;
	if (n > 1)
		qsort_r(rows, n, sizeof(*rows), by_place, (void *)lines->batch);
}

static uint64_t pair(uint32_t name, uint32_t file)
{
	return (uint64_t)name << 32 | file;
}

/* The first line of each function by (name, file); of several of one name the first of them. */
static int find_starts(const struct ep_batch *batch, const uint8_t *wanted, struct ep_map *starts)
{
	int r = 0;

	for (uint32_t i = 1; i < batch->n_functions && r == 0; i++) {
		uint64_t key = pair(batch->function_name[i], batch->function_file[i]);
		uint32_t line = batch->function_line[i];
		const uint64_t *known = ep_map_find(starts, key);

		if (wanted[batch->function_name[i]] && line && (!known || line < *known))
			r = ep_map_set(starts, key, line);
	}
	return r;
}

static int index_functions(const struct ep_tally *functions, const uint8_t *wanted,
			   struct ep_map *by_name)
{
	const struct ep_tally_row *rows = functions->rows.data;
	int r = 0;

	for (size_t i = 0; i < functions->rows.len && r == 0; i++)
		if (wanted[rows[i].name])
			r = ep_map_set(by_name, pair(rows[i].name, rows[i].file), i);
	return r;
}

static int push_group(const struct ep_tally *functions, const struct ep_tally_row *row,
		      const struct ep_map *by_name, const struct ep_map *starts,
		      struct ep_vec *groups)
{
	const uint64_t *start = ep_map_find(starts, pair(row->name, row->file));
	const uint64_t *function = ep_map_find(by_name, pair(row->name, row->file));
	struct ep_report_function *group = ep_vec_push(groups);

	if (!group)
		return -ENOMEM;
	group->name = row->name;
	group->file = row->file;
	group->start_line = start ? (uint32_t)*start : 0;
	if (function) {
		row = ep_vec_at(&functions->rows, struct ep_tally_row, *function);
		group->self = row->self;
		group->total = row->total;
	}
	return 0;
}

struct indexes {
	struct ep_map by_name, starts;
};

static void indexes_fini(struct indexes *indexes)
{
	ep_map_fini(&indexes->by_name);
	ep_map_fini(&indexes->starts);
}

static int group(const struct ep_tally *lines, const struct ep_tally *functions,
		 const uint8_t *wanted, struct ep_vec *groups)
{
	const struct ep_tally_row *rows = lines->rows.data;
	ep_cleanup(indexes_fini) struct indexes indexes = {0};
	int r;

	ep_map_init(&indexes.by_name, UINT32_MAX);
	ep_map_init(&indexes.starts, UINT32_MAX);
	r = find_starts(lines->batch, wanted, &indexes.starts);
	r = r == 0 ? index_functions(functions, wanted, &indexes.by_name) : r;
	for (size_t i = 0; i < lines->rows.len && r == 0; i++) {
		bool begins = i == 0 || rows[i].name != rows[i - 1].name ||
			      rows[i].file != rows[i - 1].file;
		struct ep_report_function *last;

		if (begins)
			r = push_group(functions, &rows[i], &indexes.by_name, &indexes.starts,
				       groups);
		if (r < 0)
			break;
		last = ep_vec_at(groups, struct ep_report_function, groups->len - 1);
		last->first_row = begins ? i : last->first_row;
		last->n_rows++;
	}
	return r;
}

static int by_group_total(const void *left, const void *right)
{
	const struct ep_report_function *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static int print_functions(const struct ep_report *report, const struct ep_tally *lines,
			   struct ep_vec *groups)
{
	const struct ep_report_function *function;
	size_t n = 0;
	int r;

	if (groups->len > 1)
		qsort(groups->data, groups->len, groups->elem_bytes, by_group_total);
	ep_vec_each (groups, function) {
		if (report->rows && n == report->rows)
			break;
		r = report->json ? ep_report_json_function(report, lines, function, n == 0)
				 : ep_report_text_function(report, lines, function);
		if (r < 0)
			return r;
		n++;
	}
	if (n < groups->len && !report->json)
		fprintf(report->out,
			"\nand %zu more functions of such a name: -n 0 lists them all\n",
			groups->len - n);
	return 0;
}

static int print_list(const struct ep_report *report, const uint8_t *wanted)
{
	ep_cleanup(ep_tally_fini) struct ep_tally lines = {0};
	ep_cleanup(ep_tally_fini) struct ep_tally functions = {0};
	ep_cleanup(ep_vec_fini) struct ep_vec groups = {0};
	int r = ep_tally_make(report->batch, EP_TALLY_LINE, &lines);

	ep_vec_init(&groups, sizeof(struct ep_report_function), UINT32_MAX);
	r = r < 0 ? r : ep_tally_make_names(report->batch, &functions);
	if (r < 0)
		return r;
	keep_wanted(&lines, wanted);
	r = group(&lines, &functions, wanted, &groups);
	if (r < 0)
		return r;
	if (report->json)
		fprintf(report->out, ",\n \"functions\": [");
	r = print_functions(report, &lines, &groups);
	if (report->json)
		fprintf(report->out, "]");
	return r;
}

/* --- the others ------------------------------------------------------------------------------ */

static int print_table(const struct ep_report *report)
{
	ep_cleanup(ep_tally_fini) struct ep_tally tally = {0};
	int r = ep_tally_make(report->batch, report->by, &tally);

	if (r < 0)
		return r;
	if (report->by_total)
		ep_tally_sort_total(&tally);
	if (report->json)
		ep_report_json_table(report, &tally);
	else
		r = ep_report_text_table(report, &tally);
	return r;
}

/* Rows of names that are wanted, and of the labels that were made of them. */
static uint8_t *wanted_labels(const struct ep_batch *batch, const struct ep_labelled *labelled,
			      const uint8_t *wanted)
{
	uint8_t *labels = calloc((size_t)labelled->batch.n_strings + 1, 1);

	for (uint32_t i = 1; labels && i < batch->n_functions; i++)
		if (wanted[batch->function_name[i]])
			labels[labelled->function_name[i]] = 1;
	return labels;
}

static int print_labelled_tree(const struct ep_report *report, const uint8_t *wanted, uint64_t all)
{
	ep_cleanup(ep_tree_fini) struct ep_tree tree = {0};
	int r = ep_tree_make(report->batch, wanted, &tree);

	if (r < 0)
		return r;
	if (report->json)
		ep_report_json_tree(report, &tree, all);
	else
		r = ep_report_text_tree(report, &tree, all);
	return r;
}

static int print_tree(const struct ep_report *report, const uint8_t *wanted, uint64_t all)
{
	ep_cleanup(ep_labels_fini) struct ep_labels labels;
	ep_cleanup(ep_labelled_fini) struct ep_labelled labelled = {0};
	ep_autofree uint8_t *wanted_here = NULL;
	struct ep_report shown = *report;
	int r;

	ep_labels_init(&labels, false);
	r = ep_labels_learn(&labels, 0, report->batch);
	r = r < 0 ? r : ep_labels_draw(&labels, report->batch, &labelled);
	if (r < 0)
		return r;
	if (wanted) {
		wanted_here = wanted_labels(report->batch, &labelled, wanted);
		if (!wanted_here)
			return -ENOMEM;
	}
	shown.batch = &labelled.batch;
	return print_labelled_tree(&shown, wanted_here, all);
}

static int print_head(const struct ep_report *report, uint64_t *ret_weight)
{
	ep_cleanup(ep_quality_fini) struct ep_quality quality = {0};
	int r = ep_quality_make(report->batch, &quality);

	if (r < 0)
		return r;
	if (report->json)
		ep_report_json_head(report, &quality);
	else
		r = ep_report_text_head(report, &quality);
	*ret_weight = quality.weight;
	return r;
}

int ep_report_print(const struct ep_report *report)
{
	ep_autofree uint8_t *wanted = NULL;
	uint64_t all = 0;
	size_t n = 0;
	int r = 0;

	if (report->what == EP_REPORT_CALLERS || report->what == EP_REPORT_LIST) {
		r = ep_view_find_functions(report->batch, report->function, &wanted, &n);
		if (r < 0 || n == 0)
			return r < 0 ? r : -ENOENT;
	}
	r = print_head(report, &all);
	if (r == 0)
		r = report->what == EP_REPORT_TABLE  ? print_table(report)
		    : report->what == EP_REPORT_LIST ? print_list(report, wanted)
						     : print_tree(report, wanted, all);
	if (r == 0 && report->json)
		fprintf(report->out, "}\n");
	if (r == 0 && (fflush(report->out) != 0 || ferror(report->out)))
		return -EIO;
	return r;
}
