/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The walk of V8's frames (walk_world.h): where code of each kind was interrupted. */
#include "walk_world.h"

EP_TEST_WITH(handler_without_a_frame_is_the_function, begin, NULL)
{
	be_interrupted(BLOB + HANDLER + 8, 0x200);
	world_put(SP, BLOB + IET_RETURN);
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
	WALK->regs[9] = 33 + 63;
	WALK->regs[12] = ARRAY + TAG;
	remember(BLOB + HANDLER + 8, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(),
			    "interpreted interrupted aux 33: 20000440 1001 20000800\n");
	world_check_hash();
}

EP_TEST_WITH(offset_in_a_register_must_be_one, begin, NULL)
{
	static const struct {
		uint64_t array, offset;
	} bad[] = {{ARRAY + TAG, 100 + 63}, {ARRAY + TAG, 62}, {ARRAY + 8 + TAG, 33 + 63}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(state);
		be_interrupted(BLOB + HANDLER + 8, 0x200);
		world_put(SP, BLOB + IET_RETURN);
		put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
		WALK->regs[9] = bad[i].offset;
		WALK->regs[12] = bad[i].array;
		remember(BLOB + HANDLER + 8, RULE_FRAMELESS);
		assert_string_equal(walk_to_native(),
				    "interpreted interrupted aux 17: 20000440 1001 20000800\n");
	}
}

/* A handler's last call is a jump: what it leads to returns to where the handler would. */
EP_TEST_WITH(builtin_that_a_handler_jumps_to_is_shown, begin, NULL)
{
	put_frame(0x100, BLOB + IET_RETURN, 0x180, EXIT << 1);
	put_interpreted_frame(0x180, NATIVE + 0x40, 0x200, 1, 17);
	be_at(BLOB + CENTRY + 0x10, 0x100);
	assert_string_equal(walk_to_native(), "native 5 902810 return address\n"
					      "interpreted aux 17: 20000440 1001 20000800\n");
	begin(state);
	be_interrupted(BLOB + 0x200, 0x200);
	world_put(SP, BLOB + IET_RETURN);
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
	remember(BLOB + 0x200, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900200\n"
					      "interpreted aux 17: 20000440 1001 20000800\n");
}

/* The native unwinder has pushed it: no frame of this run. */
EP_TEST_WITH(handler_is_taken_back_from_the_native_unwinder, begin, NULL)
{
	REC->sample.n_frames = 0;
	ep_push_words(REC, EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, EXECUTABLE), 1, BLOB_VA + HANDLER,
		      0, 0);
	WALK->core.left_at = 2;
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
	be_at(BLOB + IET_RETURN, 0x200);
	assert_string_equal(walk_to_native(),
			    "interpreted interrupted aux 17: 20000440 1001 20000800\n");
	world_check_hash();
	assert_int_equal(WALK->core.left_at, 0);
}

EP_TEST_WITH(builtin_is_stepped_by_its_rows, begin, NULL)
{
	be_interrupted(BLOB + 0x200, 0x200);
	world_put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 1);
	remember(BLOB + 0x200, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900200\n"
					      "compiled: 20000440 1001 30000050\n");
}

EP_TEST_WITH(builtin_without_a_remembered_row_is_given_back, begin, NULL)
{
	be_interrupted(BLOB + 0x200, 0x200);
	world_run(v8_unwind);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	assert_int_equal(WALK->pc, BLOB + 0x200);
}

/* Neither has it rows: it is asked again for the same place. */
EP_TEST_WITH(builtin_without_rows_is_guessed, begin, NULL)
{
	put_call(JIT + 0x50, BLOB + 0x200);
	be_interrupted(BLOB + 0x210, 0x200);
	world_put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 1);
	world_run(v8_unwind);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	REC->sample.n_words = 0;
	REC->sample.error = 0;
	WALK->core.entered = EP_ENTERED;
	assert_string_equal(walk_to_native(), "native 5 900210\n"
					      "compiled: 20000440 1001 30000050\n");
	assert_int_equal(world.counters[V8_COUNT_GUESSED], 1);
}

