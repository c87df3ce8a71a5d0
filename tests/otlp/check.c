/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/otlp/check.h"
#include "tests/otlp/check_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- printing: "pid executable thread;root;...;leaf events" --- */

static void print_span(FILE *out, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fputc(data[i] == ';' || data[i] < ' ' ? '_' : data[i], out);
}

static void print_string(const struct checker *c, uint64_t string)
{
	struct otlp_reader text = check_element(c, DICTIONARY_STRING, string);

	print_span(c->options->print, text.pos, otlp_reader_len(&text));
}

/* Names of its lines from the outermost in; without one, the file and the address. */
static void print_location(const struct checker *c, uint64_t location)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_LOCATION, location);
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
		uint64_t mapping =
			check_number_of(c, DICTIONARY_LOCATION, location, LOCATION_MAPPING);

		fputc(';', c->options->print);
		print_string(c, check_number_of(c, DICTIONARY_MAPPING, mapping, MAPPING_FILENAME));
		fprintf(c->options->print, "+0x%" PRIx64,
			check_number_of(c, DICTIONARY_LOCATION, location, LOCATION_ADDRESS));
	}
	while (n-- > 0) {
		fputc(';', c->options->print);
		print_string(c,
			     check_number_of(c, DICTIONARY_FUNCTION, functions[n], FUNCTION_NAME));
	}
}

static void print_sample(struct checker *c, const char *process, uint64_t stack, uint64_t thread,
			 uint64_t events)
{
	struct otlp_reader reader = check_element(c, DICTIONARY_STACK, stack);
	struct otlp_field field;
	struct span name = thread ? check_string_value(c, thread) : (struct span){0};

	c->list.n = 0;
	while (otlp_read_field(&reader, &field) == 1)
		check_read_numbers(c, "stack", &field, &c->list);
	fprintf(c->options->print, "%s ", process);
	print_span(c->options->print, name.data, name.len);
	for (size_t i = c->list.n; i-- > 0;)
		print_location(c, c->list.items[i]);
	fprintf(c->options->print, " %" PRIu64 "\n", events);
}

/* --- samples and profiles --- */

struct profile {
	uint64_t start, end, period;
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
		check_violation(c, "sample: timestamps of %zu bytes", otlp_reader_len(&bytes));
	for (size_t i = 0; i < *ret_n; i++) {
		uint64_t time = 0;

		for (size_t j = 8; j-- > 0;)
			time = time << 8 | bytes.pos[i * 8 + j];
		if (time < profile->start || time >= profile->end)
			check_violation(
				c, "sample: time %" PRIu64 " outside [%" PRIu64 ", %" PRIu64 ")",
				time, profile->start, profile->end);
	}
}

static void check_shape(struct checker *c, struct profile *profile, size_t values, size_t times)
{
	int shape = values && times ? PAIRS : times ? TIMESTAMPS : VALUE;

	if (!values && !times)
		check_violation(c, "sample: neither values nor timestamps");
	if (shape == PAIRS && values != times)
		check_violation(c, "sample: %zu values and %zu timestamps", values, times);
	if (shape == VALUE && values != 1)
		check_violation(c, "sample: %zu values without timestamps", values);
	if (profile->shape && profile->shape != shape)
		check_violation(c, "sample: another shape than those before");
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
	while (check_next_field(c, "sample", &reader, &field)) {
		if (field.number == SAMPLE_STACK)
			stack = field.value;
		else if (field.number == SAMPLE_LINK)
			link = field.value;
		else if (field.number == SAMPLE_ATTRIBUTES)
			check_read_numbers(c, "sample", &field, &c->list);
		else if (field.number == SAMPLE_VALUES)
			check_read_numbers(c, "sample", &field, &values);
		else if (field.number == SAMPLE_TIMESTAMPS &&
			 check_wire_type(c, "sample", &field, OTLP_BYTES))
			check_timestamps(c, profile, field.bytes, &times);
		else
			check_unknown(c, "sample", &field);
	}
	check_use(c, "sample", DICTIONARY_STACK, stack);
	check_use(c, "sample", DICTIONARY_LINK, link);
	check_attribute_list(c, "sample");
	check_shape(c, profile, values.n, times);
	check_push_number(c, profile->hashes, hash_identity(c, stack, link));
	thread = check_find_key(c, "thread.name");
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
			check_violation(c, "profile: two samples of equal identity");
}

static void check_value_type(struct checker *c, struct otlp_reader reader, bool needed)
{
	struct otlp_field field;
	uint64_t type = 0, unit = 0;

	while (check_next_field(c, "value type", &reader, &field)) {
		if (field.number == VALUE_TYPE_TYPE)
			type = field.value;
		else if (field.number == VALUE_TYPE_UNIT)
			unit = field.value;
		else
			check_unknown(c, "value type", &field);
	}
	check_use(c, "value type", DICTIONARY_STRING, type);
	check_use(c, "value type", DICTIONARY_STRING, unit);
	if (needed && (!type || !unit))
		check_violation(c, "profile: no sample type");
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

	while (check_next_field(c, "profile", &reader, &field)) {
		if (field.number == PROFILE_SAMPLE_TYPE) {
			check_value_type(c, field.bytes, true);
			has_type = true;
		} else if (field.number == PROFILE_PERIOD_TYPE) {
			check_value_type(c, field.bytes, false);
		} else if (field.number == PROFILE_PERIOD) {
			profile->period = field.value;
		} else if (field.number == PROFILE_SAMPLES) {
			check_sample(c, profile, field.bytes);
		} else if (field.number == PROFILE_TIME) {
			check_wire_type(c, "profile", &field, OTLP_FIXED64);
		} else if (field.number == PROFILE_ATTRIBUTES) {
			check_read_numbers(c, "profile", &field, &attributes);
		} else if (field.number == PROFILE_ID) {
			if (otlp_reader_len(&field.bytes) != 16)
				check_violation(c, "profile: an id that has not 16 bytes");
		} else if (field.number > PROFILE_ATTRIBUTES) {
			check_unknown(c, "profile", &field);
		}
	}
	if (!has_type)
		check_violation(c, "profile: no sample type");
	c->list.n = 0;
	for (size_t i = 0; i < attributes.n; i++)
		check_push_number(c, &c->list, attributes.items[i]);
	check_attribute_list(c, "profile");
	free(attributes.items);
}

