/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that write more mapping records than anybody can follow, and the others beside them. */
#include "core/base/clock.h"
#include "core/bpf/floods.h"
#include "tests/unit/order_world.h"

enum { FLOODER = 7, NEIGHBOUR = 8, OTHER = 9, MANY = 57, PIDS = 1024 };

/* --- who writes how many --------------------------------------------------------------------- */

static uint32_t take(struct ep_floods *floods, uint32_t pid, uint32_t n)
{
	uint32_t taken = 0;
	bool is_one_of_many;

	while (n-- > 0)
		taken += ep_floods_take(floods, pid, &is_one_of_many);
	return taken;
}

struct told {
	uint32_t pids[EP_FLOODS_SETS * EP_FLOODS_WAYS];
	size_t n;
};

static void tell(void *arg, uint32_t pid)
{
	struct told *told = arg;

	told->pids[told->n++] = pid;
}

static struct told told_of(struct ep_floods *floods, bool many)
{
	struct told told = {.n = 0};

	ep_floods_each(floods, many, tell, &told);
	return told;
}

EP_TEST(a_process_has_so_many_at_once_and_so_many_a_second)
{
	struct ep_floods floods = {.drain = 0};

	ep_floods_begin(&floods, T0);
	assert_int_equal(take(&floods, FLOODER, 2 * EP_FLOODS_BURST), EP_FLOODS_BURST);
	assert_int_equal(take(&floods, NEIGHBOUR, 100), 100);
	assert_int_equal(told_of(&floods, false).n, 1);
	assert_int_equal(told_of(&floods, false).n, 0); /* once */
	ep_floods_begin(&floods, T0 + EP_NS_PER_SEC / 4);
	assert_int_equal(take(&floods, FLOODER, 2 * EP_FLOODS_BURST), EP_FLOODS_PER_SECOND / 4);
	assert_int_equal(told_of(&floods, false).pids[0], FLOODER);
	ep_floods_begin(&floods, T0 + 100 * EP_NS_PER_SEC);
	assert_int_equal(take(&floods, FLOODER, 2 * EP_FLOODS_BURST), EP_FLOODS_BURST);
}

EP_TEST(those_with_many_records_are_told_of_where_some_were_lost)
{
	struct ep_floods floods = {.drain = 0};
	struct told told;

	ep_floods_begin(&floods, T0);
	take(&floods, FLOODER, EP_FLOODS_MANY + 1);
	take(&floods, NEIGHBOUR, EP_FLOODS_MANY);
	assert_int_equal(told_of(&floods, false).n, 0);
	told = told_of(&floods, true);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.pids[0], FLOODER);
	ep_floods_begin(&floods, T0 + 1);
	take(&floods, FLOODER, 1);
	assert_int_equal(told_of(&floods, true).n, 1); /* the loss may be one of the drain before */
	ep_floods_begin(&floods, T0 + 2);
	take(&floods, FLOODER, 1);
	assert_int_equal(told_of(&floods, true).n, 0);
}

/* A thousand processes do not have a thousand times as much, and none is forgotten silently. */
EP_TEST(a_flood_of_many_is_bounded)
{
	struct ep_floods floods = {.drain = 0};
	uint64_t taken = 0;

	ep_floods_begin(&floods, T0);
	for (uint32_t pid = 1; pid <= 4000; pid++)
		taken += take(&floods, pid, EP_FLOODS_BURST + 1);
	assert_true(taken <= (uint64_t)EP_FLOODS_SETS * EP_FLOODS_WAYS * EP_FLOODS_BURST);
	assert_true(floods.forgotten > 0);
	assert_true(told_of(&floods, false).n > 0);
}

EP_TEST(the_last_drain_gives_nothing)
{
	struct ep_floods floods = {.drain = 0};

	ep_floods_begin(&floods, T0);
	take(&floods, FLOODER, EP_FLOODS_BURST);
	ep_floods_begin(&floods, UINT64_MAX);
	assert_int_equal(take(&floods, FLOODER, 10), 0);
}

/* --- in the order of records ----------------------------------------------------------------- */

/* What was handed over and reported, of whom. */
static struct flood {
	uint64_t mappings[PIDS], lost, crowded;
	uint32_t flooded[PIDS];
	uint64_t mappings_at_flood; /* of that process, handed over before it was first reported */
} flood;

static void count_mapping(void *arg, const struct ep_mapping_event *event)
{
	assert_true(event->pid >= FLOODER && event->pid < PIDS);
	flood.mappings[event->pid]++;
}

static void count_lost(void *arg, uint64_t records)
{
	flood.lost += records;
}

static void on_flooded(void *arg, uint32_t pid, uint64_t now_ns)
{
	assert_true(pid >= FLOODER && pid < PIDS && now_ns >= T0);
	if (flood.flooded[pid]++ == 0)
		flood.mappings_at_flood = flood.mappings[pid];
}

