/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of PHP's frames (php_unwind.bpf.c), compiled for user space, over a stack that is made
 * up here, as 8.4 makes them. A stack is compared as text, a frame a line:
 *
 *	KIND FUNCTION [entry] [at INDEX] [HOW]
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/php/php_unwind.bpf.c"

#include "bpf/rule.h"

#define WORLD_STATE struct php_state
#include "core/base/util.h"
#include "tests/kit/world.h"

#define SLOT	  3u
#define HEAP	  0x20000000ull
#define GLOBALS	  (HEAP + 0x1000)
#define EXCEPTION (GLOBALS + 0x3c0) /* exception_op */
#define STRINGS	  (HEAP + 0x4000)   /* 0x40 bytes each: names, classes, files */
#define FUNCTIONS (HEAP + 0x6000)   /* 0x100 bytes each */
#define CODES	  (HEAP + 0x10000)  /* 0x1000 bytes each: oplines */
#define STACK	  (HEAP + 0x30000)
#define GENERATORS (HEAP + 0x70000) /* 0x200 bytes each; their frames after them */
#define NATIVE	  0x7000000ull	    /* native stacks */
#define FIBERS	  0x7800000ull	    /* contexts, and what their stacks are */
#define RUNTIME	  0x600000ull
#define LOOP	  (RUNTIME + 0x400)
#define CALLER	  (RUNTIME + 0x222) /* where execute_ex returns to */
#define FINISH	  (RUNTIME + 0x802)
#define MAKER	  0x900ull
#define FRAME_STEP 0x70
#define MAIN_CODE 9u
#define NO_INDEX  1000u
#define TP	  0x5000ull

static struct php_scratch scratch;
static uint64_t top; /* the next frame */

static uint64_t string(uint32_t i)
{
	return STRINGS + 0x40ull * i;
}

static uint64_t func(uint32_t i)
{
	return i ? FUNCTIONS + 0x100ull * i : 0;
}

static uint64_t code(uint32_t i)
{
	return CODES + 0x1000ull * i;
}

static void put_string(uint32_t i, uint64_t hash)
{
	world_put(string(i) + PHP_STRING_HASH, hash);
	world_put(string(i) + PHP_STRING_LEN, 8);
}

/* Name i, file 0; of class 30 if it is one; without a name: the code of a file. */
static void put_function(uint32_t i, uint32_t type, uint32_t flags, bool has_name)
{
	put_string(i, 0x8000 + i);
	world_put(func(i), type | (uint64_t)flags << 32);
	world_put(func(i) + PHP_FUNCTION_NAME, has_name ? string(i) : 0);
	world_put(func(i) + PHP_FUNCTION_ARGS, 1);
	if (type == PHP_TYPE_INTERNAL)
		return;
	world_put(func(i) + 96, 100);
	world_put(func(i) + 104, code(i));
	world_put(func(i) + 168, string(0));
	world_put(func(i) + 176, 10 * i);
}

static uint64_t opline(uint32_t i, uint32_t index)
{
	return index == NO_INDEX ? 0x500 : code(i) + 32ull * index;
}

static void put_op(uint32_t i, uint32_t index, uint8_t number, uint32_t extended, uint32_t line)
{
	world_put_int(opline(i, index) + PHP_OP_EXTENDED, extended);
	world_put_int(opline(i, index) + PHP_OP_LINENO, line);
	world_put_int(opline(i, index) + PHP_OP_OPCODE, number);
}

static void put_frame(uint64_t at, uint64_t prev, uint32_t i, uint32_t index, uint32_t info)
{
	world_put(at + 8 * FRAME_OPLINE, opline(i, index));
	world_put(at + 8 * FRAME_FUNC, func(i));
	world_put(at + 8 * FRAME_INFO, info);
	world_put(at + 8 * FRAME_PREV, prev);
}

static uint64_t current(void)
{
	uint64_t at;

	assert_int_equal(ep_shim_read_user(&at, 8, (void *)(GLOBALS + 0x1e8)), 0);
	return at;
}

