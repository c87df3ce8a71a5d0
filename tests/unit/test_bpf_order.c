/* SPDX-License-Identifier: Apache-2.0 */
/* Records of several rings in order of time, over rings in memory. */
#include "core/bpf/order.h"
#include "core/base/map.h"
#include "tests/kit/heap.h"
#include "tests/kit/test.h"
#include "tests/unit/bpf_rings.h"

#define RING_BYTES 65536
#define MAX_SEEN   12000
#define MS	   1000000ull
#define T0	   (1000 * MS)

/* --- a world of rings ------------------------------------------------------------------------ */

/* An opener has no argument: rings it opened are found here. */
static struct {
	struct fake_sideband rings[32];
	size_t n;
	size_t first_bytes;
	bool counts;
	int refuse; /* what an opener says */
	size_t max_bytes; /* and of larger rings, unless it is 0 */
} kernel;

static int open_fake(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband)
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

static void see(struct world *world, struct record record)
{
	assert_true(world->n_seen < MAX_SEEN);
	world->seen[world->n_seen++] = record;
}

static void on_event(void *arg, const struct ep_event *event, size_t bytes)
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

static void on_mapping(void *arg, const struct ep_mapping_event *event)
{
	struct world *world = arg;

	world->n_broken += strcmp(event->name, "/usr/bin/x") != 0;
	see(world, (struct record){(uint32_t)event->addr, 0, event->time_ns, 0});
}

static void on_lost(void *arg, uint64_t records)
{
	see(arg, (struct record){.type = UINT32_MAX, .bytes = records});
}

static void on_ksymbol(void *arg, const struct ep_ksymbol_event *event)
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
};

static void free_world(void *made)
{
	ep_autofree struct world *world = made;

	ep_order_free(world->order);
	ep_sideband_set_free(world->set);
	fake_ring_fini(&world->ring);
	for (size_t i = 0; i < kernel.n; i++)
		free(kernel.rings[i].data);
}

static struct world *new_world(struct setup setup)
{
	struct world *world = calloc(1, sizeof(*world));
	struct ep_order_options options = {
		.ring = NULL,
		.ops = &ops,
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

static uint64_t rnd(struct world *world, uint64_t below)
{
	return ep_mix64(++world->rng) % below;
}

static struct ep_order_stats stats(const struct world *world)
{
	struct ep_order_stats result;

