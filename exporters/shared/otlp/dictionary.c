/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/dictionary.h"
#include "exporters/shared/otlp/fields.h"
#include "exporters/shared/otlp/file_names.h"
#include "exporters/shared/otlp/frame_type.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_SLOTS 256
#define INDEX_MAX   5		 /* bytes of a uint32 */
#define KERNEL_SPAN (1ull << 31) /* image and modules: less on x86-64 and arm64 */

static const char *const own_texts[OTLP_OWN_STRINGS] = {
	[OTLP_SAMPLES] = "samples",
	[OTLP_COUNT] = "count",
	[OTLP_CPU] = "cpu",
	[OTLP_NANOSECONDS] = "nanoseconds",
	[OTLP_OFF_CPU] = "off_cpu",
	[OTLP_EVENTS] = "events",
	[OTLP_FRAME_TYPE] = "profile.frame.type",
	[OTLP_BUILD_ID_GNU] = "process.executable.build_id.gnu",
	[OTLP_BUILD_ID_GO] = "process.executable.build_id.go",
	[OTLP_BUILD_ID_HTLHASH] = "process.executable.build_id.htlhash",
	[OTLP_THREAD_NAME] = "thread.name",
	[OTLP_THREAD_ID] = "thread.id",
	[OTLP_CPU_NUMBER] = "cpu.logical_number",
	/* No convention has names for these. */
	[OTLP_UNNAMED] = OTLP_NAME_UNNAMED,
	[OTLP_COMPLETE] = "ebpf_profiler.samples.complete",
	[OTLP_NAMED] = "ebpf_profiler.samples.named",
	[OTLP_VMLINUX] = "vmlinux",
	[OTLP_KIND] = OTLP_NAME_KIND,
	[OTLP_POINTER_WALK] = OTLP_NAME_POINTER_WALK,
	[OTLP_ERROR] = OTLP_NAME_ERROR,
	[OTLP_MADE_UP_NAME] = OTLP_NAME_MADE_UP_NAME,
	[OTLP_GAP] = OTLP_NAME_GAP,
	[OTLP_UNNAMED_REASON] = OTLP_NAME_UNNAMED_REASON,
	[OTLP_STACK_ERROR] = OTLP_NAME_STACK_ERROR,
	[OTLP_STACK_ERROR_TEXT] = OTLP_NAME_STACK_ERROR_TEXT,
	[OTLP_SAMPLE_COUNT] = OTLP_NAME_COUNT,
	[OTLP_KERNEL] = OTLP_NAME_KERNEL,
	[OTLP_MAPPING_START] = OTLP_NAME_MAPPING_START,
	[OTLP_MAPPING_LIMIT] = OTLP_NAME_MAPPING_LIMIT,
	[OTLP_HAS_FUNCTIONS] = "pprof.mapping.has_functions",
	[OTLP_SAMPLE_TYPE] = OTLP_NAME_SAMPLE_TYPE,
	[OTLP_WEIGHT_UNIT] = OTLP_NAME_WEIGHT_UNIT,
	[OTLP_START] = OTLP_NAME_START,
	[OTLP_DURATION] = OTLP_NAME_DURATION,
	[OTLP_PERIOD] = OTLP_NAME_PERIOD,
	[OTLP_FREQUENCY] = OTLP_NAME_FREQUENCY,
	[OTLP_LOST_SAMPLES] = OTLP_NAME_LOST_SAMPLES,
	[OTLP_DUE_SAMPLES] = OTLP_NAME_DUE_SAMPLES,
	[OTLP_COST_AGENT] = OTLP_NAME_COST_AGENT,
	[OTLP_COST_BPF] = OTLP_NAME_COST_BPF,
	[OTLP_CPUS] = OTLP_NAME_CPUS,
};

static struct otlp_table *table(struct otlp_dictionary *d, uint32_t field)
{
	return &d->tables[field - 1];
}

