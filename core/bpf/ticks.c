/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/ticks.h"
#include "bpf/shared.h"
#include "core/bpf/cpus.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

static const enum ep_counter counters[] = {
	EP_COUNTER_SAMPLES,
	EP_COUNTER_FILTERED,
	EP_COUNTER_IDLE,
};

/*
 * A look-up in a per-CPU map gives one value for each possible CPU, without gaps for those numbers
 * that no CPU has (bpf_percpu_array_copy, linux/kernel/bpf/arraymap.c).
 */
struct ep_tick_reader {
	int counters_fd;
	size_t n; /* possible CPUs */
	uint64_t *values[EP_LEN(counters)];
	uint64_t *fresh; /* being read */
	struct ep_cpus possible;
};

int ep_tick_reader_new(int counters_fd, struct ep_tick_reader **ret_reader)
{
	struct ep_tick_reader *reader;
	int n = libbpf_num_possible_cpus(), r;

	if (n <= 0 || n > EP_MAX_CPUS)
		return n < 0 ? n : -E2BIG;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->counters_fd = counters_fd;
	reader->n = (size_t)n;
	r = ep_cpus_read_possible(&reader->possible);
	reader->fresh = calloc(reader->n, sizeof(*reader->fresh));
	for (size_t i = 0; i < EP_LEN(counters); i++) {
		reader->values[i] = calloc(reader->n, sizeof(*reader->values[i]));
		if (!reader->values[i])
			r = -ENOMEM;
	}
	if (r < 0 || !reader->fresh) {
		ep_tick_reader_free(reader);
		return r < 0 ? r : -ENOMEM;
	}
	*ret_reader = reader;
	return 0;
}

void ep_tick_reader_free(struct ep_tick_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < EP_LEN(counters); i++)
		free(reader->values[i]);
	free(reader->fresh);
	free(reader);
}

int ep_tick_reader_read(struct ep_tick_reader *reader)
{
	for (size_t i = 0; i < EP_LEN(counters); i++) {
		uint32_t key = counters[i];

		if (bpf_map_lookup_elem(reader->counters_fd, &key, reader->fresh) < 0)
			return -errno;
		memcpy(reader->values[i], reader->fresh, reader->n * sizeof(*reader->fresh));
	}
	return 0;
}

struct ep_ticks ep_tick_reader_get(const struct ep_tick_reader *reader, uint32_t cpu)
{
	size_t at = ep_cpus_count_below(&reader->possible, cpu);

	if (!ep_cpus_has(&reader->possible, cpu) || at >= reader->n)
		return (struct ep_ticks){0};
	return (struct ep_ticks){
		.sampled = reader->values[0][at],
		.filtered = reader->values[1][at],
		.idle = reader->values[2][at],
	};
}
