/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/shares.h"
#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/batch.h"

#include <errno.h>

#define MAX_NAME_BYTES (16u << 20)
#define MAX_FUNCTIONS  (1u << 20)
#define MAX_PROCESSES  (1u << 16)
#define MAX_REASONS    256 /* a few of each language */

/* Per row of a batch's table. */
struct batch_rows {
	uint64_t *stack_ns;
	uint32_t *function_name; /* ids of names */
};

static void batch_rows_fini(struct batch_rows *rows)
{
	free(rows->stack_ns);
	free(rows->function_name);
}

int ep_shares_init(struct ep_shares *shares)
{
	*shares = (struct ep_shares){0};
	ep_vec_init(&shares->functions, sizeof(struct ep_share_function), MAX_FUNCTIONS);
	ep_vec_init(&shares->processes, sizeof(struct ep_share_process), MAX_PROCESSES);
	ep_vec_init(&shares->programs, sizeof(struct ep_share_program), MAX_PROCESSES);
	ep_vec_init(&shares->reasons, sizeof(struct ep_share_reason), MAX_REASONS);
	ep_map_init(&shares->process_index, MAX_PROCESSES);
	return ep_strings_new(MAX_NAME_BYTES, &shares->names);
}

void ep_shares_fini(struct ep_shares *shares)
{
	ep_vec_fini(&shares->functions);
	ep_vec_fini(&shares->processes);
	ep_vec_fini(&shares->programs);
	ep_vec_fini(&shares->reasons);
	ep_map_fini(&shares->process_index);
	ep_strings_free(shares->names);
}

/* Id 0, which is "", also stands for all names that no longer fit. */
static int add_name(struct ep_shares *shares, const struct ep_batch *batch, uint32_t string,
		    uint32_t *ret_id)
{
	int r = ep_strings_add(shares->names, batch->string_text[string],
			       batch->string_bytes[string], ret_id);

	if (r == -E2BIG || (r == 0 && *ret_id >= MAX_FUNCTIONS)) {
		*ret_id = 0;
		return 0;
	}
	return r;
}

static int add_functions(struct ep_shares *shares, const struct ep_batch *batch,
			 struct batch_rows *rows)
{
	int r;

	for (uint32_t i = 0; i < batch->n_functions; i++) {
		r = add_name(shares, batch, batch->function_name[i], &rows->function_name[i]);
		if (r < 0)
			return r;
	}
	while (shares->functions.len < ep_strings_count(shares->names) &&
	       shares->functions.len < MAX_FUNCTIONS) {
		struct ep_share_function *function = ep_vec_push(&shares->functions);

		if (!function)
			return -ENOMEM;
		function->name = (uint32_t)(shares->functions.len - 1);
	}
	return 0;
}

static void count_function(struct ep_shares *shares, uint32_t name, uint64_t weight_ns,
			   bool is_leaf)
{
	struct ep_share_function *function =
		ep_vec_at(&shares->functions, struct ep_share_function, name);

	if (is_leaf)
		function->self_ns += weight_ns;
	if (function->last_stack == shares->n_stacks)
		return;
	function->last_stack = shares->n_stacks;
	function->total_ns += weight_ns;
}

/* A frame that says why others are missing is counted where it is all there is. */
static void count_location(struct ep_shares *shares, const struct ep_batch *batch,
			   const struct batch_rows *rows, uint32_t location, uint64_t weight_ns,
			   bool is_leaf)
{
	uint32_t first = batch->location_line_first[location];
	uint32_t end = batch->location_line_first[location + 1];

	if (!is_leaf && (batch->location_flags[location] & (EP_LOCATION_ERROR | EP_LOCATION_GAP)))
		return;
	for (uint32_t line = first; line < end; line++)
		count_function(shares, rows->function_name[batch->line_function[line]], weight_ns,
			       is_leaf && line == first);
}

static bool has_gap(const struct ep_batch *batch, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		if (batch->location_flags[batch->stack_location[i]] & EP_LOCATION_GAP)
			return true;
	}
	return false;
}

