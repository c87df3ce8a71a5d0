/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings, functions, locations and stacks of a dictionary. */
#include "exporters/shared/otlp/dictionary_internal.h"
#include "exporters/shared/otlp/frame_type.h"

#include <stdio.h>

#define INDEX_MAX   5		 /* bytes of a uint32 */
#define KERNEL_SPAN (1ull << 31) /* image and modules: less on x86-64 and arm64 */

/* --- mappings --- */

/*
 * What stands for the kernel's file id, since there may be no file: FNV-1a, 128 bits, of its GNU
 * build id in hex. http://www.isthe.com/chongo/tech/comp/fnv
 */
static void hash_build_id(const char *build_id, char hex[33])
{
	unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
	unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;

	for (; *build_id; build_id++)
		hash = (hash ^ (unsigned char)*build_id) * prime;
	snprintf(hex, 33, "%016llx%016llx", (unsigned long long)(hash >> 64),
		 (unsigned long long)hash);
}

static bool is_kernel(const struct ep_batch *b, uint32_t mapping)
{
	return b->mapping_flags[mapping] & EP_MAPPING_KERNEL;
}

/* An attribute whose value is a string of the batch, onto the list in hand. */
static void list_string(struct otlp_dictionary *d, enum otlp_own_string key, uint32_t row)
{
	if (row)
		otlp_put_varint(&d->list, otlp_dictionary_attribute_row(d, key, row));
}

/* Messages have addresses of both or of none: start < limit, or both 0. */
static bool has_range(const struct ep_batch *b, uint32_t mapping)
{
	return b->mapping_start_va[mapping] < b->mapping_limit_va[mapping];
}

static void list_mapping_facts(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t flags = b->mapping_flags[row];

	if (flags & EP_MAPPING_KERNEL)
		otlp_put_varint(&d->list, otlp_dictionary_attribute_true(d, OTLP_KERNEL));
	if (flags & EP_MAPPING_HAS_FUNCTIONS)
		otlp_put_varint(&d->list, otlp_dictionary_attribute_true(d, OTLP_HAS_FUNCTIONS));
	if (has_range(b, row) || b->mapping_start_va[row] == 0)
		return; /* both are 0: limit is not above start */
	otlp_put_varint(&d->list,
			otlp_dictionary_attribute_int(d, OTLP_MAPPING_START, b->mapping_start_va[row]));
	otlp_put_varint(&d->list,
			otlp_dictionary_attribute_int(d, OTLP_MAPPING_LIMIT, b->mapping_limit_va[row]));
}

static void list_mapping_attributes(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t gnu = b->mapping_build_id[row], file_id = b->mapping_file_id[row];
	bool by_build_id = !file_id && gnu && is_kernel(b, row);
	char hex[33];

	d->list.len = 0;
	if (d->options->devfiler && !file_id && !by_build_id)
		return;
	list_string(d, OTLP_BUILD_ID_GNU, gnu);
	if (d->view->mapping_go_build_id)
		list_string(d, OTLP_BUILD_ID_GO, d->view->mapping_go_build_id[row]);
	list_string(d, OTLP_BUILD_ID_HTLHASH, file_id);
	if (d->options->is_file)
		list_mapping_facts(d, row);
	if (!by_build_id || d->options->is_file)
		return;
	hash_build_id(b->string_text[gnu], hex);
	otlp_put_varint(&d->list,
			otlp_dictionary_attribute_text(d, OTLP_BUILD_ID_HTLHASH, hex, strlen(hex)));
}

/* [kernel.kallsyms] is vmlinux, [nf_tables] the module of that name. */
static uint32_t kernel_file_name(struct otlp_dictionary *d, uint32_t path)
{
	const char *text = d->batch->string_text[path];
	size_t len = d->batch->string_bytes[path];
	uint32_t at;

	if (strcmp(text, "[kernel.kallsyms]") == 0)
		return otlp_dictionary_own(d, OTLP_VMLINUX);
	if (len < 3 || text[0] != '[' || text[len - 1] != ']')
		return otlp_dictionary_string(d, path);
	at = otlp_dictionary_text(d, text + 1, len - 2);
	return at ? at : otlp_dictionary_string(d, path);
}

static uint64_t load_address(const struct otlp_dictionary *d, uint32_t mapping)
{
	return d->view->mapping_load_address ? d->view->mapping_load_address[mapping] : 0;
}

