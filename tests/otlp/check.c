/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/otlp/check.h"
#include "exporters/otlp/fields.h"
#include "exporters/otlp/text.h"
#include "exporters/otlp/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define N_TABLES 8 /* by field number, 0 is unused */

struct span {
	const uint8_t *data;
	size_t len;
};

struct numbers {
	uint64_t *items;
	size_t n, cap;
};

struct tbl {
	struct span *items;
	uint8_t *used;
	size_t n, cap;
};

struct checker {
	const struct otlp_check_options *options;
	struct otlp_check_result *result;
	struct tbl tables[N_TABLES];
	struct numbers list; /* of the attribute list or stack in hand */
	bool no_memory;
};

static const char *const table_names[N_TABLES] = {"",	  "mapping", "location",  "function",
						  "link", "string",  "attribute", "stack"};

__attribute__((format(printf, 2, 3))) static void violation(struct checker *c, const char *fmt, ...)
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

static void push_number(struct checker *c, struct numbers *numbers, uint64_t value)
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
static bool next_field(struct checker *c, const char *where, struct otlp_reader *reader,
		       struct otlp_field *field)
{
	int r = otlp_read_field(reader, field);

	if (r < 0)
		violation(c, "%s: malformed", where);
	if (r == 1 && field->type != OTLP_BYTES)
		field->bytes = otlp_reader_of("", 0); /* for those who expect bytes */
	return r == 1;
}

static bool want(struct checker *c, const char *where, const struct otlp_field *field,
		 enum otlp_wire_type type)
{
	if (field->type == type)
		return true;
	violation(c, "%s: field %u has wire type %d, not %d", where, field->number, field->type,
		  type);
	return false;
}

static void unknown(struct checker *c, const char *where, const struct otlp_field *field)
{
	violation(c, "%s: field %u does not exist", where, field->number);
}

/* A repeated number, packed or not, onto `numbers`. */
static void read_numbers(struct checker *c, const char *where, const struct otlp_field *field,
			 struct numbers *numbers)
{
	struct otlp_reader packed = field->bytes;
	uint64_t value;
	int r;

	if (field->type == OTLP_VARINT) {
		push_number(c, numbers, field->value);
		return;
	}
	if (!want(c, where, field, OTLP_BYTES))
		return;
	while ((r = otlp_read_varint(&packed, &value)) == 1)
		push_number(c, numbers, value);
	if (r < 0)
		violation(c, "%s: malformed packed field %u", where, field->number);
}

static void check_utf8(struct checker *c, const char *where, const struct otlp_reader *bytes)
{
	if (!otlp_is_utf8((const char *)bytes->pos, otlp_reader_len(bytes)))
		violation(c, "%s: not UTF-8", where);
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

static void read_tables(struct checker *c, struct otlp_reader dictionary)
{
	struct otlp_field field;

	while (next_field(c, "dictionary", &dictionary, &field)) {
		if (field.number == 0 || field.number >= N_TABLES)
			unknown(c, "dictionary", &field);
		else if (want(c, "dictionary", &field, OTLP_BYTES))
			add_element(c, field.number, &field.bytes);
	}
}

/* Notes a reference. False, with a complaint, when there is no such element. */
static bool use(struct checker *c, const char *where, uint32_t table, uint64_t index)
{
	if (index >= c->tables[table].n) {
		violation(c, "%s: %s %" PRIu64 " of %zu", where, table_names[table], index,
			  c->tables[table].n);
		return false;
	}
	c->tables[table].used[index] = 1;
	return true;
}

static struct otlp_reader element(const struct checker *c, uint32_t table, uint64_t index)
{
	const struct tbl *t = &c->tables[table];

	if (index >= t->n)
		return otlp_reader_of("", 0);
	return otlp_reader_of(t->items[index].data, t->items[index].len);
}

/* First number field `number` of an element; 0 when it is absent. */
static uint64_t number_of(const struct checker *c, uint32_t table, uint64_t index, uint32_t number)
{
	struct otlp_reader reader = element(c, table, index);
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
			violation(c, "%s_table: %u and %u are equal", table_names[table], order[i],
				  order[i + 1]);
	}
	free(order);
}

