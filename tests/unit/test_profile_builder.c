/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"
#include "core/profile/unit.h"
#include "tests/kit/heap.h"
#include "tests/kit/same_batch.h"
#include "tests/unit/profile_batch.h"

EP_TEST_RELEASES(ep_profile_builder_free)

static struct ep_profile_builder *new_builder(void)
{
	struct ep_profile_builder *builder = begin_profile();

	ep_test_owns(builder, ep_profile_builder_free_made);
	return builder;
}

static struct ep_batch *finish(struct ep_profile_builder *builder)
{
	struct ep_batch *batch;

	assert_int_equal(ep_profile_finish(builder, &batch), 0);
	ep_test_owns(batch, release_batch);
	check_batch(batch);
	return batch;
}

static const struct ep_profile_header header = {
	.start_ns = 1000,
	.duration_ns = 500,
	.period_ns = 10,
	.period_hz = 100,
	.lost_samples = 3,
	.due_samples = 100,
	.agent_cpu_ns = 5,
	.bpf_ns = 2,
	.n_cpus = 4,
	.host_name = "one",
	.title = "make -j2",
	.sample_type = "cpu",
	.weight_unit = "nanoseconds",
};

/* Three stacks of two processes; times where asked for. 0 or the error. */
static int fill(struct ep_profile_builder *b, bool has_times)
{
	static const uint64_t times[] = {1001, 1200, 1300, 1400};
	uint32_t env[1][2] = {{string_of(b, "LANG"), string_of(b, "C")}};
	uint32_t leaf = location_named(b, "native", "work", 7);
	uint32_t other = location_named(b, "toy", "idle", 9);
	uint32_t root = location_named(b, "native", "main", 3);
	struct ep_profile_process process = {
		.pid = 5, .start_ns = 77, .image = 2, .comm = string_of(b, "prog"), .n_env = 1,
		.env = (const uint32_t (*)[2])env};
	struct ep_profile_sample sample = {.tid = 6, .thread_name = string_of(b, "worker"), .cpu = 1};
	uint32_t stacks[2];

	stacks[0] = stack_of(b, (uint32_t[]){leaf, root}, 2);
	stacks[1] = stack_of(b, (uint32_t[]){other, root}, 2);
	(void)ep_profile_add_process(b, &process, &sample.process);
	for (uint32_t i = 0; i < 4; i++) {
		sample.stack = stacks[i & 1];
		sample.count = 1;
		sample.weight = 10;
		sample.n_times = has_times;
		sample.times_ns = &times[i];
		(void)ep_profile_add_sample(b, &sample);
	}
	return ep_profile_add_header(b, &header);
}

EP_TEST(equal_rows_are_one)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_batch *batch;
	uint32_t sample;

	assert_int_equal(fill(b, false), 0);
	assert_int_equal(fill(b, false), 0);
	batch = finish(b);
	assert_int_equal(batch->n_samples, 2);
	assert_int_equal(batch->n_stacks, 3);
	assert_int_equal(batch->n_functions, 4);
	assert_int_equal(batch->n_processes, 2);
	assert_int_equal(batch->n_process_env, 1);
	sample = sample_with_leaf(batch, "work");
	assert_int_equal(batch->sample_count[sample], 4);
	assert_int_equal(batch->sample_weight_ns[sample], 40);
	assert_string_equal(name_in(batch, sample, 1, 0), "main");
	assert_int_equal(batch->line_line[line_in(batch, sample, 0, 0)], 7);
	assert_string_equal(text_in(batch, batch->process_comm[batch->sample_process[sample]]), "prog");
	assert_string_equal(text_in(batch, batch->process_env_value[batch->process_env_first[1]]), "C");
}

EP_TEST(times_stay_with_their_samples)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_batch *batch;
	uint32_t sample, first;

	assert_int_equal(fill(b, true), 0);
	batch = finish(b);
	sample = sample_with_leaf(batch, "idle");
	first = batch->sample_time_first[sample];
	assert_int_equal(batch->sample_time_first[sample + 1] - first, 2);
	assert_int_equal(batch->sample_time_ns[first], 1200);
	assert_int_equal(batch->sample_time_ns[first + 1], 1400);
}

