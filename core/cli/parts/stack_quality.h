/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good the stacks of a recording are, by language and by executable: for the summary, and for
 * whoever looks for what spoils a profile. Shares are of CPU time, as in shares.h.
 *
 * A stack is of the language of its innermost frame that is not kernel code and not plain native code;
 * without one it is "native", and where it has no frame of user space "kernel".
 *
 * A stack that was cut is counted against the executable of its outermost frame, from which the walk could
 * not go on, and without one against its process's. What has no name counts against the executable it is in.
 */
#ifndef EP_CLI_STACK_QUALITY_H
#define EP_CLI_STACK_QUALITY_H

#include "core/base/strings.h"
#include "core/base/vec.h"

struct ep_batch;

#define EP_STACK_QUALITY_MAX_REASONS 16 /* of one language; what is beyond counts as the last */

struct ep_stack_quality_reason {
	uint64_t ns;
	uint32_t text; /* of names */
};

struct ep_stack_quality_kind {
	uint64_t cpu_ns, complete_ns;
	uint32_t name; /* of names, as below */
	uint32_t n_reasons;
	struct ep_stack_quality_reason reasons[EP_STACK_QUALITY_MAX_REASONS]; /* after the sort: most of the time first */
};

struct ep_stack_quality_executable {
	uint64_t cut_ns, unnamed_ns;
	uint32_t path;
	uint32_t last_stack; /* that was counted as unnamed, from 1 */
};

struct ep_stack_quality {
	struct ep_strings *names;
	struct ep_vec kinds;	   /* struct ep_stack_quality_kind */
	struct ep_vec executables; /* struct ep_stack_quality_executable */
	uint64_t cpu_ns;
	uint32_t n_stacks;
};

int ep_stack_quality_init(struct ep_stack_quality *quality);
void ep_stack_quality_fini(struct ep_stack_quality *quality);
/* 0, or -ENOMEM with the batch added in part. */
int ep_stack_quality_add(struct ep_stack_quality *quality, const struct ep_batch *batch);
/* Kinds by their time, their reasons too, executables by what they spoil: the most first. */
void ep_stack_quality_sort(struct ep_stack_quality *quality);

#endif
