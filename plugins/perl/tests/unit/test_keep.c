/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the keeper sends of frames is what they are named by when nothing else of the process is left.
 * The program is compiled for user space, and looks at the interpreter that is made up.
 */
#define EP_SHIM_OBJECT "perl_keep"
#include "plugins/perl/perl_keep.bpf.c"

#define WORLD_STATE struct pl_state
#include "tests/kit/kept.h"

#include "plugins/perl/tests/unit/made_perl.h"

#define SLOT 5

static struct made *made;
static struct pl_keeper scratch;
static uint64_t stash, gv, file, cop, start;

static void begin(uint32_t minor, bool threads)
{
	ep_test_release(NULL);
	ep_test_owns(&kept, kept_release);
	made = made_new(minor, threads);
	made->host.ops.read = kept_read;
	stash = make_stash(made, "My::Package");
	gv = make_glob(made, stash, "work");
	file = threads ? put_text(made, "/lib/Work.pm") : make_glob(made, stash, "_</lib/Work.pm");
	cop = make_cop(made, file, 17, 100);
	start = make_cop(made, file, 12, 99);
	world_begin(SLOT, 40);
	kept_begin(SLOT);
	kept.is_apart = true;
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world.state.threads = threads;
	world.state.aux_in_body = made->layout.aux_in_body;
}

static void push(const struct ep_raw_frame *frame)
{
	ep_push_words(REC, EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + SLOT, frame->flags, frame->n_words, frame->aux),
		      frame->n_words, frame->words[0], frame->words[1], frame->words[2]);
}

static void push_native(void)
{
	ep_push_words(REC, EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 3), 1, 0x1234, 0, 0);
}

/* Runs it on what was pushed, and adds what it has sent to what is kept. True: it has sent something. */
static bool keep(void)
{
	world.memory = made->host.memory;
	REC->walk.sequence++;
	return kept_run(perl_keep) > 0;
}

static void forget_frames(void)
{
	REC->sample.n_words = 0;
	REC->sample.n_frames = 0;
}

/* By a symbolizer that has not seen anything, as the host asks it. False: all that was said stands in. */
static bool name(const struct ep_raw_frame *frame)
{
	struct pl_namer namer = {.host = made->exe.host, .target = &made->host.target, .layout = &made->layout};
	bool placed;
	int r;

	assert_int_equal(pl_names_cache_new(&namer.cache), 0);
	assert_int_equal(pl_files_new(&namer.files), 0);
	ep_kept_memory_see_all(&kept);
	do {
		made->host.name_flags = 0;
		r = pl_names_add(&namer, frame, &made->host.names, &placed);
	} while ((r != 0 || made->host.name_flags & EP_NAME_STANDS_IN) && ep_kept_memory_look_back(&kept));
	names_cache_free(namer.cache);
	pl_files_free(namer.files);
	return r == 0 && !(made->host.name_flags & EP_NAME_STANDS_IN);
}

static void check_named(const struct ep_raw_frame *frame, const char *function, const char *file_name, uint32_t line)
{
	assert_true(name(frame));
	assert_string_equal(made->host.function, function);
	assert_string_equal(made->host.file_name, file_name);
	assert_int_equal(made->host.line, line);
	assert_int_equal(made->host.unnamed, EP_UNNAMED_NONE);
}

static struct ep_raw_frame sub_frame(const struct made_cv *cv)
{
	uint64_t addr = make_cv(made, cv);

	return make_frame(PL_KIND_SUB, addr, check_of_cv(made, addr), cop, 0);
}

static struct ep_raw_frame work(void)
{
	return sub_frame(&(struct made_cv){.stash = stash, .gv = gv, .start = start, .seq = 7});
}

static const struct {
	uint32_t minor;
	bool threads;
} releases[] = {{28, true}, {32, true}, {34, false}, {36, true}, {40, true}, {44, false}};

EP_TEST(what_is_kept_names_a_sub_of_each_release)
{
	for (size_t i = 0; i < EP_LEN(releases); i++) {
		const char *file_name = releases[i].threads ? "/lib/Work.pm" : "";
		struct ep_raw_frame frame;

		begin(releases[i].minor, releases[i].threads);
		frame = work();
		push_native();
		push(&frame);
		push_native();
		assert_false(name(&frame));
		assert_true(keep());
		check_named(&frame, "My::Package::work", file_name, releases[i].threads ? 17 : 0);
		assert_int_equal(made->host.start_line, releases[i].threads ? 12 : 0);
	}
}

/*
 * As in test_names.c: a block whose first statement was taken out of the order of execution. Of a tree that
 * is not kept as far as it must be the line is not known, or the one that the frame says.
 */
