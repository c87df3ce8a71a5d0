/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a process's executable mappings to the rows BPF searches (struct ep_row): one row for each
 * mapping, cut where the page entries of its text are in different blocks.
 */
#ifndef EP_AGENT_ROWS_H
#define EP_AGENT_ROWS_H

#include "bpf/shared.h"
#include "core/agent/places.h"
#include "core/base/vec.h"

/* Appends the rows of one mapping to `rows` (struct ep_row). 0, -E2BIG, -ENOMEM. */
int ep_rows_add(struct ep_vec *rows, const struct ep_place_in_memory *place);

#endif
