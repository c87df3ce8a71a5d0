/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of managed frames (dotnet_unwind.bpf.c), compiled for user space, over the runtime that
 * unit/made_dotnet.h makes up. Frames are reported as "KIND: WHERE OFFSET".
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/dotnet/dotnet_unwind.bpf.c"

#define WORLD_STATE struct dotnet_state
#include "bpf/rule.h"
#include "core/base/util.h"
#include "plugins/dotnet/tests/unit/made_dotnet.h"
#include "tests/kit/world.h"

#define SLOT   7u
#define STACK  0x7f1000000000ull
#define SP     (STACK + 0x100)
#define FP     (STACK + 0x200)
#define NATIVE 0x500000ull /* remembered nowhere */
#define UNWIND (MADE_START + 0x100 - MADE_CODE) /* in the code, of the first method */

static struct made_dotnet made;

static void put_unwind(uint32_t at, uint32_t prologue, uint32_t frame, const uint16_t *slots, uint32_t n)
{
	const uint8_t head[] = {1, (uint8_t)prologue, (uint8_t)n, (uint8_t)frame};

	memcpy(made.code + at, head, sizeof(head));
	memcpy(made.code + at + 4, slots, 2 * n);
}

/* A slot: after which byte, what, with which number. */
#define CODE(off, op, info) ((uint16_t)((off) | (op) << 8 | (info) << 12))
/* push rbp; sub rsp, 20h; lea rbp, [rsp + 20h]: the last one has no code */
static const uint16_t usual[] = {CODE(5, 2, 3), CODE(1, 0, 5)};

static int begin_of(uint32_t major)
{
	static struct dotnet_scratch scratch;
	static struct dotnet_known memo[1u << DOTNET_MEMO_SHIFT];
	void *instance;

	made_init(&made, major);
	assert_int_equal(dotnet_attach(&made.exe, &made.host.target, &instance), 0);
	dotnet_detach(instance);
	world_begin(SLOT, DOTNET_MAX_FRAMES_PER_RUN);
	world_add_memory(STACK, 4096);
	fake_memory_add(&world.memory, MADE_DATA, made.data, sizeof(made.data));
	fake_memory_add(&world.memory, MADE_CODE, made.code, sizeof(made.code));
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world_add_map("&dotnet_known", memo, sizeof(memo[0]), 1u << DOTNET_MEMO_SHIFT);
	world.state = made.state;
	put_unwind(UNWIND, 5, 0, usual, 2);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_of(10);
}

static void begin_sample(uint64_t pc, bool interrupted)
{
	world_begin_sample();
	WALK->core.entered = EP_ENTERED;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->return_address = !interrupted;
	WALK->interrupted = interrupted;
	WALK->pc = pc;
	WALK->regs[EP_REG_SP] = SP;
	WALK->regs[EP_REG_FP] = FP;
}

/* A word is in what was made up; aux is an offset, or a kind of stub. */
static void say_frame(uint64_t header, const __u64 *words)
{
	static const char *const kinds[] = {"jit", "collectible", "r2r", "stub"};
	uint32_t kind = DOTNET_FRAME(EP_FRAME_FLAGS(header)), aux = EP_FRAME_AUX(header);
	uint64_t start = words[0];

	if (start >= MADE_CODE)
		world_add_text("%s: code+%llx %x\n", kinds[kind], (unsigned long long)(start - MADE_CODE), aux);
	else
		world_add_text("%s: image+%llx %x\n", kinds[kind], (unsigned long long)(start - MADE_IMAGE), aux);
}

/* Walks until native code is to be walked, which is at NATIVE; its sp and fp are compared. */
static const char *walk(uint64_t sp, uint64_t fp)
{
	assert_int_equal(world_run(dotnet_unwind), EP_SLOT_NATIVE);
	assert_int_equal(WALK->pc, NATIVE);
	assert_int_equal(WALK->regs[EP_REG_SP], sp);
	assert_int_equal(WALK->regs[EP_REG_FP], fp);
	world_check_hash();
	return world_say(say_frame);
}

static void put_code(uint64_t at, const void *bytes, size_t n)
{
	memcpy(made.code + (at - MADE_CODE), bytes, n);
}