	ep_order_get_stats(world->order, &result);
	return result;
}

static void put_event(struct world *world, uint32_t type, uint64_t time_ns, uint32_t id)
{
	assert_non_null(fake_ring_put_event(&world->ring, type, time_ns, id, 72));
}

static void put_mapping(uint32_t cpu, uint64_t time_ns, uint32_t id)
{
	assert_true(fake_sideband_put_mapping(&kernel.rings[cpu], time_ns, id));
}

/* The ids of all that came, a loss as "L" and its number. */
#define assert_seen(world, text) assert_string_equal(ids_of(world), text)
static const char *ids_of(const struct world *world)
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

static void assert_drains(struct world *world, uint64_t until_ns, const char *ids)
{
	ep_order_drain_to(world->order, until_ns);
	assert_seen(world, ids);
}

static void assert_ascending(const struct world *world, size_t from)
{
	for (size_t i = from + 1; i < world->n_seen; i++) {
		if (world->seen[i].time_ns < world->seen[i - 1].time_ns)
			fail_msg("record %zu is older than the one before", i);
	}
}

/* --- code of the kernel ---------------------------------------------------------------------- */

EP_TEST(code_of_the_kernel_comes_and_goes_before_what_is_sampled_there)
{
	struct world *world = new_world((struct setup){.n_cpus = 2});

	put_event(world, EP_EVENT_TRACE, T0 + 20, 3);
	put_event(world, EP_EVENT_TRACE, T0 + 9, 1);
	assert_true(fake_sideband_put_ksymbol(&kernel.rings[1], T0 + 20, 2, false));
	put_mapping(0, T0 + 30, 4);
	assert_true(fake_sideband_put_ksymbol(&kernel.rings[0], T0 + 40, 5, true));
	assert_drains(world, T0 + 100, "1 2 3 4 5");
	assert_int_equal(world->seen[1].type, false);
	assert_int_equal(world->seen[4].type, true);
	assert_int_equal(world->n_broken, 0);
}

EP_TEST(code_of_the_kernel_has_the_module_that_pictures_say)
{
	static const struct {
		uint16_t type;
		const char *name, *module;
	} rows[] = {
		{PERF_RECORD_KSYMBOL_TYPE_BPF, "bpf_prog_x", "bpf"},
		{PERF_RECORD_KSYMBOL_TYPE_OOL, "ftrace_tramp", "__builtin__ftrace"},
		{PERF_RECORD_KSYMBOL_TYPE_OOL, "kprobe_insn", "__builtin__kprobes"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct fake_ksymbol record = {
			.header = {.type = PERF_RECORD_KSYMBOL, .size = sizeof(record)},
			.type = rows[i].type,
		};
		struct ep_ksymbol_event ksymbol;

		memcpy(record.name, rows[i].name, strlen(rows[i].name));
		assert_true(ep_sideband_parse_ksymbol(&record, sizeof(record), &ksymbol));
		assert_string_equal(ksymbol.module, rows[i].module);
		memset(record.name, 'x', sizeof(record.name));
		record.time_ns = UINT64_MAX; /* no end of the name anywhere */
		assert_false(ep_sideband_parse_ksymbol(&record, sizeof(record), &ksymbol));
		assert_false(ep_sideband_parse_ksymbol(&record, 24, &ksymbol));
	}
}

/* The kernel reserves more than it writes where others hear of kernel symbols as well. */
EP_TEST(the_time_of_a_kernel_symbol_is_behind_its_name)
{
	struct {
		struct fake_ksymbol record;
		uint8_t unwritten[16];
	} longer = {
		.record = {.header = {.type = PERF_RECORD_KSYMBOL, .size = sizeof(longer)},
			   .name = "bpf_prog_x",
			   .time_ns = T0 + 20},
	};
	struct ep_ksymbol_event ksymbol;

	memset(longer.unwritten, 'x', sizeof(longer.unwritten));
	assert_true(ep_sideband_parse_ksymbol(&longer, sizeof(longer), &ksymbol));
	assert_true(ksymbol.time_ns == T0 + 20);
}

EP_TEST(longer_kernel_symbols_come_in_order)
{
	struct world *world = new_world((struct setup){.n_cpus = 1});
	struct {
		struct fake_ksymbol record;
		uint8_t unwritten[16];
	} longer = {
		.record = {.header = {.type = PERF_RECORD_KSYMBOL, .size = sizeof(longer)},
			   .addr = 2,
			   .name = "bpf_prog_x",
			   .time_ns = T0 + 20},
	};

	memset(longer.unwritten, 'x', sizeof(longer.unwritten));
	put_event(world, EP_EVENT_TRACE, T0 + 9, 1);
	put_event(world, EP_EVENT_TRACE, T0 + 30, 3);
	assert_true(fake_sideband_put(&kernel.rings[0], &longer, sizeof(longer)));
	assert_drains(world, T0 + 100, "1 2 3");
}

/* --- order ----------------------------------------------------------------------------------- */

static void shuffle_once(uint64_t seed)
{
	struct world *world = new_world((struct setup){.n_cpus = 3});
	uint32_t n = 0, n_old = 0;
	size_t n_first;

	world->rng = seed << 32;
	for (uint32_t end = 1 + (uint32_t)rnd(world, 400); n < end; n++) {
		uint64_t time_ns = T0 + rnd(world, 1000), source = rnd(world, 4);

		n_old += time_ns <= T0 + 500;
		if (source == 3)
			put_event(world, EP_EVENT_KNOWN, time_ns, n);
		else
			put_mapping((uint32_t)source, time_ns, n);
	}
	assert_int_equal(ep_order_drain_to(world->order, T0 + 500), T0 + 500);
	n_first = world->n_seen;
	assert_int_equal(n_first, n_old);
	assert_int_equal(ep_order_waiting(world->order), n - n_old);
	assert_int_equal(ep_order_drain_to(world->order, T0 + 1000), T0 + 1000);
	assert_int_equal(world->n_seen, n);
	assert_ascending(world, 0);
	assert_true(n_first == n || world->seen[n_first].time_ns > T0 + 500);
	assert_int_equal(stats(world).late + world->n_broken, 0);
	assert_int_equal(stats(world).waited, n - n_old);
}

EP_TEST(shuffled_times_come_out_sorted)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		shuffle_once(seed);
		ep_test_release(NULL);
	}
}

#define ORDER_TEST(name, ...) EP_TEST_OF(name, struct world *world, new_world((struct setup){__VA_ARGS__}))

ORDER_TEST(every_record_comes_once, .n_cpus = 3)
{
	uint8_t count[900] = {0};

	for (uint32_t id = 0; id < EP_LEN(count); id++) {
		if (id % 3)
			put_mapping(id % 3, T0 + rnd(world, 100), id);
		else
			put_event(world, EP_EVENT_FORK, T0 + rnd(world, 100), id);
		if (id % 100 == 99)
			ep_order_drain_to(world->order, T0 + rnd(world, 100));
	}
	ep_order_flush(world->order);
	for (size_t i = 0; i < world->n_seen; i++)
		count[world->seen[i].id]++;
	for (size_t i = 0; i < EP_LEN(count); i++)
		assert_int_equal(count[i], 1);
	assert_int_equal(world->n_seen, EP_LEN(count));
}

ORDER_TEST(at_equal_times_a_sample_sees_what_was_before, .n_cpus = 1)
{
	put_event(world, EP_EVENT_EXIT, T0, 5);
	put_event(world, EP_EVENT_TRACE, T0, 4);
	put_event(world, EP_EVENT_EXEC, T0, 2);
	put_event(world, EP_EVENT_FORK, T0, 1);
	put_mapping(0, T0, 3);
	put_event(world, EP_EVENT_FORK, T0 + 1, 6);
	assert_drains(world, T0 + 1, "1 2 3 4 5 6");
}

ORDER_TEST(younger_ones_wait, .n_cpus = 1)
{
	put_event(world, EP_EVENT_TRACE, T0 + 9, 2);
	put_mapping(0, T0 + 8, 1);
	put_event(world, EP_EVENT_TRACE, T0, 0);
	assert_drains(world, T0 + 7, "0");
	assert_int_equal(ep_order_waiting(world->order), 2);
	/* They are out of the rings. */
	assert_int_equal(ep_ring_used_bytes(world->ring.reader), 0);
	assert_int_equal(ep_sideband_used_bytes(kernel.rings[0].reader), 0);
	memset(world->ring.data, 0xee, world->ring.bytes);
	memset(kernel.rings[0].data, 0xee, kernel.rings[0].bytes);
	assert_drains(world, T0 + 8, "0 1");
	ep_order_flush(world->order);
	assert_seen(world, "0 1 2");
	assert_int_equal(world->n_broken + ep_order_waiting(world->order), 0);
}

ORDER_TEST(the_oldest_do_not_wait_without_room, .n_cpus = 1, .max_waiting_bytes = 40000)
{
	for (uint32_t id = 0; id < 3; id++)
		assert_non_null(fake_ring_put_event(&world->ring, EP_EVENT_TRACE, T0 + id, id,
						    19000));
	put_mapping(0, T0 + 3, 3);
	assert_drains(world, T0 - 1, "0");
	assert_drains(world, T0 + 3, "0 1 2 3");
	assert_int_equal(world->n_broken, 0);
}

ORDER_TEST(far_ahead_is_another_clock, .n_cpus = 1)
{
	put_event(world, EP_EVENT_TRACE, T0 + 5000 * MS, 1);
	put_mapping(0, T0 + 4000 * MS, 0);
	assert_int_equal(ep_order_drain_to(world->order, T0), T0);
	assert_seen(world, "0 1");
	put_mapping(0, T0 + 1, 2);
	ep_order_drain_to(world->order, T0 + 1);
	assert_int_equal(stats(world).late, 0); /* the clock goes on from where it was */
}

ORDER_TEST(late_ones_are_delivered_and_counted, .n_cpus = 2)
{
	put_event(world, EP_EVENT_TRACE, T0 + 100, 0);
	ep_order_drain_to(world->order, T0 + 200);
	put_mapping(0, T0 + 70, 2);
	put_mapping(1, T0 + 60, 1);
	put_event(world, EP_EVENT_TRACE, T0 + 150, 3);
	assert_drains(world, T0 + 300, "0 1 2 3");
	assert_int_equal(world->seen[1].time_ns, T0 + 60);
	assert_int_equal(stats(world).late, 2);
	assert_int_equal(stats(world).late_max_ns, 40);
}

ORDER_TEST(nothing_is_allocated_once_all_rings_were_seen, .n_cpus = 3)
{
	ep_order_drain_to(world->order, T0);
	heap_arm(0);
	for (uint32_t round = 1; round < 50; round++) {
		for (uint32_t id = 0; id < 100; id++) {
			put_mapping(id % 3, T0 + round * 100 + rnd(world, 150), id);
			put_event(world, EP_EVENT_KNOWN, T0 + round * 100 + rnd(world, 150), id);
		}
		ep_order_drain_to(world->order, T0 + round * 100 + 100);
	}
	assert_true(stats(world).waited > 1000);
	(void)heap_disarm();
	assert_int_equal(heap_wrapped.calls, 0);
}

/* --- the ring -------------------------------------------------------------------------------- */

ORDER_TEST(records_wrap_around, .n_cpus = 1, .sideband_bytes = 8192)
{
	uint32_t id = 0;

	for (int round = 0; round < 300; round++) {
		size_t before = world->n_seen = 0;
		uint32_t first = id;

		for (int i = 0; i < 3; i++, id++) {
			uint32_t bytes = 16 + (uint32_t)rnd(world, 20000);

			assert_non_null(fake_ring_put_event(&world->ring, EP_EVENT_TRACE, T0 + id,
							    id, bytes));
		}
		for (int i = 0; i < 20; i++, id++)
			put_mapping(0, T0 + id, id);
		ep_order_drain_to(world->order, T0 + id);
		assert_int_equal(world->n_seen, id - first);
		assert_ascending(world, before);
	}
	assert_int_equal(world->n_broken, 0);
	assert_true(world->ring.producer > 100 * RING_BYTES);
}

ORDER_TEST(a_busy_record_stops_the_ring, .n_cpus = 1)
{
	uint32_t *busy;

	put_event(world, EP_EVENT_TRACE, T0 + 1 * MS, 0);
	busy = fake_ring_put_event(&world->ring, EP_EVENT_FORK, T0 + 2 * MS, 1, 32);
	*busy |= BPF_RINGBUF_BUSY_BIT;
	put_event(world, EP_EVENT_TRACE, T0 + 4 * MS, 3);
	put_mapping(0, T0 + 3 * MS, 2);
	put_mapping(0, T0, 4);
	/* What is known ends at the last one that was written. */
	assert_int_equal(ep_order_drain_to(world->order, T0 + 5 * MS), T0 + 1 * MS);
	assert_seen(world, "4 0");
	assert_int_equal(ep_order_waiting(world->order), 1);
	*busy &= ~BPF_RINGBUF_BUSY_BIT;
	assert_int_equal(ep_order_drain_to(world->order, T0 + 6 * MS), T0 + 6 * MS);
	assert_seen(world, "4 0 1 2 3");
	assert_int_equal(stats(world).late, 0);
}

ORDER_TEST(nobody_waits_long_for_a_busy_record, .n_cpus = 1)
{
	uint32_t *busy = fake_ring_put_event(&world->ring, EP_EVENT_FORK, T0, 1, 32);

	*busy |= BPF_RINGBUF_BUSY_BIT;
	put_mapping(0, T0 + 5 * MS, 2);
	assert_int_equal(ep_order_drain_to(world->order, T0 + 14 * MS), T0 + 4 * MS);
	assert_seen(world, "");
	assert_int_equal(ep_order_drain_to(world->order, T0 + 15 * MS), T0 + 5 * MS);
	assert_seen(world, "2");
	*busy &= ~BPF_RINGBUF_BUSY_BIT;
	assert_drains(world, T0 + 16 * MS, "2 1");
	assert_int_equal(stats(world).late_max_ns, 5 * MS);
}

ORDER_TEST(discarded_and_short_records_are_skipped, .n_cpus = 0)
{
	uint32_t *discarded;

	put_event(world, EP_EVENT_TRACE, T0, 1);
	discarded = fake_ring_put_event(&world->ring, EP_EVENT_TRACE, T0, 2, 999);
	*discarded |= BPF_RINGBUF_DISCARD_BIT;
	assert_non_null(fake_ring_put(&world->ring, "short", 5));
	assert_non_null(fake_ring_put(&world->ring, "", 0));
	put_event(world, EP_EVENT_TRACE, T0, 3);
	assert_drains(world, T0, "1 3");
	assert_int_equal(ep_ring_used_bytes(world->ring.reader), 0);
}

EP_TEST(a_length_that_cannot_be_true_ends_the_ring)
{
	static const uint32_t lengths[] = {60, 200, 65536, 0x3fffffff};

	for (size_t i = 0; i < EP_LEN(lengths); i++) {
		struct world *world = new_world((struct setup){.n_cpus = 1});

		put_event(world, EP_EVENT_TRACE, T0, 1);
		*fake_ring_put_event(&world->ring, EP_EVENT_TRACE, T0, 2, 48) = lengths[i];
		put_mapping(0, T0 + 1, 3);
		assert_drains(world, T0 + 1, "L1 1 3");
		put_event(world, EP_EVENT_TRACE, T0 + 2, 4);
		assert_drains(world, T0 + 2, "L1 1 3 4");
		ep_test_release(NULL);
	}
}

ORDER_TEST(a_position_that_cannot_be_true_ends_the_ring, .n_cpus = 0)
{
	world->ring.producer += RING_BYTES + 8;
	ep_order_drain_to(world->order, T0);
	assert_drains(world, T0, "L1");
	world->ring.consumer = world->ring.producer;
	put_event(world, EP_EVENT_TRACE, T0, 1);
	assert_drains(world, T0, "L1 1");
}

EP_TEST(a_spoilt_side_band_record_ends_its_ring)
{
	static const uint16_t sizes[] = {0, 7, 12, 120, 65528};

	for (size_t i = 0; i < EP_LEN(sizes); i++) {
		struct world *world = new_world((struct setup){.n_cpus = 2});
		struct perf_event_header header = {.type = PERF_RECORD_MMAP2, .size = sizes[i]};

		put_mapping(0, T0, 1);
		fake_sideband_write(&kernel.rings[0], &header, sizeof(header));
		fake_sideband_write(&kernel.rings[0], "0123456", 8);
		put_mapping(1, T0, 2);
		assert_drains(world, T0, "L1 1 2");
		ep_test_release(NULL);
	}
}

/* --- a full index ---------------------------------------------------------------------------- */

EP_TEST(a_full_index_keeps_the_order)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct world *world = new_world((struct setup){.n_cpus = 3, .max_records = 8});
		uint32_t n = 0;

