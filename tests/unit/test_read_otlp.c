/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of OTLP that are not ours: what OpenTelemetry's profiler sends, what its collector writes, and what
 * only the definitions allow. They are made here field by field.
 */
#include "exporters/shared/proto/otlp_fields.h"
#include "exporters/shared/otlp/wire.h"
#include "tests/unit/read_profile.h"

#define MAX_BYTES ((size_t)1 << 20)
#define START	  1767225600000000000ull

/* A message in the making; 16 of them at a time. */
static struct otlp_wire wires[16];
static size_t n_wires;

static struct otlp_wire *new_wire(void)
{
	struct otlp_wire *wire = &wires[n_wires++];

	assert_in_range(n_wires, 1, EP_LEN(wires));
	otlp_wire_init(wire, MAX_BYTES);
	return wire;
}

static void free_wires(void *unused)
{
	while (n_wires > 0)
		otlp_wire_fini(&wires[--n_wires]);
}

static void begin(void)
{
	ep_test_owns(wires, free_wires);
}

/* The newest message becomes a field of another. */
static void end_into(struct otlp_wire *to, uint32_t field)
{
	struct otlp_wire *wire = &wires[--n_wires];

	otlp_put_message(to, field, wire);
	otlp_wire_fini(wire);
}

static void put_text(struct otlp_wire *to, uint32_t field, const char *text)
{
	otlp_put_bytes(to, field, text, strlen(text));
}

/* Packed numbers, to the one that is 0. */
static void put_packed(struct otlp_wire *to, uint32_t field, const uint64_t *numbers)
{
	struct otlp_wire *list = new_wire();

	for (; *numbers; numbers++)
		otlp_put_varint(list, *numbers);
	end_into(to, field);
}

#define PACKED(to, field, ...) put_packed(to, field, (const uint64_t[]){__VA_ARGS__, 0})

/* --- the dictionary --- */

enum { /* strings */
	S_SAMPLES = 1, S_COUNT, S_CPU, S_NANOSECONDS, S_OFF_CPU, S_FRAME_TYPE, S_NATIVE, S_ABORT, S_MAIN, S_FILE,
	S_LIB, S_TID, S_PID, S_NAME, S_SERVER, S_HOST, S_VM, S_STOP, S_KERNEL, S_VMLINUX, S_EXE,
};
static const char *const strings[] = {"", "samples", "count", "cpu", "nanoseconds", "off_cpu", "profile.frame.type",
				      "native", "abort-marker", "main", "main.c", "/usr/lib/libx.so", "thread.id",
				      "process.pid", "process.executable.name", "webserver", "host.name", "vm",
				      "unwinding failed", "kernel", "vmlinux", "server"};

enum { A_NATIVE = 1, A_ABORT, A_TID, A_PID, A_NAME, A_KERNEL };

/* text: a row of strings, written as a string or by its row. */
static void put_attribute(struct otlp_wire *to, uint32_t key, uint32_t text, bool by_row, uint64_t number)
{
	struct otlp_wire *value = new_wire(), *attribute = new_wire();

	if (text && by_row)
		otlp_put_uint(value, ANY_VALUE_STRING_VALUE_STRINDEX, text);
	else if (text)
		put_text(value, ANY_VALUE_STRING_VALUE, strings[text]);
	else
		otlp_put_uint(value, ANY_VALUE_INT_VALUE, number);
	otlp_put_uint(attribute, KEY_VALUE_AND_UNIT_KEY_STRINDEX, key);
	otlp_put_message(attribute, KEY_VALUE_AND_UNIT_VALUE, value);
	otlp_put_message(to, PROFILES_DICTIONARY_ATTRIBUTE_TABLE, attribute);
	otlp_wire_fini(&wires[--n_wires]);
	otlp_wire_fini(&wires[--n_wires]);
}

static void put_location(struct otlp_wire *to, uint32_t mapping, uint64_t address, uint32_t function,
			 uint32_t attribute)
{
	struct otlp_wire *location = new_wire(), *line = new_wire();

	otlp_put_uint(location, LOCATION_MAPPING_INDEX, mapping);
	otlp_put_uint(location, LOCATION_ADDRESS, address);
	otlp_put_uint(line, LINE_FUNCTION_INDEX, function);
	otlp_put_uint(line, LINE_LINE, 7);
	if (function)
		otlp_put_message(location, LOCATION_LINES, line);
	if (attribute)
		PACKED(location, LOCATION_ATTRIBUTE_INDICES, attribute);
	otlp_put_message(to, PROFILES_DICTIONARY_LOCATION_TABLE, location);
	otlp_wire_fini(&wires[--n_wires]);
	otlp_wire_fini(&wires[--n_wires]);
}

