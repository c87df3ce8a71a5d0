/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the samples: rows are sorted by process and by what can be in one Profile (a "kind": shape and
 * period), and go out in pieces. On the way each row that is referred to gets its index in the dictionary,
 * which is written at the end (dictionary.h).
 */
#include "exporters/shared/otlp/file.h"
#include "exporters/shared/otlp/dictionary.h"
#include "exporters/shared/proto/otlp_fields.h"
#include "exporters/shared/otlp/groups.h"
#include "exporters/shared/otlp/resource.h"

#include <errno.h>
#include <stdio.h>

#define SCHEMA_URL	   "https://opentelemetry.io/schemas/1.44.0"
#define SCOPE_NAME_TEXT	   "ebpf-profiler"
#define MAX_MESSAGE_BYTES  ((uint64_t)INT32_MAX) /* of protobuf */
#define PIECE_BYTES	   ((size_t)1 << 20)	 /* of samples */
#define PIECE_EVENTS	   65536u		 /* of one sample; a longer one is several */
#define MAX_KINDS	   64
#define NO_PROCESS	   UINT32_MAX /* none yet */
#define SAMPLE_FIXED_BYTES 192
#define EVENT_BYTES	   (8 + OTLP_VARINT_MAX)

enum shape { VALUED, SUMMED, EXACT, COUNTED };

struct kind {
	enum shape shape;
	uint64_t period; /* of the last two */
};

/* Some of the events of a sample. */
struct range {
	uint64_t skip, n;
};

struct file {
	const struct ep_batch *batch;
	struct ep_sink *sink;
	const char *version;
	struct otlp_encode_options options;
	struct otlp_view view;
	struct otlp_canon canon;
	struct otlp_dictionary dictionary;
	struct kind kinds[MAX_KINDS]; /* VALUED and SUMMED are always there */
	uint32_t n_kinds;
	uint32_t *kind_of; /* per row of samples */
	uint32_t *order;
	uint64_t start_ns, end_ns;
	uint64_t bytes; /* written */
	bool has_facts; /* a Profile has stated what holds for the batch */

	/* the piece in hand: finished Profiles, and samples of the next */
	struct otlp_wire resource, profiles, samples;
	struct otlp_wire body, part;
	uint32_t process, kind;
};

/* --- kinds --- */

static uint32_t n_times(const struct ep_batch *b, uint32_t row)
{
	return b->sample_time_first[row + 1] - b->sample_time_first[row];
}

static uint32_t find_kind(struct file *file, enum shape shape, uint64_t period)
{
	for (uint32_t i = 0; i < file->n_kinds; i++) {
		if (file->kinds[i].shape == shape && file->kinds[i].period == period)
			return i;
	}
	if (file->n_kinds == MAX_KINDS) /* values say as much as many periods */
		return shape == EXACT ? VALUED : SUMMED;
	file->kinds[file->n_kinds] = (struct kind){.shape = shape, .period = period};
	return file->n_kinds++;
}

static uint32_t kind_of_row(struct file *file, uint32_t row)
{
	const struct ep_batch *b = file->batch;
	uint32_t count = b->sample_count[row];
	uint64_t weight = ep_batch_weight_ns(b, row), period = count ? weight / count : 0;
	bool has_times = n_times(b, row) != 0;

	if (!count || period * count != weight)
		return has_times ? VALUED : SUMMED;
	return find_kind(file, has_times ? EXACT : COUNTED, period);
}

static int sort_samples(struct file *file)
{
	const struct ep_batch *b = file->batch;
	int r;

	for (uint32_t row = 0; row < b->n_samples; row++)
		file->order[row] = row;
	r = otlp_groups_sort(file->order, b->n_samples, file->kind_of, file->n_kinds);
	return r < 0 ? r : otlp_groups_sort(file->order, b->n_samples, b->sample_process, b->n_processes);
}

