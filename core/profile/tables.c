/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables are made of, and their life: keys come first in a layout. */
#include "core/profile/tables.h"

#include <errno.h>

#define FUNCTION(member) EP_COLUMN(struct ep_profile_function, member)
static const struct ep_rows_layout function_layout = {
	.n_columns = 4,
	.n_key = 4,
	.max = EP_PROFILE_MAX_ROWS,
	.columns = {FUNCTION(name), FUNCTION(system_name), FUNCTION(file), FUNCTION(line)},
};

#define MAPPING(member) EP_COLUMN(struct ep_profile_mapping, member)
static const struct ep_rows_layout mapping_layout = {
	.n_columns = 8,
	.n_key = 8,
	.max = EP_PROFILE_MAX_ROWS,
	.columns = {MAPPING(start_va), MAPPING(limit_va), MAPPING(file_off), MAPPING(path),
		    MAPPING(build_id), MAPPING(go_build_id), MAPPING(file_id), MAPPING(flags)},
};

#define LINE(member) EP_COLUMN(struct ep_profile_line, member)
static const struct ep_rows_layout line_layout = {
	.n_columns = 3,
	.n_key = 3,
	.max = EP_PROFILE_MAX_ROWS,
	.columns = {LINE(function), LINE(line), LINE(column)},
};

#define LOCATION(member) EP_COLUMN(struct ep_profile_location_row, member)
static const struct ep_rows_layout location_layout = {
	.n_columns = 6,
	.n_key = 5,
	.max = EP_PROFILE_MAX_ROWS,
	.columns = {LOCATION(address), LOCATION(mapping), LOCATION(kind), LOCATION(flags),
		    LOCATION(unnamed), LOCATION(line_first)},
};

#define STACK(member) EP_COLUMN(struct ep_profile_stack_row, member)
static const struct ep_rows_layout stack_layout = {
	.n_columns = 6,
	.n_key = 4,
	.max = EP_PROFILE_MAX_SAMPLES,
	.columns = {STACK(error), STACK(error_text), STACK(unnamed), STACK(unnamed_text),
		    STACK(first), STACK(hash)},
};

#define PROCESS(member) EP_COLUMN(struct ep_profile_process_row, member)
static const struct ep_rows_layout process_layout = {
	.n_columns = 10,
	.n_key = 9,
	.max = EP_PROFILE_MAX_ROWS,
	.columns = {PROCESS(start_ns), PROCESS(pid), PROCESS(image), PROCESS(comm),
		    PROCESS(exe_path), PROCESS(container_id), PROCESS(user), PROCESS(cgroup),
		    PROCESS(unit), PROCESS(env_first)},
};

static const struct ep_rows_layout env_layout = {
	.n_columns = 2,
	.n_key = 2,
	.max = EP_PROFILE_MAX_ROWS,
	.columns = {EP_COLUMN(struct ep_profile_env_row, name), EP_COLUMN(struct ep_profile_env_row, value)},
};

#define SAMPLE(member) EP_COLUMN(struct ep_profile_sample_row, member)
static const struct ep_rows_layout sample_layout = {
	.n_columns = 8,
	.n_key = 5,
	.max = EP_PROFILE_MAX_SAMPLES,
	.columns = {SAMPLE(stack), SAMPLE(process), SAMPLE(tid), SAMPLE(thread_name), SAMPLE(cpu),
		    SAMPLE(count), SAMPLE(times), SAMPLE(weight)},
};

/* --- life --- */

void ep_profile_tables_free(void *arg)
{
	struct ep_profile_tables *t = arg;

	if (!t)
		return;
	ep_strings_free(t->strings);
	ep_rows_fini(&t->functions);
	ep_rows_fini(&t->mappings);
	ep_rows_fini(&t->lines);
	ep_rows_fini(&t->locations);
	ep_rows_fini(&t->stacks);
	ep_rows_fini(&t->processes);
	ep_rows_fini(&t->env);
	ep_rows_fini(&t->samples);
	ep_vec_fini(&t->stack_locations);
	ep_vec_fini(&t->times);
	free(t->text);
	free(t->text_bytes);
	free(t);
}

/* A table whose row 0 is "none". `found`: what is like it is none as well. */
static int init_rows(struct ep_rows *rows, const struct ep_rows_layout *layout, bool found)
{
	static const uint64_t zero[EP_ROWS_MAX_COLUMNS * 2];
	uint32_t at;
	int r = ep_rows_init(rows, layout);

	if (r < 0)
		return r;
	return found ? ep_rows_intern(rows, zero, &at) : ep_rows_push(rows, zero);
}

static int init_tables(struct ep_profile_tables *t)
{
	int r = ep_strings_new(EP_PROFILE_MAX_STRING_BYTES, &t->strings);

	ep_vec_init(&t->stack_locations, sizeof(uint32_t), EP_PROFILE_MAX_STACK_LOCATIONS);
	ep_vec_init(&t->times, sizeof(uint64_t), EP_PROFILE_MAX_TIMES);
	if (r == 0)
		r = init_rows(&t->functions, &function_layout, false);
	if (r == 0)
		r = init_rows(&t->mappings, &mapping_layout, true);
	if (r == 0)
		r = ep_rows_init(&t->lines, &line_layout);
	if (r == 0)
		r = init_rows(&t->locations, &location_layout, false);
	if (r == 0)
		r = init_rows(&t->stacks, &stack_layout, false);
	if (r == 0)
		r = init_rows(&t->processes, &process_layout, true);
	if (r == 0)
		r = ep_rows_init(&t->env, &env_layout);
	return r < 0 ? r : ep_rows_init(&t->samples, &sample_layout);
}

int ep_profile_builder_new(struct ep_profile_builder **ret_builder)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	ep_vec_init(&b->runs, sizeof(struct ep_profile_run), EP_PROFILE_MAX_TIMES);
	ep_vec_init(&b->digests, sizeof(struct ep_profile_digest), EP_PROFILE_MAX_ROWS);
	ep_vec_init(&b->stack_text, sizeof(struct ep_profile_digest), EP_PROFILE_MAX_LIST);
	b->tables = calloc(1, sizeof(*b->tables));
	if (!b->tables)
		return -ENOMEM;
	r = init_tables(b->tables);
	if (r == 0)
		r = ep_vec_append(&b->digests, NULL, 1);
	if (r < 0)
		return r;
	*ret_builder = ep_take(b);
	return 0;
}

void ep_profile_builder_free(struct ep_profile_builder *b)
{
	if (!b)
		return;
	ep_profile_tables_free(b->tables);
	ep_vec_fini(&b->runs);
	ep_vec_fini(&b->digests);
	ep_vec_fini(&b->stack_text);
	free(b);
}
