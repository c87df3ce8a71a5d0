/* SPDX-License-Identifier: Apache-2.0 */
/* A trace store and what comes of it, for tests: released when the test ends. */
#ifndef EP_TEST_TRACE_STORE_H
#define EP_TEST_TRACE_STORE_H

#include "core/trace/batch.h"
#include "tests/kit/test.h"
#include "tests/unit/trace_events.h"

EP_TEST_RELEASES(ep_store_free)
EP_TEST_RELEASES(ep_interval_unref)
EP_TEST_RELEASES(ep_batch_unref)
EP_TEST_RELEASES(ep_frames_unref)

static inline struct ep_frames *new_frames(uint32_t max_frames, size_t max_string_bytes,
					   size_t max_line_bytes)
{
	struct ep_frames *frames = NULL;

	assert_int_equal(ep_frames_new(max_frames, max_string_bytes, max_line_bytes, &frames), 0);
	ep_test_owns(frames, ep_frames_unref_made);
	return frames;
}

/* The number of a frame of one word, of process `pid` that started at 1. */
static inline uint32_t add_frame(struct ep_frames *frames, uint64_t header, uint64_t word,
				 uint32_t pid)
{
	const struct ep_program program = {.pid = pid, .start_ns = 1};
	uint32_t id = 0;

	assert_int_equal(ep_frames_add(frames, header, &word, program, &id), 0);
	return id;
}

/* At this place of an executable. */
static inline uint32_t add_native_frame(struct ep_frames *frames, uint32_t executable, uint64_t va,
					uint32_t pid)
{
	return add_frame(frames, EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, executable), va, pid);
}

/* Without limits: the defaults. */
static inline struct ep_store *new_store(uint64_t start_ns, const struct ep_store_limits *limits)
{
	struct ep_store_limits defaults = EP_STORE_DEFAULT_LIMITS;
	struct ep_store *store = NULL;

	assert_int_equal(ep_store_new(limits ? limits : &defaults, start_ns, &store), 0);
	ep_test_owns(store, ep_store_free_made);
	return store;
}

static inline struct ep_interval *seal(struct ep_store *store, uint64_t end_ns)
{
	struct ep_interval *interval = NULL;

	assert_int_equal(ep_store_seal(store, end_ns, &interval), 0);
	ep_test_owns(interval, ep_interval_unref_made);
	return interval;
}

/* Of all that the store has, which it outlives. */
static inline struct ep_batch *build_batch(struct ep_store *store, uint64_t end_ns,
					   const struct ep_batch_source *source)
{
	struct ep_interval *interval = seal(store, end_ns);
	struct ep_batch *batch = NULL;

	assert_int_equal(ep_batch_build(interval, source, &batch), 0);
	ep_test_release(interval);
	ep_test_release(store);
	ep_test_owns(batch, ep_batch_unref_made);
	return batch;
}

static inline void add_event(struct ep_store *store, const struct event *event)
{
	assert_int_equal(event_add(store, event), 0);
}

/* A stack of one native frame. */
static inline void add_native(struct ep_store *store, uint64_t hash, uint32_t pid, uint64_t va)
{
	static struct event event;

	event_init(&event, EP_EVENT_TRACE, hash, pid);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, va);
	add_event(store, &event);
}

#endif