/* Some come from a file that has lost its times. */
EP_TEST(samples_with_and_without_times_are_apart)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_batch *batch;

	assert_int_equal(fill(b, true), 0);
	assert_int_equal(fill(b, false), 0);
	batch = finish(b);
	assert_int_equal(batch->n_samples, 4);
	assert_int_equal(weight_in(batch), 80);
}

EP_TEST(headers_are_joined)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_profile_header second = header;
	struct ep_batch *batch;

	second.start_ns = 900;
	second.duration_ns = 700;
	second.host_name = "two";
	second.title = "node x.js";
	second.period_ns = 20;
	assert_int_equal(fill(b, false), 0);
	assert_int_equal(ep_profile_add_header(b, &second), 0);
	batch = finish(b);
	assert_int_equal(batch->start_ns, 900);
	assert_int_equal(batch->duration_ns, 700);
	assert_int_equal(batch->lost_samples, 6);
	assert_int_equal(batch->due_samples, 200);
	assert_int_equal(batch->agent_cpu_ns, 10);
	assert_int_equal(batch->bpf_ns, 4);
	assert_int_equal(batch->n_cpus, 4);
	assert_string_equal(batch->host_name, "one, two");
	assert_string_equal(batch->title, "make -j2, node x.js");
	assert_int_equal(batch->period_ns, 10); /* 40 for 4 samples */
	assert_int_equal(batch->period_hz, 100); /* as both */
	assert_string_equal(batch->weight_unit, "nanoseconds");
}

EP_TEST(other_units_are_refused)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_profile_header second = header;
	struct ep_batch *batch;

	second.weight_unit = "bytes";
	assert_int_equal(ep_profile_add_header(b, &header), 0);
	assert_int_equal(ep_profile_add_header(b, &second), -EINVAL);
	assert_int_equal(ep_profile_finish(b, &batch), -EINVAL);
}

EP_TEST(long_text_is_cut_between_letters)
{
	struct ep_profile_builder *b = new_builder();
	static char text[1 << 20];
	struct ep_batch *batch;
	uint32_t row;

	text[0] = 'x';
	for (size_t i = 1; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	assert_int_equal(ep_profile_add_string(b, text, sizeof(text) - 1, &row), 0);
	batch = finish(b);
	assert_true(batch->string_bytes[row] >= 16380 && batch->string_bytes[row] <= 16384);
	assert_true(ep_utf8_is_clean(batch->string_text[row], batch->string_bytes[row]));
	assert_null(strchr(batch->string_text[row], '?'));
}

EP_TEST(what_has_no_name_gets_one)
{
	static const struct {
		const char *kind, *path, *name;
		uint64_t address;
		uint32_t unnamed;
	} cases[] = {
		{"native", "/usr/lib/libx.so", "libx.so+0x1234", 0x1234, EP_UNNAMED_NO_SYMBOL},
		{"native", "", "0x99", 0x99, EP_UNNAMED_NO_FILE},
		{"kernel", "", "[kernel]+0xffffffff80000000", 0xffffffff80000000, EP_UNNAMED_NO_SYMBOL},
		{"toy", "", "[toy: unknown function]", 0, EP_UNNAMED_NO_SYMBOL},
	};
	struct ep_profile_builder *b = new_builder();
	struct ep_batch *batch;
	uint32_t rows[EP_LEN(cases)];

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_profile_mapping mapping = {.path = string_of(b, cases[i].path)};
		struct ep_profile_location location = {.kind = string_of(b, cases[i].kind),
						       .address = cases[i].address};

		assert_int_equal(ep_profile_add_mapping(b, &mapping, &location.mapping), 0);
		assert_int_equal(ep_profile_add_location(b, &location, &rows[i]), 0);
	}
	batch = finish(b);
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		uint32_t line = batch->location_line_first[rows[i]];

		assert_string_equal(text_in(batch, batch->function_name[batch->line_function[line]]),
				    cases[i].name);
		assert_int_equal(batch->location_flags[rows[i]], EP_LOCATION_UNNAMED);
		assert_int_equal(batch->location_unnamed[rows[i]], cases[i].unnamed);
	}
}

EP_TEST(a_stack_says_which_name_is_missing)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_profile_location location = {.address = 0x99};
	uint32_t rows[2] = {location_named(b, "native", "f", 1)}, stack;
	struct ep_batch *batch;

	assert_int_equal(ep_profile_add_location(b, &location, &rows[1]), 0);
	stack = stack_of(b, rows, 2);
	batch = finish(b);
	assert_int_equal(batch->stack_unnamed[stack], EP_UNNAMED_NO_FILE);
	assert_string_equal(text_in(batch, batch->stack_unnamed_text[stack]), "code of no known file");
}