static void check_tables(struct checker *c)
{
	for (uint32_t table = 1; table < N_TABLES; table++) {
		struct tbl *t = &c->tables[table];

		c->result->table_len[table] = (uint32_t)t->n;
		if (t->n == 0) {
			violation(c, "%s_table: empty", table_names[table]);
			continue;
		}
		if (t->items[0].len)
			violation(c, "%s_table: element 0 is not empty", table_names[table]);
		check_duplicates(c, table);
	}
}

static void check_orphans(struct checker *c)
{
	for (uint32_t table = 1; table < N_TABLES; table++) {
		const struct tbl *t = &c->tables[table];

		for (size_t i = 1; i < t->n; i++) {
			if (!t->used[i])
				violation(c, "%s_table: nothing refers to %zu", table_names[table],
					  i);
		}
	}
}

/* --- values and attributes --- */

/* The string of an AnyValue, else an empty span. Complains about what is not one. */
static struct span check_any_value(struct checker *c, const char *where, struct otlp_reader value)
{
	struct span text = {0};
	struct otlp_field field;
	uint32_t n = 0;

	while (next_field(c, where, &value, &field)) {
		n++;
		if (field.number == ANY_VALUE_STRING && want(c, where, &field, OTLP_BYTES)) {
			check_utf8(c, where, &field.bytes);
			text = (struct span){field.bytes.pos, otlp_reader_len(&field.bytes)};
		} else if (field.number == ANY_VALUE_STRINDEX) {
			use(c, where, DICTIONARY_STRING, field.value);
		} else if (field.number > ANY_VALUE_STRINDEX) {
			unknown(c, where, &field);
		}
	}
	if (n != 1)
		violation(c, "%s: a value with %u members", where, n);
	return text;
}

static bool key_is(const struct checker *c, uint64_t attribute, const char *key)
{
	uint64_t string = number_of(c, DICTIONARY_ATTRIBUTE, attribute, ATTRIBUTE_KEY);
	struct otlp_reader text = element(c, DICTIONARY_STRING, string);

	return otlp_reader_len(&text) == strlen(key) &&
	       memcmp(text.pos, key, strlen(key)) == 0;
}

/* The plain string value of an attribute; NULL data when it has none. */
static struct span string_value(const struct checker *c, uint64_t attribute)
{
	struct otlp_reader reader = element(c, DICTIONARY_ATTRIBUTE, attribute), value;
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
		struct otlp_reader reader = element(c, DICTIONARY_ATTRIBUTE, i);
		struct otlp_field field;
		bool has_key = false, has_value = false;

		while (next_field(c, "attribute", &reader, &field)) {
			if (field.number == ATTRIBUTE_KEY && field.value) {
				has_key = use(c, "attribute", DICTIONARY_STRING, field.value);
			} else if (field.number == ATTRIBUTE_VALUE) {
				(void)check_any_value(c, "attribute", field.bytes);
				has_value = true;
			} else if (field.number == ATTRIBUTE_UNIT) {
				use(c, "attribute", DICTIONARY_STRING, field.value);
			} else {
				unknown(c, "attribute", &field);
			}
		}
		if (!has_key || !has_value)
			violation(c, "attribute %zu: no key or no value", i);
	}
}

/* The attribute list in c->list: each exists, no key twice. */
static void check_attribute_list(struct checker *c, const char *where)
{
	const struct numbers *list = &c->list;

	for (size_t i = 0; i < list->n; i++) {
		uint64_t key = number_of(c, DICTIONARY_ATTRIBUTE, list->items[i], ATTRIBUTE_KEY);

		if (!use(c, where, DICTIONARY_ATTRIBUTE, list->items[i]))
			continue;
		if (list->items[i] == 0)
			violation(c, "%s: attribute 0", where);
		for (size_t j = 0; j < i; j++)
			if (number_of(c, DICTIONARY_ATTRIBUTE, list->items[j], ATTRIBUTE_KEY) ==
			    key)
				violation(c, "%s: key %" PRIu64 " twice", where, key);
	}
}

