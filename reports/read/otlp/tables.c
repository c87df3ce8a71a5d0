/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/otlp/tables.h"
#include "ebpf-profiler/frame.h"
#include "exporters/shared/proto/otlp_fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What OpenTelemetry's profiler calls a frame that says why its stack ends. */
#define ABORT_MARKER "abort-marker"
#define MAX_ELEMENTS (1u << 26)
#define MAX_NUMBERS  (1u << 28)
#define MAX_READ     (1ull << 31) /* locations of stacks: some are read for several stacks */

void otlp_tables_init(struct otlp_tables *t, const uint8_t *data, struct ep_profile_builder *builder, char *why)
{
	*t = (struct otlp_tables){.builder = builder, .data = data, .why = why};
	for (size_t i = 0; i < OTLP_N_TABLES; i++)
		ep_vec_init(&t->elements[i], sizeof(struct otlp_element), MAX_ELEMENTS);
	ep_vec_init(&t->attributes, sizeof(struct otlp_attribute), MAX_ELEMENTS);
	ep_vec_init(&t->keys, 1, MAX_ELEMENTS);
	ep_vec_init(&t->stack_facts, sizeof(struct otlp_stack_facts), MAX_ELEMENTS);
	ep_vec_init(&t->lines, sizeof(struct ep_profile_line), MAX_ELEMENTS);
	ep_vec_init(&t->locations, sizeof(uint32_t), MAX_NUMBERS);
	ep_vec_init(&t->indices, sizeof(uint64_t), MAX_NUMBERS);
}

void otlp_tables_fini(struct otlp_tables *t)
{
	for (size_t i = 0; i < OTLP_N_TABLES; i++)
		ep_vec_fini(&t->elements[i]);
	ep_vec_fini(&t->attributes);
	ep_vec_fini(&t->keys);
	ep_vec_fini(&t->stack_facts);
	ep_vec_fini(&t->lines);
	ep_vec_fini(&t->locations);
	ep_vec_fini(&t->indices);
}

void otlp_tables_clear(struct otlp_tables *t)
{
	for (size_t i = 0; i < OTLP_N_TABLES; i++)
		t->elements[i].len = 0;
	t->attributes.len = 0;
	t->keys.len = 0;
	t->stack_facts.len = 0;
	t->is_ours = false;
}

/* --- what is wrong --- */

int otlp_bad(struct otlp_tables *t, const uint8_t *at, const char *what)
{
	snprintf(t->why, EP_READ_WHY_BYTES, "byte %zu: %s", (size_t)(at - t->data), what);
	return -EBADMSG;
}

int otlp_expect(struct otlp_tables *t, const struct ep_proto_field *field, enum ep_proto_wire wire)
{
	if (field->wire == wire)
		return 0;
	return otlp_bad(t, field->bytes.at,
			"not the messages of opentelemetry-proto 1.10 or 1.11, which are the ones that are read");
}

static int check_end(struct otlp_tables *t, const struct ep_proto *message)
{
	return message->is_bad ? otlp_bad(t, message->at, "damaged, or no profile of OTLP") : 0;
}

int otlp_add_numbers(struct otlp_tables *t, struct ep_proto_field *field, struct ep_vec *numbers)
{
	const uint8_t *at = field->bytes.at;
	uint64_t value;
	int r = 0;

	if (field->wire != EP_PROTO_VARINT)
		r = otlp_expect(t, field, EP_PROTO_BYTES);
	while (r == 0 && ep_proto_number(field, &value))
		r = ep_vec_append(numbers, &value, 1);
	if (r == 0 && field->bytes.is_bad)
		r = otlp_bad(t, at, "a list of numbers that has no end");
	return r;
}

/* --- the tables --- */

static int add_element(struct otlp_tables *t, const struct ep_proto_field *field)
{
	struct otlp_element element = {
		.at = (uint32_t)(field->bytes.at - t->data), /* EP_READ_MAX_BYTES are less than 4 GiB */
		.bytes = (uint32_t)ep_proto_left(&field->bytes),
		.row = OTLP_NOT_READ,
	};
	int r = otlp_expect(t, field, EP_PROTO_BYTES);

	return r < 0 ? r : ep_vec_append(&t->elements[field->number - 1], &element, 1);
}

