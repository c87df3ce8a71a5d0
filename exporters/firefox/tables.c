/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/firefox/tables.h"
#include "core/base/map.h"

#include <errno.h>
#include <string.h>

#define MAX_ROWS (UINT32_MAX - 1)

/* One row for each pair of numbers. */
static int find_pair(struct ep_map *map, struct ep_vec *rows, uint32_t first, uint32_t second, uint32_t *ret_row)
{
	uint64_t key = (uint64_t)first << 32 | second, *found = ep_map_find(map, key);
	uint32_t *pair;

	if (found) {
		*ret_row = (uint32_t)*found;
		return 0;
	}
	pair = ep_vec_push(rows);
	if (!pair)
		return -ENOMEM;
	pair[0] = first;
	pair[1] = second;
	*ret_row = (uint32_t)rows->len - 1;
	return ep_map_set(map, key, *ret_row);
}

_Static_assert(sizeof(struct firefox_func) == 2 * sizeof(uint32_t), "a pair");

static int new_column(uint32_t **ret_column, size_t n, uint32_t value)
{
	uint32_t *column = reallocarray(NULL, n + 1, sizeof(*column));

	if (!column)
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++)
		column[i] = value;
	*ret_column = column;
	return 0;
}

/*
 * --- stacks ---
 *
 * In order of their locations from the root, a stack shares with the one before it all that it shares with any
 * of those: so the tree needs no look-ups, and a path of nodes is all that is kept. A line is of one location,
 * so a tree of locations is a tree of lines.
 */

/* How many locations both have in common, from the root. */
static uint32_t common_depth(const struct ep_batch *batch, uint32_t a, uint32_t b)
{
	const uint32_t *first = batch->stack_location_first, *at = batch->stack_location;
	uint32_t depth = 0, most = EP_MIN(first[a + 1] - first[a], first[b + 1] - first[b]);

	while (depth < most && at[first[a + 1] - 1 - depth] == at[first[b + 1] - 1 - depth])
		depth++;
	return depth;
}

static int compare_stacks(const void *left, const void *right, void *arg)
{
	const struct ep_batch *batch = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const uint32_t *first = batch->stack_location_first, *at = batch->stack_location;
	uint32_t depth = common_depth(batch, a, b), depth_a = first[a + 1] - first[a], depth_b = first[b + 1] - first[b];

	if (depth == depth_a || depth == depth_b)
		return depth_a < depth_b ? -1 : depth_a > depth_b;
	return at[first[a + 1] - 1 - depth] < at[first[b + 1] - 1 - depth] ? -1 : 1;
}

/* path: the node of each location of the stack before, of which `depth` are also this one's. */
static int add_stack(struct firefox_tables *tables, struct ep_vec *path, uint32_t stack, uint32_t depth)
{
	const struct ep_batch *batch = tables->batch;
	uint32_t node = depth ? *ep_vec_at(path, uint32_t, depth - 1) : FIREFOX_NONE;
	uint32_t first = batch->stack_location_first[stack];
	int r = 0;

	path->len = depth;
	for (uint32_t at = batch->stack_location_first[stack + 1] - depth; r == 0 && at-- > first;) {
		uint32_t location = batch->stack_location[at], line = batch->location_line_first[location + 1];

		/* lines are innermost first */
		while (r == 0 && line-- > batch->location_line_first[location]) {
			struct firefox_node next = {.frame = line, .prefix = node};

			node = (uint32_t)tables->nodes.len;
			r = ep_vec_append(&tables->nodes, &next, 1);
		}
		if (r == 0)
			r = ep_vec_append(path, &node, 1);
	}
	tables->node_of_stack[stack] = node;
	return r;
}