static int file_init(struct file *file)
{
	const struct ep_batch *b = file->batch;
	struct otlp_wire *const wires[] = {&file->resource, &file->profiles, &file->samples, &file->body,
					   &file->part};
	int r;

	for (size_t i = 0; i < EP_LEN(wires); i++)
		otlp_wire_init(wires[i], OTLP_ELEMENT_MAX);
	file->options = (struct otlp_encode_options){.max_bytes = MAX_MESSAGE_BYTES, .is_file = true};
	otlp_view_of(b, &file->view);
	otlp_view_window(b, &file->start_ns, &file->end_ns);
	file->kind_of = calloc((size_t)b->n_samples + 1, sizeof(*file->kind_of));
	file->order = calloc((size_t)b->n_samples + 1, sizeof(*file->order));
	if (!file->kind_of || !file->order)
		return -ENOMEM;
	file->kinds[VALUED].shape = VALUED;
	file->kinds[SUMMED].shape = SUMMED;
	file->n_kinds = 2;
	for (uint32_t row = 0; row < b->n_samples; row++)
		file->kind_of[row] = kind_of_row(file, row);
	file->view.n_events = file->n_kinds; /* what is of two kinds is not merged */
	file->view.sample_event = file->kind_of;
	r = sort_samples(file);
	if (r == 0)
		r = otlp_canon_init(&file->canon, b, &file->view, &file->options);
	return r < 0 ? r
		     : otlp_dictionary_init(&file->dictionary, b, &file->view, &file->canon, &file->options);
}

static void file_fini(struct file *file)
{
	otlp_dictionary_fini(&file->dictionary);
	otlp_canon_fini(&file->canon);
	otlp_wire_fini(&file->resource);
	otlp_wire_fini(&file->profiles);
	otlp_wire_fini(&file->samples);
	otlp_wire_fini(&file->body);
	otlp_wire_fini(&file->part);
	free(file->kind_of);
	free(file->order);
}

/* --- out --- */

static int file_error(const struct file *file)
{
	const struct otlp_wire *const wires[] = {&file->resource, &file->profiles, &file->samples, &file->body,
						 &file->part};
	int error = otlp_dictionary_error(&file->dictionary);

	for (size_t i = 0; i < EP_LEN(wires) && error == 0; i++)
		error = wires[i]->error;
	return error;
}

/* A field of the message whose `len` bytes come next. */
static int begin_field(struct file *file, uint32_t field, uint64_t len)
{
	file->part.len = 0;
	otlp_put_tag(&file->part, field, OTLP_BYTES);
	otlp_put_varint(&file->part, len);
	file->bytes += file->part.len + len;
	if (file->bytes > MAX_MESSAGE_BYTES) {
		snprintf(file->sink->why, sizeof(file->sink->why),
			 "this profile is longer than 2 GiB: record for a shorter time or filter it");
		return -E2BIG;
	}
	if (file->part.error)
		return file->part.error;
	return ep_sink_write(file->sink, file->part.data, file->part.len);
}

/* --- samples --- */

/* A row and those that are equal to it are one sample. */
static uint32_t next_row(const struct file *file, uint32_t row)
{
	return file->canon.next_sample ? file->canon.next_sample[row] : 0;
}

static uint8_t *write_number(struct file *file, uint8_t *to, enum otlp_own_string key, uint64_t value)
{
	return otlp_varint_write(to, otlp_dictionary_attribute_int(&file->dictionary, key, value));
}

static uint8_t *write_row(struct file *file, uint8_t *to, enum otlp_own_string key, uint32_t string)
{
	if (!string)
		return to;
	return otlp_varint_write(to, otlp_dictionary_attribute_row(&file->dictionary, key, string));
}

/* Up to 9 attributes. */
static uint8_t *write_attributes(struct file *file, uint8_t *start, uint32_t row, uint64_t count)
{
	const struct ep_batch *b = file->batch;
	uint32_t stack = b->sample_stack[row];
	uint8_t *to = start + OTLP_HEADER_SHORT;

	to = write_row(file, to, OTLP_THREAD_NAME, b->sample_thread_name[row]);
	to = write_number(file, to, OTLP_THREAD_ID, b->sample_tid[row]);
	to = write_number(file, to, OTLP_CPU_NUMBER, b->sample_cpu[row]);
	if (b->stack_error[stack])
		to = write_number(file, to, OTLP_STACK_ERROR, b->stack_error[stack]);
	if (ep_batch_is_unverified(b, stack))
		to = write_number(file, to, OTLP_UNVERIFIED, 1);
	if (file->view.stack_error_text)
		to = write_row(file, to, OTLP_STACK_ERROR_TEXT, file->view.stack_error_text[stack]);
	if (file->view.stack_unnamed) {
		if (file->view.stack_unnamed[stack])
			to = write_number(file, to, OTLP_UNNAMED_REASON, file->view.stack_unnamed[stack]);
		to = write_row(file, to, OTLP_UNNAMED, file->view.stack_unnamed_text[stack]);
	}
	if (file->kinds[file->kind].shape == SUMMED)
		to = write_number(file, to, OTLP_SAMPLE_COUNT, count);
	return otlp_message_write(start, SAMPLE_ATTRIBUTE_INDICES, to);
}

