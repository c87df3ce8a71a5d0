/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/otlp/check_internal.h"
#include "exporters/shared/otlp/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const char *const table_names[N_TABLES] = {"",	  "mapping", "location",  "function",
						  "link", "string",  "attribute", "stack"};

void check_violation(struct checker *c, const char *fmt, ...)
{
	size_t used = strlen(c->result->text);
	va_list args;

	c->result->violations++;
	if (sizeof(c->result->text) - used < 256)
		return;
	va_start(args, fmt);
	used += (size_t)vsnprintf(c->result->text + used, 254, fmt, args);
	va_end(args);
	snprintf(c->result->text + EP_MIN(used, sizeof(c->result->text) - 2), 2, "\n");
}

static void *grow(struct checker *c, void *items, size_t *cap, size_t elem)
{
	size_t wanted = *cap ? 2 * *cap : 64;
	void *grown = reallocarray(items, wanted, elem);

	if (!grown) {
		c->no_memory = true;
		return NULL;
	}
	*cap = wanted;
	return grown;
}

void check_push_number(struct checker *c, struct numbers *numbers, uint64_t value)
{
	if (numbers->n == numbers->cap) {
		uint64_t *items = grow(c, numbers->items, &numbers->cap, sizeof(*items));

		if (!items)
			return;
		numbers->items = items;
	}
	numbers->items[numbers->n++] = value;
}

/* --- reading with complaints --- */

/* The next field; 0 at the end or after a complaint. */
bool check_next_field(struct checker *c, const char *where, struct otlp_reader *reader,
		      struct otlp_field *field)
{
	int r = otlp_read_field(reader, field);

	if (r < 0)
		check_violation(c, "%s: malformed", where);
	if (r == 1 && field->type != OTLP_BYTES)
		field->bytes = otlp_reader_of("", 0); /* for those who expect bytes */
	return r == 1;
}

bool check_wire_type(struct checker *c, const char *where, const struct otlp_field *field,
		     enum otlp_wire_type type)
{
	if (field->type == type)
		return true;
	check_violation(c, "%s: field %u has wire type %d, not %d", where, field->number,
			field->type, type);
	return false;
}

void check_unknown(struct checker *c, const char *where, const struct otlp_field *field)
{
	check_violation(c, "%s: field %u does not exist", where, field->number);
}

/* A repeated number, packed or not, onto `numbers`. */
void check_read_numbers(struct checker *c, const char *where, const struct otlp_field *field,
			struct numbers *numbers)
{
	struct otlp_reader packed = field->bytes;
	uint64_t value;
	int r;

	if (field->type == OTLP_VARINT) {
		check_push_number(c, numbers, field->value);
		return;
	}
	if (!check_wire_type(c, where, field, OTLP_BYTES))
		return;
	while ((r = otlp_read_varint(&packed, &value)) == 1)
		check_push_number(c, numbers, value);
	if (r < 0)
		check_violation(c, "%s: malformed packed field %u", where, field->number);
}

void check_utf8(struct checker *c, const char *where, const struct otlp_reader *bytes)
{
	if (!otlp_is_utf8((const char *)bytes->pos, otlp_reader_len(bytes)))
		check_violation(c, "%s: not UTF-8", where);
}

/* --- tables --- */

static void add_element(struct checker *c, uint32_t table, const struct otlp_reader *bytes)
{
	struct tbl *t = &c->tables[table];

	if (t->n == t->cap) {
		size_t cap = t->cap;
		struct span *items = grow(c, t->items, &t->cap, sizeof(*items));
		uint8_t *used;

		if (!items)
			return;
		t->items = items;
		used = grow(c, t->used, &cap, 1);
		if (!used)
			return;
		t->used = used;
	}
	t->used[t->n] = 0;
	t->items[t->n++] = (struct span){bytes->pos, otlp_reader_len(bytes)};
}

void check_dictionary(struct checker *c, struct otlp_reader dictionary)
{
	struct otlp_field field;

	while (check_next_field(c, "dictionary", &dictionary, &field)) {
		if (field.number == 0 || field.number >= N_TABLES)
			check_unknown(c, "dictionary", &field);
		else if (check_wire_type(c, "dictionary", &field, OTLP_BYTES))
			add_element(c, field.number, &field.bytes);
	}
}

/* Notes a reference. False, with a complaint, when there is no such element. */
bool check_use(struct checker *c, const char *where, uint32_t table, uint64_t index)
{
	if (index >= c->tables[table].n) {
		check_violation(c, "%s: %s %" PRIu64 " of %zu", where, table_names[table], index,
				c->tables[table].n);
		return false;
	}
	c->tables[table].used[index] = 1;
	return true;
}