/* Each as the first that is added, so that it is what sticks. */
EP_TEST(rows_that_are_not_there_are_refused)
{
	const uint32_t list[] = {99};
	const uint32_t pairs[1][2] = {{99, 0}};
	const struct ep_profile_line line = {.function = 99}, none = {.function = 0};
	const struct ep_profile_function function = {.file = 99};
	const struct ep_profile_mapping mapping = {.build_id = 99};
	const struct ep_profile_location locations[] = {
		{.mapping = 99}, {.kind = 99}, {.n_lines = 1, .lines = &line},
		{.n_lines = 1, .lines = &none}};
	const struct ep_profile_stack stacks[] = {{.error_text = 99},
						  {.n_locations = 1, .locations = list}};
	const struct ep_profile_process processes[] = {{.comm = 99}, {.n_env = 1, .env = pairs}};
	const struct ep_profile_sample samples[] = {
		{.stack = 0, .count = 1}, {.stack = 99, .count = 1}};

	for (int i = 0; i < 12; i++) {
		struct ep_profile_builder *b = new_builder();
		uint32_t row = 7;
		struct ep_batch *batch;
		int r = 0;

		if (i == 0)
			r = ep_profile_add_function(b, &function, &row);
		else if (i == 1)
			r = ep_profile_add_mapping(b, &mapping, &row);
		else if (i < 6)
			r = ep_profile_add_location(b, &locations[i - 2], &row);
		else if (i < 8)
			r = ep_profile_add_stack(b, &stacks[i - 6], &row);
		else if (i < 10)
			r = ep_profile_add_process(b, &processes[i - 8], &row);
		else
			r = ep_profile_add_sample(b, &samples[i - 10]);
		assert_int_equal(r, -EBADMSG);
		assert_int_equal(row, i < 10 ? 0 : 7);
		assert_int_equal(ep_profile_add_string(b, "later", 5, &row), -EBADMSG);
		assert_int_equal(row, 0);
		assert_int_equal(ep_profile_finish(b, &batch), -EBADMSG);
	}
}

EP_TEST(a_count_does_not_wrap)
{
	struct ep_profile_builder *b = new_builder();
	uint32_t leaf = location_named(b, "native", "f", 1);
	struct ep_profile_sample sample = {
		.stack = stack_of(b, &leaf, 1), .count = UINT32_MAX - 1, .weight = UINT64_MAX - 1};
	struct ep_batch *batch;

	assert_int_equal(ep_profile_add_sample(b, &sample), 0);
	assert_int_equal(ep_profile_add_sample(b, &sample), 0);
	batch = finish(b);
	assert_int_equal(batch->sample_count[0], UINT32_MAX);
	assert_true(batch->sample_weight_ns[0] == UINT64_MAX);
}

static struct ep_batch *copy_of(const struct ep_batch *batch, const struct ep_profile_choice *choice)
{
	struct ep_profile_builder *b = new_builder();

	assert_int_equal(ep_profile_add_batch(b, batch, choice), 0);
	return finish(b);
}

EP_TEST(a_batch_is_copied_whole)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_batch *batch, *copy;

	assert_int_equal(fill(b, true), 0);
	batch = finish(b);
	copy = copy_of(batch, NULL);
	ep_test_same_batch(copy, batch);
	assert_int_equal(copy->n_samples, batch->n_samples);
	for (uint32_t i = 0; i < batch->n_samples; i++)
		assert_memory_equal(copy->stack_hash[copy->sample_stack[i]],
				    batch->stack_hash[batch->sample_stack[i]], 16);
}

static uint32_t only_late(void *arg, const struct ep_batch *batch, uint32_t row, uint64_t *times_ns)
{
	uint64_t from = *(uint64_t *)arg;
	uint32_t n = 0;

	for (uint32_t i = batch->sample_time_first[row]; i < batch->sample_time_first[row + 1]; i++) {
		if (batch->sample_time_ns[i] >= from)
			times_ns[n++] = batch->sample_time_ns[i];
	}
	return n;
}

