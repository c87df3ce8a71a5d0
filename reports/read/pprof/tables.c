/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/pprof/profile.h"
#include "reports/read/shared/kind.h"

#include <errno.h>
#include <string.h>

#define TEXT_BYTES 512 /* of what is guessed by */

/* All of mapping, location and function have the same. */
#define ELEMENT_ID MAPPING_ID
_Static_assert(ELEMENT_ID == (int)LOCATION_ID && ELEMENT_ID == (int)FUNCTION_ID, "one loop finds them");

/* --- strings --- */

int pprof_text(struct pprof *p, uint64_t string, const char **ret_text, size_t *ret_bytes)
{
	const struct pprof_element *element;

	if (string >= p->strings.len)
		return pprof_bad(p, p->start + p->bytes,
				 "a string that is named is not there: the file was cut off");
	element = ep_vec_at(&p->strings, struct pprof_element, string);
	*ret_text = (const char *)p->start + element->at;
	*ret_bytes = element->bytes;
	return 0;
}

int pprof_string(struct pprof *p, uint64_t string, uint32_t *ret_row)
{
	struct pprof_element *element;
	const char *text = NULL;
	size_t bytes = 0;
	int r;

	*ret_row = 0;
	if (!string)
		return 0;
	r = pprof_text(p, string, &text, &bytes);
	if (r < 0)
		return r;
	element = ep_vec_at(&p->strings, struct pprof_element, string);
	if (element->row == PPROF_NOT_READ)
		r = ep_profile_add_string(p->builder, text, bytes, &element->row);
	*ret_row = element->row;
	return r;
}

bool pprof_is(struct pprof *p, uint64_t string, const char *text)
{
	size_t bytes = strlen(text);
	const struct pprof_element *element;

	if (string >= p->strings.len)
		return false;
	element = ep_vec_at(&p->strings, struct pprof_element, string);
	return element->bytes == bytes && memcmp(p->start + element->at, text, bytes) == 0;
}

void pprof_copy_text(struct pprof *p, uint64_t string, char *text, size_t bytes)
{
	const char *from;
	size_t len;

	text[0] = '\0';
	if (string >= p->strings.len || pprof_text(p, string, &from, &len) < 0)
		return;
	len = EP_MIN(len, bytes - 1);
	memcpy(text, from, len);
	text[len] = '\0';
}

/* --- tables with ids --- */

void pprof_table_init(struct pprof_table *table)
{
	*table = (struct pprof_table){0};
	ep_vec_init(&table->elements, sizeof(struct pprof_element), PPROF_MAX_ELEMENTS);
	ep_map_init(&table->numbers, PPROF_MAX_ELEMENTS);
}

void pprof_table_fini(struct pprof_table *table)
{
	ep_vec_fini(&table->elements);
	ep_map_fini(&table->numbers);
}

static int use_numbers(struct pprof_table *table)
{
	int r = 0;

	for (size_t i = 0; i < table->elements.len && r == 0; i++)
		r = ep_map_set(&table->numbers, i + 1, i);
	table->has_numbers = true;
	return r;
}

/* Of two with one id the first is it. */
int pprof_table_add(struct pprof *p, struct pprof_table *table, struct ep_proto message)
{
	struct pprof_element element = {
		.at = (uint32_t)(message.at - p->start),
		.bytes = (uint32_t)ep_proto_left(&message),
		.row = PPROF_NOT_READ,
	};
	struct ep_proto_field field;
	uint64_t id = 0;
	int r = 0;

	while (!id && ep_proto_next(&message, &field)) {
		if (field.number == ELEMENT_ID && field.wire == EP_PROTO_VARINT)
			id = field.value;
	}
	if (id != table->elements.len + 1 && !table->has_numbers)
		r = use_numbers(table);
	if (r == 0 && table->has_numbers && !ep_map_find(&table->numbers, id))
		r = ep_map_set(&table->numbers, id, table->elements.len);
	return r < 0 ? r : ep_vec_append(&table->elements, &element, 1);
}

static struct pprof_element *find_element(struct pprof_table *table, uint64_t id)
{
	const uint64_t *number;

