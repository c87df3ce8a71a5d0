/* SPDX-License-Identifier: Apache-2.0 */
/* Native frames that were walked before the languages of their process were known: ep_walk_mark. */
#include "core/walk/walk.h"
#include "tests/kit/test.h"

#define FILE_ID 7
#define SLOT	2
#define LOOP	0x500 /* the interpreter: [LOOP, LOOP + 0x100) */
#define STUBS	0x700 /* code that only the language unwinds */
#define OTHER	0x900 /* native */

static const struct ep_row rows[] = {
	{.start = 0x10400, .end = 0x10500, .va = 0x400, .executable = FILE_ID},
	{.start = 0x10500, .end = 0x10600, .va = LOOP,
	 .executable = FILE_ID | SLOT << EP_ROW_SLOT_SHIFT},
	{.start = 0x10700, .end = 0x10800, .va = STUBS,
	 .executable = FILE_ID | SLOT << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER},
	{.start = 0x10900, .end = 0x10a00, .va = OTHER,
	 .executable = FILE_ID | EP_ROW_SLOT_ANY << EP_ROW_SLOT_SHIFT},
	{.start = 0x20000, .end = 0x20100, .va = LOOP, .executable = FILE_ID + 1},
};

struct event {
	struct ep_sample sample;
	uint64_t words[8];
};

#define NATIVE(flags, id) EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, id)
#define OF_LANGUAGE	  EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + SLOT, 0, 1, 0)
#define BACK		  EP_FRAME_RETURN_ADDRESS

/* Two frames, of a header and a word each. */
static void mark(struct ep_vec *vec, const uint64_t words[4], uint8_t error)
{
	struct event event = {.sample = {.n_frames = 2, .n_words = 4, .hash = 1, .error = error}};

	event.sample.event.type = EP_EVENT_TRACE;
	memcpy(event.words, words, 4 * sizeof(words[0]));
	ep_vec_init(vec, 1, EP_WALK_MAX_BYTES);
	assert_int_equal(ep_vec_append(vec, &event, sizeof(event.sample) + 32), 0);
	assert_int_equal(ep_walk_mark(vec, rows, EP_LEN(rows)), 0);
}

EP_TEST(who_runs_a_language_says_that_it_was_not_known)
{
	static const struct {
		const char *label;
		uint64_t words[4];
		uint8_t error;
		uint32_t slot; /* of the second frame */
		uint64_t word;
		bool is_late;
	} cases[] = {
		{"native", {NATIVE(0, 7), 0x420, NATIVE(BACK, 7), 0x480}, 0, 0, 0x480, false},
		{"any", {NATIVE(0, 7), 0x420, NATIVE(BACK, 7), OTHER + 8}, 0, 0, OTHER + 8, false},
		{"another file", {NATIVE(0, 7), 0x420, NATIVE(BACK, 8), LOOP + 4}, 0, 0, LOOP + 4, false},
		{"marked", {NATIVE(0, 7), 0x420, NATIVE(BACK, 7), LOOP + 4}, 0, SLOT, LOOP, true},
		{"its last call", {NATIVE(0, 7), 0x420, NATIVE(BACK, 7), LOOP + 0x100}, 0, SLOT, LOOP, true},
		{"its end", {NATIVE(0, 7), 0x420, NATIVE(0, 7), LOOP + 0x100}, 0, 0, LOOP + 0x100, false},
		{"before it", {NATIVE(0, 7), 0x420, NATIVE(BACK, 7), LOOP}, 0, 0, LOOP, false},
		{"entered", {NATIVE(0, 7), 0x420, NATIVE(BACK, 7), STUBS + 4}, 0, 0, STUBS + 4, true},
		{"it has frames", {OF_LANGUAGE, 1, NATIVE(BACK, 7), LOOP + 4}, 0, SLOT, LOOP, false},
		{"not whole", {NATIVE(0, 7), 0x420, NATIVE(BACK, 7), LOOP + 4}, EP_ERROR_BAD_READ,
		 SLOT, LOOP, false},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_vec vec;
		const struct event *event;

		print_message("%s\n", cases[i].label);
		mark(&vec, cases[i].words, cases[i].error);
		event = vec.data;
		assert_int_equal(EP_FRAME_FLAGS(event->words[2]) >> EP_FRAME_SLOT_SHIFT,
				 cases[i].slot);
		assert_int_equal(event->words[3], cases[i].word);
		assert_int_equal(event->sample.n_frames, cases[i].is_late ? 3 : 2);
		assert_int_equal(event->sample.error,
				 cases[i].is_late ? EP_ERROR_LATE : cases[i].error);
		assert_int_equal(vec.len, sizeof(event->sample) + 8 * event->sample.n_words);
		if (cases[i].is_late)
			assert_int_equal(event->words[4],
					 EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_LATE));
		/* What is another trace has another hash. */
		assert_int_equal(event->sample.hash == 1, !cases[i].slot && !cases[i].is_late);
		ep_vec_fini(&vec);
	}
}

/* The stack is full: the sample says it, its frames cannot. */
EP_TEST(an_event_without_room_for_a_frame)
{
	static struct {
		struct ep_sample sample;
		uint64_t words[EP_MAX_WORDS];
	} event;
	struct ep_vec vec;

	event.sample.n_frames = EP_MAX_WORDS / 2;
	event.sample.n_words = EP_MAX_WORDS / 2 * 2;
	for (size_t i = 0; i < event.sample.n_words; i += 2) {
		event.words[i] = NATIVE(BACK, FILE_ID);
		event.words[i + 1] = LOOP + 8;
	}
	ep_vec_init(&vec, 1, EP_WALK_MAX_BYTES);
	assert_int_equal(ep_vec_append(&vec, &event,
				       sizeof(event.sample) + 8 * (size_t)event.sample.n_words), 0);
	assert_int_equal(ep_walk_mark(&vec, rows, EP_LEN(rows)), 0);
	assert_int_equal(((struct ep_sample *)vec.data)->error, EP_ERROR_LATE);
	assert_int_equal(((struct ep_sample *)vec.data)->n_words, event.sample.n_words);
	ep_vec_fini(&vec);
}

EP_TEST(malformed_events_are_refused)
{
	static const struct {
		const char *label;
		uint16_t n_kernel, n_words;
		uint32_t copy_bytes, words_of_second;
	} cases[] = {
		{"a word less", 0, 3, 0, 1},	   {"a word more", 0, 5, 0, 1},
		{"kernel's words", 1, 4, 0, 1},	   {"too many of them", EP_MAX_KERNEL + 1, 4, 0, 1},
		{"a copy", 0, 4, 64, 1},	   {"a frame beyond the end", 0, 4, 0, 2},
		{"a frame without its word", 0, 4, 0, 0},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct event event = {.sample = {.n_frames = 2, .n_kernel = cases[i].n_kernel,
						 .n_words = cases[i].n_words,
						 .copy_bytes = cases[i].copy_bytes}};
		struct ep_vec vec;

		print_message("%s\n", cases[i].label);
		event.words[0] = NATIVE(0, FILE_ID);
		event.words[2] = EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, cases[i].words_of_second, FILE_ID);
		ep_vec_init(&vec, 1, EP_WALK_MAX_BYTES);
		assert_int_equal(ep_vec_append(&vec, &event, sizeof(event.sample) + 32), 0);
		assert_int_equal(ep_walk_mark(&vec, rows, EP_LEN(rows)), -EBADMSG);
		ep_vec_fini(&vec);
	}
}
