/* SPDX-License-Identifier: Apache-2.0 */
/* Makes ring events for tests of the trace store. */
#ifndef EP_TEST_TRACE_EVENTS_H
#define EP_TEST_TRACE_EVENTS_H

#include "bpf/shared.h"
#include "core/trace/store.h"

#include <string.h>

struct event {
	struct ep_sample sample;
	uint64_t words[EP_MAX_KERNEL + EP_MAX_WORDS + 8];
	size_t bytes;
};

static inline void event_init(struct event *event, uint32_t type, uint64_t hash, uint32_t pid)
{
	memset(&event->sample, 0, sizeof(event->sample));
	event->sample.event.type = type;
	event->sample.event.time_ns = 1000;
	event->sample.hash = hash;
	event->sample.pid = event->sample.tid = pid;
	event->sample.start_ns = 77;
	memcpy(event->sample.comm, "prog", 5);
	event->bytes = sizeof(event->sample);
}

static inline void event_word(struct event *event, uint64_t word)
{
	event->words[(event->bytes - sizeof(event->sample)) / 8] = word;
	event->bytes += 8;
}

static inline void event_kernel(struct event *event, uint64_t address)
{
	event_word(event, address);
	event->sample.n_kernel++;
}

static inline void event_user(struct event *event, uint32_t kind, uint32_t flags, uint32_t aux,
			      uint64_t word)
{
	event_word(event, EP_FRAME_HEADER(kind, flags, 1, aux));
	event_word(event, word);
	event->sample.n_frames++;
	event->sample.n_words += 2;
}

static inline int event_add(struct ep_store *store, const struct event *event)
{
	return ep_store_add(store, event, event->bytes);
}

#endif
