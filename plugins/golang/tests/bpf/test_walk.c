/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The changes of stacks (golang_unwind.bpf.c), compiled for user space: over a thread, a goroutine and
 * their stacks that are made up here. Tail calls are noted and fail, which ends a stack with an error.
 * A stack is compared as text: "VA" of each native frame, "+" behind one that is a return address.
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/golang/golang_unwind.bpf.c"

#include "bpf/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLOT	   7u
#define GOROUTINE  0x1000000ull /* its stack: below the other, then sp falls */
#define SYSTEM	   0x7f0000000000ull
#define HEAP	   0x20000000ull
#define THREAD	   0x30000000ull /* fs base; the g is 8 below */
#define CODE	   0x400000ull
#define EXECUTABLE 5u
#define WORDS	   512

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

static struct {
	struct ep_record rec;
	struct ep_memo_set memo[EP_MEMO_SETS];
	union {
		struct ep_state_cell cell;
		struct go_state state;
	};
	struct go_scratch scratch;
	uint64_t counters[8];
	uint64_t chunk[EP_CHUNK_BYTES / 8];
	uint64_t goroutine[WORDS], system[WORDS], heap[WORDS], thread[4];
	uint64_t reads;
	uint32_t called[8], entered[8], n_called;
	char text[4096];
} world;

#define REC  (&world.rec)
#define WALK (&world.rec.walk)

void *ep_shim_map_lookup(const char *object, const char *name, const void *map, const void *key)
{
	uint32_t index = *(const uint32_t *)key;

	(void)object, (void)map;
	if (strcmp(name, "&ep_records") == 0)
		return REC;
	if (strcmp(name, "&ep_memo") == 0)
		return &world.memo[index];
	if (strcmp(name, "&ep_chunks") == 0 || strcmp(name, "chunk") == 0)
		return world.chunk;
	if (strcmp(name, "&ep_states") == 0)
		return &world.cell;
	if (strcmp(name, "&ep_scratch") == 0)
		return &world.scratch;
	return strcmp(name, "&ep_lang_counts") == 0 ? &world.counters[index & 7] : NULL;
}

long ep_shim_tail_call(const char *object, const char *name, void *ctx, __u32 slot)
{
	(void)object, (void)name, (void)ctx;
	assert_true(world.n_called < 8);
	world.entered[world.n_called] = WALK->entered;
	world.called[world.n_called++] = slot;
	return -1;
}

static uint8_t *find_memory(uint64_t addr, uint64_t bytes)
{
	const struct {
		uint64_t start, bytes;
		void *at;
	} regions[] = {
		{GOROUTINE, sizeof(world.goroutine), world.goroutine},
		{SYSTEM, sizeof(world.system), world.system},
		{HEAP, sizeof(world.heap), world.heap},
		{THREAD - 16, sizeof(world.thread), world.thread},
	};

	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		uint64_t off = addr - regions[i].start;

		if (off <= regions[i].bytes && regions[i].bytes - off >= bytes)
			return (uint8_t *)regions[i].at + off;
	}
	return NULL;
}

long ep_shim_read_user(void *to, __u32 bytes, const void *from)
{
	const uint8_t *at = find_memory((uint64_t)(uintptr_t)from, bytes);

	world.reads++;
	memset(to, 0, bytes); /* bpf-helpers(7) */
	if (!at)
		return -14;
	memcpy(to, at, bytes);
	return 0;
}

/* The one thing that is read of the kernel's: the thread pointer. */
long ep_shim_read_kernel(void *to, __u32 bytes, const void *from)
{
	uint64_t value = THREAD;

	(void)from;
	memcpy(to, &value, bytes);
	return 0;
}

__u64 ep_shim_task(void)
{
	return 0;
}

/* --- what is made up --- */

static void put(uint64_t addr, uint64_t word)
{
	uint8_t *at = find_memory(addr, 8);

	assert_non_null(at);
	memcpy(at, &word, 8);
}

