/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the snapshot program sends of functions is what the symbolizer names them by, when nothing
 * else of the process is left. The program is compiled for user space, over a heap that is made.
 */
#define EP_SHIM_OBJECT "v8_keep"
#include "plugins/v8/v8_keep.bpf.c"

#include "plugins/v8/tests/names/made_names.h"

#define WORLD_STATE struct v8_state
#include "tests/kit/kept.h"

#include "core/base/map.h"
#include "plugins/v8/v8.h"

#define SLOT_OF_V8    5
#define FIRST_VERSION 3 /* 14 */
#define NAME_MAX_BYTES 508 /* longer ones are cut where they are read */

static struct v8_keeper keeper;
static struct world made;
static bool is_made;

static void release(void *unused)
{
	world_fini(&made);
	is_made = false;
}

static void begin(size_t version)
{
	if (is_made)
		release(NULL);
	else
		ep_test_owns(&made, release);
	is_made = true;
	world_init(&made, version);
	world_begin(SLOT_OF_V8, 40);
	kept_begin(SLOT_OF_V8);
	world_add_map("&ep_scratch", &keeper, sizeof(keeper), 1);
	fake_memory_add(&world.memory, BASE, made.heap.bytes, HEAP_BYTES);
	world.state = made.heap.state;
}

static void push(const struct ep_raw_frame *frame)
{
	kept_push_native();
	kept_push(frame);
}

static bool keep_sample(void)
{
	return kept_run(v8_keep) > 0;
}

/* The process is what was kept of it. "gone": it has no name. */
static const char *named_by_kept(const struct ep_raw_frame *frame, struct taken *taken)
{
	const struct memory memory = {.read = kept_read};
	struct v8_names *names = NULL;
	int r;

	*taken = (struct taken){0};
	assert_int_equal(v8_names_new(&memory, &made.heap.layout, &made.heap.state, &names), 0);
	r = v8_names_of(names, frame, take_name, (struct ep_names *)taken);
	v8_names_free(names);
	assert_true(r == 0 || r == EP_FRAME_GONE);
	return r == 0 ? taken->text : "gone";
}

static struct ep_raw_frame frame_of_function(const struct made_function *function)
{
	struct made_function with = *function;

	with.script = made.script;
	with.bytecodes = made.bytecodes;
	return frame_of(&made.heap, V8_FRAME_INTERPRETED, new_function(&made.heap, &with), 0x1230,
			4);
}

EP_TEST(what_is_kept_names_a_frame_of_each_version)
{
	struct taken taken;

	for (size_t i = 0; i < N_VERSIONS; i++) {
		struct ep_raw_frame frame;

		begin(i);
		frame = interpreted(&made, 7);
		push(&frame);
		assert_string_equal(named_by_kept(&frame, &taken), "gone");
		assert_int_equal(keep_sample(), i >= FIRST_VERSION);
		assert_string_equal(named_by_kept(&frame, &taken),
				    i >= FIRST_VERSION ? "f 0:0 /a.js [0]?" : "gone");
		/* Another one at its address. */
		frame.words[1]++;
		assert_string_equal(named_by_kept(&frame, &taken), "gone");
	}
}

EP_TEST(functions_are_sent_once_for_each_program)
{
	struct ep_raw_frame frame;

	begin(7);
	frame = interpreted(&made, 7);
	push(&frame);
	assert_true(keep_sample());
	assert_false(keep_sample());
	REC->sample.image++;
	assert_true(keep_sample());
}

