/* SPDX-License-Identifier: Apache-2.0 */
/* What a session itself decides: what is counted, when, in which interval; of parts that are made
 * up. */
#include "tests/kit/test.h"
#include "tests/unit/session_parts.h"

#define TICKS_PER_LOOK 10 /* for what was lost: five seconds */

static uv_loop_t loop;

/* What was taken of finished intervals. */
static struct {
	unsigned int n, without;
	uint64_t lost, due, cpu_ns;
	uint32_t samples;
} taken;

static void take(void *arg, const struct ep_batch *batch)
{
	taken.n++;
	taken.without += !batch;
	if (!batch)
		return;
	taken.samples = batch->n_samples;
	taken.lost = batch->lost_samples;
	taken.due = batch->due_samples;
	taken.cpu_ns = batch->agent_cpu_ns;
}

static void close_session(struct ep_session *session)
{
	ep_session_close(session, NULL, NULL);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
}
EP_TEST_RELEASES(close_session)

static void reset_parts(void)
{
	memset(&parts, 0, sizeof(parts));
	memset(&taken, 0, sizeof(taken));
	parts.now_ns = 1000 * EP_NS_PER_SEC;
	parts.n_cpus = 4;
	parts.names = true;
	parts.ring_bytes = 1 << 20;
	assert_int_equal(uv_loop_init(&loop), 0);
}

static struct ep_session *new_session(struct ep_session_options options)
{
	enum ep_session_stage stage;
	struct ep_session *session;

	options.loop = &loop;
	options.freq_hz = 100;
	options.memory_bytes = 64 << 20;
	assert_int_equal(ep_session_new(&options, &session, &stage), 0);
	ep_test_owns(session, close_session_made);
	return session;
}

/* With two stores, sampling. */
static struct ep_session *sampling_session(void)
{
	struct ep_session *session;

	reset_parts();
	session = new_session((struct ep_session_options){0});
	for (int i = 0; i < 2; i++)
		assert_int_equal(ep_session_add_store(session, 1 << 20), i);
	assert_int_equal(ep_session_start(session), 0);
	assert_int_equal(ep_session_sample(session), 0);
	return session;
}

#define SESSION_TEST(name) EP_TEST_OF(name, struct ep_session *session, sampling_session())

static void tick(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		parts.now_ns += EP_NS_PER_SEC / 2;
		parts.watch.tick(parts.watch.arg);
	}
}

static void seal(struct ep_session *session, uint32_t store, uint64_t wait_ns)
{
	assert_int_equal(ep_session_seal(session, store, wait_ns, take, NULL), 0);
}

static const struct event *native_sample(uint64_t hash)
{
	static struct event event;

	event_init(&event, EP_EVENT_TRACE, hash, 7);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1000 + hash);
	return &event;
}

SESSION_TEST(what_was_lost_is_counted_once_in_each_store)
{
	parts.counters[EP_COUNTER_RING_FULL] = 5;
	parts.missed.samples = 2;
	tick(3 * TICKS_PER_LOOK);
	for (uint32_t store = 0; store < 2; store++)
		assert_int_equal(ep_session_progress(session, store).lost, 7);
	parts.missed.samples = 3;
	tick(TICKS_PER_LOOK - 1);
	assert_int_equal(ep_session_progress(session, 0).lost,
			 7); /* it interrupts each CPU: not at each tick */
	tick(1);
	assert_int_equal(ep_session_progress(session, 0).lost, 8);
}

SESSION_TEST(what_is_due_is_so_in_each_store)
{
	parts.counters[EP_COUNTER_SAMPLES] = 30;
	parts.counters[EP_COUNTER_IDLE] = 10;
	assert_int_equal(ep_session_progress(session, 1).due, 40);
	assert_int_equal(ep_session_progress(session, 0).due, 40);
	parts.counters[EP_COUNTER_SAMPLES] = 31;
	assert_int_equal(ep_session_progress(session, 0).due, 41);
	assert_int_equal(ep_session_progress(session, 1).due, 41);
}

SESSION_TEST(an_interval_has_what_was_lost_until_its_end)
{
	parts.counters[EP_COUNTER_RING_FULL] = 5;
	parts.counters[EP_COUNTER_SAMPLES] = 20;
	seal(session, 0, 0);
	assert_int_equal(taken.lost, 5);
	assert_int_equal(taken.due, 20);
	parts.counters[EP_COUNTER_RING_FULL] = 6;
	seal(session, 0, 0);
	assert_int_equal(taken.lost, 1);
	seal(session, 1, 0); /* the other one goes on meanwhile */
	assert_int_equal(taken.lost, 6);
	assert_int_equal(taken.due, 20);
}

SESSION_TEST(an_interval_has_what_is_on_the_ring_and_ends_an_epoch)
{
	uint32_t epoch = parts.control.epoch;

	parts.on_ring = native_sample(1);
	seal(session, 0, 0);
	assert_int_equal(taken.samples, 1);
	assert_int_equal(parts.epoch_of_drain,
			 epoch + 1); /* a trace that is sent from here on has its frames */
	seal(session, 1, 0);
	assert_int_equal(taken.samples, 1);
	assert_int_equal(parts.control.epoch, epoch + 2);
}