int otlp_tables_add(struct otlp_tables *t, struct ep_proto dictionary)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&dictionary, &field)) {
		if (field.number <= OTLP_N_TABLES)
			r = add_element(t, &field);
	}
	return r < 0 ? r : check_end(t, &dictionary);
}

static size_t n_elements(const struct otlp_tables *t, uint32_t field)
{
	return t->elements[field - 1].len;
}

/* NULL: there is none, and why says so. */
static struct otlp_element *get_element(struct otlp_tables *t, uint32_t field, uint64_t index, const uint8_t *at)
{
	if (index < n_elements(t, field))
		return ep_vec_at(&t->elements[field - 1], struct otlp_element, index);
	(void)otlp_bad(t, at, n_elements(t, field) ? "it refers to something that is not there"
						   : "the dictionary is missing: the file has been cut off");
	return NULL;
}

static struct ep_proto message_of(const struct otlp_tables *t, const struct otlp_element *element)
{
	return ep_proto_of(t->data + element->at, element->bytes);
}

int otlp_tables_string(struct otlp_tables *t, uint64_t index, const uint8_t *at, uint32_t *ret_row)
{
	struct otlp_element *element;
	int r = 0;

	*ret_row = 0;
	if (index == 0)
		return 0;
	element = get_element(t, PROFILES_DICTIONARY_STRING_TABLE, index, at);
	if (!element)
		return -EBADMSG;
	if (element->row == OTLP_NOT_READ)
		r = ep_profile_add_string(t->builder, (const char *)t->data + element->at, element->bytes,
					  &element->row);
	*ret_row = element->row;
	return r;
}

int otlp_tables_bytes(struct otlp_tables *t, uint64_t index, const uint8_t *at, struct ep_proto *ret_text)
{
	const struct otlp_element *element = get_element(t, PROFILES_DICTIONARY_STRING_TABLE, index, at);

	if (!element)
		return -EBADMSG;
	*ret_text = message_of(t, element);
	return 0;
}

/* --- attributes --- */

static int set_text(struct otlp_tables *t, struct ep_proto text, struct otlp_attribute *attribute)
{
	attribute->at = (uint32_t)(text.at - t->data);
	attribute->bytes = (uint32_t)ep_proto_left(&text);
	return ep_profile_add_string(t->builder, (const char *)text.at, attribute->bytes, &attribute->text);
}

int otlp_tables_value(struct otlp_tables *t, struct ep_proto value, struct otlp_attribute *attribute)
{
	struct ep_proto_field field;
	struct ep_proto text;
	int r = 0;

	while (r == 0 && ep_proto_next(&value, &field)) {
		if (field.number == ANY_VALUE_STRING_VALUE && field.wire == EP_PROTO_BYTES) {
			r = set_text(t, field.bytes, attribute);
		} else if (field.number == ANY_VALUE_STRING_VALUE_STRINDEX && field.wire == EP_PROTO_VARINT) {
			r = otlp_tables_bytes(t, field.value, field.bytes.at, &text);
			if (r == 0)
				r = set_text(t, text, attribute);
		} else if (field.number == ANY_VALUE_INT_VALUE || field.number == ANY_VALUE_BOOL_VALUE) {
			attribute->value = field.value;
		}
	}
	return r < 0 ? r : check_end(t, &value);
}

static int find_key(struct otlp_tables *t, uint64_t index, const uint8_t *at, enum otlp_key *ret_key)
{
	const struct otlp_element *element = get_element(t, PROFILES_DICTIONARY_STRING_TABLE, index, at);
	uint8_t *known;

	if (!element)
		return -EBADMSG;
	known = ep_vec_at(&t->keys, uint8_t, index);
	if (!*known)
		*known = (uint8_t)(otlp_key_find((const char *)t->data + element->at, element->bytes) + 1);
	*ret_key = (enum otlp_key)(*known - 1);
	return 0;
}