static uint64_t call(uint32_t i, uint32_t index, uint32_t info)
{
	uint64_t at = top;

	put_frame(at, current(), i, index, info);
	world_put(GLOBALS + 0x1e8, at);
	top += FRAME_STEP;
	return at;
}

/* Functions 1 to 5, closure 6, C functions 7 and 8, main program 9, a file's code 10, one in C
 * without a name 11. */
static int begin(void **state)
{
	(void)state;
	world_begin(SLOT, 40);
	world_add_memory(HEAP, 0x80000);
	world_add_memory(NATIVE, 0x2000);
	world_add_memory(FIBERS, 0x4000);
	world_add_memory(RUNTIME, 0x1000);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world.state = (struct php_state){
		.globals_addr = GLOBALS,
		.globals_bytes = 0x700,
		.current_off = 0x1e8,
		.before_exception_off = 0x3b8,
		.fiber_off = 0x6d0,
		.fiber_caller_off = 104,
		.loop_start = LOOP,
		.loop_end = LOOP + 0x200,
		.loop_frame = 64,
		.loop_saved = 16,
		.code_start = RUNTIME,
		.code_end = RUNTIME + 0x1000,
		.returns = {CALLER},
		.makers = {{MAKER, 0x40}},
		.finish_addr = FINISH,
		.frameless_addr = HEAP + 0x100,
		.hybrid = 1,
		.copy_flags = 7u << 22,
		.release = 804,
		.op_last = 96,
		.op_opcodes = 104,
		.op_file = 168,
		.op_line = 176,
		.generator_data = 56,
		.generator_parent = 152,
	};
	put_string(0, 0x9999);
	for (uint32_t i = 1; i <= 5; i++)
		put_function(i, PHP_TYPE_USER, 0, true);
	put_function(6, PHP_TYPE_USER, 1u << 22, true);
	put_function(7, PHP_TYPE_INTERNAL, 0, true);
	put_function(8, PHP_TYPE_INTERNAL, 0, true);
	put_function(MAIN_CODE, PHP_TYPE_USER, 0, false);
	put_function(10, PHP_TYPE_USER, 0, false);
	put_function(11, PHP_TYPE_INTERNAL, 0, false);
	top = STACK;
	call(MAIN_CODE, 3, INFO_TOP);
	put_op(MAIN_CODE, 3, 60, 0, 33);
	return 0;
}

#define MAIN "code 9 entry at 33\n"

static uint32_t number_of_function(uint32_t kind, const __u64 *words)
{
	if (kind == PHP_KIND_FUNCTION)
		return (uint32_t)((php_address(words[1]) - FUNCTIONS) / 0x100);
	if (kind == PHP_KIND_INTERNAL)
		return (uint32_t)((php_address(words[0]) - STRINGS) / 0x40);
	return (uint32_t)((php_address(words[0]) - CODES) / 0x1000);
}

static void say_frame(uint64_t header, const __u64 *words)
{
	static const char *const kinds[] = {
		[PHP_KIND_FUNCTION] = "user",	      [PHP_KIND_CODE] = "code",
		[PHP_KIND_CLOSURE] = "closure",	      [PHP_KIND_INTERNAL] = "c",
		[PHP_KIND_UNREADABLE] = "unreadable", [PHP_KIND_OLD_CLOSURE] = "old",
	};
	static const char *const came[] = {
		"",	    " eval",	     " include",  " include_once",
		" require", " require_once", " otherwise"};
	uint32_t aux = EP_FRAME_AUX(header), kind = php_kind(aux);
	bool is_copy = kind == PHP_KIND_CLOSURE || kind == PHP_KIND_OLD_CLOSURE;

	assert_int_equal(EP_FRAME_WORDS(header), kind == PHP_KIND_UNREADABLE ? 1 : 2 + is_copy);
	world_add_text("%s", kinds[kind]);
	if (kind != PHP_KIND_UNREADABLE)
		world_add_text(" %u", number_of_function(kind, words));
	world_add_text(EP_FRAME_FLAGS(header) & EP_FRAME_ENTRY ? " entry" : "");
	if (php_index(aux) != PHP_NO_LINE)
		world_add_text(" at %u", php_index(aux));
	world_add_text("%s\n", came[php_came(EP_FRAME_FLAGS(header))]);
}

