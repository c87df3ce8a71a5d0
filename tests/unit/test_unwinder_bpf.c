/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What language unwinders are written with (ebpf-profiler/bpf/unwinder.h), compiled for user space: over
 * a world (tests/kit/world.h) in which tail calls are noted and fail.
 */
#define EP_SHIM_OBJECT "test"
#include "ebpf-profiler/bpf/unwinder.h"
#include "tests/kit/test.h"
EP_UNWINDER();

#include "tests/kit/world.h"

#define SLOT	   7u
#define OTHER_SLOT 9u
#define STACK	   0x7000ull
#define STACK_BYTES 512
#define CODE	   0x400000ull
#define HEAP	   0x600000ull
#define EXECUTABLE 5u

static int begin(void **state)
{
	world_begin(SLOT, 40);
	world.calls_fail = true;
	world_add_memory(STACK, STACK_BYTES);
	WALK->core.slots[0] = OTHER_SLOT;
	WALK->core.slots[1] = SLOT;
	WALK->pc = CODE + 0x10;
	WALK->return_address = 1;
	WALK->regs[EP_REG_SP] = STACK;
	WALK->regs[EP_REG_FP] = 0x1234;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->core.entered = EP_ENTERED;
	return 0;
}

static void remember(uint64_t pc, uint32_t rule)
{
	world_remember(pc - 1, EXECUTABLE, 0x1000, rule);
}

/* CFA = sp + 32, the caller's fp two words below it. */
#define RULE (EP_RULE_IMMEDIATE | 2u << 13 | 32u >> 3 << 1)

static uint64_t header_of(uint32_t at)
{
	return REC->words[at];
}

/* --- going on ------------------------------------------------------------------------------------ */

EP_TEST_WITH(who_comes_next_is_not_entered, begin, NULL)
{
	WALK->core.pending = 1;
	ep_next(NULL, REC);
	assert_int_equal(world.n_called, 2);
	assert_int_equal(world.called[0], OTHER_SLOT);
	assert_int_equal(world.entered[0], EP_NOT_ENTERED);
	assert_int_equal(world.called[1], EP_SLOT_FINISH);
	assert_int_equal(WALK->core.pending, 0); /* once */
	assert_int_equal(REC->sample.error, 0);
}

EP_TEST_WITH(who_knows_no_more_leaves_it_to_the_native_unwinder, begin, NULL)
{
	WALK->core.entered = EP_FAILED;
	ep_next(NULL, REC);
	assert_int_equal(world.called[0], EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_FAILED);
	/* which is there always; or else the stack says that it is not whole */
	assert_int_equal(REC->sample.error, EP_ERROR_TAIL_CALLS);
}

EP_TEST_WITH(end_says_why_and_asks_all, begin, NULL)
{
	ep_end(NULL, REC, EP_ERROR_BAD_READ, 1);
	assert_int_equal(REC->sample.error, EP_ERROR_BAD_READ);
	assert_int_equal(world.n_called, 3);
	assert_int_equal(world.called[0], OTHER_SLOT);
	assert_int_equal(world.called[1], SLOT);
	assert_int_equal(world.entered[1], EP_NOT_ENTERED);
	assert_int_equal(world.called[2], EP_SLOT_FINISH);
}

EP_TEST_WITH(runs_again_as_long_as_calls_are_left, begin, NULL)
{
	WALK->core.tail_calls = 25;
	assert_int_equal(ep_calls_left(REC), 1);
	ep_run_again(NULL, REC);
	assert_int_equal(world.n_called, 1);
	ep_run_again(NULL, REC); /* 26: the rest is for marked frames */
	assert_int_equal(world.n_called, 1);
	WALK->core.entered = EP_NOT_ENTERED;
	ep_run_again(NULL, REC);
	assert_int_equal(world.n_called, 2);
	WALK->core.tail_calls = 28;
	assert_int_equal(ep_calls_left(REC), -2);
}

/* --- from frame to frame -------------------------------------------------------------------------- */

EP_TEST_WITH(callers_have_more_stack, begin, NULL)
{
	WALK->interrupted = 1;
	WALK->return_address = 0;
	assert_false(ep_set_caller(REC, 1, STACK, 2));
	assert_int_equal(WALK->pc, CODE + 0x10);
	assert_int_equal(WALK->interrupted, 1);
	assert_true(ep_set_caller(REC, 1, STACK + 8, 2));
	assert_int_equal(WALK->pc, 1);
	assert_int_equal(WALK->regs[EP_REG_SP], STACK + 8);
	assert_int_equal(WALK->regs[EP_REG_FP], 2);
	assert_int_equal(WALK->known_regs, EP_KNOWN_ALWAYS);
	assert_int_equal(WALK->return_address, 1);
	assert_int_equal(WALK->interrupted, 0);
}

EP_TEST_WITH(remembered_frames_are_stepped_over, begin, NULL)
{
	assert_int_equal(ep_step_native(REC), EP_STEP_UNKNOWN);
	assert_int_equal(REC->sample.n_frames, 0);
	remember(CODE + 0x10, RULE);
	world_put(STACK + 8 * 2, 0xf0);
	world_put(STACK + 8 * 3, CODE + 0x20);
	assert_int_equal(ep_step_native(REC), EP_STEP_CALLER);
	assert_int_equal(header_of(0), EP_FRAME_HEADER(EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 1,
						       EXECUTABLE));
	assert_int_equal(REC->words[1], CODE + 0x1010);
	assert_int_equal(WALK->pc, CODE + 0x20);
	assert_int_equal(WALK->regs[EP_REG_SP], STACK + 32);
	assert_int_equal(WALK->regs[EP_REG_FP], 0xf0);
	remember(CODE + 0x20, EP_RULE_STOP);
	assert_int_equal(ep_step_native(REC), EP_STEP_ROOT);
	assert_int_equal(REC->sample.n_frames, 2);
}

