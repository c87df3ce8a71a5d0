/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames over a made-up interpreter: globs, HEKs, lexical subs, closures, texts, what is
 * gone, what changes while it is read.
 */
#include "plugins/perl/tests/unit/made_perl.h"

#include "plugins/perl/symbolize/lines.h"
#include "tests/kit/test.h"

static struct fixture {
	struct made *made;
	struct pl_namer namer;
} fx;

static void teardown(void *made)
{
	struct fixture *f = made;

	pl_namer_fini(&f->namer);
}

static void setup_for(uint32_t minor, bool threads)
{
	ep_test_release(NULL);
	fx = (struct fixture){.made = made_program(minor, threads)};
	ep_test_owns(&fx, teardown);
	fx.namer = (struct pl_namer){
		.host = fx.made->exe.host,
		.target = &fx.made->host.target,
		.memory = {fake_memory_read, &fx.made->host.memory},
		.layout = &fx.made->layout,
	};
	assert_int_equal(pl_namer_init(&fx.namer), 0);
}

/* Of the release that most have. */
static int setup_36(void **state)
{
	setup_for(36, true);
	return 0;
}

#define NAMES_TEST(name) EP_TEST_WITH(name, setup_36, NULL)

static int name(const struct ep_raw_frame *frame, bool *placed)
{
	bool ignored;

	return pl_names_add(&fx.namer, frame, &fx.made->host.names, placed ? placed : &ignored);
}

static void check_name(const char *function, const char *file, uint32_t line)
{
	assert_string_equal(fx.made->host.function, function);
	assert_string_equal(fx.made->host.file_name, file);
	assert_int_equal(fx.made->host.line, line);
}

static void check_named(const struct ep_raw_frame *frame, const char *function, const char *file,
			uint32_t line)
{
	assert_int_equal(name(frame, NULL), 0);
	check_name(function, file, line);
}

static void check_freed(const struct ep_raw_frame *frame, uint32_t line)
{
	unsigned int n = fx.made->host.counts[PL_COUNT_GONE];

	assert_int_equal(name(frame, NULL), 0);
	check_name("(freed sub)", "", line);
	assert_int_equal(fx.made->host.unnamed, EP_UNNAMED_GONE);
	assert_int_equal(fx.made->host.counts[PL_COUNT_GONE], n + 1);
}

/* The check of what it ran changes: another one is there by now. */
static void change_check(struct ep_raw_frame *frame)
{
	frame->words[0] ^= 1ull << PL_CHECK_SHIFT;
}

/* Also when it is asked for a second time, and is remembered. */
EP_TEST(frames_of_each_release_have_names)
{
	for (size_t i = 0; i < EP_LEN(made_releases); i++) {
		for (uint32_t k = 0; k < MADE_CASES; k++) {
			struct made_case made;

			setup_for(made_releases[i].minor, made_releases[i].threads);
			made = made_case(fx.made, k);
			for (int again = 0; again < 2; again++) {
				fx.made->host.start_line = 0;
				check_named(&made.frame, made.name, "/lib/Work.pm", 17);
				assert_int_equal(fx.made->host.start_line, made.start_line);
				assert_int_equal(fx.made->host.unnamed, EP_UNNAMED_NONE);
			}
		}
	}
}

NAMES_TEST(an_anonymous_sub_says_where_it_was_made)
{
	struct made_cv cv = {.stash = fx.made->stash, .start = fx.made->start};
	struct ep_raw_frame frame;

	cv.gv = make_glob(fx.made, cv.stash, "__ANON__");
	frame = make_sub(fx.made, &cv);
	check_named(&frame, "My::Package::__ANON__[Work.pm:12]", "/lib/Work.pm", 17);
}

NAMES_TEST(a_sub_at_no_statement_is_at_its_first)
{
	struct made_case made = made_case(fx.made, 0);

	made.frame.words[1] &= ~PL_ADDRESS_MASK;
	check_named(&made.frame, "My::Package::work", "/lib/Work.pm", 12);
}

