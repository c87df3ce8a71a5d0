/* SPDX-License-Identifier: Apache-2.0 */
/* The user-space half, over a file and a process that are made up: no runtime, no privileges. */
#include "toy_shared.h"

#include "core/plugin/description.h"
#include "ebpf-profiler/plugin.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

extern const struct ep_plugin ep_plugin;

#define BIAS	     0x555500000000ull
#define RUN_VA	     0x1000
#define ABOUT_VA     0x3000
#define STUBS_VA     0x2000
#define TOP_OFF	     16
#define FUNCTION_OFF 0x100
#define NAME_OFF     0x180
#define FILE_OFF     0x1c0

/* As in toy.c: what the runtime publishes. */
struct about {
	uint32_t version, ready;
	uint32_t frame_previous, frame_function, frame_line, frame_entry;
	uint32_t function_name, function_file, function_line;
	uint32_t pad;
};

static const struct fake_symbol symbols[] = {
	{"toy_about", {ABOUT_VA, sizeof(struct about)}},
	{"toy_run", {RUN_VA, 0x80}},
	{"toy_stubs", {STUBS_VA, 40}},
	{"toy_top", {TOP_OFF, 8}},
};

static struct {
	struct fake_host host;
	struct toy_state state;
	uint8_t data[0x200]; /* of the process, from ABOUT_VA on */
	uint32_t stubs[10];  /* of the file */
	void *executable, *instance;
} made;

static const struct ep_unwinder_ops *ops(void)
{
	return ep_plugin.unwinder;
}

static void put_pointer(uint64_t off, uint64_t value)
{
	memcpy(made.data + off, &value, sizeof(value));
}

/* A runtime that is ready, and one function. */
static int make(void **state)
{
	struct about about = {.version = 1,
			      .ready = 1,
			      .frame_function = 8,
			      .frame_line = 16,
			      .frame_entry = 20,
			      .function_file = 8,
			      .function_line = 16};
	uint32_t line = 20;

	memset(&made, 0, sizeof(made));
	memcpy(made.data, &about, sizeof(about));
	put_pointer(FUNCTION_OFF, BIAS + ABOUT_VA + NAME_OFF);
	put_pointer(FUNCTION_OFF + 8, BIAS + ABOUT_VA + FILE_OFF);
	memcpy(made.data + FUNCTION_OFF + 16, &line, sizeof(line));
	strcpy((char *)made.data + NAME_OFF, "inner");
	strcpy((char *)made.data + FILE_OFF, "inner.toy");
	fake_host_init(&made.host, &made.state, sizeof(made.state));
	fake_memory_add(&made.host.memory, BIAS + ABOUT_VA, made.data, sizeof(made.data));
	fake_memory_add(&made.host.contents, STUBS_VA, made.stubs, sizeof(made.stubs));
	made.host.target.bias = BIAS;
	made.host.symbols = symbols;
	made.host.n_symbols = EP_LEN(symbols);
	made.host.functions = &symbols[1].symbol;
	made.host.n_functions = 1;
	return 0;
}

static int probe(void)
{
	return ops()->probe(fake_host_services(&made.host), &made.host.file, &made.executable);
}

static int attach(void)
{
	assert_int_equal(probe(), 0);
	return ops()->attach(made.executable, &made.host.target, &made.instance);
}

static int end(void **state)
{
	if (made.instance)
		ops()->detach(made.instance);
	if (made.executable)
		ops()->unload(made.executable);
	return 0;
}

EP_TEST_WITH(other_files_are_not_its_runtime, make, end)
{
	made.host.n_symbols = 1;
	assert_int_equal(probe(), EP_NOT_MINE);
	assert_null(made.executable);
}