static void put_pair(struct otlp_wire *to, uint32_t table, uint32_t field_a, uint64_t a, uint32_t field_b, uint64_t b)
{
	struct otlp_wire *element = new_wire();

	otlp_put_uint(element, field_a, a);
	otlp_put_uint(element, field_b, b);
	end_into(to, table);
}

static void put_stack(struct otlp_wire *to, uint64_t a, uint64_t b)
{
	struct otlp_wire *stack = new_wire();

	PACKED(stack, STACK_LOCATION_INDICES, a, b);
	end_into(to, PROFILES_DICTIONARY_STACK_TABLE);
}

static struct otlp_wire *make_dictionary(void)
{
	struct otlp_wire *d = new_wire();

	for (uint32_t field = PROFILES_DICTIONARY_MAPPING_TABLE; field <= PROFILES_DICTIONARY_STACK_TABLE; field++)
		if (field != PROFILES_DICTIONARY_STRING_TABLE)
			otlp_put_bytes(d, field, NULL, 0);
	for (size_t i = 0; i < EP_LEN(strings); i++)
		put_text(d, PROFILES_DICTIONARY_STRING_TABLE, strings[i]);
	put_pair(d, PROFILES_DICTIONARY_MAPPING_TABLE, MAPPING_FILENAME_STRINDEX, S_LIB, MAPPING_MEMORY_LIMIT, 0x9000);
	put_pair(d, PROFILES_DICTIONARY_MAPPING_TABLE, MAPPING_FILENAME_STRINDEX, S_VMLINUX, MAPPING_MEMORY_LIMIT, 0x80000000);
	put_pair(d, PROFILES_DICTIONARY_FUNCTION_TABLE, FUNCTION_NAME_STRINDEX, S_MAIN, FUNCTION_FILENAME_STRINDEX, S_FILE);
	put_pair(d, PROFILES_DICTIONARY_FUNCTION_TABLE, FUNCTION_NAME_STRINDEX, S_STOP, FUNCTION_FILENAME_STRINDEX, 0);
	put_attribute(d, S_FRAME_TYPE, S_NATIVE, false, 0);
	put_attribute(d, S_FRAME_TYPE, S_ABORT, false, 0);
	put_attribute(d, S_TID, 0, false, 43);
	put_attribute(d, S_PID, 0, false, 42);
	put_attribute(d, S_NAME, S_SERVER, true, 0);
	put_attribute(d, S_FRAME_TYPE, S_KERNEL, true, 0);
	put_location(d, 1, 0x1234, 0, A_NATIVE); /* no line */
	put_location(d, 1, 0x2345, 1, 0);	  /* no type */
	put_location(d, 0, 0, 2, A_ABORT);
	put_location(d, 2, 0x10, 1, A_KERNEL);
	put_stack(d, 1, 2);
	put_stack(d, 4, 3);
	return d;
}

/* --- profiles --- */

static struct otlp_wire *profile_of(uint32_t type, uint32_t unit, uint64_t period)
{
	struct otlp_wire *profile = new_wire();

	put_pair(profile, PROFILE_SAMPLE_TYPE, VALUE_TYPE_TYPE_STRINDEX, type, VALUE_TYPE_UNIT_STRINDEX, unit);
	otlp_put_fixed64(profile, PROFILE_TIME_UNIX_NANO, START);
	otlp_put_uint(profile, PROFILE_DURATION_NANO, 1000);
	if (period)
		put_pair(profile, PROFILE_PERIOD_TYPE, VALUE_TYPE_TYPE_STRINDEX, S_CPU, VALUE_TYPE_UNIT_STRINDEX, S_NANOSECONDS);
	otlp_put_uint(profile, PROFILE_PERIOD, period);
	return profile;
}