static int count_reason(struct ep_shares *shares, uint32_t text, uint64_t weight_ns)
{
	struct ep_share_reason *reason;

	ep_vec_each(&shares->reasons, reason) {
		if (reason->text == text) {
			reason->ns += weight_ns;
			return 0;
		}
	}
	reason = ep_vec_push(&shares->reasons);
	if (!reason)
		return shares->reasons.len == MAX_REASONS ? 0 : -ENOMEM;
	*reason = (struct ep_share_reason){.ns = weight_ns, .text = text};
	return 0;
}

static int count_names(struct ep_shares *shares, const struct ep_batch *batch, uint32_t stack,
		       uint64_t weight_ns)
{
	uint32_t text;
	int r;

	if (ep_batch_has_no_symbol(batch, stack))
		shares->no_symbol_ns += weight_ns;
	if (!EP_HAS(batch, stack_unnamed) || !EP_HAS(batch, stack_unnamed_text))
		return 0;
	shares->has_names = true;
	if (!batch->stack_unnamed[stack]) {
		shares->named_ns += weight_ns;
		return 0;
	}
	r = add_name(shares, batch, batch->stack_unnamed_text[stack], &text);
	return r < 0 ? r : count_reason(shares, text, weight_ns);
}

static void count_stack(struct ep_shares *shares, const struct ep_batch *batch,
			const struct batch_rows *rows, uint32_t stack)
{
	uint32_t first = batch->stack_location_first[stack];
	uint32_t end = batch->stack_location_first[stack + 1];
	uint32_t error = batch->stack_error[stack];
	uint64_t weight_ns = rows->stack_ns[stack];

	shares->error_ns[error < EP_MAX_ERRORS ? error : EP_ERROR_LOST] += weight_ns;
	shares->n_stacks++;
	if (error == EP_ERROR_NONE && has_gap(batch, first, end))
		shares->gap_ns += weight_ns;
	if (ep_batch_is_unverified(batch, stack))
		shares->unverified_ns += weight_ns;
	for (uint32_t i = first; i < end; i++)
		count_location(shares, batch, rows, batch->stack_location[i], weight_ns,
			       i == first);
}

/* The process's row, new or known: a pid that was used again is another one, as after an exec. */
static int find_process(struct ep_shares *shares, const struct ep_batch *batch, uint32_t row,
			struct ep_share_process **ret_process)
{
	uint64_t image = EP_HAS(batch, process_image) ? batch->process_image[row] : 0;
	uint64_t key = ep_mix64(batch->process_start_ns[row]) ^ batch->process_pid[row] ^
		       image << 32;
	uint64_t *index = ep_map_find(&shares->process_index, key);
	struct ep_share_process *process;
	int r;

	if (index) {
		*ret_process = ep_vec_at(&shares->processes, struct ep_share_process, *index);
		return 0;
	}
	process = ep_vec_push(&shares->processes);
	if (!process)
		return -ENOMEM;
	process->pid = batch->process_pid[row];
	r = add_name(shares, batch, batch->process_comm[row], &process->comm);
	if (r == 0)
		r = add_name(shares, batch, batch->process_exe_path[row], &process->exe_path);
	if (r == 0)
		r = ep_map_set(&shares->process_index, key, shares->processes.len - 1);
	*ret_process = process;
	return r;
}

static int count_samples(struct ep_shares *shares, const struct ep_batch *batch,
			 struct batch_rows *rows)
{
	struct ep_share_process *process;
	int r;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		uint64_t weight_ns = ep_batch_weight_ns(batch, i);

		r = find_process(shares, batch, batch->sample_process[i], &process);
		if (r < 0)
			return r;
		process->cpu_ns += weight_ns;
		shares->cpu_ns += weight_ns;
		shares->samples += batch->sample_count[i];
		rows->stack_ns[batch->sample_stack[i]] += weight_ns;
	}
	return 0;
}

