/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads OTLP profiles: messages ProfilesData of opentelemetry-proto 1.10 and 1.11, one or several of them one
 * after the other, also each after its length in 4 bytes as OpenTelemetry's collector writes them.
 * Ours (exporters/shared/otlp/file.h) become the batch that was written; of those of others what
 * they say.
 *
 * A message begins with its resources or with its dictionary, and all of it must be known before a sample can
 * be read. The next one begins where a second dictionary would, or resources after the dictionary.
 */
#include "exporters/shared/proto/otlp_fields.h"
#include "exporters/shared/otlp/file_names.h"
#include "reports/read/otlp/reading.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_RESOURCES (1u << 26)
#define MAX_EVENTS    (1u << 28)
#define MAX_ENV	      (1u << 16)
#define PREFIX_BYTES  4 /* a length, big-endian */

/* --- who wrote it --- */

static int refuse(struct otlp_reading *reader, const char *what, struct ep_proto name)
{
	char text[64];

	otlp_copy_text(name, text, sizeof(text));
	for (char *c = text; *c; c++)
		*c = *c >= ' ' && *c < 0x7f ? *c : '?';
	snprintf(reader->tables.why, EP_READ_WHY_BYTES, what, text);
	return -ENOTSUP;
}

static int check_scope_attribute(struct otlp_reading *reader, struct ep_proto message)
{
	char number[24];
	struct otlp_key_value pair;
	int r = otlp_read_key_value(reader, message, &pair);

	if (r < 0)
		return r;
	if (pair.key == KEY_FORMAT) {
		reader->tables.is_ours = true;
		snprintf(number, sizeof(number), "%" PRIu64, pair.attribute.value);
		if (pair.attribute.value != OTLP_FILE_FORMAT)
			return refuse(reader,
				      "written in version %s of the file by a newer ebpf-profiler: read it with that one",
				      ep_proto_of(number, strlen(number)));
	}
	if (pair.key == KEY_MESSAGES && !otlp_is_text(otlp_reading_text(reader, &pair.attribute), OTLP_FILE_MESSAGES))
		return refuse(reader, "written by message definitions that are not known here, \"%s\": read it "
			      "with the ebpf-profiler that wrote it", otlp_reading_text(reader, &pair.attribute));
	return 0;
}

static int check_scope(struct otlp_reading *reader, struct ep_proto message)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == INSTRUMENTATION_SCOPE_ATTRIBUTES && field.wire == EP_PROTO_BYTES)
			r = check_scope_attribute(reader, field.bytes);
	}
	return r < 0 ? r : otlp_reading_end(reader, &message);
}

/* Their scopes, which are looked at before anything else: they say how the rest is to be read. */
static int check_scopes(struct otlp_reading *reader, struct ep_proto scope_profiles)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&scope_profiles, &field)) {
		if (field.number == SCOPE_PROFILES_SCOPE && field.wire == EP_PROTO_BYTES)
			r = check_scope(reader, field.bytes);
	}
	return r < 0 ? r : otlp_reading_end(reader, &scope_profiles);
}

static int check_resource(struct otlp_reading *reader, struct ep_proto message)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == RESOURCE_PROFILES_SCOPE_PROFILES && field.wire == EP_PROTO_BYTES)
			r = check_scopes(reader, field.bytes);
	}
	return r < 0 ? r : otlp_reading_end(reader, &message);
}

/* --- messages --- */

static int read_scope_profiles(struct otlp_reading *reader, struct ep_proto message)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == SCOPE_PROFILES_PROFILES)
			r = otlp_read_profile(reader, &field);
	}
	return r < 0 ? r : otlp_reading_end(reader, &message);
}

/* The resource is read before its Profiles, wherever it stands. */
static int read_fields(struct otlp_reading *reader, struct ep_proto message, uint32_t number,
		       int (*read)(struct otlp_reading *reader, struct ep_proto message))
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number != number)
			continue;
		r = otlp_expect(&reader->tables, &field, EP_PROTO_BYTES);
		if (r == 0)
			r = read(reader, field.bytes);
	}
	return r < 0 ? r : otlp_reading_end(reader, &message);
}

static int read_resource_profiles(struct otlp_reading *reader, struct ep_proto message)
{
	int r;

	reader->env.len = 0;
	reader->process = (struct ep_profile_process){0};
	reader->has_process = false;
	reader->exe_name = 0;
	r = read_fields(reader, message, RESOURCE_PROFILES_RESOURCE, otlp_read_resource);
	if (r == 0)
		r = otlp_add_process(reader);
	return r < 0 ? r : read_fields(reader, message, RESOURCE_PROFILES_SCOPE_PROFILES, read_scope_profiles);
}

static int end_message(struct otlp_reading *reader)
{
	const struct ep_proto *resource;
	int r = 0;

	ep_vec_each (&reader->resources, resource) {
		r = check_resource(reader, *resource);
		if (r < 0)
			return r;
	}
	if (reader->resources.len && !reader->has_dictionary)
		return otlp_reading_bad(reader, ep_vec_at(&reader->resources, struct ep_proto, reader->resources.len - 1)->end,
			   "the dictionary is missing: the file has been cut off");
	r = otlp_tables_read_attributes(&reader->tables);
	for (size_t i = 0; i < reader->resources.len && r == 0; i++)
		r = read_resource_profiles(reader, *ep_vec_at(&reader->resources, struct ep_proto, i));
	if (r == 0)
		r = otlp_header_add(reader);
	otlp_tables_clear(&reader->tables);
	reader->resources.len = 0;
	reader->has_dictionary = reader->dictionary_first = false;
	reader->header = (struct otlp_header){0};
	return r;
}

