/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two steps, so that a stack is walked once however many samples it has: weights are added up by
 * stack; then each stack counts for the rows that its frames belong to. Which row that is, is
 * looked up before, once for each line or location of the batch (`row_of`), and beside each row
 * stands the last stack that counted it.
 */
#include "reports/view/tally.h"
#include "core/base/map.h"
#include "ebpf-profiler/batch.h"

#include <string.h>

#define NO_ROW UINT32_MAX

static const char *const by_names[] = {
	[EP_TALLY_FUNCTION] = "function",   [EP_TALLY_LINE] = "line",
	[EP_TALLY_MODULE] = "module",	    [EP_TALLY_KIND] = "kind",
	[EP_TALLY_PROCESS] = "process",	    [EP_TALLY_THREAD] = "thread",
	[EP_TALLY_CONTAINER] = "container", [EP_TALLY_CPU] = "cpu",
	[EP_TALLY_PROGRAM] = "program",	    [EP_TALLY_COMM] = "comm",
	[EP_TALLY_USER] = "user",	    [EP_TALLY_UNIT] = "unit",
};

int ep_tally_parse_by(const char *text, enum ep_tally_by *ret_by)
{
	for (size_t i = 0; i < EP_LEN(by_names); i++) {
		if (strcmp(text, by_names[i]) == 0) {
			*ret_by = (enum ep_tally_by)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *ep_tally_by_name(enum ep_tally_by by)
{
	return by_names[by];
}

/* --- by stack -------------------------------------------------------------------------------- */

int ep_stack_weights_make(const struct ep_batch *batch, struct ep_stack_weights *ret_weights)
{
	struct ep_stack_weights weights = {
		.weight = calloc((size_t)batch->n_stacks + 1, sizeof(*weights.weight)),
		.samples = calloc((size_t)batch->n_stacks + 1, sizeof(*weights.samples)),
	};

	if (!weights.weight || !weights.samples) {
		ep_stack_weights_fini(&weights);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		weights.weight[batch->sample_stack[i]] += ep_batch_weight_ns(batch, i);
		weights.samples[batch->sample_stack[i]] += batch->sample_count[i];
	}
	*ret_weights = weights;
	return 0;
}

void ep_stack_weights_fini(struct ep_stack_weights *weights)
{
	free(weights->weight);
	free(weights->samples);
	*weights = (struct ep_stack_weights){0};
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The row of a key, which is made of `row` when there is none. */
static int find_row(struct ep_tally *tally, struct ep_map *index, uint64_t key,
		    const struct ep_tally_row *row, uint32_t *ret_row)
{
	const uint64_t *found = ep_map_find(index, key);
	struct ep_tally_row *slot;

	if (found) {
		*ret_row = (uint32_t)*found;
		return 0;
	}
	slot = ep_vec_push(&tally->rows);
	if (!slot)
		return -ENOMEM;
	*slot = *row;
	*ret_row = (uint32_t)tally->rows.len - 1;
	return ep_map_set(index, key, *ret_row);
}

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* Name and file are one number of `names`, from 1. */
static int number_name(struct ep_map *names, const struct ep_batch *batch, uint32_t function,
		       uint64_t *ret_number)
{
	uint64_t key = pair(batch->function_name[function], batch->function_file[function]);
	const uint64_t *known = ep_map_find(names, key);

	*ret_number = known ? *known : names->len + 1;
	return known ? 0 : ep_map_set(names, key, *ret_number);
}

static int find_functions(struct ep_tally *tally, struct ep_map *index, uint32_t *row_of)
{
	const struct ep_batch *batch = tally->batch;
	ep_cleanup(ep_map_fini) struct ep_map names = {0};
	int r = 0;

	ep_map_init(&names, (size_t)batch->n_functions + 1);
	for (uint32_t i = 0; i < batch->n_functions && r == 0; i++) {
		struct ep_tally_row row = {
			.name = batch->function_name[i],
			.file = batch->function_file[i],
			.number = batch->function_file[i] ? batch->function_line[i] : 0,
			.mapping = NO_ROW - 1, /* none has been seen */
		};
		uint64_t number;

		r = number_name(&names, batch, i, &number);
		if (r == 0)
			r = find_row(tally, index,
				     pair((uint32_t)number, tally->by_name ? 0 : row.number), &row,
				     &row_of[i]);
	}
	return r;
}

static void note_mapping(struct ep_tally *tally, uint32_t row, uint32_t mapping)
{
	uint32_t *known = &ep_vec_at(&tally->rows, struct ep_tally_row, row)->mapping;

	if (*known == NO_ROW - 1)
		*known = mapping;
	else if (*known != mapping)
		*known = EP_TALLY_SEVERAL;
}

static int rows_of_functions(struct ep_tally *tally, struct ep_map *index, uint32_t *row_of)
{
	const struct ep_batch *batch = tally->batch;
	ep_autofree uint32_t *function_row =
		calloc((size_t)batch->n_functions + 1, sizeof(*function_row));
	int r = function_row ? find_functions(tally, index, function_row) : -ENOMEM;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < batch->n_lines; i++)
		row_of[i] = function_row[batch->line_function[i]];
	for (uint32_t i = 0; i < batch->n_locations; i++)
		for (uint32_t k = batch->location_line_first[i];
		     k < batch->location_line_first[i + 1]; k++)
			note_mapping(tally, row_of[k], batch->location_mapping[i]);
	return 0;
}

/* A line is a function's name, a file and a number; the first two are one number of `names`. */
static int rows_of_lines(struct ep_tally *tally, struct ep_map *index, uint32_t *row_of)
{
	const struct ep_batch *batch = tally->batch;
	ep_cleanup(ep_map_fini) struct ep_map names = {0};
	const struct ep_tally_row none = {0};
	uint32_t row;
	int r;

	ep_map_init(&names, (size_t)batch->n_functions + 1);
	r = find_row(tally, index, 0, &none, &row);
	for (uint32_t i = 0; i < batch->n_lines && r == 0; i++) {
		uint32_t function = batch->line_function[i];
		uint64_t number;
		struct ep_tally_row made = {
			.name = batch->function_name[function],
			.file = batch->function_file[function],
			.number = batch->line_line[i],
		};

		r = number_name(&names, batch, function, &number);
		if (r == 0)
			r = find_row(tally, index, pair((uint32_t)number, made.number), &made,
				     &row_of[i]);
	}
	return r;
}

static int rows_of_locations(struct ep_tally *tally, struct ep_map *index, uint32_t *row_of)
{
	const struct ep_batch *batch = tally->batch;
	int r = 0;

	for (uint32_t i = 0; i < batch->n_locations && r == 0; i++) {
		uint32_t mapping = batch->location_mapping[i];
		bool has_path = tally->by == EP_TALLY_MODULE && mapping;
		struct ep_tally_row row = {
			.name = has_path ? batch->mapping_path[mapping] : batch->location_kind[i],
			.number = has_path,
		};

		r = find_row(tally, index, pair(row.number, row.name), &row, &row_of[i]);
	}
	return r;
}

/* --- counting -------------------------------------------------------------------------------- */

struct stack {
	uint64_t weight, samples;
	uint32_t number; /* of its row, from 1 */
};

static void count_row(struct ep_tally *tally, uint32_t *last, uint32_t row,
		      const struct stack *stack, bool is_leaf)
{
	struct ep_tally_row *to = ep_vec_at(&tally->rows, struct ep_tally_row, row);

	if (is_leaf) {
		to->self += stack->weight;
		to->self_samples += stack->samples;
	}
	if (last[row] == stack->number)
		return;
	last[row] = stack->number;
	to->total += stack->weight;
	to->total_samples += stack->samples;
}

/*
 * What a location counts for, in one word, since there may be tens of millions of frames: its row,
 * or that it has several, which are those of its lines.
 */
#define CODE_SKIP    (1u << 31) /* counts where it is the leaf only */
#define CODE_LINES   (1u << 30)
#define CODE_MAX_ROW (CODE_LINES - 1)

static uint32_t code_of(const struct ep_tally *tally, const uint32_t *row_of, uint32_t location)
{
	const struct ep_batch *batch = tally->batch;
	uint32_t first = batch->location_line_first[location],
		 n = batch->location_line_first[location + 1] - first;
	bool skip = batch->location_flags[location] & (EP_LOCATION_ERROR | EP_LOCATION_GAP);
	uint32_t code = tally->by > EP_TALLY_LINE ? row_of[location]
			: n == 0		  ? 0
			: n == 1		  ? row_of[first]
						  : CODE_LINES;

	return code | (skip ? CODE_SKIP : 0);
}

static uint32_t *make_codes(const struct ep_tally *tally, const uint32_t *row_of)
{
	uint32_t *codes = calloc((size_t)tally->batch->n_locations + 1, sizeof(*codes));

	for (uint32_t i = 0; codes && i < tally->batch->n_locations; i++)
		codes[i] = code_of(tally, row_of, i);
	return codes;
}

struct counting {
	struct ep_tally *tally;
	const uint32_t *row_of, *codes;
	uint32_t *last; /* by row: the stack that counted it last */
};

/* Rows of all that are inlined there. */
static void count_lines(const struct counting *counting, uint32_t location,
			const struct stack *stack, bool is_leaf)
{
	const struct ep_batch *batch = counting->tally->batch;
	uint32_t first = batch->location_line_first[location],
		 end = batch->location_line_first[location + 1];

	for (uint32_t i = first; i < end; i++)
		count_row(counting->tally, counting->last, counting->row_of[i], stack,
			  is_leaf && i == first);
}

static void count_stack(const struct counting *counting, uint32_t row, const struct stack *stack)
{
	const struct ep_batch *batch = counting->tally->batch;
	uint32_t first = batch->stack_location_first[row],
		 end = batch->stack_location_first[row + 1];

	for (uint32_t i = first; i < end; i++) {
		uint32_t location = batch->stack_location[i], code = counting->codes[location];

		if ((code & CODE_SKIP) && i > first)
			continue;
		if (code & CODE_LINES)
			count_lines(counting, location, stack, i == first);
		else
			count_row(counting->tally, counting->last, code & CODE_MAX_ROW, stack,
				  i == first);
	}
}

static int make_rows(struct ep_tally *tally, struct ep_map *index, uint32_t *row_of)
{
	int r = tally->by == EP_TALLY_FUNCTION ? rows_of_functions(tally, index, row_of)
		: tally->by == EP_TALLY_LINE   ? rows_of_lines(tally, index, row_of)
					       : rows_of_locations(tally, index, row_of);

	return r == 0 && tally->rows.len > CODE_MAX_ROW ? -E2BIG : r;
}

static int count_stacks(struct counting *counting)
{
	const struct ep_batch *batch = counting->tally->batch;
	ep_cleanup(ep_stack_weights_fini) struct ep_stack_weights weights = {0};
	int r = ep_stack_weights_make(batch, &weights);

	for (uint32_t i = 0; i < batch->n_stacks && r == 0; i++) {
		struct stack stack = {weights.weight[i], weights.samples[i], i + 1};

		if (stack.samples)
			count_stack(counting, i, &stack);
	}
	return r;
}

static int tally_frames(struct ep_tally *tally, struct ep_map *index)
{
	const struct ep_batch *batch = tally->batch;
	size_t n = tally->by <= EP_TALLY_LINE ? batch->n_lines : batch->n_locations;
	ep_autofree uint32_t *row_of = calloc(n + 1, sizeof(*row_of)), *codes = NULL, *last = NULL;
	int r = row_of ? make_rows(tally, index, row_of) : -ENOMEM;

	if (r < 0)
		return r;
	codes = make_codes(tally, row_of);
	last = calloc(tally->rows.len + 1, sizeof(*last));
	if (!codes || !last)
		return -ENOMEM;
	return count_stacks(&(struct counting){tally, row_of, codes, last});
}

/* --- by sample ------------------------------------------------------------------------------- */

uint32_t ep_tally_group(const struct ep_batch *batch, enum ep_tally_by by, uint32_t process)
{
	switch (by) {
	case EP_TALLY_CONTAINER:
		return batch->process_container_id[process];
	case EP_TALLY_PROGRAM:
		return batch->process_exe_path[process] ? batch->process_exe_path[process]
							: batch->process_comm[process];
	case EP_TALLY_USER:
		return EP_HAS(batch, process_user) ? batch->process_user[process] : 0;
	case EP_TALLY_UNIT:
		return EP_HAS(batch, process_unit) ? batch->process_unit[process] : 0;
	default:
		return batch->process_comm[process];
	}
}

static void describe_sample(const struct ep_batch *batch, enum ep_tally_by by, uint32_t sample,
			    struct ep_tally_row *row, uint64_t *ret_key)
{
	uint32_t process = batch->sample_process[sample];

	*row = (struct ep_tally_row){0};
	switch (by) {
	case EP_TALLY_THREAD:
		row->name = batch->sample_thread_name[sample];
		row->number = batch->sample_tid[sample];
		row->process = process;
		*ret_key = pair(process, row->number);
		break;
	case EP_TALLY_CONTAINER:
	case EP_TALLY_PROGRAM:
	case EP_TALLY_COMM:
	case EP_TALLY_USER:
	case EP_TALLY_UNIT:
		row->name = ep_tally_group(batch, by, process);
		*ret_key = row->name;
		break;
	case EP_TALLY_CPU:
		row->number = batch->sample_cpu[sample];
		*ret_key = row->number;
		break;
	default:
		row->process = process;
		row->name = batch->process_comm[process];
		*ret_key = process;
	}
}

static int tally_samples(struct ep_tally *tally, struct ep_map *index)
{
	const struct ep_batch *batch = tally->batch;
	int r = 0;

	for (uint32_t i = 0; i < batch->n_samples && r == 0; i++) {
		struct ep_tally_row row;
		struct ep_tally_row *to;
		uint64_t key;
		uint32_t found;

		describe_sample(batch, tally->by, i, &row, &key);
		r = find_row(tally, index, key, &row, &found);
		if (r < 0)
			break;
		to = ep_vec_at(&tally->rows, struct ep_tally_row, found);
		to->self = to->total += ep_batch_weight_ns(batch, i);
		to->self_samples = to->total_samples += batch->sample_count[i];
	}
	return r;
}

/* --- order ----------------------------------------------------------------------------------- */

static int descending(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_text(const struct ep_tally_row *a, const struct ep_tally_row *b,
		   const struct ep_batch *batch)
{
	int order = strcmp(batch->string_text[a->name], batch->string_text[b->name]);

	if (order == 0 && a->file != b->file)
		order = strcmp(batch->string_text[a->file], batch->string_text[b->file]);
	return order ? order : descending(b->number, a->number);
}

static int by_self(const void *left, const void *right, void *arg)
{
	const struct ep_tally_row *a = left, *b = right;
	int order = descending(a->self, b->self);

	order = order ? order : descending(a->total, b->total);
	return order ? order : by_text(a, b, arg);
}

static int by_total(const void *left, const void *right, void *arg)
{
	const struct ep_tally_row *a = left, *b = right;
	int order = descending(a->total, b->total);

	order = order ? order : descending(a->self, b->self);
	return order ? order : by_text(a, b, arg);
}

static void sort(struct ep_tally *tally, int (*compare)(const void *, const void *, void *))
{
	if (tally->rows.len > 1)
		qsort_r(tally->rows.data, tally->rows.len, tally->rows.elem_bytes, compare,
			(void *)tally->batch);
}

void ep_tally_sort_total(struct ep_tally *tally)
{
	sort(tally, by_total);
}

static void drop_unsampled(struct ep_tally *tally)
{
	struct ep_tally_row *rows = tally->rows.data;
	size_t n = 0;

	for (size_t i = 0; i < tally->rows.len; i++)
		if (rows[i].total_samples)
			rows[n++] = rows[i];
	tally->rows.len = n;
}

static int make(const struct ep_batch *batch, enum ep_tally_by by, bool by_name,
		struct ep_tally *ret_tally)
{
	ep_cleanup(ep_map_fini) struct ep_map index = {0};
	ep_cleanup(ep_tally_fini) struct ep_tally tally = {
		.batch = batch, .by = by, .by_name = by_name};
	int r;

	ep_map_init(&index, UINT32_MAX);
	ep_vec_init(&tally.rows, sizeof(struct ep_tally_row), UINT32_MAX);
	r = by < EP_TALLY_PROCESS ? tally_frames(&tally, &index) : tally_samples(&tally, &index);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		tally.weight += ep_batch_weight_ns(batch, i);
		tally.samples += batch->sample_count[i];
	}
	drop_unsampled(&tally);
	sort(&tally, by_self);
	*ret_tally = tally;
	tally = (struct ep_tally){0};
	return 0;
}

int ep_tally_make(const struct ep_batch *batch, enum ep_tally_by by, struct ep_tally *ret_tally)
{
	return make(batch, by, false, ret_tally);
}

int ep_tally_make_names(const struct ep_batch *batch, struct ep_tally *ret_tally)
{
	return make(batch, EP_TALLY_FUNCTION, true, ret_tally);
}

void ep_tally_fini(struct ep_tally *tally)
{
	ep_vec_fini(&tally->rows);
}
