/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/top_view.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/strings.h"
#include "core/cli/parts/text.h"
#include "core/profile/batch.h"
#include "ebpf-profiler/batch.h"
#include "reports/commands/parts/columns.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ROWS    20 /* of a table that is not drawn on a terminal */
#define TEXT_COLUMNS 160
#define HEAD_ROWS    4
#define FOOT_ROWS    1
#define LINE_BYTES   (2 * EP_TEXT_BYTES)
#define MAX_TEXT_BYTES	(32u << 20)
#define FORGET_BYTES	(8u << 20) /* so many texts are of seconds that are long over */

const struct ep_syntax ep_top_syntax = {
	.name = "top",
	.usage = "[-F HZ] [-p PID,..] [-a] [-d TIME] [--] [CMD ARG..]",
	.about = "where the time goes now, on the terminal",
	.text = "Shows where the CPU time of the last five seconds went, once a second, until q, "
		"Ctrl-C, or -d is over. What is looked at is chosen as for record (record --help): "
		"the whole machine, -p, --comm, CMD.. On a terminal, what CMD writes is not shown. "
		"Without one, each second one table is printed. CMD's exit status is passed on, "
		"unless it is 0.",
	.options = ep_record_options,
	.lists_no_options = true,
	.end = "  s          sort by self or by total time\n"
	       "  g          group by function, program, process, thread, user, unit,\n"
	       "             container, language\n"
	       "  f or /     only stacks with a function whose name matches a regular expression\n"
	       "  space      freeze what is shown; once more goes on\n"
	       "  w          write the last minute into profile-top-TIME.html, or what -o or -f\n"
	       "             say\n"
	       "  h or ?     the keys\n"
	       "  q          quit\n\n"
	       "  ebpf-profiler top                   the machine\n"
	       "  ebpf-profiler top -p 1234           a process and its children\n"
	       "  ebpf-profiler top -d 10 > log       ten tables",
	.words = EP_WORDS_COMMAND,
};

static const enum ep_tally_by groups[] = {
	EP_TALLY_FUNCTION, EP_TALLY_PROGRAM,   EP_TALLY_PROCESS, EP_TALLY_THREAD,
	EP_TALLY_USER,	   EP_TALLY_UNIT,      EP_TALLY_CONTAINER, EP_TALLY_KIND,
};

static const char *const help[] = {
	"s          sort by self or by total time",
	"g          group by function, program, process, thread, user, unit, container, language",
	"f or /     show only stacks with a function that matches a regular expression",
	"           Enter takes it, an empty one shows all again, Esc leaves it as it was",
	"space      freeze what is shown; once more goes on",
	"w          write a page of the last minute into this directory",
	"h or ?     this text",
	"q, Ctrl-C  quit",
	"",
	"self: CPU time in the function itself; total: with what it calls.",
	"The table is of the last five seconds, the first line of all since the start.",
};

int ep_top_view_init(struct ep_top_view *view)
{
	*view = (struct ep_top_view){.by = EP_TALLY_FUNCTION};
	ep_labels_init(&view->labels, false);
	return ep_strings_new(MAX_TEXT_BYTES, &view->texts);
}

void ep_top_view_fini(struct ep_top_view *view)
{
	ep_view_filter_free(view->filter);
	ep_strings_free(view->texts);
	ep_labels_fini(&view->labels);
	*view = (struct ep_top_view){0};
}

/* --- keys ------------------------------------------------------------------------------------ */

/* A wrong one is reported, and the one before stays. */
static enum ep_top_action take_regex(struct ep_top_view *view)
{
	ep_cleanup(ep_view_filter_freep) struct ep_view_filter *filter = NULL;
	char why[EP_VIEW_WHY_BYTES] = "";
	int r = 0;

	view->editing = false;
	if (view->typed[0]) {
		r = ep_view_filter_new(&filter);
		if (r == 0)
			r = ep_view_filter_add(filter, EP_VIEW_KEEP, view->typed, why);
	}
	if (r < 0) {
		snprintf(view->message, sizeof(view->message), "the filter %s",
			 why[0] ? why : ep_strerror(r));
		return EP_TOP_DRAW;
	}
	ep_view_filter_free(view->filter);
	view->filter = ep_take(filter);
	snprintf(view->regex, sizeof(view->regex), "%s", view->typed);
	return EP_TOP_COUNT;
}

static enum ep_top_action edit(struct ep_top_view *view, char key)
{
	size_t len = strlen(view->typed);

