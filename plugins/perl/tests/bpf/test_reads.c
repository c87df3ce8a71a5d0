/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The walk of Perl's contexts (walk_world.h): the interpreter, what cannot be read, and how much
 * is. */
#include "walk_world.h"

/* --- the interpreter -------------------------------------------------------------------------- */

EP_TEST_WITH(other_threads_wait_until_theirs_is_known, begin, NULL)
{
	world.state.holder_of_main = 1;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
	begin(NULL);
	world.state.holder_of_main = 1;
	REC->sample.tid = 78;
	assert_string_equal(walk_stack(), "");
	assert_int_equal(world.counters[PL_COUNT_NO_INTERPRETER], 1);
	begin(NULL);
	world.state.interp = (struct ep_tls){.steps = 1, .off = {0x10}};
	world.state.holder_addr = 0;
	world.state.holder_of_main = 1;
	REC->sample.tid = 78;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
}

EP_TEST_WITH(members_may_be_variables, begin, NULL)
{
	world.state.holder_addr = 0;
	world.state.op_off += INTERP;
	world.state.cop_off += INTERP;
	world.state.stack_off += INTERP;
	world.state.dbsub_off += INTERP;
	world.state.threads = 0;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
}

EP_TEST_WITH(what_nobody_has_looked_at_must_be_likely, begin, NULL)
{
	world.state.unproven = 1;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
	assert_true(REC->sample.flags & EP_SAMPLE_REFRESH);
	for (int i = 0; i < 4; i++) {
		begin(NULL);
		world.state.unproven = 1;
		if (i == 0)
			world_put(INTERP + STASH_OFF, 0);
		else if (i == 1)
			world_put_int(HEAP + 0x800 + 12, SV_TYPE_CV);
		else if (i == 2)
			world_put_int(stackinfo(0) + SI_INDEX, 1 << 21);
		else
			world_put_int(stackinfo(0) + SI_INDEX, (uint32_t)-2);
		assert_string_equal(walk_stack(), "");
		assert_int_equal(REC->sample.error, 0);
	}
	begin(NULL);
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
	assert_false(REC->sample.flags & EP_SAMPLE_REFRESH);
}

EP_TEST_WITH(contexts_that_cannot_be_read_end_the_stack, begin_in_sub, NULL)
{
	push_stackinfo();
	push_sub(2, 2, 0);
	world_put(stackinfo(0) + SI_CONTEXTS, 0x100);
	assert_string_equal(walk_at(3), "sub entry leaf 2: statement 3\nerror 100\n");
	begin(NULL);
	push_stackinfo();
	world_put(stackinfo(1) + SI_PREVIOUS, 0x100);
	push_sub(2, 2, 0);
	assert_string_equal(walk_at(3), "sub entry leaf 2: statement 3\nerror 100\n");
}

/* What it runs, or where: reported by its kind alone, and never by what was read before. */
EP_TEST_WITH(frames_that_cannot_be_read_say_so, begin_in_sub, NULL)
{
	put_cop(3, "(eval 12)");
	world_put(push(CX_SUB, 2, op(2, 4)) + SUB_CV, 0x7000);
	push_load(2, 2, ENTEREVAL, op(2, 4));
	world_put(INTERP + COP_OFF, 0x7000);
	assert_string_equal(walk_stack(), "text leaf ?\n"
					  "sub ?\n" SUB_1);
	begin_in_sub(NULL);
	world_put(push(CX_SUB, 2, op(2, 4)) + SUB_CV, 0x7000);
	assert_string_equal(walk_at(3), "sub leaf ?\n" SUB_1);
}

EP_TEST_WITH(list_without_an_end_ends, begin, NULL)
{
	push_stackinfo();
	push_sub(2, 2, 0);
	world_put(stackinfo(1) + SI_PREVIOUS, stackinfo(1));
	be_at(3, op(3, 3), 50, 0);
	world_run(perl_unwind);
	assert_int_equal(REC->sample.error, 100 + PL_ERROR_DEEP);
	assert_true(world.n_runs <= 1 + EP_MAX_TAIL_CALLS);
}

