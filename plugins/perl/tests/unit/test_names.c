/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames over a made-up interpreter: globs, HEKs, lexical subs, closures, texts, what is
 * gone, what changes while it is read, and reads that fail.
 */
#include "plugins/perl/tests/unit/made_perl.h"

#include "plugins/perl/symbolize/lines.h"
#include "tests/kit/test.h"

static struct fixture {
	struct made *made;
	struct pl_namer namer;
	uint64_t stash, gv, file, cop;
} fx;

static void teardown(void *made)
{
	struct fixture *f = made;

	names_cache_free(f->namer.cache);
	pl_files_free(f->namer.files);
}

static void setup_for(struct fixture *f, uint32_t minor, bool threads)
{
	ep_test_release(NULL);
	*f = (struct fixture){.made = made_new(minor, threads)};
	ep_test_owns(f, teardown);
	f->namer = (struct pl_namer){
		.host = f->made->exe.host,
		.target = &f->made->host.target,
		.layout = &f->made->layout,
	};
	assert_int_equal(pl_names_cache_new(&f->namer.cache), 0);
	assert_int_equal(pl_files_new(&f->namer.files), 0);
	f->stash = make_stash(f->made, "My::Package");
	f->gv = make_glob(f->made, f->stash, "work");
	f->file = threads ? put_text(f->made, "/lib/Work.pm")
			  : make_glob(f->made, f->stash, "_</lib/Work.pm");
	f->cop = make_cop(f->made, f->file, 17, 100);
}

/* Of the release that most have. */
static int setup_36(void **state)
{
	setup_for(&fx, 36, true);
	return 0;
}

#define NAMES_TEST(name) EP_TEST_WITH(name, setup_36, NULL)

static int name(struct fixture *f, const struct ep_raw_frame *frame, bool *placed)
{
	bool ignored;

	return pl_names_add(&f->namer, frame, &f->made->host.names, placed ? placed : &ignored);
}

static struct ep_raw_frame sub_frame(struct fixture *f, const struct made_cv *cv)
{
	uint64_t addr = make_cv(f->made, cv);

	return make_frame(PL_KIND_SUB, addr, check_of_cv(f->made, addr), f->cop, 0);
}

static void check_name(const struct fixture *f, const char *function, const char *file,
		       uint32_t line)
{
	assert_string_equal(f->made->host.function, function);
	assert_string_equal(f->made->host.file_name, file);
	assert_int_equal(f->made->host.line, line);
}

static void check_named(const struct ep_raw_frame *frame, const char *function, const char *file, uint32_t line)
{
	assert_int_equal(name(&fx, frame, NULL), 0);
	check_name(&fx, function, file, line);
}

static void check_freed(struct fixture *f, const struct ep_raw_frame *frame, uint32_t line)
{
	unsigned int n = f->made->host.counts[PL_COUNT_GONE];

	assert_int_equal(name(f, frame, NULL), 0);
	check_name(f, "(freed sub)", "", line);
	assert_int_equal(f->made->host.unnamed, EP_UNNAMED_GONE);
	assert_int_equal(f->made->host.counts[PL_COUNT_GONE], n + 1);
}

EP_TEST(a_sub_has_the_name_of_its_glob)
{
	static const struct {
		uint32_t minor;
		bool threads;
	} rows[] = {{28, true}, {32, true}, {34, false}, {36, true}, {40, true}, {44, false}};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_raw_frame frame;

		setup_for(&fx, rows[i].minor, rows[i].threads);
		frame = sub_frame(&fx, &(struct made_cv){.stash = fx.stash, .gv = fx.gv, .seq = 7});
		check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
		assert_int_equal(fx.made->host.unnamed, EP_UNNAMED_NONE);
	}
}

NAMES_TEST(a_sub_without_a_glob_has_its_hek_and_stash)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} rows[] = {
		{PL_CVF_NAMED, "My::Package::quick"},
		{PL_CVF_NAMED | PL_CVF_LEXICAL, "quick"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct made_cv cv = {.stash = fx.stash,
				     .gv = make_hek(fx.made, "quick", 0),
				     .seq = (uint32_t)i,
				     .flags = rows[i].flags};
		struct ep_raw_frame frame = sub_frame(&fx, &cv);

		check_named(&frame, rows[i].name, "/lib/Work.pm", 17);
	}
}

