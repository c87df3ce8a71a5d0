/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a file of the Firefox Profiler, in the order in which it is needed: tables, then
 * threads. */
#ifndef EP_READ_FIREFOX_PROFILE_H
#define EP_READ_FIREFOX_PROFILE_H

#include "reports/read/reader.h"
#include "reports/read/shared/json.h"

#define FIREFOX_TEXT_BYTES 512

/* Columns of tables in "shared". Those of one table come together; the first has as many rows as
 * its others. */
enum firefox_column {
	STACK_FRAME,
	STACK_PREFIX,
	FRAME_FUNC,
	FRAME_ADDRESS,
	FRAME_DEPTH,
	FRAME_CATEGORY,
	FRAME_LINE,
	FRAME_COLUMN,
	FUNC_NAME,
	FUNC_RESOURCE,
	FUNC_SOURCE,
	FUNC_LINE,
	RESOURCE_LIB,
	SOURCE_FILE,
	FIREFOX_COLUMNS,
};

struct firefox_lib {
	uint64_t base_va; /* addresses are counted from there */
	uint32_t mapping; /* row of the builder */
	uint32_t pad;
};

/* Row of functions of the builder, and what its name says of the frame. */
struct firefox_func {
	uint32_t function, flags, unnamed;
	uint32_t lib; /* EP_JSON_NONE: none */
};

struct firefox_read {
	struct ep_profile_builder *builder;
	struct ep_json json;
	struct ep_vec text;
	const uint8_t *meta, *libs_at, *shared, *threads;
	struct ep_vec columns[FIREFOX_COLUMNS]; /* uint32_t; EP_JSON_NONE: null */
	struct ep_vec strings;			/* const uint8_t *: where each is in the file */
	struct ep_vec kinds;			/* uint32_t by category: strings */
	struct ep_vec libs;			/* struct firefox_lib */
	struct ep_vec funcs;			/* struct firefox_func */
	struct ep_vec locations; /* uint32_t by frame that is alone in its location; 0: not made */
	struct ep_vec stacks;			/* uint32_t by row of stacks; 0: not made */
	struct ep_vec stack;			/* uint32_t: locations, leaf first */
	struct ep_vec lines;			/* struct ep_profile_line, innermost first */
	size_t n_walked;			/* rows of stacks, in all */
	/* of "meta" */
	struct ep_profile_header header;
	char host[FIREFOX_TEXT_BYTES], weight_type[32];
	bool has_times;
};

static inline uint32_t firefox_cell(const struct firefox_read *fx, enum firefox_column column,
				    uint32_t row)
{
	return *ep_vec_at(&fx->columns[column], uint32_t, row);
}

static inline size_t firefox_rows(const struct firefox_read *fx, enum firefox_column column)
{
	return fx->columns[column].len;
}

/* A string at its place in the file, into the builder. */
int firefox_add_string(struct firefox_read *fx, const uint8_t *at, uint32_t *ret_string);
/* Each: 0 or what the builder says; what is wrong with the file is in fx->json.why. */
int firefox_tables(struct firefox_read *fx);
int firefox_stack(struct firefox_read *fx, uint32_t row, uint32_t *ret_stack);
int firefox_threads(struct firefox_read *fx);

#endif
