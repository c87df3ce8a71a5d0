/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a process's executable mappings to the rows BPF searches (struct ep_row): one row for each
 * mapping, cut where the page entries of its text are in different blocks.
 */
#ifndef EP_AGENT_ROWS_H
#define EP_AGENT_ROWS_H

#include "bpf/shared.h"
#include "core/agent/executables.h"
#include "core/base/vec.h"

/* An executable mapping as the process manager keeps it. */
struct ep_place_in_memory {
	uint64_t start, end, file_off;
	uint64_t time_ns; /* CLOCK_MONOTONIC: when it was mapped, or when /proc was read */
	struct ep_executable *executable; /* NULL: anonymous code; holds a reference */
};

/* Appends the rows of one mapping to `rows` (struct ep_row). 0, -E2BIG, -ENOMEM. */
int ep_rows_add(struct ep_vec *rows, const struct ep_place_in_memory *place);

/* Translates a target address with rows that are sorted by start; NULL when none covers it. */
const struct ep_row *ep_rows_find(const struct ep_row *rows, size_t n_rows, uint64_t addr);

#endif
