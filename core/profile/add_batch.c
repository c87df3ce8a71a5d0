/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch, or part of it, as rows of a builder. Rows are copied when something that stays refers to them, once
 * each: for every table there is a map from rows of the batch to those of the builder.
 */
#include "core/profile/builder.h"
#include "core/base/vec.h"

#include <errno.h>
#include <string.h>

#define HIDDEN	 UINT32_MAX /* in the map of stacks */
#define MAX_LIST (1u << 20)

struct copier {
	struct ep_profile_builder *builder;
	const struct ep_batch *batch;
	const struct ep_profile_choice *choice; /* all members may be NULL */
	/* row of the batch → row of the builder, 0: not copied yet */
	uint32_t *strings, *functions, *mappings, *locations, *stacks, *processes;
	struct ep_vec lines;  /* struct ep_profile_line, of the location in hand */
	struct ep_vec list;   /* uint32_t, locations of the stack in hand */
	struct ep_vec env;    /* uint32_t [2] */
	struct ep_vec times;  /* of the sample in hand */
};

static void copier_fini(struct copier *c)
{
	free(c->strings);
	free(c->functions);
	free(c->mappings);
	free(c->locations);
	free(c->stacks);
	free(c->processes);
	ep_vec_fini(&c->lines);
	ep_vec_fini(&c->list);
	ep_vec_fini(&c->env);
	ep_vec_fini(&c->times);
}

static uint32_t *new_map(uint32_t n_rows)
{
	return calloc((size_t)n_rows + 1, sizeof(uint32_t));
}

static int copier_init(struct copier *c)
{
	const struct ep_batch *batch = c->batch;

	ep_vec_init(&c->lines, sizeof(struct ep_profile_line), MAX_LIST);
	ep_vec_init(&c->list, sizeof(uint32_t), UINT32_MAX / 2);
	ep_vec_init(&c->env, sizeof(uint32_t[2]), MAX_LIST);
	ep_vec_init(&c->times, sizeof(uint64_t), UINT32_MAX / 2);
	c->strings = new_map(batch->n_strings);
	c->functions = new_map(batch->n_functions);
	c->mappings = new_map(batch->n_mappings);
	c->locations = new_map(batch->n_locations);
	c->stacks = new_map(batch->n_stacks);
	c->processes = new_map(batch->n_processes);
	return c->strings && c->functions && c->mappings && c->locations && c->stacks &&
			       c->processes
		       ? 0
		       : -ENOMEM;
}

/* The builder's row of a string; 0 and the error that sticks when there is one. */
static uint32_t copy_string(struct copier *c, uint32_t row)
{
	if (row && !c->strings[row])
		(void)ep_profile_add_string(c->builder, c->batch->string_text[row],
					    c->batch->string_bytes[row], &c->strings[row]);
	return c->strings[row];
}

static uint32_t copy_function(struct copier *c, uint32_t row)
{
	const struct ep_batch *batch = c->batch;
	struct ep_profile_function function;

	if (!row || c->functions[row])
		return c->functions[row];
	function = (struct ep_profile_function){
		.name = copy_string(c, batch->function_name[row]),
		.system_name = copy_string(c, batch->function_system_name[row]),
		.file = copy_string(c, batch->function_file[row]),
		.line = batch->function_line[row],
	};
	(void)ep_profile_add_function(c->builder, &function, &c->functions[row]);
	return c->functions[row];
}

static uint32_t copy_mapping(struct copier *c, uint32_t row)
{
	const struct ep_batch *batch = c->batch;
	struct ep_profile_mapping mapping;

	if (!row || c->mappings[row])
		return c->mappings[row];
	mapping = (struct ep_profile_mapping){
		.start_va = batch->mapping_start_va[row],
		.limit_va = batch->mapping_limit_va[row],
		.file_off = batch->mapping_file_off[row],
		.path = copy_string(c, batch->mapping_path[row]),
		.build_id = copy_string(c, batch->mapping_build_id[row]),
		.go_build_id = copy_string(c, batch->mapping_go_build_id[row]),
		.file_id = copy_string(c, batch->mapping_file_id[row]),
		.flags = batch->mapping_flags[row],
	};
	(void)ep_profile_add_mapping(c->builder, &mapping, &c->mappings[row]);
	return c->mappings[row];
}