static int find_nodes(struct firefox_tables *tables)
{
	const struct ep_batch *batch = tables->batch;
	ep_autofree uint32_t *order = reallocarray(NULL, (size_t)batch->n_stacks + 1, sizeof(*order));
	struct ep_vec path;
	int r = new_column(&tables->node_of_stack, batch->n_stacks, FIREFOX_NONE);

	if (r < 0 || !order)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		order[i] = i;
	qsort_r(order, batch->n_stacks, sizeof(*order), compare_stacks, (void *)batch);
	ep_vec_init(&path, sizeof(uint32_t), MAX_ROWS);
	for (uint32_t i = 0; r == 0 && i < batch->n_stacks; i++)
		r = add_stack(tables, &path, order[i], i ? common_depth(batch, order[i - 1], order[i]) : 0);
	ep_vec_fini(&path);
	return r;
}

/* --- functions --- */

static int find_funcs(struct firefox_tables *tables)
{
	const struct ep_batch *batch = tables->batch;
	struct ep_map map;
	int r = new_column(&tables->func_of_line, batch->n_lines, 0);

	if (r == 0)
		r = new_column(&tables->location_of_line, batch->n_lines, 0);
	ep_map_init(&map, MAX_ROWS);
	for (uint32_t i = 0; i < batch->n_locations; i++) {
		for (uint32_t line = batch->location_line_first[i];
		     r == 0 && line < batch->location_line_first[i + 1]; line++) {
			tables->location_of_line[line] = i;
			r = find_pair(&map, &tables->funcs, batch->line_function[line],
				      batch->location_mapping[i], &tables->func_of_line[line]);
		}
	}
	ep_map_fini(&map);
	return r;
}

static int add_symbol(struct firefox_tables *tables, uint32_t location)
{
	const struct ep_batch *batch = tables->batch;
	uint32_t outermost = batch->location_line_first[location + 1] - 1;
	struct firefox_symbol symbol = {tables->func_of_line[outermost], 0, batch->location_address[location]};
	uint32_t *row = &tables->symbol_of_func[symbol.func];

	if (*row == FIREFOX_NONE) {
		*row = (uint32_t)tables->symbols.len;
		return ep_vec_append(&tables->symbols, &symbol, 1);
	}
	if (symbol.address < ep_vec_at(&tables->symbols, struct firefox_symbol, *row)->address)
		*ep_vec_at(&tables->symbols, struct firefox_symbol, *row) = symbol;
	return 0;
}

static int find_symbols(struct firefox_tables *tables)
{
	const struct ep_batch *batch = tables->batch;
	int r = new_column(&tables->symbol_of_func, tables->funcs.len, FIREFOX_NONE);

	for (uint32_t i = 1; r == 0 && i < batch->n_locations; i++) {
		if (batch->location_mapping[i] &&
		    batch->location_line_first[i + 1] - batch->location_line_first[i] > 1)
			r = add_symbol(tables, i);
	}
	return r;
}

/* --- kinds --- */

static int use(struct ep_vec *list, uint32_t *number_of, uint32_t string)
{
	if (number_of[string] != FIREFOX_NONE)
		return 0;
	number_of[string] = (uint32_t)list->len;
	return ep_vec_append(list, &string, 1);
}

static int find_kinds(struct firefox_tables *tables)
{
	const struct ep_batch *batch = tables->batch;
	int r = new_column(&tables->row_of_kind, batch->n_strings, FIREFOX_NONE);

	for (uint32_t i = 1; r == 0 && i < batch->n_locations; i++)
		r = use(&tables->kinds, tables->row_of_kind, batch->location_kind[i]);
	return r;
}

/* --- threads --- */

static int number_processes(struct firefox_tables *tables)
{
	const struct ep_batch *batch = tables->batch;
	struct ep_map map;
	int r = new_column(&tables->nth_of_pid, batch->n_processes, 0);

	ep_map_init(&map, MAX_ROWS);
	for (uint32_t i = 1; r == 0 && i < batch->n_processes; i++) {
		uint64_t *n = ep_map_find(&map, batch->process_pid[i]);

		tables->nth_of_pid[i] = n ? (uint32_t)*n : 0;
		r = ep_map_set(&map, batch->process_pid[i], n ? *n + 1 : 1);
	}
	ep_map_fini(&map);
	return r;
}