static uint32_t add_mapping(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	bool is_file = d->options->is_file, relative = load_address(d, row) != 0;
	uint32_t name = is_kernel(b, row) && !is_file ? kernel_file_name(d, b->mapping_path[row])
					  : otlp_dictionary_string(d, b->mapping_path[row]);

	list_mapping_attributes(d, row);
	if (!relative && (!is_file || has_range(b, row)))
		otlp_put_uint(&d->body, MAPPING_MEMORY_START, b->mapping_start_va[row]);
	if (!is_file || has_range(b, row))
		otlp_put_uint(&d->body, MAPPING_MEMORY_LIMIT, relative ? KERNEL_SPAN : b->mapping_limit_va[row]);
	otlp_put_uint(&d->body, MAPPING_FILE_OFFSET, b->mapping_file_off[row]);
	otlp_put_uint(&d->body, MAPPING_FILENAME_STRINDEX, name);
	if (d->list.len)
		otlp_put_message(&d->body, MAPPING_ATTRIBUTE_INDICES, &d->list);
	if (d->body.len == 0)
		return 0; /* nothing is known of it: element 0 */
	return otlp_table_add_body(d, PROFILES_DICTIONARY_MAPPING_TABLE);
}

static uint32_t get_mapping(struct otlp_dictionary *d, uint32_t row)
{
	row = d->canon->mapping_of[row];
	if (row && !d->mapping_of[row])
		d->mapping_of[row] = add_mapping(d, row);
	return d->mapping_of[row];
}

/* --- functions, locations, stacks --- */

#define SHORT_BYTES 128 /* a length below is one byte, and known when the element is written */

/* Functions and locations are written where they stay: they are most of a dictionary. */
static uint8_t *begin_short(struct otlp_dictionary *d, uint32_t field)
{
	uint8_t *to = otlp_wire_room(&otlp_table_of(d, field)->bytes, SHORT_BYTES + 2);

	if (to)
		*to = (uint8_t)(field << 3 | OTLP_BYTES);
	return to ? to + 2 : NULL;
}

static uint32_t end_short(struct otlp_dictionary *d, uint32_t field, const uint8_t *end)
{
	struct otlp_table *t = otlp_table_of(d, field);
	uint8_t *element = t->bytes.data + t->bytes.len;

	element[1] = (uint8_t)(end - (element + 2));
	t->bytes.len += (size_t)(end - element);
	return t->n++;
}

static uint32_t add_function(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t name = otlp_dictionary_string(d, b->function_name[row]);
	uint32_t system_name = otlp_dictionary_string(d, b->function_system_name[row]);
	uint32_t file = otlp_dictionary_string(d, b->function_file[row]);
	uint8_t *to = begin_short(d, PROFILES_DICTIONARY_FUNCTION_TABLE);

	if (!to)
		return 0;
	to = otlp_uint_write(to, FUNCTION_NAME_STRINDEX, name);
	to = otlp_uint_write(to, FUNCTION_SYSTEM_NAME_STRINDEX, system_name);
	to = otlp_uint_write(to, FUNCTION_FILENAME_STRINDEX, file);
	to = otlp_uint_write(to, FUNCTION_START_LINE, b->function_line[row]);
	return end_short(d, PROFILES_DICTIONARY_FUNCTION_TABLE, to);
}

static uint32_t get_function(struct otlp_dictionary *d, uint32_t row)
{
	if (row && !d->function_of[row])
		d->function_of[row] = add_function(d, row);
	return d->function_of[row];
}

/* Lines of a location into d->list: their functions use d->body. */
static void list_lines(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;

	d->list.len = 0;
	if (otlp_is_nameless(b, d->options, row))
		return;
	for (uint32_t line = b->location_line_first[row]; line < b->location_line_first[row + 1];
	     line++) {
		uint32_t function = get_function(d, b->line_function[line]);

		d->part.len = 0;
		otlp_put_uint(&d->part, LINE_FUNCTION_INDEX, function);
		otlp_put_uint(&d->part, LINE_LINE, b->line_line[line]);
		otlp_put_uint(&d->part, LINE_COLUMN, b->line_column[line]);
		otlp_put_message(&d->list, LOCATION_LINES, &d->part);
	}
}

static uint64_t location_address(const struct otlp_dictionary *d, uint32_t row)
{
	uint64_t address = d->batch->location_address[row];
	uint64_t base = load_address(d, d->batch->location_mapping[row]);

	if (!d->options->is_file && (d->batch->location_flags[row] & EP_LOCATION_ERROR))
		return 0;
	return base && address >= base ? address - base : address;
}

