/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each of our formats writes is read again with every name, whatever a program calls itself: nothing is lost,
 * and what a format has no place for is replaced as docs/exporters.md says.
 */
#include "exporters/firefox/encode.h"
#include "exporters/folded/encode.h"
#include "exporters/perf/encode.h"
#include "exporters/pprof/encode.h"
#include "exporters/shared/otlp/file.h"
#include "tests/unit/read_profile.h"
#include "tests/unit/writer_batch.h"

/* A name, and what becomes of it in text; NULL: nothing. */
static const struct {
	const char *name, *folded, *perf;
} names[] = {
	{"plain", NULL, NULL},
	{"#x", NULL, "_x"},
	{"# x", NULL, "_ x"},
	{"#", NULL, "_"},
	{"## 7", "##_7", "_#_7"},
	{" lead", NULL, "_lead"},
	{"  two", NULL, "_ two"},
	{" # both", NULL, "_# both"},
	{"f", NULL, NULL},
	{"beef", NULL, NULL},
	{"f 9", "f_9", "f_9"},
	{"12", NULL, NULL},
	{"1.5", NULL, NULL},
	{"a 1.5", "a_1.5", "a_1.5"},
	{"12/13 [000]", NULL, NULL},
	{"x 1/1 [0] 1.1:", NULL, "x_1/1 [0]_1.1:"},
	{":-1", NULL, NULL},
	{"a) R 1 1 1 (b", NULL, "a) R_1_1_1 (b"},
	{"(((", NULL, NULL},
	{"a;b;c", "a:b:c", NULL},
	{"tab\there", "tab?here", "tab?here"},
	{"[kernel]", NULL, NULL},
	{"_[k]", NULL, NULL},
	{"\xc3\xa9\xe6\x97\xa5", NULL, NULL},
	{"<b>\"\\", NULL, NULL},
	{"// comment", NULL, NULL},
	{"%s%n", NULL, NULL},
	{"MainThread", NULL, NULL},
};

/* One process of that name, which is in `work` below `main`, both of which have odd names too. */
static struct ep_batch *batch_named(const char *name, const char *function)
{
	struct made_frame work = {"native", {{function}}, .address = 0x402000, .mapping = &writer_program};
	const struct made_sample sample = {WRITER_PROCESS(7, name, "/opt/x"), 7, 1, 2, 20000001, name,
					   WRITER_TIMES(WRITER_MS(10), WRITER_MS(20)), {&work, &writer_main}};

	return make_batch(&writer_header, &sample, 1);
}

static struct ep_batch *back(writer encode, const struct ep_batch *batch)
{
	size_t bytes;
	char *text = written_by(encode, batch, &bytes);
	struct ep_batch *again = batch_of(text, bytes);

	assert_int_equal(weight_in(again), weight_in(batch));
	return again;
}

static const char *comm_of(const struct ep_batch *batch)
{
	return text_in(batch, batch->process_comm[batch->sample_process[0]]);
}

static const char *or(const char *replaced, const char *name)
{
	return replaced ? replaced : name;
}

EP_TEST_EACH(every_name_of_a_program_comes_back, size_t, i, EP_LEN(names))
{
	struct ep_batch *batch = batch_named(names[i].name, "work"), *again;
	const char *name = comm_of(batch); /* which has no control characters any more */

	again = back(pprof_encode, batch);
	assert_string_equal(comm_of(again), name);
	again = back(otlp_file_write, batch);
	assert_string_equal(comm_of(again), name);
	again = back(firefox_encode, batch);
	assert_string_equal(comm_of(again), name);
	again = back(perf_encode, batch);
	assert_string_equal(comm_of(again), or(names[i].perf, name));
	assert_int_equal(again->process_pid[again->sample_process[0]], 7);
	again = back(folded_encode, batch);
	assert_int_equal(depth_in(again, 0), 3);
	assert_string_equal(name_in(again, 0, 2, 0), or(names[i].folded, name));
	assert_string_equal(name_in(again, 0, 0, 0), "work");
}

/* The same for functions: those that end in ')' or have a file in parentheses mean something in text, and are left out. */
EP_TEST_EACH(every_name_of_a_function_comes_back, size_t, i, EP_LEN(names))
{
	struct ep_batch *batch = batch_named("program", names[i].name), *again;
	const char *name = name_in(batch, 0, 0, 0);

	again = back(pprof_encode, batch);
	assert_string_equal(name_in(again, 0, 0, 0), name);
	again = back(otlp_file_write, batch);
	assert_string_equal(name_in(again, 0, 0, 0), name);
	again = back(firefox_encode, batch);
	assert_string_equal(name_in(again, 0, 0, 0), name);
	again = back(folded_encode, batch);
	if (strcmp(name, "_[k]") != 0)
		assert_string_equal(name_in(again, 0, 0, 0), or(names[i].folded, name));
	assert_int_equal(depth_in(again, 0), 3);
	again = back(perf_encode, batch);
	assert_int_equal(depth_in(again, 0), 2);
}