static uint32_t add(struct otlp_dictionary *d, uint32_t field, const void *body, size_t len)
{
	struct otlp_table *t = table(d, field);

	otlp_put_bytes(&t->bytes, field, body, len);
	return t->bytes.error ? 0 : t->n++;
}

static uint32_t add_body(struct otlp_dictionary *d, uint32_t field)
{
	uint32_t index = add(d, field, d->body.data, d->body.len);

	d->body.len = 0;
	return index;
}

/* Bytes of a field with so many, its number being below 16. */
static size_t field_bytes(size_t len)
{
	return 1 + otlp_varint_len(len) + len;
}

/* An element of `len` bytes that is written from `row` later. */
static uint32_t add_later(struct otlp_table *t, uint32_t row, size_t len)
{
	t->later[t->n] = row;
	t->later_bytes += field_bytes(len);
	return t->n++;
}

/* --- strings --- */

/* `row` is what it will be written from, if that is later: a row of the batch, or behind these one of texts. */
static uint32_t add_string_element(struct otlp_dictionary *d, uint32_t row, const char *text, size_t len)
{
	struct otlp_table *t = table(d, DICTIONARY_STRING);

	return t->later ? add_later(t, row, len) : add(d, DICTIONARY_STRING, text, len);
}

static uint32_t add_string(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;

	if (row && !d->string_of[row])
		d->string_of[row] =
			add_string_element(d, row, b->string_text[row], b->string_bytes[row]);
	return d->string_of[row];
}

static bool text_is(const struct otlp_text *text, const char *other, size_t len)
{
	return text->len == len && memcmp(text->text, other, len) == 0;
}

static struct otlp_text *new_text(struct otlp_dictionary *d, const char *text, size_t len)
{
	struct otlp_text *at = &d->texts[d->n_texts++];

	*at = (struct otlp_text){.text = text, .len = len};
	return at;
}

/* Which of our strings from `first` on the batch has too: a string must not be in a table twice. */
static void find_rows(struct otlp_dictionary *d, uint32_t first)
{
	const struct ep_batch *b = d->batch;
	uint64_t lengths = 0; /* bit n: one of them has n bytes, 63: or more */

	for (uint32_t i = first; i < d->n_texts; i++)
		lengths |= 1ull << EP_MIN(d->texts[i].len, (size_t)63);
	for (uint32_t row = 1; row < b->n_strings; row++) {
		uint32_t len = b->string_bytes[row];

		if (!(lengths >> EP_MIN(len, 63u) & 1))
			continue;
		for (uint32_t i = first; i < d->n_texts; i++)
			if (text_is(&d->texts[i], b->string_text[row], len))
				d->texts[i].row = row;
	}
}

static uint32_t add_text(struct otlp_dictionary *d, struct otlp_text *text)
{
	if (!text->index)
		text->index = text->row ? add_string(d, text->row)
					: add_string_element(d, d->batch->n_strings + (uint32_t)(text - d->texts),
							     text->text, text->len);
	return text->index;
}

uint32_t otlp_dictionary_own(struct otlp_dictionary *d, enum otlp_own_string string)
{
	return add_text(d, &d->texts[string]);
}

/* NULL: there is no room for another. */
static struct otlp_text *get_text(struct otlp_dictionary *d, const char *text, size_t len)
{
	for (uint32_t i = 0; i < d->n_texts; i++) {
		if (text_is(&d->texts[i], text, len))
			return &d->texts[i];
	}
	if (d->n_texts == OTLP_MAX_TEXTS)
		return NULL;
	(void)new_text(d, text, len);
	find_rows(d, d->n_texts - 1);
	return &d->texts[d->n_texts - 1];
}

uint32_t otlp_dictionary_text(struct otlp_dictionary *d, const char *text, size_t len)
{
	struct otlp_text *at = len ? get_text(d, text, len) : NULL;

	return at ? add_text(d, at) : 0;
}

/* --- attributes --- */