		world->rng = seed << 32;
		for (; n < 600; n++) {
			/* Rings take turns in speaking much. */
			uint64_t source = rnd(world, 3) ? n / 100 % 4 : rnd(world, 4);

			if (source == 3)
				put_event(world, EP_EVENT_KNOWN, T0 + n, n);
			else
				put_mapping((uint32_t)source, T0 + n, n);
		}
		ep_order_drain_to(world->order, T0 + n);
		assert_int_equal(world->n_seen, n);
		assert_ascending(world, 0);
		assert_true(stats(world).rounds > 10);
		assert_int_equal(stats(world).late, 0);
		ep_test_release(NULL);
	}
}

ORDER_TEST(a_full_index_of_younger_ones_goes_on, .n_cpus = 3, .max_records = 8)
{
	for (uint32_t id = 0; id < 400; id++) {
		put_mapping(id % 3, T0 + 1 + id, id);
		put_event(world, EP_EVENT_KNOWN, T0 + 1 + id, 1000 + id);
	}
	ep_order_drain_to(world->order, T0);
	assert_true(ep_order_waiting(world->order) <= 8);
	assert_true(world->n_seen >= 792);
	ep_order_flush(world->order);
	assert_int_equal(world->n_seen, 800);
}

EP_TEST(more_rings_than_room)
{
	struct setup setup = {.n_cpus = 20, .max_records = 4, .sideband_bytes = 8192};
	struct world *world = new_world(setup);

	for (uint32_t id = 0; id < 400; id++)
		put_mapping(id % 20, T0 + id, id);
	ep_order_drain_to(world->order, T0 + 400);
	assert_int_equal(world->n_seen, 400);
	assert_ascending(world, 0);
}