static void put_memo(uint64_t addr, uint64_t rule)
{
	uint32_t set = EP_MEMO_SET(0, addr, WALK->memo_tag);
	struct ep_memo *way = world.memo[set].ways[0].addr ? &world.memo[set].ways[1] : &world.memo[set].ways[0];

	*way = (struct ep_memo){.addr = addr, .tag = WALK->memo_tag, .rule = (uint32_t)rule, .executable = EXECUTABLE,
				.bias = -CODE};
}

static void put_goroutine(uint64_t sp, uint64_t pc, uint64_t bp)
{
	const struct go_offsets *offsets = &world.state.offsets;

	put(THREAD - 8, HEAP + 0x100); /* g0 */
	put(HEAP + 0x100 + offsets->g_m, M);
	put(M + offsets->m_curg, CURG);
	put(CURG, GOROUTINE);
	put(CURG + 8, GOROUTINE + sizeof(world.goroutine));
	put(CURG + offsets->g_m, M);
	put(CURG + offsets->g_sched_sp, sp);
	put(CURG + offsets->g_sched_sp + 8, pc);
	put(CURG + offsets->g_sched_bp, bp);
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
	const struct ep_row row = {.start = CODE, .end = CODE + 0x1000, .va = 0,
				   .executable = EXECUTABLE | SLOT << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER};

	(void)state;
	memset(&world, 0, sizeof(world));
	*(uint32_t *)(uintptr_t)&ep_self.slot = SLOT;
	*(uint32_t *)(uintptr_t)&ep_self.kind = EP_FRAME_FIRST_DYNAMIC + SLOT;
	*(uint32_t *)(uintptr_t)&ep_self.frames_per_run = GO_MAX_FRAMES_PER_RUN;
	memcpy(world.chunk, &row, sizeof(row));
	put_state();
	WALK->n_rows = 1;
	WALK->sequence = 1;
	WALK->slots[0] = SLOT;
	WALK->states[0] = 1;
	WALK->max_calls = 26;
	WALK->memo_tag = 0x100000001ull;
	WALK->entered = EP_ENTERED;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->return_address = 1;
	WALK->regs[EP_REG_SP] = SYSTEM + 0x100;
	WALK->regs[EP_REG_FP] = SYSTEM + 0x800;
	REC->sample.n_frames = 1;
	put_memo(CALLER, EP_RULE_IMM(0, 0, 16));
	put_memo(ROOT, EP_RULE_STOP);
	return 0;
}

static void say(const char *format, ...)
{
	size_t len = strlen(world.text);
	va_list args;

	va_start(args, format);
	vsnprintf(world.text + len, sizeof(world.text) - len, format, args);
	va_end(args);
}

/* Runs it at pc; `to`: the program that it goes on with. */
static void run_at(uint64_t pc, const char *frames, uint32_t to)
{
	WALK->pc = pc;
	assert_int_equal(golang_unwind(NULL), 0);
	for (uint32_t i = 0; i < REC->sample.n_words;) {
		uint64_t header = REC->words[i];

		if (EP_FRAME_KIND(header) == EP_FRAME_NATIVE)
			say("%s%llx%s", i ? " " : "", (unsigned long long)REC->words[i + 1],
			    EP_FRAME_FLAGS(header) & EP_FRAME_RETURN_ADDRESS ? "+" : "");
		i += 1 + EP_FRAME_WORDS(header);
	}
	assert_string_equal(world.text, frames);
	assert_true(world.n_called >= 1);
	assert_int_equal(world.called[0], to);
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
	assert_int_equal(WALK->switches, 1);
}

/* --- one change --- */

static void systemstack_was_called_on_the_goroutines_stack(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x200, 0, 0);
	put(GOROUTINE + 0x200, 0xabc0);
	put(GOROUTINE + 0x208, NATIVE + 5);
	run_at(SYSTEMSTACK + 9, "109+", EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, GOROUTINE + 0x210, 0xabc0);
}

/* To 1.20: no rbp of its own. */
static void systemstack_may_have_no_frame(void **state)
{
	(void)state;
	world.state.frame_bytes = 0;
	put_goroutine(GOROUTINE + 0x200, 0, 0xabc8);
	put(GOROUTINE + 0x200, NATIVE + 5);
	run_at(SYSTEMSTACK + 9, "109+", EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, GOROUTINE + 0x208, 0xabc8);
}

