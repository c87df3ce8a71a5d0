/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/pprof/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CUT_OFF "its last field has no end: the file was cut off or is damaged"

int pprof_bad(struct pprof *p, const uint8_t *at, const char *what)
{
	if (!p->why[0])
		snprintf(p->why, EP_READ_WHY_BYTES, "byte %zu: %s", (size_t)(at - p->file), what);
	return -EBADMSG;
}

/* --- what it is --- */

static bool has_wire(const struct ep_proto_field *field)
{
	switch (field->number) {
	case PROFILE_SAMPLE_TYPE:
	case PROFILE_SAMPLE:
	case PROFILE_MAPPING:
	case PROFILE_LOCATION:
	case PROFILE_FUNCTION:
	case PROFILE_STRING_TABLE:
	case PROFILE_PERIOD_TYPE:
		return field->wire == EP_PROTO_BYTES;
	case PROFILE_COMMENT:
		return field->wire == EP_PROTO_VARINT || field->wire == EP_PROTO_BYTES;
	default: /* drop_frames, keep_frames, times, doc_url: numbers all */
		return field->number < 20 && field->wire == EP_PROTO_VARINT;
	}
}

/* ValueType: two numbers. OTLP's first field is a message of messages. */
static bool is_value_type(struct ep_proto message)
{
	struct ep_proto_field field;

	while (ep_proto_next(&message, &field)) {
		if (field.number > 2 || field.wire != EP_PROTO_VARINT)
			return false;
	}
	return !message.is_bad;
}

/*
 * Of a file that was cut off as well. The types come first in what nearly every writer writes; else the strings
 * tell, which OTLP has elsewhere.
 */
static bool pprof_matches(const uint8_t *data, size_t bytes)
{
	struct ep_proto message = ep_proto_of(data, bytes);
	struct ep_proto_field field;

	while (ep_proto_next(&message, &field)) {
		if (!has_wire(&field))
			return false;
		if (field.number == PROFILE_SAMPLE_TYPE)
			return is_value_type(field.bytes);
		if (field.number == PROFILE_STRING_TABLE)
			return true;
	}
	return false;
}

/* --- the first pass: where everything is --- */

static int add_string(struct pprof *p, struct ep_proto text)
{
	struct pprof_element element = {
		.at = (uint32_t)(text.at - p->start),
		.bytes = (uint32_t)ep_proto_left(&text),
		.row = PPROF_NOT_READ,
	};

	return ep_vec_append(&p->strings, &element, 1);
}

static int read_type(struct pprof *p, struct ep_proto message, struct pprof_type *type)
{
	struct ep_proto_field field;

	*type = (struct pprof_type){0};
	while (ep_proto_next(&message, &field)) {
		if (field.number == 1)
			type->type = field.value;
		else if (field.number == 2)
			type->unit = field.value;
	}
	return message.is_bad ? pprof_bad(p, message.at, "a sample type is damaged") : 0;
}

static int add_type(struct pprof *p, struct ep_proto message)
{
	if (p->n_types == PPROF_MAX_TYPES)
		return pprof_bad(p, message.at, "it has more than 64 sample types");
	return read_type(p, message, &p->types[p->n_types++]);
}

static int add_comments(struct pprof *p, struct ep_proto_field *field)
{
	uint64_t comment;
	int r = 0;

	while (r == 0 && ep_proto_number(field, &comment))
		r = ep_vec_append(&p->comments, &comment, 1);
	return r == -E2BIG ? 0 : r;
}

static int note_number(struct pprof *p, const struct ep_proto_field *field)
{
	/* what is negative is not known */
	uint64_t value = (int64_t)field->value < 0 ? 0 : field->value;

	if (field->number == PROFILE_TIME_NANOS)
		p->time_ns = value;
	else if (field->number == PROFILE_DURATION_NANOS)
		p->duration_ns = value;
	else if (field->number == PROFILE_PERIOD)
		p->period = value;
	else if (field->number == PROFILE_DEFAULT_SAMPLE_TYPE)
		p->default_type = value;
	return 0;
}

