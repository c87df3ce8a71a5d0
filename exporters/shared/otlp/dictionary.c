/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/dictionary_internal.h"
#include "exporters/shared/otlp/file_names.h"
#include "exporters/shared/otlp/frame_type.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_SLOTS 256

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
	[OTLP_SAMPLES_UNVERIFIED] = "ebpf_profiler.samples.unverified",
	[OTLP_VMLINUX] = "vmlinux",
	[OTLP_KIND] = OTLP_NAME_KIND,
	[OTLP_POINTER_WALK] = OTLP_NAME_POINTER_WALK,
	[OTLP_ERROR] = OTLP_NAME_ERROR,
	[OTLP_MADE_UP_NAME] = OTLP_NAME_MADE_UP_NAME,
	[OTLP_GAP] = OTLP_NAME_GAP,
	[OTLP_UNNAMED_REASON] = OTLP_NAME_UNNAMED_REASON,
	[OTLP_STACK_ERROR] = OTLP_NAME_STACK_ERROR,
	[OTLP_STACK_ERROR_TEXT] = OTLP_NAME_STACK_ERROR_TEXT,
	[OTLP_UNVERIFIED] = OTLP_NAME_UNVERIFIED,
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
	[OTLP_TITLE] = OTLP_NAME_TITLE,
};

/* --- strings --- */

/*
 * `row` is what it will be written from, if that is later: a row of the batch, or after these one
 * of texts.
 */
static uint32_t add_string_element(struct otlp_dictionary *d, uint32_t row, const char *text, size_t len)
{
	struct otlp_table *t = otlp_table_of(d, PROFILES_DICTIONARY_STRING_TABLE);

	return t->later ? otlp_table_add_later(t, row, len) : otlp_table_add(d, PROFILES_DICTIONARY_STRING_TABLE, text, len);
}

uint32_t otlp_dictionary_string(struct otlp_dictionary *d, uint32_t row)
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
		text->index = text->row ? otlp_dictionary_string(d, text->row)
					: add_string_element(d, d->batch->n_strings + (uint32_t)(text - d->texts),
							     text->text, text->len);
	return text->index;
}

uint32_t otlp_dictionary_own(struct otlp_dictionary *d, enum otlp_own_string string)
{
	return add_text(d, &d->texts[string]);
}

/* NULL: there is no space for another. */
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
	const struct otlp_wire *bytes = &d->tables[PROFILES_DICTIONARY_ATTRIBUTE_TABLE - 1].bytes;
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

		if (!old[2 * i + 1])
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
		struct otlp_reader present;

		if (!d->attributes[2 * at + 1])
			continue;
		present = attribute_at(d, d->attributes[2 * at] - 1);
		if (otlp_reader_len(&present) == len && memcmp(present.pos, body->data, len) == 0)
			return d->attributes[2 * at + 1];
	}
	slot = &d->attributes[2 * at];
	slot[0] = (uint32_t)otlp_table_of(d, PROFILES_DICTIONARY_ATTRIBUTE_TABLE)->bytes.len + 1;
	slot[1] = otlp_table_add(d, PROFILES_DICTIONARY_ATTRIBUTE_TABLE, body->data, len);
	d->n_used++;
	return slot[1];
}

uint32_t otlp_dictionary_attribute_text(struct otlp_dictionary *d, enum otlp_own_string key,
					const char *text, size_t len)
{
	d->part.len = 0;
	otlp_put_bytes(&d->part, ANY_VALUE_STRING_VALUE, text, len);
	otlp_put_uint(&d->body, KEY_VALUE_AND_UNIT_KEY_STRINDEX, otlp_dictionary_own(d, key));
	otlp_put_message(&d->body, KEY_VALUE_AND_UNIT_VALUE, &d->part);
	return intern_attribute(d);
}