EP_TEST_WITH(a_frame_is_walked_by_its_unwind_codes, begin, NULL)
{
	begin_sample(MADE_START + 0x30, false);
	world_put(SP + 0x20, 0x1111);
	world_put(SP + 0x28, NATIVE);
	assert_string_equal(walk(SP + 0x30, 0x1111), "jit: code+40 2f\n");
	/* Once more: what is remembered needs one read, of the stack. */
	begin_sample(MADE_START + 0x30, false);
	world.memory.n_reads = 0;
	assert_int_equal(world_run(dotnet_unwind), EP_SLOT_NATIVE);
	assert_string_equal(world_say(say_frame), "jit: code+40 2f\n");
	assert_int_equal(WALK->regs[EP_REG_SP], SP + 0x30);
	/* and what asks about native code: the range map, to its first empty entry */
	assert_in_range(world.memory.n_reads, 1, 1 + DOTNET_MAP_LEVELS);
}

/* Another process, in which the same address is something else. */
EP_TEST_WITH(what_is_remembered_is_of_a_process, begin, NULL)
{
	static const uint16_t none[1];

	begin_sample(MADE_START + 0x30, false);
	world_put(SP + 0x28, NATIVE);
	walk(SP + 0x30, 0);
	put_unwind(UNWIND, 0, 0, none, 0);
	begin_sample(MADE_START + 0x30, false);
	REC->sample.image = 1;
	world_put(SP, NATIVE);
	assert_string_equal(walk(SP + 8, FP), "jit: code+40 2f\n");
}

/* Where it is interrupted before its first instruction, after push rbp, and after all of it. */
EP_TEST_EACH(a_prologue_is_undone_as_far_as_it_was_done, int, i, 3)
{
	static const uint32_t offs[] = {0, 1, 0x20};
	static const char *const said[] = {"jit: code+40 0\n", "jit: code+40 1\n", "jit: code+40 20\n"};

	begin(NULL);
	world_put(SP, i == 1 ? 0x1111 : NATIVE);
	world_put(SP + 8, i == 1 ? NATIVE : 0);
	world_put(SP + 0x20, 0x1111);
	world_put(SP + 0x28, i == 2 ? NATIVE : 0);
	begin_sample(MADE_START + offs[i], true);
	assert_string_equal(walk(SP + (i == 0 ? 8 : i == 1 ? 0x10 : 0x30), i ? 0x1111 : FP), said[i]);
}

/* JIT_StackProbe is called in it. */
EP_TEST_WITH(a_caller_may_be_in_its_prologue, begin, NULL)
{
	put_unwind(UNWIND, 0x40, 0, usual, 2);
	begin_sample(MADE_START + 3, false);
	world_put(SP, 0x1111);
	world_put(SP + 8, NATIVE);
	assert_string_equal(walk(SP + 0x10, 0x1111), "jit: code+40 2\n");
}

struct epilogue {
	const char *bytes;
	uint32_t len;
	uint64_t sp, fp; /* of the caller: offsets to SP, or to FP where is_fp */
	bool is_fp;
};

/* At each of its instructions the return address is where these lead. */
static const struct epilogue epilogues[] = {
	{"\x48\x83\xc4\x20\x5d\xc3", 6, 0x30, 0x20, false},
	{"\x5d\xc3", 2, 0x10, 0, false},
	{"\xc3", 1, 8, UINT64_MAX, false},
	{"\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3", 9, 0x10, 0, true},		      /* lea rsp, [rbp-10h] */
	{"\xc5\xf8\x77\x48\x81\xc4\x20\0\0\0\x5d\xff\x25\0\0\0\0", 17, 0x30, 0x20, false}, /* jmp [rip] */
	{"\x5d\x48\xff\xe0", 4, 0x10, 0, false},				      /* rex.W jmp rax */
	{"\x5d\xe9\0\x10\0\0", 6, 0x10, 0, false},				      /* jmp out of it */
	/* None: a jump within, a switch: its frame is there */
	{"\x5d\xeb\x10", 3, 0x30, 0x20, false},
	{"\xff\xe0", 2, 0x30, 0x20, false},
};