/* Then the native unwinder finds out why, from the same frame. */
EP_TEST_WITH(rule_that_cannot_be_followed_leaves_all_as_it_was, begin, NULL)
{
	remember(CODE + 0x10, RULE | EP_RULE_BASE_FP); /* from fp, which is below sp */
	assert_int_equal(ep_step_native(REC), EP_STEP_UNKNOWN);
	remember(CODE + 0x10, RULE);
	WALK->regs[EP_REG_SP] = STACK + STACK_BYTES - 16;
	assert_int_equal(ep_step_native(REC), EP_STEP_UNKNOWN);
	assert_int_equal(REC->sample.n_frames, 0);
	assert_int_equal(WALK->pc, CODE + 0x10);
}

EP_TEST_WITH(room_for_marked_languages_is_kept, begin, NULL)
{
	uint32_t n = 0;

	WALK->core.keep_words = EP_LANGUAGE_WORDS;
	while (ep_push_native(REC))
		n += 2;
	assert_in_range(n, EP_MAX_WORDS - EP_LANGUAGE_WORDS - 8, EP_MAX_WORDS - EP_LANGUAGE_WORDS);
	while (ep_push_frame(REC, 0, 0, 1, 2))
		n += 3;
	assert_in_range(n, EP_MAX_WORDS - 8, EP_MAX_WORDS);
}

static void put_rows(void)
{
	static const struct ep_row rows[] = {
		{.start = CODE, .end = CODE + 0x1000, .va = 0x2000, .executable = EXECUTABLE},
		{.start = HEAP, .end = HEAP + 0x1000, .executable = EP_ROW_ANONYMOUS},
	};

	world_put_rows(rows, 2);
}

EP_TEST_WITH(native_frames_are_named_by_their_file, begin, NULL)
{
	put_rows();
	assert_true(ep_push_native(REC));
	assert_int_equal(EP_FRAME_AUX(header_of(0)), EXECUTABLE);
	assert_int_equal(REC->words[1], 0x2010);
	assert_int_equal(REC->sample.flags & EP_SAMPLE_RAW, 0);
	WALK->pc = HEAP + 1; /* in no file, as is known */
	assert_true(ep_push_native(REC));
	assert_int_equal(EP_FRAME_AUX(header_of(2)), 0);
	assert_int_equal(REC->words[3], HEAP + 1);
	assert_int_equal(REC->sample.flags & EP_SAMPLE_RAW, 0);
	WALK->pc = HEAP + 0x2000;
	assert_true(ep_push_native(REC));
	assert_int_equal(REC->sample.flags & EP_SAMPLE_RAW, EP_SAMPLE_RAW);
	WALK->core.entered = EP_NOT_ENTERED; /* these would be somebody else's */
	assert_false(ep_push_native(REC));
}

EP_TEST_WITH(what_is_skipped_is_a_gap, begin, NULL)
{
	assert_false(ep_skip_to(REC, EP_ERROR_TAIL_CALLS, 5, STACK, 6));
	assert_int_equal(REC->sample.n_frames, 0);
	assert_true(ep_skip_to(REC, EP_ERROR_TAIL_CALLS, 5, STACK + 64, 6));
	assert_int_equal(header_of(0), EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, EP_ERROR_TAIL_CALLS));
	assert_int_equal(WALK->pc, 5);
	assert_int_equal(WALK->core.pending, 3); /* it may have hidden marks */
	assert_int_equal(REC->sample.error, 0);
	assert_true(ep_skip_to(REC, 0, 5, STACK + 72, 6));
	assert_int_equal(EP_FRAME_AUX(header_of(1)), EP_ERROR_LOST);
	WALK->core.entered = EP_NOT_ENTERED;
	assert_false(ep_skip_to(REC, EP_ERROR_TAIL_CALLS, 5, STACK + 128, 6));
}

EP_TEST_WITH(next_frame_is_told_to_the_native_unwinder, begin, NULL)
{
	WALK->core.entered = EP_FAILED;
	ep_resume(NULL, REC, 1, 2, 3);
	assert_int_equal(world.called[0], EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_RESUMED);
	assert_int_equal(WALK->next_pc, 1);
	assert_int_equal(WALK->next_sp, 2);
	assert_int_equal(WALK->next_fp, 3);
	assert_int_equal(WALK->regs[EP_REG_SP], STACK);
}

EP_TEST_WITH(codes_are_found_by_address, begin, NULL)
{
	struct ep_code_index *index = (void *)(world.chunk + 8);
	struct ep_code *codes = (void *)(world.chunk + 12), code;

	put_rows();
	index->of[1].first = 3; /* after two rows and the index */
	index->of[1].n = 2;
	codes[0] = (struct ep_code){.start = 0x1000, .end = 0x2000, .data = 11};
	codes[1] = (struct ep_code){.start = 0x3000, .end = 0x4000, .data = 12};
	assert_false(ep_find_code(REC, 0xfff, &code));
	assert_true(ep_find_code(REC, 0x1000, &code));
	assert_int_equal(code.data, 11);
	assert_false(ep_find_code(REC, 0x2000, &code));
	assert_true(ep_find_code(REC, 0x3fff, &code));
	assert_int_equal(code.data, 12);
	assert_false(ep_find_code(REC, 0x4000, &code));
}
