/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed stack deltas of one ELF file, built from its call frame information, in Go's programs from
 * their function table: for each address of its text the rule (bpf/rule.h) that leads to the caller. The forms are those of the delta store
 * (bpf/shared.h), except that references are plain indices into the arrays here; the store
 * relocates them when it copies a table. Addresses are ELF virtual addresses.
 *
 * Code without call frame information may have been described (ep_code_row); what the file itself
 * says goes before that.
 *
 * A table owns anonymous memory, about 4 bytes for each row of the CFI and 8 for each 4 KiB of
 * text, and is immutable. docs/stack-deltas.md tells how CFI becomes deltas.
 */
#ifndef EP_UNWIND_TABLE_H
#define EP_UNWIND_TABLE_H

#include "core/unwind/machine.h"
#include "core/unwind/region.h"

struct ep_code_row;
struct ep_elf;

/* Text: at most EP_ROW_MAX_PAGES pages; larger text is several segments, one after the other. */
struct ep_unwind_segment {
	uint64_t va; /* a multiple of EP_PAGE_BYTES */
	uint32_t n_pages;
	uint32_t first_page; /* index in pages[] */
};

enum ep_unwind_source {
	EP_UNWIND_EH_FRAME_HDR = 1 << 0, /* .eh_frame by the linker's table */
	EP_UNWIND_EH_FRAME = 1 << 1,	 /* .eh_frame by a walk */
	EP_UNWIND_DEBUG_FRAME = 1 << 2,	 /* the file's own .debug_frame */
	EP_UNWIND_DEBUG_FILE = 1 << 3,	 /* .debug_frame of the separate debug file */
	EP_UNWIND_DEBUGDATA = 1 << 4,	 /* .debug_frame inside .gnu_debugdata */
	EP_UNWIND_PCLNTAB = 1 << 5,	 /* Go's function table, core/pclntab */
};

struct ep_unwind_stats {
	uint32_t sources; /* enum ep_unwind_source: what was read */
	uint64_t section_bytes; /* call frame information in all sources */
	uint64_t fdes;	  /* FDEs that gave rules */
	uint64_t bad_fdes; /* malformed or of an unknown kind: their range has no rule */
	uint64_t overlaps; /* FDEs hidden by another one, or cut where the next begins */
	uint64_t outside;  /* FDEs that begin outside executable segments */
	uint64_t unsupported; /* rows with EP_RULE_UNSUPPORTED; `why` has the reasons */
	struct ep_rule_counts why;
	uint64_t refused_rules; /* table rules above EP_RULE_SET_MAX */
	uint64_t text_bytes;	/* in executable segments, as in the file */
	uint64_t functions;	/* of a function table, that gave rules; cut ones count twice */
	uint64_t bad_functions; /* the same without rules */
	uint64_t covered_bytes; /* of text, in FDEs and functions that gave rules */
	uint64_t described_bytes; /* of the others, in rows that were described */
	uint64_t outer_va;	/* what code without rules runs in (outer.h), 0: nothing */
	uint64_t replaced_rows;	/* of these, those that hold in place of the file's own rules */
};

struct ep_unwind_table {
	struct ep_unwind_segment *segments; /* ascending va, no page twice */
	size_t n_segments;
	uint64_t *pages; /* EP_PAGE(count, index in deltas[]); count 0: EP_PAGE(0, rule) */
	size_t n_pages;
	uint32_t *deltas; /* EP_DELTA; each page with a count begins with a delta at offset 0 */
	size_t n_deltas;
	struct ep_rule *rules; /* rules[i] is number EP_RULE_FIRST_TABLE + i in deltas and pages */
	size_t n_rules;
	struct ep_unwind_stats stats;

	struct ep_region pages_region, deltas_region;
	struct ep_rule_set rule_set;
};

/*
 * `debug`: the file's separate debug file, or NULL. A file without any usable CFI gets a table that
 * has EP_RULE_NONE everywhere (and EP_RULE_STOP at its entry). 0, -ENOTSUP (no rules for this
 * machine, or a relocatable file), -ENODATA (no executable segment), -E2BIG (more than 4 GiB of
 * text), -ENOMEM.
 */
int ep_unwind_table_build(const struct ep_elf *elf, const struct ep_elf *debug,
			  struct ep_unwind_table **ret_table);
/* The same, and rows for what the file does not describe: as ep_build_input's, ascending. */
int ep_unwind_table_build_described(const struct ep_elf *elf, const struct ep_elf *debug,
				    const struct ep_code_row *rows, size_t n_rows,
				    struct ep_unwind_table **ret_table);

/* [start, end) of text, multiples of EP_PAGE_BYTES. */
struct ep_unwind_stretch {
	uint64_t start, end;
};
/*
 * For these stretches alone, which ascend: pages in them are as the whole table has them, but that
 * rules say more of saved registers than others of the file may need. What else is in the table is
 * of no use. More stretches than EP_BUILD_MAX_RANGES, or a file that takes a closer look: the whole
 * table.
 */
int ep_unwind_table_build_within(const struct ep_elf *elf,
				 const struct ep_unwind_stretch *stretches, size_t n,
				 struct ep_unwind_table **ret_table);
void ep_unwind_table_free(struct ep_unwind_table *table);
static inline void ep_unwind_table_freep(struct ep_unwind_table **table)
{
	ep_unwind_table_free(*table);
}

/* Heap and mapped bytes. */
size_t ep_unwind_table_bytes(const struct ep_unwind_table *table);

/* For tests and tools: the rule at va, EP_RULE_NONE outside text. */
uint32_t ep_unwind_table_find(const struct ep_unwind_table *table, uint64_t va);
/* The same, and where the next delta or page begins (the rule may go on there). */
uint32_t ep_unwind_table_run(const struct ep_unwind_table *table, uint64_t va, uint64_t *ret_end);

#endif