NAMES_TEST(what_is_gone_has_no_name_and_what_was_named_keeps_it)
{
	uint64_t cv = make_cv(fx.made, &(struct made_cv){.gv = fx.made->gv, .seq = 7});
	struct ep_raw_frame frame = sub_frame(&fx.made->memory, cv, fx.made->cop), later = frame;

	assert_int_equal(name(&frame, NULL), 0);
	/* Another sub in its place: compiled later, otherwise the same. */
	put_int(fx.made, word_at(fx.made, cv) + 88, 8);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
	/* At another statement: the name is known, the line is not read any more. */
	later.words[1] += 64 >> 3;
	check_named(&later, "My::Package::work", "", 0);
	/* One that was never named. */
	later = sub_frame(&fx.made->memory, cv, fx.made->cop);
	change_check(&later);
	check_freed(&later, 0);
}

static void put_other_seq(void *arg)
{
	struct made *made = arg;
	/* The last thing that was made is the CV's head. */
	uint64_t cv = made->next - EP_ALIGN_UP(sizeof(struct pl_sv), 16);

	put_int(made, word_at(made, cv) + 88, 4711);
}

EP_TEST(what_changes_while_it_is_read_has_no_name)
{
	for (unsigned int at = 3; at < 8; at++) {
		struct ep_raw_frame frame;

		setup_for(36, true);
		frame = make_sub(fx.made, &(struct made_cv){.gv = fx.made->gv});
		fx.made->host.memory.change = put_other_seq;
		fx.made->host.memory.change_arg = fx.made;
		fx.made->host.memory.change_at = at;
		check_freed(&frame, 0);
	}
}

EP_TEST(a_closure_whose_code_or_name_is_gone_has_none)
{
	for (int i = 0; i < 2; i++) {
		struct ep_raw_frame frame;
		uint64_t hek;

		setup_for(36, true);
		hek = make_hek(fx.made, "inner", 0);
		frame = closure_frame(&fx.made->memory, hek, true, fx.made->cop);
		put_int(fx.made, i == 0 ? fx.made->cop + 60 : hek, 4711);
		check_freed(&frame, 0);
	}
}

/* Compiled anew again and again, and freed before it is named; the glob stays. */
EP_TEST(a_sub_that_is_freed_has_the_name_of_its_namesake)
{
	for (int named = 0; named < 2; named++) {
		struct ep_raw_frame frame;
		struct made_cv cv;
		uint64_t word;

		setup_for(36, true);
		cv = (struct made_cv){.stash = fx.made->stash,
				      .start = fx.made->cop,
				      .gv = named ? make_hek(fx.made, "work", 0) : fx.made->gv,
				      .flags = named ? PL_CVF_NAMED : 0};
		word = named ? pl_name_of_hek(cv.gv, cv.stash) : cv.gv >> 3;
		frame = with_name(make_sub(fx.made, &cv), word | 19ull << PL_ADDRESS_BITS);
		frame.flags |= named ? PL_FRAME_NAMED : 0;
		change_check(&frame);
		check_freed(&frame, 19);
		change_check(&frame);
		check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
		change_check(&frame);
		check_named(&frame, "My::Package::work", "/lib/Work.pm", 19);
		/* At no statement of its own the line is its caller's. */
		frame.words[1] &= ~PL_ADDRESS_MASK;
		check_named(&frame, "My::Package::work", "/lib/Work.pm", 0);
	}
}

static void rename_glob(uint64_t hek)
{
	put_word(fx.made, word_at(fx.made, fx.made->gv) + PL_GV_NAME_AT, hek);
}

NAMES_TEST(a_glob_that_is_another_one_names_nothing)
{
	struct made_cv cv = {.stash = fx.made->stash, .gv = fx.made->gv};
	struct ep_raw_frame frame = with_name(make_sub(fx.made, &cv), cv.gv >> 3);

	assert_int_equal(name(&frame, NULL), 0);
	rename_glob(make_hek(fx.made, "other", 0));
	change_check(&frame);
	check_freed(&frame, 0);
	/* Who has it now is who tells the next ones. */
	cv.seq = 1;
	frame = with_name(make_sub(fx.made, &cv), cv.gv >> 3);
	assert_int_equal(name(&frame, NULL), 0);
	change_check(&frame);
	check_named(&frame, "My::Package::other", "", 0);
}

/* The root of the program's op tree. */
static uint64_t make_root(uint64_t first)
{
	uint64_t root = make(fx.made, 48);

	put_op(fx.made, root, 5, 0, false, 4);
	put_word(fx.made, root + 40, first);
	put_op(fx.made, fx.made->cop, fx.made->layout.ops.nextstate, root, false, 0);
	return root;
}

