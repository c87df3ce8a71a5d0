/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a large library a program may run a few functions, and its tables take megabytes: `ar` loads
 * two releases of LLVM for its plugins. So an agent has tables of those parts of it alone that a
 * sample has come to. A stack that leads to another part waits with its copy, as it does for a file
 * that is not analysed yet, while tables for that are made too.
 */
#ifndef EP_PROCESS_TEXT_PARTS_H
#define EP_PROCESS_TEXT_PARTS_H

#include "core/elf/file.h"
#include "core/unwind/table.h"

#include <stdbool.h>
#include <stdint.h>

#define EP_TEXT_PARTS 256

struct ep_executable;

/* Equal parts of an executable's text, from its first address on; part_bytes 0: it has none. */
struct ep_text_parts {
	uint64_t va, part_bytes;
	uint64_t wanted[EP_TEXT_PARTS / 64];
	uint64_t made[EP_TEXT_PARTS / 64]; /* of these, what there are tables of */
	uint64_t asked_ns;		   /* when the last of them were */
	uint32_t n_asked;		   /* how often */
};

/* What has a megabyte of .eh_frame, and is loaded by other programs. */
bool ep_text_parts_suit(const struct ep_elf *elf);
/* None is wanted yet. `segments` ascend. */
void ep_text_parts_init(struct ep_text_parts *parts, const struct ep_elf_segment *segments,
			size_t n);
/* None is wanted any more. */
void ep_text_parts_drop(struct ep_text_parts *parts);
bool ep_text_parts_are_none(const struct ep_text_parts *parts);
/* The part of an address is wanted. True: it is not made yet. */
bool ep_text_parts_add(struct ep_text_parts *parts, uint64_t va);
/*
 * What of a table is in parts that are wanted: as segments of it, for which there is space,
 * ascending. How many.
 */
#define EP_TEXT_PARTS_MAX_SEGMENTS 512
size_t ep_text_parts_cut(const struct ep_text_parts *parts, const struct ep_unwind_table *table,
			 struct ep_unwind_segment segments[EP_TEXT_PARTS_MAX_SEGMENTS]);

/* Runs of parts that are wanted. How many. */
size_t ep_text_parts_stretches(const struct ep_text_parts *parts,
			       struct ep_unwind_stretch stretches[EP_TEXT_PARTS]);

/* Of all segments of a table. */
size_t ep_text_parts_pages(const struct ep_unwind_table *table);

/*
 * A stack has led to an address of an executable: if the part of it is not made yet, that begins.
 * True: it is under way, so it is worth to wait. Where memory was short it is tried again after a
 * second; after EP_TEXT_PARTS_BURST times there is a pause of 20 times what each took, since any
 * process may go from part to part.
 */
#define EP_TEXT_PARTS_BURST 32
bool ep_text_parts_want(struct ep_executable *executable, uint64_t va);
/*
 * The analysis has ended: with tables of what was wanted when it began, or without, for want of
 * memory.
 */
void ep_text_parts_end(struct ep_executable *executable, const struct ep_text_parts *parts,
		       bool are_made);

#endif