/* value 0, n_times 0: none */
static void put_sample(struct otlp_wire *profile, uint32_t stack, uint64_t value, uint32_t n_times, bool is_packed)
{
	struct otlp_wire *sample = new_wire();

	otlp_put_uint(sample, SAMPLE_STACK_INDEX, stack);
	PACKED(sample, SAMPLE_ATTRIBUTE_INDICES, A_TID, A_PID);
	if (value)
		PACKED(sample, SAMPLE_VALUES, value);
	if (n_times && is_packed) {
		otlp_put_tag(sample, SAMPLE_TIMESTAMPS_UNIX_NANO, OTLP_BYTES);
		otlp_put_varint(sample, 8 * n_times);
	}
	for (uint64_t i = 0; i < n_times; i++) {
		uint64_t time_ns = htole64(START + i);

		if (is_packed)
			otlp_put_raw(sample, &time_ns, sizeof(time_ns));
		else
			otlp_put_fixed64(sample, SAMPLE_TIMESTAMPS_UNIX_NANO, START + i);
	}
	end_into(profile, PROFILE_SAMPLES);
}

/* Puts resource_profiles with profiles, of which the second may be NULL. host: as a resource attribute by row. */
static void put_resource(struct otlp_wire *to, const struct otlp_wire *a, const struct otlp_wire *b)
{
	struct otlp_wire *scope = new_wire(), *pair = new_wire(), *value = new_wire(), *resource = new_wire();
	struct otlp_wire *all = new_wire();

	put_text(value, ANY_VALUE_STRING_VALUE, "vm");
	otlp_put_message(pair, KEY_VALUE_VALUE, value);
	otlp_put_uint(pair, KEY_VALUE_KEY_STRINDEX, S_HOST);
	otlp_put_message(resource, RESOURCE_ATTRIBUTES, pair);
	otlp_put_message(scope, SCOPE_PROFILES_PROFILES, a);
	if (b)
		otlp_put_message(scope, SCOPE_PROFILES_PROFILES, b);
	otlp_put_message(all, RESOURCE_PROFILES_SCOPE_PROFILES, scope); /* before the resource, which is allowed */
	otlp_put_message(all, RESOURCE_PROFILES_RESOURCE, resource);
	otlp_put_message(to, PROFILES_DATA_RESOURCE_PROFILES, all);
	for (int i = 0; i < 5; i++)
		otlp_wire_fini(&wires[--n_wires]);
}

/* Resource_profiles of one profile, and nothing of the resource. */
static void put_scope(struct otlp_wire *to, const struct otlp_wire *profile)
{
	struct otlp_wire *scope = new_wire(), *all = new_wire();

	otlp_put_message(scope, SCOPE_PROFILES_PROFILES, profile);
	otlp_put_message(all, RESOURCE_PROFILES_SCOPE_PROFILES, scope);
	otlp_put_message(to, PROFILES_DATA_RESOURCE_PROFILES, all);
	otlp_wire_fini(&wires[--n_wires]);
	otlp_wire_fini(&wires[--n_wires]);
}

/* A file with its dictionary: resource_profiles with profiles, of which the second may be NULL. */
static struct otlp_wire *file_of(const struct otlp_wire *a, const struct otlp_wire *b)
{
	struct otlp_wire *file = new_wire();

	put_resource(file, a, b);
	otlp_put_message(file, PROFILES_DATA_DICTIONARY, make_dictionary());
	return file;
}

static struct ep_batch *read_file(const struct otlp_wire *file)
{
	assert_int_equal(file->error, 0);
	return batch_of(file->data, file->len);
}

/* --- tests --- */

/* On-CPU first, off-CPU beside it; the dictionary before or after. */
EP_TEST(the_first_profile_says_what_is_counted)
{
	for (int dictionary_first = 0; dictionary_first < 2; dictionary_first++) {
		struct otlp_wire *file, *on, *off;
		struct ep_batch *b;

		begin();
		file = new_wire();
		on = profile_of(S_SAMPLES, S_COUNT, 50000000);
		off = profile_of(S_OFF_CPU, S_NANOSECONDS, 0);
		put_sample(on, 1, 0, 3, !dictionary_first);
		put_sample(off, 1, 12345, 1, true);
		if (dictionary_first)
			otlp_put_message(file, PROFILES_DATA_DICTIONARY, make_dictionary());
		put_resource(file, on, off);
		if (!dictionary_first)
			otlp_put_message(file, PROFILES_DATA_DICTIONARY, make_dictionary());
		b = read_file(file);
		assert_string_equal(b->sample_type, "cpu");
		assert_string_equal(b->weight_unit, "nanoseconds");
		assert_string_equal(b->host_name, "vm");
		assert_int_equal(b->n_samples, 1);
		assert_int_equal(b->sample_count[0], 3);
		assert_int_equal(b->sample_weight_ns[0], 150000000);
		assert_int_equal(b->sample_time_first[1], 3);
		assert_int_equal(b->sample_time_ns[2], START + 2);
		free_wires(NULL);
	}
}

