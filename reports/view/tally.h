/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight of a batch's samples (CPU time, in what is recorded here) by function, line, module
 * and so on. `self` is that of stacks with the thing at their leaf, `total` that of stacks it is
 * anywhere in, once however often: recursion counts once. Frames that say why others are missing
 * count where they are the leaf.
 *
 * A function is its name, its file and the line where it begins, as far as these are known: of
 * native code, which has no file here, its name alone.
 */
#ifndef EP_VIEW_TALLY_H
#define EP_VIEW_TALLY_H

#include "core/base/util.h"
#include "core/base/vec.h"

struct ep_batch;

enum ep_tally_by {
	EP_TALLY_FUNCTION,
	EP_TALLY_LINE,
	EP_TALLY_MODULE,
	EP_TALLY_KIND,
	EP_TALLY_PROCESS, /* from here on of samples: self and total are equal */
	EP_TALLY_THREAD,
	EP_TALLY_CONTAINER,
	EP_TALLY_CPU,
	EP_TALLY_PROGRAM,
	EP_TALLY_COMM,
	EP_TALLY_USER,
	EP_TALLY_UNIT,
	EP_TALLY_COUNT
};

#define EP_TALLY_SEVERAL UINT32_MAX

struct ep_tally_row {
	uint64_t self, total;		      /* weight */
	uint64_t self_samples, total_samples; /* how many samples that is */
	/*
	 * Row of strings: a function's name, a module's path, a kind, a thread's name, a
	 * container's id, a program's path or, where that is not known, its process's name. Of a module that no mapping has, the kind of its frames. 0 of a function:
	 * locations without a name.
	 */
	uint32_t name;
	uint32_t file;	  /* row of strings: of a line, of a function */
	uint32_t number;  /* line; tid; CPU; of a function its first line; of a module 1 if it has a
			     mapping */
	uint32_t mapping; /* row of mappings: of a function, or EP_TALLY_SEVERAL */
	uint32_t process; /* row of processes: of a process or thread */
	uint32_t pad;
};

struct ep_tally {
	const struct ep_batch *batch; /* borrowed */
	enum ep_tally_by by;
	bool by_name;		  /* functions of one name and file are one row */
	struct ep_vec rows;	  /* struct ep_tally_row, none that was not sampled */
	uint64_t weight, samples; /* of all */
};

/* "function", ... "unit". 0 or -EINVAL. */
int ep_tally_parse_by(const char *text, enum ep_tally_by *ret_by);
const char *ep_tally_by_name(enum ep_tally_by by);

/* What a process is of, by container, program, comm, user or unit: a row of strings. */
uint32_t ep_tally_group(const struct ep_batch *batch, enum ep_tally_by by, uint32_t process);

/* Sorted by self, the largest first, then by total, then by name. 0, -E2BIG or -ENOMEM. */
int ep_tally_make(const struct ep_batch *batch, enum ep_tally_by by, struct ep_tally *ret_tally);
/* By function; those of one name and file are one row, wherever they begin. */
int ep_tally_make_names(const struct ep_batch *batch, struct ep_tally *ret_tally);
void ep_tally_fini(struct ep_tally *tally); /* accepts a zeroed one */
void ep_tally_sort_total(struct ep_tally *tally);

/* Weight and samples by stack, in arrays that the caller frees. 0 or -ENOMEM. */
struct ep_stack_weights {
	uint64_t *weight, *samples; /* by row of stacks */
};
int ep_stack_weights_make(const struct ep_batch *batch, struct ep_stack_weights *ret_weights);
void ep_stack_weights_fini(struct ep_stack_weights *weights);

#endif