/* The event's part of the row's weight: all parts together are the whole. */
static uint64_t value_of(const struct ep_batch *b, uint32_t row, uint32_t event)
{
	uint64_t weight = ep_batch_weight_ns(b, row);
	uint32_t n = n_times(b, row);

	return weight / n + (event < weight % n);
}

/* Which events of this row are in the range: how many, from *ret_first on. Moves the range on. */
static uint32_t clip(const struct file *file, uint32_t row, struct range *range, uint32_t *ret_first)
{
	uint32_t n = n_times(file->batch, row);
	uint32_t skip = (uint32_t)EP_MIN(range->skip, (uint64_t)n);

	*ret_first = skip;
	n = (uint32_t)EP_MIN((uint64_t)(n - skip), range->n);
	range->skip -= skip;
	range->n -= n;
	return n;
}

static uint8_t *write_values(const struct file *file, uint8_t *start, uint32_t row, struct range range)
{
	uint8_t *to = start + OTLP_HEADER_SHORT;

	do {
		uint32_t first, n = clip(file, row, &range, &first);

		for (uint32_t i = first; i < first + n; i++)
			to = otlp_varint_write(to, value_of(file->batch, row, i));
		row = next_row(file, row);
	} while (row);
	return otlp_message_write(start, SAMPLE_VALUES, to);
}

static uint8_t *write_timestamps(const struct file *file, uint8_t *start, uint32_t row, struct range range)
{
	const struct ep_batch *b = file->batch;
	uint8_t *to = start + OTLP_HEADER_SHORT;

	do {
		uint32_t first, n = clip(file, row, &range, &first);

		for (uint32_t i = first; i < first + n; i++, to += 8) {
			uint64_t time_ns = htole64(b->sample_time_ns[b->sample_time_first[row] + i]);

			memcpy(to, &time_ns, 8);
		}
		row = next_row(file, row);
	} while (row);
	return otlp_message_write(start, SAMPLE_TIMESTAMPS_UNIX_NANO, to);
}

/* The one value of a sample without timestamps, which is that of all rows of its identity. */
static uint8_t *write_sum(uint8_t *start, uint64_t sum)
{
	return otlp_message_write(start, SAMPLE_VALUES, otlp_varint_write(start + OTLP_HEADER_SHORT, sum));
}

static void put_sample(struct file *file, uint32_t row, struct range range, uint64_t count, uint64_t weight)
{
	struct otlp_wire *wire = &file->samples;
	enum shape shape = file->kinds[file->kind].shape;
	uint32_t stack = otlp_dictionary_stack(&file->dictionary, file->batch->sample_stack[row]);
	uint8_t *start = otlp_wire_room(wire, SAMPLE_FIXED_BYTES + range.n * EVENT_BYTES), *to;

	if (!start)
		return;
	to = otlp_uint_write(start + OTLP_HEADER_SHORT, SAMPLE_STACK_INDEX, stack);
	to = write_attributes(file, to, row, count);
	if (shape == VALUED)
		to = write_values(file, to, row, range);
	else if (shape != EXACT)
		to = write_sum(to, shape == SUMMED ? weight : count);
	if (range.n)
		to = write_timestamps(file, to, row, range);
	to = otlp_message_write(start, PROFILE_SAMPLES, to);
	wire->len = (size_t)(to - wire->data);
}

/* --- Profiles and pieces --- */

/* Field `field` of file->body: type and unit. */
static void put_value_type(struct file *file, uint32_t field, const char *type, const char *unit)
{
	struct otlp_dictionary *d = &file->dictionary;

	file->part.len = 0;
	otlp_put_uint(&file->part, VALUE_TYPE_TYPE_STRINDEX, otlp_dictionary_text(d, type, strlen(type)));
	otlp_put_uint(&file->part, VALUE_TYPE_UNIT_STRINDEX, otlp_dictionary_text(d, unit, strlen(unit)));
	otlp_put_message(&file->body, field, &file->part);
}