static int read_attribute(struct otlp_tables *t, const struct otlp_element *element,
			  struct otlp_attribute *attribute)
{
	struct ep_proto message = message_of(t, element), value = ep_proto_of(message.at, 0);
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == KEY_VALUE_AND_UNIT_KEY_STRINDEX) {
			r = otlp_expect(t, &field, EP_PROTO_VARINT);
			if (r == 0)
				r = find_key(t, field.value, field.bytes.at, &attribute->key);
		} else if (field.number == KEY_VALUE_AND_UNIT_VALUE) {
			r = otlp_expect(t, &field, EP_PROTO_BYTES);
			value = field.bytes;
		}
	}
	if (r == 0)
		r = check_end(t, &message);
	/* Of what nobody asks for the value need not be kept. */
	return r < 0 || attribute->key == KEY_NONE ? r : otlp_tables_value(t, value, attribute);
}

int otlp_tables_read_attributes(struct otlp_tables *t)
{
	size_t n = n_elements(t, PROFILES_DICTIONARY_ATTRIBUTE_TABLE);
	int r = ep_vec_append(&t->keys, NULL, n_elements(t, PROFILES_DICTIONARY_STRING_TABLE));

	if (r == 0)
		r = ep_vec_append(&t->attributes, NULL, n);
	if (r == 0)
		r = ep_vec_append(&t->stack_facts, NULL, n_elements(t, PROFILES_DICTIONARY_STACK_TABLE));
	for (size_t i = 1; i < n && r == 0; i++)
		r = read_attribute(t, ep_vec_at(&t->elements[PROFILES_DICTIONARY_ATTRIBUTE_TABLE - 1], struct otlp_element, i),
				   ep_vec_at(&t->attributes, struct otlp_attribute, i));
	return r;
}

const struct otlp_attribute *otlp_tables_attribute(struct otlp_tables *t, uint64_t index, const uint8_t *at)
{
	if (index < t->attributes.len)
		return ep_vec_at(&t->attributes, struct otlp_attribute, index);
	(void)get_element(t, PROFILES_DICTIONARY_ATTRIBUTE_TABLE, index, at); /* for its sentence */
	return NULL;
}

/* The attributes of the element in hand, whose indices are in t->indices, one after the other. */
static int next_attribute(struct otlp_tables *t, size_t *pos, const uint8_t *at,
			  const struct otlp_attribute **ret_attribute)
{
	if (*pos == t->indices.len)
		return 0;
	*ret_attribute = otlp_tables_attribute(t, *ep_vec_at(&t->indices, uint64_t, (*pos)++), at);
	return *ret_attribute ? 1 : -EBADMSG;
}

/* --- functions and mappings --- */

static int read_function(struct otlp_tables *t, const struct otlp_element *element, uint32_t *ret_row)
{
	struct ep_profile_function function = {0};
	uint32_t *const texts[] = {
		[FUNCTION_NAME_STRINDEX] = &function.name,
		[FUNCTION_SYSTEM_NAME_STRINDEX] = &function.system_name,
		[FUNCTION_FILENAME_STRINDEX] = &function.file,
	};
	struct ep_proto message = message_of(t, element);
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number > FUNCTION_START_LINE)
			continue;
		r = otlp_expect(t, &field, EP_PROTO_VARINT);
		if (r == 0 && field.number == FUNCTION_START_LINE)
			function.line = (uint32_t)EP_MIN(field.value, (uint64_t)UINT32_MAX);
		else if (r == 0)
			r = otlp_tables_string(t, field.value, field.bytes.at, texts[field.number]);
	}
	if (r == 0)
		r = check_end(t, &message);
	return r < 0 ? r : ep_profile_add_function(t->builder, &function, ret_row);
}

