/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the snapshot program sends of frames is what they are named by when nothing else of the
 * process is left. The program is compiled for user space, and looks at the process that is made
 * up.
 */
#define EP_SHIM_OBJECT "php_keep"
#include "plugins/php/php_keep.bpf.c"

#define WORLD_STATE struct php_state
#include "tests/kit/kept.h"

#include "plugins/php/tests/unit/made_php.h"

#define SLOT 5

static struct made *made;
static struct php_keeper scratch;

static void begin(uint32_t release)
{
	ep_test_release(NULL);
	made = made_new(release);
	made->namer.memory = (struct memory){.read = kept_read};
	world_begin(SLOT, 40);
	kept_begin(SLOT);
	kept.is_apart = true;
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world.memory = made->host.memory;
	world.state.op_file = (uint16_t)made->layout.function.filename;
	world.state.op_opcodes = (uint16_t)made->layout.function.opcodes;
	world.state.op_last = (uint16_t)made->layout.function.last;
}

static size_t keep(const struct ep_raw_frame *frames, size_t n)
{
	kept_forget_frames();
	kept_push_native();
	for (size_t i = 0; i < n; i++)
		kept_push(&frames[i]);
	return kept_run(php_keep);
}

static const char *name(const struct ep_raw_frame *frame)
{
	int r;

	ep_kept_memory_see_all(&kept);
	do
		r = name_frame(made, frame);
	while ((r != 0 || made->host.name_flags) && ep_kept_memory_look_back(&kept));
	return r == 0 && !made->host.unnamed ? made->host.function : "";
}

static void expect(const struct ep_raw_frame *frame, const char *function, const char *file,
		   uint32_t line)
{
	assert_string_equal(name(frame), "");
	assert_true(keep(frame, 1) > 0);
	assert_string_equal(name(frame), function);
	assert_string_equal(made->host.file_name, file);
	assert_int_equal(made->host.line, line);
}

EP_TEST_EACH(what_is_kept_names_frames_of_each_release, size_t, i, MADE_RELEASES)
{
	begin(made_releases[i]);
	for (uint32_t k = 0; k < MADE_CASES; k++) {
		struct made_case one = made_case(made, k);

		expect(&one.frame, one.name, one.file, one.line);
	}
}

/* A short one is whole in what is read first. */
EP_TEST_EACH(texts_of_any_length_are_kept, uint32_t, i, 41)
{
	struct made_function function;
	struct ep_raw_frame frame;
	char file[700] = "/";

	memset(file + 1, 'f', i < 40 ? PHP_HEAD_BYTES - 32 + i : sizeof(file) - 2);
	begin(PHP_RELEASE(8, 4));
	function = make_function_of(made, "f", NULL, file, 0);
	frame = make_frame(made, &function, 0);
	expect(&frame, "f", file, FIRST_LINE);
}

/* Nothing is kept twice, but a function for its next lines. */
EP_TEST(what_was_kept_is_not_kept_again)
{
	struct made_function function;
	struct ep_raw_frame frame;

	begin(PHP_RELEASE(8, 4));
	function = make_function_of(made, "f", NULL, "/srv/b.php", 0);
	frame = make_frame(made, &function, 0);
	assert_true(keep(&frame, 1) > 0);
	assert_int_equal(keep(&frame, 1), 0);
	frame.aux += 1;
	assert_int_equal(keep(&frame, 1), 0);
	frame.aux += PHP_BLOCK_OPS;
	assert_true(keep(&frame, 1) > 0);
	assert_string_equal(name(&frame), "f");
	assert_int_equal(made->host.line, FIRST_LINE + (PHP_BLOCK_OPS + 1) / 2);
}

/* A function is in two events, each with some of its lines: the right one is found. */
EP_TEST(lines_are_found_in_the_event_that_has_them)
{
	struct made_function function;
	struct ep_raw_frame first, second;

	begin(PHP_RELEASE(8, 4));
	function = make_function_of(made, "f", NULL, "/srv/b.php", 0);
	first = make_frame(made, &function, 0);
	second = make_frame(made, &function, PHP_BLOCK_OPS);
	assert_true(keep(&first, 1) > 0);
	assert_true(keep(&second, 1) > 0);
	assert_string_equal(name(&first), "f");
	assert_int_equal(made->host.line, FIRST_LINE);
	assert_string_equal(name(&second), "f");
	assert_int_equal(made->host.line, FIRST_LINE + PHP_BLOCK_OPS / 2);
}

/* What they have in common is sent once in an event. */
EP_TEST(many_frames_share_file_and_class)
{
	struct made_function functions[PHP_BLOCK_OPS];
	struct ep_raw_frame frames[PHP_BLOCK_OPS];
	char text[32];

	begin(PHP_RELEASE(8, 4));
	functions[0] = make_function_of(made, "m0", "A", "/srv/b.php", 0);
	for (size_t i = 0; i < PHP_BLOCK_OPS; i++) {
		functions[i] = functions[0];
		snprintf(text, sizeof(text), "m%zu", i);
		functions[i].name = make_string(made, text);
		functions[i].addr = make(made, PHP_FUNCTION_BYTES);
		put_function(made, &functions[i]);
		frames[i] = make_frame(made, &functions[i], 3);
	}
	assert_in_range(keep(frames, PHP_BLOCK_OPS), 1, PHP_BLOCK_OPS * 1000);
	for (size_t i = 0; i < PHP_BLOCK_OPS; i++) {
		snprintf(text, sizeof(text), "A::m%zu", i);
		assert_string_equal(name(&frames[i]), text);
		assert_int_equal(made->host.line, FIRST_LINE + 1);
	}
	assert_in_range(kept_events, 1, 3);
}

EP_TEST(what_ends_with_memory_is_kept)
{
	struct made_function function;
	struct ep_raw_frame frame;

	begin(PHP_RELEASE(8, 2));
	function = make_function_of(made, "{closure}", NULL, "/srv/b.php", 0);
	function.file = HEAP + HEAP_BYTES - 40;
	put_word(made, function.file + PHP_STRING_LEN, 2);
	put(made, function.file + PHP_STRING_BYTES, "/f", 2);
	function.opcodes = function.file - 4 * PHP_OP_BYTES;
	put_int(made, function.opcodes + PHP_OP_LINENO, FIRST_LINE);
	frame = make_closure_frame(made, &function, 0);
	expect(&frame, "{closure:/f:100}", "/f", FIRST_LINE);
}

EP_TEST(frames_that_cannot_be_read_are_left_out)
{
	struct ep_raw_frame frames[] = {
		{.aux = php_aux(PHP_KIND_FUNCTION, 0), .n_words = 2, .words = {1, 2}},
		{.aux = php_aux(PHP_KIND_INTERNAL, 0), .n_words = 2, .words = {0, 0}},
		{.aux = php_aux(PHP_KIND_CLOSURE, 0), .n_words = 3, .words = {3, 4, 5}},
		{.aux = php_aux(PHP_KIND_UNREADABLE, 0), .n_words = 1, .words = {6}},
	};
	begin(PHP_RELEASE(8, 4));
	assert_int_equal(keep(frames, EP_LEN(frames)), 0);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(name(&frames[i]), "");
}