EP_TEST_EACH(an_epilogue_is_read_forward, int, i, (int)EP_LEN(epilogues))
{
	const struct epilogue *epilogue = &epilogues[i];
	uint64_t base = epilogue->is_fp ? FP : SP;

	begin(NULL);
	put_code(MADE_START + 0x50, epilogue->bytes, epilogue->len);
	world_put(base + epilogue->sp - 8, NATIVE);
	if (epilogue->fp != UINT64_MAX)
		world_put(base + epilogue->fp, 0x2222);
	begin_sample(MADE_START + 0x50, true);
	assert_string_equal(walk(base + epilogue->sp, epilogue->fp == UINT64_MAX ? FP : 0x2222), "jit: code+40 50\n");
}

/*
 * Code of on-stack replacement: what the frame that it took over has done stands at offset 0, and its
 * own registers are saved by moves. A frame register, and one whose offset takes two slots more.
 */
EP_TEST_WITH(codes_of_all_kinds_are_understood, begin, NULL)
{
	static const uint16_t osr[] = {CODE(0x18, 4, 3), 13, CODE(9, 2, 3), CODE(5, 2, 0), CODE(0, 2, 10), CODE(0, 0, 5)};
	static const uint16_t set[] = {CODE(8, 3, 0), CODE(5, 1, 0), 0x100 / 8, CODE(1, 0, 5)};
	static const uint16_t far[] = {CODE(8, 11, 3), 0x2, 0, CODE(5, 1, 1), 0x800, 0, CODE(1, 0, 5)};

	put_unwind(UNWIND, 0x18, 0, osr, 6);
	begin_sample(MADE_START + 0x30, false);
	world_put(SP + 0x80, 0x1111);
	world_put(SP + 0x88, NATIVE);
	assert_string_equal(walk(SP + 0x90, 0x1111), "jit: code+40 2f\n");
	begin(NULL);
	put_unwind(UNWIND, 8, 5 | 1 << 4, set, 4);
	begin_sample(MADE_START + 0x30, false);
	world_put(FP - 0x10 + 0x100, 0x1111);
	world_put(FP - 0x10 + 0x108, NATIVE);
	assert_string_equal(walk(FP - 0x10 + 0x110, 0x1111), "jit: code+40 2f\n");
	begin(NULL);
	put_unwind(UNWIND, 8, 5 | 15 << 4, far, 7);
	begin_sample(MADE_START + 0x30, false);
	world_put(FP - 0x20 + 0x800, 0x1111);
	world_put(FP - 0x20 + 0x808, NATIVE);
	assert_string_equal(walk(FP - 0x20 + 0x810, 0x1111), "jit: code+40 2f\n");
}

/* Codes that nobody has seen, or that cannot be read: rbp, and the frame after says so. */
EP_TEST_WITH(what_is_not_understood_is_a_guess, begin, NULL)
{
	static const uint16_t unknown[] = {CODE(1, 10, 0)};

	put_unwind(UNWIND, 1, 0, unknown, 1);
	begin_sample(MADE_START + 0x30, false);
	world_put(FP, 0x1111);
	world_put(FP + 8, NATIVE);
	assert_string_equal(walk(FP + 0x10, 0x1111), "jit: code+40 2f\n");
	assert_int_equal(WALK->by_pointer, 1);
	assert_int_equal(world.counters[DOTNET_COUNT_POINTER], 1);
	begin_sample(MADE_START + 0x30, false);
	WALK->regs[EP_REG_FP] = 5;
	world_run(dotnet_unwind);
	assert_int_equal(REC->sample.error, WORLD_FIRST_ERROR + DOTNET_ERROR_UNWIND);
}