static int get_function(struct otlp_tables *t, uint64_t index, const uint8_t *at, uint32_t *ret_row)
{
	struct otlp_element *element = get_element(t, PROFILES_DICTIONARY_FUNCTION_TABLE, index, at);
	int r = 0;

	if (!element)
		return -EBADMSG;
	if (element->row == OTLP_NOT_READ)
		r = index ? read_function(t, element, &element->row) : (int)(element->row = 0);
	*ret_row = element->row;
	return r;
}

static void set_mapping_attribute(struct ep_profile_mapping *mapping, const struct otlp_attribute *attribute)
{
	switch (attribute->key) {
	case KEY_BUILD_ID_GNU:
		mapping->build_id = attribute->text;
		break;
	case KEY_BUILD_ID_GO:
		mapping->go_build_id = attribute->text;
		break;
	case KEY_FILE_ID:
		mapping->file_id = attribute->text;
		break;
	case KEY_HAS_FUNCTIONS:
		mapping->flags |= attribute->value ? EP_MAPPING_HAS_FUNCTIONS : 0;
		break;
	case KEY_KERNEL:
		mapping->flags |= attribute->value ? EP_MAPPING_KERNEL : 0;
		break;
	case KEY_MAPPING_START:
		mapping->start_va = attribute->value;
		break;
	case KEY_MAPPING_LIMIT:
		mapping->limit_va = attribute->value;
		break;
	default:
		break;
	}
}

static int read_mapping_field(struct otlp_tables *t, struct ep_proto_field *field, struct ep_profile_mapping *mapping)
{
	int r = 0;

	if (field->number == MAPPING_ATTRIBUTE_INDICES)
		return otlp_add_numbers(t, field, &t->indices);
	if (field->number > MAPPING_ATTRIBUTE_INDICES)
		return 0;
	r = otlp_expect(t, field, EP_PROTO_VARINT);
	if (r < 0)
		return r;
	if (field->number == MAPPING_MEMORY_START)
		mapping->start_va = field->value;
	else if (field->number == MAPPING_MEMORY_LIMIT)
		mapping->limit_va = field->value;
	else if (field->number == MAPPING_FILE_OFFSET)
		mapping->file_off = field->value;
	else
		r = otlp_tables_string(t, field->value, field->bytes.at, &mapping->path);
	return r;
}

static int read_mapping(struct otlp_tables *t, const struct otlp_element *element, bool is_kernel, uint32_t *ret_row)
{
	struct ep_profile_mapping mapping = {.flags = is_kernel ? EP_MAPPING_KERNEL : 0};
	struct ep_proto message = message_of(t, element);
	const struct otlp_attribute *attribute;
	struct ep_proto_field field;
	size_t pos = 0;
	int r = 0;

	t->indices.len = 0;
	while (r == 0 && ep_proto_next(&message, &field))
		r = read_mapping_field(t, &field, &mapping);
	if (r == 0)
		r = check_end(t, &message);
	while (r == 0 && (r = next_attribute(t, &pos, message.at, &attribute)) == 1) {
		set_mapping_attribute(&mapping, attribute);
		r = 0;
	}
	return r < 0 ? r : ep_profile_add_mapping(t->builder, &mapping, ret_row);
}

static int get_mapping(struct otlp_tables *t, uint64_t index, const uint8_t *at, bool is_kernel, uint32_t *ret_row)
{
	struct otlp_element *element;
	int r = 0;

	*ret_row = 0;
	if (index == 0)
		return 0;
	element = get_element(t, PROFILES_DICTIONARY_MAPPING_TABLE, index, at);
	if (!element)
		return -EBADMSG;
	if (element->row == OTLP_NOT_READ)
		r = read_mapping(t, element, is_kernel, &element->row);
	*ret_row = element->row;
	return r;
}

/* --- locations --- */