struct otlp_reader check_element(const struct checker *c, uint32_t table, uint64_t index)
{
	const struct tbl *t = &c->tables[table];

	if (index >= t->n)
		return otlp_reader_of("", 0);
	return otlp_reader_of(t->items[index].data, t->items[index].len);
}

/* First number field `number` of an element; 0 when it is absent. */
uint64_t check_number_of(const struct checker *c, uint32_t table, uint64_t index, uint32_t number)
{
	struct otlp_reader reader = check_element(c, table, index);
	struct otlp_field field;

	while (otlp_read_field(&reader, &field) == 1)
		if (field.number == number && field.type != OTLP_BYTES)
			return field.value;
	return 0;
}

static int compare_spans(const void *a, const void *b, void *arg)
{
	const struct tbl *t = arg;
	const struct span *x = &t->items[*(const uint32_t *)a];
	const struct span *y = &t->items[*(const uint32_t *)b];
	int r = memcmp(x->data, y->data, EP_MIN(x->len, y->len));

	return r ? r : (x->len > y->len) - (x->len < y->len);
}

static void check_duplicates(struct checker *c, uint32_t table)
{
	struct tbl *t = &c->tables[table];
	uint32_t *order = calloc(t->n + 1, sizeof(*order));

	if (!order) {
		c->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < t->n; i++)
		order[i] = i;
	qsort_r(order, t->n, sizeof(*order), compare_spans, t);
	for (size_t i = 0; i + 1 < t->n; i++) {
		if (compare_spans(&order[i], &order[i + 1], t) == 0)
			check_violation(c, "%s_table: %u and %u are equal", table_names[table],
					order[i], order[i + 1]);
	}
	free(order);
}

static void check_zero_elements(struct checker *c)
{
	for (uint32_t table = 1; table < N_TABLES; table++) {
		struct tbl *t = &c->tables[table];

		c->result->table_len[table] = (uint32_t)t->n;
		if (t->n == 0) {
			check_violation(c, "%s_table: empty", table_names[table]);
			continue;
		}
		if (t->items[0].len)
			check_violation(c, "%s_table: element 0 is not empty", table_names[table]);
		check_duplicates(c, table);
	}
}

void check_orphans(struct checker *c)
{
	for (uint32_t table = 1; table < N_TABLES; table++) {
		const struct tbl *t = &c->tables[table];

		for (size_t i = 1; i < t->n; i++) {
			if (!t->used[i])
				check_violation(c, "%s_table: nothing refers to %zu",
						table_names[table], i);
		}
	}
}

/* --- values and attributes --- */

/* The string of an AnyValue, else an empty span. Complains about what is not one. */
struct span check_any_value(struct checker *c, const char *where, struct otlp_reader value)
{
	struct span text = {0};
	struct otlp_field field;
	uint32_t n = 0;

	while (check_next_field(c, where, &value, &field)) {
		n++;
		if (field.number == ANY_VALUE_STRING &&
		    check_wire_type(c, where, &field, OTLP_BYTES)) {
			check_utf8(c, where, &field.bytes);
			text = (struct span){field.bytes.pos, otlp_reader_len(&field.bytes)};
		} else if (field.number == ANY_VALUE_STRINDEX) {
			check_use(c, where, DICTIONARY_STRING, field.value);
		} else if (field.number > ANY_VALUE_STRINDEX) {
			check_unknown(c, where, &field);
		}
	}
	if (n != 1)
		check_violation(c, "%s: a value with %u members", where, n);
	return text;
}

static bool key_is(const struct checker *c, uint64_t attribute, const char *key)
{
	uint64_t string = check_number_of(c, DICTIONARY_ATTRIBUTE, attribute, ATTRIBUTE_KEY);
	struct otlp_reader text = check_element(c, DICTIONARY_STRING, string);

	return otlp_reader_len(&text) == strlen(key) && memcmp(text.pos, key, strlen(key)) == 0;
}

/* The plain string value of an attribute; NULL data when it has none. */
struct span check_string_value(const struct checker *c, uint64_t attribute)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_ATTRIBUTE, attribute), value;
	struct span text = {0};
	struct otlp_field field;

	while (otlp_read_field(&reader, &field) == 1) {
		if (field.number != ATTRIBUTE_VALUE || field.type != OTLP_BYTES)
			continue;
		value = field.bytes;
		while (otlp_read_field(&value, &field) == 1)
			if (field.number == ANY_VALUE_STRING && field.type == OTLP_BYTES)
				text = (struct span){field.bytes.pos,
						     otlp_reader_len(&field.bytes)};
	}
	return text;
}

