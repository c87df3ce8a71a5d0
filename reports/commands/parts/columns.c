/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/columns.h"
#include "core/cli/parts/text.h"
#include "ebpf-profiler/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY(value, key)	  {EP_COLUMN_##value, key, NULL, false, false}
#define KNOWN(value, key) {EP_COLUMN_##value, key, NULL, true, false}
#define SHOWN(value, key) {EP_COLUMN_##value, key, key, false, false}
#define OWNER		  KEY(COMM, "comm"), KEY(EXE, "exe"), KEY(CONTAINER, "container")

/* clang-format off */
const struct ep_columns ep_columns[] = {
	[EP_TALLY_FUNCTION] = {"function", "[unknown]", NULL, "[no name]", true,
		{KEY(NAME, "name"), KNOWN(FILE, "file"), KNOWN(NUMBER, "line"),
		 KNOWN(MAPPING, "module")}},
	[EP_TALLY_LINE] = {"line", "[unknown]", NULL, NULL, true,
		{KEY(NAME, "name"), KEY(FILE, "file"), KEY(NUMBER, "line")}},
	[EP_TALLY_MODULE] = {"module", "[unknown]", NULL, NULL, true,
		{KNOWN(MODULE_NAME, "module"), KNOWN(KIND_NAME, "kind")}},
	[EP_TALLY_KIND] = {"kind of frame", "[unknown]", "language", "[no name]", true,
		{KEY(NAME, "kind")}},
	[EP_TALLY_PROCESS] = {"process", "", NULL, NULL, false,
		{KEY(NAME, "name"), SHOWN(PID, "pid"), OWNER}}, /* a name, as functions have one */
	[EP_TALLY_THREAD] = {"thread", "[unknown]", NULL, NULL, false,
		{{EP_COLUMN_PID, "pid", "pid", false, true}, SHOWN(NUMBER, "tid"),
		 KEY(NAME, "thread"), OWNER}},
	[EP_TALLY_CONTAINER] = {"container", "(outside of any container)", NULL, "[none]", false,
		{KEY(NAME, "container")}},
	[EP_TALLY_PROGRAM] = {"program", "[unknown]", NULL, NULL, false, {KEY(NAME, "program")}},
	[EP_TALLY_COMM] = {"name of process", "[unknown]", NULL, NULL, false, {KEY(NAME, "comm")}},
	[EP_TALLY_USER] = {"user", "[unknown]", NULL, NULL, false, {KEY(NAME, "user")}},
	[EP_TALLY_UNIT] = {"unit", "[unknown]", NULL, NULL, false, {KEY(NAME, "unit")}},
	[EP_TALLY_CPU] = {"CPU", "", NULL, NULL, false, {KEY(NUMBER, "cpu")}},
};
/* clang-format on */

static struct ep_cell string_cell(const struct ep_batch *batch, uint32_t string, bool is_known)
{
	return (struct ep_cell){.text = batch->string_text[string], .is_known = is_known};
}

struct ep_cell ep_column_cell(const struct ep_tally *tally, const struct ep_tally_row *row,
			      enum ep_column_value value)
{
	const struct ep_batch *batch = tally->batch;
	bool has_mapping = row->mapping != EP_TALLY_SEVERAL && row->mapping &&
			   row->mapping < batch->n_mappings;

	switch (value) {
	case EP_COLUMN_NAME:
		return string_cell(batch, row->name, true);
	case EP_COLUMN_MODULE_NAME:
		return string_cell(batch, row->name, row->number != 0);
	case EP_COLUMN_KIND_NAME:
		return string_cell(batch, row->name, row->number == 0);
	case EP_COLUMN_FILE:
		return string_cell(batch, row->file, row->file != 0);
	case EP_COLUMN_MAPPING:
		return string_cell(batch, has_mapping ? batch->mapping_path[row->mapping] : 0,
				   has_mapping);
	case EP_COLUMN_COMM:
		return string_cell(batch, batch->process_comm[row->process], true);
	case EP_COLUMN_EXE:
		return string_cell(batch, batch->process_exe_path[row->process], true);
	case EP_COLUMN_CONTAINER:
		return string_cell(batch, batch->process_container_id[row->process], true);
	case EP_COLUMN_PID:
		return (struct ep_cell){.number = batch->process_pid[row->process],
					.is_known = true};
	case EP_COLUMN_NUMBER:
		return (struct ep_cell){.number = row->number, .is_known = row->number != 0};
	case EP_COLUMN_END:
		break;
	}
	return (struct ep_cell){0};
}