static int find_threads(struct firefox_tables *tables)
{
	const struct ep_batch *batch = tables->batch;
	struct ep_map map;
	int r = new_column(&tables->thread_of_sample, batch->n_samples, 0);

	ep_map_init(&map, MAX_ROWS);
	for (uint32_t i = 0; r == 0 && i < batch->n_samples; i++) {
		struct firefox_thread thread = {batch->sample_process[i], batch->sample_tid[i],
						batch->sample_thread_name[i]};
		uint64_t key = (uint64_t)thread.process << 32 | thread.tid, *found = ep_map_find(&map, key);

		tables->thread_of_sample[i] = (uint32_t)(found ? *found : tables->threads.len);
		if (found)
			continue;
		r = ep_map_set(&map, key, tables->threads.len);
		if (r == 0)
			r = ep_vec_append(&tables->threads, &thread, 1);
	}
	ep_map_fini(&map);
	return r;
}

/* --- strings --- */

/* What the tables refer to: not the environment of processes, which others may have asked for. */
static int find_strings(struct firefox_tables *tables)
{
	const struct ep_batch *batch = tables->batch;
	const struct firefox_func *func;
	int r = new_column(&tables->number_of_string, batch->n_strings, FIREFOX_NONE);

	if (r == 0)
		r = new_column(&tables->source_of_string, batch->n_strings, FIREFOX_NONE);
	ep_vec_each(&tables->funcs, func) {
		uint32_t file = batch->function_file[func->function];

		if (r == 0)
			r = use(&tables->strings, tables->number_of_string,
				batch->function_name[func->function]);
		if (r == 0 && file)
			r = use(&tables->strings, tables->number_of_string, file);
		if (r == 0 && file)
			r = use(&tables->sources, tables->source_of_string, file);
	}
	return r;
}

int firefox_tables_init(struct firefox_tables *tables, const struct ep_batch *batch)
{
	static int (*const steps[])(struct firefox_tables *) = {
		find_nodes, find_funcs, find_symbols, find_kinds, number_processes, find_threads, find_strings,
	};
	int r = 0;

	*tables = (struct firefox_tables){.batch = batch};
	ep_vec_init(&tables->nodes, sizeof(struct firefox_node), MAX_ROWS);
	ep_vec_init(&tables->funcs, sizeof(struct firefox_func), MAX_ROWS);
	ep_vec_init(&tables->symbols, sizeof(struct firefox_symbol), MAX_ROWS);
	ep_vec_init(&tables->kinds, sizeof(uint32_t), MAX_ROWS);
	ep_vec_init(&tables->threads, sizeof(struct firefox_thread), MAX_ROWS);
	ep_vec_init(&tables->sources, sizeof(uint32_t), MAX_ROWS);
	ep_vec_init(&tables->strings, sizeof(uint32_t), MAX_ROWS);
	for (size_t i = 0; r == 0 && i < EP_LEN(steps); i++)
		r = steps[i](tables);
	if (r == 0)
		r = ep_moments_new(batch, tables->thread_of_sample, &tables->moments, &tables->n_moments);
	return r;
}

void firefox_tables_fini(struct firefox_tables *tables)
{
	ep_vec_fini(&tables->nodes);
	ep_vec_fini(&tables->funcs);
	ep_vec_fini(&tables->symbols);
	ep_vec_fini(&tables->kinds);
	ep_vec_fini(&tables->threads);
	ep_vec_fini(&tables->sources);
	ep_vec_fini(&tables->strings);
	free(tables->node_of_stack);
	free(tables->location_of_line);
	free(tables->func_of_line);
	free(tables->symbol_of_func);
	free(tables->row_of_kind);
	free(tables->nth_of_pid);
	free(tables->thread_of_sample);
	free(tables->source_of_string);
	free(tables->number_of_string);
	free(tables->moments);
}
