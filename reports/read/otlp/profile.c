/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: their own fields first, wherever they stand, and then their samples. */
#include "exporters/shared/proto/otlp_fields.h"
#include "reports/read/otlp/reading.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* --- samples --- */

struct otlp_sample_facts {
	struct otlp_stack_facts stack;
	struct ep_profile_process process; /* of others, who say it of a sample */
	bool has_process, has_count;
	uint64_t count;
};

static void set_sample_attribute(struct ep_profile_sample *sample, struct otlp_sample_facts *facts,
				 const struct otlp_attribute *attribute)
{
	switch (attribute->key) {
	case KEY_THREAD_NAME:
		sample->thread_name = attribute->text;
		break;
	case KEY_THREAD_ID:
		sample->tid = (uint32_t)attribute->value;
		break;
	case KEY_CPU:
		sample->cpu = (uint32_t)attribute->value;
		break;
	case KEY_STACK_ERROR:
		facts->stack.error = (uint32_t)attribute->value;
		break;
	case KEY_STACK_ERROR_TEXT:
		facts->stack.error_text = attribute->text;
		break;
	case KEY_UNNAMED_REASON:
		facts->stack.unnamed = otlp_unnamed_of(attribute);
		break;
	case KEY_UNNAMED:
		facts->stack.unnamed_text = attribute->text;
		break;
	case KEY_COUNT:
		facts->count = attribute->value;
		facts->has_count = true;
		break;
	default:
		facts->has_process |= otlp_set_process(&facts->process, attribute, attribute->key);
		break;
	}
}

static int read_sample_attributes(struct otlp_reading *reader, const uint8_t *at, struct ep_profile_sample *sample,
				  struct otlp_sample_facts *facts)
{
	const uint64_t *index;

	ep_vec_each (&reader->indices, index) {
		const struct otlp_attribute *attribute = otlp_tables_attribute(&reader->tables, *index, at);

		if (!attribute)
			return -EBADMSG;
		set_sample_attribute(sample, facts, attribute);
	}
	return 0;
}

/* Packed times lie one after the other: they are copied at once. */
static int add_times(struct otlp_reading *reader, const struct ep_proto_field *field)
{
	size_t n = ep_proto_left(&field->bytes) / sizeof(uint64_t), first = reader->times.len;
	uint64_t *times;
	int r;

	if (field->wire == EP_PROTO_FIXED64)
		return ep_vec_append(&reader->times, &field->value, 1);
	r = otlp_expect(&reader->tables, field, EP_PROTO_BYTES);
	if (r == 0 && ep_proto_left(&field->bytes) % sizeof(uint64_t))
		r = otlp_reading_bad(reader, field->bytes.at, OTLP_DAMAGED);
	if (r == 0)
		r = ep_vec_append(&reader->times, field->bytes.at, n);
	times = reader->times.data;
	for (size_t i = first; r == 0 && i < first + n; i++)
		times[i] = le64toh(times[i]);
	return r;
}

static int read_sample_fields(struct otlp_reading *reader, struct ep_proto *message, uint64_t *stack)
{
	struct ep_proto_field field;
	int r = 0;

	reader->indices.len = reader->values.len = reader->times.len = 0;
	while (r == 0 && ep_proto_next(message, &field)) {
		if (field.number == SAMPLE_ATTRIBUTE_INDICES) {
			r = otlp_add_numbers(&reader->tables, &field, &reader->indices);
		} else if (field.number == SAMPLE_VALUES) {
			r = otlp_add_numbers(&reader->tables, &field, &reader->values);
		} else if (field.number == SAMPLE_TIMESTAMPS_UNIX_NANO) {
			r = add_times(reader, &field);
		} else if (field.number == SAMPLE_STACK_INDEX || field.number == SAMPLE_LINK_INDEX) {
			r = otlp_expect(&reader->tables, &field, EP_PROTO_VARINT);
			*stack = field.number == SAMPLE_STACK_INDEX ? field.value : *stack;
		}
	}
	return r < 0 ? r : otlp_reading_end(reader, message);
}

static uint64_t sum_values(const struct otlp_reading *reader)
{
	const uint64_t *value;
	uint64_t sum = 0;

	/* Negative ones are what a difference of two profiles has: there is no such sample. */
	ep_vec_each (&reader->values, value) {
		if ((int64_t)*value >= 0 && __builtin_add_overflow(sum, *value, &sum))
			sum = INT64_MAX;
	}
	return sum;
}

/* Counts and weights by the shape of the sample, exporters/shared/otlp/file.h. */
static void weigh(const struct otlp_reading *reader, const struct otlp_profile *profile, const struct otlp_sample_facts *facts,
		  struct ep_profile_sample *sample)
{
	uint64_t sum = sum_values(reader);
	size_t n_times = reader->times.len;

	sample->count = n_times ? n_times : profile->is_counted ? sum : facts->has_count ? facts->count : 1;
	if (profile->is_counted || !reader->values.len) {
		uint64_t period = profile->is_counted ? profile->period : 1;

		if (__builtin_mul_overflow(sample->count, period, &sample->weight))
			sample->weight = INT64_MAX;
	} else {
		sample->weight = sum;
	}
	if (!n_times && !profile->is_counted && !facts->has_count && otlp_is_text(profile->type.unit, "count"))
		sample->count = sum;
	sample->n_times = (uint32_t)n_times;
	sample->times_ns = reader->times.data;
}

