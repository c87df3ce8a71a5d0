/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/report_print.h"
#include "core/profile/labels.h"
#include "ebpf-profiler/batch.h"
#include "reports/commands/parts/listed.h"
#include "reports/commands/parts/report_json.h"
#include "reports/commands/parts/report_text.h"
#include "reports/view/find.h"
#include "reports/view/quality.h"

#include <errno.h>

static int print_list(const struct ep_report *report, const uint8_t *wanted)
{
	ep_cleanup(ep_listed_fini) struct ep_listed listed;
	int r = ep_listed_make(report->batch, wanted, &listed);

	if (r < 0)
		return r;
	return report->json ? ep_report_json_list(report, &listed)
			    : ep_report_text_list(report, &listed);
}

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
	if (r == 0 && (fflush(report->out) != 0 || ferror(report->out)))
		return -EIO;
	return r;
}
