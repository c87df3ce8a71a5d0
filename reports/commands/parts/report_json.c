/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object: what the profile says of itself, and the rows. Weights are integers in "unit", shares
 * are left to the reader. Nothing is cut, and no row left out unless -n says so.
 */
#include "core/base/clock.h"
#include "ebpf-profiler/batch.h"
#include "reports/commands/parts/report.h"
#include "reports/view/quality.h"

#include <inttypes.h>
#include <string.h>

/* Strings of a batch are UTF-8; of file names and arguments, what is none is replaced. */
static size_t utf8_bytes(const unsigned char *text)
{
	size_t n = text[0] < 0x80		       ? 1
		   : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
		   : text[0] >= 0xe0		       ? 3
		   : text[0] >= 0xc2		       ? 2
						       : 0;

	for (size_t i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return text[0] >= 0xf5 ? 0 : n;
}

void ep_report_json_string(FILE *out, const char *text)
{
	const unsigned char *pos = (const unsigned char *)text;

	fputc('"', out);
	while (*pos) {
		size_t n = utf8_bytes(pos);

		if (*pos == '"' || *pos == '\\')
			fprintf(out, "\\%c", *pos);
		else if (*pos < 0x20 || *pos == 0x7f)
			fprintf(out, "\\u%04x", *pos);
		else if (n == 0)
			fputs("\\ufffd", out);
		else
			fwrite(pos, 1, n, out);
		pos += n ? n : 1;
	}
	fputc('"', out);
}

static void put_string(const struct ep_report *report, const char *key, uint32_t string)
{
	fprintf(report->out, ", \"%s\": ", key);
	ep_report_json_string(report->out, report->batch->string_text[string]);
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
	ep_report_json_string(report->out, report->title);
	fprintf(report->out, ", \"host\": ");
	ep_report_json_string(report->out, batch->host_name);
	put_number(report, "start_ns", batch->start_ns);
	put_number(report, "duration_ns", batch->duration_ns);
	put_number(report, "frequency_hz", batch->period_hz);
	fprintf(report->out, ", \"type\": ");
	ep_report_json_string(report->out, batch->sample_type);
	fprintf(report->out, ", \"unit\": ");
	ep_report_json_string(report->out, ep_report_unit(batch));
	fprintf(report->out, ",\n \"samples\": %" PRIu64, quality->samples);
	put_number(report, "weight", quality->weight);
	put_number(report, "lost_samples", batch->lost_samples);
	put_number(report, "complete_weight", quality->complete);
	if (quality->has_names)
		put_number(report, "named_weight", quality->named);
	put_number(report, "no_symbol_weight", quality->no_symbol);
	put_reasons(report, "incomplete", &quality->errors);
	put_reasons(report, "unnamed", &quality->unnamed);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void put_function(const struct ep_report *report, const struct ep_tally_row *row)
{
	const struct ep_batch *batch = report->batch;

	put_string(report, "name", row->name);
	if (row->file)
		put_string(report, "file", row->file);
	if (row->number)
		put_number(report, "line", row->number);
	if (row->mapping != EP_TALLY_SEVERAL && row->mapping && row->mapping < batch->n_mappings)
		put_string(report, "module", batch->mapping_path[row->mapping]);
}

static void put_process(const struct ep_report *report, uint32_t process)
{
	const struct ep_batch *batch = report->batch;

	put_number(report, "pid", batch->process_pid[process]);
	put_string(report, "comm", batch->process_comm[process]);
	put_string(report, "exe", batch->process_exe_path[process]);
	put_string(report, "container", batch->process_container_id[process]);
}

static void put_row(const struct ep_report *report, enum ep_tally_by by,
		    const struct ep_tally_row *row)
{
	switch (by) {
	case EP_TALLY_FUNCTION:
		put_function(report, row);
		break;
	case EP_TALLY_LINE:
		put_string(report, "name", row->name);
		put_string(report, "file", row->file);
		put_number(report, "line", row->number);
		break;
	case EP_TALLY_MODULE:
		put_string(report, row->number ? "module" : "kind", row->name);
		break;
	case EP_TALLY_KIND:
		put_string(report, "kind", row->name);
		break;
	case EP_TALLY_PROCESS:
		put_string(report, "name", row->name); /* as rows of functions have one */
		put_process(report, row->process);
		break;
	case EP_TALLY_THREAD:
		put_number(report, "tid", row->number);
		put_string(report, "thread", row->name);
		put_process(report, row->process);
		break;
	case EP_TALLY_CONTAINER:
		put_string(report, "container", row->name);
		break;
	case EP_TALLY_CPU:
		put_number(report, "cpu", row->number);
	}
}

static void put_weights(const struct ep_report *report, const struct ep_tally_row *row)
{
	fprintf(report->out, "\"self\": %" PRIu64, row->self);
	put_number(report, "total", row->total);
	put_number(report, "self_samples", row->self_samples);
	put_number(report, "total_samples", row->total_samples);
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
		put_weights(report, row);
		put_row(report, tally->by, row);
		fputc('}', report->out);
	}
	fputc(']', report->out);
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
	fputc(']', report->out);
}

/* --- source ---------------------------------------------------------------------------------- */

int ep_report_json_function(const struct ep_report *report, const struct ep_tally *lines,
			    const struct ep_report_function *function, bool first)
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
	ep_report_json_string(report->out, source.path ? source.path : "");
	fprintf(report->out, ", \"lines\": [");
	for (size_t i = 0; i < function->n_rows; i++) {
		fprintf(report->out, "%s\n   {", i ? "," : "");
		put_weights(report, &rows[i]);
		put_number(report, "line", rows[i].number);
		fprintf(report->out, ", \"text\": ");
		ep_report_json_string(report->out,
				      ep_source_line(&source, rows[i].number, text, sizeof(text)));
		fputc('}', report->out);
	}
	fprintf(report->out, "]}");
	return 0;
}
