/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of a VM's stack (ruby_unwind.bpf.c), compiled for user space, over one that is made up
 * here, as 3.3 makes them. A stack is compared as text, a frame a line:
 *
 *	CODE [in METHOD] [entry] [at INDEX]	code, method: numbers
 *	c METHOD [entry]			a C function
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/ruby/ruby_unwind.bpf.c"

#include "bpf/rule.h"

#define WORLD_STATE struct ruby_state
#include "core/base/util.h"
#include "tests/kit/world.h"

#define SLOT	 3u
#define HEAP	 0x20000000ull
#define CONTEXT	 (HEAP + 0x100)
#define THREAD	 (HEAP + 0x200)
#define VM	 (HEAP + 0x300)
#define COLLECTOR (HEAP + 0x400)
#define METHODS	 (HEAP + 0x1000) /* 0x80 bytes each: entry, definition */
#define CODES	 (HEAP + 0x4000) /* 0x100 bytes each: iseq, body */
#define STACK	 (HEAP + 0x10000)
#define STACK_BYTES 0x40000ull
#define NATIVE	 0x7000000ull /* a native stack */
#define RUNTIME	 0x600000ull
#define CFP_BYTES 56
#define PC	 0x900000ull /* of the code: its first instruction */
#define TP	 0x5000ull

#define METHOD 0x11110003u
#define BLOCK  0x22220001u
#define CFUNC  0x55550083u
#define IFUNC  0x66660081u
#define EVAL   0x77770001u
#define RESCUE 0x78880001u
#define DUMMY  0x79990083u
#define FINISH 0x20u

static struct ruby_scratch scratch;
static uint64_t cfp, top; /* the innermost control frame, the end of environments */

static uint64_t method(uint32_t i)
{
	return i ? METHODS + 0x80ull * i : 0;
}

static uint64_t code(uint32_t i)
{
	return i ? CODES + 0x100ull * i : 0;
}

static void put_method(uint32_t i, uint64_t serial)
{
	world_put(method(i), 0x1a | IMEMO_METHOD << IMEMO_SHIFT);
	world_put(method(i) + 8 * METHOD_DEF, method(i) + 0x40);
	world_put(method(i) + 8 * METHOD_CALLED, 0x100 + i);
	world_put(method(i) + 0x40 + 8 * DEF_ORIGINAL, 0x100 + i);
	world_put(method(i) + 0x40 + 8 * DEF_SERIAL, serial);
}

static void put_code(uint32_t i, uint32_t type)
{
	uint64_t body = code(i) + 0x40;

	world_put(code(i) + ISEQ_BODY, body);
	world_put_int(body, type);
	world_put_int(body + 4, 100);
	world_put(body + 8, PC + 0x1000ull * i);
	world_put(body + 88, 10 * i);
	world_put(body + 112, 0x77000 + i);
}

/* An environment of its own, with what says the method; the frame in it at instruction `index`. */
static uint64_t push_frame(uint32_t flags, uint32_t i, uint64_t object, uint64_t previous,
			   uint32_t index)
{
	uint64_t ep = top + 0x20;

	top = ep + 8;
	world_put(ep - 16, object);
	world_put(ep - 8, previous);
	world_put(ep, flags);
	cfp -= CFP_BYTES;
	world_put(cfp + 8 * CF_PC, i ? PC + 0x1000ull * i + 8 * index : 0);
	world_put(cfp + 8 * CF_ISEQ, code(i));
	world_put(cfp + 8 * CF_EP, ep);
	world_put(CONTEXT + EC_CFP, cfp);
	return ep;
}

static uint64_t push_method(uint32_t flags, uint32_t i)
{
	return push_frame(METHOD | flags, i, method(i), 0, i);
}

