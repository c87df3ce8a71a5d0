/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a process's executable mappings to the rows BPF searches (struct ep_row): one row for each
 * mapping, cut where the page entries of its text are in different blocks.
 */
#ifndef EP_PROCESS_ROWS_H
#define EP_PROCESS_ROWS_H

#include "bpf/shared.h"
#include "core/process/places.h"
#include "core/base/vec.h"
#include "ebpf-profiler/unwinder.h"

/* Appends the rows of one mapping to `rows` (struct ep_row). 0, -E2BIG, -ENOMEM. */
int ep_rows_add(struct ep_vec *rows, const struct ep_place_in_memory *place);

/*
 * Copies rows to `marked`, cut at the borders of `ranges` (sorted, disjoint); what lies in a range
 * and is no other language's gets `slot`. 0, -E2BIG, -ENOMEM.
 */
int ep_rows_mark(const struct ep_vec *rows, const struct ep_range *ranges, size_t n, uint32_t slot,
		 struct ep_vec *marked);

#endif