#define PROLOGUE 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, 0x50, 0x48, 0x83, 0xec, 0x20
#define EPILOGUE 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9, 0x02, 0x7f, 0x03, 0xc2, 0x10, 0x00, \
		 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3

/* Where the return address is, and the function. */
enum { AT_SP, PUSHED, MADE, WHOLE, R10 };

struct leaf {
	const char *label;
	uint8_t code[32];
	uint8_t at; /* the pc */
	uint8_t where, below; /* words to the function below rsp; 0: rdi's, or in its slot */
};

static const struct leaf leaves[] = {
	{"10: is it to be deoptimized?",
	 {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE},
	 0,
	 AT_SP,
	 0},
	{"10: test",
	 {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE},
	 4,
	 AT_SP,
	 0},
	{"10: jnz",
	 {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE},
	 8,
	 AT_SP,
	 0},
	{"10: push rbp",
	 {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE},
	 14,
	 AT_SP,
	 0},
	{"18: jz",
	 {0x48, 0x8b, 0x59, 0xa0, 0xf6, 0x43, 0x0f, 1, 0x74, 5, 0xe9, 1, 2, 3, 4, PROLOGUE},
	 8,
	 AT_SP,
	 0},
	{"18: jmp",
	 {0x48, 0x8b, 0x59, 0xa0, 0xf6, 0x43, 0x0f, 1, 0x74, 5, 0xe9, 1, 2, 3, 4, PROLOGUE},
	 10,
	 AT_SP,
	 0},
	{"12: mov r10",
	 {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x74, 13,   0x49, 0xba,
	  1,	2,    3,    4,	  5,	6,    7,    8, 0x41, 0xff, 0xe2, 0x55},
	 10,
	 AT_SP,
	 0},
	{"12: jmp r10",
	 {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x74, 13,   0x49, 0xba,
	  1,	2,    3,    4,	  5,	6,    7,    8, 0x41, 0xff, 0xe2, 0x55},
	 20,
	 AT_SP,
	 0},
	{"push rbp", {PROLOGUE}, 0, AT_SP, 0},
	{"mov rbp, rsp", {PROLOGUE}, 1, PUSHED, 0},
	{"push rsi", {PROLOGUE}, 4, MADE, 0},
	{"push rdi", {PROLOGUE}, 5, MADE, 0},
	{"push rax", {PROLOGUE}, 6, WHOLE, 0},
	{"sub rsp", {PROLOGUE}, 7, WHOLE, 0},
	{"mov rsp, rbp", {EPILOGUE}, 0, WHOLE, 0},
	{"pop rbp", {EPILOGUE}, 3, WHOLE, 0},
	{"cmp", {EPILOGUE}, 4, AT_SP, 3},
	{"jg", {EPILOGUE}, 8, AT_SP, 3},
	{"ret n", {EPILOGUE}, 10, AT_SP, 3},
	{"pop r10", {EPILOGUE}, 13, AT_SP, 3},
	{"lea rsp", {EPILOGUE}, 15, R10, 4},
	{"push r10", {EPILOGUE}, 19, R10, 4 + 3}, /* rcx is 3 */
	{"ret", {EPILOGUE}, 21, AT_SP, 3 + 3},
	{"8: ret", {0x48, 0x8b, 0xe5, 0x5d, 0xc3}, 4, AT_SP, 3},
	{"Maglev: jg",
	 {0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, 1, 0x0f, 0x8f, 1, 2, 3, 4, 0xc2, 8, 0},
	 8,
	 AT_SP,
	 3},
	{"Maglev: ret n",
	 {0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, 1, 0x0f, 0x8f, 1, 2, 3, 4, 0xc2, 8, 0},
	 14,
	 AT_SP,
	 3},
	{"Sparkplug: xor ebx",
	 {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4},
	 0,
	 AT_SP,
	 0},
	{"Sparkplug: mov r12",
	 {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4},
	 2,
	 AT_SP,
	 0},
	{"Sparkplug: call",
	 {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4},
	 12,
	 AT_SP,
	 0},
	{"Sparkplug: mov ebx",
	 {0xbb, 4, 0, 0, 0, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4},
	 0,
	 AT_SP,
	 0},
	{"Sparkplug 16: call",
	 {0xbb, 4, 0, 0, 0, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0x95},
	 15,
	 AT_SP,
	 0},
};

