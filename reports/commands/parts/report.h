/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `report` prints: one profile as a table, as a tree, as the callers of a function, or as
 * source with its cost beside it; for people, or as JSON. Names are hostile: on a terminal only
 * what is printable is printed, and in JSON they are strings.
 */
#ifndef EP_REPORTS_REPORT_H
#define EP_REPORTS_REPORT_H

#include "reports/commands/parts/source.h"
#include "reports/view/tally.h"
#include "reports/view/tree.h"

#include <stdio.h>

struct ep_batch;
struct ep_quality;

enum ep_report_what {
	EP_REPORT_TABLE,
	EP_REPORT_TREE,
	EP_REPORT_CALLERS,
	EP_REPORT_LIST,
};

struct ep_report {
	FILE *out;
	const struct ep_batch *batch;
	const char *title; /* file or files */
	bool filtered;	   /* the batch is a part of what they hold */
	enum ep_report_what what;
	enum ep_tally_by by;
	const char *function; /* of callers and list */
	bool by_total;
	bool json;
	uint32_t rows;	      /* of a table; 0: all */
	uint32_t least_10000; /* of a tree: nodes of a smaller share are left out */
	unsigned int width;   /* columns; 0: no terminal */
	bool color;
	const struct ep_source_rules *sources;
};

/* 0, -ENOMEM, -EIO; -ENOENT: no function is called so (nothing is printed then). */
int ep_report_print(const struct ep_report *report);

/* --- between report*.c ----------------------------------------------------------------------- */

/* Lines of one function in one file, which `list` shows together. */
struct ep_report_function {
	uint32_t name, file;  /* rows of strings */
	uint32_t start_line;  /* 0: not known */
	uint64_t self, total; /* of all functions of that name */
	size_t first_row,
		n_rows; /* of the tally, which is sorted by function, file and line then */
};

bool ep_report_is_time(const struct ep_batch *batch);
const char *ep_report_unit(const struct ep_batch *batch);
/* "1.23 s", "12.0 ms", or the number where it is no time. */
const char *ep_report_weight(const struct ep_batch *batch, uint64_t weight, char *buf, size_t size);
void ep_report_json_string(FILE *out, const char *text);

int ep_report_text_head(const struct ep_report *report, const struct ep_quality *quality);
int ep_report_text_table(const struct ep_report *report, const struct ep_tally *tally);
int ep_report_text_tree(const struct ep_report *report, const struct ep_tree *tree, uint64_t all);
int ep_report_text_function(const struct ep_report *report, const struct ep_tally *lines,
			    const struct ep_report_function *function);

void ep_report_json_head(const struct ep_report *report, const struct ep_quality *quality);
void ep_report_json_table(const struct ep_report *report, const struct ep_tally *tally);
void ep_report_json_tree(const struct ep_report *report, const struct ep_tree *tree, uint64_t all);
int ep_report_json_function(const struct ep_report *report, const struct ep_tally *lines,
			    const struct ep_report_function *function, bool first);

#endif
