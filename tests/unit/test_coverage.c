/* SPDX-License-Identifier: Apache-2.0 */
/* How many samples were due and lost, of counters that are made up. */
#include "core/agent/coverage.h"
#include "bpf/shared.h"
#include "tests/kit/test.h"

static uint64_t counters[EP_COUNTER_COUNT];
static struct ep_events_missed missed;

uint64_t __wrap_ep_bpf_counter(const struct ep_bpf *bpf, enum ep_counter counter);
struct ep_events_missed __wrap_ep_events_count_missed(struct ep_events *events);

uint64_t __wrap_ep_bpf_counter(const struct ep_bpf *bpf, enum ep_counter counter)
{
	(void)bpf;
	return counters[counter];
}

struct ep_events_missed __wrap_ep_events_count_missed(struct ep_events *events)
{
	(void)events;
	return missed;
}

static int begin(void **state)
{
	(void)state;
	for (size_t i = 0; i < EP_LEN(counters); i++)
		counters[i] = 0;
	missed = (struct ep_events_missed){0};
	return 0;
}

EP_TEST_WITH(nothing_is_due_before_a_sample, begin, NULL)
{
	struct ep_coverage coverage = {0};

	counters[EP_COUNTER_IDLE] = 50;
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 0);
}

EP_TEST_WITH(ticks_of_idle_cpus_and_missed_ones_are_due, begin, NULL)
{
	struct ep_coverage coverage = {0};

	counters[EP_COUNTER_SAMPLES] = 10;
	counters[EP_COUNTER_IDLE] = 80;
	missed = (struct ep_events_missed){.ticks = 10, .samples = 1};
	counters[EP_COUNTER_RING_FULL] = 2;
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 90); /* the missed ones were not looked for yet */
	assert_int_equal(ep_coverage_add_lost(&coverage, NULL, NULL), 3);
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 10);
	assert_int_equal(ep_coverage_add_lost(&coverage, NULL, NULL), 0);
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 0);
}

EP_TEST_WITH(a_filter_has_its_share, begin, NULL)
{
	struct ep_coverage coverage = {0};

	counters[EP_COUNTER_SAMPLES] = 10;
	counters[EP_COUNTER_FILTERED] = 30;
	counters[EP_COUNTER_IDLE] = 60;
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 25);
}

EP_TEST_WITH(what_is_due_never_goes_back, begin, NULL)
{
	struct ep_coverage coverage = {0};

	counters[EP_COUNTER_SAMPLES] = 10;
	counters[EP_COUNTER_IDLE] = 90;
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 100);
	counters[EP_COUNTER_FILTERED] = 100; /* its share is a tenth or so by now, of 200 */
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 0);
	counters[EP_COUNTER_SAMPLES] = 200;
	assert_int_equal(ep_coverage_add_due(&coverage, NULL), 160); /* 260 of 390, since 200 of 300 are ours */
	assert_int_equal(coverage.due, 260);
}