static const char *walk_stack(void)
{
	assert_int_equal(world_run(php_unwind), EP_SLOT_FINISH);
	return world_say(say_frame);
}

/* --- frames and entries ----------------------------------------------------------------------- */

EP_TEST_WITH(c_functions_behind_the_last_entry_belong_to_it, begin, NULL)
{
	world_put(GLOBALS + 0x1e8, 0);
	call(7, NO_INDEX, INFO_TOP);
	call(8, NO_INDEX, 0);
	call(1, 1, INFO_TOP);
	assert_string_equal(walk_stack(), "user 1 at 1\nc 8\nc 7 entry\n");
}

EP_TEST_WITH(nothing_runs, begin, NULL)
{
	world_put(GLOBALS + 0x1e8, 0);
	assert_string_equal(walk_stack(), "");
}

EP_TEST_WITH(code_says_how_it_came_in, begin, NULL)
{
	static const struct {
		uint32_t extended;
		const char *how;
	} rows[] = {{1, " eval"},
		    {2, " include"},
		    {4, " include_once"},
		    {8, " require"},
		    {16, " require_once"}};
	char expected[128];

	call(10, 5, 0);
	put_op(10, 5, 1, 0, 55);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		put_op(MAIN_CODE, 3, OP_INCLUDE, rows[i].extended, 33);
		snprintf(expected, sizeof(expected), "code 10 at 55%s\n" MAIN, rows[i].how);
		assert_string_equal(walk_stack(), expected);
		world_begin_sample();
	}
	put_op(MAIN_CODE, 3, 60, 1, 33);
	assert_string_equal(walk_stack(), "code 10 at 55 otherwise\n" MAIN);
	world_begin_sample();
	call(7, NO_INDEX, 0);
	call(10, 5, INFO_TOP);
	assert_string_equal(walk_stack(),
			    "code 10 entry at 55 otherwise\nc 7\ncode 10 at 55 otherwise\n" MAIN);
}

EP_TEST_WITH(a_thousand_frames_are_whole, begin, NULL)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < 1000; i++)
		call(1 + i % 3, 4, 0);
	walk_stack();
	for (uint32_t at = 0; at < REC->sample.n_words; at += 1 + EP_FRAME_WORDS(REC->words[at]))
		n++;
	assert_int_equal(n, 1001);
	assert_int_equal(REC->sample.error, 0);
	assert_true(world.n_runs < 30);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void interrupt(uint64_t pc, uint64_t frame, uint64_t at)
{
	world.ctx.regs = (struct pt_regs){.rip = pc, .r14 = frame, .r15 = at, .cs = 0x33};
}

/* The kernel's registers say nothing, nor do those of a VM that has no such loop. */
EP_TEST_WITH(leaf_in_the_loop_has_its_line_in_registers, begin, NULL)
{
	uint64_t at = call(1, 1, 0);
	const struct {
		uint64_t frame, opline, cs, hybrid;
		const char *stack;
	} rows[] = {
		{at, opline(1, 7), 0x33, 1, "user 1 at 7\n" MAIN},
		{at, opline(2, 7), 0x33, 1, "user 1 at 1\n" MAIN},
		{at + 8, opline(1, 7), 0x33, 1, "user 1 at 1\n" MAIN},
		{at, opline(1, 7), 0x10, 1, "user 1 at 1\n" MAIN},
		{at, opline(1, 7), 0x33, 0, "user 1 at 1\n" MAIN},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		world_begin_sample();
		interrupt(LOOP + 8, rows[i].frame, rows[i].opline);
		world.ctx.regs.cs = rows[i].cs;
		world.state.hybrid = (uint32_t)rows[i].hybrid;
		assert_string_equal(walk_stack(), rows[i].stack);
	}
}