NAMES_TEST(an_anonymous_sub_says_where_it_was_made)
{
	struct ep_raw_frame frame;
	struct made_cv cv;

	cv = (struct made_cv){
		.stash = fx.stash,
		.gv = make_glob(fx.made, fx.stash, "__ANON__"),
		.start = make_cop(fx.made, fx.file, 12, 99),
	};
	frame = sub_frame(&fx, &cv);
	check_named(&frame, "My::Package::__ANON__[Work.pm:12]", "/lib/Work.pm", 17);
	assert_int_equal(fx.made->host.start_line, 12);
	/* As what is remembered says, too. */
	fx.made->host.start_line = 0;
	assert_int_equal(name(&fx, &frame, NULL), 0);
	assert_int_equal(fx.made->host.start_line, 12);
}

NAMES_TEST(a_sub_at_no_statement_is_at_its_first)
{
	struct ep_raw_frame frame;
	uint64_t cv;

	cv = make_cv(fx.made, &(struct made_cv){.stash = fx.stash,
					       .gv = fx.gv,
					       .start = make_cop(fx.made, fx.file, 12, 99)});
	frame = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv), 0, 0);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 12);
}

NAMES_TEST(what_is_gone_has_no_name_and_what_was_named_keeps_it)
{
	struct ep_raw_frame frame, later;
	uint64_t cv, body;

	cv = make_cv(fx.made, &(struct made_cv){.stash = fx.stash, .gv = fx.gv, .seq = 7});
	frame = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv), fx.cop, 0);
	assert_int_equal(name(&fx, &frame, NULL), 0);
	/* Another sub in its place: compiled later, otherwise the same. */
	memcpy(&body, fx.made->bytes + (cv - BIAS), sizeof(body));
	put_int(fx.made, body + 88, 8);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
	/* At another statement: the name is known, the line is not read any more. */
	later = make_frame(PL_KIND_SUB, cv,
			   (frame.aux >> PL_OP_BITS) | frame.words[0] >> PL_CHECK_SHIFT << 8 |
				   frame.words[1] >> 44 << 24,
			   fx.cop + 64, 0);
	assert_int_equal(name(&fx, &later, NULL), 0);
	check_name(&fx, "My::Package::work", "", 0);
	/* One that was never named. */
	later = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv) ^ 1, fx.cop, 0);
	check_freed(&fx, &later, 0);
}

static void put_other_seq(void *arg)
{
	struct made *made = arg;

	/* The last thing that was made is the CV's head; its body is before it. */
	uint64_t cv = made->next - EP_ALIGN_UP(sizeof(struct pl_sv), 16), body;

	memcpy(&body, made->bytes + (cv - BIAS), sizeof(body));
	put_int(made, body + 88, 4711);
}

EP_TEST(what_changes_while_it_is_read_has_no_name)
{
	for (unsigned int at = 3; at < 8; at++) {
		struct ep_raw_frame frame;

		setup_for(&fx, 36, true);
		frame = sub_frame(&fx, &(struct made_cv){.stash = fx.stash, .gv = fx.gv});
		fx.made->host.memory.change = put_other_seq;
		fx.made->host.memory.change_arg = fx.made;
		fx.made->host.memory.change_at = at;
		check_freed(&fx, &frame, 0);
	}
}

EP_TEST(each_read_may_fail)
{
	static const int errors[] = {-EFAULT, -ESRCH};
	unsigned int n;

	for (size_t i = 0; i < EP_LEN(errors); i++) {
		for (n = 1; n < 64; n++) {
			struct ep_raw_frame frame;
			int r;

			setup_for(&fx, 36, true);
			frame = sub_frame(&fx, &(struct made_cv){.stash = fx.stash, .gv = fx.gv});
			fx.made->host.memory.fail_at = n;
			fx.made->host.memory.fail_with = errors[i];
			r = name(&fx, &frame, NULL);
			assert_true(r == 0 || (r == -ESRCH && errors[i] == -ESRCH));
			if (r == 0 && !fx.made->host.counts[PL_COUNT_GONE])
				assert_string_equal(fx.made->host.function, "My::Package::work");
		}
	}
}

NAMES_TEST(a_closure_is_named_by_its_statement)
{
	struct ep_raw_frame frame;
	uint64_t hek, check;

	check = check_of_closure(fx.made, fx.cop, fx.gv, false);
	frame = make_frame(PL_KIND_CLOSURE, fx.gv, check, fx.cop, 0);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
	hek = make_hek(fx.made, "inner", 0);
	check = check_of_closure(fx.made, fx.cop, hek, true);
	frame = make_frame(PL_KIND_CLOSURE, hek, check, fx.cop, 0);
	frame.flags = PL_FRAME_NAMED | PL_FRAME_LEXICAL;
	check_named(&frame, "inner", "/lib/Work.pm", 17);
}

