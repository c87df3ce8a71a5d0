/* SPDX-License-Identifier: Apache-2.0 */
/* A small profile to build, and what is asked of a batch. */
#ifndef EP_TESTS_PROFILE_BATCH_H
#define EP_TESTS_PROFILE_BATCH_H

#include "core/profile/builder.h"
#include "core/profile/batch.h"
#include "tests/kit/test.h"

/* NULL is "". */
static inline uint32_t string_of(struct ep_profile_builder *builder, const char *text)
{
	uint32_t row = 0;

	if (text)
		(void)ep_profile_add_string(builder, text, strlen(text), &row);
	return row;
}

static inline uint32_t stack_of(struct ep_profile_builder *builder, const uint32_t *locations,
				uint32_t n)
{
	struct ep_profile_stack stack = {.n_locations = n, .locations = locations};
	uint32_t row = 0;

	(void)ep_profile_add_stack(builder, &stack, &row);
	return row;
}

/* --- what samples are made of: texts where the builder has numbers of rows --- */

/* Tables of them leave out what is 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct made_mapping {
	const char *path, *build_id;
	uint64_t start_va, limit_va, file_off;
	uint32_t flags;
};

struct made_frame {
	const char *kind;
	struct made_line {
		const char *name, *file;
		uint32_t line, start_line;
		const char *system_name; /* NULL: the name */
		uint32_t column;
	} lines[3];			 /* innermost first */
	uint64_t address;
	uint32_t flags;
	const struct made_mapping *mapping; /* or NULL */
};

struct made_process {
	uint64_t start_ns;
	uint32_t pid;
	const char *comm, *exe_path, *container_id, *user, *cgroup;
};

struct made_sample {
	const struct made_process *process; /* NULL: not known */
	uint32_t tid, cpu, count;
	uint64_t weight;
	const char *thread_name;
	const uint64_t *times_ns;	   /* count of them, or NULL */
	const struct made_frame *stack[8]; /* leaf first */
	uint32_t error, unnamed;
	const char *error_text, *unnamed_text;
};

static inline uint32_t location_of(struct ep_profile_builder *builder,
				   const struct made_frame *frame)
{
	struct ep_profile_line lines[EP_LEN(frame->lines)] = {{0}};
	struct ep_profile_location location = {.address = frame->address,
					       .flags = frame->flags,
					       .lines = lines,
					       .kind = string_of(builder, frame->kind)};
	const struct made_mapping *from = frame->mapping;
	uint32_t row = 0;

	if (from) {
		struct ep_profile_mapping mapping = {.start_va = from->start_va,
						     .limit_va = from->limit_va,
						     .file_off = from->file_off,
						     .path = string_of(builder, from->path),
						     .build_id = string_of(builder, from->build_id),
						     .flags = from->flags};

		(void)ep_profile_add_mapping(builder, &mapping, &location.mapping);
	}
	for (uint32_t i = 0; i < EP_LEN(lines) && frame->lines[i].name; i++) {
		const struct made_line *line = &frame->lines[i];
		struct ep_profile_function function = {
			.name = string_of(builder, line->name),
			.file = string_of(builder, line->file),
			.system_name = string_of(builder, line->system_name ? line->system_name
									    : line->name),
			.line = line->start_line};

		lines[location.n_lines].line = line->line;
		lines[location.n_lines].column = line->column;
		(void)ep_profile_add_function(builder, &function,
					      &lines[location.n_lines++].function);
	}
	(void)ep_profile_add_location(builder, &location, &row);
	return row;
}

/* A location of one line. */
static inline uint32_t location_named(struct ep_profile_builder *builder, const char *kind,
				      const char *name, uint32_t number)
{
	return location_of(builder, &(struct made_frame){kind, {{.name = name, .line = number}}});
}

static inline void add_made(struct ep_profile_builder *builder, const struct made_sample *from)
{
	const struct made_process *of = from->process;
	uint32_t locations[EP_LEN(from->stack)];
	struct ep_profile_stack stack = {.error = from->error,
					 .error_text = string_of(builder, from->error_text),
					 .unnamed = from->unnamed,
					 .unnamed_text = string_of(builder, from->unnamed_text),
					 .locations = locations};
	struct ep_profile_sample sample = {.tid = from->tid,
					   .cpu = from->cpu,
					   .count = from->count,
					   .weight = from->weight,
					   .thread_name = string_of(builder, from->thread_name),
					   .n_times = from->times_ns ? from->count : 0,
					   .times_ns = from->times_ns};

	if (of) {
		struct ep_profile_process process = {.pid = of->pid,
						     .start_ns = of->start_ns,
						     .comm = string_of(builder, of->comm),
						     .exe_path = string_of(builder, of->exe_path),
						     .container_id =
							     string_of(builder, of->container_id),
						     .user = string_of(builder, of->user),
						     .cgroup = string_of(builder, of->cgroup)};

		(void)ep_profile_add_process(builder, &process, &sample.process);
	}
	for (; stack.n_locations < EP_LEN(locations) && from->stack[stack.n_locations];
	     stack.n_locations++)
		locations[stack.n_locations] = location_of(builder, from->stack[stack.n_locations]);
	(void)ep_profile_add_stack(builder, &stack, &sample.stack);
	assert_int_equal(ep_profile_add_sample(builder, &sample), 0);
}