/* Eight methods and their code, the stack's dummy, and a main program: code 9, without a method. */
static int begin(void **state)
{
	(void)state;
	world_begin(SLOT, 40);
	world_add_memory(HEAP, 0x60000);
	world_add_memory(NATIVE, 0x1000);
	world_add_memory(RUNTIME, 0x1000);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world.thread_pointer = TP;
	world_add_memory(TP, 0x100);
	world_put(TP + 0x10, CONTEXT);
	world.state = (struct ruby_state){
		.ec = {.steps = 1, .off = {0x10}},
		.vm_addr = VM,
		.code_start = RUNTIME,
		.code_end = RUNTIME + 0x1000,
		.objspace_off = 0x18,
		.collector_off = 0x14,
		.collector_bit = 5,
		.thread_off = 0x30,
		.blocking_off = 0xa8,
		.cfp_bytes = CFP_BYTES,
		.cfp_jit_return = 48,
		.body_info = 112,
		.def_serial = 40,
	};
	world_put(VM, VM + 8);
	world_put(VM + 8 + 0x18, COLLECTOR);
	world_put(CONTEXT + EC_STACK, STACK);
	world_put(CONTEXT + EC_SIZE, STACK_BYTES / 8);
	world_put(CONTEXT + 0x30, THREAD);
	for (uint32_t i = 1; i <= 9; i++) {
		put_method(i, 1000 + i);
		put_code(i, 1);
	}
	cfp = STACK + STACK_BYTES;
	top = STACK;
	push_frame(DUMMY | FINISH, 0, 0, 0, 0);
	push_frame(EVAL | FINISH, 9, 0, 0, 3);
	return 0;
}

#define MAIN "9 entry at 3\n"

static void say_frame(uint64_t header, const __u64 *words)
{
	uint32_t aux = EP_FRAME_AUX(header), kind = ruby_kind(aux);
	uint64_t body = ruby_address(words[0]),
		 entry = kind < RUBY_KIND_COLLECTOR ? ruby_address(words[1]) : 0;

	assert_int_equal(EP_FRAME_WORDS(header), kind < RUBY_KIND_COLLECTOR ? 2 : 1);
	if (kind == RUBY_KIND_COLLECTOR)
		world_add_text("collector %llu", words[0]);
	else if (kind == RUBY_KIND_UNREADABLE)
		world_add_text("unreadable");
	else if (kind == RUBY_KIND_CFUNC)
		world_add_text("c %u", (unsigned)((entry - METHODS) / 0x80));
	else
		world_add_text("%u", (unsigned)((body - CODES) / 0x100));
	if (kind == RUBY_KIND_ISEQ && entry)
		world_add_text(" in %u", (unsigned)((entry - METHODS) / 0x80));
	world_add_text(EP_FRAME_FLAGS(header) & EP_FRAME_ENTRY ? " entry" : "");
	if (kind == RUBY_KIND_ISEQ && ruby_index(aux) != RUBY_NO_INDEX)
		world_add_text(" at %u", ruby_index(aux));
	world_add_text("\n");
}

static const char *walk_stack(void)
{
	assert_int_equal(world_run(ruby_unwind), EP_SLOT_FINISH);
	return world_say(say_frame);
}

/* --- frames and entries ----------------------------------------------------------------------- */

EP_TEST_WITH(groups_end_at_what_c_called, begin, NULL)
{
	uint64_t ep = push_method(0, 1);

	push_frame(CFUNC, 0, method(2), 0, 0);
	push_frame(BLOCK | FINISH, 3, 0, ep | 1, 7);
	push_method(0, 4);
	assert_string_equal(walk_stack(),
			    "4 in 4 at 4\n3 in 1 entry at 7\nc 2\n1 in 1 at 1\n" MAIN);
}

EP_TEST_WITH(c_functions_behind_the_last_entry_belong_to_it, begin, NULL)
{
	begin(NULL);
	cfp = STACK + STACK_BYTES;
	push_frame(DUMMY | FINISH, 0, 0, 0, 0);
	push_frame(IFUNC, 0, 0, 0, 0);
	push_frame(CFUNC, 0, method(1), 0, 0);
	push_frame(CFUNC, 0, method(2), 0, 0);
	push_frame(BLOCK | FINISH, 3, 0, 0, 7);
	push_frame(CFUNC, 0, method(4), 0, 0);
	push_method(FINISH, 5);
	assert_string_equal(walk_stack(), "5 in 5 entry at 5\nc 4\n3 at 7\nc 2\nc 1 entry\n");
}

EP_TEST_WITH(blocks_in_c_and_what_has_no_pc_are_no_frames, begin, NULL)
{
	push_frame(IFUNC | FINISH, 4, 0, 0, 0);
	push_frame(METHOD | FINISH, 5, method(5), 0, 0);
	world_put(cfp + 8 * CF_PC, 0);
	push_frame(DUMMY | FINISH, 6, 0, 0, 0);
	push_method(0, 1);
	assert_string_equal(walk_stack(), "1 in 1 at 1\n" MAIN);
}