EP_TEST(what_is_kept_tells_the_line_within_a_statement)
{
	for (int far = 0; far < 2; far++) {
		struct ep_raw_frame frame;
		uint64_t block, inner, call, after;

		begin(36, true);
		block = take(made, 48);
		inner = make_cop(made, file, 18, 100);
		made->next += far ? OPS_BYTES : 0;
		call = take(made, 48);
		after = take(made, 48);
		put_op(made, cop, made->layout.ops.nextstate, block, true, 0);
		put_op(made, block, 5, 0, false, 4);
		put_word(made, block + 40, inner);
		put_op(made, inner, 0, call, true, 0);
		put_word(made, inner + 24, made->layout.ops.nextstate);
		put_op(made, call, made->layout.ops.entersub, block, false, 0);
		put_word(made, call, after);
		frame = work();
		frame.aux |= (uint32_t)(after - cop) / 8;
		push(&frame);
		assert_true(keep());
		check_named(&frame, "My::Package::work", "/lib/Work.pm", far ? 0 : 18);
		frame = with_name(frame, gv >> 3 | 17ull << PL_ADDRESS_BITS);
		check_named(&frame, "My::Package::work", "/lib/Work.pm", far ? 17 : 18);
	}
}

/* As caller says it: a sub that another package has imported is the first one's. */
EP_TEST(what_is_kept_has_the_name_of_the_effective_glob)
{
	struct ep_raw_frame frame;
	uint64_t gp;

	begin(36, true);
	memcpy(&gp, made->bytes + (gv + 16 - BIAS), sizeof(gp));
	put_word(made, gp + 56, make_glob(made, make_stash(made, "Other"), "origin"));
	frame = work();
	push(&frame);
	assert_true(keep());
	check_named(&frame, "Other::origin", "/lib/Work.pm", 17);
}

EP_TEST(what_is_kept_names_what_has_no_glob)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} rows[] = {
		{PL_CVF_NAMED, "My::Package::quick"},
		{PL_CVF_NAMED | PL_CVF_LEXICAL, "quick"},
	};

	begin(36, true);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_raw_frame frame = sub_frame(&(struct made_cv){.stash = stash,
									.gv = make_hek(made, "quick", 0),
									.flags = rows[i].flags});

		push(&frame);
		assert_true(keep());
		check_named(&frame, rows[i].name, "/lib/Work.pm", 17);
	}
}

EP_TEST(what_is_kept_names_closures)
{
	for (size_t i = 0; i < EP_LEN(releases); i++) {
		struct ep_raw_frame frames[3];
		uint64_t nobody, hek;

		if (!releases[i].threads)
			continue;
		begin(releases[i].minor, true);
		nobody = make_glob(made, stash, "__ANON__");
		/* It has a parent, as in a sub. */
		put_op(made, cop, made->layout.ops.nextstate, start, false, 0);
		hek = make_hek(made, "inner", 0);
		frames[0] = make_frame(PL_KIND_CLOSURE, gv, check_of_closure(made, cop, gv, false), cop, 0);
		frames[1] = make_frame(PL_KIND_CLOSURE, nobody, check_of_closure(made, cop, nobody, false), cop, 0);
		frames[2] = make_frame(PL_KIND_CLOSURE, hek, check_of_closure(made, cop, hek, true), cop, 0);
		frames[2].flags = PL_FRAME_NAMED | PL_FRAME_LEXICAL;
		for (size_t k = 0; k < EP_LEN(frames); k++)
			push(&frames[k]);
		assert_true(keep());
		check_named(&frames[0], "My::Package::work", "/lib/Work.pm", 17);
		/* Where it begins is not kept. */
		check_named(&frames[1], "My::Package::__ANON__[?]", "/lib/Work.pm", 17);
		check_named(&frames[2], "inner", "/lib/Work.pm", 17);
	}
}

static uint64_t hash_of(const char *path)
{
	__u64 words[PL_FILE_WORDS] = {0};

	memcpy(words, path, EP_MIN(strlen(path), sizeof(words) - 1));
	return pl_hash_file(words);
}

static struct ep_raw_frame file_frame(enum pl_kind kind, uint64_t what, const char *path, uint64_t at)
{
	struct ep_raw_frame frame = make_frame(kind, what, 0, 0, 0);

	frame.aux = 5;
	frame.flags = PL_FRAME_FILE;
	frame.n_words = 3;
	frame.words[1] = at;
	frame.words[2] = hash_of(path);
	return frame;
}