SESSION_TEST(pending_samples_wait_until_sampling_ends)
{
	parts.pending = native_sample(1);
	seal(session, 0, 0);
	assert_int_equal(taken.samples, 0);
	ep_session_stop(session);
	seal(session, 0, 0);
	assert_int_equal(taken.samples, 1);
}

SESSION_TEST(the_end_of_sampling_takes_all_there_is)
{
	parts.young = native_sample(1);
	parts.counters[EP_COUNTER_RING_FULL] = 5;
	parts.missed.samples = 2;
	ep_session_stop(session);
	assert_string_equal(parts.order, "Sdf"); /* nothing comes after the last look */
	assert_int_equal(ep_session_progress(session, 0).lost, 7);
	assert_int_equal(ep_session_progress(session, 1).samples, 1);
	assert_true(parts.reader_wait_ns < EP_READER_LATE_NS);
	ep_session_stop(session); /* once */
	assert_string_equal(parts.order, "Sdf");
}

SESSION_TEST(an_interval_costs_what_was_spent_since_the_one_before)
{
	static const uint64_t spent_ms[] = {30, 50, 51};
	uint64_t before = 0;

	for (size_t i = 0; i < EP_LEN(spent_ms); i++) {
		parts.spent.agent_ns = spent_ms[i];
		seal(session, 0, 0);
		assert_int_equal(taken.cpu_ns, spent_ms[i] - before);
		before = spent_ms[i];
	}
}

SESSION_TEST(a_batch_waits_for_names_as_long_as_it_may)
{
	parts.names = false;
	parts.on_ring = native_sample(1);
	seal(session, 0, 3 * EP_NS_PER_SEC);
	tick(4);
	assert_int_equal(taken.n, 0);
	tick(2);
	assert_int_equal(taken.n, 1);
	assert_int_equal(taken.samples, 1);
}

SESSION_TEST(a_batch_is_given_away_when_its_names_are_there)
{
	parts.names = false;
	parts.on_ring = native_sample(1);
	seal(session, 0, UINT32_MAX);
	parts.names = true;
	parts.namer.progress(parts.namer.arg);
	assert_int_equal(taken.n, 1);
}

SESSION_TEST(a_batch_in_a_hurry_has_no_names)
{
	parts.names = false;
	parts.on_ring = native_sample(1);
	seal(session, 0, UINT32_MAX);
	seal(session, 1, UINT32_MAX);
	ep_session_hasten(session);
	assert_int_equal(taken.n, 2);
	assert_int_equal(taken.without, 0);
}

SESSION_TEST(a_session_that_is_closed_gives_no_batch)
{
	parts.names = false;
	parts.on_ring = native_sample(1);
	seal(session, 0, UINT32_MAX);
	ep_test_release(session);
	assert_int_equal(taken.n, 1);
	assert_int_equal(taken.without, 1);
}

SESSION_TEST(losses_of_records_are_looked_for_at_each_tick_and_the_rest_once_a_second)
{
	tick(5);
	assert_int_equal(parts.looked_for_lost, 5);
	assert_int_equal(parts.swept, 2);
}

EP_TEST(names_of_what_has_exited_outlive_the_longest_interval)
{
	static const uint64_t seconds[][2] = {{0, 150}, {60, 150}, {600, 600}};

	for (size_t i = 0; i < EP_LEN(seconds); i++) {
		reset_parts();
		(void)new_session(
			(struct ep_session_options){.keep_gone_ns = seconds[i][0] * EP_NS_PER_SEC});
		tick(2);
		assert_int_equal(parts.keep_gone_ns, seconds[i][1] * EP_NS_PER_SEC);
		ep_test_release(NULL);
	}
}

/* A sample has 25 KiB, and each CPU 100 of them a second. */
EP_TEST(the_longest_pause_fills_a_quarter_of_the_ring)
{
	uint64_t n_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t second_bytes = 100 * n_cpus * (24 + 1) * 1024;
	const struct {
		uint64_t ring_bytes, ms;
	} rows[] = {{second_bytes / 100, 10}, {second_bytes / 5, 50}, {8 * second_bytes, 200}};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		reset_parts();
		parts.ring_bytes = rows[i].ring_bytes;
		(void)new_session((struct ep_session_options){0});
		assert_in_range(parts.watch.max_rest_ms, rows[i].ms - 1, rows[i].ms);
		ep_test_release(NULL);
	}
}