/* No instruction has stored its pc: whether it runs how many calls of rb_vm_exec there are
 * tells. */
EP_TEST_WITH(what_c_may_not_have_called_yet_is_in_doubt, begin, NULL)
{
	push_frame(BLOCK | FINISH, 2, 0, 0, 0);
	assert_string_equal(walk_stack(), "2 entry at 0\n" MAIN);
	assert_true(REC->words[0] & EP_FRAME_DOUBTFUL);
	begin(NULL);
	push_frame(BLOCK | FINISH, 2, 0, 0, 1);
	assert_string_equal(walk_stack(), "2 entry at 1\n" MAIN);
	assert_false(REC->words[0] & EP_FRAME_DOUBTFUL);
	/* What Ruby calls is there before its first instruction: no moment is its caller's. */
	begin(NULL);
	push_frame(METHOD, 2, method(2), 0, 0);
	assert_string_equal(walk_stack(), "2 in 2 at 0\n" MAIN);
	assert_false(REC->words[0] & EP_FRAME_DOUBTFUL);
}

EP_TEST_WITH(what_is_half_made_is_no_frame, begin, NULL)
{
	for (int i = 1; i < 6; i++) {
		begin(NULL);
		push_frame(i & 1 ? CFUNC : METHOD, i & 1 ? 0 : 2, i < 3 ? 0 : method(2), 0,
			   i == 4 ? 101 : 1);
		if (i == 3)
			world_put(cfp + 8 * CF_EP, 0x100);
		if (i == 5)
			world_put(cfp + 48, 0x1234);
		assert_string_equal(walk_stack(), i == 5 ? "c 2\n" MAIN : MAIN);
		world_begin_sample();
		push_method(0, 1);
		assert_int_equal(world_run(ruby_unwind), EP_SLOT_FINISH);
		assert_int_equal(REC->sample.n_frames, 3);
	}
}

EP_TEST_WITH(what_is_made_and_cannot_be_read_says_so, begin, NULL)
{
	push_frame(CFUNC, 0, method(2), 0, 0);
	world_put(cfp + 8 * CF_EP, 0x7f0000001000);
	assert_string_equal(walk_stack(), "unreadable\n" MAIN);
	world_begin_sample();
	cfp += CFP_BYTES;
	push_frame(METHOD, 2, 0x7f0000001000, 0, 1);
	assert_string_equal(walk_stack(), "2 at 1\n" MAIN);
}

/* It may be freed in a moment, wherever in the stack it is. */
EP_TEST_WITH(stack_with_an_eval_is_kept, begin, NULL)
{
	for (uint32_t i = 1; i < 4; i++) {
		begin(NULL);
		put_code(i, TYPE_EVAL);
		push_method(0, 1);
		push_method(0, 2);
		walk_stack();
		assert_int_equal(!!(REC->sample.flags & EP_SAMPLE_KEEP), i < 3);
	}
}

EP_TEST_WITH(clause_stands_for_its_method, begin, NULL)
{
	uint64_t ep = push_method(FINISH, 1);

	push_frame(RESCUE, 2, 0, ep, 5);
	assert_string_equal(walk_stack(), "2 in 1 entry at 5\n" MAIN);
	world_begin_sample();
	/* One in another, and C functions that it calls. */
	push_frame(RESCUE, 3, 0, ep, 6);
	push_frame(CFUNC, 0, method(4), 0, 0);
	assert_string_equal(walk_stack(), "c 4\n3 in 1 entry at 6\n" MAIN);
}

/* --- methods ---------------------------------------------------------------------------------- */

EP_TEST_WITH(method_is_up_the_chain_of_environments, begin, NULL)
{
	uint64_t ep = push_method(0, 1), svar = HEAP + 0x800, cref = HEAP + 0x840;

	world_put(svar, 0x1a | IMEMO_SVAR << IMEMO_SHIFT);
	world_put(svar + 8, method(2));
	world_put(cref, 0x1a | 1 << IMEMO_SHIFT);
	ep = push_frame(BLOCK, 3, cref, ep | 1, 1); /* instance_eval */
	push_frame(BLOCK, 4, 0, ep | 3, 2);
	ep = push_frame(METHOD, 5, svar, 0, 3);
	ep = push_frame(BLOCK | 0x40, 6, method(7), ep | 1, 4); /* define_method */
	push_frame(BLOCK, 8, 0, ep | 1, 5);
	assert_string_equal(walk_stack(),
			    "8 in 7 at 5\n6 in 7 at 4\n5 in 2 at 3\n4 in 1 at 2\n3 in 1 at 1\n"
			    "1 in 1 at 1\n" MAIN);
}

