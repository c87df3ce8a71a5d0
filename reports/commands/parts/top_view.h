/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `top` shows of a profile, and what keys change of that: one table, of functions or of what
 * the samples are grouped by, in so many rows and columns. It neither reads keys nor writes to a
 * terminal itself.
 */
#ifndef EP_REPORTS_TOP_VIEW_H
#define EP_REPORTS_TOP_VIEW_H

#include "core/cli/parts/args.h"
#include "core/cli/parts/progress.h"
#include "core/profile/labels.h"
#include "reports/view/filter.h"
#include "reports/view/tally.h"

#include <stdio.h>

#define EP_TOP_REGEX_BYTES 128

extern const struct ep_syntax ep_top_syntax;

struct ep_top_view {
	enum ep_tally_by by;
	bool by_total, frozen, help;
	bool editing;			  /* the regular expression is being typed */
	char typed[EP_TOP_REGEX_BYTES];
	char regex[EP_TOP_REGEX_BYTES];	  /* "": everything is shown */
	struct ep_view_filter *filter;	  /* of regex; NULL: none */
	struct ep_strings *texts;	  /* of the rows of all seconds */
	struct ep_labels labels;	  /* of their functions */
	char message[EP_VIEW_WHY_BYTES + 64]; /* until the next key */
	unsigned int escape;		  /* bytes of an escape sequence that were seen */
};

enum ep_top_action {
	EP_TOP_NOTHING,
	EP_TOP_DRAW,  /* something else is to be shown of the same seconds */
	EP_TOP_COUNT, /* the group or the filter has changed, or freeze: seconds are to be counted
			 again */
	EP_TOP_WRITE, /* the page */
	EP_TOP_QUIT,
};

/* One row of a second: equal texts are one row of the table. */
struct ep_top_row {
	uint64_t self, total;
	uint32_t text; /* of the view's texts */
};

/* What was sampled in it, by what the view groups by, filtered. */
struct ep_top_second {
	struct ep_vec rows; /* struct ep_top_row */
	uint64_t weight, all_weight; /* all: before the filter */
	uint64_t duration_ns;
	uint32_t n_cpus;
};

/* What is shown: the sum of the last seconds. */
struct ep_top_data {
	const struct ep_top_second *seconds;
	size_t n_seconds;
	struct ep_progress progress; /* since the start */
};

int ep_top_view_init(struct ep_top_view *view); /* 0, -ENOMEM */
void ep_top_view_fini(struct ep_top_view *view);
/* One byte that was typed. */
enum ep_top_action ep_top_view_key(struct ep_top_view *view, char key);
/*
 * Counts a batch. 0, -ENOMEM. EP_TOP_TEXTS_FULL: texts were forgotten, and all seconds that were
 * counted before are to be counted again; this one is counted.
 */
#define EP_TOP_TEXTS_FULL 1
int ep_top_view_count(struct ep_top_view *view, const struct ep_batch *batch,
		      struct ep_top_second *ret_second);
void ep_top_second_fini(struct ep_top_second *second); /* accepts a zeroed one */
/*
 * On a terminal: each line ends with what clears its rest. Without one (rows 0) as plain text, of
 * which no line is cut that need not be. 0, -ENOMEM.
 */
int ep_top_view_draw(const struct ep_top_view *view, const struct ep_top_data *data,
		     unsigned int rows, unsigned int columns, FILE *out);

#endif
