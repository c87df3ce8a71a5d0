/* SPDX-License-Identifier: Apache-2.0 */
/* Walks from a copy of the stack: what is there, what is not, languages, limits. */
#include "tests/unit/walk_check.h"

/* --- what is there ---------------------------------------------------------------------------- */

FIXTURE_TEST(walk_goes_to_the_root)
{
	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	walk_event_return(&fx->event, 0, WALK_CODE + 0x1234);
	walk_event_return(&fx->event, 1, WALK_ROOT + 9);
	fx->event.sample.flags = EP_SAMPLE_RAW | EP_SAMPLE_UNKNOWN_PROCESS;
	EXPECT(fx, 0, AT(WALK_CODE + 5), BACK(WALK_CODE + 0x1234), BACK(WALK_ROOT + 9));
	assert_int_equal(flags_of(fx), 0);
}

/* The words before and after the place, those of the kernel, and the sample stay as they are. */
FIXTURE_TEST(late_frames_take_their_place)
{
	const struct ep_sample *sample;

	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	fx->event.copy.return_address = 1;
	walk_event_return(&fx->event, 0, WALK_ROOT + 9);
	fx->event.sample.n_kernel = 2;
	fx->event.words[0] = 0xffffffff81000001ull;
	fx->event.words[1] = 0xffffffff81000002ull;
	walk_event_frame(&fx->event, NATIVE, 0, 9, 0x77);
	fx->event.copy.at_word = 2;
	walk_event_frame(&fx->event, SPOKEN, EP_FRAME_ENTRY, 1, 0x1111);
	walk_event_frame(&fx->event, SPOKEN, EP_FRAME_ENTRY, 1, 0x2222);
	memcpy(fx->event.sample.comm, "prog", 5);
	fx->event.sample.event.time_ns = 99;
	EXPECT(fx, 0, {NATIVE, 0, 9, 0x77}, BACK(WALK_CODE + 5), BACK(WALK_ROOT + 9),
		      {SPOKEN, EP_FRAME_ENTRY, 1, 0x1111}, {SPOKEN, EP_FRAME_ENTRY, 1, 0x2222});
	sample = fx->out.data;
	assert_int_equal(sample->n_kernel, 2);
	assert_memory_equal(sample + 1, fx->event.words, 16);
	assert_string_equal(sample->comm, "prog");
	assert_int_equal(sample->event.time_ns, 99);
	assert_int_equal(sample->tid, 7);
}

/* Rules that are entries of their own, each from the leaf, where all registers are known. */
FIXTURE_TEST(all_rules_are_followed)
{
	static const struct {
		const char *label;
		uint64_t pc;
		uint32_t word; /* of the stack, from sp: where the return address must be */
		uint32_t error;
	} rows[] = {
		{"deref", WALK_DEREF, 11, 0},
		{"plt, before the push", WALK_PLT + 10, 0, 0},
		{"plt, behind it", WALK_PLT + 11, 1, 0},
		{"rbx", WALK_RBX, 21, 0},
		{"fp", WALK_FP, 31, 0},
		{"no rule, by fp", WALK_NO_RULE, 31, 0},
		{"unsupported", WALK_UNSUPPORTED, 0, EP_ERROR_UNSUPPORTED_RULE},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_sample sample = {0};
		uint64_t *stack;

		walk_event_init(&fx->event, rows[i].pc, 1);
		stack = fx->event.stack + (WALK_SP - WALK_STACK) / 8;
		stack[2] = WALK_SP + 80; /* what the first one looks at */
		fx->event.copy.regs[3] = WALK_SP + 160;
		fx->event.copy.regs[EP_REG_FP] = WALK_SP + 240;
		stack[rows[i].word] = WALK_ROOT + 1;
		assert_int_equal(run(fx, &sample), 0);
		if (sample.error != rows[i].error || sample.n_frames != 2)
			fail_msg("%s: error %u, %u frames", rows[i].label, sample.error,
				 sample.n_frames);
	}
}