int ep_shares_add(struct ep_shares *shares, const struct ep_batch *batch)
{
	ep_cleanup(batch_rows_fini) struct batch_rows rows = {
		.stack_ns = calloc(batch->n_stacks + 1, sizeof(*rows.stack_ns)),
		.function_name = calloc(batch->n_functions + 1, sizeof(*rows.function_name)),
	};
	uint64_t before;
	int r;

	if (!rows.stack_ns || !rows.function_name)
		return -ENOMEM;
	shares->duration_ns += batch->duration_ns;
	shares->lost += batch->lost_samples;
	shares->period_hz = batch->period_hz;
	before = shares->samples;
	r = count_samples(shares, batch, &rows);
	shares->due += ep_batch_due_samples(batch, shares->samples - before);
	if (r == 0)
		r = add_functions(shares, batch, &rows);
	for (uint32_t i = 0; i < batch->n_stacks && r == 0; i++) {
		if (!rows.stack_ns[i])
			continue;
		count_stack(shares, batch, &rows, i);
		r = count_names(shares, batch, i, rows.stack_ns[i]);
	}
	return r;
}

static int by_number(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_self(const void *left, const void *right)
{
	const struct ep_share_function *a = left, *b = right;
	int order = by_number(a->self_ns, b->self_ns);

	order = order ? order : by_number(a->total_ns, b->total_ns);
	return order ? order : by_number(b->name, a->name);
}

static int by_total(const void *left, const void *right)
{
	const struct ep_share_function *a = left, *b = right;
	int order = by_number(a->total_ns, b->total_ns);

	order = order ? order : by_number(a->self_ns, b->self_ns);
	return order ? order : by_number(b->name, a->name);
}

static int by_cpu_time(const void *left, const void *right)
{
	const struct ep_share_program *a = left, *b = right;
	int order = by_number(a->cpu_ns, b->cpu_ns);

	return order ? order : by_number(b->pid, a->pid);
}

static int by_time(const void *left, const void *right)
{
	const struct ep_share_reason *a = left, *b = right;
	int order = by_number(a->ns, b->ns);

	return order ? order : by_number(b->text, a->text);
}

static void sort(struct ep_vec *vec, int (*compare)(const void *, const void *))
{
	if (vec->len > 1)
		qsort(vec->data, vec->len, vec->elem_bytes, compare);
}

void ep_shares_sort_self(struct ep_shares *shares)
{
	sort(&shares->functions, by_self);
}

void ep_shares_sort_total(struct ep_shares *shares)
{
	sort(&shares->functions, by_total);
}

static int add_to_program(struct ep_shares *shares, const struct ep_share_process *process,
			  struct ep_map *index)
{
	uint64_t key = process->exe_path ? process->exe_path : (uint64_t)process->comm << 32;
	const uint64_t *known = ep_map_find(index, key);
	struct ep_share_program *program;

	if (!known) {
		const struct ep_share_program first = {process->cpu_ns, process->pid, 1,
						       process->comm, process->exe_path};
		int r = ep_vec_append(&shares->programs, &first, 1);

		return r < 0 ? r : ep_map_set(index, key, shares->programs.len - 1);
	}
	program = ep_vec_at(&shares->programs, struct ep_share_program, *known);
	program->cpu_ns += process->cpu_ns;
	program->n_processes++;
	program->comm = program->comm == process->comm ? program->comm : 0;
	return 0;
}

int ep_shares_sort_programs(struct ep_shares *shares)
{
	ep_cleanup(ep_map_fini) struct ep_map index;
	const struct ep_share_process *process;
	int r = 0;

	ep_map_init(&index, MAX_PROCESSES);
	shares->programs.len = 0;
	ep_vec_each(&shares->processes, process)
		r = r < 0 ? r : add_to_program(shares, process, &index);
	sort(&shares->programs, by_cpu_time);
	return r;
}

void ep_shares_sort_reasons(struct ep_shares *shares)
{
	sort(&shares->reasons, by_time);
}
