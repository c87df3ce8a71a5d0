/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/report.h"
#include "core/base/clock.h"
#include "core/view/find.h"
#include "core/view/quality.h"
#include "ebpf-profiler/batch.h"

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

static uint32_t start_line(const struct ep_batch *batch, uint32_t name, uint32_t file)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < batch->n_functions; i++) {
		uint32_t line = batch->function_line[i];

		if (batch->function_name[i] == name && batch->function_file[i] == file && line &&
		    (!first || line < first))
			first = line;
	}
	return first;
}

static int group(const struct ep_tally *lines, const struct ep_tally *functions,
		 struct ep_vec *groups)
{
	const struct ep_tally_row *rows = lines->rows.data, *function;
	struct ep_report_function *last = NULL;

	for (size_t i = 0; i < lines->rows.len; i++) {
		if (last && last->name == rows[i].name && last->file == rows[i].file) {
			last->n_rows++;
			continue;
		}
		last = ep_vec_push(groups);
		if (!last)
			return -ENOMEM;
		*last = (struct ep_report_function){
			.name = rows[i].name,
			.file = rows[i].file,
			.start_line = start_line(lines->batch, rows[i].name, rows[i].file),
			.first_row = i,
			.n_rows = 1,
		};
		ep_vec_each (&functions->rows, function)
			if (function->name == last->name)
				last->self = function->self, last->total = function->total;
	}
	return 0;
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
	r = r < 0 ? r : ep_tally_make(report->batch, EP_TALLY_FUNCTION, &functions);
	if (r < 0)
		return r;
	keep_wanted(&lines, wanted);
	r = group(&lines, &functions, &groups);
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

static int print_tree(const struct ep_report *report, const uint8_t *wanted, uint64_t all)
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