EP_TEST(a_closure_whose_code_or_name_is_gone_has_none)
{
	for (int i = 0; i < 2; i++) {
		struct ep_raw_frame frame;
		uint64_t hek;

		setup_for(&fx, 36, true);
		hek = make_hek(fx.made, "inner", 0);
		frame = make_frame(PL_KIND_CLOSURE, hek,
				   check_of_closure(fx.made, fx.cop, hek, true), fx.cop, 0);
		frame.flags = PL_FRAME_NAMED | PL_FRAME_LEXICAL;
		if (i == 0)
			put_int(fx.made, fx.cop + 60, 101);
		else
			put_int(fx.made, hek, 4711);
		check_freed(&fx, &frame, 0);
	}
}

/* Compiled anew again and again, and freed before it is named; the glob stays. */
EP_TEST(a_sub_that_is_freed_has_the_name_of_its_namesake)
{
	for (int named = 0; named < 2; named++) {
		struct ep_raw_frame frame;
		struct made_cv cv;
		uint64_t word;

		setup_for(&fx, 36, true);
		cv = (struct made_cv){.stash = fx.stash,
				      .start = fx.cop,
				      .gv = named ? make_hek(fx.made, "work", 0) : fx.gv,
				      .flags = named ? PL_CVF_NAMED : 0};
		word = named ? pl_name_of_hek(cv.gv, cv.stash) : cv.gv >> 3;
		frame = with_name(sub_frame(&fx, &cv), word | 19ull << PL_ADDRESS_BITS);
		frame.flags |= named ? PL_FRAME_NAMED : 0;
		frame.words[0] ^= 1ull << PL_CHECK_SHIFT; /* the check */
		check_freed(&fx, &frame, 19);
		frame.words[0] ^= 1ull << PL_CHECK_SHIFT;
		check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
		frame.words[0] ^= 1ull << PL_CHECK_SHIFT;
		check_named(&frame, "My::Package::work", "/lib/Work.pm", 19);
		/* At no statement of its own the line is its caller's. */
		frame.words[1] &= ~PL_ADDRESS_MASK;
		check_named(&frame, "My::Package::work", "/lib/Work.pm", 0);
	}
}

NAMES_TEST(a_glob_that_is_another_one_names_nothing)
{
	struct ep_raw_frame frame;
	struct made_cv cv;
	uint64_t body;

	cv = (struct made_cv){.stash = fx.stash, .gv = fx.gv};
	frame = with_name(sub_frame(&fx, &cv), fx.gv >> 3);
	assert_int_equal(name(&fx, &frame, NULL), 0);
	memcpy(&body, fx.made->bytes + (fx.gv - BIAS), sizeof(body));
	put_word(fx.made, body + PL_GV_NAME_AT, make_hek(fx.made, "other", 0));
	frame.words[0] ^= 1ull << PL_CHECK_SHIFT;
	check_freed(&fx, &frame, 0);
	/* Who has it now is who tells the next ones. */
	cv.seq = 1;
	frame = with_name(sub_frame(&fx, &cv), fx.gv >> 3);
	assert_int_equal(name(&fx, &frame, NULL), 0);
	frame.words[0] ^= 1ull << PL_CHECK_SHIFT;
	check_named(&frame, "My::Package::other", "", 0);
}

/* set_subname: the glob goes with the closure, its statements stay. */
NAMES_TEST(a_closure_that_was_named_by_hand)
{
	struct ep_raw_frame frame;
	uint64_t body, hek, head, root;

	root = take(fx.made, 48);
	put_op(fx.made, root, 5, 0, false, 4);
	put_word(fx.made, root + 40, fx.cop);
	put_op(fx.made, fx.cop, fx.made->layout.ops.nextstate, root, false, 0);
	memcpy(&body, fx.made->bytes + (fx.gv - BIAS), sizeof(body));
	memcpy(&hek, fx.made->bytes + (body + PL_GV_NAME_AT - BIAS), sizeof(hek));
	memcpy(&head, fx.made->bytes + (hek - BIAS), sizeof(head));
	frame = with_name(make_frame(PL_KIND_CLOSURE, fx.gv, check_of_cop(fx.made, fx.cop), fx.cop, 0),
			  pl_name_of_closure(head, fx.stash));
	/* Nobody knows its name, then this one is seen, then somebody is remembered. */
	put_word(fx.made, body + PL_GV_NAME_AT, make_hek(fx.made, "somebody", 0));
	check_named(&frame, "My::Package::__ANON__[Work.pm:17]", "/lib/Work.pm", 17);
	put_word(fx.made, body + PL_GV_NAME_AT, hek);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
	put_word(fx.made, body + PL_GV_NAME_AT, make_hek(fx.made, "someone else", 0));
	frame.aux ^= 1; /* at another place */
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
	/* Its code is gone, too. */
	put_int(fx.made, fx.cop + 60, 101);
	frame.aux ^= 3;
	check_named(&frame, "My::Package::work", "", 0);
	frame.words[2] ^= 1ull << 60;
	check_freed(&fx, &frame, 0);
}