static void count_crowded(void *arg, uint64_t records)
{
	flood.crowded += records;
}

static struct world *new_flood(void)
{
	static const struct ep_order_ops flood_ops = {
		on_event, count_mapping, count_lost, NULL, on_flooded, count_crowded};

	flood = (struct flood){.lost = 0};
	return new_world((struct setup){.n_cpus = 1, .counts = true, .ops = &flood_ops});
}

#define FLOOD_TEST(name) EP_TEST_OF(name, struct world *w, new_flood())

/* Returns what the ring had space for. */
static uint32_t put(uint32_t pid, uint32_t n)
{
	uint32_t written = 0;

	for (uint32_t i = 0; i < n; i++)
		written += fake_sideband_put_mapping_of(&kernel.rings[kernel.n - 1], T0, i, pid);
	return written;
}

FLOOD_TEST(who_fills_the_ring_is_doubted_and_no_other)
{
	uint32_t written;

	put(NEIGHBOUR, 5);
	put(OTHER, 60);
	written = put(FLOODER, 2000);
	assert_true(written < 2000);
	put(NEIGHBOUR, 5); /* lost */
	ep_order_drain_to(w->order, T0 + MS);
	assert_int_equal(flood.lost, 0);
	assert_true(flood.crowded > 0);
	assert_int_equal(flood.flooded[FLOODER], 1);
	assert_int_equal(flood.mappings_at_flood, 0); /* before what is younger */
	assert_int_equal(flood.flooded[NEIGHBOUR] + flood.flooded[OTHER], 0);
	assert_int_equal(flood.mappings[NEIGHBOUR], 5);
	assert_int_equal(flood.mappings[FLOODER], written);
}

FLOOD_TEST(a_few_may_fill_a_ring_together)
{
	uint32_t last = 1;

	for (uint32_t i = 0; last; i++)
		last = put(FLOODER + i % 3, 1);
	/* Each of the three has many: it is they who filled it. */
	ep_order_drain_to(w->order, T0 + MS);
	assert_int_equal(flood.lost, 0);
	assert_int_equal(flood.flooded[FLOODER] + flood.flooded[NEIGHBOUR] + flood.flooded[OTHER], 3);
}

FLOOD_TEST(what_many_lost_is_anybodys)
{
	uint32_t last = 1;

	for (uint32_t i = 0; last; i++)
		last = put(FLOODER + i % MANY, 1);
	ep_order_drain_to(w->order, T0 + MS);
	assert_int_equal(flood.lost, 1);
	assert_int_equal(flood.crowded, 0);
	for (size_t pid = 0; pid < PIDS; pid++)
		assert_int_equal(flood.flooded[pid], 0);
}

FLOOD_TEST(what_cannot_be_followed_is_skipped_and_said)
{
	uint64_t time_ns = T0 + MS, handed;

	for (uint32_t written = 0; written < 2 * EP_FLOODS_BURST; time_ns += 1) {
		written += put(FLOODER, 500); /* the ring has space */
		put(NEIGHBOUR, 1);
		ep_order_drain_to(w->order, time_ns);
	}
	assert_int_equal(flood.lost + flood.crowded, 0);
	assert_true(flood.flooded[FLOODER] > 0);
	assert_int_equal(flood.flooded[NEIGHBOUR], 0);
	handed = flood.mappings[FLOODER];
	assert_in_range(handed, EP_FLOODS_BURST, EP_FLOODS_BURST + 100);
	assert_true(flood.mappings[NEIGHBOUR] >= 60);
	/* When it is over it is as before. */
	put(FLOODER, 100);
	ep_order_drain_to(w->order, time_ns + EP_NS_PER_SEC);
	assert_int_equal(flood.mappings[FLOODER], handed + 100);
}

/* One more than can be distinguished, of whom the others have nothing left. */
FLOOD_TEST(what_was_skipped_of_one_that_is_forgotten_is_lost)
{
	uint32_t pids[EP_FLOODS_WAYS + 1], n = 0;

	for (uint32_t pid = FLOODER; n < EP_LEN(pids); pid++) {
		if (ep_mix64(pid) % EP_FLOODS_SETS == ep_mix64(FLOODER) % EP_FLOODS_SETS)
			pids[n++] = pid;
	}
	for (uint32_t i = 0; i < EP_FLOODS_WAYS; i++) {
		for (uint32_t written = 0; written <= EP_FLOODS_BURST;) {
			written += put(pids[i], 500);
			ep_order_drain_to(w->order, T0 + MS);
		}
	}
	assert_int_equal(flood.lost, 0);
	for (uint32_t i = 0; i < n; i++)
		put(pids[i], 1);
	ep_order_drain_to(w->order, T0 + MS);
	assert_int_equal(flood.lost, 1);
}
