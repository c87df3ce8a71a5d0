/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the snapshot program sends of frames is what they are named by when nothing else of the
 * process is left. The program is compiled for user space, and looks at the process that is made
 * up.
 */
#define EP_SHIM_OBJECT "ruby_keep"
#include "plugins/ruby/ruby_keep.bpf.c"

#define WORLD_STATE struct ruby_state
#include "tests/kit/kept.h"

#include "plugins/ruby/tests/unit/made_ruby.h"

#define SLOT 5

static struct made *made;
static struct ruby_keeper scratch;

static void begin(uint32_t release)
{
	ep_test_release(NULL);
	made = made_new(release);
	made->ids.path = PATH_ID;
	made->ids.attached = ATTACHED_ID;
	made->namer.memory = (struct memory){.read = kept_read};
	world_begin(SLOT, 40);
	kept_begin(SLOT);
	kept.is_apart = true;
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world.memory = made->host.memory;
	world.state.body_info = made->layout.body.info;
	ruby_names_state(&made->namer, &world.state);
}

static void keep_stack(const struct ep_raw_frame *frames, size_t n)
{
	kept_forget_frames();
	kept_push_native();
	for (size_t i = 0; i < n; i++)
		kept_push(&frames[i]);
	assert_true(kept_run(ruby_keep) > 0);
}

static void keep(const struct ep_raw_frame *frame)
{
	keep_stack(frame, 1);
}

static const char *name(const struct ep_raw_frame *frame)
{
	int r;

	ep_kept_memory_see_all(&kept);
	do
		r = name_frame(made, frame);
	while (r != 0 && ep_kept_memory_look_back(&kept));
	return r == 0 ? made->host.function : "";
}

static void expect(const struct ep_raw_frame *frame, const char *function, const char *file,
		   uint32_t line)
{
	assert_string_equal(name(frame), "");
	keep(frame);
	assert_string_equal(name(frame), function);
	assert_string_equal(made->host.file_name, file);
	assert_int_equal(made->host.line, line);
}

/* In 3.2 no field has a class's name. */
static const char *of(const char *named, const char *method)
{
	return made->layout.release == RUBY_RELEASE(3, 2) ? method : named;
}

EP_TEST_EACH(what_is_kept_names_frames_of_each_release, size_t, i, MADE_RELEASES)
{
	static char file[700];
	uint64_t module, included, path, both[2];
	struct ep_raw_frame frame;

	memset(memset(file, 'f', sizeof(file) - 1), '/', 1);
	begin(made_releases[i]);
	module = make_class(made, RUBY_TYPE_MODULE, "Long::Enough::To::Be::Elsewhere");
	included = make_class_with(made, RUBY_TYPE_ICLASS, 0, 0, 0);
	put_word(made, included + 8, module);
	both[0] = make_string(made, "lib.rb");
	both[1] = make_string(made, file);
	path = make_array(made, both, 2);
	frame = make_frame(made, make_body(made, "m", path), make_entry(made, included, EACH), 5);
	expect(&frame, of("Long::Enough::To::Be::Elsewhere#m", "m"), file, 12);
	frame = make_frame(made, make_body(made, "m", path),
			   make_entry(made, make_singleton(made, module), EACH), 1);
	expect(&frame, of("Long::Enough::To::Be::Elsewhere.m", "m"), file, 10);
	frame = make_frame(made, make_body(made, "<main>", make_string(made, "(eval)")), 0, 1);
	expect(&frame, "<main>", "(eval)", 10);
	frame = make_frame(made, 0, make_entry(made, module, EACH), RUBY_NO_INDEX);
	expect(&frame, of("Long::Enough::To::Be::Elsewhere#each", "each"), "", 0);
	frame = make_frame(made, 0, make_entry(made, module, '+'), RUBY_NO_INDEX);
	expect(&frame, of("Long::Enough::To::Be::Elsewhere#+", "+"), "", 0);
}

/* Of a long table there is the beginning; after it no line is right. */
EP_TEST_EACH(what_is_kept_of_lines_is_right_or_none, size_t, i, MADE_RELEASES)
{
	static uint32_t starts[300], lines[300];
	struct ep_raw_frame frame;
	uint64_t body;

	begin(made_releases[i]);
	for (uint32_t n = 0; n < 300; n++) {
		starts[n] = 2 * n;
		lines[n] = 100 + n;
	}
	body = make_body(made, "m", make_string(made, "/f"));
	make_lines(made, body, starts, lines, 300, 600);
	for (uint32_t n = 0; n < 300; n += 13) {
		frame = make_frame(made, body, 0, 2 * n + 1);
		if (n == 0)
			keep(&frame);
		assert_string_equal(name(&frame), "m");
		assert_int_equal(made->host.line,
				 n < 1024 / made->layout.body.entry_bytes ? 100 + n : 0);
	}
}

/* What was freed, and another method's label at its address: what is read of one sample belongs
 * together. */
EP_TEST(what_is_kept_of_two_samples_is_not_mixed)
{
	struct ep_raw_frame first, second;
	uint64_t label, body;

	begin(RUBY_RELEASE(3, 3));
	body = make_body(made, "first", make_string(made, "/f"));
	first = make_frame(made, body, 0, 1);
	keep(&first);
	label = fake_host_word(&made->host, body + 80);
	put(made, label + 24, "other", 5);
	second = make_frame(made, make_body(made, "x", make_string(made, "/f")), 0, 1);
	put_word(made, ruby_address(second.words[0]) + 80, label);
	keep(&second);
	assert_string_equal(name(&second), "other");
	assert_string_equal(name(&first), "first");
}

/* Events are lost one by one: each has all that its frames need. */
EP_TEST_EACH(each_event_has_the_class_of_its_frames, size_t, i, MADE_RELEASES)
{
	struct ep_raw_frame frames[24];
	uint64_t class, path;

	begin(made_releases[i]);
	class = make_class(made, RUBY_TYPE_CLASS, "A");
	path = make_string(made, "/f");
	for (size_t j = 0; j < EP_LEN(frames); j++)
		frames[j] = make_frame(made, make_body(made, "m", path),
				       make_entry(made, class, EACH), 1);
	keep_stack(frames, EP_LEN(frames));
	assert_true(kept_events > 1);
	for (size_t j = 0; j < EP_LEN(frames); j++)
		assert_string_equal(name(&frames[j]), of("A#m", "m"));
}
