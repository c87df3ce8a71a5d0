/* SPDX-License-Identifier: Apache-2.0 */
/* The user-space half, over a file and a process that are made up: no runtime, no privileges. */
#include "jit_shared.h"

#include "ebpf-profiler/plugin.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

extern const struct ep_plugin ep_plugin;

#define BIAS	     0x555500000000ull
#define DATA_VA	     0x3000
#define SELF_OFF     16
#define FUNCTION_OFF 0x400
#define NAME_OFF     0x480
#define FILE_OFF     0x4c0
#define HEAP	     0x7f0000000000ull

/* As in jit.c: what the JIT publishes. */
struct about {
	uint32_t version, ready;
	struct {
		uint64_t start, end, map;
	} heaps[2];
	uint64_t entry_stub, call_stub;
	uint32_t unit_bytes, max_block_bytes, anywhere;
	uint32_t thread_anchor, anchor_pc, anchor_sp, block_bytes;
	uint32_t block[11], pc_bytes, pc[5], scope_bytes, scope[3];
	uint32_t function_name, function_file, function_line, fp_depth, anchor_depth;
};

static const struct fake_symbol symbols[] = {
	{"jit_about", {DATA_VA, sizeof(struct about)}},
	{"jit_self", {SELF_OFF, 8}},
};

static struct {
	struct fake_host host;
	struct jit_state state;
	union {
		struct about about;
		uint8_t data[0x500]; /* of the process, from DATA_VA on */
	};
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

/* A JIT that is ready, and one function. */
static int make(void **state)
{
	uint32_t line = 30;

	memset(&made, 0, sizeof(made));
	made.about.version = 1;
	made.about.ready = 1;
	made.about.unit_bytes = 64;
	for (int i = 0; i < 2; i++) {
		made.about.heaps[i].start = HEAP + ((uint64_t)i << 20);
		made.about.heaps[i].end = made.about.heaps[i].start + 0x10000;
		made.about.heaps[i].map = HEAP + 0x800000;
	}
	made.about.block_bytes = JIT_BLOCK_BYTES;
	made.about.pc_bytes = made.about.scope_bytes = JIT_PC_BYTES;
	made.about.function_file = 8;
	made.about.function_line = 16;
	put_pointer(FUNCTION_OFF, BIAS + DATA_VA + NAME_OFF);
	put_pointer(FUNCTION_OFF + 8, BIAS + DATA_VA + FILE_OFF);
	memcpy(made.data + FUNCTION_OFF + 16, &line, sizeof(line));
	strcpy((char *)made.data + NAME_OFF, "inner");
	strcpy((char *)made.data + FILE_OFF, "program.jit");
	fake_host_init(&made.host, &made.state, sizeof(made.state));
	fake_memory_add(&made.host.memory, BIAS + DATA_VA, made.data, sizeof(made.data));
	made.host.target.bias = BIAS;
	made.host.symbols = symbols;
	made.host.n_symbols = EP_LEN(symbols);
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

EP_TEST_WITH(attach_tells_the_heaps, make, end)
{
	assert_int_equal(attach(), 0);
	assert_int_equal(made.state.unit_bytes, 64);
	assert_int_equal(made.state.self.off[0], SELF_OFF);
	assert_int_equal(made.host.n_ranges, 2);
	assert_int_equal(made.host.ranges[1].start, HEAP + (1 << 20));
	assert_int_equal(made.host.ranges[1].mode, EP_RANGE_ENTER);
	assert_int_equal(made.host.ranges[1].data, HEAP + 0x800000);
}

EP_TEST_WITH(code_anywhere_is_anonymous, make, end)
{
	made.about.anywhere = 1;
	assert_int_equal(attach(), 0);
	assert_int_equal(made.host.n_ranges, 3);
	assert_int_equal(made.host.ranges[2].flags, EP_RANGE_ANONYMOUS);
}

EP_TEST_WITH(jit_that_starts_is_asked_again, make, end)
{
	made.about.ready = 0;
	assert_int_equal(attach(), EP_NOT_YET);
	made.about.ready = 1;
	made.host.no_variable = -ENODATA; /* thread storage is not there yet */
	end(NULL);
	assert_int_equal(attach(), EP_NOT_YET);
}

EP_TEST_WITH(layout_that_does_not_hold_is_refused_and_said, make, end)
{
	made.about.fp_depth = 4; /* no multiple of 8 */
	assert_int_equal(attach(), -ENOTSUP);
	assert_int_equal(made.host.n_warnings, 1);
	assert_int_equal(made.host.n_states, 0);
}

EP_TEST_WITH(inlined_functions_are_names_of_one_frame, make, end)
{
	uint64_t function = BIAS + DATA_VA + FUNCTION_OFF;
	struct ep_raw_frame frame = {.n_words = 2,
				     .words = {function | 31ull << JIT_LINE_SHIFT,
					       function | 32ull << JIT_LINE_SHIFT}};

	assert_int_equal(attach(), 0);
	assert_int_equal(ops()->symbolize(made.instance, &frame, &made.host.names), 0);
	assert_int_equal(made.host.n_names, 2);
	assert_string_equal(made.host.function, "inner");
	assert_string_equal(made.host.file_name, "program.jit");
	assert_int_equal(made.host.line, 32);
	assert_int_equal(made.host.start_line, 30);
}

EP_TEST_WITH(function_that_cannot_be_read_has_no_name, make, end)
{
	struct ep_raw_frame frame = {.n_words = 1, .words = {HEAP}};

	assert_int_equal(attach(), 0);
	assert_int_equal(ops()->symbolize(made.instance, &frame, &made.host.names), EP_FRAME_GONE);
}
