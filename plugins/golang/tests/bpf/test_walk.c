/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The changes of stacks (golang_unwind.bpf.c), compiled for user space: over a thread, a goroutine
 * and their stacks that are made up here. What is as it should be is in the fixtures of each
 * release (tests/replay); here is what none of them has.
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/golang/golang_unwind.bpf.c"

#define WORLD_STATE struct go_state
#include "bpf/rule.h"
#include "tests/kit/world.h"

#define SLOT	   7u
#define GOROUTINE  0x1000000ull /* its stack: below the other, then sp falls */
#define SYSTEM	   0x7f0000000000ull
#define HEAP	   0x20000000ull
#define THREAD	   0x30000000ull /* fs base; the g is 8 below */
#define CODE	   0x400000ull
#define EXECUTABLE 5u
#define STACK_BYTES 4096

/* Structures in the heap. */
#define M    (HEAP + 0x400)
#define CURG (HEAP + 0x800)

/* Code. */
#define SYSTEMSTACK (CODE + 0x100)
#define MORESTACK   (CODE + 0x200)
#define ASMCGOCALL  (CODE + 0x300)
#define CGOCALLBACK (CODE + 0x400)
#define CALLER	    (CODE + 0x800) /* remembered: CFA rsp + 16 */
#define NATIVE	    (CODE + 0x900) /* not remembered */
#define ROOT	    (CODE + 0xa00) /* remembered: nothing called it */

static void put_goroutine(uint64_t sp, uint64_t pc, uint64_t bp)
{
	const struct go_offsets *offsets = &world.state.offsets;

	world_put(THREAD - 8, HEAP + 0x100); /* g0 */
	world_put(HEAP + 0x100 + offsets->g_m, M);
	world_put(M + offsets->m_curg, CURG);
	world_put(CURG, GOROUTINE);
	world_put(CURG + 8, GOROUTINE + STACK_BYTES);
	world_put(CURG + offsets->g_m, M);
	world_put(CURG + offsets->g_sched_sp, sp);
	world_put(CURG + offsets->g_sched_sp + 8, pc);
	world_put(CURG + offsets->g_sched_bp, bp);
}

static void put_state(void)
{
	static const uint64_t starts[] = {SYSTEMSTACK, MORESTACK, ASMCGOCALL, CGOCALLBACK};

	world.state = (struct go_state){
		.g = {.steps = 1, .off = {-8}},
		.offsets = {.g_m = 48, .g_sched_sp = 56, .g_sched_bp = 96, .m_curg = 184},
		.frame_bytes = 8,
	};
	for (uint32_t i = 0; i < 4; i++)
		world.state.codes[i] = (struct go_code){starts[i], 0x80, i + 1};
}

static int begin(void **state)
{
	static struct go_scratch scratch;
	const struct ep_row row = {.start = CODE,
				   .end = CODE + 0x1000,
				   .va = 0,
				   .executable =
					   EXECUTABLE | SLOT << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER};

	world_begin(SLOT, GO_MAX_FRAMES_PER_RUN);
	world.thread_pointer = THREAD;
	world_add_memory(GOROUTINE, STACK_BYTES);
	world_add_memory(SYSTEM, STACK_BYTES);
	world_add_memory(HEAP, STACK_BYTES);
	world_add_memory(THREAD - 16, 32);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world_put_rows(&row, 1);
	put_state();
	WALK->core.entered = EP_ENTERED;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->return_address = 1;
	WALK->regs[EP_REG_SP] = SYSTEM + 0x100;
	WALK->regs[EP_REG_FP] = SYSTEM + 0x800;
	REC->sample.n_frames = 1;
	world_remember(CALLER, EXECUTABLE, -CODE, EP_RULE_IMM(0, 0, 16));
	world_remember(ROOT, EXECUTABLE, -CODE, EP_RULE_STOP);
	return 0;
}

static void say_frame(uint64_t header, const __u64 *words)
{
	fail_msg("a frame of its own: %llx", (unsigned long long)header);
}

/* A frame of native code, as the world says it. */
#define AT(va)	   "native 5 " #va "\n"
#define RET(va)	   "native 5 " #va " return address\n"

/* Runs it at pc; `to`: the program that it goes on with. */
static void run_at(uint64_t pc, const char *frames, uint32_t to)
{
	WALK->pc = pc;
	assert_int_equal(world_step(golang_unwind), to);
	assert_string_equal(world_say(say_frame), frames);
}

static void gives_back(uint64_t pc)
{
	run_at(pc, "", EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	assert_int_equal(world.counters[GO_COUNT_REFUSED], 1);
	assert_int_equal(world.counters[GO_COUNT_SWITCHES], 0);
}

static void is_caller(uint64_t pc, uint64_t sp, uint64_t fp)
{
	assert_int_equal(WALK->pc, pc);
	assert_int_equal(WALK->regs[EP_REG_SP], sp);
	assert_int_equal(WALK->regs[EP_REG_FP], fp);
	assert_int_equal(WALK->return_address, 1);
	assert_int_equal(WALK->known_regs, EP_KNOWN_ALWAYS);
	assert_int_equal(world.counters[GO_COUNT_SWITCHES], 1);
	assert_int_equal(WALK->core.switches, 1);
}

EP_TEST_WITH(morestack_was_called_where_the_goroutine_says, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0xabc0);
	run_at(MORESTACK + 9, RET(209), EP_SLOT_NATIVE);
	is_caller(NATIVE + 7, GOROUTINE + 0x300, 0xabc0);
}