/* As bpf/send.bpf.h decides it. */
SESSION_TEST(which_names_may_wait)
{
	static const struct {
		const char *label;
		uint64_t age_ns;
		uint32_t patient, keeping;
		bool may_wait;
	} rows[] = {
		{"young, not kept", EP_YOUNG_NS - 1, ~0u, 0, false},
		{"young, kept", EP_YOUNG_NS - 1, 0, 1u << 3, true},
		{"young, kept of another language", EP_YOUNG_NS - 1, 0, 1u << 2, false},
		{"no more young", EP_YOUNG_NS, ~0u, ~0u, false},
		{"old", EP_PATIENT_AGE_NS, 1u << 3, 0, true},
		{"old, of another language", EP_PATIENT_AGE_NS, 1u << 2, ~0u, false},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		parts.age_ns = rows[i].age_ns;
		parts.patient = rows[i].patient;
		parts.keeping = rows[i].keeping;
		tick(2);
		if (parts.namer.is_patient(session, 3, (struct ep_program){0}) != rows[i].may_wait)
			fail_msg("%s", rows[i].label);
	}
}

EP_TEST(languages_that_are_wanted)
{
	char one[] = "one", two[] = "two", *const names[] = {one, two};
	const struct ep_languages_options *languages = &parts.languages;

	reset_parts();
	(void)new_session((struct ep_session_options){.languages = names, .n_languages = 2});
	assert_true(languages->enabled(languages->arg, "two"));
	assert_false(languages->enabled(languages->arg, "three"));
	ep_test_release(NULL);
	reset_parts();
	(void)new_session((struct ep_session_options){0});
	assert_true(languages->enabled(languages->arg, "three"));
}

SESSION_TEST(it_is_settled_when_nothing_is_under_way)
{
	assert_true(ep_session_is_settled(session));
	parts.busy = 1;
	assert_false(ep_session_is_settled(session));
	parts.busy = 0;
	parts.attaching = 1;
	assert_false(ep_session_is_settled(session));
}

SESSION_TEST(it_has_a_few_stores)
{
	for (int i = 2; i < EP_SESSION_MAX_STORES; i++)
		assert_int_equal(ep_session_add_store(session, 1 << 20), i);
	assert_int_equal(ep_session_add_store(session, 1 << 20), -E2BIG);
}

EP_TEST(a_failure_says_at_which_stage)
{
	static const struct {
		int load, attach, open;
		enum ep_session_stage stage;
	} rows[] = {
		{.load = -ENOENT, .stage = EP_STAGE_BTF},
		{.load = -ENOTSUP, .stage = EP_STAGE_BTF},
		{.load = -EPERM, .stage = EP_STAGE_PROGRAMS},
		{.attach = -EPERM, .stage = EP_STAGE_ATTACH},
		{.open = -EPERM, .stage = EP_STAGE_PERF},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		const struct ep_session_options options = {.loop = &loop, .freq_hz = 100};
		enum ep_session_stage stage;
		struct ep_session *session;

		reset_parts();
		parts.load = rows[i].load;
		parts.attach = rows[i].attach;
		parts.open = rows[i].open;
		assert_true(ep_session_new(&options, &session, &stage) < 0);
		assert_int_equal(stage, rows[i].stage);
		assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
		assert_int_equal(uv_loop_close(&loop), 0);
	}
}

/* --- what was due and lost, of counters (coverage.c) --- */

SESSION_TEST(ticks_of_idle_cpus_and_missed_ones_are_due)
{
	struct ep_coverage *coverage = &session->coverage;

	parts.counters[EP_COUNTER_IDLE] = 80;
	assert_int_equal(ep_coverage_add_due(coverage, NULL), 0); /* before there is a sample */
	parts.counters[EP_COUNTER_SAMPLES] = 10;
	parts.missed = (struct ep_events_missed){.ticks = 10, .samples = 1};
	parts.counters[EP_COUNTER_RING_FULL] = 2;
	assert_int_equal(ep_coverage_add_due(coverage, NULL), 90); /* the missed ones were not looked for yet */
	assert_int_equal(ep_coverage_add_lost(coverage, NULL, NULL), 3);
	assert_int_equal(ep_coverage_add_due(coverage, NULL), 10);
	assert_int_equal(ep_coverage_add_lost(coverage, NULL, NULL), 0);
	assert_int_equal(ep_coverage_add_due(coverage, NULL), 0);
}

SESSION_TEST(a_filter_has_its_share_and_what_is_due_never_goes_back)
{
	struct ep_coverage *coverage = &session->coverage;

	parts.counters[EP_COUNTER_SAMPLES] = 10;
	parts.counters[EP_COUNTER_FILTERED] = 30;
	parts.counters[EP_COUNTER_IDLE] = 60;
	assert_int_equal(ep_coverage_add_due(coverage, NULL), 25);
	parts.counters[EP_COUNTER_FILTERED] = 90; /* its share is a tenth by now, of 160 */
	assert_int_equal(ep_coverage_add_due(coverage, NULL), 0);
	parts.counters[EP_COUNTER_SAMPLES] = 180;
	assert_int_equal(ep_coverage_add_due(coverage, NULL), 195); /* 220 of 330, since 180 of 270 are ours */
	assert_int_equal(coverage->due, 220);
}