#define LEAF (JIT + 0x100)

/* rsp at STACK + 0x80; the caller's frame at 0x200. */
static void put_leaf(const struct leaf *leaf)
{
	uint64_t sp = STACK + 0x80;

	world_put_bytes(LEAF, leaf->code, sizeof(leaf->code));
	be_interrupted(LEAF + leaf->at, 0x200);
	WALK->regs[EP_REG_SP] = sp;
	WALK->regs[V8_REG_RCX] = 3;
	WALK->regs[V8_REG_RDI] = leaf->where == WHOLE || leaf->below ? 0x5551 : function_of(1);
	if (leaf->where == AT_SP)
		world_put(sp, JIT + 0x50);
	if (leaf->where == R10)
		WALK->regs[V8_REG_R10] = JIT + 0x50;
	if (leaf->where == PUSHED) {
		world_put(sp, STACK + 0x200);
		world_put(sp + 8, JIT + 0x50);
	}
	if (leaf->where == MADE || leaf->where == WHOLE) {
		put_frame(0x100, JIT + 0x50, 0x200, leaf->where == WHOLE ? CONTEXT : 0x1230);
		world_put(STACK + 0x100 - 16, leaf->where == WHOLE ? function_of(1) : 0x77);
		WALK->regs[EP_REG_FP] = STACK + 0x100;
	}
	if (leaf->below)
		world_put(sp - 8 * leaf->below, function_of(1));
	if (leaf->below)
		world_put(sp - 8 * leaf->below + 8, CONTEXT);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
}

EP_TEST_WITH(interrupted_function_and_its_caller_are_there, begin, NULL)
{
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const struct leaf *leaf = &leaves[i];
		char expected[200];

		begin(state);
		put_leaf(leaf);
		snprintf(expected, sizeof(expected),
			 "%s: compiled%s interrupted: 20000440 1001 %llx\n"
			 "compiled: 20000480 1002 30000050\n",
			 leaf->label, leaf->where == WHOLE ? "" : " register", LEAF + leaf->at);
		walk_to_native();
		memmove(world.text + strlen(leaf->label) + 2, world.text, strlen(world.text) + 1);
		memcpy(world.text, leaf->label, strlen(leaf->label));
		memcpy(world.text + strlen(leaf->label), ": ", 2);
		assert_string_equal(world.text, expected);
	}
}

/* At each instruction of what makes its frame: before it stands, after its push, and when it is
 * made. */
static void check_beginning(const uint8_t *code, size_t bytes, const uint8_t at[4],
			    const char *expected)
{
	for (size_t i = 0; i < 4; i++) {
		struct leaf leaf = {.at = at[i], .where = i == 0 ? AT_SP : i == 1 ? PUSHED : MADE};
		char text[200];

		begin(NULL);
		memcpy(leaf.code, code, bytes);
		put_leaf(&leaf);
		WALK->regs[V8_REG_RSI] = HEAP + 0x300 + TAG;
		snprintf(text, sizeof(text), "%s %llx\ncompiled: 20000480 1002 30000050\n",
			 expected, LEAF + at[i]);
		assert_string_equal(walk_to_native(), text);
	}
}

EP_TEST_WITH(webassembly_that_begins_has_its_instance_in_a_register, begin, NULL)
{
	static const uint8_t code[] = {0x55,	  0x48, 0x89, 0xe5, 0x6a,
				       WASM << 1, 0x56, 0x48, 0x83, 0xec};

	check_beginning(code, sizeof(code), (const uint8_t[]){0, 1, 4, 6},
			"wasm interrupted: 20000300");
}

