/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/report_json.h"
#include "core/base/clock.h"
#include "ebpf-profiler/batch.h"
#include "reports/commands/parts/columns.h"
#include "reports/commands/parts/json.h"
#include "reports/commands/parts/weight.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void put_string(const struct ep_report *report, const char *key, uint32_t string)
{
	fprintf(report->out, ", \"%s\": ", key);
	ep_json_put_string(report->out, report->batch->string_text[string]);
}

static void put_number(const struct ep_report *report, const char *key, uint64_t number)
{
	fprintf(report->out, ", \"%s\": %" PRIu64, key, number);
}

static void put_reasons(const struct ep_report *report, const char *key,
			const struct ep_vec *reasons)
{
	const struct ep_quality_reason *reason;
	bool first = true;

	fprintf(report->out, ",\n \"%s\": [", key);
	ep_vec_each (reasons, reason) {
		fprintf(report->out, "%s{\"weight\": %" PRIu64, first ? "" : ", ", reason->weight);
		put_string(report, "reason", reason->text);
		fputc('}', report->out);
		first = false;
	}
	fputc(']', report->out);
}

void ep_report_json_head(const struct ep_report *report, const struct ep_quality *quality)
{
	const struct ep_batch *batch = report->batch;

	fprintf(report->out, "{\"profile\": ");
	ep_json_put_string(report->out, report->title);
	fprintf(report->out, ", \"host\": ");
	ep_json_put_string(report->out, batch->host_name);
	put_number(report, "start_ns", batch->start_ns);
	put_number(report, "duration_ns", batch->duration_ns);
	put_number(report, "frequency_hz", batch->period_hz);
	fprintf(report->out, ", \"type\": ");
	ep_json_put_string(report->out, batch->sample_type);
	fprintf(report->out, ", \"unit\": ");
	ep_json_put_string(report->out, ep_weight_unit(batch));
	fprintf(report->out, ",\n \"samples\": %" PRIu64, quality->samples);
	put_number(report, "weight", quality->weight);
	put_number(report, "lost_samples", batch->lost_samples);
	put_number(report, "complete_weight", quality->complete);
	put_number(report, "unverified_weight", quality->unverified);
	if (quality->has_names)
		put_number(report, "named_weight", quality->named);
	put_number(report, "no_symbol_weight", quality->no_symbol);
	put_reasons(report, "incomplete", &quality->errors);
	put_reasons(report, "unnamed", &quality->unnamed);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void put_weights(const struct ep_report *report, const struct ep_tally_row *row)
{
	fprintf(report->out, "\"self\": %" PRIu64, row->self);
	put_number(report, "total", row->total);
	put_number(report, "self_samples", row->self_samples);
	put_number(report, "total_samples", row->total_samples);
}

static void put_row(const struct ep_report *report, const struct ep_tally *tally,
		    const struct ep_tally_row *row)
{
	put_weights(report, row);
	for (const struct ep_column *column = ep_columns[tally->by].list; column->value; column++) {
		struct ep_cell cell = ep_column_cell(tally, row, column->value);

		if (!column->key || (column->is_optional && !cell.is_known))
			continue;
		fprintf(report->out, ", \"%s\": ", column->key);
		if (cell.text)
			ep_json_put_string(report->out, cell.text);
		else
			fprintf(report->out, "%" PRIu64, cell.number);
	}
}

void ep_report_json_table(const struct ep_report *report, const struct ep_tally *tally)
{
	const struct ep_tally_row *row;
	size_t n = 0;

	fprintf(report->out, ",\n \"by\": \"%s\", \"rows\": [", ep_tally_by_name(tally->by));
	ep_vec_each (&tally->rows, row) {
		if (report->rows && n == report->rows)
			break;
		fprintf(report->out, "%s\n  {", n++ ? "," : "");
		put_row(report, tally, row);
		fputc('}', report->out);
	}
	fputs("]}\n", report->out);
}

/* --- trees ----------------------------------------------------------------------------------- */

/* Closes `n` nodes with their lists of children. */
static void close_nodes(const struct ep_report *report, int n)
{
	for (; n > 0; n--)
		fputs("]}", report->out);
}

void ep_report_json_tree(const struct ep_report *report, const struct ep_tree *tree, uint64_t all)
{
	uint64_t least =
		EP_MAX((uint64_t)((unsigned __int128)all * report->least_10000 / 10000), 1ull);
	int depth = -1, last = -1;
	uint32_t n = 0;

	fprintf(report->out, ",\n \"%s\": [",
		report->what == EP_REPORT_CALLERS ? "callers" : "tree");
	for (uint32_t node = ep_tree_next(tree, 0, least, &depth); node;
	     node = ep_tree_next(tree, node, least, &depth)) {
		const struct ep_tree_node *at = ep_tree_at(tree, node);

		if (report->rows && n++ == report->rows)
			break;
		if (depth <= last)
			close_nodes(report, last - depth + 1);
		fprintf(report->out, "%s\n  {\"self\": %" PRIu64, depth <= last ? "," : "",
			at->self);
		put_number(report, "total", at->total);
		put_number(report, "self_samples", at->self_samples);
		put_number(report, "total_samples", at->total_samples);
		put_string(report, "name", at->name);
		fprintf(report->out, ", \"children\": [");
		last = depth;
	}
	close_nodes(report, last + 1);
	fputs("]}\n", report->out);
}

/* --- source ---------------------------------------------------------------------------------- */

static int put_function(const struct ep_report *report, const struct ep_tally *lines,
			const struct ep_listed_function *function, bool first)
{
	const struct ep_batch *batch = report->batch;
	const struct ep_tally_row *rows =
		ep_vec_at(&lines->rows, struct ep_tally_row, function->first_row);
	ep_cleanup(ep_source_fini) struct ep_source source = {0};
	char text[4096];
	int r = ep_source_read(report->sources, batch->string_text[function->file],
			       batch->string_text[function->name], &source);

	if (r == -ENOMEM)
		return r;
	fprintf(report->out, "%s\n  {\"self\": %" PRIu64, first ? "" : ",", function->self);
	put_number(report, "total", function->total);
	put_string(report, "name", function->name);
	put_string(report, "file", function->file);
	put_number(report, "start_line", function->start_line);
	fprintf(report->out, ", \"source\": ");
	ep_json_put_string(report->out, source.path ? source.path : "");
	fprintf(report->out, ", \"lines\": [");
	for (size_t i = 0; i < function->n_rows; i++) {
		fprintf(report->out, "%s\n   {", i ? "," : "");
		put_weights(report, &rows[i]);
		put_number(report, "line", rows[i].number);
		fprintf(report->out, ", \"text\": ");
		ep_json_put_string(report->out,
				      ep_source_line(&source, rows[i].number, text, sizeof(text)));
		fputc('}', report->out);
	}
	fprintf(report->out, "]}");
	return 0;
}

int ep_report_json_list(const struct ep_report *report, const struct ep_listed *listed)
{
	const struct ep_listed_function *function;
	size_t n = 0;
	int r = 0;

	fprintf(report->out, ",\n \"functions\": [");
	ep_vec_each (&listed->functions, function) {
		if (r < 0 || (report->rows && n == report->rows))
			break;
		r = put_function(report, &listed->lines, function, n++ == 0);
	}
	fputs("]}\n", report->out);
	return r;
}