/* --- losses ---------------------------------------------------------------------------------- */

/* Mappings until two have no room. Returns the last id that had some. */
static uint32_t fill_sideband(struct fake_sideband *ring, uint64_t time_ns)
{
	uint32_t id = 0;

	while (fake_sideband_put_mapping(ring, time_ns + id, id))
		id++;
	assert_false(fake_sideband_put_mapping(ring, time_ns + id, id));
	return id - 1;
}

static uint64_t lost_of(const struct world *world)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < world->n_seen; i++)
		lost += world->seen[i].type == UINT32_MAX ? world->seen[i].bytes : 0;
	return lost;
}

ORDER_TEST(the_counter_tells_a_loss_at_once, .n_cpus = 2, .counts = true)
{
	put_mapping(1, T0, 7);
	fill_sideband(&kernel.rings[0], T0);
	ep_order_drain_to(world->order, T0 + 10 * MS);
	assert_int_equal(world->seen[0].type, UINT32_MAX); /* before all others */
	assert_int_equal(world->seen[0].bytes, 2);
	/* The record that tells of it comes too, in the ring that was replaced. */
	put_mapping(0, T0 + 11 * MS, 8);
	ep_order_drain_to(world->order, T0 + 12 * MS);
	assert_int_equal(lost_of(world), 2);
	assert_int_equal(stats(world).lost, 2);
	/* Who is not full is not asked. */
	assert_int_equal(kernel.rings[1].n_counted, 0);
}