	if (!table->has_numbers)
		return id && id <= table->elements.len
			       ? ep_vec_at(&table->elements, struct pprof_element, id - 1)
			       : NULL;
	number = id ? ep_map_find(&table->numbers, id) : NULL;
	return number ? ep_vec_at(&table->elements, struct pprof_element, *number) : NULL;
}

static struct ep_proto message_of(const struct pprof *p, const struct pprof_element *element)
{
	return ep_proto_of(p->start + element->at, element->bytes);
}

/* --- functions --- */

static int read_function(struct pprof *p, struct pprof_element *element)
{
	struct ep_proto message = message_of(p, element);
	struct ep_profile_function function = {0};
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == FUNCTION_NAME)
			r = pprof_string(p, field.value, &function.name);
		else if (field.number == FUNCTION_SYSTEM_NAME)
			r = pprof_string(p, field.value, &function.system_name);
		else if (field.number == FUNCTION_FILENAME)
			r = pprof_string(p, field.value, &function.file);
		else if (field.number == FUNCTION_START_LINE)
			function.line = (uint32_t)EP_MIN(field.value, (uint64_t)UINT32_MAX);
	}
	if (r == 0 && message.is_bad)
		r = pprof_bad(p, message.at, "a function is damaged");
	if (!function.name)
		function.name = function.system_name;
	if (!function.system_name)
		function.system_name = function.name;
	return r < 0 ? r : ep_profile_add_function(p->builder, &function, &element->row);
}

static int find_function(struct pprof *p, uint64_t id, const uint8_t *at, uint32_t *ret_row)
{
	struct pprof_element *element = find_element(&p->functions, id);
	int r = 0;

	if (!element)
		return pprof_bad(p, at, "a function that a line is of is not there");
	if (element->row == PPROF_NOT_READ)
		r = read_function(p, element);
	*ret_row = element->row;
	return r;
}

/* The strings of a function's name and file: for what is guessed by them. */
static void strings_of_function(struct pprof *p, uint64_t id, uint64_t *ret_name, uint64_t *ret_file)
{
	const struct pprof_element *element = find_element(&p->functions, id);
	struct ep_proto_field field;
	struct ep_proto message;

	*ret_name = *ret_file = 0;
	if (!element)
		return;
	message = message_of(p, element);
	while (ep_proto_next(&message, &field)) {
		if (field.number == FUNCTION_NAME)
			*ret_name = field.value;
		else if (field.number == FUNCTION_FILENAME)
			*ret_file = field.value;
	}
}

/* --- mappings --- */

static int read_mapping(struct pprof *p, struct pprof_element *element, char path[TEXT_BYTES])
{
	struct ep_proto message = message_of(p, element);
	struct ep_profile_mapping mapping = {0};
	struct ep_proto_field field;
	int r = 0;

	path[0] = '\0';
	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == MAPPING_MEMORY_START) {
			mapping.start_va = field.value;
		} else if (field.number == MAPPING_MEMORY_LIMIT) {
			mapping.limit_va = field.value;
		} else if (field.number == MAPPING_FILE_OFFSET) {
			mapping.file_off = field.value;
		} else if (field.number == MAPPING_FILENAME) {
			pprof_copy_text(p, field.value, path, TEXT_BYTES);
			r = pprof_string(p, field.value, &mapping.path);
		} else if (field.number == MAPPING_BUILD_ID) {
			r = pprof_string(p, field.value, &mapping.build_id);
		} else if (field.number == MAPPING_HAS_FUNCTIONS && field.value) {
			mapping.flags |= EP_MAPPING_HAS_FUNCTIONS;
		}
	}
	if (r == 0 && message.is_bad)
		r = pprof_bad(p, message.at, "a mapping is damaged");
	mapping.flags |= ep_read_mapping_flags(path, mapping.start_va);
	return r < 0 || element->row != PPROF_NOT_READ
		       ? r
		       : ep_profile_add_mapping(p->builder, &mapping, &element->row);
}

/* Its row, and its path; 0 is none. */
static int find_mapping(struct pprof *p, uint64_t id, char path[TEXT_BYTES], uint32_t *ret_row)
{
	struct pprof_element *element = id ? find_element(&p->mappings, id) : NULL;
	int r;

	path[0] = '\0';
	*ret_row = 0;
	if (!element)
		return 0; /* pprof's own reader takes it for none as well */
	r = read_mapping(p, element, path);
	*ret_row = r < 0 ? 0 : element->row;
	return r;
}