/* The caller's address is that of an instruction that has not run yet: the one before may have another rule. */
FIXTURE_TEST(interrupted_callers_are_found_by_their_address)
{
	walk_event_init(&fx->event, WALK_INJECTED, 1);
	walk_event_return(&fx->event, 0, WALK_CODE); /* the first byte that is mapped */
	walk_event_return(&fx->event, 1, WALK_ROOT + 9);
	EXPECT(fx, 0, AT(WALK_INJECTED), AT(WALK_CODE), BACK(WALK_ROOT + 9));
}

FIXTURE_TEST(callers_may_be_on_a_lower_stack)
{
	walk_event_init(&fx->event, WALK_SWITCH, 1);
	fx->event.copy.regs[EP_REG_SP] = WALK_SP + 0x800;
	fx->event.copy.regs[EP_REG_FP] = WALK_SP; /* the frame's pair of fp and return address */
	walk_event_return(&fx->event, 0, WALK_CODE + 5);
	walk_event_return(&fx->event, 1, WALK_ROOT + 9);
	EXPECT(fx, 0, AT(WALK_SWITCH), BACK(WALK_CODE + 5), BACK(WALK_ROOT + 9));
}

/* Frame pointers led to the other stack, of which BPF has copied a piece. */
FIXTURE_TEST(stack_behind_a_switch_may_be_copied_too)
{
	const uint64_t places[] = {WALK_STACK - 0x100000, WALK_STACK + 0x100000};

	for (size_t i = 0; i < EP_LEN(places); i++) {
		walk_event_init(&fx->event, WALK_SWITCH, 1);
		fx->event.copy.regs[EP_REG_FP] = places[i] + 16;
		walk_event_other(&fx->event, places[i]);
		fx->event.other[3] = WALK_CODE + 5; /* after the fp that is saved */
		fx->event.other[5] = WALK_ROOT + 9;
		EXPECT(fx, 0, AT(WALK_SWITCH), BACK(WALK_CODE + 5), BACK(WALK_ROOT + 9));
		walk_event_init(&fx->event, WALK_SWITCH, 1);
		fx->event.copy.regs[EP_REG_FP] = places[i] + 16;
		EXPECT(fx, EP_ERROR_COPY_END, AT(WALK_SWITCH),
					      ERROR(EP_ERROR_COPY_END, WALK_SWITCH));
	}
}

/* So are callers of what CFI alone leads to: a function that calls another one on a stack of its own. */
FIXTURE_TEST(rules_may_lead_to_a_lower_stack)
{
	walk_event_init(&fx->event, WALK_FP, 1);
	fx->event.copy.regs[EP_REG_SP] = WALK_SP + 0x800;
	fx->event.copy.regs[EP_REG_FP] = WALK_SP;
	walk_event_return(&fx->event, 0, WALK_CODE + 5);
	walk_event_return(&fx->event, 1, WALK_ROOT + 9);
	EXPECT(fx, 0, AT(WALK_FP), BACK(WALK_CODE + 5), BACK(WALK_ROOT + 9));
}

/* Its own frames are elsewhere: a gap stands for them, and the function that jumped to it comes next. */
FIXTURE_TEST(code_may_run_in_the_frame_of_another_function)
{
	const uint64_t want[] = {
		EP_FRAME_HEADER(NATIVE, 0, 1, WALK_CODE_ID), VA(WALK_OUTER),
		EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, EP_ERROR_BAD_FRAME_POINTER),
		EP_FRAME_HEADER(NATIVE, RETURN, 1, WALK_CODE_ID), VA(WALK_OUTER_OF),
		EP_FRAME_HEADER(NATIVE, RETURN, 1, WALK_CODE_ID), VA(WALK_ROOT + 9),
	};

	walk_event_init(&fx->event, WALK_OUTER, 1);
	fx->event.copy.regs[EP_REG_SP] = WALK_SP - 8;
	walk_event_return(&fx->event, 0, WALK_ROOT + 9);
	assert_int_equal(expect_error(fx, 0), 4);
	assert_int_equal(((const struct ep_sample *)fx->out.data)->n_words, EP_LEN(want));
	assert_memory_equal((const uint8_t *)fx->out.data + sizeof(struct ep_sample), want, sizeof(want));
}