/* A sub in a loop in itself: three contexts each. */
EP_TEST_WITH(thousand_frames_are_whole, begin, NULL)
{
	uint32_t subs = 0;
	const char *at;

	for (int i = 0; i < 1000; i++) {
		push_sub(1, i ? 2 : 1, op(2, 4));
		push(6, 2, 0);
		push(CX_BLOCK, 2, 0);
	}
	be_at(2, op(2, 3), 50, 0);
	world_run(perl_unwind);
	assert_int_equal(REC->sample.error, 0);
	assert_int_equal(REC->sample.n_frames, 1001);
	assert_true(world.n_runs <= EP_MAX_TAIL_CALLS);
	for (at = world_say(say_frame); (at = strstr(at, "sub")); at++)
		subs++;
	assert_true(subs > 100); /* what the text has space for */
}

/* --- what it reads ---------------------------------------------------------------------------- */

/* What is read for `n` calls of closures or subs, of so many that each has a CV of its own. */
static uint32_t count_reads(uint32_t n, uint32_t n_cvs, uint32_t flags)
{
	begin(NULL);
	for (uint32_t i = 1; i <= n_cvs; i++) {
		put_sub(i, "__ANON__", flags, 1);
		world_put(sub(i) + BODY + PL_CV_AT + 8 * PL_CV_GV, sub(1) + GLOB);
	}
	for (uint32_t i = 0; i < n; i++)
		push_sub(1 + i % n_cvs, i ? 2 : 1, op(2, 4));
	be_at(2, op(2, 3), 50, 0);
	world_run(perl_unwind);
	assert_int_equal(REC->sample.error, 0);
	assert_int_equal(REC->sample.n_frames, n + 1);
	return world.memory.n_reads;
}

#define PER_WINDOW(n) (((n) + PL_WINDOW_CONTEXTS - 1) / PL_WINDOW_CONTEXTS)

EP_TEST_WITH(sub_that_calls_itself_is_read_once, begin, NULL)
{
	assert_int_equal(count_reads(440, 1, 0) - count_reads(40, 1, 0), PER_WINDOW(400));
	assert_int_equal(count_reads(440, 5, 0) - count_reads(40, 5, 0), PER_WINDOW(400));
	/* Two that have the same place in the table take turns. */
	assert_in_range(count_reads(440, 15, 0) - count_reads(40, 15, 0), PER_WINDOW(400),
			PER_WINDOW(400) + 400 / 15 * 2 * 2 + 4);
}

/* Of each closure that is not in the table its CV and that one's body. */
EP_TEST_WITH(closures_of_one_text_are_named_once, begin, NULL)
{
	uint32_t one, both;

	one = count_reads(20, 1, PL_CVF_ANON | PL_CVF_CLONED);
	both = count_reads(20, 15, PL_CVF_ANON | PL_CVF_CLONED);
	assert_in_range(both - one, 2 * 14, 2 * 19);
}

#define HEADS  (SUBS + 0x4000)
#define BODIES (SUBS + 0x8000)
#define N_MADE 100u

