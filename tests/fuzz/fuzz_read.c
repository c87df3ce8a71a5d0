/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader and a file from anywhere: -DREADER=ep_x_reader. What it makes of it is a batch whose rows refer to rows
 * that are there, or an error with a sentence of one line. Without a reader it is the front door: gzip, and whatever
 * format it takes the bytes for.
 */
#include "core/profile/batch.h"
#include "reports/read/reader.h"
#include "tests/kit/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

static void check_stacks(const struct ep_batch *batch)
{
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		assert(batch->stack_location_first[i] <= batch->stack_location_first[i + 1]);
	assert(batch->stack_location_first[batch->n_stacks] == batch->n_stack_locations);
	for (uint32_t i = 0; i < batch->n_stack_locations; i++)
		assert(batch->stack_location[i] > 0 && batch->stack_location[i] < batch->n_locations);
	for (uint32_t i = 1; i < batch->n_locations; i++) {
		assert(batch->location_line_first[i] < batch->location_line_first[i + 1]);
		assert(batch->location_mapping[i] < batch->n_mappings);
		assert(batch->location_kind[i] < batch->n_strings);
	}
	for (uint32_t i = 0; i < batch->n_lines; i++)
		assert(batch->line_function[i] > 0 && batch->line_function[i] < batch->n_functions);
}

static void check_samples(const struct ep_batch *batch)
{
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		uint32_t n_times = batch->sample_time_first[i + 1] - batch->sample_time_first[i];

		assert(batch->sample_stack[i] > 0 && batch->sample_stack[i] < batch->n_stacks);
		assert(batch->sample_process[i] < batch->n_processes);
		assert(batch->sample_thread_name[i] < batch->n_strings);
		assert(batch->sample_count[i] > 0);
		assert(n_times == 0 || n_times == batch->sample_count[i]);
	}
}

static void check_texts(const struct ep_batch *batch)
{
	for (uint32_t i = 0; i < batch->n_strings; i++)
		assert(strlen(batch->string_text[i]) == batch->string_bytes[i]);
	assert(batch->host_name && batch->sample_type && batch->weight_unit);
}

#ifdef READER
static int read_all(const uint8_t *data, size_t size, struct ep_profile_builder *builder, char *why)
{
	(void)READER.matches(data, size);
	return READER.read(data, size, builder, why);
}
#else
static int read_all(const uint8_t *data, size_t size, struct ep_profile_builder *builder, char *why)
{
	struct ep_input *input;
	char path[64];
	int fd = memfd_create("fuzz", 0), r;

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = ep_input_open(path, &input, why);
	assert(r == 0);
	r = ep_input_read(input, builder, why);
	assert(r == 0 || why[0]);
	ep_input_close(input);
	close(fd);
	return r;
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_profile_builder *builder;
	char why[EP_READ_WHY_BYTES] = "";
	struct ep_batch *batch;

	if (size == 0 || ep_profile_builder_new(&builder) < 0)
		return 0;
	if (read_all(data, size, builder, why) == 0 && ep_profile_finish(builder, &batch) == 0) {
		check_stacks(batch);
		check_samples(batch);
		check_texts(batch);
		ep_batch_unref(batch);
	}
	assert(memchr(why, '\0', sizeof(why)) && !strchr(why, '\n'));
	ep_profile_builder_free(builder);
	return 0;
}