ORDER_TEST(a_lost_record_tells_without_a_counter, .n_cpus = 1)
{
	struct fake_lost lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(lost)},
				 .lost = 5};

	put_mapping(0, T0, 1);
	fake_sideband_write(&kernel.rings[0], &lost, sizeof(lost));
	put_mapping(0, T0 + 1, 2);
	assert_drains(world, T0 + 1, "L5 1 2");
}

ORDER_TEST(a_lost_record_asks_the_counter, .n_cpus = 1, .counts = true)
{
	kernel.rings[0].untold = 3;
	put_mapping(0, T0, 1);
	kernel.rings[0].untold = 1;
	kernel.rings[0].lost = 4;
	put_mapping(0, T0, 2);
	assert_drains(world, T0, "L4 1 2");
	assert_int_equal(kernel.rings[0].n_counted, 1); /* once in a drain */
}

ORDER_TEST(a_nearly_full_ring_is_suspected, .n_cpus = 1)
{
	uint32_t id = 0;

	/* Room for the largest record: no suspicion. */
	while (kernel.rings[0].page.data_head - kernel.rings[0].page.data_tail + 112 + 4300 <
	       EP_SIDEBAND_MIN_BYTES)
		put_mapping(0, T0, id++);
	ep_order_drain_to(world->order, T0);
	assert_int_equal(lost_of(world), 0);
	while (kernel.rings[0].page.data_head - kernel.rings[0].page.data_tail + 4208 <=
	       EP_SIDEBAND_MIN_BYTES)
		put_mapping(0, T0, id++);
	ep_order_drain_to(world->order, T0);
	assert_int_equal(lost_of(world), 1);
}