static int add_resource(struct otlp_reading *reader, const struct ep_proto_field *field)
{
	int r = otlp_expect(&reader->tables, field, EP_PROTO_BYTES);

	if (r == 0 && reader->has_dictionary && !reader->dictionary_first)
		r = end_message(reader);
	return r < 0 ? r : ep_vec_append(&reader->resources, &field->bytes, 1);
}

static int add_dictionary(struct otlp_reading *reader, const struct ep_proto_field *field)
{
	int r = otlp_expect(&reader->tables, field, EP_PROTO_BYTES);

	if (r == 0 && reader->dictionary_first && reader->resources.len)
		r = end_message(reader);
	if (!reader->resources.len && !reader->has_dictionary)
		reader->dictionary_first = true;
	reader->has_dictionary = true;
	return r < 0 ? r : otlp_tables_add(&reader->tables, field->bytes);
}

static int read_messages(struct otlp_reading *reader, struct ep_proto message)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == PROFILES_DATA_RESOURCE_PROFILES)
			r = add_resource(reader, &field);
		else if (field.number == PROFILES_DATA_DICTIONARY)
			r = add_dictionary(reader, &field);
	}
	if (r == 0)
		r = otlp_reading_end(reader, &message);
	return r < 0 ? r : end_message(reader);
}

/* --- the file --- */

/* A tag of a field of bytes, and within it the tag of another. */
static bool begins_message(const uint8_t *data, size_t bytes)
{
	struct ep_proto proto = ep_proto_of(data, bytes);
	uint64_t tag, len;

	if (!ep_proto_varint(&proto, &tag) || !ep_proto_varint(&proto, &len) || !ep_proto_left(&proto) || len == 0)
		return false;
	if (tag == (PROFILES_DATA_RESOURCE_PROFILES << 3 | EP_PROTO_BYTES)) /* resource, scopes or schema: bytes */
		return *proto.at == 0x0a || *proto.at == 0x12 || *proto.at == 0x1a;
	/* The first table of a dictionary, and its first element, which is empty. */
	return tag == (PROFILES_DATA_DICTIONARY << 3 | EP_PROTO_BYTES) && ep_proto_left(&proto) >= 2 &&
	       proto.at[0] == 0x0a && proto.at[1] == 0;
}

/* Of a message after its length; 0: it is none. */
static size_t prefixed_bytes(const uint8_t *data, size_t bytes)
{
	uint32_t len = bytes > PREFIX_BYTES ? be32toh(ep_get_u32(data)) : 0;

	if (len == 0 || len > bytes - PREFIX_BYTES || !begins_message(data + PREFIX_BYTES, len))
		return 0;
	return len;
}

static bool otlp_matches(const uint8_t *data, size_t bytes)
{
	return begins_message(data, bytes) || prefixed_bytes(data, bytes) > 0;
}

static int read_prefixed(struct otlp_reading *reader, const uint8_t *data, size_t bytes)
{
	int r = 0;

	while (bytes > 0 && r == 0) {
		size_t len = prefixed_bytes(data, bytes);

		if (!len)
			return otlp_reading_bad(reader, data, OTLP_DAMAGED);
		r = read_messages(reader, ep_proto_of(data + PREFIX_BYTES, len));
		data += PREFIX_BYTES + len;
		bytes -= PREFIX_BYTES + len;
	}
	return r;
}

static void reader_init(struct otlp_reading *reader, const uint8_t *data, struct ep_profile_builder *builder, char *why)
{
	reader->builder = builder;
	otlp_tables_init(&reader->tables, data, builder, why);
	ep_vec_init(&reader->resources, sizeof(struct ep_proto), MAX_RESOURCES);
	ep_vec_init(&reader->env, sizeof(uint32_t[2]), MAX_ENV);
	ep_vec_init(&reader->indices, sizeof(uint64_t), MAX_EVENTS);
	ep_vec_init(&reader->values, sizeof(uint64_t), MAX_EVENTS);
	ep_vec_init(&reader->times, sizeof(uint64_t), MAX_EVENTS);
}

static void reader_fini(struct otlp_reading *reader)
{
	otlp_tables_fini(&reader->tables);
	ep_vec_fini(&reader->resources);
	ep_vec_fini(&reader->env);
	ep_vec_fini(&reader->indices);
	ep_vec_fini(&reader->values);
	ep_vec_fini(&reader->times);
}

static int otlp_read(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder, char *why)
{
	ep_autofree struct otlp_reading *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader_init(reader, data, builder, why);
	if (begins_message(data, bytes))
		r = read_messages(reader, ep_proto_of(data, bytes));
	else
		r = read_prefixed(reader, data, bytes);
	reader_fini(reader);
	return r;
}

const struct ep_reader ep_otlp_reader = {
	.name = "otlp",
	.matches = otlp_matches,
	.read = otlp_read,
};
