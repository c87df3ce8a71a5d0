/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of the views fails once: -ENOMEM, and nothing is left. */
#include "core/view/filter.h"
#include "core/view/find.h"
#include "core/view/quality.h"
#include "core/view/symbols.h"
#include "core/view/tally.h"
#include "core/view/tree.h"
#include "tests/kit/heap.h"
#include "tests/unit/view_batch.h"

static int make_filter(struct ep_view_filter **ret_filter)
{
	static const struct {
		enum ep_view_key key;
		const char *value;
	} rules[] = {{EP_VIEW_PID, "10,20"}, {EP_VIEW_THREAD, "*"}, {EP_VIEW_KIND, "!kernel"}};
	ep_cleanup(ep_view_filter_freep) struct ep_view_filter *filter = NULL;
	char why[EP_VIEW_WHY_BYTES];
	int r = ep_view_filter_new(&filter);

	for (size_t i = 0; i < EP_LEN(rules) && r == 0; i++)
		r = ep_view_filter_add(filter, rules[i].key, rules[i].value, why);
	if (r == 0)
		*ret_filter = ep_take(filter);
	return r;
}

static int filter_it(struct ep_batch *batch)
{
	ep_cleanup(ep_view_filter_freep) struct ep_view_filter *filter = NULL;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *result = NULL;
	char why[EP_VIEW_WHY_BYTES];
	int r = make_filter(&filter);

	return r < 0 ? r : ep_view_filter_apply(filter, batch, &result, why);
}

static int tally_it(struct ep_batch *batch)
{
	int r = 0;

	for (int by = 0; by <= EP_TALLY_CPU && r == 0; by++) {
		struct ep_tally tally;

		r = ep_tally_make(batch, (enum ep_tally_by)by, &tally);
		if (r == 0)
			ep_tally_fini(&tally);
	}
	return r;
}

static int grow_it(struct ep_batch *batch)
{
	ep_autofree uint8_t *wanted = NULL;
	struct ep_tree tree;
	size_t n;
	int r = ep_view_find_functions(batch, "spin", &wanted, &n);

	r = r == 0 ? ep_tree_make(batch, wanted, &tree) : r;
	if (r == 0)
		ep_tree_fini(&tree);
	return r;
}

static int judge_it(struct ep_batch *batch)
{
	struct ep_quality quality;
	int r = ep_quality_make(batch, &quality);

	if (r == 0)
		ep_quality_fini(&quality);
	return r;
}

static int name_it(struct ep_batch *batch)
{
	static const struct ep_symbols_sources none;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *result = NULL;
	struct ep_symbols_result counts;

	return ep_symbols_apply(batch, &none, &result, &counts);
}

static void fail_one_by_one(int (*work)(struct ep_batch *batch))
{
	struct ep_batch *batch = view_batch(true);
	uint32_t n;

	heap_arm(0);
	assert_int_equal(work(batch), 0);
	n = heap_wrapped.calls;
	assert_int_equal(heap_wrapped.live, 0);
	(void)heap_disarm();
	for (uint32_t at = 1; at <= n; at++) {
		int r;

		heap_arm(at);
		r = work(batch);
		(void)heap_disarm();
		/* a table of the builder that cannot be made smaller stays as large as it is */
		if ((r != -ENOMEM && r != 0) || heap_wrapped.live != 0)
			fail_msg("allocation %u of %u: result %d, %d blocks left", at, n, r,
				 (int)heap_wrapped.live);
	}
	ep_batch_unref(batch);
}

EP_TEST(filters)
{
	fail_one_by_one(filter_it);
}

EP_TEST(tallies)
{
	fail_one_by_one(tally_it);
}

EP_TEST(trees)
{
	fail_one_by_one(grow_it);
}

EP_TEST(qualities)
{
	fail_one_by_one(judge_it);
}

EP_TEST(names)
{
	fail_one_by_one(name_it);
}