/* Of two pages, which the kernel gives where memory may not be locked, half is nearly full. */
EP_TEST(the_smallest_ring_is_suspected_too)
{
	struct fake_sideband ring;

	fake_sideband_init(&ring, 0, 8192, 0, false);
	while (ring.page.data_head + 4208 <= ring.bytes)
		assert_true(fake_sideband_put_mapping(&ring, T0, 1));
	assert_true(ring.page.data_head <= ring.bytes / 2);
	ep_sideband_begin(ring.reader);
	assert_int_equal(ep_sideband_take_lost(ring.reader), 1);
	ep_sideband_close(ring.reader);
	free(ring.data);
}

/* Fills the ring from within a drain: what the kernel does while we are slow. */
static void fill_on_first_event(void *arg, const struct ep_event *event, size_t bytes)
{
	on_event(arg, event, bytes);
	if (event->cpu == 77)
		(void)fill_sideband(&kernel.rings[0], T0 + 1);
}

EP_TEST(a_loss_during_a_drain_is_told_by_the_next)
{
	static const struct ep_order_ops slow_ops = {fill_on_first_event, on_mapping, on_lost, on_ksymbol, NULL, NULL};

	for (int counts = 0; counts < 2; counts++) {
		struct world *world = new_world((struct setup){.n_cpus = 1, .counts = counts});
		struct ep_order_options options = {.ring = world->ring.reader,
						   .sidebands = world->set,
						   .ops = &slow_ops,
						   .arg = world};

		ep_order_free(world->order);
		assert_int_equal(ep_order_new(&options, &world->order), 0);
		/* 60 % wait, so that behind the drain the ring is less than half full. */
		for (uint32_t id = 0; id < 350; id++)
			put_mapping(0, T0, id);
		put_event(world, EP_EVENT_TRACE, T0, 77);
		ep_order_drain_to(world->order, T0);
		assert_int_equal(lost_of(world), 0);
		assert_true(ep_sideband_used_bytes(kernel.rings[0].reader) <
			    EP_SIDEBAND_MIN_BYTES / 2);
		world->n_seen = 0;
		ep_order_drain_to(world->order, T0 + MS);
		assert_int_equal(world->seen[0].type, UINT32_MAX);
		assert_int_equal(lost_of(world), counts ? 2 : 1);
		ep_test_release(NULL);
	}
}

