/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a keeper sends, kept as the host keeps it (core/plugin/kept_memory.h). After tests/kit/world.h and the
 * language's keeper:
 *
 *	ep_test_owns(&kept, kept_release);
 *	world_begin(SLOT, 40);
 *	kept_begin(SLOT);
 *	... push frames ...
 *	assert_true(kept_run(toy_keep) > 0);
 *	kept_read(NULL, addr, buf, bytes)	the process is what was kept of it
 */
#ifndef EP_TESTS_KIT_KEPT_H
#define EP_TESTS_KIT_KEPT_H

#include "core/plugin/kept_memory.h"
#include "tests/kit/world.h"

static struct ep_keep keeps;
static uint64_t kept_seen[1 << EP_KEEP_SEEN_SHIFT];
static struct ep_kept_memory kept;
static uint32_t kept_slot, kept_events; /* of the last run */

static inline void kept_release(void *unused)
{
	(void)unused;
	ep_kept_memory_fini(&kept);
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
	ep_kept_memory_fini(&kept);
	ep_kept_memory_init(&kept);
}

/* Keeps what it sends for the sample; how many bytes that are, without heads of pieces. */
static inline size_t kept_run(world_program *keeper)
{
	size_t before = kept.bytes.len;

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
