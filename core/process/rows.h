/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a process's executable mappings to the rows BPF searches (struct ep_row): one row for each
 * mapping, cut where the page entries of its text are in different blocks, and at the borders of
 * what languages say is theirs.
 */
#ifndef EP_PROCESS_ROWS_H
#define EP_PROCESS_ROWS_H

#include "bpf/shared.h"
#include "core/process/places.h"
#include "core/base/vec.h"
#include "ebpf-profiler/unwinder.h"

/*
 * Appends the rows of one mapping to `rows` (struct ep_row). Memory that no ELF file backs is
 * `anonymous`'s: EP_ROW_ANONYMOUS, or 0. 0, -E2BIG, -ENOMEM.
 */
int ep_rows_add(struct ep_vec *rows, const struct ep_place_in_memory *place, uint32_t anonymous);

/*
 * Copies rows to `marked`, cut at the borders of `ranges` (sorted, disjoint); what lies in a range
 * and is no other language's gets `slot`, and where there is no row there is one. An executable's code
 * that is entered in one row is so in all of them. 0, -E2BIG, -ENOMEM.
 */
int ep_rows_mark(const struct ep_vec *rows, const struct ep_range *ranges, size_t n, uint32_t slot,
		 struct ep_vec *marked);

/* The exact ranges of one language in a process, sorted and disjoint. */
struct ep_ranges {
	const struct ep_range *ranges;
	size_t n;
};

/*
 * What a plugin says is its code, in any order: the exact ranges, sorted, into `exact`, and whether
 * it takes anonymous code. 0, -EINVAL (they overlap), -E2BIG, -ENOMEM.
 */
int ep_ranges_take(const struct ep_range *ranges, size_t n, struct ep_vec *exact,
		   bool *ret_anonymous);

/* True when one of them is marked. */
bool ep_ranges_have_mark(const struct ep_range *ranges, size_t n);

/*
 * Appends what a language's program finds its code by (ebpf-profiler/bpf/code.h) to a process's
 * rows, which are all there is in `entries`: nothing where there is no language, `n` 0. 0, -ENOMEM,
 * -E2BIG: nothing was appended.
 */
int ep_rows_add_codes(struct ep_vec *entries, const struct ep_ranges *languages, size_t n);

#endif
