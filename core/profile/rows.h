/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of columns that grow together, so that a batch can take them as they are: nothing is laid out
 * twice when a profile is large. A row comes as a struct, whose members are the columns:
 *
 *	struct row { u32 name, file; }   ──►   name: n n n n ...
 *					       file: f f f f ...
 *
 * The first columns are the key: rows that are equal in them are one row, which the index finds. What belongs
 * to the key and is no column, as the list of a stack's locations, the caller compares.
 */
#ifndef EP_PROFILE_ROWS_H
#define EP_PROFILE_ROWS_H

#include "core/base/index.h"

#define EP_ROWS_MAX_COLUMNS 10

struct ep_column {
	uint8_t off;   /* of the member in the struct */
	uint8_t bytes; /* 4, 8 or 16 */
};

#define EP_COLUMN(type, member)                                                                    \
	{                                                                                          \
		.off = offsetof(type, member), .bytes = sizeof(((type *)0)->member)                \
	}

struct ep_rows_layout {
	uint8_t n_columns, n_key;
	uint32_t max; /* rows */
	struct ep_column columns[EP_ROWS_MAX_COLUMNS];
};

struct ep_rows {
	const struct ep_rows_layout *layout;
	uint32_t len, cap;
	void *column[EP_ROWS_MAX_COLUMNS];
	struct ep_index index; /* position + 1 */
};

/* With space for one row, that of number 0. */
int ep_rows_init(struct ep_rows *rows, const struct ep_rows_layout *layout);
void ep_rows_fini(struct ep_rows *rows); /* accepts a zeroed one */

/* The hash of a row's key. */
uint64_t ep_rows_hash(const struct ep_rows *rows, const void *row);
bool ep_rows_equal(const struct ep_rows *rows, uint32_t at, const void *row);
/* A new row, that the index does not know. 0, -E2BIG, -ENOMEM. */
int ep_rows_push(struct ep_rows *rows, const void *row);
/* The same, and in the index: 0 and its number. */
int ep_rows_add_hashed(struct ep_rows *rows, uint64_t hash, const void *row, uint32_t *ret_at);
/* The first row with this key, or a new one. */
int ep_rows_intern(struct ep_rows *rows, const void *row, uint32_t *ret_at);
/* Gives back what no row needs, and the index. */
void ep_rows_close(struct ep_rows *rows);
size_t ep_rows_bytes(const struct ep_rows *rows);

static inline uint32_t *ep_rows_u32(const struct ep_rows *rows, size_t column)
{
	return rows->column[column];
}

static inline uint64_t *ep_rows_u64(const struct ep_rows *rows, size_t column)
{
	return rows->column[column];
}

#endif