static struct otlp_reader attribute_at(const struct otlp_dictionary *d, uint32_t offset)
{
	const struct otlp_wire *bytes = &d->tables[DICTIONARY_ATTRIBUTE - 1].bytes;
	struct otlp_reader reader =
		otlp_reader_of(bytes->data + offset + 1, bytes->len - offset - 1);
	uint64_t len = 0;

	(void)otlp_read_varint(&reader, &len); /* we wrote it */
	return otlp_reader_of(reader.pos, len);
}

static uint32_t slot_of(const struct otlp_dictionary *d, const void *body, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(body, len, d->seed) & (d->n_slots - 1);
}

static int grow_slots(struct otlp_dictionary *d)
{
	uint32_t n_old = d->n_slots, *old = d->attributes;
	uint32_t *slots = calloc((size_t)(n_old ? 2 * n_old : FIRST_SLOTS), 2 * sizeof(*slots));

	if (!slots) {
		d->body.error = -ENOMEM;
		return -ENOMEM;
	}
	d->attributes = slots;
	d->n_slots = n_old ? 2 * n_old : FIRST_SLOTS;
	for (uint32_t i = 0; i < n_old; i++) {
		struct otlp_reader body;
		uint32_t at;

		if (!old[2 * i])
			continue;
		body = attribute_at(d, old[2 * i] - 1);
		at = slot_of(d, body.pos, otlp_reader_len(&body));
		while (slots[2 * at])
			at = (at + 1) & (d->n_slots - 1);
		slots[2 * at] = old[2 * i];
		slots[2 * at + 1] = old[2 * i + 1];
	}
	free(old);
	return 0;
}

/* The element in d->body, which is empty afterwards. */
static uint32_t intern_attribute(struct otlp_dictionary *d)
{
	struct otlp_wire *body = &d->body;
	size_t len = body->len;
	uint32_t at, *slot;

	body->len = 0;
	if (body->error || (d->n_used >= d->n_slots / 2 && grow_slots(d) < 0))
		return 0;
	at = slot_of(d, body->data, len);
	for (; d->attributes[2 * at]; at = (at + 1) & (d->n_slots - 1)) {
		struct otlp_reader present = attribute_at(d, d->attributes[2 * at] - 1);

		if (otlp_reader_len(&present) == len && memcmp(present.pos, body->data, len) == 0)
			return d->attributes[2 * at + 1];
	}
	slot = &d->attributes[2 * at];
	slot[0] = (uint32_t)table(d, DICTIONARY_ATTRIBUTE)->bytes.len + 1;
	slot[1] = add(d, DICTIONARY_ATTRIBUTE, body->data, len);
	d->n_used++;
	return slot[1];
}

uint32_t otlp_dictionary_attribute_text(struct otlp_dictionary *d, enum otlp_own_string key,
					const char *text, size_t len)
{
	d->part.len = 0;
	otlp_put_bytes(&d->part, ANY_VALUE_STRING, text, len);
	otlp_put_uint(&d->body, ATTRIBUTE_KEY, otlp_dictionary_own(d, key));
	otlp_put_message(&d->body, ATTRIBUTE_VALUE, &d->part);
	return intern_attribute(d);
}

/* A member of a oneof is written when it is 0, too. */
static uint32_t intern_int(struct otlp_dictionary *d, enum otlp_own_string key, uint64_t value)
{
	d->part.len = 0;
	otlp_put_tag(&d->part, ANY_VALUE_INT, OTLP_VARINT);
	otlp_put_varint(&d->part, value);
	otlp_put_uint(&d->body, ATTRIBUTE_KEY, otlp_dictionary_own(d, key));
	otlp_put_message(&d->body, ATTRIBUTE_VALUE, &d->part);
	return intern_attribute(d);
}

/* Where an attribute that was asked for lately is remembered. */
static struct otlp_recent *recent(struct otlp_dictionary *d, enum otlp_own_string key,
				  uint64_t value)
{
	struct otlp_recent *at = &d->recent[(value * 31 + key) % OTLP_RECENT];

	if (at->key != key || at->value != value)
		*at = (struct otlp_recent){.key = key, .value = value};
	return at;
}

