/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/rows.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#define FIRST_CAP     16
#define MAX_KEY_BYTES (EP_ROWS_MAX_COLUMNS * 16)

/* Memory that is not written yet costs nothing, and the kernel moves large blocks without copying. */
static int grow(struct ep_rows *rows)
{
	uint32_t cap = rows->cap ? EP_MIN(rows->cap * 2, rows->layout->max) : FIRST_CAP;

	if (rows->len >= rows->layout->max)
		return -E2BIG;
	for (size_t i = 0; i < rows->layout->n_columns; i++) {
		void *column =
			realloc(rows->column[i], (size_t)cap * rows->layout->columns[i].bytes);

		if (!column)
			return -ENOMEM;
		rows->column[i] = column;
	}
	rows->cap = cap;
	return 0;
}

int ep_rows_init(struct ep_rows *rows, const struct ep_rows_layout *layout)
{
	*rows = (struct ep_rows){.layout = layout};
	return grow(rows);
}

void ep_rows_fini(struct ep_rows *rows)
{
	for (size_t i = 0; i < EP_ROWS_MAX_COLUMNS; i++)
		free(rows->column[i]);
	ep_index_fini(&rows->index);
	*rows = (struct ep_rows){0};
}

static void copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, 16);
}

uint64_t ep_rows_hash(const struct ep_rows *rows, const void *row)
{
	char key[MAX_KEY_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < rows->layout->n_key; i++) {
		const struct ep_column *column = &rows->layout->columns[i];

		copy(key + used, (const char *)row + column->off, column->bytes);
		used += column->bytes;
	}
	return XXH3_64bits(key, used);
}

bool ep_rows_equal(const struct ep_rows *rows, uint32_t at, const void *row)
{
	for (size_t i = 0; i < rows->layout->n_key; i++) {
		const struct ep_column *column = &rows->layout->columns[i];
		const char *have = (const char *)rows->column[i] + (size_t)at * column->bytes;

		if (memcmp(have, (const char *)row + column->off, column->bytes) != 0)
			return false;
	}
	return true;
}

int ep_rows_push(struct ep_rows *rows, const void *row)
{
	int r = rows->len < rows->cap ? 0 : grow(rows);

	if (r < 0)
		return r;
	for (size_t i = 0; i < rows->layout->n_columns; i++) {
		const struct ep_column *column = &rows->layout->columns[i];

		copy((char *)rows->column[i] + (size_t)rows->len * column->bytes,
		     (const char *)row + column->off, column->bytes);
	}
	rows->len++;
	return 0;
}

int ep_rows_add_hashed(struct ep_rows *rows, uint64_t hash, const void *row, uint32_t *ret_at)
{
	uint32_t at = rows->len;
	int r = ep_rows_push(rows, row);

	if (r == 0)
		r = ep_index_add(&rows->index, hash, at + 1);
	if (r == 0)
		*ret_at = at;
	return r;
}

int ep_rows_intern(struct ep_rows *rows, const void *row, uint32_t *ret_at)
{
	uint64_t hash = ep_rows_hash(rows, row);
	size_t pos;

	for (uint32_t at = ep_index_first(&rows->index, hash, &pos); at;
	     at = ep_index_next(&rows->index, hash, &pos)) {
		if (ep_rows_equal(rows, at - 1, row)) {
			*ret_at = at - 1;
			return 0;
		}
	}
	return ep_rows_add_hashed(rows, hash, row, ret_at);
}

void ep_rows_close(struct ep_rows *rows)
{
	uint32_t cap = EP_MAX(rows->len, 1u);

	ep_index_fini(&rows->index);
	for (size_t i = 0; i < rows->layout->n_columns; i++) {
		void *column =
			realloc(rows->column[i], (size_t)cap * rows->layout->columns[i].bytes);

		if (column)
			rows->column[i] = column;
	}
	rows->cap = cap;
}

size_t ep_rows_bytes(const struct ep_rows *rows)
{
	size_t bytes = 0;

	for (size_t i = 0; i < rows->layout->n_columns; i++)
		bytes += (size_t)rows->cap * rows->layout->columns[i].bytes;
	return bytes + ep_index_bytes(&rows->index);
}