static int64_t find_key(const struct checker *c, const char *key)
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
		struct otlp_reader text = element(c, DICTIONARY_STRING, i);

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
	struct otlp_reader reader = element(c, DICTIONARY_MAPPING, index);
	struct otlp_field field;
	uint64_t start = 0, limit = 0;
	int64_t htlhash;

	c->list.n = 0;
	while (next_field(c, "mapping", &reader, &field)) {
		if (field.number == MAPPING_START)
			start = field.value;
		else if (field.number == MAPPING_LIMIT)
			limit = field.value;
		else if (field.number == MAPPING_FILENAME)
			use(c, "mapping", DICTIONARY_STRING, field.value);
		else if (field.number == MAPPING_ATTRIBUTES)
			read_numbers(c, "mapping", &field, &c->list);
		else if (field.number != MAPPING_OFFSET)
			unknown(c, "mapping", &field);
	}
	if ((start || limit) && start >= limit)
		violation(c, "mapping %zu: starts behind its limit", index);
	check_attribute_list(c, "mapping");
	htlhash = find_key(c, "process.executable.build_id.htlhash");
	if (htlhash >= 0 && !is_hex_id(string_value(c, (uint64_t)htlhash)))
		violation(c, "mapping %zu: htlhash is not hex", index);
	if (c->options->devfiler && c->list.n && htlhash < 0)
		violation(c, "mapping %zu: attributes without htlhash", index);
}

static void check_frame_type(struct checker *c, size_t index)
{
	static const char known[] = " native kernel jvm perl cpython php phpjit ruby dotnet v8js "
				    "beam go abort-marker ";
	int64_t attribute = find_key(c, "profile.frame.type");
	struct span text = attribute < 0 ? (struct span){0} : string_value(c, (uint64_t)attribute);
	char padded[64];

	if (text.len == 0) {
		violation(c, "location %zu: no profile.frame.type", index);
		return;
	}
	snprintf(padded, sizeof(padded), " %.*s ", (int)EP_MIN(text.len, (size_t)60), text.data);
	if (c->options->devfiler && !strstr(known, padded))
		violation(c, "location %zu: devfiler does not know type%s", index, padded);
}

static void check_line(struct checker *c, struct otlp_reader reader)
{
	struct otlp_field field;
	bool has_function = false;

	while (next_field(c, "line", &reader, &field)) {
		if (field.number == LINE_FUNCTION)
			has_function = use(c, "line", DICTIONARY_FUNCTION, field.value);
		else if (field.number != LINE_LINE && field.number != LINE_COLUMN)
			unknown(c, "line", &field);
		else if (field.value > INT64_MAX)
			violation(c, "line: negative number");
	}
	if (!has_function)
		violation(c, "line: no function");
}

static void check_location(struct checker *c, size_t index)
{
	struct otlp_reader reader = element(c, DICTIONARY_LOCATION, index);
	struct otlp_field field;

	c->list.n = 0;
	while (next_field(c, "location", &reader, &field)) {
		if (field.number == LOCATION_MAPPING)
			use(c, "location", DICTIONARY_MAPPING, field.value);
		else if (field.number == LOCATION_LINES)
			check_line(c, field.bytes);
		else if (field.number == LOCATION_ATTRIBUTES)
			read_numbers(c, "location", &field, &c->list);
		else if (field.number != LOCATION_ADDRESS)
			unknown(c, "location", &field);
	}
	check_attribute_list(c, "location");
	check_frame_type(c, index);
}

static void check_function(struct checker *c, size_t index)
{
	struct otlp_reader reader = element(c, DICTIONARY_FUNCTION, index);
	struct otlp_field field;
	bool has_name = false;

	while (next_field(c, "function", &reader, &field)) {
		if (field.number >= FUNCTION_NAME && field.number <= FUNCTION_FILENAME)
			has_name |= use(c, "function", DICTIONARY_STRING, field.value) &&
				    field.value;
		else if (field.number != FUNCTION_START_LINE)
			unknown(c, "function", &field);
		else if (field.value > INT64_MAX)
			violation(c, "function %zu: negative line", index);
	}
	if (!has_name)
		violation(c, "function %zu: neither name nor file", index);
}

