/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as code: what is followed ends, every instruction that is reported to be there is
 * within, has a rule, and looking twice gives the same.
 *
 *	input	start, offset | code
 */
#include "plugins/hotspot/code/flow.h"
#include "tests/kit/fuzz.h"

#define N_STARTS (HS_START_CONTINUATION + 1)

static uint64_t look(const uint8_t *code, size_t bytes, enum hs_start start, size_t off)
{
	struct x86_state called = hs_flow_start(HS_START_CALLED);
	struct x86_flow flow = { .ops = &hs_flow_ops };
	uint64_t sum = 0;
	int r;

	assert(!x86_flow_begin(&flow, code, bytes));
	r = hs_flow_follow(&flow, off, start, false);
	assert(!r || r == -EBADMSG);
	assert(!x86_flow_follow_rest(&flow, &called));
	for (off = 0; off < bytes; off++) {
		const struct x86_node *node = x86_flow_at(&flow, off);

		assert(!node || (node->insn.bytes <= 15 && node->insn.bytes <= bytes - off));
		if (node)
			sum = sum * 31 + hs_flow_rule(&node->state) + off;
	}
	assert(flow.steps <= bytes * 16);
	x86_flow_fini(&flow);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum hs_start start;
	size_t off;

	if (size < 3)
		return 0;
	start = data[0] % N_STARTS;
	off = data[1] % (size - 2);
	assert(look(data + 2, size - 2, start, off) == look(data + 2, size - 2, start, off));
	return 0;
}