/* set_subname: the glob goes with the closure, its statements stay. */
NAMES_TEST(a_closure_that_was_named_by_hand)
{
	uint64_t stash = fx.made->stash, cop = fx.made->cop,
		 check = check_of_cop(&fx.made->memory, cop);
	struct ep_raw_frame frame = make_frame(PL_KIND_CLOSURE, fx.made->gv, check, cop, 0), other;
	uint64_t hek = word_at(fx.made, word_at(fx.made, fx.made->gv) + PL_GV_NAME_AT);
	uint64_t head = word_at(fx.made, hek);

	make_root(cop);
	frame = with_name(frame, pl_name_of_closure(head, stash));
	/* Nobody knows its name, then this one is seen, then somebody is remembered. */
	rename_glob(make_hek(fx.made, "somebody", 0));
	check_named(&frame, "My::Package::__ANON__[Work.pm:17]", "/lib/Work.pm", 17);
	rename_glob(hek);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
	/* At the same place, in a glob that is where the first one's was. */
	other = frame;
	other.words[2] = pl_name_of_closure(head + 1, stash);
	check_named(&other, "My::Package::__ANON__[Work.pm:17]", "/lib/Work.pm", 17);
	rename_glob(make_hek(fx.made, "someone else", 0));
	frame.aux ^= 1; /* at another place */
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
	/* Its code is gone, too. */
	put_int(fx.made, cop + 60, 101);
	frame.aux ^= 3;
	check_named(&frame, "My::Package::work", "", 0);
	frame.words[2] ^= 1ull << 60;
	check_freed(&frame, 0);
}

/* root ─kids─► clones a lexical sub ─sibling─► the first statement */
NAMES_TEST(a_sub_may_begin_with_other_ops)
{
	uint64_t clone = make(fx.made, 48), root = make_root(clone), cv;
	struct ep_raw_frame frame;

	put_op(fx.made, clone, 7, fx.made->cop, true, 0);
	cv = make_cv(fx.made, &(struct made_cv){.gv = fx.made->gv, .start = clone, .root = root});
	frame = sub_frame(&fx.made->memory, cv, 0);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 17);
}

