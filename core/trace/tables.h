/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames as locations of a profile: a location is one frame of the frame table with its names, or all
 * frames of a language that have equal names and lines. ep_tables_location adds what it needs to the
 * builder the first time. Row 0 of every table means "none". Private to core/trace. O(1) per frame,
 * one callback per executable.
 *
 * Wrappers (core/trace/lines.h) are left out, unless the line that they called shows them. That
 * line is in the same frame, or the last one of the frame before: so a frame whose innermost line
 * is a wrapper has two locations, or one, and is nowhere in stacks where no line of it is shown.
 */
#ifndef EP_TRACE_TABLES_H
#define EP_TRACE_TABLES_H

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/profile/builder.h"
#include "core/trace/batch.h"

/* Why a location has no name, or stands for frames that are missing. */
struct ep_table_reason {
	uint32_t unnamed;  /* enum ep_unnamed */
	uint32_t language; /* kind of the frames that are not named, or missing; 0: of no language */
};

struct ep_table_executable {
	struct ep_batch_executable info; /* strings are not valid any more */
	uint32_t id;
	uint32_t path, build_id, file_id, go_build_id; /* strings */
	char base_name[256];			       /* "" when the path is not known */
	uint32_t mapping[EP_EXECUTABLE_MAX_SEGMENTS];  /* 0: no row yet */
};

struct ep_tables {
	const struct ep_batch_source *source;
	const struct ep_frames *frames;
	struct ep_profile_builder *profile;
	struct ep_vec lines;	    /* struct ep_profile_line: of the location in hand */
	struct ep_vec executables;
	struct ep_map executable_rows; /* id → position + 1 */
	struct ep_map module_rows;     /* string of the path → mapping */
	struct ep_vec reasons;	       /* struct ep_table_reason, by location */
	uint32_t *location_of;	       /* frame id → location and flags, tables.c */
	struct ep_map wrapper_rows; /* frame id → location with its innermost line, a wrapper */
};

int ep_tables_init(struct ep_tables *tables, struct ep_profile_builder *profile,
		   const struct ep_frames *frames, const struct ep_batch_source *source);
void ep_tables_fini(struct ep_tables *tables); /* accepts a zeroed one */

/*
 * The location of a frame; none: no line of it is shown. `*shows_wrapper` is false for the leaf of
 * a stack, and on return it is for the frame that is next. 0, -E2BIG, -ENOMEM.
 */
int ep_tables_location(struct ep_tables *tables, uint32_t frame_id, bool *shows_wrapper,
		       uint32_t *ret_location);
struct ep_table_reason ep_tables_reason(const struct ep_tables *tables, uint32_t location);

#endif