static void check_link(struct checker *c, size_t index)
{
	struct otlp_reader reader = element(c, DICTIONARY_LINK, index);
	struct otlp_field field;
	size_t trace = 0, span = 0;

	while (next_field(c, "link", &reader, &field)) {
		if (field.number == LINK_TRACE_ID)
			trace = otlp_reader_len(&field.bytes);
		else if (field.number == LINK_SPAN_ID)
			span = otlp_reader_len(&field.bytes);
		else
			unknown(c, "link", &field);
	}
	if (trace != 16 || span != 8)
		violation(c, "link %zu: ids of %zu and %zu bytes", index, trace, span);
}

static void check_stack(struct checker *c, size_t index)
{
	struct otlp_reader reader = element(c, DICTIONARY_STACK, index);
	struct otlp_field field;

	c->list.n = 0;
	while (next_field(c, "stack", &reader, &field)) {
		if (field.number == STACK_LOCATIONS)
			read_numbers(c, "stack", &field, &c->list);
		else
			unknown(c, "stack", &field);
	}
	for (size_t i = 0; i < c->list.n; i++) {
		if (use(c, "stack", DICTIONARY_LOCATION, c->list.items[i]) && !c->list.items[i])
			violation(c, "stack %zu: location 0", index);
	}
}

static void check_elements(struct checker *c)
{
	static void (*const checks[N_TABLES])(struct checker *, size_t) = {
		[DICTIONARY_MAPPING] = check_mapping, [DICTIONARY_LOCATION] = check_location,
		[DICTIONARY_FUNCTION] = check_function, [DICTIONARY_LINK] = check_link,
		[DICTIONARY_STACK] = check_stack,
	};

	check_strings(c);
	check_attributes_table(c);
	for (uint32_t table = 1; table < N_TABLES; table++)
		for (size_t i = 1; checks[table] && i < c->tables[table].n; i++)
			checks[table](c, i);
}

/* --- printing: "pid executable thread;root;...;leaf events" --- */

static void print_span(FILE *out, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fputc(data[i] == ';' || data[i] < ' ' ? '_' : data[i], out);
}

static void print_string(const struct checker *c, uint64_t string)
{
	struct otlp_reader text = element(c, DICTIONARY_STRING, string);

	print_span(c->options->print, text.pos, otlp_reader_len(&text));
}

/* Names of its lines from the outermost in; without one, the file and the address. */
static void print_location(const struct checker *c, uint64_t location)
{
	struct otlp_reader reader = element(c, DICTIONARY_LOCATION, location);
	uint64_t functions[64];
	struct otlp_field field;
	size_t n = 0;

	while (otlp_read_field(&reader, &field) == 1) {
		struct otlp_field line;

		if (field.number != LOCATION_LINES)
			continue;
		while (otlp_read_field(&field.bytes, &line) == 1)
			if (line.number == LINE_FUNCTION && n < EP_LEN(functions))
				functions[n++] = line.value;
	}
	if (n == 0) {
		uint64_t mapping = number_of(c, DICTIONARY_LOCATION, location, LOCATION_MAPPING);

		fputc(';', c->options->print);
		print_string(c, number_of(c, DICTIONARY_MAPPING, mapping, MAPPING_FILENAME));
		fprintf(c->options->print, "+0x%" PRIx64,
			number_of(c, DICTIONARY_LOCATION, location, LOCATION_ADDRESS));
	}
	while (n-- > 0) {
		fputc(';', c->options->print);
		print_string(c, number_of(c, DICTIONARY_FUNCTION, functions[n], FUNCTION_NAME));
	}
}

static void print_sample(struct checker *c, const char *process, uint64_t stack, uint64_t thread,
			 uint64_t events)
{
	struct otlp_reader reader = element(c, DICTIONARY_STACK, stack);
	struct otlp_field field;
	struct span name = thread ? string_value(c, thread) : (struct span){0};

	c->list.n = 0;
	while (otlp_read_field(&reader, &field) == 1)
		read_numbers(c, "stack", &field, &c->list);
	fprintf(c->options->print, "%s ", process);
	print_span(c->options->print, name.data, name.len);
	for (size_t i = c->list.n; i-- > 0;)
		print_location(c, c->list.items[i]);
	fprintf(c->options->print, " %" PRIu64 "\n", events);
}

