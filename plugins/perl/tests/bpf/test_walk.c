/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The walk of Perl's contexts (walk_world.h): which of them are frames, and where each is. */
#include "walk_world.h"

/* --- subs ------------------------------------------------------------------------------------- */

/* A destructor, a signal's handler, BEGIN. */
EP_TEST_WITH(call_sv_that_catches_has_an_eval_around_it, begin_in_sub, NULL)
{
	push_eval(CX_EVALBLOCK, 2, 0, 0x900);
	push_sub(2, 2, 0);
	assert_string_equal(walk_at(3), "sub leaf 2: statement 3\n"
					"block entry: line 20\n" SUB_1);
}

EP_TEST_WITH(sub_that_has_not_begun_is_no_frame, begin, NULL)
{
	put_sub(2, "named", 0, 0);
	push_subs(2);
	be_at(2, op(2, 3), ENTERSUB, op(2, 4));
	assert_string_equal(walk_stack(), "sub leaf 1: statement 2\n" MAIN);
	begin_in_sub(NULL);
	push_sub(2, 2, op(2, 4)); /* its depth has grown already */
	be_at(2, op(2, 3), ENTERSUB, op(2, 4));
	assert_string_equal(walk_stack(), "sub leaf 1: statement 2\n" MAIN);
}

EP_TEST_WITH(sub_that_is_left_is_no_frame, begin, NULL)
{
	put_sub(2, "named", 0, 0);
	push_subs(2);
	be_at(2, op(3, 9), 60, op(2, 4));
	assert_string_equal(walk_stack(), SUB_1);
}

/* It is at the statement that called it: before its first one, or after its last one. */
EP_TEST_WITH(statement_of_the_caller_is_not_its_own, begin, NULL)
{
	push_subs(2);
	be_at(2, op(3, 1), 60, 0);
	assert_string_equal(walk_stack(), "sub leaf 2\n" SUB_1);
	begin_in_sub(NULL);
	push_sub(1, 2, op(2, 4)); /* it calls itself there */
	be_at(2, op(2, 1), 60, 0);
	assert_string_equal(walk_stack(), "sub leaf 1: statement 2\n" SUB_1);
}

EP_TEST_WITH(debugger_is_hidden, begin_in_sub, NULL)
{
	world_put(INTERP + DBSUB_OFF, sub(9) + GLOB);
	world_put(sub(9) + GLOB_GP + GP_CV, sub(9));
	push_sub(9, 2, 0); /* called by C, and calls what was to be called */
	push_sub(2, 3, op(3, 4));
	assert_string_equal(walk_at(4), "sub entry leaf 2: statement 4\n" SUB_1);
}

EP_TEST_WITH(xs_has_no_frame_of_its_own, begin_in_sub, NULL)
{
	put_sub(2, "named", PL_CVF_ISXSUB, 1);
	push_stackinfo();
	push_sub(2, 2, 0); /* sort calls it for each comparison */
	assert_string_equal(walk_at(2), SUB_1);
}

EP_TEST_WITH(closure_that_has_not_begun_is_at_its_start, begin_in_sub, NULL)
{
	put_sub(1, "__ANON__", PL_CVF_ANON, 1);
	be_at(1, op(2, 3), 50, 0);
	assert_string_equal(walk_stack(), "closure leaf glob 1: statement 41\n" MAIN);
}

EP_TEST_WITH(format_is_a_frame, begin, NULL)
{
	world_put(push(CX_FORMAT, 1, op(1, 4)) + SUB_CV, sub(3));
	assert_string_equal(walk_at(2), "format leaf 3: statement 2\n" MAIN);
}

/* --- loading ---------------------------------------------------------------------------------- */

EP_TEST_WITH(begin_blocks_have_their_line, begin, NULL)
{
	put_sub(2, "BEGIN", 0, 1);
	push_load(1, 1, REQUIRE, op(1, 4));
	push_eval(CX_EVALBLOCK, 2, 0, 0x900);
	push_sub(2, 2, 0);
	assert_string_equal(walk_at(3), "begin leaf: line 30\n"
					"block entry: line 20\n"
					"file: line 20\n" MAIN);
}

EP_TEST_WITH(files_and_texts_run, begin, NULL)
{
	put_cop(3, "(eval 12)");
	push_load(1, 1, REQUIRE, op(1, 4));
	push_load(2, 2, ENTEREVAL, op(2, 4));
	assert_string_equal(walk_at(3), "text leaf text 12: statement 3\n"
					"file: line 20\n" MAIN);
	/* A number that a frame has no bits for. */
	world_begin_sample();
	put_cop(3, "(eval 16777216)");
	assert_string_equal(walk_at(3), "text leaf: line 30\n"
					"file: line 20\n" MAIN);
}

/* For the snapshot program: later the same file may be elsewhere each time that it is loaded. */
EP_TEST_WITH(young_programs_say_where_a_files_name_is, begin, NULL)
{
	for (uint8_t flags = 0; flags <= EP_SAMPLE_YOUNG; flags += EP_SAMPLE_YOUNG) {
		uint64_t name;

		begin(NULL);
		name = text("loaded.pl");
		REC->sample.flags = flags;
		world_put(cop(2) + 48, name);
		put_sub(1, "", 0, 0);
		push_load(1, 1, REQUIRE, op(1, 4));
		be_at(2, op(1, 3), REQUIRE, op(1, 4));
		assert_string_equal(walk_stack(), "file leaf: line 20\n" MAIN);
		assert_int_equal(REC->words[2], flags ? name : 0);
		/* Of a frame that has a statement it is the statement. */
		assert_int_equal(REC->words[6] & PL_ADDRESS_MASK, cop(1) >> 3);
	}
}