EP_TEST_WITH(chain_without_an_end_ends, begin, NULL)
{
	uint64_t ep = push_frame(BLOCK, 3, 0, 0, 1);

	world_put(ep - 8, ep | 1);
	ep = push_frame(BLOCK, 4, 0, 0x100, 2);
	push_method(0, 1);
	assert_string_equal(walk_stack(), "1 in 1 at 1\n4 at 2\n3 at 1\n" MAIN);
	assert_int_equal(REC->sample.error, 0);
}

static uint32_t reads_of_blocks(uint32_t n)
{
	uint64_t ep;

	begin(NULL);
	ep = push_method(0, 1);
	for (uint32_t i = 0; i < n; i++)
		ep = push_frame(BLOCK, 2, 0, ep | 1, 1);
	world_run(ruby_unwind);
	assert_int_equal(REC->sample.n_frames, n + 2);
	assert_int_equal(REC->sample.error, 0);
	return world.memory.n_reads;
}

EP_TEST_WITH(nothing_is_read_twice, begin, NULL)
{
	uint32_t few = reads_of_blocks(4), many = reads_of_blocks(60);

	/* 56 levels: control frames by sixteen, environments by 512 bytes. */
	assert_true(many - few <= 56 * CFP_BYTES / (16 * CFP_BYTES) + 56 * 0x28 / 512 + 2);
}

EP_TEST_WITH(thousand_frames_are_whole, begin, NULL)
{
	uint32_t reads;

	for (uint32_t i = 0; i < 1000; i++)
		push_method(0, 1 + i % 8);
	world_run(ruby_unwind);
	assert_int_equal(REC->sample.error, 0);
	assert_int_equal(REC->sample.n_frames, 1001);
	assert_true(world.n_runs <= EP_MAX_TAIL_CALLS);
	reads = world.memory.n_reads;
	assert_true(reads < 1000 / 16 + 1000 * 0x28 / 512 + 9 * 4 + 16);
}

/* --- what tells one from another -------------------------------------------------------------- */

static uint64_t check_of_leaf(void)
{
	world_begin_sample();
	walk_stack();
	return ruby_check(REC->words[1], REC->words[2]);
}

EP_TEST_WITH(check_tells_what_comes_later, begin, NULL)
{
	uint64_t before, body = code(1) + 0x40;

	push_method(0, 1);
	before = check_of_leaf();
	assert_int_equal(check_of_leaf(), before);
	put_method(1, 2000);
	assert_int_not_equal(check_of_leaf(), before);
	put_method(1, 1001);
	world_put(body + 96, 77);
	assert_int_not_equal(check_of_leaf(), before);
	world_put(body + 96, 0);
	world_put(body + 16, 77); /* parameters: ruby2_keywords changes them */
	world_put(body + 72, 77); /* names: compaction moves them */
	assert_int_equal(check_of_leaf(), before);
}

/* --- threads ---------------------------------------------------------------------------------- */

EP_TEST_WITH(global_is_of_the_thread_that_has_the_lock, begin, NULL)
{
	world.state.ec = (struct ep_tls){0};
	world.state.ec_addr = HEAP + 0x10;
	world.state.thread_id_off = 72;
	world_put(HEAP + 0x10, CONTEXT);
	world_put(THREAD + 72, TP);
	assert_string_equal(walk_stack(), MAIN);
	world_begin_sample();
	world_put(THREAD + 72, TP + 8);
	assert_string_equal(walk_stack(), "");
	assert_int_equal(world.counters[RUBY_COUNT_NO_CONTEXT], 1);
}