static void check_attributes_table(struct checker *c)
{
	for (size_t i = 1; i < c->tables[DICTIONARY_ATTRIBUTE].n; i++) {
		struct otlp_reader reader = check_element(c, DICTIONARY_ATTRIBUTE, i);
		struct otlp_field field;
		bool has_key = false, has_value = false;

		while (check_next_field(c, "attribute", &reader, &field)) {
			if (field.number == ATTRIBUTE_KEY && field.value) {
				has_key = check_use(c, "attribute", DICTIONARY_STRING, field.value);
			} else if (field.number == ATTRIBUTE_VALUE) {
				(void)check_any_value(c, "attribute", field.bytes);
				has_value = true;
			} else if (field.number == ATTRIBUTE_UNIT) {
				check_use(c, "attribute", DICTIONARY_STRING, field.value);
			} else {
				check_unknown(c, "attribute", &field);
			}
		}
		if (!has_key || !has_value)
			check_violation(c, "attribute %zu: no key or no value", i);
	}
}

/* The attribute list in c->list: each exists, no key twice. */
void check_attribute_list(struct checker *c, const char *where)
{
	const struct numbers *list = &c->list;

	for (size_t i = 0; i < list->n; i++) {
		uint64_t key =
			check_number_of(c, DICTIONARY_ATTRIBUTE, list->items[i], ATTRIBUTE_KEY);

		if (!check_use(c, where, DICTIONARY_ATTRIBUTE, list->items[i]))
			continue;
		if (list->items[i] == 0)
			check_violation(c, "%s: attribute 0", where);
		for (size_t j = 0; j < i; j++)
			if (check_number_of(c, DICTIONARY_ATTRIBUTE, list->items[j],
					    ATTRIBUTE_KEY) == key)
				check_violation(c, "%s: key %" PRIu64 " twice", where, key);
	}
}

int64_t check_find_key(const struct checker *c, const char *key)
{
	for (size_t i = 0; i < c->list.n; i++)
		if (key_is(c, c->list.items[i], key))
			return (int64_t)c->list.items[i];
	return -1;
}

/* --- elements of the other tables --- */

static void check_strings(struct checker *c)
{
	for (size_t i = 0; i < c->tables[DICTIONARY_STRING].n; i++) {
		struct otlp_reader text = check_element(c, DICTIONARY_STRING, i);

		check_utf8(c, "string_table", &text);
	}
}

static bool is_hex_id(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr("0123456789abcdefABCDEF", text.data[i]))
			return false;
	return text.len > 0 && text.len <= 32;
}

static void check_mapping(struct checker *c, size_t index)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_MAPPING, index);
	struct otlp_field field;
	uint64_t start = 0, limit = 0;
	int64_t htlhash;

	c->list.n = 0;
	while (check_next_field(c, "mapping", &reader, &field)) {
		if (field.number == MAPPING_START)
			start = field.value;
		else if (field.number == MAPPING_LIMIT)
			limit = field.value;
		else if (field.number == MAPPING_FILENAME)
			check_use(c, "mapping", DICTIONARY_STRING, field.value);
		else if (field.number == MAPPING_ATTRIBUTES)
			check_read_numbers(c, "mapping", &field, &c->list);
		else if (field.number != MAPPING_OFFSET)
			check_unknown(c, "mapping", &field);
	}
	if ((start || limit) && start >= limit)
		check_violation(c, "mapping %zu: starts behind its limit", index);
	check_attribute_list(c, "mapping");
	htlhash = check_find_key(c, "process.executable.build_id.htlhash");
	if (htlhash >= 0 && !is_hex_id(check_string_value(c, (uint64_t)htlhash)))
		check_violation(c, "mapping %zu: htlhash is not hex", index);
	if (c->options->devfiler && c->list.n && htlhash < 0)
		check_violation(c, "mapping %zu: attributes without htlhash", index);
}

