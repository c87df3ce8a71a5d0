/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a builtin's code: following it ends, every instruction that is said to be there is within, and
 * looking twice gives the same.
 *
 *	input	flags: bit 0: in a frame | code
 */
#include "plugins/v8/builtins/flow.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VA 0x1000

static uint64_t look(struct v8_flow *flow, const uint8_t *code, size_t bytes, bool in_frame)
{
	uint64_t before = v8_flow_steps(flow), sum = 0;

	assert(!v8_flow_run(flow, VA, code, bytes, in_frame));
	assert(v8_flow_steps(flow) - before <= bytes * 16 + 1);
	for (size_t off = 0; off < bytes; off++) {
		struct v8_flow_rule rule = { 0 };
		unsigned int len = v8_flow_at(flow, off, &rule);

		assert(len <= 15 && len <= bytes - off);
		assert(v8_flow_fill(flow, off) <= bytes - off);
		if (!len)
			continue;
		assert(rule.base < 16 || rule.base == V8_ROW_NONE);
		assert(rule.return_in < 16 || rule.return_in == V8_RETURN_ON_STACK);
		sum = sum * 31 + off + (uint64_t)rule.offset * 7 + rule.base + (uint64_t)rule.rbp_at * 3 + rule.return_in;
	}
	return sum * 2 + v8_flow_left_frame(flow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t exits[] = { VA, VA + 16 };
	struct v8_flow *flow = v8_flow_new();
	uint64_t first;

	assert(flow);
	v8_flow_set_exits(flow, exits, 2);
	if (size) {
		first = look(flow, data + 1, size - 1, data[0] & 1);
		assert(look(flow, data + 1, size - 1, data[0] & 1) == first);
	}
	v8_flow_free(flow);
	return 0;
}
