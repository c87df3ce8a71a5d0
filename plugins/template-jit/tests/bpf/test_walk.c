/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF program, compiled for user space, over blocks in pages that are made up here: which
 * frames a pc has, where their caller is, and tables that do not hold.
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/template-jit/jit_unwind.bpf.c"

#define WORLD_STATE struct jit_state
#include "core/base/util.h"
#include "tests/kit/world.h"

#define SLOT   6u
#define BLOCK  0x40000000ull
#define CODE   (BLOCK + 0x400)
#define STACK  0x7f0000000000ull
#define NATIVE 0x500000ull /* remembered nowhere */

/* As in tests/programs/jit.h. */
struct jit_block {
	uint64_t magic, unique_id, function;
	uint32_t bytes, kind, code_off, code_bytes, pcs_off, n_pcs, scopes_off, n_scopes,
		frame_bytes, pad;
};
struct jit_pc {
	uint32_t code_off, depth, line;
	uint16_t scope, flags;
};
struct jit_scope {
	uint64_t function;
	uint32_t caller, line;
};
#define FP_DEPTH     8
#define ANCHOR_DEPTH 64

/* The outermost function, and three that are inlined into each other at these lines. */
static const struct jit_scope scopes[] = {
	{0x1000, JIT_NO_SCOPE, 0}, {0x2000, 0, 20}, {0x3000, 1, 31}, {0x4000, 2, 42}};
static const struct jit_pc pcs[] = {
	{0x00, 0, 10, 0, 0},
	{0x10, 16, 11, 0, 0},
	{0x20, 32, 53, 3, 0},
	{0x30, 8, 45, 2, 0},
	{0x40, 64, 12, 0, JIT_PC_FP_SAVED},
};

#define AT(type, field) offsetof(struct jit_##type, field)

static int begin(void **state)
{
	static struct jit_scratch scratch;
	const struct jit_block block = {.magic = JIT_MAGIC,
					.code_off = 0x400,
					.code_bytes = 0x50,
					.pcs_off = 0x100,
					.n_pcs = EP_LEN(pcs),
					.scopes_off = 0x200,
					.n_scopes = EP_LEN(scopes)};

	world_begin(SLOT, JIT_MAX_FRAMES_PER_RUN);
	world_add_memory(BLOCK, JIT_PAGE_BYTES);
	world_add_memory(STACK, 512);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world_put_bytes(BLOCK, &block, sizeof(block));
	world_put_bytes(BLOCK + 0x100, pcs, sizeof(pcs));
	world_put_bytes(BLOCK + 0x200, scopes, sizeof(scopes));
	world.state = (struct jit_state){.anywhere = 1,
					 .block_code_off = AT(block, code_off),
					 .block_code_bytes = AT(block, code_bytes),
					 .block_pcs_off = AT(block, pcs_off),
					 .block_n_pcs = AT(block, n_pcs),
					 .block_scopes_off = AT(block, scopes_off),
					 .block_n_scopes = AT(block, n_scopes),
					 .pc_code_off = AT(pc, code_off),
					 .pc_depth = AT(pc, depth),
					 .pc_line = AT(pc, line),
					 .pc_scope = AT(pc, scope),
					 .pc_flags = AT(pc, flags),
					 .scope_function = AT(scope, function),
					 .scope_caller = AT(scope, caller),
					 .scope_line = AT(scope, line),
					 .fp_depth = FP_DEPTH,
					 .anchor_depth = ANCHOR_DEPTH};
	WALK->core.entered = EP_ENTERED;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->regs[EP_REG_SP] = STACK;
	WALK->regs[EP_REG_FP] = 0xf9;
	return 0;
}

static void say_frame(uint64_t header, const __u64 *words)
{
	for (uint32_t i = 0; i < EP_FRAME_WORDS(header); i++)
		world_add_text("%s%llx:%u", i ? " " : "", JIT_FUNCTION(words[i]),
			       JIT_LINE(words[i]));
	world_add_text("\n");
}

static const char *walk_at(uint64_t pc, bool return_address)
{
	WALK->pc = pc;
	WALK->return_address = return_address;
	WALK->interrupted = !return_address;
	assert_int_equal(world_run(jit_unwind), EP_SLOT_NATIVE);
	return world_say(say_frame);
}

EP_TEST(frames_are_what_the_tables_say)
{
	static const struct {
		uint64_t off;
		bool return_address;
		const char *frames;
		uint64_t slot;
	} rows[] = {
		{0x00, false, "1000:10\n", 0},
		{0x0f, false, "1000:10\n", 0},
		{0x10, false, "1000:11\n", 16},
		{0x10, true, "1000:10\n", 0},
		{0x20, false, "4000:53 3000:42 2000:31\n1000:20\n", 32},
		{0x30, true, "4000:53 3000:42 2000:31\n1000:20\n", 32},
		{0x30, false, "3000:45 2000:31 1000:20\n", 8},
		{0x4f, false, "1000:12\n", 64},
		{0x50, true, "1000:12\n", 64},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		begin(NULL);
		world_put(STACK + rows[i].slot, NATIVE);
		world_put(STACK + 64 - FP_DEPTH, 0xc0);
		assert_string_equal(walk_at(CODE + rows[i].off, rows[i].return_address),
				    rows[i].frames);
		assert_int_equal(WALK->pc, NATIVE);
		assert_int_equal(WALK->regs[EP_REG_SP], STACK + rows[i].slot + 8);
		assert_int_equal(WALK->regs[EP_REG_FP], rows[i].slot == 64 ? 0xc0 : 0xf9);
		assert_int_equal(WALK->return_address, 1);
		assert_int_equal(WALK->interrupted, 0);
		world_check_hash();
	}
}

EP_TEST_WITH(callers_are_walked_in_the_same_run, begin, NULL)
{
	world_put(STACK, CODE + 0x30);
	world_put(STACK + 8 + 32, CODE + 0x11);
	world_put(STACK + 8 + 32 + 8 + 16, NATIVE);
	assert_string_equal(walk_at(CODE, false),
			    "1000:10\n4000:53 3000:42 2000:31\n1000:20\n1000:11\n");
	assert_int_equal(world.n_runs, 1);
}

EP_TEST_WITH(code_of_nobody_is_given_back, begin, NULL)
{
	assert_string_equal(walk_at(CODE + 0x50, false), "");
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	begin(NULL);
	world_put(BLOCK, 0); /* freed */
	assert_string_equal(walk_at(CODE, false), "");
}

EP_TEST(tables_that_do_not_hold_end_the_stack)
{
	static const struct {
		uint64_t at, value;
		const char *frames;
	} rows[] = {
		{BLOCK + AT(block, n_pcs), 0, "error 100\n"},
		{BLOCK + AT(block, n_pcs), JIT_MAX_PCS + 1, "error 100\n"},
		{BLOCK + AT(block, n_scopes), 3, "error 100\n"},
		{BLOCK + 0x200 + AT(scope, caller), 0,
		 "4000:53 3000:42 2000:31\n1000:20 1000:0 1000:0\nerror 100\n"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		begin(NULL);
		world_put_int(rows[i].at, (uint32_t)rows[i].value);
		WALK->pc = CODE + 0x20;
		WALK->interrupted = 1;
		(void)world_run(jit_unwind);
		assert_string_equal(world_say(say_frame), rows[i].frames);
	}
}