EP_TEST(what_is_kept_names_files_that_are_loaded)
{
	static const char longest[] = "/a/name/that/is/longer/than/what/a/frame/has/the/hash/of/and/than/"
				      "what/is/read/of/a/text/at/once/by/those/who/name/frames/Long/Way.pm";
	const char *paths[] = {"/lib/Work.pm", "-e", longest};

	for (size_t i = 0; i < EP_LEN(paths); i++) {
		struct ep_raw_frame loads, begins, other;
		char function[256];

		begin(40, true);
		made->next += 40 * i; /* also texts that go over where one read ends */
		file = put_text(made, paths[i]);
		loads = file_frame(PL_KIND_FILE, 0, paths[i], file);
		begins = file_frame(PL_KIND_BEGIN, stash, paths[i], file);
		other = file_frame(PL_KIND_FILE, 0, "/lib/Other.pm", file);
		push(&loads);
		push(&begins);
		push(&other);
		assert_true(keep());
		snprintf(function, sizeof(function), "require %s", paths[i]);
		check_named(&loads, function, paths[i], 5);
		check_named(&begins, "My::Package::BEGIN", paths[i], 5);
		/* Something else is there by now. */
		assert_false(name(&other));
	}
}

EP_TEST(what_is_no_sub_has_its_place)
{
	struct ep_raw_frame frame;

	begin(36, true);
	frame = make_frame(PL_KIND_BLOCK, 0, check_of_cop(made, cop), cop, 0);
	push(&frame);
	assert_false(name(&frame));
	assert_true(keep());
	check_named(&frame, "(eval)", "/lib/Work.pm", 17);
}

/* Its check is that of what was kept, and nothing else. */
EP_TEST(what_was_kept_of_other_code_names_nothing)
{
	struct ep_raw_frame sub, block;

	begin(36, true);
	sub = work();
	block = make_frame(PL_KIND_BLOCK, 0, check_of_cop(made, cop), cop, 0);
	push(&sub);
	push(&block);
	assert_true(keep());
	for (int bit = 0; bit < PL_CHECK_BITS; bit++) {
		struct ep_raw_frame frames[2] = {sub, block};

		for (int i = 0; i < 2; i++) {
			if (bit < 8)
				frames[i].aux ^= 1u << (PL_OP_BITS + bit);
			else if (bit < 24)
				frames[i].words[0] ^= 1ull << (PL_CHECK_SHIFT + bit - 8);
			else
				frames[i].words[1] ^= 1ull << (PL_ADDRESS_BITS + bit - 24);
			assert_false(name(&frames[i]));
		}
	}
}

/*
 * The first sub is freed, and its glob's place is another's: both were sent, and each has the name that it
 * had then.
 */
EP_TEST(what_was_sent_before_is_not_mixed_with_what_came_later)
{
	struct ep_raw_frame first, second;
	uint64_t body;

	begin(36, true);
	first = work();
	push(&first);
	assert_true(keep());
	forget_frames();
	memcpy(&body, made->bytes + (gv - BIAS), sizeof(body));
	put_word(made, body + PL_GV_NAME_AT, make_hek(made, "other", 0));
	second = sub_frame(&(struct made_cv){.stash = stash, .gv = gv, .seq = 8});
	push(&second);
	assert_true(keep());
	check_named(&second, "My::Package::other", "/lib/Work.pm", 17);
	check_named(&first, "My::Package::work", "/lib/Work.pm", 17);
}

/* At the same address, as a CV that is freed and made again is. */
EP_TEST(a_sub_at_the_address_of_another_is_sent_again)
{
	struct ep_raw_frame first, second;
	uint64_t cv, body;

	begin(36, true);
	cv = make_cv(made, &(struct made_cv){.stash = stash, .gv = gv, .seq = 7});
	first = make_frame(PL_KIND_SUB, cv, check_of_cv(made, cv), cop, 0);
	push(&first);
	assert_true(keep());
	assert_false(keep());
	memcpy(&body, made->bytes + (cv - BIAS), sizeof(body));
	put_word(made, body + 56, make_glob(made, stash, "other"));
	second = make_frame(PL_KIND_SUB, cv, check_of_cv(made, cv), cop, 0);
	forget_frames();
	push(&second);
	assert_true(keep());
	check_named(&second, "My::Package::other", "/lib/Work.pm", 17);
	check_named(&first, "My::Package::work", "/lib/Work.pm", 17);
	/* And each program has its own. */
	REC->sample.image++;
	assert_true(keep());
}

