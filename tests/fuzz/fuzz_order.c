/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BPF ring and a side-band ring from a kernel gone mad. The input is
 *
 *	flags (1: the kernel counts losses, 2: small index, 4: few bytes may wait), time to drain
 *	to,
 *	for each of the two rings: where it begins and how much it has, both in units of 8 bytes,
 *	then so many bytes of the BPF ring, then those of the side-band ring
 *
 * It is drained, changed, drained again and flushed. Nothing may be read from outside, come more
 * often than the rings have space for, or stay in a ring after a record that is not busy.
 */
#include "core/bpf/order.h"
#include "tests/kit/fuzz.h"
#include "tests/unit/bpf_rings.h"

#define RING_BYTES     4096
#define SIDEBAND_BYTES 1024

struct input {
	uint8_t flags, time;
	uint16_t ring_at, ring_len, sideband_at, sideband_len;
	uint8_t bytes[];
} __attribute__((packed));

static struct fake_ring ring; /* mapped once */
static struct fake_sideband sidebands[8]; /* an opener has no argument */
static size_t n_sidebands;
static uint64_t position;
static bool counts;

static int open_fake(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband)
{
	struct fake_sideband *sideband = &sidebands[n_sidebands];

	if (n_sidebands == EP_LEN(sidebands))
		return -EPERM;
	fake_sideband_init(sideband, cpu, bytes == EP_SIDEBAND_MIN_BYTES ? SIDEBAND_BYTES : bytes,
			   position, counts);
	n_sidebands++;
	*ret_sideband = sideband->reader;
	return 0;
}

struct sink {
	size_t n;
	uint64_t sum; /* over all bytes that were handed over, so that each one is read */
};

static void on_event(void *arg, const struct ep_event *event, size_t bytes)
{
	struct sink *sink = arg;

	assert(bytes >= sizeof(*event) && bytes <= RING_BYTES);
	for (size_t i = 0; i < bytes; i++)
		sink->sum += ((const uint8_t *)event)[i];
	sink->n++;
}

static void on_mapping(void *arg, const struct ep_mapping_event *event)
{
	struct sink *sink = arg;

	assert(!event->has_inode || !event->build_id);
	assert(event->build_id_bytes <= 20);
	for (size_t i = 0; i < event->build_id_bytes; i++)
		sink->sum += event->build_id[i];
	sink->sum += strlen(event->name);
	sink->n++;
}

static void on_lost(void *arg, uint64_t records)
{
	assert(records > 0);
}

static void on_ksymbol(void *arg, const struct ep_ksymbol_event *event)
{
	struct sink *sink = arg;

	sink->sum += strlen(event->name) + strlen(event->module);
	sink->n++;
}

static void on_flooded(void *arg, uint32_t pid, uint64_t now_ns)
{
	struct sink *sink = arg;

	(void)now_ns;
	sink->sum += pid;
}

static void on_crowded(void *arg, uint64_t records)
{
	assert(records > 0);
}

static const struct ep_order_ops ops = {on_event, on_mapping, on_lost, on_ksymbol, on_flooded, on_crowded};

static void fill(const struct input *input, size_t size)
{
	size_t first = EP_MIN(size, EP_MIN(input->ring_len * (size_t)8, (size_t)RING_BYTES));
	size_t at = input->ring_at * (size_t)8;
	size_t second = EP_MIN(size - first, (size_t)SIDEBAND_BYTES);

	memset(ring.data, 0, RING_BYTES);
	for (size_t i = 0; i < first; i++)
		ring.data[(at + i) % RING_BYTES] = input->bytes[i];
	memset(sidebands[0].data, 0, SIDEBAND_BYTES);
	for (size_t i = 0; i < second; i++)
		sidebands[0].data[(input->sideband_at * (size_t)8 + i) % SIDEBAND_BYTES] =
			input->bytes[first + i];
}

static void drain_twice(struct ep_order *order, const struct input *input, struct sink *sink)
{
	uint64_t known_ns = ep_order_drain_to(order, input->time);
	uint64_t used = ep_ring_used_bytes(ring.reader);

	assert(known_ns <= input->time);
	/* What stays in the ring stays after a record that is being written. */
	assert(used == 0 || (ring.data[ring.consumer % RING_BYTES + 3] & 0x80));
	assert(ep_sideband_used_bytes(sidebands[0].reader) == 0);
	assert(sink->n + ep_order_waiting(order) <= RING_BYTES / 8 + SIDEBAND_BYTES / 8);
	ring.data[ring.consumer % RING_BYTES + 3] &= 0x7f;
	sidebands[0].lost += input->flags;
	assert(ep_order_drain_to(order, input->time + 1u) >= known_ns);
	ep_order_flush(order);
	assert(ep_order_waiting(order) == 0);
}

static void run(const struct input *input, size_t size)
{
	struct sink sink = {0};
	struct ep_order_options options = {
		.ops = &ops,
		.arg = &sink,
		.max_records = input->flags & 2 ? 3 : 0,
		.max_waiting_bytes = input->flags & 4 ? 200 : 0,
	};
	struct ep_ring_memory memory = {&ring.consumer, &ring.producer, ring.data, RING_BYTES, RING_BYTES};
	struct ep_order *order;

	counts = input->flags & 1;
	n_sidebands = 0;
	if (ep_sideband_set_new(open_fake, &options.sidebands) < 0)
		return;
	ring.consumer = input->ring_at * 8u;
	ring.producer = ring.consumer + input->ring_len * 8u;
	if (ep_ring_new(&memory, &ring.reader) < 0)
		abort();
	position = input->sideband_at * 8u;
	if (ep_sideband_set_add(options.sidebands, 0) < 0)
		abort();
	options.ring = ring.reader;
	fill(input, size);
	sidebands[0].page.data_head = position + input->sideband_len * 8u;
	if (ep_order_new(&options, &order) == 0)
		drain_twice(order, input, &sink);
	ep_order_free(order);
	ep_sideband_set_free(options.sidebands);
	ep_ring_close(ring.reader);
	for (size_t i = 0; i < n_sidebands; i++)
		free(sidebands[i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input *input;

	if (size < sizeof(*input))
		return 0;
	if (!ring.data)
		ring.data = map_twice(RING_BYTES);
	input = malloc(size);
	if (!input)
		return 0;
	memcpy(input, data, size);
	run(input, size - sizeof(*input));
	free(input);
	return 0;
}