uint32_t otlp_dictionary_attribute_int(struct otlp_dictionary *d, enum otlp_own_string key,
				       uint64_t value)
{
	struct otlp_recent *at = recent(d, key, value);

	if (!at->index)
		at->index = intern_int(d, key, value);
	return at->index;
}

uint32_t otlp_dictionary_attribute_row(struct otlp_dictionary *d, enum otlp_own_string key,
				       uint32_t row)
{
	struct otlp_recent *at = recent(d, key, row);

	if (!at->index)
		at->index = otlp_dictionary_attribute_text(d, key, d->batch->string_text[row],
							   d->batch->string_bytes[row]);
	return at->index;
}

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

static uint32_t attribute_true(struct otlp_dictionary *d, enum otlp_own_string key)
{
	struct otlp_recent *at = recent(d, key, true);

	if (at->index)
		return at->index;
	d->part.len = 0;
	otlp_put_uint(&d->part, ANY_VALUE_BOOL, true);
	otlp_put_uint(&d->body, ATTRIBUTE_KEY, otlp_dictionary_own(d, key));
	otlp_put_message(&d->body, ATTRIBUTE_VALUE, &d->part);
	at->index = intern_attribute(d);
	return at->index;
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
		otlp_put_varint(&d->list, attribute_true(d, OTLP_KERNEL));
	if (flags & EP_MAPPING_HAS_FUNCTIONS)
		otlp_put_varint(&d->list, attribute_true(d, OTLP_HAS_FUNCTIONS));
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
	struct otlp_text *at;

	if (strcmp(text, "[kernel.kallsyms]") == 0)
		return otlp_dictionary_own(d, OTLP_VMLINUX);
	if (len < 3 || text[0] != '[' || text[len - 1] != ']')
		return add_string(d, path);
	at = get_text(d, text + 1, len - 2);
	return at ? add_text(d, at) : add_string(d, path);
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
					  : add_string(d, b->mapping_path[row]);

	list_mapping_attributes(d, row);
	if (!relative && (!is_file || has_range(b, row)))
		otlp_put_uint(&d->body, MAPPING_START, b->mapping_start_va[row]);
	if (!is_file || has_range(b, row))
		otlp_put_uint(&d->body, MAPPING_LIMIT, relative ? KERNEL_SPAN : b->mapping_limit_va[row]);
	otlp_put_uint(&d->body, MAPPING_OFFSET, b->mapping_file_off[row]);
	otlp_put_uint(&d->body, MAPPING_FILENAME, name);
	if (d->list.len)
		otlp_put_message(&d->body, MAPPING_ATTRIBUTES, &d->list);
	if (d->body.len == 0)
		return 0; /* nothing is known of it: element 0 */
	return add_body(d, DICTIONARY_MAPPING);
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
	uint8_t *to = otlp_wire_room(&table(d, field)->bytes, SHORT_BYTES + 2);

	if (to)
		*to = (uint8_t)(field << 3 | OTLP_BYTES);
	return to ? to + 2 : NULL;
}

static uint32_t end_short(struct otlp_dictionary *d, uint32_t field, const uint8_t *end)
{
	struct otlp_table *t = table(d, field);
	uint8_t *element = t->bytes.data + t->bytes.len;

	element[1] = (uint8_t)(end - (element + 2));
	t->bytes.len += (size_t)(end - element);
	return t->n++;
}

