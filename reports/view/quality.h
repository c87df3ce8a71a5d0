/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good a batch is: which part of its weight has complete stacks, which part is fully named, and
 * what the rest says about itself. As the summary of `record`, for a profile of any origin: reasons
 * are texts of the batch, since numbers of errors mean nothing outside of the process that gave
 * them.
 */
#ifndef EP_VIEW_QUALITY_H
#define EP_VIEW_QUALITY_H

#include "core/base/util.h"
#include "core/base/vec.h"

struct ep_batch;

struct ep_quality_reason {
	uint64_t weight;
	uint32_t text; /* row of strings */
};

struct ep_quality {
	uint64_t weight, samples;
	uint64_t complete, named;      /* of weight */
	uint64_t unverified;	       /* ep_batch_is_unverified: neither complete nor with an error */
	uint64_t no_symbol;	       /* native code without a symbol is in it */
	bool has_names;		       /* the batch says what is named */
	struct ep_vec errors, unnamed; /* struct ep_quality_reason, the heaviest first */
};

/* 0 or -ENOMEM. */
int ep_quality_make(const struct ep_batch *batch, struct ep_quality *ret_quality);
void ep_quality_fini(struct ep_quality *quality); /* accepts a zeroed one */

#endif
