/* SPDX-License-Identifier: Apache-2.0 */
/* Records of several rings in order of time, over rings in memory. */
#include "tests/unit/order_world.h"
#include "tests/kit/heap.h"

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

ORDER_TEST(what_has_no_time_is_not_late, .n_cpus = 1)
{
	put_event(world, EP_EVENT_TRACE, T0 + 100, 0);
	ep_order_drain_to(world->order, T0 + 200);
	put_event(world, EP_EVENT_TRACE, 0, 1);
	put_mapping(0, 0, 2);
	assert_drains(world, T0 + 300, "0 2 1");
	assert_int_equal(stats(world).records, 3);
	assert_int_equal(stats(world).late, 0);
	assert_int_equal(stats(world).late_max_ns, 0);
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

/* After its end a ring is there once more, but not all of it. */
EP_TEST(a_record_is_whole_at_the_end_of_the_ring_or_refused)
{
	static const struct {
		uint32_t bytes;
		int expected;
	} rows[] = {{3000, EP_RING_RECORD}, {4088 + 1000, EP_RING_RECORD}, {4096 + 1000, -EBADMSG}};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct fake_ring ring;
		struct ep_ring_memory memory = {.bytes = RING_BYTES, .tail_bytes = 4096};
		const void *record;
		size_t bytes;

		fake_ring_init(&ring, RING_BYTES, RING_BYTES - 1000);
		memory.consumer = &ring.consumer;
		memory.producer = &ring.producer;
		memory.data = ring.data;
		ep_ring_close(ring.reader);
		assert_int_equal(ep_ring_new(&memory, &ring.reader), 0);
		assert_non_null(fake_ring_put_event(&ring, EP_EVENT_TRACE, T0, 7, rows[i].bytes));
		ep_ring_begin(ring.reader);
		assert_int_equal(ep_ring_next(ring.reader, &record, &bytes), rows[i].expected);
		if (rows[i].expected == EP_RING_RECORD) {
			assert_int_equal(bytes, rows[i].bytes);
			assert_int_equal(((const uint8_t *)record)[bytes - 1], 7);
		}
		fake_ring_fini(&ring);
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