/* From 10 on a word that a method fills says where it begins. */
EP_TEST_WITH(both_nibble_maps_are_read, begin, NULL)
{
	made_code(&made, 0, MADE_CODE + 0x380, 0x900);
	put_unwind(0x380 + 0x900, 5, 0, usual, 2);
	memset(made.data + AT_NIBBLES, 0, 16);
	memcpy(made.code + 0x38, made.code + 0x378, 8);
	made_nibble(&made, 0x380);
	begin_sample(MADE_CODE + 0xb30, false);
	world_put(SP + 0x28, NATIVE);
	assert_string_equal(walk(SP + 0x30, 0), "jit: code+380 7af\n");
	made_int(&made, AT_NIBBLES + 4 * 0xb, 0x380 | (9 + 0));
	memset(made.data + AT_NIBBLES, 0, 16);
	REC->sample.image++;
	begin_sample(MADE_CODE + 0xb34, false);
	assert_string_equal(walk(SP + 0x30, 0), "jit: code+380 7b3\n");
}

/* In the same 32 bytes, after the address. */
EP_TEST_WITH(a_method_that_begins_later_is_another_one, begin, NULL)
{
	made_nibble(&made, 0x74);
	begin_sample(MADE_CODE + 0x68, false);
	world_put(SP + 0x28, NATIVE);
	assert_string_equal(walk(SP + 0x30, 0), "jit: code+40 27\n");
}

EP_TEST_WITH(code_of_an_image_is_found_in_its_table, begin, NULL)
{
	const uint64_t unwind = MADE_IMAGE - MADE_DATA + 0x700;

	made_int(&made, AT_FUNCTIONS + 8, 0x700);
	made.data[unwind] = 1;
	made.data[unwind + 1] = 1;
	made.data[unwind + 2] = 1;
	made.data[unwind + 5] = 0x50; /* push rbp, of offset 0 */
	begin_sample(MADE_IMAGE + MADE_FUNCTION + 0x10, false);
	world_put(SP, 0x1111);
	world_put(SP + 8, NATIVE);
	assert_string_equal(walk(SP + 0x10, 0x1111), "r2r: image+400 f\n");
	/* After it is nothing. */
	begin_sample(MADE_IMAGE + MADE_FUNCTION + 0x41, false);
	world_run(dotnet_unwind);
	assert_int_equal(REC->sample.error, WORLD_FIRST_ERROR + DOTNET_ERROR_CODE);
}

/* A composite of a program with all its libraries: Bicep's has 532 852 functions. */
EP_TEST_WITH(the_last_of_many_functions_is_found, begin, NULL)
{
	static uint32_t functions[600000][3];
	const uint64_t at = 0x7f3000000000ull, n = EP_LEN(functions);

	functions[n - 1][0] = MADE_FUNCTION;
	functions[n - 1][1] = MADE_FUNCTION + 0x40;
	functions[n - 1][2] = 0x700;
	fake_memory_add(&world.memory, at, functions, sizeof(functions));
	made_word(&made, AT_INFO + made.layout.r2r_functions, at);
	made_int(&made, AT_INFO + made.layout.r2r_n_functions, (uint32_t)n);
	made.data[MADE_IMAGE - MADE_DATA + 0x700] = 1;
	begin_sample(MADE_IMAGE + MADE_FUNCTION + 0x10, false);
	world_put(SP, NATIVE);
	assert_string_equal(walk(SP + 8, FP), "r2r: image+400 f\n");
}

/* A resolve stub has pushed a word; what called it is after a call. */
EP_TEST_WITH(a_stub_has_its_return_address_at_rsp_or_above, begin, NULL)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	uint64_t kind = 7;

	put_code(MADE_START + 0x60, call, sizeof(call));
	put_code(MADE_OTHER - 8, &kind, 8);
	begin_sample(MADE_OTHER + 4, true);
	world_put(SP, 0x1234);
	world_put(SP + 8, MADE_START + 0x65);
	world_put(SP + 0x10 + 0x28, NATIVE);
	assert_string_equal(walk(SP + 0x40, 0), "stub: code+204 7\njit: code+40 64\n");
}