NAMES_TEST(what_is_no_sub_has_the_name_of_its_kind)
{
	static const struct {
		enum pl_kind kind;
		const char *name;
	} rows[] = {
		{PL_KIND_BLOCK, "(eval)"},
		{PL_KIND_TEXT, "(eval)"},
		{PL_KIND_FILE, "require /lib/Work.pm"},
		{PL_KIND_TRY, "(try)"},
		{PL_KIND_DEFER, "(defer)"},
		{PL_KIND_SORT, "(sort block)"},
		{PL_KIND_REGEX, "(regex code)"},
		{PL_KIND_MAIN, "main"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_raw_frame frame =
			block_frame(&fx.made->memory, rows[i].kind, fx.made->cop);
		bool placed = false;

		assert_int_equal(name(&frame, &placed), 0);
		assert_true(placed);
		check_name(rows[i].name, "/lib/Work.pm", 17);
	}
}

NAMES_TEST(a_text_that_is_gone_has_its_number_and_line)
{
	struct ep_raw_frame frame =
		make_frame(PL_KIND_TEXT, (12ull | 3ull << PL_TEXT_BITS) << 3, 1, fx.made->cop, 0);
	bool placed = true;

	frame.flags = PL_FRAME_TEXT;
	assert_int_equal(name(&frame, &placed), 0);
	assert_false(placed);
	check_name("(eval 12)", "(eval 12)", 3);
}

/* %INC with one entry: a HE, whose value is a string. */
static uint64_t make_inc(struct made *made, const char *path)
{
	uint64_t array = make(made, 64), he = make(made, 24), body = make(made, 64);
	uint64_t glob = make(made, 96), hash, gv, variable = make(made, 8);

	put_word(made, he + 16, make_sv(made, PL_SVT_PV | PL_SVF_POK, 0, put_text(made, path)));
	put_word(made, array + 16, he);
	put_word(made, body + 24, 7);
	hash = make_sv(made, PL_SVT_PVHV, body, array);
	put_word(made, glob + 32, hash);
	gv = make_sv(made, PL_SVT_PVGV | 0x8000u, 0, glob);
	put_word(made, variable, gv);
	return variable;
}

NAMES_TEST(a_statement_without_a_line_has_none)
{
	uint64_t none = make_cop(fx.made, fx.made->file, UINT32_MAX, 100), cv;
	struct ep_raw_frame frame;

	cv = make_cv(fx.made, &(struct made_cv){.gv = fx.made->gv, .start = none});
	frame = sub_frame(&fx.made->memory, cv, none);
	check_named(&frame, "My::Package::work", "/lib/Work.pm", 0);
	assert_int_equal(fx.made->host.start_line, 0);
	fx.namer.incgv_addr = make_inc(fx.made, "/lib/Other.pm");
	frame = file_frame(PL_KIND_BEGIN, fx.made->stash, "/lib/Other.pm", 0);
	frame.aux = PL_OP_MASK;
	check_named(&frame, "My::Package::BEGIN", "/lib/Other.pm", 0);
	frame = make_frame(PL_KIND_TEXT, (0xfffffull << PL_TEXT_BITS | 7) << 3, 0, 0, 0);
	frame.flags = PL_FRAME_TEXT;
	check_named(&frame, "(eval 7)", "(eval 7)", 0);
}

NAMES_TEST(a_file_that_is_loaded_is_found_in_inc)
{
	struct ep_raw_frame frame = file_frame(PL_KIND_BEGIN, fx.made->stash, "/lib/Other.pm", 0);

	fx.namer.incgv_addr = make_inc(fx.made, "/lib/Other.pm");
	check_named(&frame, "My::Package::BEGIN", "/lib/Other.pm", 5);
	frame.words[2] = hash_of("/lib/Unknown.pm");
	check_named(&frame, "BEGIN", "", 5);
}

NAMES_TEST(so_many_files_are_remembered)
{
	char name[16];

	for (uint32_t i = 0; i <= PL_MAX_FILES; i++) {
		snprintf(name, sizeof(name), "/lib/%u.pm", i);
		pl_files_learn(fx.namer.files, name);
		if (i < PL_MAX_FILES)
			assert_string_equal(pl_files_find(fx.namer.files, hash_of(name)), name);
	}
	assert_null(pl_files_find(fx.namer.files, hash_of(name)));
}

NAMES_TEST(a_statement_that_was_taken_out_has_the_line)
{
	uint64_t call = make_block(fx.made, 0), after = call + 48, cv, cop = fx.made->cop, check;
	const struct {
		uint64_t op;
		uint32_t flags, line;
	} rows[] = {
		{after, 0, 18},
		{call, PL_FRAME_LEAF, 18}, /* the op itself */
		{after + 256, 0, 17},	   /* in another statement */
	};

	cv = make_cv(fx.made, &(struct made_cv){.gv = fx.made->gv});
	check = check_of_cv(&fx.made->memory, cv);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_raw_frame frame = make_frame(PL_KIND_SUB, cv, check, cop, rows[i].op);

		frame.flags = rows[i].flags;
		check_named(&frame, "My::Package::work", "/lib/Work.pm", rows[i].line);
	}
}

NAMES_TEST(trees_without_an_end_are_left)
{
	struct pl_reader reader;
	uint64_t a, b, cop;

	reader = (struct pl_reader){
		.memory = &fx.namer.memory, .layout = fx.namer.layout};
	a = make(fx.made, 48);
	b = make(fx.made, 48);
	put_op(fx.made, fx.made->cop, fx.made->layout.ops.nextstate, a, true, 0);
	put_op(fx.made, a, 5, b, true, 4);
	put_op(fx.made, b, 5, a, true, 4);
	put_word(fx.made, a + 40, b);
	put_word(fx.made, b + 40, a);
	cop = fx.made->cop;
	assert_true(pl_closest_statement(&reader, fx.made->cop + 8000, true, &cop));
	assert_int_equal(cop, fx.made->cop);
	assert_int_equal(pl_first_statement(&reader, fx.made->cop), 0);
}

EP_TEST(names_are_clean_utf8)
{
	static const struct {
		const char *text;
		bool utf8;
		const char *clean;
	} rows[] = {
		{"plain", false, "plain"},
		{"caf\xe9", false, "caf\xc3\xa9"},
		{"caf\xc3\xa9", true, "caf\xc3\xa9"},
		{"a\nb\x1b", true, "a?b?"},
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
