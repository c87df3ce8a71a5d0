/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view/quality.h"
#include "ebpf-profiler/batch.h"
#include "reports/view/tally.h"

#define MAX_REASONS 256 /* what comes later is counted with none of them */

static int add_reason(struct ep_vec *reasons, uint32_t text, uint64_t weight)
{
	struct ep_quality_reason *reason;

	ep_vec_each (reasons, reason) {
		if (reason->text == text) {
			reason->weight += weight;
			return 0;
		}
	}
	reason = ep_vec_push(reasons);
	if (!reason)
		return reasons->len == MAX_REASONS ? 0 : -ENOMEM;
	*reason = (struct ep_quality_reason){weight, text};
	return 0;
}

static int by_weight(const void *left, const void *right)
{
	const struct ep_quality_reason *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->text < b->text ? -1 : a->text > b->text;
}

static void sort(struct ep_vec *reasons)
{
	if (reasons->len > 1)
		qsort(reasons->data, reasons->len, reasons->elem_bytes, by_weight);
}

static int add_stack(struct ep_quality *quality, const struct ep_batch *batch, uint32_t stack,
		     uint64_t weight)
{
	int r = 0;

	if (ep_batch_is_unverified(batch, stack))
		quality->unverified += weight;
	else if (batch->stack_error[stack] == 0)
		quality->complete += weight;
	else
		r = add_reason(&quality->errors, batch->stack_error_text[stack], weight);
	if (ep_batch_has_no_symbol(batch, stack))
		quality->no_symbol += weight;
	if (!quality->has_names || r < 0)
		return r;
	if (!batch->stack_unnamed[stack])
		quality->named += weight;
	else
		r = add_reason(&quality->unnamed, batch->stack_unnamed_text[stack], weight);
	return r;
}

int ep_quality_make(const struct ep_batch *batch, struct ep_quality *ret_quality)
{
	ep_cleanup(ep_stack_weights_fini) struct ep_stack_weights weights = {0};
	ep_cleanup(ep_quality_fini) struct ep_quality quality = {
		.has_names = EP_HAS(batch, stack_unnamed) && EP_HAS(batch, stack_unnamed_text),
	};
	int r = ep_stack_weights_make(batch, &weights);

	ep_vec_init(&quality.errors, sizeof(struct ep_quality_reason), MAX_REASONS);
	ep_vec_init(&quality.unnamed, sizeof(struct ep_quality_reason), MAX_REASONS);
	for (uint32_t i = 0; i < batch->n_stacks && r == 0; i++) {
		if (!weights.samples[i])
			continue;
		quality.weight += weights.weight[i];
		quality.samples += weights.samples[i];
		r = add_stack(&quality, batch, i, weights.weight[i]);
	}
	if (r < 0)
		return r;
	sort(&quality.errors);
	sort(&quality.unnamed);
	*ret_quality = quality;
	quality = (struct ep_quality){0};
	return 0;
}

void ep_quality_fini(struct ep_quality *quality)
{
	ep_vec_fini(&quality->errors);
	ep_vec_fini(&quality->unnamed);
}