/* What it has pushed leads into stubs: these call nobody. */
EP_TEST_WITH(a_stubs_caller_is_no_stub, begin, NULL)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	uint64_t kind = 7;

	made_int(&made, AT_RANGES + 0x80 + made.layout.range_flags, DOTNET_RANGE_STUBS);
	made_put(&made, MADE_IMAGE - MADE_DATA + 0x1000, call, sizeof(call));
	put_code(MADE_START + 0x60, call, sizeof(call));
	put_code(MADE_OTHER - 8, &kind, 8);
	begin_sample(MADE_OTHER + 4, true);
	world_put(SP, MADE_IMAGE + 0x1005);
	world_put(SP + 8, MADE_START + 0x65);
	world_put(SP + 0x10 + 0x28, NATIVE);
	assert_string_equal(walk(SP + 0x40, 0), "stub: code+204 7\njit: code+40 64\n");
}

/* Executable memory in no range: a helper of the runtime, if managed code called it. */
EP_TEST_WITH(memory_of_no_range_is_a_stub_that_managed_code_called, begin, NULL)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	put_code(MADE_START + 0x60, call, sizeof(call));
	begin_sample(0x123456000ull, true);
	world_put(SP, MADE_START + 0x65);
	world_put(SP + 8 + 0x28, NATIVE);
	assert_string_equal(walk(SP + 0x38, 0), "stub: code+e3456000 10\njit: code+40 64\n");
	begin_sample(0x123456000ull, true);
	world_put(SP, NATIVE);
	assert_int_equal(world_run(dotnet_unwind), EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	assert_int_equal(REC->sample.n_frames, 0);
}

/* What native code calls a method by has that one's return address at rsp, at each of its
 * instructions. */
EP_TEST_EACH(an_entry_of_no_range_is_known_by_its_bytes, int, i, 4)
{
	static const uint8_t entry[] = {0x49, 0xba, 0, 0, 0, 0, 0, 0, 0,    0,	  0x48, 0xb8,
					0,    0,    0, 0, 0, 0, 0, 0, 0x48, 0xff, 0xe0};
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	static uint8_t code[64];
	const uint64_t at = 0x123456000ull, after = at + sizeof(code) - 8;

	begin(NULL);
	memcpy(code, entry, sizeof(entry));
	code[22] = i < 3 ? 0xe0 : 0xe1; /* jmp rcx */
	memcpy(code + sizeof(code) - 8 - sizeof(call), call, sizeof(call));
	fake_memory_add(&world.memory, at, code, sizeof(code));
	begin_sample(at + 10 * (i % 3), true);
	world_put(SP, after);
	assert_int_equal(world_run(dotnet_unwind), EP_SLOT_NATIVE);
	assert_int_equal(REC->sample.n_frames, i < 3);
	assert_int_equal(WALK->pc, i < 3 ? after : at);
}

/* The check is the one that naming makes, of each kind of method. */
EP_TEST_EACH(collectible_code_is_checked, int, i, 2)
{
	const struct dotnet_reader reader = {{fake_memory_read, &made.host.memory}, &made.layout, 0};
	uint64_t start = i ? MADE_OTHER : MADE_START;

	begin(NULL);
	made_int(&made, AT_RANGES + made.layout.range_flags, DOTNET_RANGE_HEAP | DOTNET_RANGE_COLLECTIBLE);
	put_unwind((uint32_t)(start - MADE_CODE) + (i ? 0x80 : 0x100), 5, 0, usual, 2);
	begin_sample(start + 0x30, false);
	world_put(SP + 0x28, NATIVE);
	assert_string_equal(walk(SP + 0x30, 0), i ? "collectible: code+200 2f\n" : "collectible: code+40 2f\n");
	assert_int_equal(REC->words[2], dotnet_method_check(&reader, made_method(&made, (uint32_t)i)));
}

/* Nothing is remembered of such code: all of its frames are looked up, in as few runs. */
EP_TEST_WITH(one_run_looks_up_many_frames, begin, NULL)
{
	static const uint16_t none[1];
	const uint32_t depth = DOTNET_MAX_FRAMES_PER_RUN - 1;

	made_int(&made, AT_RANGES + made.layout.range_flags, DOTNET_RANGE_HEAP | DOTNET_RANGE_COLLECTIBLE);
	put_unwind(UNWIND, 0, 0, none, 0);
	begin_sample(MADE_START + 0x30, false);
	for (uint32_t i = 0; i < depth; i++)
		world_put(SP + 8 * i, i + 1 < depth ? MADE_START + 0x30 : NATIVE);
	world_run(dotnet_unwind);
	assert_int_equal(WALK->pc, NATIVE);
	assert_int_equal(REC->sample.n_frames, depth);
	assert_int_equal(WALK->core.tail_calls, 1);
}