/* What its frame had is below rsp. */
EP_TEST_WITH(what_ends_is_what_its_frame_was, begin, NULL)
{
	struct leaf leaf = {.code = {EPILOGUE}, .at = 4, .where = AT_SP, .below = 3};

	put_leaf(&leaf);
	world_put(STACK + 0x80 - 16, WASM << 1);
	world_put(STACK + 0x80 - 24, HEAP + 0x300 + TAG);
	assert_string_equal(walk_to_native(), "wasm interrupted: 20000300 30000104\n"
					      "compiled: 20000480 1002 30000050\n");
	begin(state);
	put_leaf(&leaf);
	world.state.flags |= V8_STATE_REGEXP_UNMARKED;
	world_put(STACK + 0x80 - 24, 5);
	assert_string_equal(walk_to_native(), "regexp interrupted: 30000104\n"
					      "compiled: 20000480 1002 30000050\n");
	begin(state);
	put_leaf(&leaf);
	world_put(STACK + 0x80 - 16, 0x12340);
	assert_string_equal(walk_to_native(), "code interrupted: 30000104\n"
					      "compiled: 20000480 1002 30000050\n");
}

EP_TEST_WITH(regexp_code_without_a_type_begins, begin, NULL)
{
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x57, 0x56, 0x52, 0x51};

	check_beginning(code, sizeof(code), (const uint8_t[]){0, 1, 4, 5}, "regexp interrupted:");
}

/* The beginning of a baseline function at LEAF, up to its call of what makes its frame. */
static const uint8_t baseline_code[] = {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5,
					6,    7,    8,	  0xe8, 1, 2, 3, 4};
#define BASELINE_CALLED (LEAF + sizeof(baseline_code))

static void put_baseline_code(void)
{
	world_put_bytes(LEAF, baseline_code, sizeof(baseline_code));
}

