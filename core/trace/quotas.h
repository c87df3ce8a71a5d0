/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has how much of a bounded table. A program may take from it while it has less than is left for
 * all: one alone gets half of the table, two that take what they get a third each, and who comes
 * after them with little finds it. Nothing is given back: a table is replaced as a whole.
 *
 * Ids are from 1, EP_QUOTA_NOBODY is of what is not counted: kernel frames, which a program cannot
 * make at will.
 */
#ifndef EP_TRACE_QUOTAS_H
#define EP_TRACE_QUOTAS_H

#include "core/base/vec.h"
#include "core/base/index.h"
#include "core/trace/program.h"

#define EP_QUOTA_NOBODY 0u

struct ep_quota {
	struct ep_program program;
	uint32_t n_frames; /* that it was the first to have */
	uint32_t n_lines;  /* their names */
	size_t text_bytes; /* of the strings of these that nobody had before */
};

struct ep_quotas {
	struct ep_vec all; /* struct ep_quota; id - 1 is the position */
	struct ep_index index;
	uint32_t last; /* id: frames of one stack are one program's */
};

void ep_quotas_init(struct ep_quotas *quotas, size_t max_programs);
void ep_quotas_fini(struct ep_quotas *quotas); /* accepts a zeroed one */
/* The id of a program's share. 0, -E2BIG, -ENOMEM. */
int ep_quotas_add(struct ep_quotas *quotas, struct ep_program program, uint32_t *ret_id);
/* Borrowed until the next add. */
struct ep_quota *ep_quotas_at(const struct ep_quotas *quotas, uint32_t id);
size_t ep_quotas_bytes(const struct ep_quotas *quotas);

/* May somebody who has so much take more, while so much is left? */
static inline bool ep_quota_allows(size_t has, size_t left)
{
	return has < left;
}

#endif
