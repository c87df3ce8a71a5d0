/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a configuration: a list of lines "file:line:column: sentence", all of them,
 * so that one look is enough. Bounded; what does not fit is counted.
 */
#ifndef EP_CONFIG_PROBLEMS_H
#define EP_CONFIG_PROBLEMS_H

#include "core/base/util.h"
#include "core/base/vec.h"

#include <stdio.h>

/* Where a value or a mistake is. line 0: the whole file, or no file but a flag or a variable. */
struct ep_config_where {
	const char *origin; /* borrowed: path, "EBPF_PROFILER_...", "-F" */
	uint32_t line, column;
};

struct ep_config_problem {
	char *origin; /* owned */
	uint32_t line, column;
	char *text; /* owned: one sentence without a full stop */
};

struct ep_config_problems {
	struct ep_vec list; /* struct ep_config_problem */
	size_t dropped;	    /* beyond the maximum, or out of memory */
};

void ep_config_problems_init(struct ep_config_problems *problems);
void ep_config_problems_fini(struct ep_config_problems *problems);

void ep_config_problem_add(struct ep_config_problems *problems, struct ep_config_where where,
			   const char *fmt, ...) EP_PRINTF(3, 4);
size_t ep_config_problems_count(const struct ep_config_problems *problems);
/* By origin and position, one a line. */
void ep_config_problems_print(struct ep_config_problems *problems, FILE *out);

/*
 * The candidate that `word` was probably meant to be: the smallest edit distance (a swap of two
 * neighbours is one edit), at most a third of the word's length and at least 1; NULL for none.
 */
const char *ep_suggest(const char *word, const char *const *candidates, size_t n);
size_t ep_edit_distance(const char *a, const char *b);

#endif
