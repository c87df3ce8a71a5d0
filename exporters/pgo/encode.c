/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows get an id when they are first met: those of locations by the samples, those of functions and strings by
 * what refers to them. So the file has what one program's samples use, and nothing else of the batch.
 */
#include "exporters/pgo/encode.h"
#include "core/base/util.h"
#include "exporters/pgo/programs.h"
#include "exporters/shared/pprof.h"
#include "exporters/shared/proto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Strings of ours, before those of the batch. */
enum own_string { STR_NONE, STR_SAMPLES, STR_COUNT, STR_CPU, STR_NANOSECONDS, STR_COMMENT, N_OWN };

/* Rows of a table that are in the file: ids in the order in which they were met. */
struct used {
	uint32_t *id;  /* by row; 0: not in it */
	uint32_t *row; /* by id */
	uint32_t n;    /* ids given, and 1 */
};

struct encoder {
	const struct ep_batch *batch;
	struct ep_sink *sink;
	struct pb out, message, part;
	struct used strings, functions, locations;
	uint32_t kind, process, mapping; /* of Go frames; of the program; of its executable */
	int error;			 /* of the sink */
};

static int used_init(struct used *used, uint32_t n_rows, uint32_t first_id)
{
	used->id = calloc((size_t)n_rows + 1, sizeof(*used->id));
	used->row = calloc((size_t)n_rows + 1 + first_id, sizeof(*used->row));
	used->n = first_id;
	return used->id && used->row ? 0 : -ENOMEM;
}

static uint32_t use(struct used *used, uint32_t row)
{
	if (!used->id[row]) {
		used->id[row] = used->n;
		used->row[used->n++] = row;
	}
	return used->id[row];
}

static uint32_t use_string(struct encoder *enc, uint32_t row)
{
	return row ? use(&enc->strings, row) : STR_NONE;
}

static void hand_over(struct encoder *enc)
{
	if (enc->error == 0 && enc->out.error == 0)
		enc->error = ep_sink_write(enc->sink, enc->out.bytes.data, enc->out.bytes.len);
	pb_clear(&enc->out);
}

static void finish_message(struct encoder *enc, uint32_t field)
{
	pb_message(&enc->out, field, &enc->message);
	pb_clear(&enc->message);
	if (enc->out.bytes.len >= PIECE_BYTES)
		hand_over(enc);
}

static void put_value_type(struct encoder *enc, uint32_t field, enum own_string type, enum own_string unit)
{
	pb_uint(&enc->message, VALUE_TYPE_TYPE, type);
	pb_uint(&enc->message, VALUE_TYPE_UNIT, unit);
	finish_message(enc, field);
}

static void put_profile(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;

	put_value_type(enc, PROFILE_SAMPLE_TYPE, STR_SAMPLES, STR_COUNT);
	put_value_type(enc, PROFILE_SAMPLE_TYPE, STR_CPU, STR_NANOSECONDS);
	put_value_type(enc, PROFILE_PERIOD_TYPE, STR_CPU, STR_NANOSECONDS);
	pb_uint(&enc->out, PROFILE_PERIOD, batch->period_ns);
	pb_uint(&enc->out, PROFILE_TIME_NANOS, batch->start_ns);
	pb_uint(&enc->out, PROFILE_DURATION_NANOS, batch->duration_ns);
	pb_uint(&enc->out, PROFILE_COMMENT, STR_COMMENT);
}

/* --- samples --- */

static void put_sample(struct encoder *enc, uint32_t stack, uint64_t count, uint64_t weight_ns)
{
	const struct ep_batch *batch = enc->batch;

	pb_clear(&enc->part);
	for (uint32_t at = batch->stack_location_first[stack]; at < batch->stack_location_first[stack + 1]; at++) {
		uint32_t location = batch->stack_location[at];

		if (batch->location_kind[location] == enc->kind)
			pb_varint(&enc->part, use(&enc->locations, location));
	}
	pb_message(&enc->message, SAMPLE_LOCATION_ID, &enc->part);
	pb_clear(&enc->part);
	pb_varint(&enc->part, count);
	pb_varint(&enc->part, weight_ns);
	pb_message(&enc->message, SAMPLE_VALUE, &enc->part);
	finish_message(enc, PROFILE_SAMPLE);
}

/* Those of equal stacks are one, whatever thread they are of. */
static int put_samples(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;
	ep_autofree uint64_t *counts = calloc((size_t)batch->n_stacks + 1, sizeof(*counts));
	ep_autofree uint64_t *weights = calloc((size_t)batch->n_stacks + 1, sizeof(*weights));

	if (!counts || !weights)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		if (!pgo_is_same(batch, batch->sample_process[i], enc->process))
			continue;
		counts[batch->sample_stack[i]] += batch->sample_count[i];
		weights[batch->sample_stack[i]] += ep_batch_weight_ns(batch, i);
	}
	for (uint32_t stack = 0; stack < batch->n_stacks; stack++) {
		if (counts[stack] && pgo_is_of(batch, stack, enc->kind))
			put_sample(enc, stack, counts[stack], weights[stack]);
	}
	return 0;
}

/* --- what they refer to --- */

