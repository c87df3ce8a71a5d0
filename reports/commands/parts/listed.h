/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose source is listed: for each the lines that have samples. */
#ifndef EP_REPORTS_LISTED_H
#define EP_REPORTS_LISTED_H

#include "reports/view/tally.h"

/* Lines of one function in one file. */
struct ep_listed_function {
	uint32_t name, file;  /* rows of strings */
	uint32_t start_line;  /* 0: not known */
	uint64_t self, total; /* of all functions of that name */
	size_t first_row, n_rows; /* of `lines` */
};

struct ep_listed {
	struct ep_tally lines;	 /* of these functions, by function, file and line */
	struct ep_vec functions; /* struct ep_listed_function, the largest total first */
};

/* Those whose names, rows of strings, are wanted. 0, -E2BIG, -ENOMEM; to be ended by fini in any
 * case. */
int ep_listed_make(const struct ep_batch *batch, const uint8_t *wanted,
		   struct ep_listed *ret_listed);
void ep_listed_fini(struct ep_listed *listed); /* accepts a zeroed one */

#endif
