/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of the views fails once: -ENOMEM, and nothing is left. */
#include "reports/view/filter.h"
#include "reports/view/find.h"
#include "reports/view/quality.h"
#include "reports/view/symbols.h"
#include "reports/view/tally.h"
#include "reports/view/tree.h"
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

static int filter_it(void *batch)
{
	ep_cleanup(ep_view_filter_freep) struct ep_view_filter *filter = NULL;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *result = NULL;
	char why[EP_VIEW_WHY_BYTES];
	int r = make_filter(&filter);

	return r < 0 ? r : ep_view_filter_apply(filter, batch, &result, why);
}

static int tally_it(void *batch)
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

static int grow_it(void *batch)
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

static int judge_it(void *batch)
{
	struct ep_quality quality;
	int r = ep_quality_make(batch, &quality);

	if (r == 0)
		ep_quality_fini(&quality);
	return r;
}

static int name_it(void *batch)
{
	static const struct ep_symbols_sources none;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *result = NULL;
	struct ep_symbols_result counts;

	return ep_symbols_apply(batch, &none, &result, &counts);
}

static int (*const works[])(void *batch) = {filter_it, tally_it, grow_it, judge_it, name_it};

EP_TEST_EACH(each_allocation_may_fail, size_t, i, EP_LEN(works))
{
	uint32_t n;
	const char *wrong = heap_fail_each(works[i], view_batch(true), &n);

	if (wrong)
		fail_msg("%s", wrong);
}
