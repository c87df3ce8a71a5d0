/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/pprof/encode.h"
#include "exporters/shared/proto.h"
#include "tests/unit/read_profile.h"

/* --- profiles of others, field by field --- */

struct file {
	struct pb out, message, part;
};

static void file_fini(void *made)
{
	struct file *file = made;

	pb_fini(&file->out);
	pb_fini(&file->message);
	pb_fini(&file->part);
}

static void put_strings(struct file *file, const char *const *strings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pb_bytes(&file->out, 6, strings[i], strlen(strings[i]));
}

/* A message of numbers, which are fields 1, 2, 3 ...: 0 is left out. */
static void put_numbers(struct file *file, uint32_t field, const uint64_t *numbers, size_t n)
{
	pb_clear(&file->message);
	for (size_t i = 0; i < n; i++)
		pb_uint(&file->message, (uint32_t)i + 1, numbers[i]);
	pb_message(&file->out, field, &file->message);
}

#define NUMBERS(file, field, ...)                                                                  \
	put_numbers(file, field, (const uint64_t[]){__VA_ARGS__},                                  \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* A location with lines: function, line, ...; 0 ends them. */
static void put_location(struct file *file, uint64_t id, uint64_t mapping, uint64_t address,
			 const uint64_t *lines)
{
	pb_clear(&file->message);
	pb_uint(&file->message, 1, id);
	pb_uint(&file->message, 2, mapping);
	pb_uint(&file->message, 3, address);
	for (; lines && *lines; lines += 2) {
		pb_clear(&file->part);
		pb_uint(&file->part, 1, lines[0]);
		pb_uint(&file->part, 2, lines[1]);
		pb_message(&file->message, 4, &file->part);
	}
	pb_message(&file->out, 4, &file->message);
}

/* Locations and values end with 0 and UINT64_MAX; not packed where `is_plain`. */
static void put_sample(struct file *file, const uint64_t *locations, const uint64_t *values,
		       bool is_plain)
{
	struct pb message;

	pb_init(&message, 1 << 16);
	for (; is_plain && *locations; locations++)
		pb_uint(&message, 1, *locations);
	pb_clear(&file->part);
	for (; *locations; locations++)
		pb_varint(&file->part, *locations);
	if (!is_plain)
		pb_message(&message, 1, &file->part);
	pb_clear(&file->part);
	for (; *values != UINT64_MAX; values++)
		pb_varint(&file->part, *values);
	pb_message(&message, 2, &file->part);
	pb_message(&file->out, 2, &message);
	pb_fini(&message);
}

static struct ep_batch *batch_of_file(struct file *file)
{
	assert_int_equal(file->out.error, 0);
	return batch_of(file->out.bytes.data, file->out.bytes.len);
}

enum {
	EMPTY, ALLOC_OBJECTS, COUNT, ALLOC_SPACE, BYTES, INUSE_OBJECTS, INUSE_SPACE, SAMPLES, CPU,
	NANOSECONDS, MAIN_MAIN, MAIN_GO, INNER, PROG, BUILD_ID, WALL, MICROSECONDS,
};
static const char *const strings[] = {
	"", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space",
	"samples", "cpu", "nanoseconds", "main.main", "/src/main.go", "inner", "/usr/bin/prog",
	"abcd", "wall", "microseconds",
};

/* With values of one type; the test owns it. */
static struct file *begin_file(uint64_t type, uint64_t unit)
{
	static struct file file;

	pb_init(&file.out, 1 << 20);
	pb_init(&file.message, 1 << 20);
	pb_init(&file.part, 1 << 20);
	ep_test_owns(&file, file_fini);
	NUMBERS(&file, 1, type, unit);
	return &file;
}

/* What is alike in all: a mapping, two functions, two locations, of which one has an inlined line. */
static void put_tables(struct file *file)
{
	NUMBERS(file, 3, 1, 0x400000, 0x500000, 0x1000, PROG, BUILD_ID, 1);
	put_location(file, 1, 1, 0x401000, (const uint64_t[]){2, 5, 1, 9, 0});
	put_location(file, 2, 1, 0x402000, NULL);
	NUMBERS(file, 5, 1, MAIN_MAIN, MAIN_MAIN, MAIN_GO, 3);
	NUMBERS(file, 5, 2, INNER, INNER, MAIN_GO, 4);
	put_strings(file, strings, EP_LEN(strings));
}

EP_TEST(a_heap_profile_weighs_bytes)
{
	struct file *file = begin_file(ALLOC_OBJECTS, COUNT);
	struct ep_batch *batch;

	NUMBERS(file, 1, ALLOC_SPACE, BYTES);
	NUMBERS(file, 1, INUSE_OBJECTS, COUNT);
	NUMBERS(file, 1, INUSE_SPACE, BYTES);
	put_sample(file, (const uint64_t[]){1, 2, 0}, (const uint64_t[]){8, 800, 2, 200, UINT64_MAX},
		   false);
	put_sample(file, (const uint64_t[]){2, 0}, (const uint64_t[]){1, 100, 0, 0, UINT64_MAX}, false);
	put_tables(file);
	pb_uint(&file->out, 9, 1700000000000000000);
	pb_uint(&file->out, 14, INUSE_SPACE);
	batch = batch_of_file(file);
	assert_string_equal(batch->sample_type, "inuse_space");
	assert_string_equal(batch->weight_unit, "bytes");
	assert_int_equal(batch->start_ns, 1700000000000000000);
	assert_int_equal(batch->n_samples, 1); /* the other is of nothing that is in use */
	assert_int_equal(batch->sample_count[0], 2);
	assert_int_equal(batch->sample_weight_ns[0], 200);
	assert_int_equal(depth_in(batch, 0), 2);
	assert_string_equal(name_in(batch, 0, 0, 0), "inner");
	assert_string_equal(name_in(batch, 0, 0, 1), "main.main");
	assert_int_equal(batch->line_line[line_in(batch, 0, 0, 1)], 9);
	assert_string_equal(kind_in(batch, 0, 0), "go");
	assert_string_equal(name_in(batch, 0, 1, 0), "prog+0x402000");
	assert_string_equal(kind_in(batch, 0, 1), "native");
}

EP_TEST(without_a_default_it_is_the_last)
{
	struct file *file = begin_file(ALLOC_OBJECTS, COUNT);
	struct ep_batch *batch;

	NUMBERS(file, 1, WALL, MICROSECONDS);
	put_sample(file, (const uint64_t[]){1, 0}, (const uint64_t[]){4, 70, UINT64_MAX}, true);
	put_tables(file);
	batch = batch_of_file(file);
	assert_string_equal(batch->sample_type, "wall");
	assert_string_equal(batch->weight_unit, "nanoseconds");
	assert_int_equal(batch->sample_weight_ns[0], 70000);
	assert_int_equal(batch->sample_count[0], 4); /* the only one that counts */
}

/* Between them is one that weighs nothing, which is left out. */
EP_TEST(a_sample_has_its_own_stack)
{
	static const uint64_t rows[][3] = {{1, 0, 5}, {2, 0, 0}, {2, 0, 7}};
	struct file *file = begin_file(CPU, NANOSECONDS);
	struct ep_batch *batch;

	for (size_t i = 0; i < EP_LEN(rows); i++)
		put_sample(file, rows[i], (const uint64_t[]){rows[i][2], UINT64_MAX}, false);
	put_tables(file);
	batch = batch_of_file(file);
	assert_int_equal(batch->n_samples, 2);
	assert_int_equal(batch->sample_weight_ns[sample_with_leaf(batch, "prog+0x402000")], 7);
}

/* Samples alone, and what each stands for. */
EP_TEST(a_count_with_a_period_is_time)
{
	struct file *file = begin_file(SAMPLES, COUNT);
	struct ep_batch *batch;

	put_sample(file, (const uint64_t[]){1, 0}, (const uint64_t[]){3, UINT64_MAX}, false);
	put_tables(file);
	NUMBERS(file, 11, CPU, NANOSECONDS);
	pb_uint(&file->out, 12, 10000000);
	batch = batch_of_file(file);
	assert_string_equal(batch->sample_type, "cpu");
	assert_string_equal(batch->weight_unit, "nanoseconds");
	assert_int_equal(batch->sample_weight_ns[0], 30000000);
	assert_int_equal(batch->period_hz, 100);
}

/* Ids that are not 1, 2, 3: addresses, say. */
EP_TEST(ids_may_be_any)
{
	struct file *file = begin_file(CPU, NANOSECONDS);
	struct ep_batch *batch;

	put_sample(file, (const uint64_t[]){0x7f0000000000, 9, 0}, (const uint64_t[]){5, UINT64_MAX},
		   false);
	put_location(file, 0x7f0000000000, 0, 0x10, (const uint64_t[]){77, 1, 0});
	put_location(file, 9, 12345, 0x20, NULL); /* of a mapping that is not there */
	NUMBERS(file, 5, 77, INNER);
	put_strings(file, strings, EP_LEN(strings));
	batch = batch_of_file(file);
	assert_string_equal(name_in(batch, 0, 0, 0), "inner");
	assert_string_equal(name_in(batch, 0, 1, 0), "0x20");
}

EP_TEST(damaged_profiles_are_named)
{
	static const struct {
		const char *says;
		uint64_t location, n_values, function;
	} cases[] = {
		{"a location that a sample is at is not there", 9, 1, 1},
		{"a sample has fewer values", 1, 0, 1},
		{"a sample has more values", 1, 2, 1},
		{"a function that a line is of is not there", 3, 1, 9},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		static const uint64_t values[][3] = {
			{UINT64_MAX}, {5, UINT64_MAX}, {5, 6, UINT64_MAX}};
		struct file *file = begin_file(CPU, NANOSECONDS);

		put_sample(file, (const uint64_t[]){cases[i].location, 0}, values[cases[i].n_values],
			   false);
		put_tables(file);
		put_location(file, 3, 0, 1, (const uint64_t[]){cases[i].function, 1, 0});
		check_refused(file->out.bytes.data, file->out.bytes.len, cases[i].says);
		ep_test_release(NULL);
	}
}

EP_TEST(a_difference_is_refused)
{
	struct file *file = begin_file(CPU, NANOSECONDS);

	put_sample(file, (const uint64_t[]){1, 0}, (const uint64_t[]){(uint64_t)-5, UINT64_MAX}, false);
	put_tables(file);
	check_refused(file->out.bytes.data, file->out.bytes.len, "is negative");
}

/* --- ours: there and back --- */

static int append(void *arg, const void *data, size_t bytes)
{
	return ep_vec_append(arg, data, bytes);
}

static struct ep_batch *make_ours(void)
{
	static const struct ep_profile_header header = {
		.start_ns = 1700000000000000000, .duration_ns = 2000000000, .period_ns = 10000000,
		.period_hz = 100, .lost_samples = 7, .host_name = "a host", .sample_type = "cpu",
		.weight_unit = "nanoseconds"};
	static const struct made_mapping kernel = {"[kernel.kallsyms]", NULL, 1ull << 63, UINT64_MAX, 0,
						   EP_MAPPING_KERNEL};
	static const struct made_frame read = {"kernel", {{"do_read"}}, 0xffffffff81000010, 0, &kernel};
	static const struct made_frame toy = {"toy", {{"[toy: unknown function]"}}, .flags = EP_LOCATION_UNNAMED};
	static const struct made_frame cut = {
		"error", {{"[truncated: stack memory unreadable]"}}, .flags = EP_LOCATION_ERROR};
	static const struct made_process server = {0, 42, "server", NULL, "c0ffee"}, after_exec = {0, 42, "sh"};
	static const struct made_sample samples[] = {
		{&server, 43, 0, 5, 50000000, "worker 1", NULL, {&read, &toy, &cut}},
		{&after_exec, 43, 0, 5, 50000000, "worker 1", NULL, {&read, &toy, &cut}},
	};

	return make_batch(&header, samples, EP_LEN(samples));
}

EP_TEST(what_we_write_comes_back)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_batch *made = make_ours(), *batch;
	struct ep_sink sink = {.write = append, .arg = &bytes};
	uint32_t stack, process;

	ep_vec_init(&bytes, 1, 1 << 20);
	assert_int_equal(pprof_encode(made, "1.0", &sink), 0);
	batch = batch_of(bytes.data, bytes.len);
	stack = batch->sample_stack[0];
	process = batch->sample_process[0];
	assert_int_equal(batch->n_samples, 2);
	assert_string_equal(text_in(batch, batch->process_comm[batch->sample_process[1]]), "sh");
	assert_int_equal(batch->sample_count[0], 5);
	assert_int_equal(batch->sample_weight_ns[0], 50000000);
	assert_int_equal(batch->sample_tid[0], 43);
	assert_string_equal(text_in(batch, batch->sample_thread_name[0]), "worker 1");
	assert_int_equal(batch->process_pid[process], 42);
	assert_string_equal(text_in(batch, batch->process_comm[process]), "server");
	assert_string_equal(text_in(batch, batch->process_container_id[process]), "c0ffee");
	assert_string_equal(kind_in(batch, 0, 0), "kernel");
	assert_int_equal(batch->mapping_flags[batch->location_mapping[location_in(batch, 0, 0)]] &
				 EP_MAPPING_KERNEL,
			 EP_MAPPING_KERNEL);
	assert_int_equal(batch->location_flags[location_in(batch, 0, 1)], EP_LOCATION_UNNAMED);
	assert_string_equal(kind_in(batch, 0, 2), "error");
	assert_int_equal(batch->stack_error[stack], 4);
	assert_string_equal(text_in(batch, batch->stack_unnamed_text[stack]), "toy: could not be read");
	assert_int_equal(batch->start_ns, made->start_ns);
	assert_int_equal(batch->duration_ns, made->duration_ns);
	assert_int_equal(batch->period_ns, made->period_ns);
	assert_int_equal(batch->period_hz, 100);
	assert_int_equal(batch->lost_samples, 7);
	assert_string_equal(batch->host_name, "a host");
	/* cut off anywhere it is one sentence, and never more than what was there */
	for (size_t len = 1; len < bytes.len; len++) {
		assert_int_equal(read_bytes(bytes.data, len, &batch), -EBADMSG);
		assert_true(read_why[0] && !strchr(read_why, '\n'));
	}
}