/* A collector may write several messages of its receivers; values in units of their own. */
EP_TEST(values_are_weights_in_their_unit)
{
	struct otlp_wire *file, *profile, *dictionary;
	struct ep_batch *b;

	begin();
	file = new_wire();
	dictionary = make_dictionary();
	profile = profile_of(S_CPU, S_NANOSECONDS, 0);
	put_sample(profile, 1, 1000, 0, true);
	put_sample(profile, 1, 2000, 1, true);
	for (int i = 0; i < 2; i++) {
		put_resource(file, profile, NULL);
		otlp_put_message(file, PROFILES_DATA_DICTIONARY, dictionary);
	}
	b = read_file(file);
	assert_string_equal(b->sample_type, "cpu");
	assert_int_equal(b->n_samples, 2); /* with times and without */
	assert_int_equal(b->sample_weight_ns[0] + b->sample_weight_ns[1], 6000);
	assert_int_equal(b->sample_count[0] + b->sample_count[1], 4);
}

EP_TEST(what_only_counts_weighs_its_count)
{
	struct otlp_wire *profile;
	struct ep_batch *b;

	begin();
	profile = profile_of(S_SAMPLES, S_COUNT, 0);
	put_sample(profile, 1, 5, 0, true);
	b = read_file(file_of(profile, NULL));
	assert_string_equal(b->weight_unit, "count");
	assert_int_equal(b->sample_count[0], 5);
	assert_int_equal(b->sample_weight_ns[0], 5);
}

EP_TEST(frames_are_what_they_are_called)
{
	struct otlp_wire *profile;
	struct ep_batch *b;

	begin();
	profile = profile_of(S_SAMPLES, S_COUNT, 1);
	put_sample(profile, 1, 0, 1, true);
	put_sample(profile, 2, 0, 1, true);
	b = read_file(file_of(profile, NULL));
	assert_string_equal(name_in(b, 0, 0, 0), "libx.so+0x1234");
	assert_int_equal(b->location_flags[location_in(b, 0, 0)], EP_LOCATION_UNNAMED);
	assert_string_equal(kind_in(b, 0, 1), "native"); /* it has a file */
	assert_int_equal(b->stack_error[b->sample_stack[0]], 0);
	assert_int_equal(b->mapping_flags[b->location_mapping[location_in(b, 1, 0)]], EP_MAPPING_KERNEL);
	assert_string_equal(kind_in(b, 1, 1), "error");
	assert_int_equal(b->location_flags[location_in(b, 1, 1)], EP_LOCATION_ERROR);
	assert_true(b->stack_error[b->sample_stack[1]] != 0);
	assert_int_equal(b->sample_tid[0], 43);
	assert_int_equal(b->process_pid[b->sample_process[0]], 42); /* an attribute of the sample */
}

EP_TEST(messages_have_their_own_keys)
{
	static const char *const keys[] = {"process.pid", "thread.id"};
	struct otlp_wire *file;
	struct ep_batch *b;

	begin();
	file = new_wire();
	for (size_t i = 0; i < EP_LEN(keys); i++) {
		struct otlp_wire *d = new_wire(), *profile = new_wire(), *sample = new_wire();

		for (uint32_t field = PROFILES_DICTIONARY_MAPPING_TABLE; field <= PROFILES_DICTIONARY_STACK_TABLE; field++)
			otlp_put_bytes(d, field, NULL, 0);
		put_text(d, PROFILES_DICTIONARY_STRING_TABLE, keys[i]);
		put_attribute(d, 1, 0, false, 43);
		PACKED(sample, SAMPLE_ATTRIBUTE_INDICES, 1);
		PACKED(sample, SAMPLE_VALUES, 5);
		otlp_put_message(profile, PROFILE_SAMPLES, sample);
		put_scope(file, profile);
		otlp_put_message(file, PROFILES_DATA_DICTIONARY, d);
		while (n_wires > 1) /* all but the file */
			otlp_wire_fini(&wires[--n_wires]);
	}
	b = read_file(file);
	assert_int_equal(b->n_samples, 2);
	for (uint32_t i = 0; i < 2; i++) /* each has one of the two */
		assert_int_equal(b->process_pid[b->sample_process[i]] + b->sample_tid[i], 43);
}

