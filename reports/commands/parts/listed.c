/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/listed.h"
#include "core/base/map.h"
#include "ebpf-profiler/batch.h"

#include <errno.h>
#include <string.h>

static int by_place(const void *left, const void *right, void *arg)
{
	const struct ep_tally_row *a = left, *b = right;
	const struct ep_batch *batch = arg;
	int order = 0;

	if (a->name != b->name)
		order = strcmp(batch->string_text[a->name], batch->string_text[b->name]);
	if (order == 0 && a->file != b->file)
		order = strcmp(batch->string_text[a->file], batch->string_text[b->file]);
	if (order == 0)
		order = a->number < b->number ? -1 : a->number > b->number;
	return order;
}

/* Rows of the functions that are meant, by function, file and line. */
static void keep_wanted(struct ep_tally *lines, const uint8_t *wanted)
{
	struct ep_tally_row *rows = lines->rows.data;
	size_t n = 0;

	for (size_t i = 0; i < lines->rows.len; i++)
		if (wanted[rows[i].name])
			rows[n++] = rows[i];
	lines->rows.len = n;
	if (n > 1)
		qsort_r(rows, n, sizeof(*rows), by_place, (void *)lines->batch);
}

static uint64_t pair(uint32_t name, uint32_t file)
{
	return (uint64_t)name << 32 | file;
}

/* A function for each name and file; `index` has its row by both. */
static int group(struct ep_listed *listed, struct ep_map *index)
{
	const struct ep_tally_row *rows = listed->lines.rows.data;
	struct ep_listed_function *function = NULL;
	int r = 0;

	for (size_t i = 0; i < listed->lines.rows.len && r == 0; i++) {
		if (!function || rows[i].name != function->name || rows[i].file != function->file) {
			function = ep_vec_push(&listed->functions);
			if (!function)
				return -ENOMEM;
			*function = (struct ep_listed_function){
				.name = rows[i].name, .file = rows[i].file, .first_row = i};
			r = ep_map_set(index, pair(rows[i].name, rows[i].file),
				       listed->functions.len - 1);
		}
		function->n_rows++;
	}
	return r;
}

static struct ep_listed_function *find(struct ep_listed *listed, const struct ep_map *index,
				       uint32_t name, uint32_t file)
{
	const uint64_t *row = ep_map_find(index, pair(name, file));

	return row ? ep_vec_at(&listed->functions, struct ep_listed_function, *row) : NULL;
}

/* Where a function begins (of several of one name and file the first of them), and its time. */
static void describe(struct ep_listed *listed, const struct ep_map *index,
		     const struct ep_tally *functions)
{
	const struct ep_batch *batch = functions->batch;
	struct ep_listed_function *function;
	const struct ep_tally_row *row;

	for (uint32_t i = 1; i < batch->n_functions; i++) {
		uint32_t line = batch->function_line[i];

		function = find(listed, index, batch->function_name[i], batch->function_file[i]);
		if (function && line && (!function->start_line || line < function->start_line))
			function->start_line = line;
	}
	ep_vec_each (&functions->rows, row) {
		function = find(listed, index, row->name, row->file);
		if (!function)
			continue;
		function->self = row->self;
		function->total = row->total;
	}
}

static int by_total(const void *left, const void *right)
{
	const struct ep_listed_function *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

int ep_listed_make(const struct ep_batch *batch, const uint8_t *wanted,
		   struct ep_listed *ret_listed)
{
	ep_cleanup(ep_tally_fini) struct ep_tally functions = {0};
	ep_cleanup(ep_map_fini) struct ep_map index = {0};
	struct ep_vec *all = &ret_listed->functions;
	int r;

	*ret_listed = (struct ep_listed){0};
	ep_vec_init(all, sizeof(struct ep_listed_function), UINT32_MAX);
	ep_map_init(&index, UINT32_MAX);
	r = ep_tally_make(batch, EP_TALLY_LINE, &ret_listed->lines);
	r = r < 0 ? r : ep_tally_make_names(batch, &functions);
	if (r < 0)
		return r;
	keep_wanted(&ret_listed->lines, wanted);
	r = group(ret_listed, &index);
	if (r < 0)
		return r;
	describe(ret_listed, &index, &functions);
	if (all->len > 1)
		qsort(all->data, all->len, all->elem_bytes, by_total);
	return 0;
}

void ep_listed_fini(struct ep_listed *listed)
{
	ep_tally_fini(&listed->lines);
	ep_vec_fini(&listed->functions);
}