/* It calls C, which calls it, and so on: as often as stacks may change, and in a circle no longer than it takes. */
FIXTURE_TEST(code_in_the_frame_of_itself_ends)
{
	walk_event_init(&fx->event, WALK_OUTER, 1);
	fx->event.copy.regs[EP_REG_SP] = WALK_SP - 8;
	for (uint32_t n = 0; n < 200; n++)
		fx->event.stack[n] = WALK_OUTER + 1;
	assert_int_equal(expect_error(fx, EP_ERROR_NO_PROGRESS), 3 * EP_MAX_SWITCHES + 3);
}

FIXTURE_TEST(switches_in_a_circle_end)
{
	walk_event_init(&fx->event, WALK_SWITCH, 1);
	fx->event.copy.regs[EP_REG_FP] = WALK_SP;
	fx->event.stack[(WALK_SP - WALK_STACK) / 8] = WALK_SP;
	walk_event_return(&fx->event, 0, WALK_SWITCH + 1);
	assert_int_equal(expect_error(fx, EP_ERROR_NO_PROGRESS), 3); /* the error is one */
}

/* What the copy says of the frame it begins with decides (bpf/native.bpf.h, may_stand). */
FIXTURE_TEST(an_interrupted_frame_may_have_nothing_on_the_stack)
{
	static const struct {
		uint16_t interrupted, stood;
		uint32_t error;
	} rows[] = {
		{1, 0, 0},
		{1, 1, EP_ERROR_NO_PROGRESS},
		{0, 0, EP_ERROR_NO_PROGRESS},
	};

	walk_event_init(&fx->event, WALK_VFORK, 1);
	fx->event.copy.regs[5] = WALK_CODE + 0x1234;
	walk_event_return(&fx->event, 0, WALK_ROOT + 9);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		fx->event.copy.interrupted = rows[i].interrupted;
		fx->event.copy.stood = rows[i].stood;
		assert_int_equal(expect_error(fx, rows[i].error), rows[i].error ? 2 : 3);
	}
}

/* fp 0 ends a chain of frame pointers; after a caller that was guessed it may be any register. */
FIXTURE_TEST(guessed_caller_without_frame_pointer_is_no_root)
{
	walk_event_init(&fx->event, WALK_NO_RULE + 5, 1);
	fx->event.copy.return_address = fx->event.copy.by_pointer = 1;
	fx->event.copy.regs[EP_REG_FP] = 0;
	(void)expect_error(fx, 0);
	fx->event.copy.guessed = 1;
	(void)expect_error(fx, EP_ERROR_BAD_FRAME_POINTER);
}

/* The user's part is whole now, the kernel's is what it was. */
FIXTURE_TEST(error_of_the_kernels_part_stays)
{
	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	walk_event_return(&fx->event, 0, WALK_ROOT + 9);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_KERNEL_DEPTH, 0);
	fx->event.copy.at_word = 2;
	EXPECT(fx, EP_ERROR_KERNEL_DEPTH, ERROR(EP_ERROR_KERNEL_DEPTH, 0), AT(WALK_CODE + 5),
					  BACK(WALK_ROOT + 9));
}

/* struct rt_sigframe's registers: r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
static void put_signal_frame(struct walk_event *event, uint32_t word, uint64_t sp, uint64_t pc)
{
	uint64_t *regs = event->stack + (WALK_SP - WALK_STACK) / 8 + word + 5;

	regs[15] = sp;
	regs[16] = pc;
}

/* musl's restorer has no rule: it is recognised by its code, which the file has. */
FIXTURE_TEST(restorer_is_told_by_its_code)
{
	fx->code = 0x0f0000000fc0c748ull; /* mov $15, %rax; syscall */
	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	walk_event_return(&fx->event, 0, WALK_ABSENT + 0x10);
	put_signal_frame(&fx->event, 2, WALK_SP + 0x400, WALK_ROOT + 9);
	EXPECT(fx, 0, AT(WALK_CODE + 5),
		      {NATIVE, RETURN | EP_FRAME_SIGNAL, WALK_OTHER_ID, WALK_VA + 0x10},
		      AT(WALK_ROOT + 9));
	assert_int_equal(fx->n_asked, 1);
}

