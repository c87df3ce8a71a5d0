/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/proto/otlp_fields.h"
#include "exporters/shared/otlp/file_names.h"
#include "reports/read/otlp/reading.h"

#include <string.h>

int otlp_read_key_value(struct otlp_reading *reader, struct ep_proto message, struct otlp_key_value *ret)
{
	struct ep_proto value = ep_proto_of(message.at, 0);
	struct ep_proto_field field;
	int r = 0;

	*ret = (struct otlp_key_value){.name = value};
	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == KEY_VALUE_KEY && field.wire == EP_PROTO_BYTES)
			ret->name = field.bytes;
		else if (field.number == KEY_VALUE_VALUE && field.wire == EP_PROTO_BYTES)
			value = field.bytes;
		else if (field.number == KEY_VALUE_KEY_STRINDEX && field.wire == EP_PROTO_VARINT)
			r = otlp_tables_bytes(&reader->tables, field.value, field.bytes.at, &ret->name);
	}
	if (r == 0)
		r = otlp_reading_end(reader, &message);
	if (r == 0)
		r = otlp_tables_value(&reader->tables, value, &ret->attribute);
	ret->key = otlp_key_find((const char *)ret->name.at, ep_proto_left(&ret->name));
	return r;
}

static int add_env(struct otlp_reading *reader, const struct otlp_key_value *pair)
{
	const size_t prefix = strlen(OTLP_ENV_PREFIX);
	uint32_t row[2] = {0, pair->attribute.text};
	int r;

	if (ep_proto_left(&pair->name) <= prefix || memcmp(pair->name.at, OTLP_ENV_PREFIX, prefix) != 0)
		return 0;
	r = ep_profile_add_string(reader->builder, (const char *)pair->name.at + prefix,
				  ep_proto_left(&pair->name) - prefix, &row[0]);
	return r < 0 ? r : ep_vec_append(&reader->env, row, 1);
}

bool otlp_set_process(struct ep_profile_process *process, const struct otlp_attribute *attribute, enum otlp_key key)
{
	switch (key) {
	case KEY_PID:
		process->pid = (uint32_t)attribute->value;
		return true;
	case KEY_EXE_PATH:
		process->exe_path = attribute->text;
		return true;
	case KEY_CONTAINER_ID:
		process->container_id = attribute->text;
		return true;
	case KEY_OWNER:
		process->user = attribute->text;
		return true;
	case KEY_PROCESS_START:
		process->start_ns = attribute->value;
		return true;
	case KEY_PROCESS_IMAGE:
		process->image = (uint32_t)attribute->value;
		return true;
	case KEY_PROCESS_COMM:
		process->comm = attribute->text;
		return true;
	default:
		return false;
	}
}

static int set_cgroup(struct otlp_reading *reader, const struct otlp_attribute *attribute)
{
	struct ep_proto line = otlp_reading_text(reader, attribute);
	size_t prefix = strlen(OTLP_CGROUP_PREFIX), len = ep_proto_left(&line);

	if (len < prefix || memcmp(line.at, OTLP_CGROUP_PREFIX, prefix) != 0)
		prefix = 0;
	return ep_profile_add_string(reader->builder, (const char *)line.at + prefix, len - prefix,
				     &reader->process.cgroup);
}

static int read_resource_attribute(struct otlp_reading *reader, struct ep_proto message)
{
	struct otlp_key_value pair;
	int r = otlp_read_key_value(reader, message, &pair);

	if (r < 0)
		return r;
	if (pair.key == KEY_NONE)
		return add_env(reader, &pair);
	if (pair.key == KEY_CGROUP)
		return set_cgroup(reader, &pair.attribute);
	if (otlp_set_process(&reader->process, &pair.attribute, pair.key))
		reader->has_process = true;
	else if (pair.key == KEY_EXE_NAME)
		reader->exe_name = pair.attribute.text;
	else if (pair.key == KEY_HOST_NAME)
		otlp_copy_text(otlp_reading_text(reader, &pair.attribute), reader->header.host_name,
			  sizeof(reader->header.host_name));
	return 0;
}

int otlp_add_process(struct otlp_reading *reader)
{
	struct ep_profile_process *process = &reader->process;

	reader->process_row = 0;
	if (!reader->has_process && !reader->exe_name)
		return 0;
	if (!reader->tables.is_ours && !process->comm)
		process->comm = reader->exe_name;
	process->env = reader->env.data;
	process->n_env = (uint32_t)reader->env.len;
	return ep_profile_add_process(reader->builder, process, &reader->process_row);
}

int otlp_read_resource(struct otlp_reading *reader, struct ep_proto message)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == RESOURCE_ATTRIBUTES) {
			r = otlp_expect(&reader->tables, &field, EP_PROTO_BYTES);
			if (r == 0)
				r = read_resource_attribute(reader, field.bytes);
		}
	}
	return r < 0 ? r : otlp_reading_end(reader, &message);
}