/* --- samples and profiles --- */

struct profile {
	uint64_t start, end;
	int shape;		/* of its samples: 0 none yet */
	struct numbers *hashes; /* of identities */
	const char *process;
};

enum {
	TIMESTAMPS = 1,
	VALUE = 2,
	PAIRS = 3,
};

/* FNV-1a, 64 bits, over the stack, the sorted attributes and the link. */
static uint64_t hash_identity(struct checker *c, uint64_t stack, uint64_t link)
{
	uint64_t hash = 0xcbf29ce484222325ull, sum = 0, product = 1;

	for (size_t i = 0; i < c->list.n; i++) {
		sum += c->list.items[i];
		product *= 2 * c->list.items[i] + 0x9e3779b97f4a7c15ull;
	}
	for (int i = 0; i < 4; i++) {
		hash ^= i == 0 ? stack : i == 1 ? link : i == 2 ? sum : product;
		hash *= 0x100000001b3ull;
		hash ^= hash >> 29;
	}
	return hash;
}

static void check_timestamps(struct checker *c, const struct profile *profile,
			     struct otlp_reader bytes, size_t *ret_n)
{
	*ret_n = otlp_reader_len(&bytes) / 8;
	if (otlp_reader_len(&bytes) % 8)
		violation(c, "sample: timestamps of %zu bytes", otlp_reader_len(&bytes));
	for (size_t i = 0; i < *ret_n; i++) {
		uint64_t time = 0;

		for (size_t j = 8; j-- > 0;)
			time = time << 8 | bytes.pos[i * 8 + j];
		if (time < profile->start || time >= profile->end)
			violation(c, "sample: time %" PRIu64 " outside [%" PRIu64 ", %" PRIu64 ")",
				  time, profile->start, profile->end);
	}
}

static void check_shape(struct checker *c, struct profile *profile, size_t values, size_t times)
{
	int shape = values && times ? PAIRS : times ? TIMESTAMPS : VALUE;

	if (!values && !times)
		violation(c, "sample: neither values nor timestamps");
	if (shape == PAIRS && values != times)
		violation(c, "sample: %zu values and %zu timestamps", values, times);
	if (shape == VALUE && values != 1)
		violation(c, "sample: %zu values without timestamps", values);
	if (profile->shape && profile->shape != shape)
		violation(c, "sample: another shape than those before");
	profile->shape = shape;
	c->result->samples++;
	c->result->events += times ? times : 1;
}