static int list_lines(struct copier *c, uint32_t location)
{
	const struct ep_batch *batch = c->batch;
	int r = 0;

	c->lines.len = 0;
	for (uint32_t i = batch->location_line_first[location];
	     i < batch->location_line_first[location + 1] && r == 0; i++) {
		struct ep_profile_line line = {
			.function = copy_function(c, batch->line_function[i]),
			.line = batch->line_line[i],
			.column = batch->line_column[i],
		};

		r = ep_vec_append(&c->lines, &line, 1);
	}
	return r;
}

static int copy_location(struct copier *c, uint32_t row, uint32_t *ret_row)
{
	const struct ep_batch *batch = c->batch;
	struct ep_profile_location location;
	int r = 0;

	if (row && !c->locations[row]) {
		r = list_lines(c, row);
		if (r < 0)
			return r;
		location = (struct ep_profile_location){
			.address = batch->location_address[row],
			.mapping = copy_mapping(c, batch->location_mapping[row]),
			.kind = copy_string(c, batch->location_kind[row]),
			.flags = batch->location_flags[row],
			.unnamed = EP_HAS(batch, location_unnamed) ? batch->location_unnamed[row]
								   : 0,
			.n_lines = (uint32_t)c->lines.len,
			.lines = c->lines.data,
		};
		r = ep_profile_add_location(c->builder, &location, &c->locations[row]);
	}
	*ret_row = c->locations[row];
	return r;
}

/* The locations that stay, as rows of the builder; none: the stack is hidden. */
static int list_locations(struct copier *c, uint32_t row)
{
	const struct ep_batch *batch = c->batch;
	uint32_t first = batch->stack_location_first[row];
	uint32_t n = batch->stack_location_first[row + 1] - first;
	uint32_t *list;
	int r;

	c->list.len = 0;
	r = ep_vec_append(&c->list, batch->stack_location + first, n);
	if (r < 0 || n == 0)
		return r;
	list = c->list.data;
	if (c->choice->stack)
		n = EP_MIN(n, c->choice->stack(c->choice->arg, batch, row, list));
	c->list.len = n;
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = list[i] < batch->n_locations ? copy_location(c, list[i], &list[i]) : -EBADMSG;
	return r;
}

static int copy_stack(struct copier *c, uint32_t row)
{
	const struct ep_batch *batch = c->batch;
	uint32_t n = batch->stack_location_first[row + 1] - batch->stack_location_first[row];
	struct ep_profile_stack stack;
	int r = list_locations(c, row);

	if (r < 0)
		return r;
	if (c->choice->stack && c->list.len == 0) {
		c->stacks[row] = HIDDEN;
		return 0;
	}
	stack = (struct ep_profile_stack){
		.error = batch->stack_error[row],
		.error_text = copy_string(c, batch->stack_error_text[row]),
		.n_locations = (uint32_t)c->list.len,
		.locations = c->list.data,
		.hash = c->list.len == n ? batch->stack_hash[row] : NULL,
	};
	if (EP_HAS(batch, stack_unnamed) && EP_HAS(batch, stack_unnamed_text)) {
		stack.unnamed = batch->stack_unnamed[row];
		stack.unnamed_text = copy_string(c, batch->stack_unnamed_text[row]);
	}
	return ep_profile_add_stack(c->builder, &stack, &c->stacks[row]);
}

static int list_env(struct copier *c, uint32_t row)
{
	const struct ep_batch *batch = c->batch;
	int r = 0;

	c->env.len = 0;
	if (!EP_HAS(batch, process_env_value) || !batch->process_env_first)
		return 0;
	for (uint32_t i = batch->process_env_first[row];
	     i < batch->process_env_first[row + 1] && r == 0; i++) {
		uint32_t pair[2] = {copy_string(c, batch->process_env_name[i]),
				    copy_string(c, batch->process_env_value[i])};

		r = ep_vec_append(&c->env, pair, 1);
	}
	return r;
}