EP_TEST_WITH(frame_that_is_left_is_still_there, begin, NULL)
{
	uint64_t at = call(1, 1, INFO_TOP), other = call(2, 2, 0);

	world_put(GLOBALS + 0x1e8, at);
	interrupt(LOOP + 8, other, opline(2, 9));
	assert_string_equal(walk_stack(), "user 2 at 9\nuser 1 entry at 1\n" MAIN);
	/* It may be what is left on the stack. */
	world_begin_sample();
	interrupt(LOOP + 8, other, opline(3, 9));
	assert_string_equal(walk_stack(), "user 1 entry at 1\n" MAIN);
}

EP_TEST_WITH(frame_that_is_made_does_not_run, begin, NULL)
{
	call(7, NO_INDEX, 0);
	call(1, 1, INFO_TOP);
	interrupt(RUNTIME + MAKER + 8, 0, 0);
	assert_string_equal(walk_stack(), "c 7\n" MAIN);
	/* It calls, from further on. */
	world_begin_sample();
	world_put(current(), opline(1, 2));
	assert_string_equal(walk_stack(), "user 1 entry at 2\nc 7\n" MAIN);
	world_begin_sample();
	world_put(current(), opline(1, 1));
	interrupt(RUNTIME + MAKER + 0x40, 0, 0);
	assert_string_equal(walk_stack(), "user 1 entry at 1\nc 7\n" MAIN);
}

EP_TEST_WITH(exception_has_the_line_before_it, begin, NULL)
{
	world_put(call(1, 1, 0), EXCEPTION);
	world_put(GLOBALS + 0x3b8, opline(1, 8));
	assert_string_equal(walk_stack(), "user 1 at 8\n" MAIN);
	world_begin_sample();
	world_put(GLOBALS + 0x3b8, 0);
	assert_string_equal(walk_stack(), "user 1\n" MAIN);
}

/* Those of opcache's optimizer; and what calls __call, which has none. */
EP_TEST_WITH(frame_without_an_opline_of_its_own_is_none, begin, NULL)
{
	call(1, NO_INDEX, 0);
	assert_string_equal(walk_stack(), MAIN);
	world_begin_sample();
	put_function(2, PHP_TYPE_USER, 1u << 18, true);
	world_put(func(2) + 96, 0);
	world_put(call(2, 1, 0), EXCEPTION);
	assert_string_equal(walk_stack(), MAIN);
}

EP_TEST_WITH(frameless_call_is_a_frame, begin, NULL)
{
	world_put(HEAP + 0x100, HEAP + 0x200);
	world_put(HEAP + 0x200 + 8 * 5, func(8));
	call(1, 4, 0);
	put_op(1, 4, 205, 5, 44);
	assert_string_equal(walk_stack(), "c 8\nuser 1 at 4\n" MAIN);
	/* It has called back. */
	world_begin_sample();
	call(2, 1, INFO_TOP);
	assert_string_equal(walk_stack(), "user 2 entry at 1\nc 8\nuser 1 at 4\n" MAIN);
	/* It cannot have called what PHP called. */
	world_begin_sample();
	call(1, 4, 0);
	call(7, NO_INDEX, 0);
	assert_string_equal(walk_stack(),
			    "c 7\nuser 1 at 4\nuser 2 entry at 1\nc 8\nuser 1 at 4\n" MAIN);
	/* Before 8.4 the number is no op. */
	world_begin_sample();
	world.state.frameless_addr = 0;
	assert_string_equal(walk_stack(),
			    "c 7\nuser 1 at 4\nuser 2 entry at 1\nuser 1 at 4\n" MAIN);
}

/* --- generators ------------------------------------------------------------------------------- */

static uint64_t generator(uint32_t i)
{
	return GENERATORS + 0x200ull * i;
}

/* The one that runs is `n`; the others wait for the next one each, the first was resumed. */
static void put_generators(uint32_t n)
{
	uint64_t fake = generator(1) + 184;

	for (uint32_t i = 1; i <= n; i++) {
		uint64_t at = generator(i) + 0x100;

		put_frame(at, 0x666, i, 10 + i, INFO_TOP);
		world_put(generator(i) + 56, at);
		world_put(generator(i) + 152, i < n ? generator(i + 1) : 0);
	}
	put_frame(fake, current(), 0, NO_INDEX, INFO_OBJECT);
	world_put(fake + 8 * FRAME_THIS, generator(1));
	world_put(generator(n) + 0x100 + 8 * FRAME_PREV, fake);
	world_put(GLOBALS + 0x1e8, generator(n) + 0x100);
}

