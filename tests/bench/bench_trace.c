/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the trace store per event: 4000 traces of 40 frames in 100
 * processes, a thread and CPU each. Prints rows for scripts/bench; fails when a KNOWN sample costs
 * more than a microsecond, ten times what it should.
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/trace/batch.h"
#include "tests/unit/trace_events.h"

#include <malloc.h>
#include <stdio.h>

#define TRACES 4000
#define FRAMES 40
#define KNOWN  2000000

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

static double since(uint64_t start_ns, uint64_t n)
{
	return (double)(ep_clock_mono_ns() - start_ns) / (double)n;
}

/* A batch keeps nothing of the one before. */
static int print_batch(const struct ep_interval *interval)
{
	const struct ep_batch_source source = {.period_hz = 49, .host_name = "host"};
	uint64_t best_ns = UINT64_MAX;
	struct ep_batch *batch;

	for (int i = 0; i < 5; i++) {
		uint64_t start_ns = ep_clock_thread_cpu_ns();

		if (ep_batch_build(interval, &source, &batch) < 0)
			return -1;
		best_ns = EP_MIN(best_ns, ep_clock_thread_cpu_ns() - start_ns);
		if (i == 4)
			printf("batch of %u stacks and %u locations\t%.2f\tms\t\tfor information\n"
			       "its heap\t%zu\tKiB\t\tfor information\n",
			       batch->n_stacks, batch->n_locations, (double)best_ns / 1e6,
			       ep_batch_bytes(batch) >> 10);
		ep_batch_unref(batch);
	}
	return 0;
}

int main(void)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_interval *iv = NULL;
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
		else if (print_batch(iv) < 0)
			return 1;
	}
	ep_interval_unref(iv);
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
	printf("store with %u frames\t%zu\tKiB\t\tfor information\n",
	       ep_frames_count(ep_store_frames(store)), ep_store_bytes(store) >> 10);
	ep_store_free(store);
	return known_ns > 1000;
}
