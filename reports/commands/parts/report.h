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

#include <stdio.h>

struct ep_batch;

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

#endif
