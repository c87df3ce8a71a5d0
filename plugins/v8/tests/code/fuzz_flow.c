/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a builtin's code: following it ends, every instruction that is reported to be there
 * is within, and looking twice gives the same.
 *
 *	input	flags: bit 0: in a frame | code
 */
#include "plugins/v8/code/flow.h"
#include "tests/kit/fuzz.h"

#define VA 0x1000

static uint64_t look(struct v8_flow *flow, const uint8_t *code, size_t bytes, bool in_frame)
{
	uint64_t before = flow->flow.steps, sum = 0;

	assert(!v8_flow_run(flow, VA, code, bytes, in_frame));
	assert(flow->flow.steps - before <= bytes * 16);
	for (size_t off = 0; off < bytes; off++) {
		const struct x86_node *node = x86_flow_at(&flow->flow, off);
		struct v8_flow_rule rule;

		if (!node)
			continue;
		assert(node->insn.bytes <= 15 && node->insn.bytes <= bytes - off);
		rule = v8_flow_rule(flow, &node->state);
		assert(rule.base < 16 || rule.base == V8_ROW_NONE);
		assert(rule.return_in < 16 || rule.return_in == V8_RETURN_ON_STACK);
		sum = sum * 31 + off + (uint64_t)rule.offset * 7 + rule.base +
		      (uint64_t)rule.rbp_at * 3 + rule.return_in;
	}
	return sum * 2 + flow->left_frame;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t exits[] = { VA, VA + 16 };
	struct v8_flow flow = { .exits = exits, .n_exits = 2 };
	uint64_t first;

	if (size) {
		first = look(&flow, data + 1, size - 1, data[0] & 1);
		assert(look(&flow, data + 1, size - 1, data[0] & 1) == first);
	}
	x86_flow_fini(&flow.flow);
	return 0;
}