EP_TEST_WITH(generators_that_wait_are_no_entries, begin, NULL)
{
	call(5, 1, 0);
	call(7, NO_INDEX, 0);
	put_generators(4);
	assert_string_equal(
		walk_stack(),
		"user 4 entry at 14\nuser 3 at 13\nuser 2 at 12\nuser 1 at 11\nc 7\n"
		"user 5 at 1\n" MAIN);
}

EP_TEST_WITH(generator_without_a_caller_says_so, begin, NULL)
{
	world_put(GLOBALS + 0x1e8, 0);
	call(1, 4, INFO_TOP | INFO_GENERATOR);
	assert_string_equal(walk_stack(), "user 1 entry at 4\nerror 100\n");
}

EP_TEST_WITH(generators_that_wait_for_each_other_end, begin, NULL)
{
	put_generators(3);
	world_put(generator(3) + 152, generator(1));
	world_run(php_unwind);
	assert_int_equal(REC->sample.n_frames, 1 + PHP_MAX_WAITING + 1);
}

EP_TEST_WITH(what_is_no_placeholder_is_passed, begin, NULL)
{
	put_generators(2);
	world_put(generator(1) + 184 + 8 * FRAME_THIS, generator(1) + 8);
	assert_string_equal(walk_stack(), "user 2 entry at 12\n" MAIN);
	world_begin_sample();
	world_put(generator(1) + 184 + 8 * FRAME_THIS, generator(1));
	world_put(generator(1) + 152, 0x100);
	assert_string_equal(walk_stack(), "user 2 entry at 12\nerror 100\n");
	world_begin_sample();
	world_put(generator(1) + 152, 0);
	assert_string_equal(walk_stack(), "user 2 entry at 12\n" MAIN);
}

/* --- what cannot be read ---------------------------------------------------------------------- */

EP_TEST_WITH(function_that_cannot_be_read_says_so, begin, NULL)
{
	world_put(call(1, 1, 0) + 8 * FRAME_FUNC, 0x100);
	put_function(2, 3, 0, true);
	call(2, 1, 0);
	call(3, 1, 0);
	assert_string_equal(walk_stack(), "user 3 at 1\nunreadable\nunreadable\n" MAIN);
}

EP_TEST_WITH(frame_that_cannot_be_read_ends_the_stack, begin, NULL)
{
	world_put(call(1, 1, INFO_TOP) + 8 * FRAME_PREV, 0x108);
	call(2, 1, 0);
	assert_string_equal(walk_stack(), "user 2 at 1\nuser 1 entry at 1\nerror 100\n");
	assert_int_equal(REC->sample.error, 100);
}

EP_TEST_WITH(cycle_ends, begin, NULL)
{
	uint64_t at = call(0, NO_INDEX, 0);

	world_put(at + 8 * FRAME_PREV, at);
	world_run(php_unwind);
	assert_int_equal(REC->sample.error, 100 + PHP_ERROR_DEEP);
	begin(NULL);
	at = call(1, 1, 0);
	world_put(at + 8 * FRAME_PREV, at);
	world_run(php_unwind);
	assert_true(REC->sample.error);
}

EP_TEST_WITH(check_tells_what_came_later, begin, NULL)
{
	uint64_t words[3];

	call(1, 1, 0);
	walk_stack();
	memcpy(words, REC->words, sizeof(words));
	for (uint32_t i = 0; i < 4; i++) {
		world_begin_sample();
		put_string(1, 0x8001 + (i == 0));
		put_string(0, 0x9999 + (i == 1));
		world_put(func(1) + 176, 10 + (i == 2));
		walk_stack();
		assert_int_equal(php_address(REC->words[1]), php_address(words[1]));
		assert_int_equal(php_word_check(REC->words[1], REC->words[2]) ==
					 php_word_check(words[1], words[2]),
				 i == 3);
	}
}

