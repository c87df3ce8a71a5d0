/* SPDX-License-Identifier: Apache-2.0 */
/* A look at side-band records that does not drain them: whose mappings are there? */
#include "tests/kit/test.h"
#include "tests/unit/bpf_rings.h"

#define RING_BYTES 16384
#define MINE	   7u

struct world {
	struct fake_sideband ring;
	unsigned int n_asked;
};

static bool is_mine(void *arg, pid_t pid)
{
	struct world *world = arg;

	world->n_asked++;
	return pid == (pid_t)MINE;
}

static int start(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	/* Records lie across the end. */
	fake_sideband_init(&world->ring, 0, RING_BYTES, (1ull << 33) - 8, true);
	*state = world;
	return 0;
}

static int stop(void **state)
{
	ep_autofree struct world *world = *state;

	ep_sideband_close(world->ring.reader);
	free(world->ring.data);
	return 0;
}

static void map(struct world *world, uint32_t pid)
{
	struct fake_mmap2 record = {
		.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(record)},
		.pid = pid,
		.name = "/usr/bin/x",
	};

	assert_true(fake_sideband_put(&world->ring, &record, sizeof(record)));
}

static void tell_task(struct world *world, uint32_t type, uint32_t pid)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns, sample_time_ns;
	} record = {.header = {.type = type, .size = sizeof(record)}, .pid = pid};

	assert_true(fake_sideband_put(&world->ring, &record, sizeof(record)));
}

static bool peek(struct world *world)
{
	return ep_sideband_peek(world->ring.reader, is_mine, world);
}

static size_t count_records(struct world *world)
{
	const void *record;
	uint64_t time_ns;
	size_t bytes, n = 0;

	ep_sideband_begin(world->ring.reader);
	while (ep_sideband_next(world->ring.reader, &record, &bytes, &time_ns))
		n++;
	ep_sideband_release(world->ring.reader);
	return n;
}

#define PEEK_TEST(name) EP_TEST_ON(name, struct world *world, start, stop)

PEEK_TEST(a_mapping_of_mine_is_found_and_stays)
{
	assert_false(peek(world));
	map(world, 1);
	map(world, 2);
	assert_false(peek(world));
	map(world, MINE);
	assert_true(peek(world));
	assert_true(peek(world));
	assert_int_equal(count_records(world), 3);
	assert_false(peek(world));
}

PEEK_TEST(what_was_seen_is_not_asked_for_again)
{
	map(world, 1);
	map(world, 2);
	assert_false(peek(world));
	map(world, 3);
	assert_false(peek(world));
	assert_int_equal(world->n_asked, 3);
}

/* The kernel tells of them whoever asks for mappings. */
PEEK_TEST(births_and_deaths_are_nobodys)
{
	tell_task(world, PERF_RECORD_FORK, MINE);
	tell_task(world, PERF_RECORD_EXIT, MINE);
	assert_false(peek(world));
	assert_int_equal(world->n_asked, 0);
}

PEEK_TEST(what_is_dropped_makes_room)
{
	for (unsigned int round = 0; round < 100; round++) {
		for (unsigned int i = 0; i < 20; i++)
			map(world, 1);
		assert_false(peek(world));
		ep_sideband_drop_peeked(world->ring.reader);
		assert_int_equal(ep_sideband_used_bytes(world->ring.reader), 0);
	}
	assert_int_equal(count_records(world), 0);
	assert_int_equal(ep_sideband_take_lost(world->ring.reader), 0);
	map(world, MINE);
	assert_true(peek(world));
	assert_int_equal(count_records(world), 1);
}

/* It is drained before it is full: what comes is not only looked at then. */
PEEK_TEST(a_half_full_ring_cannot_wait)
{
	while (world->ring.page.data_head - world->ring.page.data_tail <= RING_BYTES / 2) {
		assert_false(peek(world));
		map(world, 1);
	}
	assert_true(peek(world));
}

PEEK_TEST(a_loss_is_told)
{
	struct fake_lost lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(lost)}, .lost = 3};

	map(world, 1);
	fake_sideband_write(&world->ring, &lost, sizeof(lost));
	assert_true(peek(world));
}

PEEK_TEST(code_of_the_kernel_cannot_wait)
{
	map(world, 1);
	assert_true(fake_sideband_put_ksymbol(&world->ring, 1, 2, true));
	assert_true(peek(world));
	assert_int_equal(count_records(world), 2);
	assert_false(peek(world));
}

PEEK_TEST(what_the_kernel_would_not_write_is_left_to_the_drain)
{
	struct perf_event_header header = {.type = PERF_RECORD_MMAP2, .size = 4000};

	fake_sideband_write(&world->ring, &header, sizeof(header));
	assert_true(peek(world));
	fake_sideband_write(&world->ring, &header, sizeof(header));
	assert_true(peek(world));
}