static void morestack_was_called_where_the_goroutine_says(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0xabc0);
	run_at(MORESTACK + 9, "209+", EP_SLOT_NATIVE);
	is_caller(NATIVE + 7, GOROUTINE + 0x300, 0xabc0);
}

static void asmcgocall_keeps_the_depth(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, 0, 0); /* C has called Go, which left its stack deeper */
	put(SYSTEM + 0x100, sizeof(world.goroutine) - 0x400);
	put(SYSTEM + 0x108, CURG);
	put(GOROUTINE + 0x400, 0xabc0);
	put(GOROUTINE + 0x408, NATIVE + 5);
	run_at(ASMCGOCALL + 9, "309+", EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, GOROUTINE + 0x410, 0xabc0);
}

/* To 1.21 there is room below them. */
static void asmcgocalls_words_may_be_higher(void **state)
{
	(void)state;
	world.state.depth_off = 40;
	world.state.frame_bytes = 0;
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	put(SYSTEM + 0x128, sizeof(world.goroutine) - 0x400);
	put(SYSTEM + 0x130, CURG);
	put(GOROUTINE + 0x400, NATIVE + 5);
	run_at(ASMCGOCALL + 9, "309+", EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, GOROUTINE + 0x408, SYSTEM + 0x800);
}

static void asmcgocall_may_stay_on_its_stack(void **state)
{
	(void)state;
	put(SYSTEM + 0x100, SYSTEM + 0x118);
	put(SYSTEM + 0x118, 0xabc0);
	put(SYSTEM + 0x120, NATIVE + 5);
	run_at(ASMCGOCALL + 9, "309+", EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, SYSTEM + 0x128, 0xabc0);
}

/* It was interrupted before it had written the depth. */
static void asmcgocalls_words_may_be_old(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	put(SYSTEM + 0x100, 0x123456);
	put(SYSTEM + 0x108, 0x789);
	put(GOROUTINE + 0x300, 0xabc0);
	put(GOROUTINE + 0x308, NATIVE + 5);
	WALK->return_address = 0;
	WALK->interrupted = 1;
	run_at(ASMCGOCALL + 9, "309", EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, GOROUTINE + 0x310, 0xabc0);
}

static void cgocallback_was_called_on_the_system_stack(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	WALK->regs[EP_REG_SP] = GOROUTINE + 0x200;
	put(SYSTEM + 0x800, 0xabc0);
	put(SYSTEM + 0x808, NATIVE + 5);
	run_at(CGOCALLBACK + 9, "409+", EP_SLOT_NATIVE);
	is_caller(NATIVE + 5, SYSTEM + 0x810, 0xabc0);
}

/* --- and on, in one run --- */

/* systemstack, its caller, asmcgocall behind that on the same stacks, and the root. */
static void several_changes_are_one_run(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x200, 0, 0);
	put(GOROUTINE + 0x208, CALLER + 1);
	put(GOROUTINE + 0x218, CGOCALLBACK + 9); /* CALLER's */
	put(GOROUTINE + 0x200, SYSTEM + 0x800);	 /* rbp */
	put(SYSTEM + 0x808, CALLER + 1);
	put(SYSTEM + 0x818, ASMCGOCALL + 9);
	put(SYSTEM + 0x820, sizeof(world.goroutine) - 0x600);
	put(SYSTEM + 0x828, CURG);
	put(GOROUTINE + 0x608, ROOT + 1);
	run_at(SYSTEMSTACK + 9, "109+ 801+ 409+ 801+ 309+ a01+", EP_SLOT_FINISH);
	assert_int_equal(WALK->switches, 3);
	assert_int_equal(REC->sample.error, 0);
}

static void goroutine_is_read_once(void **state)
{
	uint64_t reads;

	several_changes_are_one_run(state);
	reads = world.reads;
	/* g, m, curg and it; systemstack's pair, two words of callers, cgocallback's pair, asmcgocall's words and pair */
	assert_int_equal(reads, 4 + 1 + 2 + 1 + 2);
}