static uint32_t add_function(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t name = add_string(d, b->function_name[row]);
	uint32_t system_name = add_string(d, b->function_system_name[row]);
	uint32_t file = add_string(d, b->function_file[row]);
	uint8_t *to = begin_short(d, DICTIONARY_FUNCTION);

	if (!to)
		return 0;
	to = otlp_uint_write(to, FUNCTION_NAME, name);
	to = otlp_uint_write(to, FUNCTION_SYSTEM_NAME, system_name);
	to = otlp_uint_write(to, FUNCTION_FILENAME, file);
	to = otlp_uint_write(to, FUNCTION_START_LINE, b->function_line[row]);
	return end_short(d, DICTIONARY_FUNCTION, to);
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
		otlp_put_uint(&d->part, LINE_FUNCTION, function);
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
			attributes[n++] = attribute_true(d, flag_keys[bit]);
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
	otlp_put_uint(&d->body, LOCATION_MAPPING, mapping);
	otlp_put_uint(&d->body, LOCATION_ADDRESS, location_address(d, row));
	otlp_put_raw(&d->body, d->list.data, d->list.len);
	d->part.len = 0;
	for (uint32_t i = 0; i < n_attributes; i++)
		otlp_put_varint(&d->part, attributes[i]);
	otlp_put_message(&d->body, LOCATION_ATTRIBUTES, &d->part);
	return add_body(d, DICTIONARY_LOCATION);
}

static uint8_t *write_line(struct otlp_dictionary *d, uint8_t *to, uint32_t line)
{
	uint8_t *message = to + 2;

	to[0] = LOCATION_LINES << 3 | OTLP_BYTES;
	to = otlp_uint_write(message, LINE_FUNCTION, d->function_of[d->batch->line_function[line]]);
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
	to = begin_short(d, DICTIONARY_LOCATION);
	if (!to)
		return 0;
	to = otlp_uint_write(to, LOCATION_MAPPING, mapping);
	to = otlp_uint_write(to, LOCATION_ADDRESS, location_address(d, row));
	for (uint32_t line = first; line < end; line++)
		to = write_line(d, to, line);
	list = to;
	to += OTLP_HEADER_SHORT;
	for (uint32_t i = 0; i < n_attributes; i++)
		to = otlp_varint_write(to, attributes[i]);
	to = otlp_message_write(list, LOCATION_ATTRIBUTES, to);
	return end_short(d, DICTIONARY_LOCATION, to);
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

/* The room is 8 bytes longer than what will be written. */
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
	return add_later(table(d, DICTIONARY_STACK), row, field_bytes(len));
}

/* Appends the element; it is a stack with locations. */
static void put_stack(struct otlp_dictionary *d, struct otlp_wire *wire, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t n = b->stack_location_first[row + 1] - b->stack_location_first[row];
	uint8_t *element = otlp_wire_room(wire, (size_t)n * INDEX_MAX + 2 * OTLP_HEADER_MAX), *list, *to;

	if (!element)
		return;
	list = element + OTLP_HEADER_SHORT;
	to = write_locations(d, list + OTLP_HEADER_SHORT, row); /* into other tables, too */
	to = otlp_message_write(list, STACK_LOCATIONS, to);
	to = otlp_message_write(element, DICTIONARY_STACK, to);
	wire->len = (size_t)(to - wire->data);
}

static uint32_t add_stack(struct otlp_dictionary *d, uint32_t row)
{
	const struct ep_batch *b = d->batch;
	uint32_t n = b->stack_location_first[row + 1] - b->stack_location_first[row];
	struct otlp_table *t = table(d, DICTIONARY_STACK);

	if (n == 0)
		return 0; /* an empty stack is element 0 */
	if (t->later)
		return add_stack_later(d, row);
	put_stack(d, &t->bytes, row);
	return t->bytes.error ? 0 : t->n++;
}

uint32_t otlp_dictionary_stack(struct otlp_dictionary *d, uint32_t row)
{
	row = d->canon->stack_of[row];
	if (row && !d->stack_of[row])
		d->stack_of[row] = add_stack(d, row);
	return d->stack_of[row];
}

/* --- all tables --- */

static void add_zero_elements(struct otlp_dictionary *d)
{
	for (uint32_t field = 1; field <= OTLP_N_TABLES; field++) {
		table(d, field)->n = 0;
		table(d, field)->later_bytes = 0;
		table(d, field)->bytes.len = 0;
		(void)add(d, field, NULL, 0);
	}
}

