/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile tables while a batch is being built: strings, functions, mappings, locations, each
 * deduplicated. A location is one frame of the frame table with its names, or all frames of a
 * language that have equal names and lines; ep_tables_location makes the rows it needs the first
 * time. Row 0 of every table means "none". Private to
 * core/trace. Complexity: O(1) per frame, one callback per executable.
 *
 * Wrappers (core/trace/lines.h) are left out, unless the line that they called shows them. That
 * line is in the same frame, or the last one of the frame before: so a frame whose innermost line
 * is a wrapper has two locations, or one, and is nowhere in stacks where no line of it is shown.
 */
#ifndef EP_TRACE_TABLES_H
#define EP_TRACE_TABLES_H

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/trace/batch.h"
#include "core/trace/index.h"

struct ep_table_function {
	uint32_t name, system_name, file, line;
};

struct ep_table_mapping {
	uint64_t start_va, limit_va, file_off;
	uint32_t path, build_id, file_id, go_build_id, flags;
};

struct ep_table_line {
	uint32_t function, line, column;
};

struct ep_table_location {
	uint64_t address;
	uint32_t mapping, kind, flags, line_first;
	uint32_t unnamed;    /* enum ep_unnamed */
	uint32_t language;   /* kind of the frames that are not named, or missing; 0: of no language */
	uint8_t digest[16]; /* of what names it on every machine, see ep_tables_location */
};

struct ep_table_executable {
	struct ep_batch_executable info; /* strings are not valid any more */
	uint32_t id;
	uint32_t path, base_name, build_id, file_id, go_build_id; /* strings */
	bool known;
	uint32_t mapping[EP_EXECUTABLE_MAX_SEGMENTS]; /* 0: no row yet */
};

struct ep_tables {
	const struct ep_batch_source *source;
	const struct ep_frames *frames;
	struct ep_strings *strings;
	struct ep_vec functions, mappings, lines, locations, executables;
	struct ep_index function_index;
	struct ep_index location_index; /* those of languages */
	struct ep_map executable_rows;	/* id → position + 1 */
	struct ep_map module_rows;	/* string id of the path → mapping */
	uint32_t *location_of;		/* frame id → location and flags, tables.c */
	struct ep_map wrapper_rows; /* frame id → location with its innermost line, a wrapper */
};

int ep_tables_init(struct ep_tables *tables, const struct ep_frames *frames,
		   const struct ep_batch_source *source);
void ep_tables_fini(struct ep_tables *tables); /* accepts a zeroed one */

/* A string's id; NULL is "". Bytes that are not UTF-8 become '?'. 0, -E2BIG, -ENOMEM. */
int ep_tables_string(struct ep_tables *tables, const char *str, size_t len, uint32_t *ret_id);
/*
 * The location of a frame; none: no line of it is shown. `*shows_wrapper` is false for the leaf of
 * a stack, and on return it is for the frame that is next. 0, -E2BIG, -ENOMEM.
 */
int ep_tables_location(struct ep_tables *tables, uint32_t frame_id, bool *shows_wrapper,
		       uint32_t *ret_location);

#endif