static void put_location(struct encoder *enc, uint32_t id)
{
	const struct ep_batch *batch = enc->batch;
	uint32_t row = enc->locations.row[id];

	if (!enc->mapping)
		enc->mapping = batch->location_mapping[row];
	pb_uint(&enc->message, LOCATION_ID, id);
	pb_uint(&enc->message, LOCATION_MAPPING_ID,
		enc->mapping && batch->location_mapping[row] == enc->mapping);
	pb_uint(&enc->message, LOCATION_ADDRESS, batch->location_address[row]);
	for (uint32_t line = batch->location_line_first[row]; line < batch->location_line_first[row + 1]; line++) {
		pb_clear(&enc->part);
		pb_uint(&enc->part, LINE_FUNCTION_ID, use(&enc->functions, batch->line_function[line]));
		pb_uint(&enc->part, LINE_LINE, batch->line_line[line]);
		pb_message(&enc->message, LOCATION_LINE, &enc->part);
	}
	finish_message(enc, PROFILE_LOCATION);
}

/* The linker's name in both places: what is read is the first. */
static void put_function(struct encoder *enc, uint32_t id)
{
	const struct ep_batch *batch = enc->batch;
	uint32_t row = enc->functions.row[id];
	uint32_t name = batch->function_system_name[row];

	name = use_string(enc, name ? name : batch->function_name[row]);
	pb_uint(&enc->message, FUNCTION_ID, id);
	pb_uint(&enc->message, FUNCTION_NAME, name);
	pb_uint(&enc->message, FUNCTION_SYSTEM_NAME, name);
	pb_uint(&enc->message, FUNCTION_FILENAME, use_string(enc, batch->function_file[row]));
	pb_uint(&enc->message, FUNCTION_START_LINE, batch->function_line[row]);
	finish_message(enc, PROFILE_FUNCTION);
}

static void put_mapping(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;
	uint32_t row = enc->mapping;

	if (!row)
		return;
	pb_uint(&enc->message, MAPPING_ID, 1);
	pb_uint(&enc->message, MAPPING_MEMORY_START, batch->mapping_start_va[row]);
	pb_uint(&enc->message, MAPPING_MEMORY_LIMIT, batch->mapping_limit_va[row]);
	pb_uint(&enc->message, MAPPING_FILE_OFFSET, batch->mapping_file_off[row]);
	pb_uint(&enc->message, MAPPING_FILENAME, use_string(enc, batch->mapping_path[row]));
	pb_uint(&enc->message, MAPPING_BUILD_ID, use_string(enc, batch->mapping_build_id[row]));
	pb_uint(&enc->message, MAPPING_HAS_FUNCTIONS, 1);
	finish_message(enc, PROFILE_MAPPING);
}

static void put_strings(struct encoder *enc, const char *version)
{
	const char *own[N_OWN] = {"", "samples", "count", "cpu", "nanoseconds"};
	char comment[128];

	snprintf(comment, sizeof(comment), "ebpf-profiler %s", version ? version : "");
	own[STR_COMMENT] = comment;
	for (uint32_t i = 0; i < N_OWN; i++)
		pb_bytes(&enc->out, PROFILE_STRING_TABLE, own[i], strlen(own[i]));
	for (uint32_t id = N_OWN; id < enc->strings.n; id++) {
		uint32_t row = enc->strings.row[id];

		pb_bytes(&enc->out, PROFILE_STRING_TABLE, enc->batch->string_text[row],
			 enc->batch->string_bytes[row]);
		if (enc->out.bytes.len >= PIECE_BYTES)
			hand_over(enc);
	}
	hand_over(enc);
}

static int encoder_init(struct encoder *enc)
{
	int r;

	pb_init(&enc->out, ELEMENT_BYTES + 2 * PIECE_BYTES);
	pb_init(&enc->message, ELEMENT_BYTES);
	pb_init(&enc->part, ELEMENT_BYTES);
	r = used_init(&enc->strings, enc->batch->n_strings, N_OWN);
	if (r == 0)
		r = used_init(&enc->functions, enc->batch->n_functions, 1);
	if (r == 0)
		r = used_init(&enc->locations, enc->batch->n_locations, 1);
	return r;
}

static void encoder_fini(struct encoder *enc)
{
	struct used *all[] = {&enc->strings, &enc->functions, &enc->locations};

	for (size_t i = 0; i < EP_LEN(all); i++) {
		free(all[i]->id);
		free(all[i]->row);
	}
	pb_fini(&enc->out);
	pb_fini(&enc->message);
	pb_fini(&enc->part);
}

int pgo_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	ep_cleanup(encoder_fini) struct encoder enc = {.batch = batch, .sink = sink};
	int r = encoder_init(&enc);

	enc.kind = pgo_find_kind(batch);
	if (r == 0)
		r = pgo_find_program(batch, enc.kind, &enc.process, sink->why, sizeof(sink->why));
	if (r < 0)
		return r;
	put_profile(&enc);
	r = put_samples(&enc);
	if (r < 0)
		return r;
	for (uint32_t id = 1; id < enc.locations.n; id++)
		put_location(&enc, id);
	put_mapping(&enc);
	for (uint32_t id = 1; id < enc.functions.n; id++)
		put_function(&enc, id);
	put_strings(&enc, version);
	if (enc.error)
		return enc.error;
	return enc.out.error ? enc.out.error : enc.message.error;
}
