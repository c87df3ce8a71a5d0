/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the snapshot program sends of frames is what they are named by when nothing else of the
 * process is left. The program is compiled for user space, and looks at the interpreter that is
 * made up.
 */
#define EP_SHIM_OBJECT "perl_keep"
#include "plugins/perl/perl_keep.bpf.c"

#define WORLD_STATE struct pl_state
#include "tests/kit/kept.h"

#include "plugins/perl/tests/unit/made_perl.h"

#define SLOT 5

static struct made *made;
static struct pl_keeper scratch;

static void begin(uint32_t minor, bool threads)
{
	ep_test_release(NULL);
	made = made_program(minor, threads);
	made->host.ops.read = kept_read;
	world_begin(SLOT, 40);
	kept_begin(SLOT);
	kept.is_apart = true;
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world.state.threads = threads;
	world.state.aux_in_body = made->layout.aux_in_body;
}

/* Runs it on what was pushed, and adds what it has sent to what is kept. True: it has sent
 * something. */
static bool keep(void)
{
	world.memory = made->host.memory;
	return kept_run(perl_keep) > 0;
}

/*
 * By a symbolizer that has not seen anything, as the host asks it. False: all that was reported
 * stands in.
 */
static bool name(const struct ep_raw_frame *frame)
{
	struct pl_namer namer = {
		.host = made->exe.host,
		.target = &made->host.target,
		.memory = {.read = kept_read},
		.layout = &made->layout,
	};
	bool placed;
	int r;

	assert_int_equal(pl_namer_init(&namer), 0);
	ep_kept_memory_see_all(&kept);
	do {
		made->host.name_flags = 0;
		r = pl_names_add(&namer, frame, &made->host.names, &placed);
	} while ((r != 0 || made->host.name_flags & EP_NAME_STANDS_IN) &&
		 ep_kept_memory_look_back(&kept));
	pl_namer_fini(&namer);
	return r == 0 && !(made->host.name_flags & EP_NAME_STANDS_IN);
}

static void check_named(const struct ep_raw_frame *frame, const char *function,
			const char *file_name, uint32_t line)
{
	assert_true(name(frame));
	assert_string_equal(made->host.function, function);
	assert_string_equal(made->host.file_name, file_name);
	assert_int_equal(made->host.line, line);
	assert_int_equal(made->host.unnamed, EP_UNNAMED_NONE);
}

/* Of a sub of the program that was compiled as number `seq`. */
static struct ep_raw_frame work(uint32_t seq)
{
	return make_sub(made, &(struct made_cv){.stash = made->stash,
						.gv = made->gv,
						.start = made->start,
						.seq = seq});
}

/* It is sent, and has a name by that alone. */
static void keep_named(const struct ep_raw_frame *frame, const char *function,
		       const char *file_name, uint32_t line)
{
	assert_false(name(frame));
	kept_push(frame);
	assert_true(keep());
	check_named(frame, function, file_name, line);
}

/* Without threads a file's name is a glob's, which is not kept. */
EP_TEST(what_is_kept_names_frames_of_each_release)
{
	for (size_t i = 0; i < EP_LEN(made_releases); i++) {
		bool threads = made_releases[i].threads;

		for (uint32_t k = 0; k < MADE_CASES; k++) {
			struct made_case one;

			begin(made_releases[i].minor, threads);
			one = made_case(made, k);
			kept_push_native();
			keep_named(&one.frame, one.name, threads ? "/lib/Work.pm" : "",
				   threads ? 17 : 0);
			assert_int_equal(made->host.start_line, threads ? one.start_line : 0);
		}
	}
}

/*
 * Of a tree that is not kept as far as it must be the line is not known, or the one that the frame
 * says.
 */
EP_TEST(what_is_kept_tells_the_line_within_a_statement)
{
	for (int far = 0; far < 2; far++) {
		struct ep_raw_frame frame;
		uint64_t call;

		begin(36, true);
		call = make_block(made, far ? OPS_BYTES : 0);
		frame = work(0);
		frame.aux |= (uint32_t)(call + 48 - made->cop) / 8;
		keep_named(&frame, "My::Package::work", "/lib/Work.pm", far ? 0 : 18);
		frame = with_name(frame, made->gv >> 3 | 17ull << PL_ADDRESS_BITS);
		check_named(&frame, "My::Package::work", "/lib/Work.pm", far ? 17 : 18);
	}
}

/* Where it begins is not kept. */
EP_TEST(what_is_kept_names_a_closure_that_has_no_name)
{
	struct ep_raw_frame frame;
	uint64_t nobody;

	begin(36, true);
	nobody = make_glob(made, made->stash, "__ANON__");
	/* It has a parent, as in a sub. */
	put_op(made, made->cop, made->layout.ops.nextstate, made->start, false, 0);
	frame = closure_frame(&made->memory, nobody, false, made->cop);
	keep_named(&frame, "My::Package::__ANON__[?]", "/lib/Work.pm", 17);
}