/* Its last bytes belong to no file any more. */
FIXTURE_TEST(code_is_read_within_its_mapping)
{
	struct ep_sample sample = {0};

	fx->code = 0x0f0000000fc0c748ull;
	for (uint32_t bytes = 1; bytes <= 8; bytes++) {
		fx->n_asked = 0;
		walk_event_init(&fx->event, WALK_CODE, 1);
		walk_event_return(&fx->event, 0, WALK_ABSENT + 0x1000 - bytes);
		put_signal_frame(&fx->event, 2, WALK_SP + 0x400, WALK_ROOT);
		assert_int_equal(run(fx, &sample), 0);
		assert_int_equal(fx->n_asked, bytes == 8);
		assert_int_equal(sample.error, bytes == 8 ? 0 : EP_ERROR_BAD_FRAME_POINTER);
	}
}

/* --- what is not there ------------------------------------------------------------------------ */

/* Functions without end, as deep as the copy and deeper. */
static void fill_stack(struct walk_event *event)
{
	for (uint32_t i = 0; i < EP_LEN(event->stack) / 2 - 1; i++)
		walk_event_return(event, i, WALK_CODE + 0x20);
}

FIXTURE_TEST(copy_that_is_full_is_too_short)
{
	struct ep_sample sample = {0};

	walk_event_init(&fx->event, WALK_CODE, EP_COPY_PAGES);
	fill_stack(&fx->event);
	assert_int_equal(run(fx, &sample), 0);
	check_event(fx, &sample);
	assert_int_equal(sample.error, EP_ERROR_COPY_END);
	/* each return address that is there, and the leaf, and the error */
	assert_int_equal(sample.n_frames, EP_LEN(fx->event.stack) / 2 - 1 + 2);
}

FIXTURE_TEST(copy_that_is_not_full_has_all_there_is)
{
	for (uint32_t pages = 0; pages < EP_COPY_PAGES; pages++) {
		walk_event_init(&fx->event, WALK_CODE, pages);
		fill_stack(&fx->event);
		assert_int_equal(expect_error(fx, EP_ERROR_BAD_READ), pages ? pages * 256 + 1 : 2);
	}
}

/* A handler ran on a stack of its own: that of the interrupted code was not copied. */
FIXTURE_TEST(stack_behind_another_was_not_copied)
{
	const uint64_t elsewhere[] = {WALK_STACK - 0x10000, WALK_STACK + 0x10000};

	for (size_t i = 0; i < EP_LEN(elsewhere); i++) {
		walk_event_init(&fx->event, WALK_SIGNAL, 1);
		put_signal_frame(&fx->event, 0, elsewhere[i], WALK_CODE);
		EXPECT(fx, EP_ERROR_COPY_END, {NATIVE, EP_FRAME_SIGNAL, WALK_CODE_ID, VA(WALK_SIGNAL)},
					      AT(WALK_CODE), ERROR(EP_ERROR_COPY_END, WALK_CODE));
	}
}

/* A caller's stack that is found through a word elsewhere; of what cannot be a stack nothing was there to copy. */
FIXTURE_TEST(memory_elsewhere_was_not_copied)
{
	const struct {
		uint64_t word;
		uint32_t error;
	} rows[] = {
		{WALK_STACK - 0x10000, EP_ERROR_COPY_END}, {WALK_STACK + 0x10000, EP_ERROR_COPY_END},
		{WALK_STACK + 0x1000, EP_ERROR_BAD_READ},  {0, EP_ERROR_BAD_READ},
		{UINT64_MAX - 4095, EP_ERROR_BAD_READ},	   {1ull << 47, EP_ERROR_BAD_READ},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		walk_event_init(&fx->event, WALK_DEREF, 1);
		fx->event.stack[(WALK_SP - WALK_STACK) / 8 + 2] = rows[i].word;
		assert_int_equal(expect_error(fx, rows[i].error), 2);
	}
}