static int note_field(struct pprof *p, struct ep_proto_field *field)
{
	bool is_table = field->number >= PROFILE_MAPPING && field->number <= PROFILE_STRING_TABLE;

	if (is_table && field->wire == EP_PROTO_BYTES && p->samples)
		p->tables = EP_MIN(p->tables, field->bytes.at);
	if (field->number == PROFILE_SAMPLE && field->wire == EP_PROTO_BYTES && !p->samples)
		p->samples = field->bytes.at;
	if (field->number == PROFILE_COMMENT)
		return add_comments(p, field);
	if (field->wire != EP_PROTO_BYTES)
		return note_number(p, field);
	switch (field->number) {
	case PROFILE_SAMPLE_TYPE:
		return add_type(p, field->bytes);
	case PROFILE_PERIOD_TYPE:
		return read_type(p, field->bytes, &p->period_type);
	case PROFILE_STRING_TABLE:
		return add_string(p, field->bytes);
	case PROFILE_MAPPING:
		return pprof_table_add(p, &p->mappings, field->bytes);
	case PROFILE_LOCATION:
		return pprof_table_add(p, &p->locations, field->bytes);
	case PROFILE_FUNCTION:
		return pprof_table_add(p, &p->functions, field->bytes);
	default:
		return 0;
	}
}

static int note_all(struct pprof *p)
{
	struct ep_proto message = ep_proto_of(p->start, p->bytes);
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field))
		r = note_field(p, &field);
	if (r == 0 && message.is_bad)
		r = pprof_bad(p, message.at, CUT_OFF);
	if (r == 0)
		r = ep_vec_append(&p->labels, NULL, p->strings.len);
	return r < 0 ? r : ep_vec_append(&p->rows, NULL, p->locations.elements.len);
}

/* --- the reader --- */

static void pprof_init(struct pprof *p)
{
	ep_vec_init(&p->strings, sizeof(struct pprof_element), PPROF_MAX_ELEMENTS);
	ep_vec_init(&p->labels, 1, UINT32_MAX / 2);
	ep_vec_init(&p->rows, sizeof(uint32_t), UINT32_MAX / 2);
	ep_map_init(&p->notes, UINT32_MAX / 2);
	ep_vec_init(&p->comments, sizeof(uint64_t), 64);
	ep_vec_init(&p->lines, sizeof(struct ep_profile_line), 1 << 20);
	ep_vec_init(&p->stack, sizeof(uint32_t), 1 << 20);
	pprof_table_init(&p->mappings);
	pprof_table_init(&p->locations);
	pprof_table_init(&p->functions);
}

static void pprof_fini(struct pprof *p)
{
	ep_vec_fini(&p->strings);
	ep_vec_fini(&p->labels);
	ep_vec_fini(&p->rows);
	ep_map_fini(&p->notes);
	ep_vec_fini(&p->comments);
	ep_vec_fini(&p->lines);
	ep_vec_fini(&p->stack);
	pprof_table_fini(&p->mappings);
	pprof_table_fini(&p->locations);
	pprof_table_fini(&p->functions);
}

static int read_one(const uint8_t *file, const uint8_t *data, size_t bytes, struct ep_profile_builder *builder, char *why)
{
	ep_cleanup(pprof_fini) struct pprof p = {.file = file, .start = data, .bytes = bytes, .tables = data + bytes,
						 .builder = builder, .why = why};
	int r;

	pprof_init(&p);
	r = note_all(&p);
	if (r == 0)
		r = pprof_header(&p);
	if (r == -EINVAL && data != file) {
		snprintf(why, EP_READ_WHY_BYTES, "byte %zu: another profile begins there, which counts something else than "
			 "those before it: give each its own file", (size_t)(data - file));
		return r;
	}
	return r < 0 ? r : pprof_samples(&p);
}

static int pprof_read(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder, char *why)
{
	struct pprof_joined joined = {.at = data, .end = data + bytes};
	const uint8_t *one = data;
	size_t one_bytes = 0;
	int r = 0;

	why[0] = '\0';
	while (r == 0 && pprof_next_profile(&joined, &one, &one_bytes))
		r = read_one(data, one, one_bytes, builder, why);
	return r;
}

const struct ep_reader ep_pprof_reader = {
	.name = "pprof", .matches = pprof_matches, .read = pprof_read};
