/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the order of time, per record: 10 000 records of 80 bytes over three rings, a BPF ring
 * and those of two CPUs. Records are in order but for one in a hundred, which is a little late. Prints
 * rows for scripts/bench; fails when a record costs more than a microsecond, many times what it
 * should. Reading the rings one by one, without an order, is measured beside it.
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/bpf/order.h"
#include "tests/kit/fakes.h"
#include "tests/unit/bpf_rings.h"

#include <stdio.h>

#define RECORDS	   10000u
#define RING_BYTES (1u << 20)
#define ROUNDS	   100

static struct fake_sideband sidebands[2];

static int open_fake(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband)
{
	fake_sideband_init(&sidebands[cpu], cpu, RING_BYTES, 0, false);
	*ret_sideband = sidebands[cpu].reader;
	return 0;
}

static uint64_t n_records, last_ns;

static void on_event(void *arg, const struct ep_event *event, size_t bytes)
{
	n_records++;
	last_ns = event->time_ns;
}

static void on_mapping(void *arg, const struct ep_mapping_event *event)
{
	n_records++;
	last_ns = event->time_ns;
}

static void on_lost(void *arg, uint64_t records)
{
	abort();
}

static const struct ep_order_ops ops = {on_event, on_mapping, on_lost, NULL, NULL, NULL};

/* The smallest mapping record has 88 bytes. */
static void put_mapping(uint32_t cpu, uint64_t time_ns)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t rest[7];
		char name[8];
		uint64_t time_ns;
	} record = {.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(record)},
		    .name = "/bin/sh",
		    .time_ns = time_ns};

	if (!fake_sideband_put(&sidebands[cpu], &record, sizeof(record)))
		abort();
}

static void put_all(struct fake_ring *ring, uint64_t start_ns)
{
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint64_t time_ns = start_ns + i - (i % 100 ? 0 : ep_mix64(i) % 30);

		if (i % 3 < 2)
			put_mapping(i % 3, time_ns);
		else if (!fake_ring_put_event(ring, EP_EVENT_KNOWN, time_ns, i, 72))
			abort();
	}
}

static uint64_t drain(struct ep_order *order, uint64_t now_ns)
{
	uint64_t start_ns = ep_clock_mono_ns();

	(void)ep_order_drain_to(order, now_ns);
	return ep_clock_mono_ns() - start_ns;
}

static void drain_one(struct ep_sideband *sideband)
{
	const void *record;
	uint64_t time_ns;
	size_t bytes;

	ep_sideband_begin(sideband);
	while (ep_sideband_next(sideband, &record, &bytes, &time_ns))
		(void)ep_sideband_parse(record, bytes, on_mapping, NULL);
	ep_sideband_release(sideband);
}

static uint64_t read_one_by_one(struct fake_ring *ring)
{
	uint64_t start_ns = ep_clock_mono_ns();
	const void *record;
	size_t bytes;

	for (size_t i = 0; i < EP_LEN(sidebands); i++)
		drain_one(sidebands[i].reader);
	ep_ring_begin(ring->reader);
	while (ep_ring_next(ring->reader, &record, &bytes) == EP_RING_RECORD)
		on_event(NULL, record, bytes);
	ep_ring_release(ring->reader);
	return ep_clock_mono_ns() - start_ns;
}

static double measure(struct fake_ring *ring, struct ep_order *order, uint32_t records)
{
	uint64_t best_ns = UINT64_MAX, now_ns = EP_NS_PER_SEC;

	for (int round = 0; round < ROUNDS; round++, now_ns += EP_NS_PER_MS) {
		uint64_t took_ns;

		n_records = 0;
		if (records == 0) {
			took_ns = drain(order, now_ns);
		} else {
			put_all(ring, now_ns);
			took_ns = order ? drain(order, now_ns + RECORDS) : read_one_by_one(ring);
		}
		if (n_records != records)
			abort();
		best_ns = EP_MIN(best_ns, took_ns);
	}
	return (double)best_ns / (records ? records : 1);
}

static struct ep_order *new_order(struct ep_order_options options, size_t max_records)
{
	struct ep_order *order;

	options.max_records = max_records;
	if (ep_order_new(&options, &order) < 0)
		abort();
	return order;
}

int main(void)
{
	struct ep_order_options options = {.ops = &ops};
	struct ep_order *usual, *large;
	struct fake_ring ring;
	double ns;

	fake_ring_init(&ring, RING_BYTES, 0);
	if (ep_sideband_set_new(open_fake, &options.sidebands) < 0 ||
	    ep_sideband_set_add(options.sidebands, 0) < 0 ||
	    ep_sideband_set_add(options.sidebands, 1) < 0)
		return 1;
	options.ring = ring.reader;
	usual = new_order(options, 0);
	large = new_order(options, RECORDS);
	printf("records one ring after the other\t%.1f\tns\t\tfor information\n",
	       measure(&ring, NULL, RECORDS));
	ns = measure(&ring, usual, RECORDS);
	printf("record of %u in order of time\t%.1f\tns\t\tfor information\n", RECORDS, ns);
	printf("the same in one round\t%.1f\tns\t\tfor information\n",
	       measure(&ring, large, RECORDS));
	printf("drain of empty rings\t%.0f\tns\t\tfor information\n", measure(&ring, usual, 0));
	ep_order_free(usual);
	ep_order_free(large);
	ep_sideband_set_free(options.sidebands);
	fake_ring_fini(&ring);
	free(sidebands[0].data);
	free(sidebands[1].data);
	return ns > 1000;
}