/* root ─kids─► clones a lexical sub ─sibling─► the first statement */
NAMES_TEST(a_sub_may_begin_with_other_ops)
{
	struct ep_raw_frame frame;
	uint64_t root, clone, cv;

	root = take(fx.made, 48);
	clone = take(fx.made, 48);
	put_op(fx.made, root, 5, 0, false, 4);
	put_word(fx.made, root + 40, clone);
	put_op(fx.made, clone, 7, fx.cop, true, 0);
	put_op(fx.made, fx.cop, fx.made->layout.ops.nextstate, root, false, 0);
	cv = make_cv(fx.made,
		     &(struct made_cv){.stash = fx.stash, .gv = fx.gv, .start = clone, .root = root});
	frame = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv), 0, 0);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
}

NAMES_TEST(what_is_no_sub_has_the_name_of_its_kind)
{
	static const struct {
		enum pl_kind kind;
		const char *name;
	} rows[] = {
		{PL_KIND_BLOCK, "(eval)"},	{PL_KIND_TEXT, "(eval)"},
		{PL_KIND_FILE, "require /lib/Work.pm"}, {PL_KIND_TRY, "(try)"},
		{PL_KIND_DEFER, "(defer)"},	{PL_KIND_SORT, "(sort block)"},
		{PL_KIND_REGEX, "(regex code)"}, {PL_KIND_MAIN, "main"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_raw_frame frame =
			make_frame(rows[i].kind, 0, check_of_cop(fx.made, fx.cop), fx.cop, 0);
		bool placed = false;

		assert_int_equal(name(&fx, &frame, &placed), 0);
		assert_true(placed);
		check_name(&fx, rows[i].name, "/lib/Work.pm", 17);
	}
}

NAMES_TEST(a_text_that_is_gone_has_its_number_and_line)
{
	struct ep_raw_frame frame;
	bool placed = true;

	frame = make_frame(PL_KIND_TEXT, (12ull | 3ull << PL_TEXT_BITS) << 3, 1, fx.cop, 0);
	frame.flags = PL_FRAME_TEXT;
	assert_int_equal(name(&fx, &frame, &placed), 0);
	assert_false(placed);
	check_name(&fx, "(eval 12)", "(eval 12)", 3);
}

/* %INC with one entry: a HE, whose value is a string. */
static uint64_t make_inc(struct made *made, const char *path)
{
	uint64_t array = take(made, 64), he = take(made, 24), body = take(made, 64);
	uint64_t glob = take(made, 96), hash, gv, variable = take(made, 8);

	put_word(made, he + 16, make_sv(made, PL_SVT_PV | PL_SVF_POK, 0, put_text(made, path)));
	put_word(made, array + 16, he);
	put_word(made, body + 24, 7);
	hash = make_sv(made, PL_SVT_PVHV, body, array);
	put_word(made, glob + 32, hash);
	gv = make_sv(made, PL_SVT_PVGV | 0x8000u, 0, glob);
	put_word(made, variable, gv);
	return variable;
}

static uint64_t hash_of(const char *path)
{
	__u64 words[PL_FILE_WORDS] = {0};

	memcpy(words, path, EP_MIN(strlen(path), sizeof(words) - 1));
	return pl_hash_file(words);
}

NAMES_TEST(a_statement_without_a_line_has_none)
{
	uint64_t none = make_cop(fx.made, fx.file, UINT32_MAX, 100), cv;
	struct ep_raw_frame frame;

	cv = make_cv(fx.made, &(struct made_cv){.stash = fx.stash, .gv = fx.gv, .start = none});
	frame = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv), none, 0);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 0);
	assert_int_equal(fx.made->host.start_line, 0);
	fx.namer.incgv_addr = make_inc(fx.made, "/lib/Other.pm");
	frame = make_frame(PL_KIND_BEGIN, fx.stash, 0, 0, 0);
	frame.aux = PL_OP_MASK;
	frame.flags = PL_FRAME_FILE;
	frame.n_words = 3;
	frame.words[2] = hash_of("/lib/Other.pm");
	check_named(&frame, "My::Package::BEGIN", "/lib/Other.pm", 0);
	frame = make_frame(PL_KIND_TEXT, (0xfffffull << PL_TEXT_BITS | 7) << 3, 0, 0, 0);
	frame.flags = PL_FRAME_TEXT;
	check_named(&frame, "(eval 7)", "(eval 7)", 0);
}