/* Each is a function of its own: what they have in common is read once. */
EP_TEST_WITH(closures_of_the_same_code_are_the_same, begin, NULL)
{
	uint64_t first[3];

	for (uint32_t i = 11; i <= 15; i++) {
		put_function(i, PHP_TYPE_USER, i == 15 ? 0 : 1u << 22, true);
		world_put(func(i) + PHP_FUNCTION_NAME, string(i == 14 ? 14 : 6));
		world_put(func(i) + 104, code(6));
	}
	put_string(6, 0x8006);
	/* Bound to another class. */
	world_put(func(11) + PHP_FUNCTION_SCOPE, HEAP + 0x300);
	world_put(HEAP + 0x300 + PHP_CLASS_NAME, string(8));
	call(11, 1, 0);
	call(12, 1, 0);
	call(15, 1, 0);
	call(14, 1, 0);
	call(13, 1, 0);
	for (uint32_t i = 0; i < 5; i++)
		world_put(current() - FRAME_STEP * i, opline(6, 3));
	assert_string_equal(walk_stack(),
			    "closure 6 at 3\nclosure 6 at 3\nuser 15 at 3\nclosure 6 at 3\n"
			    "closure 6 at 3\n" MAIN);
	memcpy(first, REC->words + 1, sizeof(first));
	assert_memory_not_equal(first, REC->words + 5, sizeof(first));
	assert_memory_equal(first, REC->words + 12, sizeof(first));
	assert_memory_not_equal(first, REC->words + 16, sizeof(first));
}

/* --- code that the JIT made ------------------------------------------------------------------- */

static uint32_t enter(uint64_t pc, uint64_t sp, uint64_t fp)
{
	WALK->core.entered = EP_ENTERED;
	WALK->pc = pc;
	WALK->return_address = 1;
	WALK->regs[EP_REG_SP] = sp;
	WALK->regs[EP_REG_FP] = fp;
	return world_step(php_unwind);
}

/* Rows of the runtime's file; its C, which is remembered. */
static void put_runtime(void)
{
	const struct ep_row row = {
		.start = RUNTIME, .end = RUNTIME + 0x1000, .va = 0x1000, .executable = 5};

	world_put_rows(&row, 1);
}

static uint32_t count_marks(void)
{
	uint32_t n = 0;

	for (uint32_t at = 0; at < REC->sample.n_words; at += 1 + EP_FRAME_WORDS(REC->words[at]))
		n += EP_FRAME_KIND(REC->words[at]) == EP_FRAME_NATIVE &&
		     EP_FRAME_FLAGS(REC->words[at]) >> EP_FRAME_SLOT_SHIFT == SLOT;
	return n;
}

EP_TEST_WITH(jit_code_runs_in_the_loops_frame, begin, NULL)
{
	static const uint32_t more[] = {0, STUB_BYTES, EXIT_BYTES};

	for (size_t i = 0; i < EP_LEN(more); i++) {
		uint64_t cfa = NATIVE + 0x100 + 64 + more[i];

		begin(NULL);
		put_runtime();
		world_put(cfa - 8, CALLER);
		world_put(cfa - 16, 0x4444);
		assert_int_equal(enter(0x9000, NATIVE + 0x100, 0x1111), EP_SLOT_NATIVE);
		assert_int_equal(WALK->pc, CALLER);
		assert_int_equal(WALK->regs[EP_REG_SP], cfa);
		assert_int_equal(WALK->regs[EP_REG_FP], 0x4444);
		assert_int_equal(count_marks(), 1);
		/* What is above it is nobody's. */
		assert_int_equal(enter(0x9000, NATIVE + 0x800, 0), EP_SLOT_NATIVE);
		assert_int_equal(WALK->core.entered, EP_GIVEN_BACK);
	}
}