EP_TEST(the_recording_ends_with_the_last_end)
{
	struct otlp_wire *a, *b;

	begin();
	a = profile_of(S_SAMPLES, S_COUNT, 1);
	b = profile_of(S_SAMPLES, S_COUNT, 1);
	put_sample(a, 1, 0, 1, true);
	put_sample(b, 2, 0, 1, true);
	otlp_put_uint(b, PROFILE_DURATION_NANO, 500); /* the last of a field is what it is */
	assert_int_equal(read_file(file_of(a, b))->duration_ns, 1000);
}

/* --- refused --- */

static void assert_refused(const struct otlp_wire *file, const char *part)
{
	assert_int_equal(file->error, 0);
	check_refused(file->data, file->len, part);
}

/*
 * The original payload is in fields 9 and 10 of a Profile; it may become a table 8 of the dictionary, to which
 * fields 12 and 13 refer (opentelemetry-proto, pull request 786, open).
 */
EP_TEST(original_payloads_are_passed_over)
{
	for (int is_table = 0; is_table < 2; is_table++) {
		struct otlp_wire *file, *profile, *dictionary;
		struct ep_batch *b;

		begin();
		file = new_wire();
		profile = profile_of(S_SAMPLES, S_COUNT, 50000000);
		put_text(profile, is_table ? 14 : PROFILE_ORIGINAL_PAYLOAD_FORMAT, "jfr");
		if (is_table) {
			PACKED(profile, 12, 1);
			PACKED(profile, 13, 1, 999);
		} else {
			put_text(profile, PROFILE_ORIGINAL_PAYLOAD, "FLR");
		}
		put_sample(profile, 1, 0, 3, true);
		put_resource(file, profile, NULL);
		dictionary = make_dictionary();
		if (is_table) {
			otlp_put_bytes(dictionary, 8, NULL, 0);
			put_pair(dictionary, 8, 1, 7, 2, 1);
			put_text(dictionary, 8, "FLR");
			otlp_put_uint(dictionary, 9, 1);
		}
		otlp_put_message(file, PROFILES_DATA_DICTIONARY, dictionary);
		b = read_file(file);
		assert_int_equal(b->n_samples, 1);
		assert_int_equal(b->sample_weight_ns[0], 150000000);
		assert_int_equal(depth_in(b, 0), 2);
		free_wires(NULL);
	}
}

EP_TEST(what_refers_to_nothing_is_refused)
{
	struct otlp_wire *profile;

	begin();
	profile = profile_of(S_SAMPLES, S_COUNT, 1);
	put_sample(profile, 99, 0, 1, true);
	assert_refused(file_of(profile, NULL), "not there");
}

EP_TEST(without_a_dictionary_it_was_cut_off)
{
	struct otlp_wire *file, *profile;

	begin();
	file = new_wire();
	profile = profile_of(S_CPU, S_NANOSECONDS, 0);
	put_sample(profile, 1, 1, 0, true);
	put_resource(file, profile, NULL);
	assert_refused(file, "dictionary is missing");
}

/* 1.8: field 3 of a Profile was fixed64 as well, 7 its comments, 8 its id; 1.7: 3 was a list of locations. */
EP_TEST(older_definitions_are_refused)
{
	static const uint32_t fields[] = {PROFILE_TIME_UNIX_NANO, PROFILE_DROPPED_ATTRIBUTES_COUNT};

	for (size_t i = 0; i < EP_LEN(fields); i++) {
		struct otlp_wire *profile;

		begin();
		profile = new_wire();
		PACKED(profile, fields[i], 1, 2, 3);
		put_sample(profile, 1, 1, 0, true);
		assert_refused(file_of(profile, NULL), "1.10 or 1.11");
		free_wires(NULL);
	}
}