/* --- funclets -------------------------------------------------------------------------------------------- */

#define FUNCLET	    (MADE_START + 0x80) /* of the first method: its second function */
#define RUN_FUNCLET (NATIVE + 0x100)	/* remembered: the runtime, after its call of a funclet */

/* The first method gets a funclet without a frame, whose handler or filter is at its start. */
static void put_funclet(uint32_t handler)
{
	static const uint16_t none[1];
	const uint64_t header = AT_HEADER, clauses = AT_HEADER + 0x80;

	made_int(&made, header + made.layout.header_n_unwinds, 2);
	made_int(&made, header + made.layout.header_unwinds + 4, 0x80);
	made_int(&made, header + made.layout.header_unwinds + 12, 0x80);
	made_int(&made, header + made.layout.header_unwinds + 16, 0x100);
	made_int(&made, header + made.layout.header_unwinds + 20, 0x120);
	put_unwind(UNWIND + 0x20, 0, 0, none, 0);
	made_word(&made, header + made.layout.header_eh, MADE_DATA + clauses);
	made_int(&made, clauses - 8, 2);
	made_int(&made, clauses + 8 + 12, 0xa0);
	made_int(&made, clauses + 8 + 32 + 12, handler);
}

/* A funclet that native code has called. Who threw has saved rbp and kept it: it is the method's there, too. */
static void put_thrower(void)
{
	static const uint16_t saved[] = {CODE(1, 0, 5)};

	put_unwind((uint32_t)(MADE_OTHER - MADE_CODE) + 0x80, 1, 0, saved, 1);
	world_remember(RUN_FUNCLET - 1, 5, -NATIVE, EP_RULE_IMM(0, 0, 16));
	begin_sample(FUNCLET + 0x10, false);
	world_put(SP, RUN_FUNCLET);
	world_put(SP + 0x10, MADE_OTHER + 0x10); /* at sp + 16 of the runtime's frame */
	world_put(SP + 0x18, SP + 0x48);
	world_put(SP + 0x20, MADE_START + 0x30);
	/* The method's frame: rbp leads into it. */
	WALK->regs[EP_REG_FP] = SP + 0x48;
	world_put(SP + 0x48, 0x1111);
	world_put(SP + 0x50, NATIVE);
}

/* By the clauses of JIT code, or by the place of the runtime that calls it. */
EP_TEST_EACH(frames_below_a_funclet_are_dead, int, by_clause, 2)
{
	begin(NULL);
	put_funclet(by_clause ? 0x80 : 0x90);
	if (!by_clause)
		world.state.funclet = RUN_FUNCLET;
	put_thrower();
	assert_string_equal(walk(SP + 0x58, 0x1111), "jit: code+40 8f\n");
	assert_int_equal(REC->sample.n_frames, 1);
	/* As it is remembered. */
	put_thrower();
	assert_string_equal(walk(SP + 0x58, 0x1111), "jit: code+40 8f\n");
}

/* Interrupted before it has set rbp. */
EP_TEST_WITH(a_funclet_may_have_begun_just_now, begin, NULL)
{
	put_funclet(0x80);
	put_thrower();
	WALK->pc = FUNCLET + 4;
	WALK->regs[EP_REG_FP] = 0x3333;
	WALK->interrupted = 1;
	WALK->return_address = 0;
	world_remember(RUN_FUNCLET - 1, 5, -NATIVE, EP_RULE_IMM(0, 2, 16));
	world_put(SP + 8, SP + 0x48);
	assert_string_equal(walk(SP + 0x58, 0x1111), "jit: code+40 84\n");
}