static int copy_process(struct copier *c, uint32_t row, uint32_t *ret_row)
{
	const struct ep_batch *batch = c->batch;
	struct ep_profile_process process;
	int r = 0;

	if (row && !c->processes[row]) {
		r = list_env(c, row);
		if (r < 0)
			return r;
		process = (struct ep_profile_process){
			.start_ns = batch->process_start_ns[row],
			.pid = batch->process_pid[row],
			.image = batch->process_image[row],
			.comm = copy_string(c, batch->process_comm[row]),
			.exe_path = copy_string(c, batch->process_exe_path[row]),
			.container_id = copy_string(c, batch->process_container_id[row]),
			.user = EP_HAS(batch, process_user)
					? copy_string(c, batch->process_user[row])
					: 0,
			.cgroup = EP_HAS(batch, process_cgroup)
					  ? copy_string(c, batch->process_cgroup[row])
					  : 0,
			.n_env = (uint32_t)c->env.len,
			.env = c->env.data,
		};
		r = ep_profile_add_process(c->builder, &process, &c->processes[row]);
	}
	*ret_row = c->processes[row];
	return r;
}

/* --- samples --- */

static uint32_t n_times(const struct ep_batch *batch, uint32_t row)
{
	return batch->sample_time_first[row + 1] - batch->sample_time_first[row];
}

static uint64_t share(uint64_t weight, uint32_t part, uint32_t whole)
{
	return part == whole ? weight
			     : (uint64_t)((unsigned __int128)weight * part / EP_MAX(whole, 1u));
}

/* How many of the samples of a row are wanted, and their times. */
static int choose(struct copier *c, uint32_t row, uint32_t *ret_count)
{
	const struct ep_batch *batch = c->batch;
	uint32_t count = batch->sample_count[row], n = n_times(batch, row);
	int r;

	c->times.len = 0;
	*ret_count = count;
	if (!c->choice->sample)
		return n ? ep_vec_append(&c->times,
					 &batch->sample_time_ns[batch->sample_time_first[row]], n)
			 : 0;
	r = ep_vec_append(&c->times, NULL, EP_MAX(n, 1u));
	if (r < 0)
		return r;
	*ret_count = EP_MIN(count, c->choice->sample(c->choice->arg, batch, row, c->times.data));
	c->times.len = n ? *ret_count : 0;
	return 0;
}

static int copy_sample(struct copier *c, uint32_t row)
{
	const struct ep_batch *batch = c->batch;
	uint32_t stack = batch->sample_stack[row], count;
	struct ep_profile_sample sample;
	int r;

	if (c->stacks[stack] == HIDDEN)
		return 0;
	r = choose(c, row, &count);
	if (r < 0 || !count)
		return r;
	if (!c->stacks[stack])
		r = copy_stack(c, stack);
	if (r < 0 || c->stacks[stack] == HIDDEN)
		return r;
	sample = (struct ep_profile_sample){
		.stack = c->stacks[stack],
		.tid = batch->sample_tid[row],
		.cpu = batch->sample_cpu[row],
		.thread_name = copy_string(c, batch->sample_thread_name[row]),
		.count = count,
		.weight = share(ep_batch_weight_ns(batch, row), count, batch->sample_count[row]),
		.n_times = (uint32_t)c->times.len,
		.times_ns = c->times.data,
	};
	r = copy_process(c, batch->sample_process[row], &sample.process);
	return r < 0 ? r : ep_profile_add_sample(c->builder, &sample);
}

int ep_profile_add_batch(struct ep_profile_builder *builder, const struct ep_batch *batch,
			 const struct ep_profile_choice *choice)
{
	static const struct ep_profile_choice all;
	ep_cleanup(copier_fini) struct copier c = {
		.builder = builder, .batch = batch, .choice = choice ? choice : &all};
	struct ep_profile_header header = {
		.start_ns = batch->start_ns,
		.duration_ns = batch->duration_ns,
		.period_ns = batch->period_ns,
		.period_hz = batch->period_hz,
		.lost_samples = batch->lost_samples,
		.due_samples = EP_HAS(batch, due_samples) ? batch->due_samples : 0,
		.agent_cpu_ns = EP_HAS(batch, agent_cpu_ns) ? batch->agent_cpu_ns : 0,
		.bpf_ns = EP_HAS(batch, bpf_ns) ? batch->bpf_ns : 0,
		.n_cpus = EP_HAS(batch, n_cpus) ? batch->n_cpus : 0,
		.host_name = batch->host_name,
		.sample_type = batch->sample_type,
		.weight_unit = EP_HAS(batch, weight_unit) ? batch->weight_unit : "nanoseconds",
	};
	int r = ep_profile_add_header(builder, &header);

	if (r == 0)
		r = copier_init(&c);
	for (uint32_t i = 0; i < batch->n_samples && r == 0; i++)
		r = copy_sample(&c, i);
	return r;
}