	if (key == '\r' || key == '\n')
		return take_regex(view);
	if (key == 0x7f || key == '\b') {
		while (len && (view->typed[--len] & 0xc0) == 0x80)
			; /* of one code point */
		view->typed[len] = '\0';
	} else if ((unsigned char)key >= 0x20 && len + 1 < sizeof(view->typed)) {
		view->typed[len] = key;
		view->typed[len + 1] = '\0';
	}
	return EP_TOP_DRAW;
}

static void next_group(struct ep_top_view *view)
{
	size_t i = 0;

	while (groups[i] != view->by)
		i++;
	view->by = groups[(i + 1) % EP_LEN(groups)];
}

static enum ep_top_action command(struct ep_top_view *view, char key)
{
	switch (key) {
	case 's':
		view->by_total = !view->by_total;
		return EP_TOP_DRAW;
	case 'g':
		next_group(view);
		return EP_TOP_COUNT;
	case 'f':
	case '/':
		view->editing = true;
		memcpy(view->typed, view->regex, sizeof(view->typed));
		return EP_TOP_DRAW;
	case ' ':
		view->frozen = !view->frozen;
		return EP_TOP_COUNT;
	case 'h':
	case '?':
		view->help = !view->help;
		return EP_TOP_DRAW;
	case 'w':
		return EP_TOP_WRITE;
	case 'q':
		return EP_TOP_QUIT;
	}
	return EP_TOP_NOTHING;
}

/* Arrows and such are ESC [ .. letter: nothing of them is a command. ESC alone leaves what is open.
 */
static bool is_of_escape(struct ep_top_view *view, char key)
{
	if (key == '\033') {
		view->escape = 1;
		return true;
	}
	if (view->escape == 1) {
		view->escape = key == '[' || key == 'O' ? 2 : 0;
		return view->escape == 2;
	}
	if (view->escape == 2) {
		view->escape = key >= 0x40 && key <= 0x7e ? 0 : 2;
		return true;
	}
	return false;
}

enum ep_top_action ep_top_view_key(struct ep_top_view *view, char key)
{
	view->message[0] = '\0';
	if (is_of_escape(view, key)) {
		view->editing = view->help = false;
		return EP_TOP_DRAW;
	}
	return view->editing ? edit(view, key) : command(view, key);
}

/* --- counting -------------------------------------------------------------------------------- */

/*
 * What a row is: "    1234  comm  /path". A function's name that is that of several stands with its
 * place, from when a second one was seen.
 */
static void describe_row(const struct ep_top_view *view, const struct ep_tally *tally,
			 const struct ep_tally_row *row, char buf[LINE_BYTES])
{
	char numbers[EP_COLUMN_BYTES], name[EP_COLUMN_BYTES], where[LINE_BYTES] = "";
	struct ep_place place = ep_column_place(tally, row);

	if (tally->by == EP_TALLY_FUNCTION && place.name[0])
		ep_labels_where(&view->labels, &place, where, sizeof(where));
	snprintf(buf, LINE_BYTES, "%s%s%s", ep_column_numbers(tally->by, tally, row, true, numbers),
		 ep_column_name(tally, row, true, name), where);
}