/* The attribute of a location's kind; a batch has a handful of kinds. */
static uint32_t frame_type(struct otlp_dictionary *d, uint32_t row)
{
	uint32_t kind = d->batch->location_kind[row];
	struct otlp_type *at = &d->types[kind % OTLP_TYPES];

	if (!at->attribute || at->kind != kind) {
		const char *type = otlp_frame_type_of(d->batch, row, d->options);

		at->attribute =
			otlp_dictionary_attribute_text(d, OTLP_FRAME_TYPE, type, strlen(type));
		at->kind = kind;
	}
	return at->attribute;
}

#define MAX_LOCATION_ATTRIBUTES 8

/* What only a file says of a location, onto the `n` attributes that are there; how many are then. */
static uint32_t add_location_facts(struct otlp_dictionary *d, uint32_t row, uint32_t *attributes, uint32_t n)
{
	static const enum otlp_own_string flag_keys[] = {OTLP_POINTER_WALK, OTLP_ERROR, OTLP_MADE_UP_NAME,
							 OTLP_GAP}; /* by bit of enum ep_location_flag */
	const struct ep_batch *b = d->batch;
	uint32_t kind = b->location_kind[row];
	const char *type = otlp_frame_type_of(b, row, d->options);

	if (strcmp(type, b->string_text[kind]) != 0)
		attributes[n++] = otlp_dictionary_attribute_row(d, OTLP_KIND, kind);
	for (uint32_t bit = 0; bit < EP_LEN(flag_keys); bit++) {
		if (b->location_flags[row] >> bit & 1)
			attributes[n++] = otlp_dictionary_attribute_true(d, flag_keys[bit]);
	}
	if (d->view->location_unnamed && d->view->location_unnamed[row])
		attributes[n++] = otlp_dictionary_attribute_int(d, OTLP_UNNAMED_REASON,
								d->view->location_unnamed[row]);
	return n;
}

static uint32_t location_attributes(struct otlp_dictionary *d, uint32_t row,
				    uint32_t attributes[MAX_LOCATION_ATTRIBUTES])
{
	attributes[0] = frame_type(d, row);
	return d->options->is_file ? add_location_facts(d, row, attributes, 1) : 1;
}

static uint32_t add_long_location(struct otlp_dictionary *d, uint32_t row, uint32_t mapping,
				  const uint32_t *attributes, uint32_t n_attributes)
{
	list_lines(d, row);
	otlp_put_uint(&d->body, LOCATION_MAPPING_INDEX, mapping);
	otlp_put_uint(&d->body, LOCATION_ADDRESS, location_address(d, row));
	otlp_put_raw(&d->body, d->list.data, d->list.len);
	d->part.len = 0;
	for (uint32_t i = 0; i < n_attributes; i++)
		otlp_put_varint(&d->part, attributes[i]);
	otlp_put_message(&d->body, LOCATION_ATTRIBUTE_INDICES, &d->part);
	return otlp_table_add_body(d, PROFILES_DICTIONARY_LOCATION_TABLE);
}

static uint8_t *write_line(struct otlp_dictionary *d, uint8_t *to, uint32_t line)
{
	uint8_t *message = to + 2;

	to[0] = LOCATION_LINES << 3 | OTLP_BYTES;
	to = otlp_uint_write(message, LINE_FUNCTION_INDEX, d->function_of[d->batch->line_function[line]]);
	to = otlp_uint_write(to, LINE_LINE, d->batch->line_line[line]);
	to = otlp_uint_write(to, LINE_COLUMN, d->batch->line_column[line]);
	message[-1] = (uint8_t)(to - message);
	return to;
}

/* With so many lines of 20 bytes, an address and an attribute a location is short. */
#define SHORT_LINES	 4
#define SHORT_LINES_FILE 2 /* and with MAX_LOCATION_ATTRIBUTES */