/* Names of locals are before those of the function, and may be many. */
EP_TEST(names_of_all_sorts_are_kept)
{
	static const uint32_t locals[] = {0, 1, 9, 74, 75, 90};
	struct taken taken;

	for (size_t i = FIRST_VERSION; i < N_VERSIONS; i++) {
		for (size_t j = 0; j < EP_LEN(locals); j++) {
			struct made_function function = {
				.unique_id = 7,
				.scope = {.n_locals = locals[j], .start = 1, .end = 2}};
			const uint16_t units[] = {0x3b1, 0x3b2};
			struct ep_raw_frame frame;
			uint64_t part;

			begin(i);
			function.scope.inferred = one_byte(&made.heap, "inferred");
			frame = frame_of_function(&function);
			push(&frame);
			part = one_byte(&made.heap, "named");
			function.scope.name = other_string(&made.heap, THIN, 5, part, 0);
			function.unique_id++;
			function.literal = 9;
			frame = frame_of_function(&function);
			push(&frame);
			assert_true(keep_sample());
			assert_string_equal(named_by_kept(&frame, &taken), "named 0:0 /a.js [0]?");

			function.scope.name = other_string(&made.heap, CONS, 7,
							   two_byte(&made.heap, units, 2), part);
			function.unique_id++;
			function.literal++;
			frame = frame_of_function(&function);
			push(&frame);
			assert_true(keep_sample());
			assert_string_equal(named_by_kept(&frame, &taken),
					    "αβnamed 0:0 /a.js [0]?");

			function.scope.name = 0;
			function.unique_id++;
			function.literal++;
			frame = frame_of_function(&function);
			push(&frame);
			assert_true(keep_sample());
			assert_string_equal(named_by_kept(&frame, &taken),
					    "inferred 0:0 /a.js [0]?");
		}
	}
}

EP_TEST(what_does_not_fit_comes_with_the_next_sample)
{
	struct ep_raw_frame frames[40];
	struct taken taken;
	uint32_t n_events = 0;

	begin(7);
	for (uint32_t i = 0; i < EP_LEN(frames); i++) {
		struct made_function function = {.unique_id = 100 + i,
						 .scope = {.start = 1, .end = 2}};

		function.scope.name = one_byte(&made.heap, "name");
		frames[i] = frame_of_function(&function);
		push(&frames[i]);
	}
	while (keep_sample())
		n_events++;
	assert_int_equal(n_events, (EP_LEN(frames) + V8_KEEP_FUNCTIONS - 1) / V8_KEEP_FUNCTIONS);
	for (uint32_t i = 0; i < EP_LEN(frames); i++)
		assert_string_equal(named_by_kept(&frames[i], &taken), "name 0:0 /a.js [0]?");
}

/* A name is whole, or there is none. */
EP_TEST(long_names_are_no_names)
{
	static const size_t lengths[] = {100, 480, 1008, 1009, 1200};
	char text[1201];
	struct taken taken;

	memset(text, 'n', sizeof(text));
	for (size_t i = 0; i < EP_LEN(lengths); i++) {
		struct made_function function = {.unique_id = 7, .scope = {.start = 1, .end = 2}};
		struct ep_raw_frame frame;

		begin(6);
		text[lengths[i]] = '\0';
		function.scope.name = one_byte(&made.heap, text);
		text[lengths[i]] = 'n';
		frame = frame_of_function(&function);
		push(&frame);
		assert_true(keep_sample());
		if (lengths[i] <= 1008)
			assert_int_equal(strspn(named_by_kept(&frame, &taken), "n"),
					 EP_MIN(lengths[i], NAME_MAX_BYTES));
		else
			assert_string_equal(named_by_kept(&frame, &taken), "gone");
	}
}

/* Nonsense wherever the snapshot program looks. */
EP_TEST(what_is_sent_is_bounded)
{
	for (uint32_t i = 0; i < 2000; i++) {
		struct ep_raw_frame frame;
		uint64_t random = ep_mix64(i);

		begin(FIRST_VERSION + i % (N_VERSIONS - FIRST_VERSION));
		frame = interpreted(&made, 7);
		put_bytes(&made.heap, BASE + random % made.heap.used, &random, 1 + i % 8);
		push(&frame);
		(void)keep_sample();
		assert_in_range(keeps.kept.bytes, 0, EP_KEPT_BYTES);
	}
}