static void put_number(struct file *file, enum otlp_own_string key, uint64_t value)
{
	otlp_put_varint(&file->part, otlp_dictionary_attribute_int(&file->dictionary, key, value));
}

static void put_text(struct file *file, enum otlp_own_string key, const char *text)
{
	otlp_put_varint(&file->part,
			otlp_dictionary_attribute_text(&file->dictionary, key, text, strlen(text)));
}

/* 0 is not known. */
static void put_known(struct file *file, enum otlp_own_string key, uint64_t value)
{
	if (value)
		put_number(file, key, value);
}

/* What is reported of the batch. */
static void put_facts(struct file *file)
{
	const struct ep_batch *b = file->batch;

	file->part.len = 0;
	put_text(file, OTLP_SAMPLE_TYPE, b->sample_type);
	put_text(file, OTLP_WEIGHT_UNIT, file->view.weight_unit);
	put_number(file, OTLP_START, b->start_ns);
	put_number(file, OTLP_DURATION, b->duration_ns);
	put_number(file, OTLP_PERIOD, b->period_ns);
	put_number(file, OTLP_FREQUENCY, b->period_hz);
	put_number(file, OTLP_LOST_SAMPLES, b->lost_samples);
	put_known(file, OTLP_DUE_SAMPLES, file->view.due_samples);
	put_known(file, OTLP_COST_AGENT, file->view.agent_cpu_ns);
	put_known(file, OTLP_COST_BPF, file->view.bpf_ns);
	put_known(file, OTLP_CPUS, file->view.n_cpus);
	if (file->view.title[0])
		put_text(file, OTLP_TITLE, file->view.title);
	otlp_put_message(&file->body, PROFILE_ATTRIBUTE_INDICES, &file->part);
	file->has_facts = true;
}

static void end_profile(struct file *file)
{
	const char *type = file->batch->sample_type, *unit = file->view.weight_unit;
	const struct kind *kind = &file->kinds[file->kind];
	bool is_counted = kind->shape == EXACT || kind->shape == COUNTED;

	if (file->samples.len == 0 && file->has_facts)
		return;
	file->body.len = 0;
	if (is_counted)
		put_value_type(file, PROFILE_SAMPLE_TYPE, "samples", "count");
	else
		put_value_type(file, PROFILE_SAMPLE_TYPE, type, unit);
	otlp_put_raw(&file->body, file->samples.data, file->samples.len);
	otlp_put_fixed64(&file->body, PROFILE_TIME_UNIX_NANO, file->start_ns);
	otlp_put_uint(&file->body, PROFILE_DURATION_NANO, file->end_ns - file->start_ns);
	if (is_counted) {
		put_value_type(file, PROFILE_PERIOD_TYPE, type, unit);
		otlp_put_uint(&file->body, PROFILE_PERIOD, kind->period);
	}
	if (!file->has_facts)
		put_facts(file);
	otlp_put_message(&file->profiles, SCOPE_PROFILES_PROFILES, &file->body);
	file->samples.len = 0;
}

/* An attribute of the scope, with a number if `text` is NULL. */
static void put_scope_attribute(struct file *file, const char *key, uint64_t value, const char *text)
{
	struct otlp_wire *pair = &file->samples, *scope = &file->body; /* the former is free between Profiles */

	file->part.len = 0;
	if (text) {
		otlp_put_bytes(&file->part, ANY_VALUE_STRING_VALUE, text, strlen(text));
	} else {
		otlp_put_tag(&file->part, ANY_VALUE_INT_VALUE, OTLP_VARINT);
		otlp_put_varint(&file->part, value);
	}
	pair->len = 0;
	otlp_put_bytes(pair, KEY_VALUE_KEY, key, strlen(key));
	otlp_put_message(pair, KEY_VALUE_VALUE, &file->part);
	otlp_put_message(scope, INSTRUMENTATION_SCOPE_ATTRIBUTES, pair);
	pair->len = 0;
}

