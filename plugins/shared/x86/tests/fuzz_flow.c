/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as code, for languages that use all hooks or none: following it ends after bounded
 * work, every instruction that is reported to be there is within the code, lists are empty, and
 * looking twice gives the same.
 *
 *	input	flags | offset | code; flags: 1: calls are entered, 2: they may not return,
 *		4: meet always says "lost"
 */
#include "plugins/shared/x86/flow.h"
#include "tests/kit/fuzz.h"

static void step(void *arg, struct x86_state *state, const struct x86_insn *insn,
		 const uint8_t *code)
{
	assert(code[0] == code[0] && insn->bytes); /* it can be read */
	x86_state_step(arg, state, insn);
}

static bool set_sp(struct x86_state *state, int16_t *value)
{
	if (*value == X86_V_UNKNOWN && state->regs[X86_RBP] == X86_V_FP)
		*value = -8;
	return false;
}

static bool meet_without_end(struct x86_state *state, const struct x86_state *other)
{
	(void)x86_state_meet(state, other);
	return true;
}

static struct x86_state enter(const struct x86_state *before)
{
	return *before;
}

static bool may_return(const struct x86_state *state, const struct x86_state *next)
{
	return state->regs[X86_RSP] == next->regs[X86_RSP];
}

static uint64_t look(struct x86_flow *flow, const uint8_t *code, size_t bytes, size_t off)
{
	struct x86_state start = x86_state_start();
	uint64_t before = flow->steps, sum = 0;
	int r;

	start.regs[X86_RSP] = start.at[X86_AT_RETURN] = -8;
	start.regs[X86_RBP] = X86_V_FP;
	assert(!x86_flow_begin(flow, code, bytes));
	r = x86_flow_follow(flow, off, &start, false);
	assert(!r || r == -EBADMSG);
	assert(!x86_flow_follow_rest(flow, &start));
	assert(flow->steps - before <= bytes * 16 && !flow->queue && !flow->first_call);
	for (off = 0; off < bytes; off++) {
		const struct x86_node *node = x86_flow_at(flow, off);

		assert(x86_flow_next(flow, off) >= off && x86_flow_next(flow, off) <= bytes);
		assert(x86_flow_skip(flow, off) >= off && x86_flow_skip(flow, off) <= bytes);
		assert(!node ||
		       (node->off == off && node->insn.bytes <= bytes - off && !node->waits));
		for (size_t i = 0; node && i < sizeof(node->state) / 2; i++)
			sum = sum * 31 + ((const uint16_t *)&node->state)[i];
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct x86_flow_ops ops = {
		.max_bytes = size,
		.step = step,
		.meet = x86_state_meet,
		.set_sp = set_sp,
		.fill = x86_fill,
	};
	struct x86_flow flow = { .ops = &ops, .arg = &ops };
	uint64_t first;

	if (size < 3)
		return 0;
	ops.enter = data[0] & 1 ? enter : NULL;
	ops.may_return = data[0] & 2 ? may_return : NULL;
	if (data[0] & 4)
		ops.meet = meet_without_end;
	first = look(&flow, data + 2, size - 2, data[1] % (size - 2));
	assert(look(&flow, data + 2, size - 2, data[1] % (size - 2)) == first);
	x86_flow_fini(&flow);
	return 0;
}
