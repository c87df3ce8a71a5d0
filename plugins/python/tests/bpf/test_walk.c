/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of CPython's frames (python_unwind.bpf.c), compiled for user space: what no recorded
 * process has. The structures are made up, with members about where 3.14 has them. A stack is
 * compared as text, a frame a line:
 *
 *	CODE at OFFSET [entry]		code: a number; offset: of the instruction, in bytes
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/python/python_unwind.bpf.c"

#define WORLD_STATE struct py_state
#include "tests/kit/world.h"

#define SLOT	     3
#define TP	     0x5000ull
#define RUNTIME	     0x10000ull /* the pointer to the first interpreter */
#define TYPE	     0x11000ull /* of code objects */
#define HEAP	     0x20000000ull
#define INTERPRETERS HEAP
#define THREADS	     (HEAP + 0x1000)
#define CODES	     (HEAP + 0x10000)
#define FRAMES	     (HEAP + 0x20000)
#define COPIES	     (HEAP + 0x30000)
#define INSTRUCTIONS 192 /* of a code object: where they begin */
#define SHIM	     3	 /* an owner */

static struct py_scratch scratch;
static uint64_t next_frame;

static uint64_t interpreter(uint32_t i)
{
	return INTERPRETERS + 0x100ull * i;
}

static uint64_t thread(uint32_t i)
{
	return THREADS + 0x40ull * i;
}

static uint64_t code(uint32_t i)
{
	return CODES + 0x100ull * i;
}

/* The sampled thread runs no Python yet; code objects 0 to 9. */
static int begin(void **state)
{
	(void)state;
	world_begin(SLOT, 40);
	world_add_memory(TP, 0x100);
	world_add_memory(RUNTIME, 8);
	world_add_memory(HEAP, 0x40000);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world.thread_pointer = TP;
	world.state = (struct py_state){
		.interpreters_addr = RUNTIME,
		.code_type = TYPE,
		.paths = {{.steps = 1, .off = {0x10}}},
		.interp_threads = 8,
		.thread_next = 8,
		.thread_frame = 16,
		.thread_id = 24,
		.frame_bytes = 80,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_owner = 74,
		.frame_copy = 64,
		.first_shim = SHIM,
		.code_bytes = 216,
		.code_object_type = 8,
		.code_check = 64,
		.code_check_mask = 0x3ff,
		.code_first_traceable = 176,
		.code_instructions = INSTRUCTIONS,
		.code_copies = 208,
		.address_mask = ~0ull,
	};
	for (uint32_t i = 0; i < 10; i++)
		world_put(code(i) + 8, TYPE);
	next_frame = FRAMES;
	return 0;
}

/* A frame at an instruction, called by `previous`. */
static uint64_t put_frame(uint64_t previous, uint32_t i, uint64_t instruction_addr)
{
	uint64_t frame = next_frame;

	next_frame += 0x80;
	world_put(frame, code(i));
	world_put(frame + 8, previous);
	world_put(frame + 56, instruction_addr);
	return frame;
}

static uint64_t put_call(uint64_t previous, uint32_t i)
{
	return put_frame(previous, i, code(i) + INSTRUCTIONS + 8 * i);
}

static uint64_t put_shim(uint64_t previous)
{
	uint64_t frame = put_frame(previous, 0, 0);

	world_put_bytes(frame + 74, &(uint8_t){SHIM}, 1);
	return frame;
}

/* State i of a thread, whose innermost frame this is, before the others of its interpreter. */
static void put_thread(uint32_t i, uint32_t of, uint64_t id, uint64_t frame)
{
	__u64 next;

	assert_true(ep_read_word(interpreter(of) + 8, &next));
	world_put(thread(i) + 8, next);
	world_put(interpreter(of) + 8, thread(i));
	world_put(thread(i) + 16, frame);
	world_put(thread(i) + 24, id);
	world_put(RUNTIME, interpreter(of));
}

