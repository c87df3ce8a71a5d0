/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch whose functions are programs, users, units and so on, so that these can be compared as
 * functions are: each sample has a stack of one frame, which is what its process is of.
 */
#ifndef EP_VIEW_GROUP_H
#define EP_VIEW_GROUP_H

#include "ebpf-profiler/batch.h"
#include "reports/view/tally.h"

/* It shares all other columns with the batch that it was made of. */
struct ep_grouped {
	struct ep_batch batch;
	/* Owned; by group, from 1 on: */
	uint32_t *function_name;
	uint32_t *group, *first; /* i, and where list i begins if each but that of 0 has one element */
	uint32_t *none;		 /* zeros */
	uint32_t *sample_stack;
};

/* Can samples be grouped so: by container, program, comm, user or unit. */
bool ep_group_is_possible(enum ep_tally_by by);
/* The batch must stay. 0 or -ENOMEM. */
int ep_group_make(const struct ep_batch *batch, enum ep_tally_by by, struct ep_grouped *ret_grouped);
void ep_grouped_fini(struct ep_grouped *grouped); /* accepts a zeroed one */

#endif