EP_TEST_WITH(collector_is_a_frame_of_who_has_the_lock, begin, NULL)
{
	world_put_int(COLLECTOR + 0x14, 1 << 5 | RUBY_SWEEPING);
	assert_string_equal(walk_stack(), "collector 2\n" MAIN);
	world_begin_sample();
	world_put(THREAD + 0xa8, 1);
	assert_string_equal(walk_stack(), MAIN);
	world_begin_sample();
	world_put(THREAD + 0xa8, 0);
	world_put_int(COLLECTOR + 0x14, RUBY_MARKING);
	assert_string_equal(walk_stack(), MAIN);
}

EP_TEST_WITH(what_nobody_has_looked_at_must_be_likely, begin, NULL)
{
	world.state.unproven = 1;
	assert_string_equal(walk_stack(), MAIN);
	assert_true(REC->sample.flags & EP_SAMPLE_REFRESH);
	world_begin_sample();
	world_put(CONTEXT + EC_CFP, cfp + 8);
	assert_string_equal(walk_stack(), "");
	assert_int_equal(REC->sample.error, 0);
	world_begin_sample();
	world.state.unproven = 0;
	assert_string_equal(walk_stack(), "error 100\n");
	/* Whole frames, and more of them than the stack holds. */
	world_begin_sample();
	world_put(CONTEXT + EC_CFP,
		  STACK + STACK_BYTES - (STACK_BYTES / CFP_BYTES + 1) * CFP_BYTES);
	assert_string_equal(walk_stack(), "error 100\n");
}

/* --- what cannot be read ---------------------------------------------------------------------- */

EP_TEST_WITH(frame_that_cannot_be_read_says_so, begin, NULL)
{
	push_method(0, 1);
	push_method(0, 2);
	world_put(cfp + 8 * CF_ISEQ, 0x100);
	push_method(0, 3);
	world_put(cfp + 8 * CF_EP, 0x100);
	push_method(0, 4);
	assert_string_equal(walk_stack(),
			    "4 in 4 at 4\nunreadable\nunreadable\n1 in 1 at 1\n" MAIN);
}

EP_TEST_WITH(stack_that_cannot_be_read_is_an_error, begin, NULL)
{
	world_put(CONTEXT + EC_STACK, 0x1000);
	world_put(CONTEXT + EC_CFP, 0x1000 + STACK_BYTES - CFP_BYTES);
	assert_string_equal(walk_stack(), "error 100\n");
}

EP_TEST_WITH(more_than_can_be_walked_is_said, begin, NULL)
{
	for (uint32_t i = 0; i < 2000; i++)
		push_frame(IFUNC, 0, 0, 0, 0);
	world_run(ruby_unwind);
	assert_int_equal(REC->sample.error, 100 + RUBY_ERROR_DEEP);
}

/* --- code that a JIT made --------------------------------------------------------------------- */

EP_TEST_WITH(leaf_in_jit_code_has_no_line, begin, NULL)
{
	push_method(0, 1);
	world_put(cfp + 48, 0x1234);
	push_method(0, 2);
	world_put(cfp + 48, 0x1234);
	assert_string_equal(walk_stack(), "2 in 2\n1 in 1 at 1\n" MAIN);
	world_begin_sample();
	push_frame(CFUNC, 0, method(3), 0, 0);
	assert_string_equal(walk_stack(), "c 3\n2 in 2 at 2\n1 in 1 at 1\n" MAIN);
}

/* YJIT stores no pc in a frame that it calls until something may look at it. */
EP_TEST_WITH(leaf_in_jit_code_may_have_no_pc, begin, NULL)
{
	push_method(0, 1);
	world_put(cfp + 8 * CF_PC, 0);
	world_put(cfp + 48, 0x1234);
	assert_string_equal(walk_stack(), "1 in 1\n" MAIN);
	world_begin_sample();
	world_put(cfp + 48, 0);
	assert_string_equal(walk_stack(), MAIN);
	for (int i = 0; i < 2; i++) {
		world_begin_sample();
		world_put(cfp + 8 * CF_PC, i ? PC : 0); /* of another one */
		scratch.sequence = WALK->sequence;
		memset((char *)&scratch + 8, 0, offsetof(struct ruby_scratch, chains) - 8);
		scratch.left_jit = 1;
		assert_string_equal(walk_stack(), "1 in 1\n" MAIN);
	}
}