EP_TEST(what_does_not_fit_comes_with_the_next_sample)
{
	struct ep_raw_frame frames[48];
	uint32_t n_events = 0;

	begin(40, true);
	for (size_t i = 0; i < EP_LEN(frames); i++) {
		frames[i] = sub_frame(&(struct made_cv){.stash = stash, .gv = gv, .start = start, .seq = (uint32_t)i});
		push(&frames[i]);
		push_native();
	}
	while (keep())
		n_events++;
	assert_in_range(n_events, 3, 4);
	for (size_t i = 0; i < EP_LEN(frames); i++)
		check_named(&frames[i], "My::Package::work", "/lib/Work.pm", 17);
}

/* Each event is read apart from the others: files and packages are in all of them. */
EP_TEST(each_event_of_a_sample_is_whole)
{
	struct ep_raw_frame frames[18];
	char text[300];

	begin(40, true);
	memset(text, 'n', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < EP_LEN(frames); i++) {
		uint64_t package = make_stash(made, text), own = make_glob(made, package, text);

		frames[i] = sub_frame(&(struct made_cv){.stash = package, .gv = own, .start = start, .seq = (uint32_t)i});
		push(&frames[i]);
	}
	assert_true(keep());
	assert_in_range(kept_events, 2, EP_KEEP_MAX_SENT + 1);
	for (size_t i = 0; i < EP_LEN(frames); i++) {
		assert_true(name(&frames[i]));
		assert_string_equal(made->host.file_name, "/lib/Work.pm");
		assert_int_equal(made->host.start_line, 12);
	}
}

EP_TEST(long_names_are_kept_whole_or_not_at_all)
{
	static const struct {
		size_t n;
		bool is_named;
	} rows[] = {{53, true}, {54, true}, {55, true}, {200, true}, {310, true}, {311, false}, {1100, false}};
	char text[1200];

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_raw_frame frame;

		begin(36, true);
		memset(text, 'n', sizeof(text));
		text[rows[i].n] = '\0';
		gv = make_glob(made, make_stash(made, text), text);
		frame = work();
		push(&frame);
		assert_true(keep());
		assert_int_equal(name(&frame), rows[i].is_named);
		if (rows[i].is_named)
			assert_int_equal(strlen(made->host.function), 2 * rows[i].n + 2);
	}
}

EP_TEST(what_cannot_be_read_is_not_kept)
{
	for (unsigned int at = 1; at < 24; at++) {
		struct ep_raw_frame frame;

		begin(32, true);
		frame = work();
		push(&frame);
		made->host.memory.fail_at = at;
		made->host.memory.fail_with = -EFAULT;
		(void)keep();
		assert_in_range(keeps.kept.bytes, 0, EP_KEEP_ITEM_BYTES);
		if (name(&frame))
			assert_string_equal(made->host.function, "My::Package::work");
	}
}

/* Nonsense as lengths of names and of a stash's buckets, and as pointers. */
EP_TEST(sizes_are_bounded)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint64_t nonsense = i % 3 ? 1ull << (i % 64) : ~0ull, body, at[4];
		struct ep_raw_frame frame;

		begin(i & 1 ? 28 : 40, true);
		frame = work();
		memcpy(&body, made->bytes + (gv - BIAS), sizeof(body));
		memcpy(&at[0], made->bytes + (body + PL_GV_NAME_AT - BIAS), sizeof(at[0]));
		memcpy(&at[1], made->bytes + (stash - BIAS), sizeof(at[1]));
		at[1] += HV_MAX;
		at[2] = at[1] + 8;
		at[3] = body + PL_GV_NAME_AT;
		put_word(made, at[i / 64], nonsense);
		push(&frame);
		(void)keep();
		assert_in_range(keeps.kept.bytes, 0, EP_KEEP_ITEM_BYTES);
		(void)name(&frame);
	}
}

/* One word says nothing, and the flags of a frame no more than they may. */
EP_TEST(any_frame_is_taken)
{
	uint64_t random = 88172645463325252ull;

	begin(40, true);
	for (int i = 0; i < 4096; i++) {
		struct ep_raw_frame frame = {.n_words = 1 + (uint32_t)i % 3};

		for (int k = 0; k < 3; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			frame.words[k] = random;
		}
		frame.flags = (uint32_t)random & 0xfc;
		frame.words[0] = (frame.words[0] & ~PL_ADDRESS_MASK) | (i & 1 ? gv : cop) >> 3;
		frame.words[1] = i & 2 ? frame.words[1] : i & 4 ? file : cop >> 3;
		forget_frames();
		push(&frame);
		if (frame.n_words == 1)
			assert_false(keep());
		else
			(void)keep();
		assert_in_range(keeps.kept.bytes, 0, EP_KEEP_ITEM_BYTES);
		ep_kept_memory_fini(&kept);
		ep_kept_memory_init(&kept);
	}
}