/*
 * Room for what the big tables will most likely hold, so that they need not grow: all strings, and
 * for the others usual bytes per element. Strings lie all over a heap that another CPU has written:
 * they are asked for here, all together, because waiting for them one by one takes longer.
 */
static void reserve_tables(struct otlp_dictionary *d, size_t max_bytes)
{
	const struct ep_batch *b = d->batch;
	size_t strings = 64 * OTLP_OWN_STRINGS;

	if (d->options->is_file)
		return;
	for (uint32_t row = 1; row < b->n_strings; row++) {
		__builtin_prefetch(b->string_text[row]);
		strings += b->string_bytes[row] + 3;
	}
	(void)otlp_wire_room(&table(d, DICTIONARY_STRING)->bytes, EP_MIN(strings, max_bytes));
	(void)otlp_wire_room(&table(d, DICTIONARY_FUNCTION)->bytes,
			     EP_MIN((size_t)b->n_functions * 12, max_bytes));
	(void)otlp_wire_room(&table(d, DICTIONARY_LOCATION)->bytes,
			     EP_MIN((size_t)b->n_locations * 18, max_bytes));
	(void)otlp_wire_room(
		&table(d, DICTIONARY_STACK)->bytes,
		EP_MIN((size_t)b->n_stack_locations * 2 + (size_t)b->n_stacks * 6, max_bytes));
}

static int init_later(struct otlp_dictionary *d)
{
	struct otlp_table *strings = table(d, DICTIONARY_STRING), *stacks = table(d, DICTIONARY_STACK);

	strings->later = calloc((size_t)d->batch->n_strings + OTLP_MAX_TEXTS + 1, sizeof(uint32_t));
	stacks->later = calloc((size_t)d->batch->n_stacks + 1, sizeof(uint32_t));
	return strings->later && stacks->later ? 0 : -ENOMEM;
}

int otlp_dictionary_init(struct otlp_dictionary *d, const struct ep_batch *batch,
			 const struct otlp_view *view, const struct otlp_canon *canon,
			 const struct otlp_encode_options *options)
{
	*d = (struct otlp_dictionary){
		.batch = batch,
		.view = view,
		.canon = canon,
		.options = options,
		.string_of = calloc((size_t)batch->n_strings + 1, sizeof(uint32_t)),
		.function_of = calloc((size_t)batch->n_functions + 1, sizeof(uint32_t)),
		.mapping_of = calloc((size_t)batch->n_mappings + 1, sizeof(uint32_t)),
		.location_code = calloc((size_t)batch->n_locations + 1, sizeof(uint64_t)),
		.stack_of = calloc((size_t)batch->n_stacks + 1, sizeof(uint32_t)),
	};
	(void)!getrandom(&d->seed, sizeof(d->seed), GRND_NONBLOCK);
	for (uint32_t i = 0; i < OTLP_N_TABLES; i++)
		otlp_wire_init(&d->tables[i].bytes, options->max_bytes + OTLP_ELEMENT_MAX);
	otlp_wire_init(&d->body, OTLP_ELEMENT_MAX);
	otlp_wire_init(&d->part, OTLP_ELEMENT_MAX);
	otlp_wire_init(&d->list, OTLP_ELEMENT_MAX);
	if (!d->string_of || !d->function_of || !d->mapping_of || !d->location_code || !d->stack_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < OTLP_OWN_STRINGS; i++)
		(void)new_text(d, own_texts[i], strlen(own_texts[i]));
	if (options->is_file && init_later(d) < 0)
		return -ENOMEM;
	reserve_tables(d, options->max_bytes);
	find_rows(d, 0);
	add_zero_elements(d);
	return otlp_dictionary_error(d);
}