EP_TEST_WITH(jit_code_below_a_frame_pointer, begin, NULL)
{
	put_runtime();
	world.state.loop_has_fp = 1;
	world_put(NATIVE + 0x808, CALLER);
	world_put(NATIVE + 0x800, 0x4444);
	assert_int_equal(enter(0x9000, NATIVE + 0x100, NATIVE + 0x800), EP_SLOT_NATIVE);
	assert_int_equal(WALK->regs[EP_REG_SP], NATIVE + 0x810);
	assert_int_equal(WALK->regs[EP_REG_FP], 0x4444);
}

EP_TEST_WITH(code_of_others_is_given_back, begin, NULL)
{
	put_runtime();
	world_put(NATIVE + 0x100 + 56, CALLER + 1);
	assert_int_equal(enter(0x9000, NATIVE + 0x100, 0), EP_SLOT_NATIVE);
	assert_int_equal(WALK->core.entered, EP_GIVEN_BACK);
	assert_int_equal(WALK->pc, 0x9000);
	assert_int_equal(count_marks(), 0);
	assert_int_equal(world.counters[PHP_COUNT_JIT_LOST], 1);
}

/* JIT ─► C ─► execute_ex ─► JIT ─► ..: a loop of two frames. */
EP_TEST_WITH(turns_through_jit_code_need_no_calls, begin, NULL)
{
	uint64_t sp = NATIVE + 0x100;

	put_runtime();
	world_remember(CALLER - 1, 5, -RUNTIME, EP_RULE_IMM(0, 0, 16));
	for (uint32_t i = 0; i < 40; i++, sp += 80) {
		world_put(sp + 56, CALLER);
		world_put(sp + 48, 0x3333 + i);
		world_put(sp + 72, i + 1 < 40 ? 0x9000 : 0);
	}
	assert_int_equal(enter(0x9000, NATIVE + 0x100, 0), ep_self.slot);
	assert_int_equal(world_run(php_unwind), EP_SLOT_FINISH);
	assert_int_equal(count_marks(), 40);
	assert_true(world.n_runs < 15);
}

/* The walk of PHP's frames, after the native one has left the JIT's code. */
static const char *walk_after_jit(uint64_t pc, uint64_t r14, uint64_t r15)
{
	world_begin_sample();
	put_runtime();
	world_put(NATIVE + 0x100 + 56, CALLER);
	enter(0x9000, NATIVE + 0x100, 0);
	WALK->core.entered = 0;
	REC->sample.n_words = 0;
	interrupt(pc, r14, r15);
	return walk_stack();
}

EP_TEST_WITH(leaf_in_jit_code_has_no_line, begin, NULL)
{
	uint64_t at = call(1, 1, 0);

	assert_string_equal(walk_after_jit(0, 0, 0), "user 1\n" MAIN);
	/* r15 may be what it was before. */
	assert_string_equal(walk_after_jit(RUNTIME + 0x100, at, opline(1, 7)), "user 1\n" MAIN);
	/* The loop above it has one; and who has called. */
	assert_string_equal(walk_after_jit(LOOP + 8, at, opline(1, 7)), "user 1 at 7\n" MAIN);
	call(7, NO_INDEX, 0);
	assert_string_equal(walk_after_jit(0x9000, at, 0), "c 7\nuser 1 at 1\n" MAIN);
}

/* --- fibers ----------------------------------------------------------------------------------- */

#define FIBER(i)	(FIBERS + 0x100ull * (i))
#define FIBER_STACK(i)	(FIBERS + 0x1000 + 0x200ull * (i))

/* Fibers 1 to n, each resumed by the next one, the last one by the main stack; the first one
 * runs. */
static void put_fibers(uint32_t n)
{
	put_runtime();
	world_put(GLOBALS + 0x6d0, FIBER(1));
	for (uint32_t i = 1; i <= n + 1; i++) {
		uint64_t handle = i > n ? NATIVE + 0x100 : FIBER_STACK(i) + 0x100;

		world_put(FIBER(i), handle);
		world_put(FIBER(i) + 32, FIBER(i) + 0x80);
		world_put(FIBER(i) + 0x80, FIBER_STACK(i));
		world_put(FIBER(i) + 0x88, 0x200);
		world_put(FIBER(i) + 104, i > n ? 0 : FIBER(i + 1));
		world_put(handle + 8 * CONTEXT_RBP, 0x5550 + i);
		world_put(handle + 8 * CONTEXT_PC, i > n ? RUNTIME + 0x700 : FINISH);
	}
}

