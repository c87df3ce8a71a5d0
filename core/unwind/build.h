/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the FDEs of several sources into one table: the first source rules, each further one
 * fills what those before it leave open, then a function table of Go's, and what was described last of
 * all. Needs no ELF file but for that table, so tests feed it bytes.
 */
#ifndef EP_UNWIND_BUILD_H
#define EP_UNWIND_BUILD_H

#include "core/unwind/fde_list.h"
#include "core/unwind/pack.h"
#include "core/unwind/table.h"
#include "ebpf-profiler/unwinder.h"

#define EP_BUILD_MAX_LISTS  4
#define EP_BUILD_MAX_RANGES 128 /* executable segments; linkers make one or two */
#define EP_BUILD_MAX_PAGES  (1u << 20)

/* The arrays of one table after the other, for who is done with each before the next is built. */
struct ep_build_memory {
	struct ep_region pages, deltas;
};
void ep_build_memory_fini(struct ep_build_memory *memory); /* accepts a zeroed one */

struct ep_pclntab;

struct ep_build_input {
	const struct ep_machine *machine;
	struct ep_pack_range ranges[EP_BUILD_MAX_RANGES]; /* ascending; first_page is filled in */
	size_t n_ranges;
	struct ep_fde_list *lists[EP_BUILD_MAX_LISTS]; /* by priority; their `pos` is used */
	size_t n_lists;
	struct ep_pclntab *tab; /* NULL: there is none */
	const struct ep_code_row *rows; /* what is described: ascending va, none ends after all addresses */
	size_t n_rows;
	uint64_t entry_va; /* where programs start; 0: none */
	/* Reads code at va into buf. True when all of it could be read. NULL: no code at hand. */
	bool (*read_code)(void *arg, uint64_t va, uint8_t *buf, size_t bytes);
	void *read_code_arg;
	uint64_t outer_va; /* what code without rules runs in (outer.h); 0: nothing is known */
	struct ep_work *work; /* NULL: nobody counts */
	struct ep_build_memory *memory; /* outlives the table; NULL: the table has its own */
};

/* Sorts and joins ranges that share a page. */
void ep_build_sort_ranges(struct ep_build_input *input);

/* 0, -E2BIG, -ENOMEM, and those of work. */
int ep_build(struct ep_build_input *input, struct ep_unwind_table **ret_table);

#endif