void otlp_dictionary_fini(struct otlp_dictionary *d)
{
	for (uint32_t i = 0; i < OTLP_N_TABLES; i++) {
		otlp_wire_fini(&d->tables[i].bytes);
		free(d->tables[i].later);
	}
	otlp_wire_fini(&d->body);
	otlp_wire_fini(&d->part);
	otlp_wire_fini(&d->list);
	free(d->string_of);
	free(d->function_of);
	free(d->mapping_of);
	free(d->location_code);
	free(d->stack_of);
	free(d->attributes);
	*d = (struct otlp_dictionary){0};
}

static void clear(uint32_t *of, uint32_t n)
{
	memset(of, 0, (size_t)n * sizeof(*of));
}

void otlp_dictionary_reset(struct otlp_dictionary *d)
{
	const struct ep_batch *b = d->batch;

	clear(d->string_of, b->n_strings);
	clear(d->function_of, b->n_functions);
	clear(d->mapping_of, b->n_mappings);
	memset(d->location_code, 0, (size_t)b->n_locations * sizeof(*d->location_code));
	clear(d->stack_of, b->n_stacks);
	if (d->attributes)
		clear(d->attributes, 2 * d->n_slots);
	d->n_used = 0;
	memset(d->types, 0, sizeof(d->types));
	memset(d->recent, 0, sizeof(d->recent));
	for (uint32_t i = 0; i < d->n_texts; i++)
		d->texts[i].index = 0;
	add_zero_elements(d);
}

size_t otlp_dictionary_bytes(const struct otlp_dictionary *d)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < OTLP_N_TABLES; i++)
		bytes += d->tables[i].bytes.len + d->tables[i].later_bytes;
	return bytes;
}

/* --- the file --- */

#define PIECE_BYTES (64 * 1024)

static void put_later(struct otlp_dictionary *d, uint32_t field, uint32_t row, struct otlp_wire *wire)
{
	const struct ep_batch *b = d->batch;

	if (field == DICTIONARY_STACK)
		put_stack(d, wire, row);
	else if (row < b->n_strings)
		otlp_put_bytes(wire, field, b->string_text[row], b->string_bytes[row]);
	else
		otlp_put_bytes(wire, field, d->texts[row - b->n_strings].text, d->texts[row - b->n_strings].len);
}

static int write_table(struct otlp_dictionary *d, uint32_t field, struct ep_sink *sink)
{
	const struct otlp_table *t = table(d, field);
	int r = ep_sink_write(sink, t->bytes.data, t->bytes.len);

	if (!t->later)
		return r;
	d->body.len = 0;
	for (uint32_t i = 1; i < t->n && r == 0; i++) {
		put_later(d, field, t->later[i], &d->body);
		r = d->body.error;
		if (r == 0 && (d->body.len >= PIECE_BYTES || i + 1 == t->n)) {
			r = ep_sink_write(sink, d->body.data, d->body.len);
			d->body.len = 0;
		}
	}
	return r;
}

int otlp_dictionary_write(struct otlp_dictionary *d, struct ep_sink *sink)
{
	int r = otlp_dictionary_error(d);

	for (uint32_t field = 1; field <= OTLP_N_TABLES && r == 0; field++)
		r = write_table(d, field, sink);
	return r;
}

int otlp_dictionary_error(const struct otlp_dictionary *d)
{
	int error = d->body.error;

	for (uint32_t i = 0; i < OTLP_N_TABLES && error == 0; i++)
		error = d->tables[i].bytes.error;
	if (error == 0)
		error = d->part.error;
	return error ? error : d->list.error;
}

struct otlp_dictionary_mark otlp_dictionary_mark(const struct otlp_dictionary *d)
{
	struct otlp_dictionary_mark mark;

	for (uint32_t i = 0; i < OTLP_N_TABLES; i++)
		mark.bytes[i] = d->tables[i].bytes.len;
	return mark;
}

void otlp_dictionary_cut(struct otlp_dictionary *d, const struct otlp_dictionary_mark *mark)
{
	for (uint32_t i = 0; i < OTLP_N_TABLES; i++)
		d->tables[i].bytes.len = mark->bytes[i];
}