EP_TEST(what_is_kept_names_files_that_are_loaded)
{
	static const char longest[] =
		"/a/name/that/is/longer/than/what/a/frame/has/the/hash/of/and/than/"
		"what/is/read/of/a/text/at/once/by/those/who/name/frames/Long/Way.pm";
	const char *paths[] = {"/lib/Work.pm", "-e", longest};

	for (size_t i = 0; i < EP_LEN(paths); i++) {
		struct ep_raw_frame loads, begins, other;
		char function[256];

		begin(40, true);
		made->next += 40 * i; /* also texts that go over where one read ends */
		made->file = put_text(made, paths[i]);
		loads = file_frame(PL_KIND_FILE, 0, paths[i], made->file);
		begins = file_frame(PL_KIND_BEGIN, made->stash, paths[i], made->file);
		other = file_frame(PL_KIND_FILE, 0, "/lib/Other.pm", made->file);
		kept_push(&loads);
		kept_push(&begins);
		kept_push(&other);
		assert_true(keep());
		snprintf(function, sizeof(function), "require %s", paths[i]);
		check_named(&loads, function, paths[i], 5);
		check_named(&begins, "My::Package::BEGIN", paths[i], 5);
		/* Something else is there by now. */
		assert_false(name(&other));
	}
}

/* Its check is that of what was kept, and nothing else. */
EP_TEST(what_was_kept_of_other_code_names_nothing)
{
	struct ep_raw_frame sub, block;

	begin(36, true);
	sub = work(0);
	block = block_frame(&made->memory, PL_KIND_BLOCK, made->cop);
	kept_push(&sub);
	kept_push(&block);
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
 * The first sub is freed, and its glob's place is another's: both were sent, and each has the name
 * that it had then.
 */
EP_TEST(what_was_sent_before_is_not_mixed_with_what_came_later)
{
	struct ep_raw_frame first, second;

	begin(36, true);
	first = work(7);
	kept_push(&first);
	assert_true(keep());
	kept_forget_frames();
	put_word(made, word_at(made, made->gv) + PL_GV_NAME_AT, make_hek(made, "other", 0));
	second = work(8);
	keep_named(&second, "My::Package::other", "/lib/Work.pm", 17);
	check_named(&first, "My::Package::work", "/lib/Work.pm", 17);
}

/* At the same address, as a CV that is freed and made again is. */
EP_TEST(a_sub_at_the_address_of_another_is_sent_again)
{
	struct ep_raw_frame first, second;
	uint64_t cv;

	begin(36, true);
	cv = make_cv(made, &(struct made_cv){.stash = made->stash, .gv = made->gv, .seq = 7});
	first = sub_frame(&made->memory, cv, made->cop);
	kept_push(&first);
	assert_true(keep());
	assert_false(keep());
	put_word(made, word_at(made, cv) + 56, make_glob(made, made->stash, "other"));
	second = sub_frame(&made->memory, cv, made->cop);
	kept_forget_frames();
	keep_named(&second, "My::Package::other", "/lib/Work.pm", 17);
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
		frames[i] = work((uint32_t)i);
		kept_push(&frames[i]);
		kept_push_native();
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
	struct ep_raw_frame frames[20];
	char text[300];

	begin(40, true);
	make_block(made, 0); /* its ops are sent with each frame */
	memset(text, 'n', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < EP_LEN(frames); i++) {
		made->gv = make_glob(made, made->stash, text);
		frames[i] = work((uint32_t)i);
		kept_push(&frames[i]);
	}
	assert_true(keep());
	assert_in_range(kept_events, 2, EP_KEEP_MAX_SENT + 1);
	for (size_t i = 0; i < EP_LEN(frames); i++) {
		assert_true(name(&frames[i]));
		assert_memory_equal(made->host.function, "My::Package::nn", 15);
		assert_string_equal(made->host.file_name, "/lib/Work.pm");
		assert_int_equal(made->host.start_line, 12);
	}
}

EP_TEST(long_names_are_kept_whole_or_not_at_all)
{
	static const struct {
		size_t n;
		bool is_named;
	} rows[] = {{53, true},	 {54, true},   {55, true},   {200, true},
		    {310, true}, {311, false}, {1100, false}};
	char text[1200];

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_raw_frame frame;

		begin(36, true);
		memset(text, 'n', sizeof(text));
		text[rows[i].n] = '\0';
		made->gv = make_glob(made, make_stash(made, text), text);
		frame = work(0);
		kept_push(&frame);
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
		frame = work(0);
		kept_push(&frame);
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
		uint64_t nonsense = i % 3 ? 1ull << (i % 64) : ~0ull, at[4];
		struct ep_raw_frame frame;

		begin(i & 1 ? 28 : 40, true);
		frame = work(0);
		at[3] = word_at(made, made->gv) + PL_GV_NAME_AT;
		at[0] = word_at(made, at[3]);
		at[1] = word_at(made, made->stash) + HV_MAX;
		at[2] = at[1] + 8;
		put_word(made, at[i / 64], nonsense);
		kept_push(&frame);
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
		frame.words[0] =
			(frame.words[0] & ~PL_ADDRESS_MASK) | (i & 1 ? made->gv : made->cop) >> 3;
		frame.words[1] = i & 2 ? frame.words[1] : i & 4 ? made->file : made->cop >> 3;
		kept_forget_frames();
		kept_push(&frame);
		if (frame.n_words == 1)
			assert_false(keep());
		else
			(void)keep();
		assert_in_range(keeps.kept.bytes, 0, EP_KEEP_ITEM_BYTES);
		ep_kept_memory_fini(&kept);
		ep_kept_memory_init(&kept);
	}
}