static void check_frame_type(struct checker *c, size_t index)
{
	static const char known[] = " native kernel jvm perl cpython php phpjit ruby dotnet v8js "
				    "beam go abort-marker ";
	int64_t attribute = check_find_key(c, "profile.frame.type");
	struct span text =
		attribute < 0 ? (struct span){0} : check_string_value(c, (uint64_t)attribute);
	char padded[64];

	if (text.len == 0) {
		check_violation(c, "location %zu: no profile.frame.type", index);
		return;
	}
	snprintf(padded, sizeof(padded), " %.*s ", (int)EP_MIN(text.len, (size_t)60), text.data);
	if (c->options->devfiler && !strstr(known, padded))
		check_violation(c, "location %zu: devfiler does not know type%s", index, padded);
}

static void check_line(struct checker *c, struct otlp_reader reader)
{
	struct otlp_field field;
	bool has_function = false;

	while (check_next_field(c, "line", &reader, &field)) {
		if (field.number == LINE_FUNCTION)
			has_function = check_use(c, "line", DICTIONARY_FUNCTION, field.value);
		else if (field.number != LINE_LINE && field.number != LINE_COLUMN)
			check_unknown(c, "line", &field);
		else if (field.value > INT64_MAX)
			check_violation(c, "line: negative number");
	}
	if (!has_function)
		check_violation(c, "line: no function");
}

static void check_location(struct checker *c, size_t index)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_LOCATION, index);
	struct otlp_field field;

	c->list.n = 0;
	while (check_next_field(c, "location", &reader, &field)) {
		if (field.number == LOCATION_MAPPING)
			check_use(c, "location", DICTIONARY_MAPPING, field.value);
		else if (field.number == LOCATION_LINES)
			check_line(c, field.bytes);
		else if (field.number == LOCATION_ATTRIBUTES)
			check_read_numbers(c, "location", &field, &c->list);
		else if (field.number != LOCATION_ADDRESS)
			check_unknown(c, "location", &field);
	}
	check_attribute_list(c, "location");
	check_frame_type(c, index);
}

static void check_function(struct checker *c, size_t index)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_FUNCTION, index);
	struct otlp_field field;
	bool has_name = false;

	while (check_next_field(c, "function", &reader, &field)) {
		if (field.number >= FUNCTION_NAME && field.number <= FUNCTION_FILENAME)
			has_name |= check_use(c, "function", DICTIONARY_STRING, field.value) &&
				    field.value;
		else if (field.number != FUNCTION_START_LINE)
			check_unknown(c, "function", &field);
		else if (field.value > INT64_MAX)
			check_violation(c, "function %zu: negative line", index);
	}
	if (!has_name)
		check_violation(c, "function %zu: neither name nor file", index);
}

static void check_link(struct checker *c, size_t index)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_LINK, index);
	struct otlp_field field;
	size_t trace = 0, span = 0;

	while (check_next_field(c, "link", &reader, &field)) {
		if (field.number == LINK_TRACE_ID)
			trace = otlp_reader_len(&field.bytes);
		else if (field.number == LINK_SPAN_ID)
			span = otlp_reader_len(&field.bytes);
		else
			check_unknown(c, "link", &field);
	}
	if (trace != 16 || span != 8)
		check_violation(c, "link %zu: ids of %zu and %zu bytes", index, trace, span);
}

static void check_stack(struct checker *c, size_t index)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_STACK, index);
	struct otlp_field field;

	c->list.n = 0;
	while (check_next_field(c, "stack", &reader, &field)) {
		if (field.number == STACK_LOCATIONS)
			check_read_numbers(c, "stack", &field, &c->list);
		else
			check_unknown(c, "stack", &field);
	}
	for (size_t i = 0; i < c->list.n; i++) {
		if (check_use(c, "stack", DICTIONARY_LOCATION, c->list.items[i]) &&
		    !c->list.items[i])
			check_violation(c, "stack %zu: location 0", index);
	}
}

static void check_elements(struct checker *c)
{
	static void (*const checks[N_TABLES])(struct checker *, size_t) = {
		[DICTIONARY_MAPPING] = check_mapping,	[DICTIONARY_LOCATION] = check_location,
		[DICTIONARY_FUNCTION] = check_function, [DICTIONARY_LINK] = check_link,
		[DICTIONARY_STACK] = check_stack,
	};

	check_strings(c);
	check_attributes_table(c);
	for (uint32_t table = 1; table < N_TABLES; table++)
		for (size_t i = 1; checks[table] && i < c->tables[table].n; i++)
			checks[table](c, i);
}

void check_tables(struct checker *c)
{
	check_zero_elements(c);
	check_elements(c);
}

void check_fini(struct checker *c)
{
	for (uint32_t i = 0; i < N_TABLES; i++) {
		free(c->tables[i].items);
		free(c->tables[i].used);
	}
	free(c->list.items);
}