static void check_profile(struct checker *c, struct otlp_reader reader, const char *process)
{
	struct numbers hashes = {0};
	struct profile profile = {.hashes = &hashes, .process = process};
	uint64_t events = c->result->events;

	read_times(reader, &profile);
	check_profile_fields(c, reader, &profile);
	c->result->weight_ns += (c->result->events - events) * profile.period;
	check_identities(c, &hashes);
	c->result->profiles++;
	free(hashes.items);
}

/* --- scopes and resources --- */

static void check_scope_profiles(struct checker *c, struct otlp_reader reader, const char *process)
{
	struct otlp_field field;
	uint32_t n = 0;

	while (check_next_field(c, "scope", &reader, &field)) {
		if (field.number == SCOPE_PROFILES_PROFILES) {
			check_profile(c, field.bytes, process);
			n++;
		} else if (field.number > SCOPE_PROFILES_SCHEMA_URL) {
			check_unknown(c, "scope", &field);
		}
	}
	if (n == 0)
		check_violation(c, "scope: no profiles");
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

	while (check_next_field(c, "resource", &reader, &field)) {
		if (field.number == KEY_VALUE_KEY) {
			key = field.bytes;
			check_utf8(c, "resource", &key);
		} else if (field.number == KEY_VALUE_VALUE) {
			value = field.bytes;
			(void)check_any_value(c, "resource", value);
		} else if (field.number == KEY_VALUE_KEY_STRINDEX) {
			check_use(c, "resource", DICTIONARY_STRING, field.value);
		} else {
			check_unknown(c, "resource", &field);
		}
	}
	if (otlp_reader_len(&key) == 0)
		check_violation(c, "resource: an attribute without key");
	for (size_t i = 0; i < resource->n; i++)
		if (otlp_reader_len(&resource->keys[i]) == otlp_reader_len(&key) &&
		    memcmp(resource->keys[i].pos, key.pos, otlp_reader_len(&key)) == 0)
			check_violation(c, "resource: %.*s twice", (int)otlp_reader_len(&key),
					key.pos);
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

	while (check_next_field(c, "resource", &reader, &field)) {
		if (field.number == RESOURCE_PROFILES_RESOURCE) {
			while (check_next_field(c, "resource", &field.bytes, &attribute))
				check_key_value(c, attribute.bytes, &resource);
		} else if (field.number == RESOURCE_PROFILES_SCOPE_PROFILES) {
			snprintf(process, sizeof(process), "%s %s", resource.pid, resource.name);
			check_scope_profiles(c, field.bytes, process);
			n++;
		} else if (field.number != RESOURCE_PROFILES_SCHEMA_URL) {
			check_unknown(c, "resource", &field);
		}
	}
	if (n == 0)
		check_violation(c, "resource: no scopes");
	c->result->resources++;
}

/* --- the request --- */

/* The dictionary first, wherever it is. */
static void check_request(struct checker *c, struct otlp_reader request)
{
	struct otlp_reader again = request;
	struct otlp_field field;
	uint32_t n_dictionaries = 0;

	while (check_next_field(c, "request", &request, &field)) {
		if (field.number == REQUEST_DICTIONARY &&
		    check_wire_type(c, "request", &field, OTLP_BYTES)) {
			check_dictionary(c, field.bytes);
			n_dictionaries++;
		} else if (field.number != REQUEST_RESOURCE_PROFILES) {
			check_unknown(c, "request", &field);
		}
	}
	if (n_dictionaries != 1)
		check_violation(c, "request: %u dictionaries", n_dictionaries);
	check_tables(c);
	while (otlp_read_field(&again, &field) == 1)
		if (field.number == REQUEST_RESOURCE_PROFILES && field.type == OTLP_BYTES)
			check_resource_profiles(c, field.bytes);
	if (c->result->resources == 0)
		check_violation(c, "request: no resources");
	check_orphans(c);
}

int otlp_check(const void *data, size_t len, const struct otlp_check_options *options,
	       struct otlp_check_result *ret_result)
{
	static const struct otlp_check_options none;
	struct checker c = {.options = options ? options : &none, .result = ret_result};

	*ret_result = (struct otlp_check_result){0};
	if (c.options->max_bytes && len > c.options->max_bytes)
		check_violation(&c, "request: %zu bytes, more than %zu", len, c.options->max_bytes);
	check_request(&c, otlp_reader_of(data, len));
	check_fini(&c);
	if (c.no_memory)
		return -ENOMEM;
	return ret_result->violations != 0;
}