/* That call was interrupted before the frame stood; `callee` is what its caller calls. */
static void check_interrupted_prologue(uint64_t callee)
{
	put_baseline_code();
	put_call(JIT + 0x50, callee);
	be_interrupted(BLOB + 0x300, 0x200);
	world_put(SP, BASELINE_CALLED);
	world_put(SP + 8, JIT + 0x50);
	WALK->regs[V8_REG_RDI] = function_of(1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	remember(BLOB + 0x300, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900300\n"
					      "compiled register: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
}

/* BaselineOutOfLinePrologue was interrupted, whose frame is to be its caller's. */
EP_TEST_WITH(baseline_function_is_there_before_its_frame, begin, NULL)
{
	check_interrupted_prologue(LEAF);
}

/* The same, when it is made: what called it is no return address at rsp any more. */
EP_TEST_WITH(baseline_function_is_there_with_its_frame, begin, NULL)
{
	put_baseline_code();
	be_interrupted(BLOB + 0x300, 0x100);
	world_put(SP, BASELINE_CALLED);
	world_put(SP + 8, HEAP + TAG);
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	remember(BLOB + 0x300, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900300\n"
					      "compiled: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
	/* As the native unwinder leaves it: rsp is above rbp. */
	begin(state);
	put_baseline_code();
	be_at(BASELINE_CALLED, 0x100);
	REC->sample.n_frames = 1;
	WALK->regs[EP_REG_SP] = STACK + 0x108;
	WALK->known_regs = EP_KNOWN_ALWAYS;
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	assert_string_equal(walk_to_native(), "compiled: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
}

/* What is there yet of the frame that it makes are rbp and the return address. */
EP_TEST_WITH(baseline_function_is_there_as_its_frame_is_made, begin, NULL)
{
	put_baseline_code();
	be_at(BASELINE_CALLED, 0x100);
	REC->sample.n_frames = 1;
	WALK->regs[EP_REG_SP] = STACK + 0x108;
	WALK->regs[V8_REG_RDI] = function_of(1);
	put_frame(0x100, JIT + 0x50, 0x200, 0x12340);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	assert_string_equal(walk_to_native(), "compiled register: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
}

/* It was called by way of a builtin, which is far from it. */
EP_TEST_WITH(baseline_function_is_there_however_it_was_called, begin, NULL)
{
	check_interrupted_prologue(BLOB + 0x400);
}

static void put_trampoline_leaf(uint32_t off)
{
	put_call(JIT + 0x50, BLOB + IET);
	be_interrupted(BLOB + off, 0x200);
	WALK->regs[EP_REG_SP] = STACK + 0x80;
	WALK->regs[V8_REG_RDI] = function_of(1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
}

#define ENTERED                                                                                    \
	"interpreted register interrupted aux -1: 20000440 1001 0\n"                          \
	"compiled: 20000480 1002 30000050\n"

EP_TEST_WITH(interpreter_that_begins_has_its_function, begin, NULL)
{
	put_trampoline_leaf(IET + 4);
	world_put(STACK + 0x80, JIT + 0x50);
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_PUSH);
	world_put(STACK + 0x80, JIT + 0x50);
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_PUSH + 1);
	world_put(STACK + 0x80, STACK + 0x200);
	world_put(STACK + 0x88, JIT + 0x50);
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_PUSH + 4);
	put_frame(0x100, JIT + 0x50, 0x200, 0x1230);
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_PUSH + 0x20);
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
}

EP_TEST_WITH(interpreter_that_is_left_has_its_function_while_its_frame_stands, begin, NULL)
{
	put_trampoline_leaf(IET_RETURN + 8);
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	remember(BLOB + IET_RETURN + 8, RULE_FRAME);
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_RETURN + 0x20);
	world_put(STACK + 0x80, JIT + 0x50);
	remember(BLOB + IET_RETURN + 0x20, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(),
			    "native 5 9010e0\ncompiled: 20000480 1002 30000050\n");
}

/* It asks for better code first, in a frame of its own: nothing is at rsp. */
EP_TEST_WITH(interpreter_that_asks_has_its_function, begin, NULL)
{
	put_trampoline_leaf(IET + 0x20);
	put_frame(0x100, JIT + 0x50, 0x200, INTERNAL << 1);
	world_put(STACK + 0x100 - 16, function_of(1));
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state); /* 12: the number of arguments is before it */
	put_trampoline_leaf(IET + 0x20);
	put_frame(0x100, JIT + 0x50, 0x200, INTERNAL << 1);
	world_put(STACK + 0x100 - 16, smi(2));
	world_put(STACK + 0x100 - 24, function_of(1));
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
}

EP_TEST_WITH(interpreter_that_calls_has_its_function, begin, NULL)
{
	uint64_t fp = put_frame(0x100, BLOB + IET_PUSH + 0x30, 0x180, EXIT << 1);

	world_put(fp - 16, STACK + 0x80);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 1);
	be_at(BLOB + CENTRY + 0x10, 0x100);
	assert_string_equal(walk_to_native(), "native 5 902810 return address\n"
					      "interpreted register aux -1: 20000440 1001 0\n");
}

EP_TEST_WITH(heap_builtin_without_a_frame_is_guessed, begin, NULL)
{
	world.state.flags |= V8_STATE_HEAP_BUILTINS;
	put_call(JIT + 0x50, JIT + 0x300);
	world_put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	be_interrupted(JIT + 0x310, 0x200);
	assert_string_equal(walk_to_native(), "code interrupted: 30000310\n"
					      "compiled: 20000480 1002 30000050\n");
	assert_int_equal(world.counters[V8_COUNT_GUESSED], 1);
}

/* What lies at rsp is old: that call leads elsewhere. */
EP_TEST_WITH(heap_builtin_is_not_called_by_a_call_of_another, begin, NULL)
{
	world.state.flags |= V8_STATE_HEAP_BUILTINS;
	put_call(JIT + 0x50, JIT + 0x800);
	world_put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	be_interrupted(JIT + 0x310, 0x200);
	assert_string_equal(walk_to_native(), "compiled interrupted: 20000480 1002 30000310\n");
}