/* Interrupted at its ret: what it has popped is the runtime's rbp again. */
EP_TEST_WITH(a_funclet_may_have_restored_rbp, begin, NULL)
{
	static const uint8_t ret[] = {0xc3};

	put_funclet(0x80);
	put_thrower();
	put_code(FUNCLET + 0x18, ret, sizeof(ret));
	WALK->pc = FUNCLET + 0x18;
	WALK->regs[EP_REG_FP] = 0x3333;
	WALK->interrupted = 1;
	WALK->return_address = 0;
	world_remember(RUN_FUNCLET - 1, 5, -NATIVE, EP_RULE_IMM(0, 2, 16));
	world_put(SP + 8, SP + 0x48);
	assert_string_equal(walk(SP + 0x58, 0x1111), "jit: code+40 98\n");
}

EP_TEST_WITH(a_filters_thrower_is_alive, begin, NULL)
{
	put_funclet(0x90);
	put_thrower();
	assert_string_equal(walk(SP + 0x58, 0x1111), "jit: code+40 8f\nnative 5 100 return address\n"
						     "jit: code+200 f\njit: code+40 2f\n");
}

/* The method is of an image of 8 or 9, and a funclet is a function of its own: by its code, and its personality routine. */
static void put_image_funclet(uint32_t personality)
{
	const uint64_t image = MADE_IMAGE - MADE_DATA;
	static const uint8_t head[] = {1, 5, 2, 0}, none[] = {1, 0, 0, 0}, sets_fp[] = {0x48, 0x8b, 0x6f, 0x10};

	made_int(&made, AT_FUNCTIONS + 8, 0x700);
	made_put(&made, image + 0x700, head, sizeof(head));
	made_put(&made, image + 0x704, usual, sizeof(usual));
	made_int(&made, image + 0x708, 0x111);
	made_int(&made, AT_FUNCTIONS + 20, 0x720);
	made_put(&made, image + 0x720, none, sizeof(none));
	made_int(&made, image + 0x724, personality);
	made_put(&made, image + MADE_FUNCLET, sets_fp, sizeof(sets_fp));
	put_thrower();
	WALK->pc = MADE_IMAGE + MADE_FUNCLET + 0x10;
	world_put(SP + 0x20, MADE_IMAGE + MADE_FUNCTION + 0x30);
}

EP_TEST_WITH(frames_below_a_funclet_of_an_image_are_dead, begin, NULL)
{
	put_image_funclet(0x111);
	assert_string_equal(walk(SP + 0x58, 0x1111), "r2r: image+480 f\n");
	put_image_funclet(0x111);
	assert_string_equal(walk(SP + 0x58, 0x1111), "r2r: image+480 f\n");
}

EP_TEST_WITH(the_thrower_of_an_images_filter_is_alive, begin, NULL)
{
	put_image_funclet(0x119);
	assert_string_equal(walk(SP + 0x58, 0x1111), "r2r: image+480 f\nnative 5 100 return address\n"
						     "jit: code+200 f\nr2r: image+400 2f\n");
}

/* --- a thread's Thread ------------------------------------------------------------------------------------- */

#define THREAD (MADE_DATA + 0xe000)
#define FRAME  (SP + 0x80)

static void put_thread(void)
{
	world.thread_pointer = THREAD + 0x400;
	world.state.thread = (struct ep_tls){.steps = 1, .off = {0}};
	made_word(&made, THREAD + 0x400 - MADE_DATA, THREAD);
	made_int(&made, THREAD - MADE_DATA + world.state.thread_id, 77);
	made_word(&made, THREAD - MADE_DATA + world.state.thread_frame, FRAME);
}

EP_TEST_WITH(a_return_address_that_suspension_replaced_is_in_the_thread, begin, NULL)
{
	put_thread();
	world.state.trip = NATIVE + 0x800;
	made_word(&made, THREAD - MADE_DATA + world.state.thread_hijacked, NATIVE);
	made_word(&made, THREAD - MADE_DATA + world.state.thread_hijacked + 8, SP + 0x28);
	begin_sample(MADE_START + 0x30, false);
	world_put(SP + 0x28, NATIVE + 0x800);
	assert_string_equal(walk(SP + 0x30, 0), "jit: code+40 2f\n");
	assert_int_equal(world.counters[DOTNET_COUNT_HIJACKED], 1);
	/* It is of another word. */
	made_word(&made, THREAD - MADE_DATA + world.state.thread_hijacked + 8, SP + 0x30);
	begin_sample(MADE_START + 0x30, false);
	world_run(dotnet_unwind);
	assert_int_equal(REC->sample.error, WORLD_FIRST_ERROR + DOTNET_ERROR_HIJACKED);
}