/* Its text is compiled: no run loop of its own. */
EP_TEST_WITH(file_that_is_compiled_has_no_loop, begin, NULL)
{
	put_sub(1, "", 0, 0);
	push_load(1, 1, REQUIRE, op(1, 4));
	be_at(2, op(1, 3), REQUIRE, op(1, 4));
	assert_string_equal(walk_stack(), "file leaf: line 20\n" MAIN);
}

/* An eval that was docatch's has died: the sub goes on in its run loop, which the text is compiled
 * in. */
EP_TEST_WITH(text_that_is_compiled_behind_docatch_is_in_its_loop, begin, NULL)
{
	put_cop(3, "(eval 12)");
	put_sub(3, "", 0, 0);
	push_sub(2, 1, 0);
	push_load(3, 2, ENTEREVAL, op(2, 4));
	be_at(3, op(2, 3), ENTEREVAL, op(2, 4));
	assert_string_equal(walk_stack(), "text entry leaf text 12: statement 3\n"
					  "sub entry 2: statement 2\n" MAIN);
}

/* The statement is the caller's again. */
EP_TEST_WITH(file_that_is_left_is_no_frame, begin, NULL)
{
	push_load(1, 1, REQUIRE, op(1, 4));
	be_at(1, op(2, 3), 50, 0);
	assert_string_equal(walk_stack(), "main entry: statement 1\n");
}

/* --- who called a run loop -------------------------------------------------------------------- */

/* eval {} within what catches nothing has a run loop of its own (pp_ctl.c: docatch). */
EP_TEST_WITH(eval_with_a_jump_buffer_of_its_own_is_docatchs, begin, NULL)
{
	push_eval(CX_EVALBLOCK, 1, op(1, 4), 0x900);
	push_sub(1, 2, op(2, 4));
	push_eval(CX_EVALBLOCK, 3, op(3, 4), 0x900);
	assert_string_equal(walk_at(4), "block leaf: statement 4\n"
					"sub 1: statement 3\n"
					"block: statement 2\n" MAIN);
	begin(NULL);
	push_eval(CX_EVALBLOCK, 1, op(1, 4), 0x900);
	push_sub(1, 2, op(2, 4));
	push_eval(CX_EVALBLOCK, 3, op(3, 4), 0xa00);
	assert_string_equal(walk_at(4), "block entry leaf: statement 4\n"
					"sub 1: statement 3\n"
					"block: statement 2\n" MAIN);
}

EP_TEST_WITH(first_eval_in_a_loop_that_catches_nothing_is_docatchs, begin_in_sub, NULL)
{
	push_sub(2, 2, 0); /* overload */
	push_sub(3, 3, op(3, 4));
	push_eval(CX_EVALBLOCK, 4, op(4, 4), 0x900);
	assert_string_equal(walk_at(5), "block entry leaf: statement 5\n"
					"sub 3: statement 4\n"
					"sub entry 2: statement 3\n" SUB_1);
	begin_in_sub(NULL);
	push_eval(CX_EVALBLOCK, 2, 0, 0x800); /* it catches */
	push_sub(2, 2, 0);
	push_eval(CX_EVALBLOCK, 4, op(4, 4), 0x900);
	assert_string_equal(walk_at(5), "block leaf: statement 5\n"
					"sub 2: statement 4\n"
					"block entry: line 20\n" SUB_1);
}

EP_TEST_WITH(try_is_shown_where_it_has_a_loop, begin_in_sub, NULL)
{
	push_eval(CX_EVALBLOCK | CX_TRY, 2, op(2, 4), 0x900);
	assert_string_equal(walk_at(3), "sub leaf 1: statement 3\n" MAIN);
	begin_in_sub(NULL);
	push_sub(2, 2, 0);
	push_eval(CX_EVALBLOCK | CX_TRY, 3, op(3, 4), 0x900);
	assert_string_equal(walk_at(4), "try entry leaf: statement 4\n"
					"sub entry leaf 2: statement 4\n" SUB_1);
}

EP_TEST_WITH(defer_has_a_loop, begin_in_sub, NULL)
{
	push(CX_DEFER, 2, 0);
	assert_string_equal(walk_at(3), "defer entry leaf: line 30\n" SUB_1);
}

EP_TEST_WITH(sort_block_is_there_while_it_compares, begin_in_sub, NULL)
{
	push_stackinfo();
	push(CX_NULL, 2, 0);
	assert_string_equal(walk_at(3), "sort entry leaf: line 30\n" SUB_1);
	/* Nobody in its run loop catches: the first eval in it is docatch's. */
	begin_in_sub(NULL);
	push_stackinfo();
	push(CX_NULL, 2, 0);
	push_eval(CX_EVALBLOCK, 3, op(3, 4), 0x900);
	assert_string_equal(walk_at(4), "block entry leaf: statement 4\n"
					"sort entry: line 30\n" SUB_1);
	begin_in_sub(NULL);
	push_stackinfo();
	push(CX_NULL, 2, 0);
	be_at(2, 0, 0, 0);
	assert_string_equal(walk_stack(), SUB_1);
}

EP_TEST_WITH(multicall_is_there_while_it_runs, begin_in_sub, NULL)
{
	push_stackinfo();
	push_sub(2, 2, 0);
	world_put_bytes(CONTEXTS + 0x4000, &(uint8_t){CX_SUB | CX_MULTICALL}, 1);
	assert_string_equal(walk_at(3), "sub entry leaf 2: statement 3\n" SUB_1);
	begin_in_sub(NULL);
	push_stackinfo();
	push_sub(2, 2, 0);
	world_put_bytes(CONTEXTS + 0x4000, &(uint8_t){CX_SUB | CX_MULTICALL}, 1);
	assert_string_equal(walk_at(2), SUB_1);
}