/* Of a file of others no program is known: then the outermost function begins the line. */
EP_TEST(a_first_function_may_begin_as_a_comment)
{
	static const struct made_frame frame = {"unknown", {{"#private"}}};
	const struct made_sample sample = {.count = 1, .weight = 3, .stack = {&frame}};

	assert_string_equal(name_in(back(folded_encode, make_batch(&writer_header, &sample, 1)), 0, 0, 0), "#private");
}

/* --- the Firefox Profiler's --- */

static struct ep_batch *firefox_again(const struct ep_batch *batch)
{
	return back(firefox_encode, batch);
}

/* Inlined functions, addresses, sources, threads, times and what is missing. */
EP_TEST(a_firefox_profile_comes_back)
{
	struct ep_batch *batch = writer_batch(), *again = firefox_again(batch);
	uint32_t sample = sample_with_leaf(again, "schedule"), location = location_in(again, sample, 1), stack;

	assert_int_equal(again->start_ns, batch->start_ns);
	assert_int_equal(again->duration_ns, batch->duration_ns);
	assert_int_equal(again->period_ns, batch->period_ns);
	assert_int_equal(again->period_hz, batch->period_hz);
	assert_string_equal(again->host_name, "host");
	assert_string_equal(again->sample_type, "cpu");
	assert_string_equal(again->weight_unit, "nanoseconds");
	assert_int_equal(again->n_samples, batch->n_samples);

	assert_string_equal(kind_in(again, sample, 0), "kernel");
	assert_int_equal(depth_in(again, sample), 3);
	assert_string_equal(name_in(again, sample, 1, 0), "ns::inner(int)");
	assert_string_equal(name_in(again, sample, 1, 1), "ns::outer()");
	assert_int_equal(again->line_line[line_in(again, sample, 1, 0)], 3);
	assert_int_equal(again->location_address[location], writer_call.address);
	assert_int_equal(again->mapping_start_va[again->location_mapping[location]], writer_program.start_va);
	assert_string_equal(text_in(again, again->mapping_build_id[again->location_mapping[location]]),
			    writer_program.build_id);
	assert_string_equal(text_in(again, again->sample_thread_name[sample]), "worker 3");
	assert_int_equal(again->sample_tid[sample], 8);
	assert_int_equal(again->sample_time_ns[again->sample_time_first[sample]], WRITER_MS(30));
	assert_int_equal(again->process_start_ns[again->sample_process[sample]], WRITER_START_NS - 1000000000ull);

	sample = sample_with_leaf(again, "main");
	assert_int_equal(again->sample_count[sample], 2);
	assert_int_equal(again->sample_weight_ns[sample], 20000001);

	sample = sample_with_leaf(again, "handler\"<b>\\?[2J 12");
	stack = again->sample_stack[sample];
	assert_string_equal(kind_in(again, sample, 0), "script");
	assert_int_equal(again->location_address[location_in(again, sample, 1)], 0x1234);
	assert_int_equal(again->location_unnamed[location_in(again, sample, 1)], EP_UNNAMED_NO_SYMBOL);
	assert_string_equal(text_in(again, again->stack_error_text[stack]), "why");
}

/* They were made up for the file, and are not trusted. */
EP_TEST(times_that_nobody_knew_do_not_come_back)
{
	struct ep_batch *again = firefox_again(two_processes("native", 7, "server", 8, "shell"));

	assert_int_equal(again->n_samples, 2);
	assert_int_equal(again->sample_time_first[again->n_samples], 0);
}

/* An image of a process is distinguished from the one before it with the same id. */
EP_TEST(two_processes_with_one_id_come_back)
{
	struct ep_batch *again = firefox_again(two_processes("native", 7, "server", 7, "shell"));

	assert_int_not_equal(again->sample_process[0], again->sample_process[1]);
}

EP_TEST(bytes_come_back_as_bytes)
{
	struct ep_profile_header header = {.sample_type = "alloc_space", .weight_unit = "bytes"};
	const struct made_sample sample = {.count = 1, .weight = 4096, .stack = {&writer_f}};

	assert_string_equal(firefox_again(make_batch(&header, &sample, 1))->weight_unit, "bytes");
}