/* A member of a oneof is written when it is 0, too. */
static uint32_t intern_int(struct otlp_dictionary *d, enum otlp_own_string key, uint64_t value)
{
	d->part.len = 0;
	otlp_put_tag(&d->part, ANY_VALUE_INT_VALUE, OTLP_VARINT);
	otlp_put_varint(&d->part, value);
	otlp_put_uint(&d->body, KEY_VALUE_AND_UNIT_KEY_STRINDEX, otlp_dictionary_own(d, key));
	otlp_put_message(&d->body, KEY_VALUE_AND_UNIT_VALUE, &d->part);
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

uint32_t otlp_dictionary_attribute_true(struct otlp_dictionary *d, enum otlp_own_string key)
{
	struct otlp_recent *at = recent(d, key, true);

	if (at->index)
		return at->index;
	d->part.len = 0;
	otlp_put_uint(&d->part, ANY_VALUE_BOOL_VALUE, true);
	otlp_put_uint(&d->body, KEY_VALUE_AND_UNIT_KEY_STRINDEX, otlp_dictionary_own(d, key));
	otlp_put_message(&d->body, KEY_VALUE_AND_UNIT_VALUE, &d->part);
	at->index = intern_attribute(d);
	return at->index;
}

/* --- all tables --- */

static void add_zero_elements(struct otlp_dictionary *d)
{
	for (uint32_t field = 1; field <= OTLP_N_TABLES; field++) {
		otlp_table_of(d, field)->n = 0;
		otlp_table_of(d, field)->later_bytes = 0;
		otlp_table_of(d, field)->bytes.len = 0;
		(void)otlp_table_add(d, field, NULL, 0);
	}
}

/*
 * Space for what the big tables will most likely hold, so that they need not grow: all strings, and
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
	(void)otlp_wire_room(&otlp_table_of(d, PROFILES_DICTIONARY_STRING_TABLE)->bytes, EP_MIN(strings, max_bytes));
	(void)otlp_wire_room(&otlp_table_of(d, PROFILES_DICTIONARY_FUNCTION_TABLE)->bytes,
			     EP_MIN((size_t)b->n_functions * 12, max_bytes));
	(void)otlp_wire_room(&otlp_table_of(d, PROFILES_DICTIONARY_LOCATION_TABLE)->bytes,
			     EP_MIN((size_t)b->n_locations * 18, max_bytes));
	(void)otlp_wire_room(
		&otlp_table_of(d, PROFILES_DICTIONARY_STACK_TABLE)->bytes,
		EP_MIN((size_t)b->n_stack_locations * 2 + (size_t)b->n_stacks * 6, max_bytes));
}

static int init_later(struct otlp_dictionary *d)
{
	struct otlp_table *strings = otlp_table_of(d, PROFILES_DICTIONARY_STRING_TABLE), *stacks = otlp_table_of(d, PROFILES_DICTIONARY_STACK_TABLE);

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

	if (field == PROFILES_DICTIONARY_STACK_TABLE)
		otlp_dictionary_put_stack(d, wire, row);
	else if (row < b->n_strings)
		otlp_put_bytes(wire, field, b->string_text[row], b->string_bytes[row]);
	else
		otlp_put_bytes(wire, field, d->texts[row - b->n_strings].text, d->texts[row - b->n_strings].len);
}

static int write_table(struct otlp_dictionary *d, uint32_t field, struct ep_sink *sink)
{
	const struct otlp_table *t = otlp_table_of(d, field);
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

	for (uint32_t i = 0; i < OTLP_N_TABLES; i++) {
		mark.n[i] = d->tables[i].n;
		mark.bytes[i] = d->tables[i].bytes.len;
	}
	return mark;
}

/*
 * Attributes that are cut off are not found any more; their slots stay in use, those after them are
 * found.
 */
static void forget_attributes(struct otlp_dictionary *d)
{
	uint32_t n = otlp_table_of(d, PROFILES_DICTIONARY_ATTRIBUTE_TABLE)->n;

	for (uint32_t i = 0; i < d->n_slots; i++) {
		if (d->attributes[2 * i + 1] >= n)
			d->attributes[2 * i + 1] = 0;
	}
	for (uint32_t i = 0; i < OTLP_RECENT; i++) {
		if (d->recent[i].index >= n)
			d->recent[i].index = 0;
	}
}

void otlp_dictionary_cut(struct otlp_dictionary *d, const struct otlp_dictionary_mark *mark)
{
	for (uint32_t i = 0; i < OTLP_N_TABLES; i++) {
		d->tables[i].n = mark->n[i];
		d->tables[i].bytes.len = mark->bytes[i];
	}
	forget_attributes(d);
}