EP_TEST_WITH(asmcgocall_may_stay_on_its_stack, begin, NULL)
{
	world_put(SYSTEM + 0x100, SYSTEM + 0x118);
	world_put(SYSTEM + 0x118, 0xabc0);
	world_put(SYSTEM + 0x120, NATIVE + 5);
	run_at(ASMCGOCALL + 9, RET(309), EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, SYSTEM + 0x128, 0xabc0);
}

/* It was interrupted before it had written the depth. */
EP_TEST_WITH(asmcgocalls_words_may_be_old, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	world_put(SYSTEM + 0x100, 0x123456);
	world_put(SYSTEM + 0x108, 0x789);
	world_put(GOROUTINE + 0x300, 0xabc0);
	world_put(GOROUTINE + 0x308, NATIVE + 5);
	WALK->return_address = 0;
	WALK->interrupted = 1;
	run_at(ASMCGOCALL + 9, AT(309), EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, GOROUTINE + 0x310, 0xabc0);
}

/* --- and on, in one run --- */

/* systemstack, its caller, asmcgocall after that on the same stacks, and the root. */
EP_TEST_WITH(several_changes_are_one_run, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x200, 0, 0);
	world_put(GOROUTINE + 0x208, CALLER + 1);
	world_put(GOROUTINE + 0x218, CGOCALLBACK + 9); /* CALLER's */
	world_put(GOROUTINE + 0x200, SYSTEM + 0x800);	 /* rbp */
	world_put(SYSTEM + 0x808, CALLER + 1);
	world_put(SYSTEM + 0x818, ASMCGOCALL + 9);
	world_put(SYSTEM + 0x820, STACK_BYTES - 0x600);
	world_put(SYSTEM + 0x828, CURG);
	world_put(GOROUTINE + 0x608, ROOT + 1);
	run_at(SYSTEMSTACK + 9, RET(109) RET(801) RET(409) RET(801) RET(309) RET(a01),
	       EP_SLOT_FINISH);
	assert_int_equal(WALK->core.switches, 3);
	assert_int_equal(REC->sample.error, 0);
}

EP_TEST_WITH(goroutine_is_read_once, begin, NULL)
{
	uint64_t reads;

	several_changes_are_one_run(state);
	reads = world.memory.n_reads;
	/* g, m, curg and it; systemstack's pair, two words of callers, cgocallback's pair,
	 * asmcgocall's words and pair */
	assert_int_equal(reads, 4 + 1 + 2 + 1 + 2);
}

EP_TEST_WITH(a_run_ends_after_its_frames, begin, NULL)
{
	*(uint32_t *)(uintptr_t)&ep_self.frames_per_run = 3;
	put_goroutine(GOROUTINE + 0x200, 0, 0);
	world_put(GOROUTINE + 0x208, CALLER + 1);
	for (uint32_t i = 0; i < 8; i++)
		world_put(GOROUTINE + 0x218 + 16 * i, CALLER + 1);
	run_at(SYSTEMSTACK + 9, RET(109) RET(801) RET(801), EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_ENTERED);
	assert_int_equal(WALK->pc, CALLER + 1);
}

EP_TEST_WITH(circles_end, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, MORESTACK + 9, 0);
	WALK->core.switches = EP_MAX_SWITCHES - 2;
	run_at(MORESTACK + 9, RET(209) RET(209) RET(209) "error 8\n",
	       SLOT); /* languages are asked for their frames */
	assert_int_equal(REC->sample.error, EP_ERROR_NO_PROGRESS);
}

/* --- what does not hold --- */

EP_TEST_WITH(morestack_is_the_root_when_its_goroutine_was_let_go, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	world_put(M + world.state.offsets.m_curg, 0);
	run_at(MORESTACK + 9, RET(209), EP_SLOT_FINISH);
	assert_int_equal(REC->sample.error, 0);
}

EP_TEST_WITH(morestack_is_the_root_when_its_goroutine_is_anothers, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	world_put(CURG + world.state.offsets.g_m, M + 8);
	run_at(MORESTACK + 9, RET(209), EP_SLOT_FINISH);
	assert_int_equal(REC->sample.error, 0);
}

EP_TEST_WITH(others_are_given_back_then, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	world_put(CURG + world.state.offsets.g_m, M + 8);
	gives_back(SYSTEMSTACK + 9);
}

EP_TEST_WITH(registers_must_be_of_its_stack, begin, NULL)
{
	put_goroutine(GOROUTINE + STACK_BYTES, NATIVE + 7, 0);
	gives_back(MORESTACK + 9);
}

EP_TEST_WITH(depth_must_be_of_its_stack, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	world_put(SYSTEM + 0x100, STACK_BYTES + 8);
	world_put(SYSTEM + 0x108, CURG);
	gives_back(ASMCGOCALL + 9);
}

EP_TEST_WITH(callbacks_frame_is_on_another_stack, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	WALK->regs[EP_REG_FP] = GOROUTINE + 0x300;
	gives_back(CGOCALLBACK + 9);
}

EP_TEST_WITH(stacks_have_bounds, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	world_put(CURG + 8, GOROUTINE + (2ull << 30));
	gives_back(MORESTACK + 9);
}

EP_TEST_WITH(a_thread_may_have_no_g, begin, NULL)
{
	gives_back(SYSTEMSTACK + 9);
}

EP_TEST_WITH(other_code_is_given_back, begin, NULL)
{
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	run_at(NATIVE + 5, "", EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
}

EP_TEST_WITH(it_has_no_frames_of_its_own, begin, NULL)
{
	WALK->core.entered = EP_NOT_ENTERED;
	run_at(SYSTEMSTACK + 9, "", EP_SLOT_FINISH);
}
