/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that the kernel lost, as they are reported between those that came; rings that are
 * replaced.
 */
#include "tests/unit/order_world.h"

/* Mappings until two have no space. Returns the last id that had some. */
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

	/* Space for the largest record: no suspicion. */
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
		/* 60 % wait, so that after the drain the ring is less than half full. */
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
