/* SPDX-License-Identifier: Apache-2.0 */
/* A small profile to build, and what is asked of a batch. */
#ifndef EP_TESTS_PROFILE_BATCH_H
#define EP_TESTS_PROFILE_BATCH_H

#include "core/profile/builder.h"
#include "core/trace/batch.h"
#include "tests/kit/test.h"

static inline uint32_t string_of(struct ep_profile_builder *builder, const char *text)
{
	uint32_t row = 0;

	(void)ep_profile_add_string(builder, text, strlen(text), &row);
	return row;
}

/* A location of one line. */
static inline uint32_t location_named(struct ep_profile_builder *builder, const char *kind, const char *name,
				      uint32_t number)
{
	struct ep_profile_function function = {.name = string_of(builder, name)};
	struct ep_profile_line line = {.line = number};
	struct ep_profile_location location = {
		.kind = string_of(builder, kind), .n_lines = 1, .lines = &line};
	uint32_t row = 0;

	function.system_name = function.name;
	(void)ep_profile_add_function(builder, &function, &line.function);
	(void)ep_profile_add_location(builder, &location, &row);
	return row;
}

static inline uint32_t stack_of(struct ep_profile_builder *builder, const uint32_t *locations, uint32_t n)
{
	struct ep_profile_stack stack = {.n_locations = n, .locations = locations};
	uint32_t row = 0;

	(void)ep_profile_add_stack(builder, &stack, &row);
	return row;
}

/* For ep_test_owns. */
static inline void release_batch(void *batch)
{
	ep_batch_unref(batch);
}

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
	return batch->stack_location[batch->stack_location_first[batch->sample_stack[sample]] + depth];
}

/* The row of the nth line of a frame, 0 being the leaf. */
static inline uint32_t line_in(const struct ep_batch *batch, uint32_t sample, uint32_t depth, uint32_t nth)
{
	uint32_t location = location_in(batch, sample, depth);
	uint32_t line = batch->location_line_first[location] + nth;

	assert_true(line < batch->location_line_first[location + 1]);
	return line;
}

static inline const char *name_in(const struct ep_batch *batch, uint32_t sample, uint32_t depth, uint32_t nth)
{
	return text_in(batch, batch->function_name[batch->line_function[line_in(batch, sample, depth, nth)]]);
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