static void say_frame(uint64_t header, const __u64 *words)
{
	bool is_long = EP_FRAME_WORDS(header) == 2;
	uint64_t instruction = is_long ? words[1] : words[0] >> PY_INSTRUCTION_SHIFT;

	world_add_text("%u at %u%s\n", (uint32_t)(((words[0] & PY_ADDRESS_MASK) - CODES) / 0x100),
		       (uint32_t)instruction,
		       EP_FRAME_FLAGS(header) & EP_FRAME_ENTRY ? " entry" : "");
}

static const char *walk_stack(void)
{
	assert_int_equal(world_run(python_unwind), EP_SLOT_FINISH);
	return world_say(say_frame);
}

/* A thread has a state in each interpreter that it runs; that of the innermost is current. */
EP_TEST_WITH(interpreter_within_another_has_its_frames_once, begin, NULL)
{
	put_thread(0, 0, TP, put_call(put_call(put_shim(0), 1), 2));
	world_put(interpreter(1), interpreter(0));
	put_thread(1, 1, TP + 8, put_call(put_shim(0), 9)); /* another thread's */
	put_thread(2, 1, TP, put_call(put_call(put_shim(0), 3), 4));
	world_put(TP + 0x10, thread(2));
	assert_string_equal(walk_stack(), "4 at 32\n3 at 24 entry\n2 at 16\n1 at 8 entry\n");
	assert_int_equal(REC->sample.error, 0);
	/* What it runs may be freed before its name is read: the live check's bar does not show
	 * that. */
	assert_true(REC->sample.flags & EP_SAMPLE_KEEP);
	world_begin_sample();
	world_put(interpreter(1), 0);
	assert_string_equal(walk_stack(), "4 at 32\n3 at 24 entry\n");
	assert_false(REC->sample.flags & EP_SAMPLE_KEEP);
}

EP_TEST_WITH(instruction_behind_64_kb_has_a_word_of_its_own, begin, NULL)
{
	uint64_t frame = put_frame(put_shim(0), 1, code(1) + INSTRUCTIONS + 0x12346);

	put_thread(0, 0, TP, put_frame(frame, 2, code(2) + INSTRUCTIONS + 0xfffe));
	world_put(TP + 0x10, thread(0));
	assert_string_equal(walk_stack(), "2 at 65534\n1 at 74566 entry\n");
}

/* struct _PyCodeArray, 3.14 Include/cpython/code.h: a size, then a pointer for each thread. */
EP_TEST_WITH(free_threads_run_copies_of_their_own, begin, NULL)
{
	uint64_t frame = put_frame(put_shim(0), 1, COPIES + 0x100 + 40),
		 other = put_frame(frame, 2, COPIES + 0x300);

	world.state.flags = PY_BYTECODE_COPIES;
	world_put(code(1) + 208, COPIES);
	world_put(COPIES, 2);
	world_put(COPIES + 16, COPIES + 0x100);
	world_put_int(frame + 64, 1);
	put_thread(0, 0, TP, other); /* which has no copies */
	world_put(TP + 0x10, thread(0));
	assert_string_equal(walk_stack(), "2 at 2147483647\n1 at 40 entry\n");
}

/* A thread without the GIL and without a path is looked for among so many. */
EP_TEST_WITH(thread_is_one_of_many, begin, NULL)
{
	static const struct {
		uint32_t n;
		const char *want;
	} rows[] = {
		{0, "1 at 8 entry\n"}, {31, "1 at 8 entry\n"}, {250, "1 at 8 entry\n"}, {300, ""}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin(NULL);
		put_thread(0, 0, TP, put_call(put_shim(0), 1));
		for (uint32_t other = 1; other <= rows[i].n; other++)
			put_thread(other, 0, TP + 8 * other, 0);
		assert_string_equal(walk_stack(), rows[i].want);
		assert_int_equal(world.counters[PY_COUNT_THREADS_UNKNOWN], !*rows[i].want);
	}
}
