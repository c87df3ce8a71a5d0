/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/report_text.h"
#include "core/base/clock.h"
#include "core/cli/parts/text.h"
#include "core/profile/labels.h"
#include "ebpf-profiler/batch.h"
#include "reports/commands/parts/columns.h"
#include "reports/commands/parts/weight.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#define NO_TERMINAL_WIDTH 250 /* names are not cut where nobody sees columns */
#define MIN_WIDTH	  80
#define MIN_NAME	  10 /* columns that a name has, whatever stands after it */
#define MAX_REASONS	  4
#define WHERE_BYTES	  1280
#define WHERE_COLUMNS	  24
#define LIST_CONTEXT	  4  /* source lines around those with samples */
#define LIST_GAP	  12 /* more lines than that without samples are left out */

static unsigned int width_of(const struct ep_report *report)
{
	return report->width ? EP_MAX(report->width, (unsigned int)MIN_WIDTH) : NO_TERMINAL_WIDTH;
}

/* Rounded down, so that 100 % means all of it. */
static double percent_down(uint64_t part, uint64_t all)
{
	return all ? (double)(uint64_t)((unsigned __int128)part * 10000 / all) / 100 : 0;
}

static void print_heading(const struct ep_report *report, const char *text)
{
	fprintf(report->out, report->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *string_at(const struct ep_batch *batch, uint32_t string)
{
	return batch->string_text[string];
}

/* --- head ------------------------------------------------------------------------------------ */

static int print_buffer(const struct ep_report *report, struct ep_vec *text, int r)
{
	if (r == 0)
		r = ep_vec_append(text, NULL, 1);
	if (r == 0)
		ep_text_print(report->out, text->data, width_of(report), 0, 2);
	text->len = 0;
	return r == -E2BIG ? 0 : r;
}

static int say_totals(const struct ep_report *report, const struct ep_quality *quality,
		      struct ep_vec *text)
{
	const struct ep_batch *batch = report->batch;
	char buf[EP_TEXT_BYTES], weight[EP_WEIGHT_BYTES];
	int r = ep_vec_printf(text, "%s: %" PRIu64 " sample%s",
			      ep_text_fit(report->title, 200, buf), quality->samples,
			      quality->samples == 1 ? "" : "s");

	if (r == 0 && batch->duration_ns)
		r = ep_vec_printf(text, " in %.1f s",
				  (double)batch->duration_ns / (double)EP_NS_PER_SEC);
	if (r == 0 && batch->period_hz)
		r = ep_vec_printf(text, " at %u Hz", batch->period_hz);
	if (r == 0 && batch->host_name[0])
		r = ep_vec_printf(text, " on %s", ep_text_fit(batch->host_name, 64, buf));
	ep_weight_text(batch, quality->weight, weight, sizeof(weight));
	if (r == 0 && ep_weight_is_time(batch))
		r = ep_vec_printf(text, ": %s of %s", weight,
				  ep_text_fit(ep_weight_of_type(batch->sample_type), 64, buf));
	else if (r == 0)
		r = ep_vec_printf(text, ": %s %s of %s", weight,
				  ep_text_fit(ep_weight_unit(batch), 64, buf), batch->sample_type);
	if (r == 0 && batch->lost_samples)
		r = ep_vec_printf(text, "; %" PRIu64 " sample%s lost%s (%.2f %% of the ticks due)",
				  batch->lost_samples, batch->lost_samples == 1 ? "" : "s",
				  report->filtered ? " in the whole recording" : "",
				  ep_text_percent(batch->lost_samples,
					  ep_batch_due_samples(batch, quality->samples)));
	return r;
}

static int say_reasons(const struct ep_report *report, const struct ep_vec *reasons, uint64_t all,
		       struct ep_vec *text)
{
	const struct ep_quality_reason *reason = reasons->data;
	char buf[EP_TEXT_BYTES];
	int r = 0;

	for (size_t i = 0; i < EP_MIN(reasons->len, (size_t)MAX_REASONS) && r == 0; i++) {
		const char *why = string_at(report->batch, reason[i].text);

		r = ep_vec_printf(text, "%s %.2f %% %s", i ? "," : ";",
				  ep_text_percent(reason[i].weight, all),
				  ep_text_fit(why[0] ? why : "for no known reason", 100, buf));
	}
	return r == 0 && reasons->len > MAX_REASONS ? ep_vec_printf(text, ", and others") : r;
}

int ep_report_text_head(const struct ep_report *report, const struct ep_quality *quality)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text = {0};
	int r;

	ep_vec_init(&text, 1, 64u << 10);
	r = print_buffer(report, &text, say_totals(report, quality, &text));
	if (r < 0 || !quality->weight)
		return r;
	r = ep_vec_printf(&text, "stacks: %.2f %% complete",
			  percent_down(quality->complete, quality->weight));
	if (r == 0 && quality->unverified)
		r = ep_vec_printf(&text, ", %.2f %% " EP_TEXT_UNVERIFIED,
				  ep_text_percent(quality->unverified, quality->weight));
	r = r == 0 ? say_reasons(report, &quality->errors, quality->weight, &text) : r;
	r = print_buffer(report, &text, r);
	if (r < 0 || !quality->has_names)
		return r;
	r = ep_vec_printf(&text, "names: %.2f %% fully named",
			  percent_down(quality->named, quality->weight));
	r = r == 0 ? say_reasons(report, &quality->unnamed, quality->weight, &text) : r;
	r = print_buffer(report, &text, r);
	if (r < 0 || !quality->no_symbol)
		return r;
	r = ep_vec_printf(&text, EP_TEXT_SYMBOLS,
			  ep_text_percent(quality->no_symbol, quality->weight));
	return print_buffer(report, &text, r);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* "libc.so.6+0x1234" says its module itself. */
static bool is_made_of(const char *name, const char *module)
{
	size_t bytes = strlen(module);

	return strncmp(name, module, bytes) == 0 && name[bytes] == '+';
}

/* "  report.py:12" or "  report.py" */
static const char *put_place(const char *path, uint32_t line, char *buf)
{
	char text[EP_TEXT_BYTES];

	snprintf(buf, WHERE_BYTES, line ? "  %s:%u" : "  %s",
		 ep_text_fit(path, WHERE_COLUMNS, text), line);
	return buf;
}

/*
 * "  [libc.so.6]" or "  report.py:12", or nothing. A name that several functions have stands with
 * its place, and with the whole path where even that is not its own.
 */
static const char *describe_function(const struct ep_tally *tally, const struct ep_labels *labels,
				     const struct ep_tally_row *row, char *buf)
{
	const struct ep_place place = ep_column_place(tally, row);
	const struct ep_batch *batch = tally->batch;
	char text[EP_TEXT_BYTES], where[WHERE_BYTES];
	const char *path;

	buf[0] = '\0';
	if (*ep_labels_where(labels, &place, where, sizeof(where)))
		return put_place(strchr(where, '/') ? place.file : base_name(place.file),
				 row->number, buf);
	if (row->mapping != EP_TALLY_SEVERAL && row->mapping && row->mapping < batch->n_mappings) {
		path = base_name(string_at(batch, batch->mapping_path[row->mapping]));
		if (path[0] && !is_made_of(string_at(batch, row->name), path))
			snprintf(buf, WHERE_BYTES, path[0] == '[' ? "  %s" : "  [%s]",
				 ep_text_fit(path, WHERE_COLUMNS, text));
	} else if (row->file) {
		put_place(base_name(place.file), row->number, buf);
	}
	return buf;
}

static void print_row(const struct ep_report *report, const struct ep_tally *tally,
		      const struct ep_labels *labels, const struct ep_tally_row *row)
{
	char where[WHERE_BYTES] = "", weight[EP_WEIGHT_BYTES], numbers[EP_COLUMN_BYTES],
	     name[EP_COLUMN_BYTES], fit[EP_TEXT_BYTES];
	bool has_self = ep_columns[tally->by].has_self;
	unsigned int width = width_of(report), used;

	if (tally->by == EP_TALLY_FUNCTION)
		describe_function(tally, labels, row, where);
	else if (tally->by == EP_TALLY_LINE && row->file)
		put_place(base_name(string_at(report->batch, row->file)), row->number, where);
	ep_weight_text(report->batch, has_self && !report->by_total ? row->self : row->total,
		       weight, sizeof(weight));
	ep_column_numbers(tally->by, tally, row, false, numbers);
	used = (has_self ? 33 : 23) + (unsigned int)(strlen(numbers) + strlen(where));
	if (has_self)
		fprintf(report->out, "  %6.2f %%", ep_text_percent(row->self, tally->weight));
	fprintf(report->out, "  %6.2f %%  %9s  %s%s%s\n",
		ep_text_percent(row->total, tally->weight), weight, numbers,
		ep_text_fit_name(ep_column_name(tally, row, false, name),
				 EP_MAX(width, used + MIN_NAME) - used, fit),
		where);
}

static void print_table_heading(const struct ep_report *report, enum ep_tally_by by)
{
	const struct ep_columns *columns = &ep_columns[by];
	char text[EP_COLUMN_BYTES + 64], numbers[EP_COLUMN_BYTES];

	snprintf(text, sizeof(text), "%s  %9s  %s%s",
		 columns->has_self ? "      self     total" : "     share",
		 !columns->has_self ? "time"
		 : report->by_total ? "in total"
				    : "by itself",
		 ep_column_numbers(by, NULL, NULL, false, numbers), columns->heading);
	print_heading(report, text);
}

int ep_report_text_table(const struct ep_report *report, const struct ep_tally *tally)
{
	ep_cleanup(ep_labels_fini) struct ep_labels labels;
	const struct ep_tally_row *row;
	size_t n = 0;
	int r;

	ep_labels_init(&labels, false);
	r = tally->by == EP_TALLY_FUNCTION ? ep_columns_learn(&labels, tally) : 0;
	if (r < 0)
		return r;
	print_table_heading(report, tally->by);
	ep_vec_each (&tally->rows, row) {
		if (report->rows && n == report->rows)
			break;
		if (report->rows && ep_text_is_zero(ep_text_percent(row->total, tally->weight)))
			continue; /* self is no more */
		print_row(report, tally, &labels, row);
		n++;
	}
	if (n < tally->rows.len)
		fprintf(report->out, "  and %zu more: -n 0 shows all\n", tally->rows.len - n);
	return 0;
}

/* --- trees ----------------------------------------------------------------------------------- */

/*
 * Only where a stack parts is it indented: a node that is its parent's only one stands right below
 * it. `last` is the indentation of each depth, which a vector holds because depth comes from the
 * profile.
 */
static bool is_only_child(const struct ep_tree *tree, const struct ep_tree_node *node,
			  uint64_t least)
{
	const struct ep_tree_node *first =
		ep_tree_at(tree, ep_tree_at(tree, node->parent)->first_child);

	return first == node && (!node->next || ep_tree_at(tree, node->next)->total < least);
}

static int indent_of(struct ep_vec *indents, const struct ep_tree *tree,
		     const struct ep_tree_node *node, uint64_t least, int depth,
		     uint32_t *ret_indent)
{
	uint32_t above = depth ? *ep_vec_at(indents, uint32_t, depth - 1) : 0;
	bool is_root = node->parent == 0;

	*ret_indent = is_root || is_only_child(tree, node, least) ? above : above + 2;
	indents->len = (size_t)depth;
	return ep_vec_append(indents, ret_indent, 1);
}

static void print_node(const struct ep_report *report, const struct ep_tree_node *node,
		       uint64_t all, uint32_t indent, bool parts)
{
	const char *name = string_at(report->batch, node->name);
	uint32_t column = EP_MIN(indent, width_of(report) / 2 & ~1u);
	char buf[EP_TEXT_BYTES], first[EP_WEIGHT_BYTES];

	if (report->what == EP_REPORT_CALLERS)
		ep_weight_text(report->batch, node->total, first, sizeof(first));
	else
		snprintf(first, sizeof(first), "%.2f %%", ep_text_percent(node->self, all));
	fprintf(report->out, "  %9s  %6.2f %%  %*s%s%s\n", first, ep_text_percent(node->total, all),
		(int)column, "", parts ? "- " : "  ",
		ep_text_fit_name(name[0] ? name : "[unknown]", width_of(report) - 25 - column,
				 buf));
}

int ep_report_text_tree(const struct ep_report *report, const struct ep_tree *tree, uint64_t all)
{
	uint64_t least =
		EP_MAX((uint64_t)((unsigned __int128)all * report->least_10000 / 10000), 1ull);
	ep_cleanup(ep_vec_fini) struct ep_vec indents = {0};
	int depth = -1, r;
	uint32_t n = 0, first = ep_tree_at(tree, 0)->first_child;

	ep_vec_init(&indents, sizeof(uint32_t), EP_TREE_MAX_NODES);
	print_heading(report, report->what == EP_REPORT_CALLERS
				      ? "       time     share  called by"
				      : "       self     total  stacks from their roots");
	for (uint32_t node = ep_tree_next(tree, 0, least, &depth); node;
	     node = ep_tree_next(tree, node, least, &depth)) {
		const struct ep_tree_node *at = ep_tree_at(tree, node);
		uint32_t indent;

		if (report->rows && n++ == report->rows) {
			fprintf(report->out, "  and more: -n 0 shows all\n");
			break;
		}
		r = indent_of(&indents, tree, at, least, depth, &indent);
		if (r < 0)
			return r;
		print_node(report, at, all, indent,
			   !is_only_child(tree, at, least) || at->parent == 0);
	}
	if (all && (!first || ep_tree_at(tree, first)->total < least))
		fprintf(report->out, "  nothing has so much of it: --min 0 shows all\n");
	return 0;
}

/* --- source ---------------------------------------------------------------------------------- */

/* Of source the beginning matters: cut at the end, between code points. */
static const char *cut(const char *text, unsigned int columns, char *buf)
{
	char *pos = (char *)ep_text_fit(text, NO_TERMINAL_WIDTH, buf);

	for (; *pos; pos++)
		if (((unsigned char)*pos & 0xc0) != 0x80 && columns-- == 0)
			break;
	*pos = '\0';
	return buf;
}

static void print_source_line(const struct ep_report *report, const struct ep_source *source,
			      uint32_t line, const struct ep_tally_row *row)
{
	char self[EP_WEIGHT_BYTES] = ".", total[EP_WEIGHT_BYTES] = ".", number[16] = "?";
	char text[EP_TEXT_BYTES], buf[EP_TEXT_BYTES];

	if (row && row->self)
		ep_weight_text(report->batch, row->self, self, sizeof(self));
	if (row && row->total)
		ep_weight_text(report->batch, row->total, total, sizeof(total));
	if (line)
		snprintf(number, sizeof(number), "%u", line);
	ep_source_line(source, line, text, sizeof(text));
	fprintf(report->out, "  %9s  %9s  %6s%s%s\n", self, total, number, text[0] ? "  " : "",
		cut(text, width_of(report) - 34, buf));
}

/* Where the listing begins: at the function, if that is not far above. */
static uint32_t first_line(const struct ep_listed_function *function, uint32_t line)
{
	if (function->start_line && function->start_line <= line &&
	    line - function->start_line <= 4 * LIST_GAP)
		return function->start_line;
	return line > LIST_CONTEXT ? line - LIST_CONTEXT : 1;
}

static void print_lines(const struct ep_report *report, const struct ep_source *source,
			const struct ep_tally_row *rows, const struct ep_listed_function *function)
{
	uint32_t next = 0; /* line that is to be printed; 0: none was yet */

	for (size_t i = 0; i < function->n_rows; i++) {
		uint32_t line = rows[i].number;

		if (!source->lines.len || !line) {
			print_source_line(report, source, line, &rows[i]);
			continue;
		}
		if (!next) {
			next = first_line(function, line);
		} else if (line - next > LIST_GAP) {
			for (uint32_t end = next + LIST_CONTEXT; next < end; next++)
				print_source_line(report, source, next, NULL);
			fprintf(report->out, "%32s\n", "...");
			next = line - LIST_CONTEXT;
		}
		for (; next < line; next++)
			print_source_line(report, source, next, NULL);
		print_source_line(report, source, line, &rows[i]);
		next = line + 1;
	}
	for (uint32_t end = next + LIST_CONTEXT; next && next < end && next <= source->lines.len;
	     next++)
		print_source_line(report, source, next, NULL);
}

/* Root gives itself up before it reads what a profile names. */
static void say_denied(const struct ep_report *report)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user ? user->pw_name : "this user";
	char buf[EP_TEXT_BYTES];

	fprintf(report->out, "  the file may not be read by %s: run report as its owner%s\n",
		ep_text_fit(name, 32, buf),
		strcmp(name, "nobody") == 0 ? ", not as root, who reads source as nobody" : "");
}

static int print_function(const struct ep_report *report, const struct ep_tally *lines,
			  const struct ep_listed_function *function)
{
	const struct ep_batch *batch = report->batch;
	const char *name = string_at(batch, function->name),
		   *file = string_at(batch, function->file);
	const struct ep_tally_row *rows =
		ep_vec_at(&lines->rows, struct ep_tally_row, function->first_row);
	ep_cleanup(ep_source_fini) struct ep_source source = {0};
	char buf[EP_TEXT_BYTES], text[EP_TEXT_BYTES], self[EP_WEIGHT_BYTES], total[EP_WEIGHT_BYTES],
		heading[4 * EP_TEXT_BYTES];
	int r = ep_source_read(report->sources, file, name, &source);

	if (r == -ENOMEM)
		return r;
	snprintf(heading, sizeof(heading), "%s%s%s: %.2f %% by itself (%s), %.2f %% in total (%s)",
		 ep_text_fit_name(name, 200, buf), file[0] ? " in " : "",
		 ep_text_fit(source.path ? source.path : file, 200, text),
		 ep_text_percent(function->self, lines->weight),
		 ep_weight_text(batch, function->self, self, sizeof(self)),
		 ep_text_percent(function->total, lines->weight),
		 ep_weight_text(batch, function->total, total, sizeof(total)));
	print_heading(report, heading);
	if (!file[0])
		fprintf(report->out,
			"  its source is not known: native code has lines only where its debug info was read\n");
	else if (r == -EACCES)
		say_denied(report);
	else if (!source.path)
		fprintf(report->out,
			"  the file is not here: --source OLD=NEW replaces the beginning of its path, "
			"--source-dir DIR is searched for it\n");
	fprintf(report->out, "       self      total    line\n");
	print_lines(report, &source, rows, function);
	return 0;
}

int ep_report_text_list(const struct ep_report *report, const struct ep_listed *listed)
{
	const struct ep_listed_function *function;
	size_t n = 0;

	ep_vec_each (&listed->functions, function) {
		int r;

		if (report->rows && n == report->rows)
			break;
		r = print_function(report, &listed->lines, function);
		if (r < 0)
			return r;
		n++;
	}
	if (n < listed->functions.len)
		fprintf(report->out,
			"\nand %zu more functions of such a name: -n 0 lists them all\n",
			listed->functions.len - n);
	return 0;
}
