/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/description.h"

#include <errno.h>

#define MAX_REGISTER 15

void ep_description_init(struct ep_description *description)
{
	*description = (struct ep_description){0};
	ep_vec_init(&description->rows, sizeof(struct ep_code_row), EP_MAX_CODE_ROWS);
}

void ep_description_fini(struct ep_description *description)
{
	ep_vec_fini(&description->rows);
	ep_described_symbols_unref(description->symbols);
	description->symbols = NULL;
}

static bool is_place(uint8_t place, int32_t value)
{
	return place <= EP_CODE_LOST &&
	       (place != EP_CODE_IN_REG || (value >= 0 && value <= MAX_REGISTER));
}

static bool is_row(const struct ep_code_row *row)
{
	return row->bytes > 0 && row->bytes <= UINT64_MAX - row->va && row->pad == 0 &&
	       (row->flags & ~(EP_CODE_KEEPS | EP_CODE_UNKNOWN | EP_CODE_INSTEAD)) == 0 &&
	       row->cfa_reg <= MAX_REGISTER && is_place(row->ra_place, row->ra) &&
	       is_place(row->fp_place, row->fp);
}

int ep_description_add_rows(struct ep_description *description, const struct ep_code_row *rows,
			    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_row(&rows[i]))
			return -EINVAL;
	}
	return ep_vec_append(&description->rows, rows, n);
}

int ep_description_add_symbol(struct ep_description *description, const struct ep_symbol *symbol,
			      const char *name)
{
	int r = 0;

	if (!description->symbols)
		r = ep_described_symbols_new(&description->symbols);
	return r < 0 ? r
		     : ep_described_symbols_add(description->symbols, symbol->va, symbol->bytes,
						name);
}

static size_t count_symbols(const struct ep_description *description)
{
	return description->symbols ? ep_described_symbols_len(description->symbols) : 0;
}

int ep_description_ask(struct ep_description *description, const struct ep_unwinder_ops *ops,
		       void *executable, const struct ep_file *file)
{
	size_t n_rows = description->rows.len, n_symbols = count_symbols(description);
	int r = EP_HAS(ops, describe) ? ops->describe(executable, file, description) : 0;

	if (r == 0)
		return 0;
	description->rows.len = n_rows;
	if (description->symbols)
		ep_described_symbols_cut(description->symbols, n_symbols);
	return r < 0 ? r : -EBADMSG;
}

/* Of two at one address, the one that holds farther comes last, and holds. */
static int compare_rows(const void *left, const void *right)
{
	const struct ep_code_row *a = left, *b = right;

	if (a->va != b->va)
		return a->va < b->va ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

void ep_description_end(struct ep_description *description)
{
	struct ep_vec *rows = &description->rows;

	if (rows->len > 1)
		qsort(rows->data, rows->len, sizeof(struct ep_code_row), compare_rows);
	if (description->symbols && count_symbols(description) == 0)
		ep_described_symbols_unref(ep_take(description->symbols));
	if (description->symbols)
		ep_described_symbols_sort(description->symbols);
}