ORDER_TEST(a_ring_that_lost_is_replaced, .n_cpus = 2, .counts = true)
{
	size_t bytes = EP_SIDEBAND_MIN_BYTES;
	uint64_t time_ns = T0;

	for (size_t current = 0; bytes <= EP_SIDEBAND_MAX_BYTES; time_ns += MS) {
		world->n_seen = 0;
		fill_sideband(&kernel.rings[current], time_ns);
		ep_order_drain_to(world->order, time_ns + MS);
		assert_int_equal(lost_of(world), 2);
		if (bytes == EP_SIDEBAND_MAX_BYTES)
			break;
		/* Both are read: what came before the old one stopped is not lost. */
		assert_int_equal(ep_sideband_set_len(world->set), 3);
		put_mapping((uint32_t)current, time_ns + MS + 1, 1);
		current = kernel.n - 1;
		bytes *= 2;
		assert_int_equal(kernel.rings[current].bytes, bytes);
		put_mapping((uint32_t)current, time_ns + MS + 2, 2);
		world->n_seen = 0;
		assert_drains(world, time_ns + MS + 2, "1 2");
		assert_int_equal(ep_sideband_set_len(world->set), 2);
	}
	assert_int_equal(ep_sideband_set_len(world->set), 2);
	assert_int_equal(kernel.n, 2 + 4); /* 128, 256, 512 KiB, 1 MiB */
}

ORDER_TEST(a_ring_stays_when_there_is_no_larger_one, .n_cpus = 1, .counts = true)
{
	kernel.refuse = -EPERM;
	fill_sideband(&kernel.rings[0], T0);
	ep_order_drain_to(world->order, T0 + MS);
	assert_int_equal(ep_sideband_set_len(world->set), 1);
	kernel.refuse = 0;
	put_mapping(0, T0 + MS, 9999);
	world->n_seen = 0;
	assert_drains(world, T0 + MS, "9999");
	assert_int_equal(ep_sideband_set_len(world->set), 1);
}

EP_TEST(a_first_ring_takes_what_it_gets)
{
	static const struct {
		size_t max_bytes;
		int result;
	} rows[] = {
		{EP_SIDEBAND_MIN_BYTES, 0},
		{EP_SIDEBAND_MIN_BYTES / 2 + 1, 0},
		{EP_SIDEBAND_LEAST_BYTES, 0},
		{EP_SIDEBAND_LEAST_BYTES - 1, -EPERM},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct world *world = new_world((struct setup){.n_cpus = 1});
		size_t n = kernel.n, bytes = EP_SIDEBAND_MIN_BYTES;

		while (bytes > rows[i].max_bytes)
			bytes /= 2;
		kernel.max_bytes = rows[i].max_bytes;
		assert_int_equal(ep_sideband_set_add(world->set, 5), rows[i].result);
		kernel.max_bytes = 0;
		assert_int_equal(kernel.n, n + (rows[i].result == 0));
		if (rows[i].result == 0)
			assert_int_equal(kernel.rings[n].bytes, bytes);
		ep_test_release(NULL);
	}
}

ORDER_TEST(a_cpu_that_goes_leaves_its_records, .n_cpus = 2)
{
	put_mapping(1, T0, 1);
	ep_sideband_set_remove(world->set, 1);
	assert_int_equal(ep_sideband_set_add(world->set, 1), 0);
	put_mapping(2, T0 + 1, 2);
	assert_int_equal(ep_sideband_set_len(world->set), 3);
	assert_drains(world, T0 + 1, "1 2");
	assert_int_equal(ep_sideband_set_len(world->set), 2);
}