FIXTURE_TEST(address_in_no_row_is_raw)
{
	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_NOTHING);
	EXPECT(fx, EP_ERROR_NO_MAPPING, AT(WALK_CODE), {NATIVE, RETURN, 0, WALK_NOTHING},
					ERROR(EP_ERROR_NO_MAPPING, WALK_NOTHING));
	assert_int_equal(flags_of(fx), EP_SAMPLE_RAW | EP_SAMPLE_UNKNOWN_ADDRESS);
}

FIXTURE_TEST(code_without_tables_is_passed_by_frame_pointer)
{
	const uint64_t codes[] = {WALK_PENDING, WALK_DROPPED};

	for (size_t i = 0; i < EP_LEN(codes); i++) {
		walk_event_init(&fx->event, codes[i] + 4, 1);
		fx->event.copy.regs[EP_REG_FP] = WALK_SP;
		walk_event_return(&fx->event, 0, WALK_ROOT + 1);
		EXPECT(fx, 0, {NATIVE, 0, WALK_OTHER_ID, WALK_VA + 4},
			      {NATIVE, RETURN | POINTER, WALK_CODE_ID, VA(WALK_ROOT + 1)});
		fx->event.copy.regs[EP_REG_FP] = 5;
		EXPECT(fx, EP_ERROR_NO_TABLES, {NATIVE, 0, WALK_OTHER_ID, WALK_VA + 4},
					       ERROR(EP_ERROR_NO_TABLES, codes[i] + 4));
	}
}

FIXTURE_TEST(process_without_rows_has_no_mapping)
{
	struct ep_sample sample;

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_flatten(&fx->event);
	assert_int_equal(ep_walker_run(fx->world.walker, fx->event.flat, fx->event.bytes, NULL, 0,
				       NULL, &fx->out), 0);
	memcpy(&sample, fx->out.data, sizeof(sample));
	assert_int_equal(sample.error, EP_ERROR_NO_MAPPING);
	assert_int_equal(ep_walker_run(fx->world.walker, fx->event.flat, fx->event.bytes, fx->rows,
				       EP_MAX_ROWS + 1, NULL, &fx->out), -EINVAL);
}

/* References to what is not there any more are no rules, and no reads. */
FIXTURE_TEST(tables_that_are_gone_have_no_rules)
{
	const uint32_t refs[] = {EP_REF(EP_MAX_CHUNKS / 2, 2), EP_REF(EP_MAX_CHUNKS - 1, 2),
				 EP_REF(EP_MAX_CHUNKS + 1, 2), UINT32_MAX - 1};

	for (size_t i = 0; i < EP_LEN(refs); i++) {
		fx->rows[0].pages = refs[i];
		walk_event_init(&fx->event, WALK_CODE, 1);
		EXPECT(fx, EP_ERROR_BAD_FRAME_POINTER, AT(WALK_CODE),
						       ERROR(EP_ERROR_BAD_FRAME_POINTER, WALK_CODE));
	}
}

/* --- languages -------------------------------------------------------------------------------- */

static void init_marked(struct fixture *fx)
{
	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_MARKED + 0x10);
	walk_event_return(&fx->event, 1, WALK_ROOT + 1);
}

FIXTURE_TEST(marked_frames_wait_for_their_language)
{
	init_marked(fx);
	walk_event_frame(&fx->event, SPOKEN, EP_FRAME_ENTRY, 1, 0x1111);
	EXPECT(fx, 0, AT(WALK_CODE), {NATIVE, SLOTTED, WALK_MARK_ID, WALK_VA}, BACK(WALK_ROOT + 1),
		      {SPOKEN, EP_FRAME_ENTRY, 1, 0x1111});
}

FIXTURE_TEST(marked_frames_without_their_language_are_late)
{
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{NATIVE, SLOTTED, WALK_MARK_ID, WALK_VA},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 1)},
		{EP_FRAME_ERROR, 0, EP_ERROR_LATE, WALK_ROOT + 1},
		{0},
	};
	const struct frame other[] = {
		frames[0], frames[1], frames[2], frames[3], {SPOKEN + 1, 0, 1, 0x1111}, {0},
	};

	init_marked(fx);
	expect(fx, frames, EP_ERROR_LATE);
	walk_event_frame(&fx->event, SPOKEN + 1, 0, 1, 0x1111);
	expect(fx, other, EP_ERROR_LATE);
}