static inline struct ep_profile_builder *begin_profile(void)
{
	struct ep_profile_builder *builder;

	assert_int_equal(ep_profile_builder_new(&builder), 0);
	return builder;
}

/* For ep_test_owns. */
static inline void release_batch(void *batch)
{
	ep_batch_unref(batch);
}

/* The test owns it. */
static inline struct ep_batch *finish_profile(struct ep_profile_builder *builder)
{
	struct ep_batch *batch = NULL;

	assert_int_equal(ep_profile_finish(builder, &batch), 0);
	ep_profile_builder_free(builder);
	ep_test_owns(batch, release_batch);
	return batch;
}

/* Without a header where that is NULL. */
static inline struct ep_batch *make_batch(const struct ep_profile_header *header,
					  const struct made_sample *samples, size_t n)
{
	struct ep_profile_builder *builder = begin_profile();

	if (header)
		assert_int_equal(ep_profile_add_header(builder, header), 0);
	for (size_t i = 0; i < n; i++)
		add_made(builder, &samples[i]);
	return finish_profile(builder);
}

/* --- what is in a batch --- */

static inline const char *text_in(const struct ep_batch *batch, uint32_t string)
{
	assert_true(string < batch->n_strings);
	assert_int_equal(strlen(batch->string_text[string]), batch->string_bytes[string]);
	return batch->string_text[string];
}

static inline uint32_t depth_in(const struct ep_batch *batch, uint32_t sample)
{
	uint32_t stack = batch->sample_stack[sample];

	return batch->stack_location_first[stack + 1] - batch->stack_location_first[stack];
}

static inline uint32_t location_in(const struct ep_batch *batch, uint32_t sample, uint32_t depth)
{
	assert_true(depth < depth_in(batch, sample));
	return batch
		->stack_location[batch->stack_location_first[batch->sample_stack[sample]] + depth];
}

/* The row of the nth line of a frame, 0 being the leaf. */
static inline uint32_t line_in(const struct ep_batch *batch, uint32_t sample, uint32_t depth,
			       uint32_t nth)
{
	uint32_t location = location_in(batch, sample, depth);
	uint32_t line = batch->location_line_first[location] + nth;

	assert_true(line < batch->location_line_first[location + 1]);
	return line;
}

static inline const char *name_in(const struct ep_batch *batch, uint32_t sample, uint32_t depth,
				  uint32_t nth)
{
	return text_in(
		batch,
		batch->function_name[batch->line_function[line_in(batch, sample, depth, nth)]]);
}

static inline const char *kind_in(const struct ep_batch *batch, uint32_t sample, uint32_t depth)
{
	return text_in(batch, batch->location_kind[location_in(batch, sample, depth)]);
}

/* The sample whose stack has this leaf. */
static inline uint32_t sample_with_leaf(const struct ep_batch *batch, const char *name)
{
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		if (depth_in(batch, i) && strcmp(name_in(batch, i, 0, 0), name) == 0)
			return i;
	}
	fail_msg("no stack has the leaf %s", name);
	return 0;
}

static inline uint64_t weight_in(const struct ep_batch *batch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++)
		sum += batch->sample_weight_ns[i];
	return sum;
}

/* Every number of a row is one of a row that is there. */
static inline void check_batch(const struct ep_batch *batch)
{
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		uint32_t n_times = batch->sample_time_first[i + 1] - batch->sample_time_first[i];

		assert_in_range(batch->sample_stack[i], 1, batch->n_stacks - 1);
		assert_true(batch->sample_process[i] < batch->n_processes);
		assert_true(batch->sample_thread_name[i] < batch->n_strings);
		assert_true(batch->sample_count[i] > 0);
		assert_true(n_times == 0 || n_times == batch->sample_count[i]);
	}
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		assert_true(batch->stack_location_first[i] <= batch->stack_location_first[i + 1]);
	assert_int_equal(batch->stack_location_first[batch->n_stacks], batch->n_stack_locations);
	for (uint32_t i = 0; i < batch->n_stack_locations; i++)
		assert_in_range(batch->stack_location[i], 1, batch->n_locations - 1);
	for (uint32_t i = 1; i < batch->n_locations; i++) {
		assert_true(batch->location_line_first[i] < batch->location_line_first[i + 1]);
		assert_true(batch->location_mapping[i] < batch->n_mappings);
		assert_true(batch->location_kind[i] < batch->n_strings);
	}
	assert_int_equal(batch->location_line_first[batch->n_locations], batch->n_lines);
	for (uint32_t i = 0; i < batch->n_lines; i++)
		assert_in_range(batch->line_function[i], 1, batch->n_functions - 1);
	for (uint32_t i = 0; i < batch->n_functions; i++)
		assert_true(batch->function_name[i] < batch->n_strings);
	assert_int_equal(batch->process_env_first[batch->n_processes], batch->n_process_env);
}

#endif