static uint32_t leave(uint32_t at, uint64_t addr)
{
	world_put(NATIVE + 0x100 + 8 * at, addr);
	WALK->core.entered = EP_ENTERED;
	WALK->pc = 0x9000;
	WALK->regs[EP_REG_SP] = NATIVE + 0x100;
	WALK->regs[EP_REG_FP] = 0x1111;
	return world_step(ruby_unwind);
}

EP_TEST_WITH(jit_code_is_left_to_who_called_it, begin, NULL)
{
	static const uint32_t places[] = {3, 5, 0, 9};

	for (size_t i = 0; i < EP_LEN(places); i++) {
		begin(NULL);
		world_put_bytes(RUNTIME + 0x100, "\xff\xd0", 2); /* call *%rax */
		world_put(NATIVE + 0x100 + 8, RUNTIME + 0x200);	 /* no call before it */
		world_put(NATIVE + 0x100 + 24, 0x2222);
		world_put(NATIVE + 0x100 + 32, 0x2222);
		assert_int_equal(leave(places[i], RUNTIME + 0x102), EP_SLOT_NATIVE);
		assert_int_equal(WALK->pc, RUNTIME + 0x102);
		assert_int_equal(WALK->regs[EP_REG_SP], NATIVE + 0x108 + 8 * places[i]);
		/* With --yjit-perf it has a frame pointer. */
		assert_int_equal(WALK->regs[EP_REG_FP], places[i] == 5 ? 0x2222 : 0x1111);
		assert_int_equal(WALK->core.entered, EP_ENTERED);
	}
}

#define JIT	   0x9000ull
#define CORE	   (RUNTIME + 0x102) /* what called the JIT's code */
#define EXEC	   (RUNTIME + 0x400) /* rb_vm_exec */
#define YIELD	   (RUNTIME + 0x602)
#define EXECUTABLE 5u

/* JIT ─► core ─► rb_vm_exec ─► rb_yield ─► JIT ─► ...: 10 words each. */
static void put_turns(uint32_t n)
{
	const struct ep_row row = {
		.start = RUNTIME, .end = RUNTIME + 0x1000, .va = 0x1000, .executable = EXECUTABLE};
	uint64_t sp = NATIVE + 0x100;

	world_put_rows(&row, 1);
	world_put_bytes(CORE - 2, "\xff\xd0", 2);
	world_remember(CORE - 1, EXECUTABLE, -RUNTIME, EP_RULE_IMM(0, 0, 16));
	world_remember(YIELD - 1, EXECUTABLE, -RUNTIME, EP_RULE_IMM(0, 0, 16));
	world.state.exec_start = EXEC;
	world.state.exec_end = EXEC + 0x100;
	world.state.exec_frame = 16;
	world.state.exec_saved = 16;
	for (uint32_t i = 0; i < n; i++, sp += 80) {
		world_put(sp + 24, CORE);
		world_put(sp + 40, EXEC + 0x20);
		world_put(sp + 48, 0x3333 + i); /* rbp */
		world_put(sp + 56, YIELD);
		world_put(sp + 72, i + 1 < n ? JIT : 0);
	}
}

EP_TEST_WITH(turns_through_jit_code_need_no_calls, begin, NULL)
{
	uint32_t marks = 0;

	put_turns(40);
	assert_int_equal(leave(3, CORE), ep_self.slot);
	WALK->core.slots[0] = (uint8_t)SLOT;
	assert_int_equal(world_run(ruby_unwind), EP_SLOT_FINISH);
	assert_true(world.n_runs < 20);
	for (uint32_t at = 0; at < REC->sample.n_words; at += 1 + EP_FRAME_WORDS(REC->words[at]))
		marks += EP_FRAME_KIND(REC->words[at]) == EP_FRAME_NATIVE &&
			 EP_FRAME_FLAGS(REC->words[at]) >> EP_FRAME_SLOT_SHIFT == SLOT;
	assert_int_equal(marks, 40);
	assert_true(WALK->core.pending == 0);
	assert_int_equal(WALK->regs[EP_REG_FP], 0x3333 + 39);
}

EP_TEST_WITH(code_of_others_is_given_back, begin, NULL)
{
	assert_int_equal(leave(3, RUNTIME + 0x102), EP_SLOT_NATIVE);
	assert_int_equal(WALK->core.entered, EP_GIVEN_BACK);
	assert_int_equal(world.counters[RUBY_COUNT_JIT_LOST], 1);
}