static int read_sample(struct otlp_reading *reader, struct ep_proto message, const struct otlp_profile *profile)
{
	struct ep_profile_sample sample = {.process = reader->process_row};
	struct otlp_sample_facts facts = {0};
	uint64_t stack = 0;
	int r = read_sample_fields(reader, &message, &stack);

	if (r == 0)
		r = read_sample_attributes(reader, message.at, &sample, &facts);
	if (r == 0 && facts.has_process && !reader->has_process)
		r = ep_profile_add_process(reader->builder, &facts.process, &sample.process);
	if (r == 0)
		r = otlp_tables_stack(&reader->tables, stack, message.at, &facts.stack, &sample.stack);
	if (r < 0)
		return r;
	weigh(reader, profile, &facts, &sample);
	return ep_profile_add_sample(reader->builder, &sample);
}

/* --- Profiles --- */

static int read_type(struct otlp_reading *reader, const struct ep_proto_field *type_field, struct otlp_type *type)
{
	struct ep_proto message = type_field->bytes;
	struct ep_proto_field field;
	int r = otlp_expect(&reader->tables, type_field, EP_PROTO_BYTES);

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number > VALUE_TYPE_UNIT_STRINDEX)
			continue;
		r = otlp_expect(&reader->tables, &field, EP_PROTO_VARINT);
		if (r == 0)
			r = otlp_tables_bytes(&reader->tables, field.value, field.bytes.at,
					      field.number == VALUE_TYPE_TYPE_STRINDEX ? &type->name : &type->unit);
	}
	return r < 0 ? r : otlp_reading_end(reader, &message);
}

static int read_facts(struct otlp_reading *reader, struct ep_proto_field *field)
{
	const struct otlp_attribute *attribute;
	const uint8_t *at = field->bytes.at;
	const uint64_t *index;
	int r;

	reader->indices.len = 0;
	r = otlp_add_numbers(&reader->tables, field, &reader->indices);
	if (r < 0)
		return r;
	ep_vec_each (&reader->indices, index) {
		attribute = otlp_tables_attribute(&reader->tables, *index, at);
		if (!attribute)
			return -EBADMSG;
		otlp_header_set(reader, attribute);
	}
	return 0;
}

static int read_profile_field(struct otlp_reading *reader, struct ep_proto_field *field, struct otlp_profile *profile)
{
	struct otlp_tables *t = &reader->tables;
	int r = 0;

	switch (field->number) {
	case PROFILE_SAMPLE_TYPE:
		return read_type(reader, field, &profile->sample_type);
	case PROFILE_PERIOD_TYPE:
		profile->has_period_type = true;
		return read_type(reader, field, &profile->period_type);
	case PROFILE_ATTRIBUTE_INDICES:
		return read_facts(reader, field);
	case PROFILE_SAMPLES:
		return otlp_expect(t, field, EP_PROTO_BYTES);
	case PROFILE_TIME_UNIX_NANO:
		r = otlp_expect(t, field, EP_PROTO_FIXED64);
		profile->start_ns = field->value;
		return r;
	case PROFILE_DURATION_NANO:
		r = otlp_expect(t, field, EP_PROTO_VARINT);
		profile->duration_ns = field->value;
		return r;
	case PROFILE_DROPPED_ATTRIBUTES_COUNT:
		return otlp_expect(t, field, EP_PROTO_VARINT);
	case PROFILE_PERIOD:
		r = otlp_expect(t, field, EP_PROTO_VARINT);
		profile->period = field->value;
		return r;
	default:
		return 0;
	}
}

static bool is_empty(const struct otlp_type *type)
{
	return !ep_proto_left(&type->name) && !ep_proto_left(&type->unit);
}

/* Samples that are only counted stand for a period of CPU time each, if they say how long it is. */
static void find_type(const struct otlp_reading *reader, struct otlp_profile *profile)
{
	profile->type = profile->sample_type;
	profile->is_counted = profile->has_period_type && otlp_is_text(profile->sample_type.name, "samples") &&
			      otlp_is_text(profile->sample_type.unit, "count");
	if (!reader->tables.is_ours)
		profile->is_counted &= profile->period > 0 && !is_empty(&profile->period_type);
	if (profile->is_counted)
		profile->type = profile->period_type;
}

static int read_samples(struct otlp_reading *reader, struct ep_proto message, const struct otlp_profile *profile)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == PROFILE_SAMPLES)
			r = read_sample(reader, field.bytes, profile);
	}
	return r;
}

int otlp_read_profile(struct otlp_reading *reader, const struct ep_proto_field *profile_field)
{
	struct ep_proto none = ep_proto_of(reader->tables.data, 0), message = profile_field->bytes;
	struct otlp_profile profile = {.sample_type = {none, none}, .period_type = {none, none}};
	struct ep_proto_field field;
	int r = otlp_expect(&reader->tables, profile_field, EP_PROTO_BYTES);

	while (r == 0 && ep_proto_next(&message, &field))
		r = read_profile_field(reader, &field, &profile);
	if (r == 0)
		r = otlp_reading_end(reader, &message);
	if (r < 0)
		return r;
	find_type(reader, &profile);
	if (!reader->header.is_said && !otlp_header_join(reader, &profile))
		return 0;
	return read_samples(reader, profile_field->bytes, &profile);
}
