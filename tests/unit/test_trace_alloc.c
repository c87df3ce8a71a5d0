/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace store and batches when memory runs out: each allocation of a run fails once, one by
 * one, and each time everything either works or says -ENOMEM, counts what it lost, and leaks
 * nothing.
 */
#include "core/trace/batch.h"
#include "tests/kit/heap.h"
#include "tests/kit/test.h"
#include "tests/unit/trace_events.h"

static void add_all(struct ep_store *store, uint64_t *added, uint64_t *refused)
{
	static struct event event;

	for (uint64_t i = 1; i <= 200; i++) {
		int r;

		event_init(&event, EP_EVENT_TRACE, i, (uint32_t)(i % 9) + 1);
		for (uint64_t f = 0; f < 20; f++)
			event_user(&event, EP_FRAME_NATIVE, 2 << EP_FRAME_SLOT_SHIFT, 5,
				   i * 7 + f * 16);
		for (uint64_t f = 0; f < 5; f++)
			event_user(&event, EP_FRAME_FIRST_DYNAMIC + 2, EP_FRAME_ENTRY, 0, i + f);
		r = event_add(store, &event);
		assert_true(r == 0 || r == -ENOMEM);
		*added += r == 0;
		*refused += r < 0;
	}
}

/* None without memory. */
static size_t make_lines(struct ep_lines *list, struct ep_frame_line lines[EP_FRAME_MAX_LINES])
{
	static const struct ep_frame_line inner = {
		.function = "f(int)", .system_name = "_Z1fi", .file = "file.cc", .line = 3};
	static const struct ep_frame_line outer = {.function = "g"};
	int r = ep_lines_init(list, 1);

	if (r == 0)
		r = ep_lines_add(list, &inner);
	if (r == 0)
		r = ep_lines_add(list, &outer);
	assert_true(r == 0 || r == -ENOMEM);
	if (r < 0)
		return 0;
	ep_lines_end(list);
	assert_int_equal(ep_lines_get(list, 0, lines), 2);
	return 2;
}

static void resolve_all(struct ep_frames *frames)
{
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	uint32_t id;
	ep_cleanup(ep_lines_fini) struct ep_lines list;
	size_t n_lines = make_lines(&list, lines);

	while ((id = ep_frames_take(frames)) != 0)
		(void)ep_frames_resolve(frames, id, lines, n_lines, NULL);
}

/* One run; the numbers must add up whatever failed. */
static int run(void *arg)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_batch_source source = {.period_hz = 20};
	uint64_t added = 0, refused = 0, count_sum = 0;
	struct ep_interval *interval = NULL;
	struct ep_batch *batch = NULL;
	struct ep_store *store = NULL;
	int r;

	r = ep_store_new(&limits, 0, &store);
	if (r < 0)
		return r;
	add_all(store, &added, &refused);
	resolve_all(ep_store_frames(store));
	r = ep_store_seal(store, 1, &interval);
	if (r == 0) {
		assert_int_equal(ep_interval_samples(interval), added);
		assert_int_equal(ep_interval_lost(interval), refused);
		r = ep_batch_build(interval, &source, &batch);
		for (uint32_t i = 0; r == 0 && i < batch->n_samples; i++)
			count_sum += batch->sample_count[i];
		assert_true(r == -ENOMEM || count_sum == added);
	}
	ep_batch_unref(batch);
	ep_interval_unref(interval);
	ep_store_free(store);
	return 0;
}

EP_TEST(each_allocation_may_fail)
{
	uint32_t n = 0;
	const char *wrong = heap_fail_each(run, NULL, &n);

	if (wrong)
		fail_msg("%s", wrong);
	assert_true(n > 30);
}