EP_TEST_WITH(attach_tells_bpf_where_frames_are, make, end)
{
	assert_int_equal(attach(), 0);
	assert_int_equal(made.state.frame_entry, 20);
	assert_int_equal(made.state.top.off[0], TOP_OFF);
	assert_int_equal(made.host.n_ranges, 1);
	assert_int_equal(made.host.ranges[0].start, BIAS + RUN_VA);
	assert_int_equal(made.host.ranges[0].end, BIAS + RUN_VA + 0x80);
	assert_int_equal(made.host.ranges[0].mode, EP_RANGE_MARK);
}

EP_TEST_WITH(runtime_that_starts_is_asked_again, make, end)
{
	((struct about *)made.data)->ready = 0;
	assert_int_equal(attach(), EP_NOT_YET);
	assert_int_equal(made.host.n_states, 0);
}

EP_TEST_WITH(unknown_version_is_refused_and_said, make, end)
{
	((struct about *)made.data)->version = 9;
	assert_int_equal(attach(), -ENOTSUP);
	assert_int_equal(made.host.n_warnings, 1);
	assert_non_null(strstr(made.host.logged, "version 9"));
}

EP_TEST_WITH(each_read_of_attach_may_fail, make, end)
{
	uint32_t n;

	assert_int_equal(attach(), 0);
	n = made.host.memory.n_reads;
	assert_int_not_equal(n, 0);
	for (uint32_t i = 1; i <= n; i++) {
		end(NULL);
		make(NULL);
		made.host.memory.fail_at = i;
		made.host.memory.fail_with = -EFAULT;
		assert_int_equal(attach(), -EFAULT);
	}
}

EP_TEST_WITH(frames_have_function_file_and_lines, make, end)
{
	struct ep_raw_frame frame = {
		.n_words = 2,
		.aux = 21,
		.words = {BIAS + ABOUT_VA + FUNCTION_OFF, BIAS + ABOUT_VA + NAME_OFF}};

	assert_int_equal(attach(), 0);
	assert_int_equal(ops()->symbolize(made.instance, &frame, &made.host.names), 0);
	assert_string_equal(made.host.function, "inner");
	assert_string_equal(made.host.file_name, "inner.toy");
	assert_int_equal(made.host.line, 21);
	assert_int_equal(made.host.start_line, 20);
}

EP_TEST_WITH(function_that_is_another_one_by_now_has_no_name, make, end)
{
	struct ep_raw_frame frame = {
		.n_words = 2,
		.words = {BIAS + ABOUT_VA + FUNCTION_OFF, BIAS + ABOUT_VA + FILE_OFF}};

	assert_int_equal(attach(), 0);
	assert_int_equal(ops()->symbolize(made.instance, &frame, &made.host.names), EP_FRAME_GONE);
	assert_int_equal(made.host.n_names, 0);
	assert_int_equal(made.host.counts[TOY_COUNT_GONE], 1);
}

EP_TEST_WITH(stubs_get_rules_and_names, make, end)
{
	const uint32_t stubs[] = {1, 32, 0x400, 24, 1, 20};
	ep_cleanup(ep_description_fini) struct ep_description description;

	memcpy(made.stubs, stubs, sizeof(stubs));
	strcpy((char *)&made.stubs[6], "nap");
	ep_description_init(&description);
	assert_int_equal(probe(), 0);
	assert_int_equal(ops()->describe(made.executable, &made.host.file, &description), 0);
	assert_int_equal(description.rows.len, 3);
	assert_int_equal(((struct ep_code_row *)description.rows.data)[1].va, STUBS_VA + 0x400 + 1);
	assert_int_equal(ep_described_symbols_len(description.symbols), 1);
}

EP_TEST_WITH(stubs_that_cannot_be_are_refused, make, end)
{
	const uint32_t stubs[] = {1, 32, 0x400, 24, 20, 1};
	ep_cleanup(ep_description_fini) struct ep_description description;

	memcpy(made.stubs, stubs, sizeof(stubs));
	ep_description_init(&description);
	assert_int_equal(probe(), 0);
	assert_int_equal(ops()->describe(made.executable, &made.host.file, &description), -EBADMSG);
}