static void check_sample(struct checker *c, struct profile *profile, struct otlp_reader reader)
{
	struct otlp_field field;
	struct numbers values = {0};
	uint64_t stack = 0, link = 0;
	int64_t thread;
	size_t times = 0;

	c->list.n = 0;
	while (next_field(c, "sample", &reader, &field)) {
		if (field.number == SAMPLE_STACK)
			stack = field.value;
		else if (field.number == SAMPLE_LINK)
			link = field.value;
		else if (field.number == SAMPLE_ATTRIBUTES)
			read_numbers(c, "sample", &field, &c->list);
		else if (field.number == SAMPLE_VALUES)
			read_numbers(c, "sample", &field, &values);
		else if (field.number == SAMPLE_TIMESTAMPS && want(c, "sample", &field, OTLP_BYTES))
			check_timestamps(c, profile, field.bytes, &times);
		else
			unknown(c, "sample", &field);
	}
	use(c, "sample", DICTIONARY_STACK, stack);
	use(c, "sample", DICTIONARY_LINK, link);
	check_attribute_list(c, "sample");
	check_shape(c, profile, values.n, times);
	push_number(c, profile->hashes, hash_identity(c, stack, link));
	thread = find_key(c, "thread.name");
	if (c->options->print)
		print_sample(c, profile->process, stack, thread > 0 ? (uint64_t)thread : 0,
			     times ? times : 1);
	free(values.items);
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void check_identities(struct checker *c, struct numbers *hashes)
{
	if (hashes->n)
		qsort(hashes->items, hashes->n, sizeof(*hashes->items), compare_numbers);
	for (size_t i = 0; i + 1 < hashes->n; i++)
		if (hashes->items[i] == hashes->items[i + 1])
			violation(c, "profile: two samples of equal identity");
}

static void check_value_type(struct checker *c, struct otlp_reader reader, bool needed)
{
	struct otlp_field field;
	uint64_t type = 0, unit = 0;

	while (next_field(c, "value type", &reader, &field)) {
		if (field.number == VALUE_TYPE_TYPE)
			type = field.value;
		else if (field.number == VALUE_TYPE_UNIT)
			unit = field.value;
		else
			unknown(c, "value type", &field);
	}
	use(c, "value type", DICTIONARY_STRING, type);
	use(c, "value type", DICTIONARY_STRING, unit);
	if (needed && (!type || !unit))
		violation(c, "profile: no sample type");
}

/* First of two passes: samples need the times, which come behind them. */
static void read_times(struct otlp_reader reader, struct profile *profile)
{
	struct otlp_field field;

	while (otlp_read_field(&reader, &field) == 1) {
		if (field.number == PROFILE_TIME)
			profile->start = field.value;
		else if (field.number == PROFILE_DURATION)
			profile->end = field.value;
	}
	profile->end += profile->start;
}

static void check_profile_fields(struct checker *c, struct otlp_reader reader,
				 struct profile *profile)
{
	struct numbers attributes = {0};
	struct otlp_field field;
	bool has_type = false;

	while (next_field(c, "profile", &reader, &field)) {
		if (field.number == PROFILE_SAMPLE_TYPE) {
			check_value_type(c, field.bytes, true);
			has_type = true;
		} else if (field.number == PROFILE_PERIOD_TYPE) {
			check_value_type(c, field.bytes, false);
		} else if (field.number == PROFILE_SAMPLES) {
			check_sample(c, profile, field.bytes);
		} else if (field.number == PROFILE_TIME) {
			want(c, "profile", &field, OTLP_FIXED64);
		} else if (field.number == PROFILE_ATTRIBUTES) {
			read_numbers(c, "profile", &field, &attributes);
		} else if (field.number == PROFILE_ID) {
			if (otlp_reader_len(&field.bytes) != 16)
				violation(c, "profile: an id that has not 16 bytes");
		} else if (field.number > PROFILE_ATTRIBUTES) {
			unknown(c, "profile", &field);
		}
	}
	if (!has_type)
		violation(c, "profile: no sample type");
	c->list.n = 0;
	for (size_t i = 0; i < attributes.n; i++)
		push_number(c, &c->list, attributes.items[i]);
	check_attribute_list(c, "profile");
	free(attributes.items);
}

static void check_profile(struct checker *c, struct otlp_reader reader, const char *process)
{
	struct numbers hashes = {0};
	struct profile profile = {.hashes = &hashes, .process = process};

	read_times(reader, &profile);
	check_profile_fields(c, reader, &profile);
	check_identities(c, &hashes);
	c->result->profiles++;
	free(hashes.items);
}

/* --- scopes and resources --- */

static void check_scope_profiles(struct checker *c, struct otlp_reader reader, const char *process)
{
	struct otlp_field field;
	uint32_t n = 0;

	while (next_field(c, "scope", &reader, &field)) {
		if (field.number == SCOPE_PROFILES_PROFILES) {
			check_profile(c, field.bytes, process);
			n++;
		} else if (field.number > SCOPE_PROFILES_SCHEMA_URL) {
			unknown(c, "scope", &field);
		}
	}
	if (n == 0)
		violation(c, "scope: no profiles");
}

struct resource {
	struct otlp_reader keys[256];
	size_t n;
	char pid[24], name[64];
};

static void note_value(struct resource *resource, struct otlp_reader key, struct otlp_reader value)
{
	struct otlp_field field = {0};
	size_t key_len = otlp_reader_len(&key);

	if (otlp_read_field(&value, &field) != 1)
		return;
	if (key_len == 11 && memcmp(key.pos, "process.pid", 11) == 0)
		snprintf(resource->pid, sizeof(resource->pid), "%" PRIu64, field.value);
	if (key_len == 23 && memcmp(key.pos, "process.executable.name", 23) == 0)
		snprintf(resource->name, sizeof(resource->name), "%.*s",
			 (int)EP_MIN(otlp_reader_len(&field.bytes), (size_t)60), field.bytes.pos);
}

static void check_key_value(struct checker *c, struct otlp_reader reader, struct resource *resource)
{
	struct otlp_reader key = otlp_reader_of("", 0), value = key;
	struct otlp_field field;

	while (next_field(c, "resource", &reader, &field)) {
		if (field.number == KEY_VALUE_KEY) {
			key = field.bytes;
			check_utf8(c, "resource", &key);
		} else if (field.number == KEY_VALUE_VALUE) {
			value = field.bytes;
			(void)check_any_value(c, "resource", value);
		} else if (field.number == KEY_VALUE_KEY_STRINDEX) {
			use(c, "resource", DICTIONARY_STRING, field.value);
		} else {
			unknown(c, "resource", &field);
		}
	}
	if (otlp_reader_len(&key) == 0)
		violation(c, "resource: an attribute without key");
	for (size_t i = 0; i < resource->n; i++)
		if (otlp_reader_len(&resource->keys[i]) == otlp_reader_len(&key) &&
		    memcmp(resource->keys[i].pos, key.pos, otlp_reader_len(&key)) == 0)
			violation(c, "resource: %.*s twice", (int)otlp_reader_len(&key), key.pos);
	if (resource->n < EP_LEN(resource->keys))
		resource->keys[resource->n++] = key;
	note_value(resource, key, value);
}

static void check_resource_profiles(struct checker *c, struct otlp_reader reader)
{
	struct resource resource = {.pid = "?", .name = "?"};
	struct otlp_field field, attribute;
	char process[96];
	uint32_t n = 0;

	while (next_field(c, "resource", &reader, &field)) {
		if (field.number == RESOURCE_PROFILES_RESOURCE) {
			while (next_field(c, "resource", &field.bytes, &attribute))
				check_key_value(c, attribute.bytes, &resource);
		} else if (field.number == RESOURCE_PROFILES_SCOPE_PROFILES) {
			snprintf(process, sizeof(process), "%s %s", resource.pid, resource.name);
			check_scope_profiles(c, field.bytes, process);
			n++;
		} else if (field.number != RESOURCE_PROFILES_SCHEMA_URL) {
			unknown(c, "resource", &field);
		}
	}
	if (n == 0)
		violation(c, "resource: no scopes");
	c->result->resources++;
}

/* --- the request --- */

/* The dictionary first, wherever it is. */
static void check_request(struct checker *c, struct otlp_reader request)
{
	struct otlp_reader again = request;
	struct otlp_field field;
	uint32_t n_dictionaries = 0;

	while (next_field(c, "request", &request, &field)) {
		if (field.number == REQUEST_DICTIONARY && want(c, "request", &field, OTLP_BYTES)) {
			read_tables(c, field.bytes);
			n_dictionaries++;
		} else if (field.number != REQUEST_RESOURCE_PROFILES) {
			unknown(c, "request", &field);
		}
	}
	if (n_dictionaries != 1)
		violation(c, "request: %u dictionaries", n_dictionaries);
	check_tables(c);
	check_elements(c);
	while (otlp_read_field(&again, &field) == 1)
		if (field.number == REQUEST_RESOURCE_PROFILES && field.type == OTLP_BYTES)
			check_resource_profiles(c, field.bytes);
	if (c->result->resources == 0)
		violation(c, "request: no resources");
	check_orphans(c);
}

int otlp_check(const void *data, size_t len, const struct otlp_check_options *options,
	       struct otlp_check_result *ret_result)
{
	static const struct otlp_check_options none;
	struct checker c = {.options = options ? options : &none, .result = ret_result};

	*ret_result = (struct otlp_check_result){0};
	if (c.options->max_bytes && len > c.options->max_bytes)
		violation(&c, "request: %zu bytes, more than %zu", len, c.options->max_bytes);
	check_request(&c, otlp_reader_of(data, len));
	for (uint32_t i = 0; i < N_TABLES; i++) {
		free(c.tables[i].items);
		free(c.tables[i].used);
	}
	free(c.list.items);
	if (c.no_memory)
		return -ENOMEM;
	return ret_result->violations != 0;
}