static int read_line(struct otlp_tables *t, struct ep_proto message)
{
	struct ep_profile_line line = {0};
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number > LINE_COLUMN)
			continue;
		r = otlp_expect(t, &field, EP_PROTO_VARINT);
		if (r < 0)
			break;
		if (field.number == LINE_FUNCTION_INDEX)
			r = get_function(t, field.value, field.bytes.at, &line.function);
		else if (field.number == LINE_LINE)
			line.line = (uint32_t)EP_MIN(field.value, (uint64_t)UINT32_MAX);
		else
			line.column = (uint32_t)EP_MIN(field.value, (uint64_t)UINT32_MAX);
	}
	if (r == 0)
		r = check_end(t, &message);
	if (r < 0 || !line.function) /* a line of no function says nothing */
		return r;
	return ep_vec_append(&t->lines, &line, 1);
}

uint32_t otlp_unnamed_of(const struct otlp_attribute *attribute)
{
	return attribute->value < EP_UNNAMED_COUNT ? (uint32_t)attribute->value : EP_UNNAMED_UNREADABLE;
}

static void set_location_attribute(struct ep_profile_location *location, const struct otlp_attribute *attribute)
{
	uint32_t flag = 0;

	switch (attribute->key) {
	case KEY_FRAME_TYPE:
		location->kind = location->kind ? location->kind : attribute->text;
		break;
	case KEY_UNNAMED_REASON:
		location->unnamed = otlp_unnamed_of(attribute);
		break;
	case KEY_POINTER_WALK:
		flag = EP_LOCATION_POINTER_WALK;
		break;
	case KEY_ERROR:
		flag = EP_LOCATION_ERROR;
		break;
	case KEY_MADE_UP_NAME:
		flag = EP_LOCATION_UNNAMED;
		break;
	case KEY_GAP:
		flag = EP_LOCATION_GAP;
		break;
	default:
		break;
	}
	location->flags |= attribute->value ? flag : 0;
}

static bool is_text(struct otlp_tables *t, uint32_t row, const char *text)
{
	uint32_t other;

	/* Equal texts are one row. */
	return ep_profile_add_string(t->builder, text, strlen(text), &other) == 0 && other == row;
}

static int set_kind(struct otlp_tables *t, struct ep_profile_location *location, bool has_mapping)
{
	int r = 0;

	if (t->is_ours)
		return 0;
	if (is_text(t, location->kind, ABORT_MARKER)) {
		location->flags |= EP_LOCATION_ERROR;
		r = ep_profile_add_string(t->builder, "error", strlen("error"), &location->kind);
	} else if (!location->kind && has_mapping) {
		r = ep_profile_add_string(t->builder, "native", strlen("native"), &location->kind);
	}
	return r;
}

static int read_location_attributes(struct otlp_tables *t, const uint8_t *at, struct ep_profile_location *location)
{
	const struct otlp_attribute *attribute;
	size_t pos = 0;
	bool has_kind = false;
	int r = 0;

	while (r == 0 && (r = next_attribute(t, &pos, at, &attribute)) == 1) {
		if (attribute->key == KEY_KIND) {
			location->kind = attribute->text;
			has_kind = true;
		} else if (attribute->key != KEY_FRAME_TYPE || !has_kind) {
			set_location_attribute(location, attribute);
		}
		r = 0;
	}
	return r;
}

static int read_location_fields(struct otlp_tables *t, struct ep_proto *message,
				struct ep_profile_location *location, uint64_t *mapping)
{
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(message, &field)) {
		if (field.number == LOCATION_ATTRIBUTE_INDICES) {
			r = otlp_add_numbers(t, &field, &t->indices);
		} else if (field.number == LOCATION_LINES) {
			r = otlp_expect(t, &field, EP_PROTO_BYTES);
			if (r == 0)
				r = read_line(t, field.bytes);
		} else if (field.number == LOCATION_MAPPING_INDEX || field.number == LOCATION_ADDRESS) {
			r = otlp_expect(t, &field, EP_PROTO_VARINT);
			if (field.number == LOCATION_MAPPING_INDEX)
				*mapping = field.value;
			else
				location->address = field.value;
		}
	}
	return r < 0 ? r : check_end(t, message);
}