/* Closures of sub 1's text that were made one after the other, each called by the one before. */
static void push_made(void)
{
	put_sub(1, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	for (uint32_t i = 0; i < N_MADE; i++) {
		uint64_t cv = HEADS + 96 * i, body = BODIES + 136 * i;

		world_put_bytes(cv, fake_memory_find(&world.memory, sub(1), 24), 24);
		world_put_bytes(body, fake_memory_find(&world.memory, sub(1) + BODY, 136), 136);
		world_put(cv, body);
		world_put(push(CX_SUB, i ? 2 : 1, op(2, 4)) + SUB_CV, cv);
	}
	be_at(2, op(2, 3), 50, 0);
}

EP_TEST_WITH(closures_made_in_turn_are_read_together, begin, NULL)
{
	static char whole[sizeof(world.text)];

	push_made();
	snprintf(whole, sizeof(whole), "%s", walk_stack());
	assert_int_equal(REC->sample.n_frames, N_MADE + 1);
	assert_true(world.memory.n_reads < N_MADE / 2);
	/* The page before them is missing: the first ones are read alone. */
	for (uint32_t i = 0; i < 2; i++) {
		begin(NULL);
		push_made();
		world.memory.hole = (i ? HEADS : BODIES) - PAGE;
		world.memory.hole_bytes = PAGE;
		assert_string_equal(walk_stack(), whole);
	}
}

/* What was there in the sample before says nothing. */
EP_TEST_WITH(each_sample_reads_anew, begin, NULL)
{
	char before[256];

	put_sub(1, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	push_subs(2);
	be_at(3, op(3, 3), 50, 0);
	snprintf(before, sizeof(before), "%s", walk_stack());
	assert_string_equal(before, "sub leaf 2: statement 3\n"
				    "closure glob 1: statement 2\n" MAIN);
	put_sub(1, "named", 0, 1);
	put_sub(2, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	put_cop(2, "(eval 7)");
	world_begin_sample();
	assert_string_equal(walk_stack(), "closure leaf glob 2: statement 3\n" SUB_1);
}

static uint64_t hash_of(const char *name)
{
	__u64 words[PL_FILE_WORDS] = {0};

	memcpy(words, name, strlen(name));
	return pl_hash_file(words);
}

EP_TEST_WITH(files_are_told_by_their_names_alone, begin, NULL)
{
	put_cop(3, "lib/with_a_long_name.pl");
	put_cop(2, "short.pl");
	push_load(1, 1, REQUIRE, op(1, 4));
	push_load(2, 2, REQUIRE, op(2, 4));
	assert_string_equal(walk_at(3), "file leaf: line 30\nfile: line 20\n" MAIN);
	assert_int_equal(REC->words[3], hash_of("lib/with_a_long_name.pl"));
	assert_int_equal(REC->words[7], hash_of("short.pl"));
}

/* A page of contexts that are further out: those before it are frames. */
EP_TEST_WITH(contexts_are_read_alone_where_a_page_is_missing, begin, NULL)
{
	for (uint32_t i = 0; i < 60; i++)
		push_sub(1, i ? 2 : 1, op(2, 4));
	be_at(2, op(2, 3), 50, 0);
	world.memory.hole = CONTEXTS;
	world.memory.hole_bytes = PAGE;
	world_run(perl_unwind);
	assert_int_equal(REC->sample.error, 100 + PL_ERROR_CONTEXT);
	/* 60 subs and the program; the context at 39 * 104 is in both pages. The last frame is
	 * lost: it may be C's. */
	assert_int_equal(REC->sample.n_frames, 60 - 39);
}

/* A HEK and the glob of a lexical sub may have the same words. */
EP_TEST_WITH(names_are_told_apart_by_what_has_them, begin, NULL)
{
	put_sub(1, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	put_sub(2, "inner", PL_CVF_CLONED | PL_CVF_LEXICAL, 1);
	world_put(sub(2) + BODY + PL_CV_AT + 8 * PL_CV_GV, sub(1) + GLOB);
	push_subs(2);
	assert_string_equal(walk_at(3), "closure leaf hek 1: statement 3\n"
					"closure glob 1: statement 2\n" MAIN);
}

/* However few contexts a run may have, the stack is the same. */
EP_TEST_WITH(short_runs_make_the_same_stack, begin, NULL)
{
	for (uint32_t n = 1; n < 12; n++) {
		begin(NULL);
		*(uint32_t *)(uintptr_t)&ep_self.frames_per_run = n;
		push_eval(CX_EVALBLOCK, 1, op(1, 4), 0x900);
		push_sub(1, 2, op(2, 4));
		push_sub(2, 3, 0);
		push(CX_BLOCK, 4, 0);
		push_eval(CX_EVALBLOCK, 4, op(4, 4), 0xa00);
		assert_string_equal(walk_at(5), "block entry leaf: statement 5\n"
						"sub entry 2: statement 4\n"
						"sub 1: statement 3\n"
						"block: statement 2\n" MAIN);
	}
}
