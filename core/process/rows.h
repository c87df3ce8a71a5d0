/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a process's executable mappings to the rows BPF searches (struct ep_row): one row for each
 * mapping, cut where the page entries of its text are in different blocks, and at the borders of
 * what languages say is theirs.
 */
#ifndef EP_PROCESS_ROWS_H
#define EP_PROCESS_ROWS_H

#include "bpf/shared.h"
#include "core/base/vec.h"
#include "core/language/view.h"
#include "core/process/mappings.h"
#include "ebpf-profiler/unwinder.h"

/*
 * Appends the rows of one mapping to `rows` (struct ep_row). Memory that no ELF file backs is
 * `anonymous`'s: EP_ROW_ANONYMOUS, or 0. 0, -E2BIG, -ENOMEM.
 */
int ep_rows_add(struct ep_vec *rows, const struct ep_area *area, uint32_t anonymous);

/*
 * Copies rows to `marked`, cut at the borders of `ranges` (sorted, disjoint); what lies in a range
 * and is no other language's gets `slot`, and where there is no row there is one. An executable's code
 * that is entered in one row is so in all of them. 0, -E2BIG, -ENOMEM.
 */
int ep_rows_mark(const struct ep_vec *rows, const struct ep_range *ranges, size_t n, uint32_t slot,
		 struct ep_vec *marked);

/*
 * Appends what a language's program finds its code by (ebpf-profiler/bpf/internal/rows.h) to a process's
 * rows, which are all there is in `entries`: nothing where there is no language, `n` 0. 0, -ENOMEM,
 * -E2BIG: nothing was appended.
 */
int ep_rows_add_codes(struct ep_vec *entries, const struct ep_language_view *languages, size_t n);

/* All rows of a process; embedded by whoever makes them, for one process after the other. */
struct ep_row_set {
	struct ep_vec rows;		/* struct ep_row */
	struct ep_vec scratch, entries; /* the same */
};

void ep_row_set_init(struct ep_row_set *set);
void ep_row_set_fini(struct ep_row_set *set);
/*
 * Into set->rows, from areas (struct ep_area), as `n` languages mark them: where there
 * is no space for that they stay native. False when there are more areas than there may be rows.
 */
bool ep_row_set_make(struct ep_row_set *set, const struct ep_vec *areas,
		     const struct ep_language_view *languages, size_t n);
/*
 * Code of no file in [start, end) may get rules in a moment; as text of a file that is being moved
 * it is no language's.
 */
void ep_row_set_await(struct ep_row_set *set, uint64_t start, uint64_t end, bool is_moving);
/* The rows, followed by the code entries of languages, if there are any. NULL: no memory. */
const struct ep_vec *ep_row_set_entries(struct ep_row_set *set, const struct ep_language_view *languages,
					size_t n);
/* What a process's entry says of its languages. */
void ep_language_views_fill_proc(const struct ep_language_view *languages, size_t n, struct ep_proc *proc);

#endif
