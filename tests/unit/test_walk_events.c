/* SPDX-License-Identifier: Apache-2.0 */
/* Events that are malformed. Real stacks: tests/replay/late.c. */
#include "tests/unit/walk_check.h"

/* --- malformed events -------------------------------------------------------------------------- */

static void set_type(struct walk_event *e) { e->sample.event.type = EP_EVENT_KNOWN; }
static void set_kernel(struct walk_event *e) { e->sample.n_kernel = EP_MAX_KERNEL + 1; }
static void set_words(struct walk_event *e) { e->sample.n_words = EP_MAX_WORDS + 2; }
static void set_word_less(struct walk_event *e) { e->sample.n_words--; }
static void set_frame_less(struct walk_event *e) { e->sample.n_frames--; }
static void set_frame_more(struct walk_event *e) { e->sample.n_frames++; }
static void set_long_frame(struct walk_event *e) { e->words[0] |= 4ull << 16; }
static void set_border(struct walk_event *e) { e->copy.at_word = 1; }
static void set_beyond(struct walk_event *e) { e->copy.at_word = 6; }
static void set_no_copy(struct walk_event *e) { e->sample.copy_bytes = 0; }
static void set_short_copy(struct walk_event *e) { e->sample.copy_bytes = sizeof(e->copy) - 8; }
static void set_long_copy(struct walk_event *e) { e->sample.copy_bytes += 8; }
static void set_other_bytes(struct walk_event *e) { e->copy.bytes = 0; }
static void set_part_page(struct walk_event *e)
{
	e->copy.bytes -= 8;
	e->sample.copy_bytes -= 8;
}
static void set_addr(struct walk_event *e) { e->copy.addr -= EP_COPY_PAGE_BYTES; }
static void set_far_addr(struct walk_event *e) { e->copy.addr += EP_COPY_PAGES * EP_COPY_PAGE_BYTES; }
static void set_odd_addr(struct walk_event *e) { e->copy.addr++; }
static void set_pc(struct walk_event *e) { e->copy.pc = 0; }
static void set_known(struct walk_event *e) { e->copy.known_regs = 1 << EP_REG_FP; }
static void set_more_known(struct walk_event *e) { e->copy.known_regs = 1 << 20 | EP_KNOWN_ALL; }
static void set_return(struct walk_event *e) { e->copy.return_address = 2; }
static void set_pointer(struct walk_event *e) { e->copy.by_pointer = 0x80; }
static void set_stood(struct walk_event *e) { e->copy.stood = 2; }
static void set_guessed(struct walk_event *e) { e->copy.guessed = 0x80; }
static void set_odd_other(struct walk_event *e) { walk_event_other(e, WALK_STACK + 8); }
static void set_short_other(struct walk_event *e)
{
	walk_event_other(e, WALK_STACK);
	e->copy.other_bytes -= 512;
	e->sample.copy_bytes -= 512;
}
static void set_no_other(struct walk_event *e) { e->copy.other_bytes = EP_COPY_OTHER_BYTES; }

FIXTURE_TEST(malformed_events_are_refused)
{
	static const struct {
		const char *label;
		void (*spoil)(struct walk_event *event);
	} rows[] = {
		{"type", set_type}, {"n_kernel", set_kernel}, {"n_words", set_words},
		{"a word less", set_word_less}, {"a frame less", set_frame_less},
		{"a frame more", set_frame_more}, {"long frame", set_long_frame},
		{"at_word in a frame", set_border}, {"at_word beyond", set_beyond},
		{"no copy", set_no_copy}, {"short copy", set_short_copy},
		{"long copy", set_long_copy}, {"other bytes", set_other_bytes},
		{"part of a page", set_part_page}, {"addr", set_addr},
		{"far addr", set_far_addr}, {"odd addr", set_odd_addr},
		{"pc", set_pc}, {"known_regs", set_known}, {"more known_regs", set_more_known},
		{"return_address", set_return}, {"by_pointer", set_pointer},
		{"stood", set_stood}, {"guessed", set_guessed},
		{"odd other stack", set_odd_other}, {"part of another stack", set_short_other},
		{"no other stack", set_no_other},
	};
	struct ep_sample sample;

	for (size_t i = 0; i <= EP_LEN(rows); i++) {
		int r;

		walk_event_init(&fx->event, WALK_ROOT, 2);
		walk_event_frame(&fx->event, NATIVE, 0, 9, 0x77);
		walk_event_frame(&fx->event, NATIVE, 0, 9, 0x78);
		fx->event.copy.at_word = 2;
		if (i < EP_LEN(rows))
			rows[i].spoil(&fx->event);
		r = run(fx, &sample);
		if (r != (i < EP_LEN(rows) ? -EBADMSG : 0))
			fail_msg("%s: %d", i < EP_LEN(rows) ? rows[i].label : "as it was", r);
	}
}

/* The page of sp was not touched yet: what is in it cannot be read, and that is the end of it. */
FIXTURE_TEST(first_page_may_be_missing)
{
	struct ep_sample sample;

	walk_event_init(&fx->event, WALK_ROOT, 2);
	fx->event.copy.addr += EP_COPY_PAGE_BYTES;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.n_frames, 1 + (sample.error != 0));
	assert_int_not_equal(sample.error, EP_ERROR_COPY_END);
}

FIXTURE_TEST(events_of_any_other_length_are_refused)
{
	uint8_t *exact;

	walk_event_init(&fx->event, WALK_ROOT, 1);
	walk_event_frame(&fx->event, NATIVE, 0, 9, 0x77);
	walk_event_flatten(&fx->event);
	for (size_t bytes = 0; bytes < fx->event.bytes + 9; bytes++) {
		int r;

		exact = malloc(bytes + 1);
		assert_non_null(exact);
		memcpy(exact + 1, fx->event.flat, bytes); /* not aligned */
		r = ep_walker_run(fx->world.walker, exact + 1, bytes, fx->rows, WALK_N_ROWS, NULL,
				  &fx->out);
		assert_int_equal(r, bytes == fx->event.bytes ? 0 : -EBADMSG);
		free(exact);
	}
}