NAMES_TEST(a_file_that_is_loaded_is_found_in_inc)
{
	struct ep_raw_frame frame;

	fx.namer.incgv_addr = make_inc(fx.made, "/lib/Other.pm");
	frame = make_frame(PL_KIND_BEGIN, fx.stash, 0, 0, 0);
	frame.aux = 5;
	frame.flags = PL_FRAME_FILE;
	frame.n_words = 3;
	frame.words[2] = hash_of("/lib/Other.pm");
	check_named(&frame, "My::Package::BEGIN", "/lib/Other.pm", 5);
	frame.words[2] = hash_of("/lib/Unknown.pm");
	check_named(&frame, "BEGIN", "", 5);
}

/*
 * A block whose first statement was taken out of the order of execution:
 *
 *	cop ─sibling─► null ─kids─► (ex-statement, line 18) ─► call ─next─► after
 */
NAMES_TEST(a_statement_that_was_taken_out_has_the_line)
{
	struct ep_raw_frame frame;
	uint64_t block, inner, call, after, cv;

	block = take(fx.made, 48);
	inner = make_cop(fx.made, fx.file, 18, 100);
	call = take(fx.made, 48);
	after = take(fx.made, 48);
	put_op(fx.made, fx.cop, fx.made->layout.ops.nextstate, block, true, 0);
	put_op(fx.made, block, 5, 0, false, 4);
	put_word(fx.made, block + 40, inner);
	put_op(fx.made, inner, 0, call, true, 0);
	put_word(fx.made, inner + 24, fx.made->layout.ops.nextstate);
	put_op(fx.made, call, fx.made->layout.ops.entersub, block, false, 0);
	put_word(fx.made, call, after);
	cv = make_cv(fx.made, &(struct made_cv){.stash = fx.stash, .gv = fx.gv});
	frame = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv), fx.cop, after);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 18);
	/* The op itself, of the leaf. */
	frame = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv), fx.cop, call);
	frame.flags = PL_FRAME_LEAF;
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 18);
	/* An op that is in another statement. */
	frame = make_frame(PL_KIND_SUB, cv, check_of_cv(fx.made, cv), fx.cop, after + 256);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
}

NAMES_TEST(trees_without_an_end_are_left)
{
	struct pl_reader reader;
	uint64_t a, b, cop;

	reader = (struct pl_reader){.host = fx.namer.host,
				    .target = fx.namer.target,
				    .layout = fx.namer.layout};
	a = take(fx.made, 48);
	b = take(fx.made, 48);
	put_op(fx.made, fx.cop, fx.made->layout.ops.nextstate, a, true, 0);
	put_op(fx.made, a, 5, b, true, 4);
	put_op(fx.made, b, 5, a, true, 4);
	put_word(fx.made, a + 40, b);
	put_word(fx.made, b + 40, a);
	cop = fx.cop;
	assert_true(pl_closest_statement(&reader, fx.cop + 8000, true, &cop));
	assert_int_equal(cop, fx.cop);
	assert_int_equal(pl_first_statement(&reader, fx.cop), 0);
}

EP_TEST(names_are_clean_utf8)
{
	static const struct {
		const char *text;
		bool utf8;
		const char *clean;
	} rows[] = {
		{"plain", false, "plain"},	  {"caf\xe9", false, "caf\xc3\xa9"},
		{"caf\xc3\xa9", true, "caf\xc3\xa9"}, {"a\nb\x1b", true, "a?b?"},
		{"\xed\xa0\x80", true, "\xc3\xad\xc2\xa0?"},
		{"0123456789abcdefghijklmnopqrstuvwxyz", false, "0123456789abcdefghijklmno..."},
	};
	char buf[32];

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		pl_clean_text((const uint8_t *)rows[i].text, strlen(rows[i].text), rows[i].utf8,
			      false, buf, sizeof(buf));
		assert_string_equal(buf, rows[i].clean);
	}
}
