/* SPDX-License-Identifier: Apache-2.0 */
/* An order over rings in memory, and what it hands over. */
#ifndef EP_TESTS_ORDER_WORLD_H
#define EP_TESTS_ORDER_WORLD_H

#include "core/base/map.h"
#include "core/bpf/order.h"
#include "tests/kit/test.h"
#include "tests/unit/bpf_rings.h"

#define RING_BYTES 65536
#define MAX_SEEN   12000
#define MS	   1000000ull
#define T0	   (1000 * MS)

/* An opener has no argument: rings it opened are found here. */
static struct {
	struct fake_sideband rings[32];
	size_t n;
	size_t first_bytes;
	bool counts;
	int refuse; /* what an opener says */
	size_t max_bytes; /* and of larger rings, unless it is 0 */
} kernel;

static inline int open_fake(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband)
{
	struct fake_sideband *ring = &kernel.rings[kernel.n];

	if (kernel.refuse)
		return kernel.refuse;
	if (kernel.max_bytes && bytes > kernel.max_bytes)
		return -EPERM;
	if (bytes == EP_SIDEBAND_MIN_BYTES && kernel.first_bytes)
		bytes = kernel.first_bytes;
	assert_true(kernel.n < EP_LEN(kernel.rings));
	fake_sideband_init(ring, cpu, bytes, (1ull << 33) - 96, kernel.counts);
	kernel.n++;
	*ret_sideband = ring->reader;
	return 0;
}

struct record {
	uint32_t id;
	uint32_t type; /* 0: a mapping, UINT32_MAX: a loss */
	uint64_t time_ns;
	uint64_t bytes;
};

struct world {
	struct fake_ring ring;
	struct ep_sideband_set *set;
	struct ep_order *order;
	struct record seen[MAX_SEEN];
	size_t n_seen;
	size_t n_broken; /* records with other bytes than were written */
	uint64_t rng;
};

static inline void see(struct world *world, struct record record)
{
	assert_true(world->n_seen < MAX_SEEN);
	world->seen[world->n_seen++] = record;
}

static inline void on_event(void *arg, const struct ep_event *event, size_t bytes)
{
	struct world *world = arg;
	const uint8_t *byte = (const uint8_t *)event;

	for (size_t i = sizeof(*event); i < bytes; i++) {
		if (byte[i] != (event->cpu & 0xff)) {
			world->n_broken++;
			break;
		}
	}
	see(world, (struct record){event->cpu, event->type, event->time_ns, bytes});
}

static inline void on_mapping(void *arg, const struct ep_mapping_event *event)
{
	struct world *world = arg;

	world->n_broken += strcmp(event->name, "/usr/bin/x") != 0;
	see(world, (struct record){(uint32_t)event->addr, 0, event->time_ns, 0});
}

static inline void on_lost(void *arg, uint64_t records)
{
	see(arg, (struct record){.type = UINT32_MAX, .bytes = records});
}

static inline void on_ksymbol(void *arg, const struct ep_ksymbol_event *event)
{
	struct world *world = arg;

	world->n_broken += strcmp(event->name, "bpf_prog_x") != 0 || strcmp(event->module, "bpf") != 0 ||
			   event->bytes != 0x40;
	see(world, (struct record){(uint32_t)event->addr, event->is_gone, event->time_ns, 0});
}

static const struct ep_order_ops ops = {on_event, on_mapping, on_lost, on_ksymbol, NULL, NULL};

struct setup {
	uint32_t n_cpus;
	size_t sideband_bytes;
	size_t max_records, max_waiting_bytes;
	bool counts;
	const struct ep_order_ops *ops; /* others than ours */
};

static inline void free_world(void *made)
{
	ep_autofree struct world *world = made;

	ep_order_free(world->order);
	ep_sideband_set_free(world->set);
	fake_ring_fini(&world->ring);
	for (size_t i = 0; i < kernel.n; i++)
		free(kernel.rings[i].data);
}

static inline struct world *new_world(struct setup setup)
{
	struct world *world = calloc(1, sizeof(*world));
	struct ep_order_options options = {
		.ring = NULL,
		.ops = setup.ops ? setup.ops : &ops,
		.arg = world,
		.max_records = setup.max_records,
		.max_waiting_bytes = setup.max_waiting_bytes,
	};

	memset(&kernel, 0, sizeof(kernel));
	kernel.first_bytes = setup.sideband_bytes;
	kernel.counts = setup.counts;
	/* Positions of 32 bits are not enough. */
	fake_ring_init(&world->ring, RING_BYTES, (1ull << 33) - 64);
	assert_int_equal(ep_sideband_set_new(open_fake, &world->set), 0);
	for (uint32_t cpu = 0; cpu < setup.n_cpus; cpu++)
		assert_int_equal(ep_sideband_set_add(world->set, cpu), 0);
	options.ring = world->ring.reader;
	options.sidebands = world->set;
	assert_int_equal(ep_order_new(&options, &world->order), 0);
	ep_test_owns(world, free_world);
	return world;
}

static inline uint64_t rnd(struct world *world, uint64_t below)
{
	return ep_mix64(++world->rng) % below;
}

static inline struct ep_order_stats stats(const struct world *world)
{
	struct ep_order_stats result;

	ep_order_get_stats(world->order, &result);
	return result;
}

static inline void put_event(struct world *world, uint32_t type, uint64_t time_ns, uint32_t id)
{
	assert_non_null(fake_ring_put_event(&world->ring, type, time_ns, id, 72));
}

static inline void put_mapping(uint32_t cpu, uint64_t time_ns, uint32_t id)
{
	assert_true(fake_sideband_put_mapping(&kernel.rings[cpu], time_ns, id));
}

/* The ids of all that came, a loss as "L" and its number. */
#define assert_seen(world, text) assert_string_equal(ids_of(world), text)
static inline const char *ids_of(const struct world *world)
{
	static char text[4096];
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < world->n_seen && len < sizeof(text) - 32; i++) {
		const struct record *record = &world->seen[i];
		bool loss = record->type == UINT32_MAX;

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%llu", i ? " " : "",
					loss ? "L" : "",
					(unsigned long long)(loss ? record->bytes : record->id));
	}
	return text;
}

static inline void assert_drains(struct world *world, uint64_t until_ns, const char *ids)
{
	ep_order_drain_to(world->order, until_ns);
	assert_seen(world, ids);
}

static inline void assert_ascending(const struct world *world, size_t from)
{
	for (size_t i = from + 1; i < world->n_seen; i++) {
		if (world->seen[i].time_ns < world->seen[i - 1].time_ns)
			fail_msg("record %zu is older than the one before", i);
	}
}

#define ORDER_TEST(name, ...) EP_TEST_OF(name, struct world *world, new_world((struct setup){__VA_ARGS__}))

#endif