static void put_call(uint64_t frame, uint64_t sp, uint64_t pc, uint64_t fp)
{
	world_put(frame + world.state.call_sp, sp);
	world_put(frame + world.state.call_pc, pc);
	world_put(frame + world.state.call_fp, fp);
}

static void check_resumed(uint64_t pc, uint64_t sp, uint64_t fp)
{
	WALK->core.entered = EP_FAILED;
	world_run(dotnet_unwind);
	assert_int_equal(world.entered[0], EP_RESUMED);
	assert_int_equal(WALK->next_pc, pc);
	assert_int_equal(WALK->next_sp, sp);
	assert_int_equal(WALK->next_fp, fp);
	assert_int_equal(world.counters[DOTNET_COUNT_RESUMED], 1);
}

/* The innermost Frame may be of no call. */
EP_TEST_WITH(a_walk_without_rules_goes_on_at_the_last_call, begin, NULL)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	put_code(MADE_START + 0x60, call, sizeof(call));
	put_thread();
	world_put(FRAME + world.state.frame_next, FRAME + 0x100);
	put_call(FRAME + 0x100, SP + 0x60, MADE_START + 0x65, 0x2222);
	begin_sample(NATIVE, true);
	check_resumed(MADE_START + 0x65, SP + 0x60, 0x2222);
}

/* Native code without rules again and again: each time the next call that is not passed. */
EP_TEST_WITH(a_walk_without_rules_goes_on_at_each_call, begin, NULL)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	put_code(MADE_START + 0x60, call, sizeof(call));
	put_thread();
	for (uint64_t i = 0; i < 12; i++) {
		world_put(FRAME + 0x40 * i + world.state.frame_next, FRAME + 0x40 * (i + 1));
		put_call(FRAME + 0x40 * i, FRAME + 0x40 * i, MADE_START + 0x65, 0x2222 + i);
	}
	begin_sample(NATIVE, true);
	for (uint64_t i = 0; i < 12; i++) {
		WALK->core.entered = EP_FAILED;
		world_run(dotnet_unwind);
		assert_int_equal(WALK->next_sp, FRAME + 0x40 * i);
		assert_int_equal(WALK->next_fp, 0x2222 + i);
		WALK->regs[EP_REG_SP] = WALK->next_sp;
	}
}

EP_TEST_WITH(a_walk_without_rules_goes_on_behind_a_helper, begin, NULL)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	put_code(MADE_START + 0x60, call, sizeof(call));
	put_thread();
	world_put(FRAME + 0x10, FRAME + 0x40);
	world_put(FRAME + 0x40 + 0x58, 0x2222);
	world_put(FRAME + 0x40 + 0x60, MADE_START + 0x65);
	begin_sample(NATIVE, true);
	check_resumed(MADE_START + 0x65, FRAME + 0xa8, 0x2222);
}

/* Not after a call; below the stack; the chain's end; no thread of the runtime. */
EP_TEST_EACH(a_call_that_cannot_be_is_not_gone_on_at, int, i, 4)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	begin(NULL);
	put_code(MADE_START + 0x60, call, sizeof(call));
	put_thread();
	put_call(FRAME, i == 1 ? SP - 8 : SP + 0x60, MADE_START + (i == 0 ? 0x66 : 0x65), 0x2222);
	world_put(FRAME + world.state.frame_next, UINT64_MAX);
	if (i == 2)
		made_word(&made, THREAD - MADE_DATA + world.state.thread_frame, UINT64_MAX);
	if (i == 3)
		made_int(&made, THREAD - MADE_DATA + world.state.thread_id, 0);
	begin_sample(NATIVE, true);
	WALK->core.entered = EP_FAILED;
	world_run(dotnet_unwind);
	assert_int_equal(world.entered[0], EP_FAILED);
}