const char *ep_column_numbers(enum ep_tally_by by, const struct ep_tally *tally,
			      const struct ep_tally_row *row, bool is_top,
			      char buf[EP_COLUMN_BYTES])
{
	size_t bytes = 0;

	buf[0] = '\0';
	for (const struct ep_column *column = ep_columns[by].list; column->value; column++) {
		if (!column->heading || (is_top && column->is_of_report))
			continue;
		if (row)
			snprintf(buf + bytes, EP_COLUMN_BYTES - bytes, "%8" PRIu64 "  ",
				 ep_column_cell(tally, row, column->value).number);
		else
			snprintf(buf + bytes, EP_COLUMN_BYTES - bytes, "%8s  ", column->heading);
		bytes = strlen(buf);
	}
	return buf;
}

const char *ep_column_name(const struct ep_tally *tally, const struct ep_tally_row *row,
			   bool is_top, char buf[EP_COLUMN_BYTES])
{
	const struct ep_columns *columns = &ep_columns[tally->by];
	const char *name = ep_column_cell(tally, row, EP_COLUMN_NAME).text, *other;
	const char *nameless = is_top && columns->top_nameless ? columns->top_nameless
							       : columns->nameless;
	char fit[EP_TEXT_BYTES];

	switch (tally->by) {
	case EP_TALLY_MODULE:
		if (row->number)
			break;
		snprintf(buf, EP_COLUMN_BYTES, "[%s]",
			 ep_text_fit(name[0] ? name : "unknown", 100, fit));
		return buf;
	case EP_TALLY_PROCESS:
		other = ep_column_cell(tally, row, EP_COLUMN_EXE).text;
		snprintf(buf, EP_COLUMN_BYTES, other[0] ? "%-16s  %s" : "%s",
			 ep_text_fit(name, 16, fit), other);
		return buf;
	case EP_TALLY_PROGRAM:
		other = strrchr(name, '/');
		if (!other)
			break;
		snprintf(buf, EP_COLUMN_BYTES, "%-16s  %s", ep_text_fit(other + 1, 16, fit), name);
		return buf;
	case EP_TALLY_THREAD:
		other = ep_column_cell(tally, row, EP_COLUMN_COMM).text;
		if (!is_top) {
			name = name[0] ? name : other;
			break;
		}
		snprintf(buf, EP_COLUMN_BYTES, "%-16s  of %" PRIu64 " %s", name,
			 ep_column_cell(tally, row, EP_COLUMN_PID).number, other);
		return buf;
	case EP_TALLY_CPU:
		snprintf(buf, EP_COLUMN_BYTES, "CPU %u", row->number);
		return buf;
	case EP_TALLY_FUNCTION:
	case EP_TALLY_LINE:
	case EP_TALLY_KIND:
	case EP_TALLY_CONTAINER:
	case EP_TALLY_COMM:
	case EP_TALLY_USER:
	case EP_TALLY_UNIT:
	case EP_TALLY_COUNT:
		break;
	}
	return name[0] ? name : nameless;
}

struct ep_place ep_column_place(const struct ep_tally *tally, const struct ep_tally_row *row)
{
	return (struct ep_place){
		.name = tally->batch->string_text[row->name],
		.file = tally->batch->string_text[row->file],
		.line = row->number,
	};
}

int ep_columns_learn(struct ep_labels *labels, const struct ep_tally *tally)
{
	const struct ep_tally_row *row;
	int r = 0;

	ep_vec_each (&tally->rows, row) {
		const struct ep_place place = ep_column_place(tally, row);

		r = r < 0 ? r : ep_labels_learn_place(labels, 0, &place);
	}
	return r;
}
