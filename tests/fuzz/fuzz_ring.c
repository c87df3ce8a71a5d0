/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring events from a kernel gone mad: the input is cut into records, each a length (16 bits) and
 * that many bytes, which go to the trace store; length 0 finishes an interval and builds its batch.
 * Limits are small so that each of them is hit. Two languages are known; what the store takes must
 * keep its frames when theirs and the native ones are put together.
 */
#include "bpf/shared.h"
#include "core/trace/batch.h"
#include "core/trace/kinds.h"
#include "core/trace/merge.h"
#include "core/trace/store.h"
#include "tests/kit/fuzz.h"
#include "tests/unit/trace_order.h"

static void check_batch(const struct ep_batch *batch, uint64_t samples)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		count += batch->sample_count[i];
		assert(batch->sample_stack[i] > 0 && batch->sample_stack[i] < batch->n_stacks);
		assert(batch->sample_process[i] < batch->n_processes);
	}
	for (uint32_t i = 0; i < batch->n_stack_locations; i++)
		assert(batch->stack_location[i] > 0 &&
		       batch->stack_location[i] < batch->n_locations);
	for (uint32_t i = 1; i < batch->n_locations; i++)
		assert(batch->location_line_first[i] < batch->location_line_first[i + 1]);
	assert(count == samples);
}

static void seal_and_build(struct ep_store *store)
{
	static const struct ep_batch_source source = {.period_hz = 20};
	struct ep_interval *interval;
	struct ep_batch *batch;

	if (ep_store_seal(store, 1, &interval) < 0)
		return;
	if (ep_batch_build(interval, &source, &batch) == 0) {
		check_batch(batch, ep_interval_samples(interval));
		ep_batch_unref(batch);
	}
	ep_interval_unref(interval);
}

static void add_languages(void)
{
	static const char *const errors[] = {"no thread state", "torn", NULL};
	uint32_t first;

	ep_kind_clear();
	(void)ep_kind_add(EP_SLOT_FIRST_DYNAMIC, "one", errors, &first);
	(void)ep_kind_add(EP_SLOT_FIRST_DYNAMIC + 1, "two", errors, &first);
}

static void check_merge(const uint8_t *event)
{
	static struct ep_merge merge;
	struct ep_sample sample;
	const uint8_t *words;
	uint32_t n;

	memcpy(&sample, event, sizeof(sample));
	if (sample.event.type != EP_EVENT_TRACE)
		return;
	words = event + sizeof(sample) + sample.n_kernel * sizeof(uint64_t);
	n = ep_merge_frames(&merge, words, sample.n_words, sample.error);
	assert(n <= sample.n_frames);
	assert(!order_violation(&merge, words, sample.n_words, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_store_limits limits = {
		.max_frames = 64,
		.max_string_bytes = 65536,
		.max_line_bytes = 65536,
		.max_interval_bytes = 65536,
	};
	struct ep_store *store;
	size_t at = 0;

	if (ep_store_new(&limits, 0, &store) < 0)
		return 0;
	add_languages();
	while (size - at >= 2) {
		uint16_t bytes;

		memcpy(&bytes, data + at, sizeof(bytes));
		at += sizeof(bytes);
		bytes = (uint16_t)EP_MIN(bytes, size - at);
		if (bytes == 0)
			seal_and_build(store);
		else if (ep_store_add(store, data + at, bytes) == 0)
			check_merge(data + at);
		at += bytes;
	}
	seal_and_build(store);
	ep_store_free(store);
	return 0;
}