static void a_run_ends_after_its_frames(void **state)
{
	(void)state;
	*(uint32_t *)(uintptr_t)&ep_self.frames_per_run = 3;
	put_goroutine(GOROUTINE + 0x200, 0, 0);
	put(GOROUTINE + 0x208, CALLER + 1);
	for (uint32_t i = 0; i < 8; i++)
		put(GOROUTINE + 0x218 + 16 * i, CALLER + 1);
	run_at(SYSTEMSTACK + 9, "109+ 801+ 801+", EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_ENTERED);
	assert_int_equal(WALK->pc, CALLER + 1);
}

static void circles_end(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, MORESTACK + 9, 0);
	WALK->switches = EP_MAX_SWITCHES - 2;
	run_at(MORESTACK + 9, "209+ 209+ 209+", SLOT); /* languages are asked for their frames */
	assert_int_equal(REC->sample.error, EP_ERROR_NO_PROGRESS);
}

/* --- what does not hold --- */

static void morestack_is_the_root_when_its_goroutine_was_let_go(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	put(M + world.state.offsets.m_curg, 0);
	run_at(MORESTACK + 9, "209+", EP_SLOT_FINISH);
	assert_int_equal(REC->sample.error, 0);
}

static void morestack_is_the_root_when_its_goroutine_is_anothers(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	put(CURG + world.state.offsets.g_m, M + 8);
	run_at(MORESTACK + 9, "209+", EP_SLOT_FINISH);
	assert_int_equal(REC->sample.error, 0);
}

static void others_are_given_back_then(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	put(CURG + world.state.offsets.g_m, M + 8);
	gives_back(SYSTEMSTACK + 9);
}

static void registers_must_be_of_its_stack(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + sizeof(world.goroutine), NATIVE + 7, 0);
	gives_back(MORESTACK + 9);
}

static void depth_must_be_of_its_stack(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	put(SYSTEM + 0x100, sizeof(world.goroutine) + 8);
	put(SYSTEM + 0x108, CURG);
	gives_back(ASMCGOCALL + 9);
}

static void callbacks_frame_is_on_another_stack(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	WALK->regs[EP_REG_FP] = GOROUTINE + 0x300;
	gives_back(CGOCALLBACK + 9);
}

static void stacks_have_bounds(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, NATIVE + 7, 0);
	put(CURG + 8, GOROUTINE + (2ull << 30));
	gives_back(MORESTACK + 9);
}

static void a_thread_may_have_no_g(void **state)
{
	(void)state;
	gives_back(SYSTEMSTACK + 9);
}

static void other_code_is_given_back(void **state)
{
	(void)state;
	put_goroutine(GOROUTINE + 0x300, 0, 0);
	run_at(NATIVE + 5, "", EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
}

static void it_has_no_frames_of_its_own(void **state)
{
	(void)state;
	WALK->entered = EP_NOT_ENTERED;
	run_at(SYSTEMSTACK + 9, "", EP_SLOT_FINISH);
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(systemstack_was_called_on_the_goroutines_stack),
		TEST(systemstack_may_have_no_frame),
		TEST(morestack_was_called_where_the_goroutine_says),
		TEST(asmcgocall_keeps_the_depth),
		TEST(asmcgocalls_words_may_be_higher),
		TEST(asmcgocall_may_stay_on_its_stack),
		TEST(asmcgocalls_words_may_be_old),
		TEST(cgocallback_was_called_on_the_system_stack),
		TEST(several_changes_are_one_run),
		TEST(goroutine_is_read_once),
		TEST(a_run_ends_after_its_frames),
		TEST(circles_end),
		TEST(morestack_is_the_root_when_its_goroutine_was_let_go),
		TEST(morestack_is_the_root_when_its_goroutine_is_anothers),
		TEST(others_are_given_back_then),
		TEST(registers_must_be_of_its_stack),
		TEST(depth_must_be_of_its_stack),
		TEST(callbacks_frame_is_on_another_stack),
		TEST(stacks_have_bounds),
		TEST(a_thread_may_have_no_g),
		TEST(other_code_is_given_back),
		TEST(it_has_no_frames_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