static uint32_t add_location(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t first = b->location_line_first[row];
	uint32_t end = otlp_is_nameless(b, d->options, row) ? first : b->location_line_first[row + 1];
	uint32_t mapping = get_mapping(d, b->location_mapping[row]);
	uint32_t attributes[MAX_LOCATION_ATTRIBUTES];
	uint32_t n_attributes = location_attributes(d, row, attributes);
	uint8_t *to, *list;

	if (end - first > (d->options->is_file ? SHORT_LINES_FILE : SHORT_LINES))
		return add_long_location(d, row, mapping, attributes, n_attributes);
	for (uint32_t line = first; line < end; line++)
		(void)get_function(d, b->line_function[line]);
	to = begin_short(d, PROFILES_DICTIONARY_LOCATION_TABLE);
	if (!to)
		return 0;
	to = otlp_uint_write(to, LOCATION_MAPPING_INDEX, mapping);
	to = otlp_uint_write(to, LOCATION_ADDRESS, location_address(d, row));
	for (uint32_t line = first; line < end; line++)
		to = write_line(d, to, line);
	list = to;
	to += OTLP_HEADER_SHORT;
	for (uint32_t i = 0; i < n_attributes; i++)
		to = otlp_varint_write(to, attributes[i]);
	to = otlp_message_write(list, LOCATION_ATTRIBUTE_INDICES, to);
	return end_short(d, PROFILES_DICTIONARY_LOCATION_TABLE, to);
}

/*
 * A location's index as it is written in stacks, of which it is in many: a varint from the lowest
 * byte on, and in the highest byte how long it is.
 */
static uint64_t code_of(uint32_t index)
{
	uint8_t bytes[8] = {0};
	uint64_t code;

	bytes[7] = (uint8_t)(otlp_varint_write(bytes, index) - bytes);
	memcpy(&code, bytes, sizeof(code));
	return le64toh(code);
}

/* A row that was not asked for yet. */
static uint64_t enter_location(struct otlp_dictionary *d, uint32_t row)
{
	uint32_t first = d->canon->location_of[row];

	if (!d->location_code[first])
		d->location_code[first] = code_of(first ? add_location(d, first) : 0);
	d->location_code[row] = d->location_code[first];
	return d->location_code[row];
}

/* The space is 8 bytes longer than what will be written. */
static uint8_t *write_locations(struct otlp_dictionary *d, uint8_t *to, uint32_t stack)
{
	const struct ep_batch *b = d->batch;
	const uint32_t *row = b->stack_location + b->stack_location_first[stack];
	const uint32_t *end = b->stack_location + b->stack_location_first[stack + 1];
	const uint64_t *location_code = d->location_code;

	for (; row < end; row++) {
		uint64_t code = location_code[*row], bytes;

		if (!code)
			code = enter_location(d, *row);
		bytes = htole64(code);
		memcpy(to, &bytes, sizeof(bytes));
		to += code >> 56;
	}
	return to;
}

/* The same, for a stack that is written later. */
static uint32_t add_stack_later(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	size_t len = 0;

	for (uint32_t i = b->stack_location_first[row]; i < b->stack_location_first[row + 1]; i++) {
		uint64_t code = d->location_code[b->stack_location[i]];

		len += (code ? code : enter_location(d, b->stack_location[i])) >> 56;
	}
	return otlp_table_add_later(otlp_table_of(d, PROFILES_DICTIONARY_STACK_TABLE), row, otlp_field_bytes(len));
}

/* Appends the element; it is a stack with locations. */
void otlp_dictionary_put_stack(struct otlp_dictionary *d, struct otlp_wire *wire, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t n = b->stack_location_first[row + 1] - b->stack_location_first[row];
	uint8_t *element = otlp_wire_room(wire, (size_t)n * INDEX_MAX + 2 * OTLP_HEADER_MAX), *list, *to;

	if (!element)
		return;
	list = element + OTLP_HEADER_SHORT;
	to = write_locations(d, list + OTLP_HEADER_SHORT, row); /* into other tables, too */
	to = otlp_message_write(list, STACK_LOCATION_INDICES, to);
	to = otlp_message_write(element, PROFILES_DICTIONARY_STACK_TABLE, to);
	wire->len = (size_t)(to - wire->data);
}

static uint32_t add_stack(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t n = b->stack_location_first[row + 1] - b->stack_location_first[row];
	struct otlp_table *t = otlp_table_of(d, PROFILES_DICTIONARY_STACK_TABLE);

	if (n == 0)
		return 0; /* an empty stack is element 0 */
	if (t->later)
		return add_stack_later(d, row);
	otlp_dictionary_put_stack(d, &t->bytes, row);
	return t->bytes.error ? 0 : t->n++;
}

uint32_t otlp_dictionary_stack(struct otlp_dictionary *d, uint32_t row)
{
	row = d->canon->stack_of[row];
	if (row && !d->stack_of[row])
		d->stack_of[row] = add_stack(d, row);
	return d->stack_of[row];
}
