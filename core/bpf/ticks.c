/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/ticks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct ep_tick_reader {
	const struct ep_counts *counts;
	uint32_t n;
	struct ep_ticks taken[]; /* by CPU */
};

int ep_tick_reader_new(const struct ep_counts *counts, uint32_t n, struct ep_tick_reader **ret_reader)
{
	struct ep_tick_reader *reader = calloc(1, sizeof(*reader) + n * sizeof(reader->taken[0]));

	if (!reader)
		return -ENOMEM;
	reader->counts = counts;
	reader->n = n;
	*ret_reader = reader;
	return 0;
}

void ep_tick_reader_free(struct ep_tick_reader *reader)
{
	free(reader);
}

static uint64_t load(const struct ep_counts *counts, enum ep_counter counter)
{
	return atomic_load_explicit((const _Atomic uint64_t *)&counts->n[counter],
				    memory_order_relaxed);
}

void ep_tick_reader_read(struct ep_tick_reader *reader)
{
	for (uint32_t cpu = 0; cpu < reader->n; cpu++) {
		const struct ep_counts *counts = &reader->counts[cpu];

		reader->taken[cpu] = (struct ep_ticks){
			.sampled = load(counts, EP_COUNTER_SAMPLES),
			.filtered = load(counts, EP_COUNTER_FILTERED),
			.idle = load(counts, EP_COUNTER_IDLE),
			.overrun = load(counts, EP_COUNTER_OVERRUN),
		};
	}
}

struct ep_ticks ep_tick_reader_get(const struct ep_tick_reader *reader, uint32_t cpu)
{
	return cpu < reader->n ? reader->taken[cpu] : (struct ep_ticks){0};
}