static int read_location(struct otlp_tables *t, struct otlp_element *element)
{
	struct ep_profile_location location = {0};
	struct ep_proto message = message_of(t, element);
	uint64_t mapping = 0;
	int r;

	t->indices.len = 0;
	t->lines.len = 0;
	r = read_location_fields(t, &message, &location, &mapping);
	if (r == 0)
		r = read_location_attributes(t, message.at, &location);
	if (r == 0)
		r = set_kind(t, &location, mapping != 0);
	if (r == 0)
		r = get_mapping(t, mapping, message.at, !t->is_ours && is_text(t, location.kind, "kernel"),
				&location.mapping);
	location.lines = t->lines.data;
	location.n_lines = (uint32_t)t->lines.len;
	element->is_end = !t->is_ours && (location.flags & EP_LOCATION_ERROR);
	return r < 0 ? r : ep_profile_add_location(t->builder, &location, &element->row);
}

static int get_location(struct otlp_tables *t, uint64_t index, const uint8_t *at, uint32_t *ret_row, bool *ret_is_end)
{
	struct otlp_element *element = get_element(t, PROFILES_DICTIONARY_LOCATION_TABLE, index, at);
	int r = 0;

	if (!element)
		return -EBADMSG;
	if (element->row == OTLP_NOT_READ)
		r = read_location(t, element);
	*ret_row = element->row;
	*ret_is_end = element->is_end;
	return r;
}

/* --- stacks --- */

/* Locations of a stack into t->locations; those of its list that are 0 are none. */
static int read_locations(struct otlp_tables *t, struct ep_proto_field *field, bool *is_end)
{
	const uint8_t *at = field->bytes.at;
	uint64_t index;
	uint32_t row;
	int r = 0;

	if (field->wire != EP_PROTO_VARINT)
		r = otlp_expect(t, field, EP_PROTO_BYTES);
	while (r == 0 && ep_proto_number(field, &index)) {
		if (index == 0)
			continue;
		r = get_location(t, index, at, &row, is_end);
		if (r == 0 && t->n_read++ > MAX_READ)
			r = -E2BIG;
		if (r == 0)
			r = ep_vec_append(&t->locations, &row, 1);
	}
	if (r == 0 && field->bytes.is_bad)
		r = otlp_bad(t, at, "a stack that has no end");
	return r;
}

static int read_stack(struct otlp_tables *t, const struct otlp_element *element,
		      const struct otlp_stack_facts *facts, uint32_t *ret_row)
{
	struct ep_profile_stack stack = {
		.error = facts->error,
		.error_text = facts->error_text,
		.unnamed = facts->unnamed,
		.unnamed_text = facts->unnamed_text,
	};
	struct ep_proto message = message_of(t, element);
	struct ep_proto_field field;
	bool is_end = false; /* of the last one */
	int r = 0;

	t->locations.len = 0;
	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == STACK_LOCATION_INDICES)
			r = read_locations(t, &field, &is_end);
	}
	if (r == 0)
		r = check_end(t, &message);
	if (r == 0 && is_end) {
		stack.error = EP_ERROR_FIRST_DYNAMIC;
		r = ep_profile_add_string(t->builder, ABORT_MARKER, strlen(ABORT_MARKER), &stack.error_text);
	}
	stack.locations = t->locations.data;
	stack.n_locations = (uint32_t)t->locations.len;
	return r < 0 ? r : ep_profile_add_stack(t->builder, &stack, ret_row);
}

/* Nearly always all samples of a stack say the same of it: the row is that of the sample before. */
int otlp_tables_stack(struct otlp_tables *t, uint64_t index, const uint8_t *at, const struct otlp_stack_facts *facts,
		      uint32_t *ret_row)
{
	struct otlp_element *element = get_element(t, PROFILES_DICTIONARY_STACK_TABLE, index, at);
	struct otlp_stack_facts *present;
	int r = 0;

	if (!element)
		return -EBADMSG;
	present = ep_vec_at(&t->stack_facts, struct otlp_stack_facts, index);
	if (element->row == OTLP_NOT_READ || memcmp(present, facts, sizeof(*present)) != 0)
		r = read_stack(t, element, facts, &element->row);
	*present = *facts;
	*ret_row = element->row;
	return r;
}