/* What has no space counts as the first text, which is "". */
static int take_rows(struct ep_top_view *view, const struct ep_tally *tally, struct ep_vec *rows)
{
	const struct ep_tally_row *from;
	int r = 0;

	ep_vec_each(&tally->rows, from) {
		struct ep_top_row row = {.self = from->self, .total = from->total};
		char buf[LINE_BYTES];

		describe_row(view, tally, from, buf);
		r = ep_strings_add(view->texts, buf, strlen(buf), &row.text);
		if (r == 0 || r == -E2BIG)
			r = ep_vec_append(rows, &row, 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int count_rows(struct ep_top_view *view, const struct ep_batch *batch,
		      struct ep_top_second *second)
{
	ep_cleanup(ep_batch_unrefp) struct ep_batch *filtered = NULL;
	ep_cleanup(ep_tally_fini) struct ep_tally tally = {0};
	char why[EP_VIEW_WHY_BYTES];
	int r = 0;

	/* The filter makes a batch of its own. */
	if (view->filter)
		r = ep_view_filter_apply(view->filter, (struct ep_batch *)(uintptr_t)batch,
					 &filtered, why);
	if (r == 0)
		r = ep_tally_make(filtered ? filtered : batch, view->by, &tally);
	if (r == 0 && view->by == EP_TALLY_FUNCTION)
		r = ep_columns_learn(&view->labels, &tally);
	if (r == 0)
		r = take_rows(view, &tally, &second->rows);
	second->weight = tally.weight;
	return r;
}

static int forget_texts(struct ep_top_view *view)
{
	struct ep_strings *texts = NULL;
	int r = ep_strings_new(MAX_TEXT_BYTES, &texts);

	if (r < 0)
		return r;
	ep_strings_free(view->texts);
	view->texts = texts;
	ep_labels_fini(&view->labels);
	ep_labels_init(&view->labels, false);
	return EP_TOP_TEXTS_FULL;
}

int ep_top_view_count(struct ep_top_view *view, const struct ep_batch *batch,
		      struct ep_top_second *ret_second)
{
	struct ep_top_second second = {.duration_ns = batch->duration_ns, .n_cpus = batch->n_cpus};
	int forgotten = ep_strings_bytes(view->texts) > FORGET_BYTES ? forget_texts(view) : 0, r;

	if (forgotten < 0)
		return forgotten;
	ep_vec_init(&second.rows, sizeof(struct ep_top_row), UINT32_MAX);
	for (uint32_t i = 0; i < batch->n_samples; i++)
		second.all_weight += ep_batch_weight_ns(batch, i);
	r = count_rows(view, batch, &second);
	if (r < 0) {
		ep_top_second_fini(&second);
		return r;
	}
	*ret_second = second;
	return forgotten;
}

void ep_top_second_fini(struct ep_top_second *second)
{
	ep_vec_fini(&second->rows);
	*second = (struct ep_top_second){0};
}

/* --- sums ------------------------------------------------------------------------------------ */

struct sums {
	const struct ep_strings *texts;
	struct ep_vec rows; /* struct ep_top_row, by text; then sorted */
	uint64_t weight, all_weight, duration_ns;
	uint32_t n_cpus;
};

static void sums_fini(struct sums *sums)
{
	ep_vec_fini(&sums->rows);
}

static int descending(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_self(const void *left, const void *right, void *sums)
{
	const struct ep_top_row *a = left, *b = right;
	const struct ep_strings *texts = ((const struct sums *)sums)->texts;
	int order = descending(a->self, b->self);

	order = order ? order : descending(a->total, b->total);
	return order ? order
		     : strcmp(ep_strings_get(texts, a->text), ep_strings_get(texts, b->text));
}

static int by_total(const void *left, const void *right, void *sums)
{
	const struct ep_top_row *a = left, *b = right;
	const struct ep_strings *texts = ((const struct sums *)sums)->texts;
	int order = descending(a->total, b->total);

	order = order ? order : descending(a->self, b->self);
	return order ? order
		     : strcmp(ep_strings_get(texts, a->text), ep_strings_get(texts, b->text));
}

static void add_second(struct sums *sums, const struct ep_top_second *second)
{
	const struct ep_top_row *row;

	sums->weight += second->weight;
	sums->all_weight += second->all_weight;
	sums->duration_ns += second->duration_ns;
	sums->n_cpus = second->n_cpus;
	ep_vec_each(&second->rows, row) {
		struct ep_top_row *sum = ep_vec_at(&sums->rows, struct ep_top_row, row->text);

		sum->text = row->text;
		sum->self += row->self;
		sum->total += row->total;
	}
}

static void drop_empty(struct ep_vec *rows)
{
	struct ep_top_row *row = rows->data;
	size_t n = 0;

	for (size_t i = 0; i < rows->len; i++)
		if (row[i].total)
			row[n++] = row[i];
	rows->len = n;
}

static int add_up(struct sums *sums, const struct ep_top_view *view, const struct ep_top_data *data)
{
	int r;

	sums->texts = view->texts;
	ep_vec_init(&sums->rows, sizeof(struct ep_top_row), UINT32_MAX);
	r = ep_vec_append(&sums->rows, NULL, ep_strings_count(view->texts) + 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i < data->n_seconds; i++)
		add_second(sums, &data->seconds[i]);
	drop_empty(&sums->rows);
	if (sums->rows.len > 1)
		qsort_r(sums->rows.data, sums->rows.len, sizeof(struct ep_top_row),
			view->by_total ? by_total : by_self, sums);
	return 0;
}

/* --- drawing --------------------------------------------------------------------------------- */

struct drawing {
	const struct ep_top_view *view;
	const struct ep_top_data *data;
	FILE *out;
	unsigned int rows, columns; /* rows 0: text */
	unsigned int row;
};

static void put_line(struct drawing *drawing, const char *fmt, ...) EP_PRINTF(2, 3);

/* Never wider than the terminal: a line that wraps would move all below. Nothing in it drives the
 * terminal. */
static void put_line(struct drawing *drawing, const char *fmt, ...)
{
	char line[LINE_BYTES], fit[EP_TEXT_BYTES];
	va_list list;

	if (drawing->rows && drawing->row >= drawing->rows)
		return;
	va_start(list, fmt);
	vsnprintf(line, sizeof(line), fmt, list);
	va_end(list);
	fputs(ep_text_fit(line, drawing->columns, fit), drawing->out);
	drawing->row++;
	if (!drawing->rows)
		fputc('\n', drawing->out);
	else
		fputs(drawing->row < drawing->rows ? "\033[K\r\n" : "\033[K", drawing->out);
}

static const char *heading_of(enum ep_tally_by by)
{
	const struct ep_columns *columns = &ep_columns[by];

	return columns->top_heading ? columns->top_heading : columns->heading;
}

static void put_head(struct drawing *drawing, const struct sums *sums)
{
	const struct ep_top_view *view = drawing->view;
	const struct ep_top_data *data = drawing->data;
	char progress[EP_PROGRESS_BYTES];
	const char *group = heading_of(view->by);

	put_line(drawing, "ebpf-profiler top: %s",
		 ep_progress_format(&data->progress, 0, progress));
	if (sums->n_cpus && sums->duration_ns)
		put_line(drawing, "%.0f s: %.2f s of CPU time, %.0f %% of %u CPU%s%s",
			 (double)sums->duration_ns / EP_NS_PER_SEC,
			 (double)sums->all_weight / EP_NS_PER_SEC,
			 ep_text_percent(sums->all_weight, sums->duration_ns * sums->n_cpus),
			 sums->n_cpus, sums->n_cpus == 1 ? "" : "s",
			 view->frozen ? "; frozen" : "");
	else
		put_line(drawing, "%s", "");
	if (view->editing)
		put_line(drawing, "filter: %s_", view->typed);
	else if (view->message[0])
		put_line(drawing, "%s", view->message);
	else if (view->regex[0])
		put_line(drawing, "by %s; only stacks with /%s/: %.2f %%", group, view->regex,
			 ep_text_percent(sums->weight, sums->all_weight));
	else
		put_line(drawing, "by %s", group);
}

static void put_row(struct drawing *drawing, const struct sums *sums, const struct ep_top_row *row)
{
	bool has_self = ep_columns[drawing->view->by].has_self;
	const char *text = ep_strings_get(sums->texts, row->text);
	char name[EP_TEXT_BYTES], self[16] = "";

	if (has_self)
		snprintf(self, sizeof(self), "%6.2f %%  ",
			 ep_text_percent(row->self, sums->all_weight));
	put_line(drawing, "%s%6.2f %%  %s", self, ep_text_percent(row->total, sums->all_weight),
		 ep_text_fit_name(text, drawing->columns - (has_self ? 20 : 10), name));
}

static void put_table(struct drawing *drawing, const struct sums *sums)
{
	unsigned int room = drawing->rows ? drawing->rows - FOOT_ROWS : HEAD_ROWS + TEXT_ROWS;
	enum ep_tally_by by = drawing->view->by;
	bool has_self = ep_columns[by].has_self;
	char numbers[EP_COLUMN_BYTES];
	const struct ep_top_row *row;

	put_line(drawing, "%s  %s%s%s", has_self ? "    self     total" : "   share",
		 ep_column_numbers(by, NULL, NULL, true, numbers), heading_of(by),
		 !has_self			? ""
		 : drawing->view->by_total ? ", by total"
					   : ", by self");
	ep_vec_each(&sums->rows, row) {
		if (drawing->row >= room)
			break;
		if (!ep_text_is_zero(ep_text_percent(row->total, sums->all_weight)))
			put_row(drawing, sums, row);
	}
}

static void put_foot(struct drawing *drawing)
{
	while (drawing->row + FOOT_ROWS < drawing->rows)
		put_line(drawing, "%s", "");
	put_line(drawing, "s sort  g group  f filter  space %s  w write page  h help  q quit",
		 drawing->view->frozen ? "go on" : "freeze");
}

int ep_top_view_draw(const struct ep_top_view *view, const struct ep_top_data *data,
		     unsigned int rows, unsigned int columns, FILE *out)
{
	ep_cleanup(sums_fini) struct sums sums = {0};
	struct drawing drawing = {
		.view = view,
		.data = data,
		.out = out,
		.rows = rows ? EP_MAX(rows, HEAD_ROWS + FOOT_ROWS + 1u) : 0,
		.columns = rows ? EP_MAX(columns, 40u) : TEXT_COLUMNS,
	};
	int r = add_up(&sums, view, data);

	if (r < 0)
		return r;
	if (rows)
		fputs("\033[H", out);
	put_head(&drawing, &sums);
	if (view->help)
		for (size_t i = 0; i < EP_LEN(help); i++)
			put_line(&drawing, "%s", help[i]);
	else
		put_table(&drawing, &sums);
	if (rows)
		put_foot(&drawing);
	else
		fputc('\n', out);
	return 0;
}
