/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a symbol table: collect candidates from every source, sort them by address, keep one
 * per address, close the open ends, and find names a place to stay. Symbols as in the System V
 * gABI, "Symbol Table". What is kept:
 *
 * 1. STT_FUNC and STT_GNU_IFUNC; STT_NOTYPE (labels of assembly code) only where no function is.
 * 2. Of several at one address the best, in the order of core/symbol/aliases.h.
 * 3. Nothing reaches out of its section. Size 0 means up to the next symbol; but not more than
 *    EP_SYMTAB_SPARSE_BYTES where only .dynsym is known, since what follows may be anything.
 */
#ifndef EP_SYMBOL_SYMTAB_BUILDER_H
#define EP_SYMBOL_SYMTAB_BUILDER_H

#include "core/symbol/symtab_internal.h"

#define BUILDER_MAX_CANDIDATES ((size_t)2 << 20)
#define BUILDER_MAX_RANGES     1024
#define BUILDER_SHORT_NAME     1024 /* what libiberty demangles at most */
#define EP_SYMTAB_SPARSE_BYTES 256

enum symtab_candidate_flag {
	CANDIDATE_LABEL = 1 << 0, /* STT_NOTYPE */
	CANDIDATE_LOCAL = 1 << 1,
	CANDIDATE_SPARSE = 1 << 2, /* from a table that does not know all functions */
	CANDIDATE_PLT = 1 << 3,
};

struct symtab_candidate {
	uint32_t start; /* from base_va */
	uint32_t size;
	uint32_t name_off;
	uint8_t source;
	uint8_t rank; /* lower is better */
	uint8_t flags;
	uint8_t pad;
};
_Static_assert(sizeof(struct symtab_candidate) == 16, "two of these per symbol while building");

struct symtab_range {
	uint64_t start, end;
};

struct symtab_source {
	const struct ep_elf *elf;
	struct ep_elf_section strings;
	struct ep_elf_bytes bytes; /* of strings; empty when they are too many */
};

struct symtab_builder {
	struct ep_symtab *symtab;
	struct symtab_range ranges[BUILDER_MAX_RANGES]; /* executable sections, sorted */
	size_t n_ranges;
	size_t last_range;
	struct symtab_source sources[SYMTAB_SOURCES];
	size_t n_sources;
	struct ep_elf *debugdata; /* owned */
	struct ep_vec candidates;
	struct ep_memory_budget *budget; /* `held` was taken from it for candidates */
	size_t held;
	char name[2][BUILDER_SHORT_NAME]; /* of names read one by one, while two are compared */
};

/* symtab_collect.c. 0, -ENOMEM, and what ends all work; what cannot be read gives no candidates. */
int ep_symtab_collect(struct symtab_builder *builder, const struct ep_elf *elf,
		      const struct ep_elf *debug);
/* The executable section that holds `va`, or NULL. */
const struct symtab_range *ep_symtab_range_of(struct symtab_builder *builder, uint64_t va);
/*
 * Length of a candidate's name, which is not NUL-terminated. It points into a string table, or
 * into `spare` when that was not loaded; then it is cut.
 */
size_t ep_symtab_candidate_name(struct symtab_builder *builder,
				const struct symtab_candidate *candidate,
				char spare[BUILDER_SHORT_NAME], const char **ret_name);

/* symtab_choose.c: makes the table's entries out of the candidates. 0, -ENOMEM. */
int ep_symtab_choose(struct symtab_builder *builder);

#endif
