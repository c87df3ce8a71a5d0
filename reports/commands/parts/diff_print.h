/* SPDX-License-Identifier: Apache-2.0 */
/* What `diff` prints of two profiles that were compared: tables for people, or JSON. */
#ifndef EP_REPORTS_DIFF_PRINT_H
#define EP_REPORTS_DIFF_PRINT_H

#include "reports/view/movers.h"
#include "reports/view/tally.h"

#include <stdio.h>

struct ep_diff_print {
	const char *title_a, *title_b; /* "a.otlp.gz", "b.otlp.gz and 2 more" */
	enum ep_movers_amount amount; /* that was compared */
	enum ep_tally_by by;	      /* of what */
	uint32_t rows;	    /* of each table; 0: all */
	unsigned int width; /* columns; 0: 100 */
	bool color;
};

/* Sorts the movers. */
void ep_diff_print_text(FILE *out, struct ep_movers *movers, const struct ep_diff_print *print);
void ep_diff_print_json(FILE *out, const struct ep_movers *movers, const struct ep_diff_print *print);

/*
 * The function whose lower end is largest, of those above `limit`, a number of the tables' unit;
 * NULL: none is. A function that takes more by itself is named before its callers.
 */
const struct ep_mover *ep_diff_worst(const struct ep_movers *movers, enum ep_movers_amount amount,
				     double limit, double *ret_low);
/* What that number is of: " points", " % of one CPU", " s". */
const char *ep_diff_unit(const struct ep_movers *movers, enum ep_movers_amount amount);
/* ep_movers_least_change in this unit. */
double ep_diff_least_change(const struct ep_movers *movers, enum ep_movers_amount amount,
			    double share);

#endif