static void put_scope(struct file *file)
{
	file->body.len = 0;
	otlp_put_bytes(&file->body, INSTRUMENTATION_SCOPE_NAME, SCOPE_NAME_TEXT, strlen(SCOPE_NAME_TEXT));
	if (file->version && file->version[0])
		otlp_put_bytes(&file->body, INSTRUMENTATION_SCOPE_VERSION, file->version, strlen(file->version));
	put_scope_attribute(file, OTLP_NAME_FORMAT, OTLP_FILE_FORMAT, NULL);
	put_scope_attribute(file, OTLP_NAME_MESSAGES, 0, OTLP_FILE_MESSAGES);
}

/* Hands over what there is of the process. */
static int end_piece(struct file *file)
{
	struct otlp_wire *scope_profiles = &file->samples;
	int r;

	end_profile(file);
	if (file->profiles.len == 0)
		return 0;
	put_scope(file);
	otlp_put_message(scope_profiles, SCOPE_PROFILES_SCOPE, &file->body);
	otlp_put_raw(scope_profiles, file->profiles.data, file->profiles.len);
	otlp_put_bytes(scope_profiles, SCOPE_PROFILES_SCHEMA_URL, SCHEMA_URL, strlen(SCHEMA_URL));
	file->body.len = 0;
	otlp_put_message(&file->body, RESOURCE_PROFILES_RESOURCE, &file->resource);
	otlp_put_message(&file->body, RESOURCE_PROFILES_SCOPE_PROFILES, scope_profiles);
	otlp_put_bytes(&file->body, RESOURCE_PROFILES_SCHEMA_URL, SCHEMA_URL, strlen(SCHEMA_URL));
	file->samples.len = 0;
	file->profiles.len = 0;
	r = file_error(file);
	if (r == 0)
		r = begin_field(file, PROFILES_DATA_RESOURCE_PROFILES, file->body.len);
	return r < 0 ? r : ep_sink_write(file->sink, file->body.data, file->body.len);
}

static int enter(struct file *file, uint32_t process, uint32_t kind)
{
	int r = 0;

	if (process != file->process) {
		r = file->process == NO_PROCESS ? 0 : end_piece(file);
		otlp_resource_write(file->batch, &file->view, &file->options, process, &file->resource);
	} else if (kind != file->kind) {
		end_profile(file);
	}
	file->process = process;
	file->kind = kind;
	return r;
}

/* In pieces, if it is that long. */
static int add_sample(struct file *file, uint32_t row)
{
	uint64_t n = 0, count = 0, weight = 0;
	struct range range = {0};
	uint32_t at = row;
	int r = 0;

	do {
		n += n_times(file->batch, at);
		count += file->batch->sample_count[at];
		weight += ep_batch_weight_ns(file->batch, at);
		at = next_row(file, at);
	} while (at);
	do {
		range.n = EP_MIN(n - range.skip, (uint64_t)PIECE_EVENTS);
		put_sample(file, row, range, count, weight);
		range.skip += range.n;
		if (file->samples.len + file->profiles.len > PIECE_BYTES || range.skip < n)
			r = end_piece(file);
	} while (range.skip < n && r == 0);
	return r;
}

static int write_samples(struct file *file)
{
	const struct ep_batch *b = file->batch;
	int r = 0;

	file->process = NO_PROCESS;
	for (uint32_t i = 0; i < b->n_samples && r == 0; i++) {
		uint32_t row = file->order[i];

		if (file->canon.is_later && file->canon.is_later[row])
			continue;
		r = enter(file, b->sample_process[row], file->kind_of[row]);
		if (r == 0)
			r = add_sample(file, row);
	}
	if (r == 0 && !b->n_samples)
		r = enter(file, 0, VALUED);
	return r < 0 ? r : end_piece(file);
}

static int write_file(struct file *file)
{
	int r = file_init(file);

	if (r == 0)
		r = write_samples(file);
	if (r == 0)
		r = file_error(file);
	if (r == 0)
		r = begin_field(file, PROFILES_DATA_DICTIONARY, otlp_dictionary_bytes(&file->dictionary));
	return r < 0 ? r : otlp_dictionary_write(&file->dictionary, file->sink);
}

int otlp_file_write(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	ep_autofree struct file *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return -ENOMEM;
	file->batch = batch;
	file->version = version;
	file->sink = sink;
	r = write_file(file);
	file_fini(file);
	return r;
}
