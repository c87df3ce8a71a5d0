/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a snapshot program sends, kept as the host keeps it (core/plugin/kept_memory.h). After
 * tests/kit/world.h and the language's snapshot program:
 *
 *	world_begin(SLOT, 40);
 *	kept_begin(SLOT);
 *	kept_push_native();
 *	kept_push(&frame);
 *	assert_true(kept_run(toy_keep) > 0);
 *	kept_read(NULL, addr, buf, bytes)	the process is what was kept of it
 */
#ifndef EP_TESTS_KIT_KEPT_H
#define EP_TESTS_KIT_KEPT_H

#include "core/plugin/kept_memory.h"
#include "ebpf-profiler/unwinder.h"
#include "tests/kit/world.h"

static struct ep_keep keeps;
static uint64_t kept_seen[1 << EP_KEEP_SEEN_SHIFT];
static struct ep_kept_memory kept;
static uint32_t kept_slot, kept_events; /* of the last run */
static bool kept_is_owned;		/* by the test that runs */

static inline void kept_release(void *unused)
{
	(void)unused;
	ep_kept_memory_fini(&kept);
	kept_is_owned = false;
}

static void kept_take(const void *data, size_t bytes)
{
	const struct ep_kept *event = data;

	assert_int_equal(event->event.type, EP_EVENT_KEPT);
	assert_int_equal(event->slot, kept_slot);
	assert_int_equal(event->pid, REC->sample.pid);
	assert_int_equal(bytes, sizeof(*event) + event->bytes);
	assert_int_equal(ep_kept_memory_add(&kept, event, bytes), 0);
	kept_events++;
}

/* Nothing is kept. After world_begin. */
static inline void kept_begin(uint32_t slot)
{
	world_add_map("&ep_keeps", &keeps, sizeof(keeps), 1);
	world_add_map("&ep_keep_seen", kept_seen, sizeof(*kept_seen), EP_LEN(kept_seen));
	world.on_sent = kept_take;
	kept_slot = slot;
	if (!kept_is_owned)
		ep_test_owns(&kept, kept_release);
	kept_is_owned = true;
	ep_kept_memory_fini(&kept);
	ep_kept_memory_init(&kept);
}

/* A frame of the language, as its unwinder makes it. */
static inline void kept_push(const struct ep_raw_frame *frame)
{
	ep_push_words(REC, EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + kept_slot, frame->flags, frame->n_words, frame->aux),
		      frame->n_words, frame->words[0], frame->words[1], frame->words[2]);
}

static inline void kept_push_native(void)
{
	ep_push_words(REC, EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 3), 1, 0x1234, 0, 0);
}

static inline void kept_forget_frames(void)
{
	REC->sample.n_words = REC->sample.n_frames = 0;
}

/* Keeps what it sends for the next sample; how many bytes that are, without heads of pieces. */
static inline size_t kept_run(world_program *keeper)
{
	size_t before = kept.bytes.len;

	WALK->sequence++;
	kept_events = 0;
	assert_int_equal(world_step(keeper), EP_SLOT_FINISH);
	return kept.bytes.len - before;
}

static inline int kept_read(void *unused, uint64_t addr, void *buf, size_t bytes)
{
	(void)unused;
	return ep_kept_memory_read(&kept, addr, buf, bytes);
}

#endif