/* --- locations --- */

/* `*function` is the first function's id, of the innermost line. */
static int read_line(struct pprof *p, struct ep_proto message, uint64_t *function)
{
	const uint8_t *at = message.at;
	struct ep_profile_line line = {0};
	struct ep_proto_field field;
	uint64_t id = 0;
	int r;

	while (ep_proto_next(&message, &field)) {
		uint32_t small = (uint32_t)EP_MIN(field.value, (uint64_t)UINT32_MAX);

		if (field.number == LINE_FUNCTION_ID)
			id = field.value;
		else if (field.number == LINE_LINE)
			line.line = (int64_t)field.value < 0 ? 0 : small;
		else if (field.number == LINE_COLUMN)
			line.column = (int64_t)field.value < 0 ? 0 : small;
	}
	if (message.is_bad)
		return pprof_bad(p, message.at, "a line is damaged");
	if (!*function)
		*function = id;
	r = find_function(p, id, at, &line.function);
	return r < 0 ? r : ep_vec_append(&p->lines, &line, 1);
}

/* What the file does not say of a frame. */
static int guess(struct pprof *p, uint64_t function, const char *path,
		 struct ep_profile_location *location, uint32_t *ret_note)
{
	char name[TEXT_BYTES], file[TEXT_BYTES];
	struct ep_read_frame frame = {
		.function = name, .file = file, .path = path, .address = location->address};
	uint64_t name_string, file_string;
	const char *kind;
	int r;

	strings_of_function(p, function, &name_string, &file_string);
	pprof_copy_text(p, name_string, name, sizeof(name));
	pprof_copy_text(p, file_string, file, sizeof(file));
	kind = ep_read_kind(&frame);
	r = ep_profile_add_string(p->builder, kind, strlen(kind), &location->kind);
	if (!p->is_ours)
		return r;
	ep_read_made_up(name, location);
	if (location->unnamed && location->unnamed != EP_UNNAMED_NO_SYMBOL)
		*ret_note = (uint32_t)name_string;
	return r;
}

static int read_location(struct pprof *p, struct pprof_element *element, uint32_t *note)
{
	struct ep_proto message = message_of(p, element);
	struct ep_profile_location location = {0};
	uint64_t function = 0, mapping = 0;
	struct ep_proto_field field;
	char path[TEXT_BYTES];
	int r = 0;

	p->lines.len = 0;
	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == LOCATION_MAPPING_ID)
			mapping = field.value;
		else if (field.number == LOCATION_ADDRESS)
			location.address = field.value;
		else if (field.number == LOCATION_LINE && field.wire == EP_PROTO_BYTES)
			r = read_line(p, field.bytes, &function);
	}
	if (r == 0 && message.is_bad)
		r = pprof_bad(p, message.at, "a location is damaged");
	if (r == 0)
		r = find_mapping(p, mapping, path, &location.mapping);
	if (r == 0)
		r = guess(p, function, path, &location, note);
	location.n_lines = (uint32_t)p->lines.len;
	location.lines = p->lines.data;
	return r < 0 ? r : ep_profile_add_location(p->builder, &location, &element->row);
}

int pprof_find_location(struct pprof *p, uint64_t id, uint32_t *ret_number)
{
	struct pprof_element *element = find_element(&p->locations, id);

	if (!element)
		return pprof_bad(p, p->start + p->bytes,
				 "a location that a sample is at is not there");
	*ret_number = (uint32_t)(element -
				 ep_vec_at(&p->locations.elements, struct pprof_element, 0));
	return 0;
}

int pprof_read_location(struct pprof *p, uint32_t number)
{
	struct pprof_element *element =
		ep_vec_at(&p->locations.elements, struct pprof_element, number);
	uint32_t note = 0;
	int r = read_location(p, element, &note);

	if (r == 0 && note)
		r = ep_map_set(&p->notes, number, note);
	*ep_vec_at(&p->rows, uint32_t, number) = element->row | (note ? PPROF_HAS_NOTE : 0);
	return r;
}

uint32_t pprof_note(const struct pprof *p, uint32_t number)
{
	const uint64_t *note = ep_map_find(&p->notes, number);

	return note ? (uint32_t)*note : 0;
}
