/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that write more mapping records than anybody can follow, and the others beside them. */
#include "core/bpf/floods.h"
#include "core/bpf/order.h"
#include "core/base/clock.h"
#include "tests/kit/test.h"
#include "tests/unit/bpf_rings.h"

#define T0 EP_NS_PER_SEC
#define MS EP_NS_PER_MS

enum { FLOODER = 7, NEIGHBOUR = 8, OTHER = 9, PIDS = 64 };

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

static struct {
	struct fake_sideband rings[8];
	size_t n;
} kernel;

static int open_fake(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband)
{
	struct fake_sideband *ring = &kernel.rings[kernel.n++];

	assert_true(kernel.n <= EP_LEN(kernel.rings));
	fake_sideband_init(ring, cpu, bytes, 0, true);
	*ret_sideband = ring->reader;
	return 0;
}

struct world {
	struct fake_ring ring;
	struct ep_sideband_set *set;
	struct ep_order *order;
	uint64_t events, mappings[PIDS], lost, crowded;
	uint32_t flooded[PIDS];
	uint64_t mappings_at_flood; /* of that process, handed over before it was first told of */
};

static void on_event(void *arg, const struct ep_event *event, size_t bytes)
{
	struct world *w = arg;

	(void)event, (void)bytes;
	w->events++;
}

static void on_mapping(void *arg, const struct ep_mapping_event *event)
{
	struct world *w = arg;

	assert_true(event->pid >= FLOODER && event->pid < PIDS);
	w->mappings[event->pid]++;
}

static void on_lost(void *arg, uint64_t records)
{
	struct world *w = arg;

	w->lost += records;
}

static void on_flooded(void *arg, uint32_t pid, uint64_t now_ns)
{
	struct world *w = arg;

	assert_true(pid >= FLOODER && pid < PIDS && now_ns >= T0);
	if (w->flooded[pid]++ == 0)
		w->mappings_at_flood = w->mappings[pid];
}

static void on_crowded(void *arg, uint64_t records)
{
	struct world *w = arg;

	w->crowded += records;
}

static void free_world(void *made)
{
	ep_autofree struct world *w = made;

	ep_order_free(w->order);
	ep_sideband_set_free(w->set);
	fake_ring_fini(&w->ring);
	for (size_t i = 0; i < kernel.n; i++)
		free(kernel.rings[i].data);
}

static struct world *new_world(void)
{
	static const struct ep_order_ops ops = {on_event, on_mapping, on_lost, NULL, on_flooded, on_crowded};
	struct world *w = calloc(1, sizeof(*w));
	struct ep_order_options options = {.ops = &ops, .arg = w};

	memset(&kernel, 0, sizeof(kernel));
	fake_ring_init(&w->ring, 65536, 0);
	assert_int_equal(ep_sideband_set_new(open_fake, &w->set), 0);
	assert_int_equal(ep_sideband_set_add(w->set, 0), 0);
	options.ring = w->ring.reader;
	options.sidebands = w->set;
	assert_int_equal(ep_order_new(&options, &w->order), 0);
	ep_test_owns(w, free_world);
	return w;
}

#define FLOOD_TEST(name) EP_TEST_OF(name, struct world *w, new_world())

/* Returns what the ring had room for. */
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
	assert_int_equal(w->lost, 0);
	assert_true(w->crowded > 0);
	assert_int_equal(w->flooded[FLOODER], 1);
	assert_int_equal(w->mappings_at_flood, 0); /* before what is younger */
	assert_int_equal(w->flooded[NEIGHBOUR] + w->flooded[OTHER], 0);
	assert_int_equal(w->mappings[NEIGHBOUR], 5);
	assert_int_equal(w->mappings[FLOODER], written);
}

FLOOD_TEST(a_few_may_fill_a_ring_together)
{
	uint32_t last = 1;

	for (uint32_t i = 0; last; i++)
		last = put(FLOODER + i % 3, 1);
	/* Each of the three has many: it is they who filled it. */
	ep_order_drain_to(w->order, T0 + MS);
	assert_int_equal(w->lost, 0);
	assert_int_equal(w->flooded[FLOODER] + w->flooded[NEIGHBOUR] + w->flooded[OTHER], 3);
}

FLOOD_TEST(what_many_lost_is_anybodys)
{
	uint32_t last = 1;

	for (uint32_t i = 0; last; i++)
		last = put(FLOODER + i % (PIDS - FLOODER), 1);
	ep_order_drain_to(w->order, T0 + MS);
	assert_int_equal(w->lost, 1);
	assert_int_equal(w->crowded, 0);
	for (size_t pid = 0; pid < PIDS; pid++)
		assert_int_equal(w->flooded[pid], 0);
}

FLOOD_TEST(what_cannot_be_followed_is_skipped_and_said)
{
	uint64_t time_ns = T0 + MS, handed;

	for (uint32_t written = 0; written < 2 * EP_FLOODS_BURST; time_ns += 1) {
		written += put(FLOODER, 500); /* the ring has room */
		put(NEIGHBOUR, 1);
		ep_order_drain_to(w->order, time_ns);
	}
	assert_int_equal(w->lost + w->crowded, 0);
	assert_true(w->flooded[FLOODER] > 0);
	assert_int_equal(w->flooded[NEIGHBOUR], 0);
	handed = w->mappings[FLOODER];
	assert_in_range(handed, EP_FLOODS_BURST, EP_FLOODS_BURST + 100);
	assert_true(w->mappings[NEIGHBOUR] >= 60);
	/* When it is over it is as before. */
	put(FLOODER, 100);
	ep_order_drain_to(w->order, time_ns + EP_NS_PER_SEC);
	assert_int_equal(w->mappings[FLOODER], handed + 100);
}