EP_TEST(part_of_a_row_is_taken)
{
	struct ep_profile_builder *b = new_builder();
	uint64_t from = 1300;
	struct ep_profile_choice choice = {.arg = &from, .sample = only_late};
	struct ep_batch *batch, *part;

	assert_int_equal(fill(b, true), 0);
	batch = finish(b);
	part = copy_of(batch, &choice);
	assert_int_equal(part->n_samples, 2);
	assert_int_equal(part->sample_count[0], 1);
	assert_int_equal(part->sample_weight_ns[0], 10);
	assert_int_equal(part->sample_time_ns[0], 1300);
	from = 1400;
	part = copy_of(batch, &choice);
	assert_int_equal(part->n_samples, 1);
	assert_int_equal(part->n_functions, 3); /* "work" is nobody's any more */
}

/* Keeps what is not the root, and hides stacks whose leaf is "idle". */
static uint32_t only_leaf(void *arg, const struct ep_batch *batch, uint32_t stack, uint32_t *ret)
{
	uint32_t first = batch->stack_location_first[stack], location = batch->stack_location[first];
	uint32_t function = batch->line_function[batch->location_line_first[location]];

	(void)arg;
	if (strcmp(batch->string_text[batch->function_name[function]], "idle") == 0)
		return 0;
	ret[0] = location;
	return 1;
}

EP_TEST(frames_are_hidden)
{
	struct ep_profile_builder *b = new_builder();
	struct ep_profile_choice choice = {.stack = only_leaf};
	struct ep_batch *batch, *part;

	assert_int_equal(fill(b, true), 0);
	batch = finish(b);
	part = copy_of(batch, &choice);
	assert_int_equal(part->n_samples, 1);
	assert_int_equal(depth_in(part, 0), 1);
	assert_string_equal(name_in(part, 0, 0, 0), "work");
	assert_int_equal(part->sample_count[0], 2);
	assert_memory_not_equal(part->stack_hash[1], batch->stack_hash[1], 16);
}

EP_TEST(nothing_is_a_batch_too)
{
	struct ep_batch *batch = finish(new_builder());

	assert_int_equal(batch->n_samples, 0);
	assert_string_equal(batch->sample_type, "cpu");
	assert_string_equal(batch->host_name, "");
	assert_int_equal(batch->sample_time_first[0], 0);
	ep_batch_ref(batch);
	ep_batch_unref(batch);
}

static int run(void *arg)
{
	struct ep_profile_builder *b = NULL, *second = NULL;
	struct ep_batch *batch = NULL, *copy = NULL;
	int r = ep_profile_builder_new(&b);

	if (r == 0)
		r = fill(b, true);
	if (r == 0)
		r = fill(b, false);
	if (r == 0)
		r = ep_profile_finish(b, &batch);
	if (r == 0)
		r = ep_profile_builder_new(&second);
	if (r == 0)
		r = ep_profile_add_batch(second, batch, NULL);
	if (r == 0)
		r = ep_profile_finish(second, &copy);
	ep_batch_unref(copy);
	ep_batch_unref(batch);
	ep_profile_builder_free(b);
	ep_profile_builder_free(second);
	return r;
}

EP_TEST(a_cgroup_has_a_unit)
{
	static const struct {
		const char *path, *unit;
	} cases[] = {
		{"/system.slice/nginx.service", "nginx.service"},
		{"/system.slice/nginx.service/workers/a", "nginx.service"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope", "app-x.scope"},
		{"/user.slice/user-1000.slice/session-2.scope", "session-2.scope"},
		{"/user.slice/user-1000.slice", "user-1000.slice"},
		{"/kubepods.slice/pod1.slice/cri-1a.scope/x.slice", "cri-1a.scope"},
		{"/my/cgroup", "/my/cgroup"},
		{"/.service", "/.service"},
		{"//a.socket//", "a.socket"},
		{"/", "/"},
		{"", ""},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		const char *unit;
		size_t len = ep_unit_of_cgroup(cases[i].path, &unit);

		assert_int_equal(len, strlen(cases[i].unit));
		assert_memory_equal(unit, cases[i].unit, len);
	}
}

EP_TEST(each_allocation_may_fail)
{
	uint32_t n = 0;
	const char *wrong = heap_fail_each(run, NULL, &n);

	if (wrong)
		fail_msg("%s", wrong);
	assert_true(n > 60);
}