/* A language that failed has reported it itself. */
FIXTURE_TEST(error_of_a_language_is_the_samples)
{
	init_marked(fx);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0);
	EXPECT(fx, EP_ERROR_TAIL_CALLS, AT(WALK_CODE), {NATIVE, SLOTTED, WALK_MARK_ID, WALK_VA},
					BACK(WALK_ROOT + 1), ERROR(EP_ERROR_TAIL_CALLS, 0));
}

/*
 * The first error frame, wherever it is; what BPF reported of the sample is what the walk found
 * out.
 */
FIXTURE_TEST(first_error_is_the_samples)
{
	const struct frame frames[] = {
		{EP_FRAME_ERROR, 0, EP_ERROR_NO_REGISTERS, 0},
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{EP_FRAME_ERROR, 0, EP_ERROR_LATE, WALK_ENTER + 0x10},
		{EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0},
		{0},
	};

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ENTER + 0x10);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0);
	expect(fx, frames + 1, EP_ERROR_LATE);
	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ENTER + 0x10);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_NO_REGISTERS, 0);
	fx->event.copy.at_word = 2;
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0);
	expect(fx, frames, EP_ERROR_NO_REGISTERS);
}

FIXTURE_TEST(code_that_a_language_unwinds_is_late)
{
	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ENTER + 0x10);
	EXPECT(fx, EP_ERROR_LATE, AT(WALK_CODE), ERROR(EP_ERROR_LATE, WALK_ENTER + 0x10));
	/* code of a JIT, in no file */
	walk_event_init(&fx->event, WALK_ANON + 0x1010, 1);
	expect(fx, (const struct frame[]){{EP_FRAME_ERROR, 0, EP_ERROR_LATE, WALK_ANON + 0x1010},
					  {0}}, EP_ERROR_LATE);
}

/* A language takes what no file backs: it was not there to say whose this is. */
FIXTURE_TEST(anonymous_code_is_late)
{
	static const uint64_t places[] = {WALK_ANON + 0x10, WALK_NOTHING};

	fx->rows[WALK_N_ROWS - 2].executable = EP_ROW_ANONYMOUS;
	for (size_t i = 0; i < EP_LEN(places); i++) {
		const struct frame frames[] = {{EP_FRAME_ERROR, 0, EP_ERROR_LATE, places[i]}, {0}};

		walk_event_init(&fx->event, places[i], 1);
		expect(fx, frames, EP_ERROR_LATE);
	}
}

/* --- limits ----------------------------------------------------------------------------------- */

/* However full the sample is already, what comes out is one that the store takes. */
FIXTURE_TEST(deep_stacks_end_where_the_words_do)
{
	for (uint32_t n = EP_MAX_WORDS - 20; n <= EP_MAX_WORDS; n += 2) {
		for (uint32_t tail = 0; tail <= 2; tail++) {
			struct ep_sample sample = {0};

			walk_event_init(&fx->event, WALK_CODE, 1);
			fill_stack(&fx->event);
			while (fx->event.sample.n_words < n)
				walk_event_frame(&fx->event, NATIVE, 0, 1, 1);
			fx->event.copy.at_word = tail * (n / 4) * 2;
			assert_int_equal(run(fx, &sample), 0);
			check_event(fx, &sample);
			assert_int_equal(sample.error, EP_ERROR_TOO_DEEP);
		}
	}
}

FIXTURE_TEST(equal_stacks_have_equal_hashes)
{
	struct ep_sample first = {0}, other = {0};

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ROOT + 1);
	assert_int_equal(run(fx, &first), 0);
	/* the same by another way: walked up to the leaf's caller before, more of the stack */
	walk_event_init(&fx->event, WALK_ROOT + 1, 3);
	walk_event_frame(&fx->event, NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE));
	fx->event.copy.at_word = 2;
	fx->event.copy.return_address = 1;
	fx->event.sample.hash = 12345;
	assert_int_equal(run(fx, &other), 0);
	assert_true(first.hash == other.hash);
	fx->event.sample.image++;
	assert_int_equal(run(fx, &other), 0);
	assert_true(first.hash != other.hash);
}
