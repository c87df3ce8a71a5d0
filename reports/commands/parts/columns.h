/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a tally's table: one description, of which the text of `report`, its JSON and
 * `top` are made. Shares and weights stand in front in all of them; here is what a row is.
 */
#ifndef EP_REPORTS_COLUMNS_H
#define EP_REPORTS_COLUMNS_H

#include "core/profile/labels.h"
#include "reports/view/tally.h"

enum ep_column_value {
	EP_COLUMN_END,
	EP_COLUMN_NAME,	  /* of what the row is of */
	EP_COLUMN_NUMBER, /* its line, tid or CPU */
	EP_COLUMN_FILE,
	EP_COLUMN_MAPPING,     /* path of the one module that it is in */
	EP_COLUMN_MODULE_NAME, /* of a module: its path; of frames without one their kind */
	EP_COLUMN_KIND_NAME,
	EP_COLUMN_PID,
	EP_COLUMN_COMM,
	EP_COLUMN_EXE,
	EP_COLUMN_CONTAINER,
};

struct ep_column {
	enum ep_column_value value;
	const char *key;     /* in JSON; NULL: it is not there */
	const char *heading; /* of a number in text; NULL: it is not there */
	bool is_optional;    /* JSON leaves out what is not known */
	bool is_of_report;   /* `top` leaves it out */
};

/* A line of text ends with its name, which is as wide as there is space. */
struct ep_columns {
	const char *heading, *nameless;		/* of the name; what stands for one that is "" */
	const char *top_heading, *top_nameless; /* NULL: the same */
	bool has_self; /* a row has time by itself and time with what it calls */
	struct ep_column list[8];
};

/* By enum ep_tally_by. */
extern const struct ep_columns ep_columns[];

struct ep_cell {
	const char *text; /* NULL: a number */
	uint64_t number;
	bool is_known;
};

struct ep_cell ep_column_cell(const struct ep_tally *tally, const struct ep_tally_row *row,
			      enum ep_column_value value);

/* The numbers of a row, each "    1234  ", or their headings, where row is NULL. Returns buf. */
#define EP_COLUMN_BYTES 2560
const char *ep_column_numbers(enum ep_tally_by by, const struct ep_tally *tally,
			      const struct ep_tally_row *row, bool is_top,
			      char buf[EP_COLUMN_BYTES]);
/* What ends its line, and may have to be cut; of functions and lines their place is still to come.
 */
const char *ep_column_name(const struct ep_tally *tally, const struct ep_tally_row *row,
			   bool is_top, char buf[EP_COLUMN_BYTES]);

/* Of a row that is a function, as core/profile/labels.h wants it; and all of them. 0 or -ENOMEM. */
struct ep_place ep_column_place(const struct ep_tally *tally, const struct ep_tally_row *row);
int ep_columns_learn(struct ep_labels *labels, const struct ep_tally *tally);

#endif
