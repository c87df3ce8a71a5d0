/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the trace store per event, and of building a batch: 4000 traces of 40 frames in 100
 * processes, a thread and CPU each. Prints rows for scripts/bench; fails when a KNOWN sample costs
 * more than a microsecond, ten times what it should.
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/trace/batch.h"
#include "core/trace/merge.h"
#include "tests/unit/trace_events.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>

#define TRACES 4000
#define FRAMES 40
#define KNOWN  2000000
#define MERGES 200000

#define MIXED_SLOT 2 /* of a language */

static struct event event;

static void add_traces(struct ep_store *store)
{
	for (uint64_t i = 0; i < TRACES; i++) {
		event_init(&event, EP_EVENT_TRACE, ep_mix64(i + 1), (uint32_t)(i % 100) + 1);
		for (uint64_t f = 0; f < FRAMES; f++) {
			uint64_t address = (i * 7919 + f * 104729) % 20000;

			event_user(&event, EP_FRAME_NATIVE, f > 0, (uint32_t)(address % 8) + 1,
				   address * 16 + 1);
		}
		if (event_add(store, &event) != 0)
			abort();
	}
}

/* The same with a language: 20 native frames, 5 of which run it, and 20 of its own in 5 groups. */
static void add_mixed(struct ep_store *store)
{
	for (uint64_t i = 0; i < TRACES; i++) {
		event_init(&event, EP_EVENT_TRACE, ep_mix64(~i), (uint32_t)(i % 100) + 1);
		for (uint64_t f = 0; f < FRAMES / 2; f++) {
			uint64_t address = (i * 7919 + f * 104729) % 20000;

			event_user(&event, EP_FRAME_NATIVE,
				   f % 4 == 3 ? MIXED_SLOT << EP_FRAME_SLOT_SHIFT : f > 0,
				   (uint32_t)(address % 8) + 1, address * 16 + 1);
		}
		for (uint64_t f = 0; f < FRAMES / 2; f++)
			event_user(&event, EP_FRAME_FIRST_DYNAMIC + MIXED_SLOT,
				   f % 4 == 3 ? EP_FRAME_ENTRY : 0, 1,
				   (i * 7919 + f * 104729) % 20000);
		if (event_add(store, &event) != 0)
			abort();
	}
}

static void add_known(struct ep_store *store, uint64_t n)
{
	event_init(&event, EP_EVENT_KNOWN, 1, 1);
	for (uint64_t n_done = 0; n_done < n; n_done++) {
		uint64_t i = ep_mix64(n_done) % TRACES;

		event.sample.hash = ep_mix64(i + 1);
		event.sample.pid = event.sample.tid = (uint32_t)(i % 100) + 1;
		event.sample.event.cpu = (uint32_t)(n_done & 1);
		if (event_add(store, &event) != 0)
			abort();
	}
}

static void resolve_all(struct ep_frames *frames)
{
	struct ep_frame_line line = {.file = "/src/file.cc"};
	uint32_t id;
	char name[64];

	while ((id = ep_frames_take(frames)) != 0) {
		snprintf(name, sizeof(name), "namespace::function_number_%u(int)", id / 4);
		line.function = name;
		ep_frames_resolve(frames, id, &line, 1, NULL);
	}
}

static double since(uint64_t start_ns, uint64_t n)
{
	return (double)(ep_clock_mono_ns() - start_ns) / (double)n;
}

static void measure_merge(void)
{
	static struct ep_merge merge;
	uint64_t start_ns = ep_clock_mono_ns(), frames = 0;

	for (int i = 0; i < MERGES; i++)
		frames += ep_merge_frames(&merge, event.words, event.sample.n_words, false);
	printf("merge of %u frames to %" PRIu64 "\t%.0f\tns\t\tfor information\n",
	       event.sample.n_frames, frames / MERGES, since(start_ns, MERGES));
}

/* In a store of its own, so that the rows below stay what they were. */
static void measure_mixed(const struct ep_store_limits *limits)
{
	struct ep_interval *iv = NULL;
	struct ep_store *store;

	if (ep_store_new(limits, 0, &store) < 0)
		abort();
	for (int round = 0; round < 2; round++) { /* the second one knows all frames */
		uint64_t start_ns = ep_clock_mono_ns();

		add_mixed(store);
		printf("new trace with a language's frames\t%.0f\tns\t\tfor information\n",
		       since(start_ns, TRACES));
		if (ep_store_seal(store, 1, &iv) < 0)
			abort();
		ep_interval_unref(iv);
	}
	measure_merge();
	ep_store_free(store);
}

int main(void)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_batch_source source = {.period_hz = 20};
	struct ep_interval *iv = NULL;
	struct ep_batch *batch = NULL;
	struct ep_store *store;
	size_t heap_before;
	uint64_t start_ns;
	double known_ns;

	limits.max_interval_bytes = 64 << 20;
	if (ep_store_new(&limits, 0, &store) < 0)
		return 1;
	for (int round = 0; round < 3; round++) {
		start_ns = ep_clock_mono_ns();
		add_traces(store);
		printf("new trace of %d frames\t%.0f\tns\t\tfor information\n", FRAMES,
		       since(start_ns, TRACES));
		add_known(store, KNOWN);
		if (ep_store_seal(store, 1, &iv) < 0)
			return 1;
		if (round < 2)
			ep_interval_unref(iv);
	}
	ep_interval_unref(iv);
	measure_mixed(&limits);
	if (ep_store_seal(store, 2, &iv) < 0)
		return 1;
	ep_interval_unref(iv);
	add_traces(store);
	add_known(store, 1000);
	heap_before = mallinfo2().uordblks;
	start_ns = ep_clock_mono_ns();
	add_known(store, KNOWN);
	known_ns = since(start_ns, KNOWN);
	printf("sample of a known trace\t%.0f\tns\t\tfor information\n", known_ns);
	printf("heap grown by %d of them\t%zu\tbytes\t\tfor information\n", KNOWN,
	       mallinfo2().uordblks - heap_before);
	resolve_all(ep_store_frames(store));
	printf("store with %u frames\t%zu\tKiB\t\tfor information\n",
	       ep_frames_count(ep_store_frames(store)), ep_store_bytes(store) >> 10);
	/* a busy minute at 20 Hz: what one batch of the agent is made of */
	if (ep_store_seal(store, 3, &iv) < 0)
		return 1;
	ep_interval_unref(iv);
	add_traces(store);
	add_known(store, 20000);
	if (ep_store_seal(store, 4, &iv) < 0)
		return 1;
	start_ns = ep_clock_mono_ns();
	if (ep_batch_build(iv, &source, &batch) < 0)
		return 1;
	printf("batch of %u stacks\t%.1f\tms\t\tfor information\n", batch->n_stacks - 1,
	       since(start_ns, EP_NS_PER_MS));
	printf("the same, in memory\t%zu\tKiB\t\tfor information\n", ep_batch_bytes(batch) >> 10);
	ep_batch_unref(batch);
	ep_interval_unref(iv);
	ep_store_free(store);
	return known_ns > 1000;
}