EP_TEST_WITH(fiber_ends_where_it_was_resumed, begin, NULL)
{
	for (uint32_t n = 1; n <= 16; n += 15) {
		begin(NULL);
		put_fibers(n);
		/* Whoever is current, the stack is that of the first. */
		assert_int_equal(enter(FINISH, FIBER_STACK(1) + 0x1f8, 0),
				 n > 1 ? ep_self.slot : EP_SLOT_NATIVE);
		while (world.called[0] == ep_self.slot)
			world_step(php_unwind);
		assert_int_equal(WALK->pc, RUNTIME + 0x700);
		assert_int_equal(WALK->regs[EP_REG_SP], NATIVE + 0x100 + 72);
		assert_int_equal(WALK->regs[EP_REG_FP], 0x5550 + n + 1);
		assert_int_equal(scratch.followed, n);
	}
}

EP_TEST_WITH(php_goes_on_as_far_as_the_native_stack, begin, NULL)
{
	call(7, NO_INDEX, 0);
	call(11, NO_INDEX, 0);
	call(1, 1, INFO_TOP);
	put_fibers(1);
	assert_string_equal(walk_stack(), "user 1 entry at 1\n");
	world_begin_sample();
	put_fibers(1);
	enter(FINISH, FIBER_STACK(1) + 0x1f8, 0);
	WALK->core.entered = 0;
	assert_string_equal(walk_stack(), "user 1 entry at 1\nc 7\n" MAIN);
}

EP_TEST_WITH(fiber_that_gives_way_is_not_followed, begin, NULL)
{
	put_fibers(2);
	assert_int_equal(enter(FINISH, FIBER_STACK(2) + 0x1f8, 0), EP_SLOT_NATIVE);
	assert_int_equal(WALK->core.entered, EP_GIVEN_BACK);
	assert_int_equal(scratch.followed, 0);
	begin(NULL);
	put_fibers(1);
	world_put(FIBER(1) + 104, 0);
	assert_int_equal(enter(FINISH, FIBER_STACK(1) + 0x1f8, 0), EP_SLOT_NATIVE);
	assert_int_equal(WALK->core.entered, EP_GIVEN_BACK);
}

EP_TEST_WITH(context_that_does_not_hold_is_an_error, begin, NULL)
{
	for (uint32_t i = 0; i < 3; i++) {
		begin(NULL);
		put_fibers(1);
		world_put(FIBER(1) + 104, i == 0 ? 0x100 : FIBER(2));
		world_put(FIBER(2), i == 1 ? 0x100 : NATIVE + 0x100);
		world_put(NATIVE + 0x100 + 8 * CONTEXT_PC, i == 2 ? 0x1234 : RUNTIME + 0x700);
		assert_int_equal(enter(FINISH, FIBER_STACK(1) + 0x1f8, 0), ep_self.slot);
		assert_int_equal(REC->sample.error, 100 + PHP_ERROR_FIBER);
	}
}

/* --- threads ---------------------------------------------------------------------------------- */

EP_TEST_WITH(globals_are_the_threads, begin, NULL)
{
	world.state.globals_addr = 0;
	world.state.globals_off = 0x40;
	world.state.cache = (struct ep_tls){.steps = 1, .off = {0x10}};
	assert_string_equal(walk_stack(), "");
	assert_int_equal(world.counters[PHP_COUNT_NO_GLOBALS], 1);
	world_begin_sample();
	world.thread_pointer = TP;
	world_add_memory(TP, 0x100);
	world_put(TP + 0x10, GLOBALS - 0x40);
	assert_string_equal(walk_stack(), MAIN);
}

EP_TEST_WITH(what_nobody_has_looked_at_asks_to_be, begin, NULL)
{
	world.state.unproven = 1;
	assert_string_equal(walk_stack(), MAIN);
	assert_true(REC->sample.flags & EP_SAMPLE_REFRESH);
}
