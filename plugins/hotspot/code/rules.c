/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways through a piece of code, and the state (flow_state.h) at each instruction. It only ever loses
 * knowledge, so each instruction is looked at a bounded number of times; steps are bounded besides.
 */
#include "plugins/hotspot/code/rules.h"

#include "plugins/hotspot/code/flow_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An instruction that was decoded. */
struct node {
	struct x86_insn insn;
	struct hs_state state;
	uint32_t epoch; /* of the way that led here; 0: none yet */
	uint32_t off;
	uint32_t chain; /* the node that the epoch got before: + 1 */
	bool queued, begins;
};

struct hs_rules {
	const uint8_t *code;
	size_t bytes;
	uint32_t *index; /* by offset: node + 1; UINT32_MAX: no instruction */
	size_t index_len;
	struct node *nodes;
	size_t n_nodes, max_nodes;
	uint32_t *queue;
	size_t n_queue;
	uint32_t epoch;
	uint32_t chain; /* of the epoch's nodes, the newest: + 1 */
	uint64_t steps, max_steps;
	uint32_t ruled; /* the node that hs_rules_at was asked for last: + 1 */
	uint64_t rule;	/* of it */
	bool bad;
};

#define STEPS_PER_BYTE 16 /* each of a state's values is lost once at most; most never */

struct hs_rules *hs_rules_new(void)
{
	return calloc(1, sizeof(struct hs_rules));
}

void hs_rules_free(struct hs_rules *rules)
{
	if (!rules)
		return;
	free(rules->index);
	free(rules->nodes);
	free(rules->queue);
	free(rules);
}

int hs_rules_begin(struct hs_rules *rules, const uint8_t *code, size_t bytes)
{
	if (bytes > HS_MAX_CODE)
		return -E2BIG;
	if (bytes > rules->index_len) {
		uint32_t *index = realloc(rules->index, bytes * sizeof(*index));

		if (!index)
			return -ENOMEM;
		rules->index = index;
		rules->index_len = bytes;
	}
	if (bytes)
		memset(rules->index, 0, bytes * sizeof(*rules->index));
	rules->code = code;
	rules->bytes = bytes;
	rules->n_nodes = rules->n_queue = 0;
	rules->epoch = rules->ruled = 0;
	rules->max_steps = rules->steps + bytes * STEPS_PER_BYTE;
	return 0;
}

/* --- where it goes */

static int grow(struct hs_rules *rules)
{
	size_t max = rules->max_nodes ? rules->max_nodes * 2 : 4096;
	struct node *nodes;
	uint32_t *queue;

	if (rules->n_nodes < rules->max_nodes)
		return 0;
	nodes = realloc(rules->nodes, max * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	rules->nodes = nodes;
	queue = realloc(rules->queue, max * sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	rules->queue = queue;
	rules->max_nodes = max;
	return 0;
}

/* The node of an offset, decoded when first asked for. 0, -EBADMSG, -ENOMEM. */
static int find_node(struct hs_rules *rules, size_t off, struct node **ret)
{
	struct x86_insn insn;
	int r;

	if (rules->index[off] == UINT32_MAX)
		return -EBADMSG;
	if (rules->index[off]) {
		*ret = &rules->nodes[rules->index[off] - 1];
		return 0;
	}
	r = grow(rules);
	if (r)
		return r;
	r = x86_decode(rules->code + off, rules->bytes - off, &insn);
	if (r) {
		rules->index[off] = UINT32_MAX;
		return -EBADMSG;
	}
	*ret = &rules->nodes[rules->n_nodes++];
	**ret = (struct node){ .insn = insn, .off = (uint32_t)off };
	rules->index[off] = (uint32_t)rules->n_nodes;
	return 0;
}

/* A way leads to an offset. Ways out of the code are not followed. */
static int reach(struct hs_rules *rules, int64_t off, const struct hs_state *state)
{
	struct node *node;
	int r;

	if (off < 0 || (uint64_t)off >= rules->bytes)
		return 0;
	r = find_node(rules, (size_t)off, &node);
	if (r == -EBADMSG)
		rules->bad = true;
	if (r)
		return r == -EBADMSG ? 0 : r;
	if (!node->epoch) {
		node->epoch = rules->epoch;
		node->state = *state;
		node->begins = !rules->chain;
		node->chain = rules->chain;
		rules->chain = rules->index[off];
	} else if (node->epoch != rules->epoch || !hs_state_meet(&node->state, state)) {
		return 0;
	}
	if (!node->queued) {
		node->queued = true;
		rules->queue[rules->n_queue++] = rules->index[off] - 1;
	}
	return 0;
}

/*
 * A call within the piece: in a frame that has fp, a part of that frame (the interpreter's call_VM does
 * so: macroAssembler_x86.cpp, 8 to 27), else a function of its own.
 */
static int reach_called(struct hs_rules *rules, int64_t off, const struct hs_state *before)
{
	struct hs_state state = hs_state_start(HS_START_CALLED);

	if (hs_is_number(before->regs[X86_RBP])) {
		state = *before;
		hs_state_push(&state, V_UNKNOWN);
	}
	return reach(rules, off, &state);
}

static bool is_end(const struct x86_insn *insn)
{
	return insn->kind == X86_JUMP || insn->kind == X86_RETURN || insn->kind == X86_TRAP;
}

static int go_on(struct hs_rules *rules, uint32_t at)
{
	struct node *node = &rules->nodes[at];
	struct x86_insn insn = node->insn;
	struct hs_state state = node->state, before = state;
	int64_t off = node->off, next = off + insn.bytes;
	int r = 0;

	node->queued = false;
	hs_state_step(&state, &insn);
	if (insn.kind == X86_CALL && insn.has_target && insn.value != insn.bytes)
		r = reach_called(rules, off + insn.value, &before);
	else if ((insn.kind == X86_JUMP || insn.kind == X86_BRANCH) && insn.has_target)
		r = reach(rules, off + insn.value, &state);
	if (r || is_end(&insn))
		return r;
	return reach(rules, next, &state);
}

/* A guess was wrong: as if it had never been. */
static void take_back(struct hs_rules *rules)
{
	for (uint32_t at = rules->chain; at; at = rules->nodes[at - 1].chain)
		rules->nodes[at - 1].epoch = 0;
}

int hs_rules_follow(struct hs_rules *rules, size_t off, enum hs_start start, bool guess)
{
	struct hs_state state = hs_state_start(start);
	int r;

	rules->epoch++;
	rules->bad = false;
	rules->chain = 0;
	r = reach(rules, (int64_t)off, &state);
	while (!r && rules->n_queue && rules->steps < rules->max_steps) {
		rules->steps++;
		r = go_on(rules, rules->queue[--rules->n_queue]);
	}
	if (rules->n_queue) /* too many steps, or no memory */
		rules->bad = guess = true;
	while (rules->n_queue)
		rules->nodes[rules->queue[--rules->n_queue]].queued = false;
	if (r)
		return r;
	if (rules->bad && guess)
		take_back(rules);
	return rules->bad && guess ? -EBADMSG : 0;
}

static const struct node *node_at(const struct hs_rules *rules, size_t off)
{
	uint32_t at = off < rules->bytes ? rules->index[off] : 0;

	if (!at || at == UINT32_MAX || !rules->nodes[at - 1].epoch)
		return NULL;
	return &rules->nodes[at - 1];
}

/* Bytes of a no-op, hlt or int3, which fill up code; or of zeros. */
static size_t padding(const uint8_t *code, size_t bytes)
{
	struct x86_insn insn;
	size_t at = 0;

	if (bytes >= 8 && !memcmp(code, "\0\0\0\0\0\0\0", 8))
		return 8;
	while (at < bytes && at < 12 && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < bytes && (code[at] == 0x90 || ((code[at] == 0xf4 || code[at] == 0xcc) && !at)))
		return at + 1;
	if (bytes - at >= 2 && code[at] == 0x0f && code[at + 1] == 0x1f && !x86_decode(code, bytes, &insn))
		return insn.bytes;
	return 0;
}

size_t hs_rules_next(const struct hs_rules *rules, size_t off)
{
	while (off < rules->bytes) {
		const struct node *node = node_at(rules, off);
		size_t skip = node ? node->insn.bytes : padding(rules->code + off, rules->bytes - off);

		if (!skip)
			break;
		off += skip;
	}
	return off < rules->bytes ? off : rules->bytes;
}

/* Operations on bytes of registers, input and output: no stub begins with these, data often seems to. */
static bool is_odd(const uint8_t *code, const struct x86_insn *insn)
{
	uint8_t op = code[0] >= 0x40 && code[0] < 0x50 && insn->bytes > 1 ? code[1] : code[0];

	if (op < 0x38 && ((op & 7) == 0 || (op & 7) == 2 || (op & 7) == 4))
		return true;
	return (op >= 0x6c && op <= 0x6f) || (op >= 0xe4 && op <= 0xe7) || (op >= 0xec && op <= 0xef) ||
	       op == 0xc8 || op == 0xca || op == 0xcb || op == 0xcd || op == 0xcf || op == 0xd7 || op == 0x9f ||
	       op == 0x9e || op == 0xf4 || op == 0xfa || op == 0xfb || op == 0xe0 || op == 0xe1;
}

bool hs_rules_plausible(const struct hs_rules *rules, size_t off)
{
	struct x86_insn insn;

	for (int i = 0; i < 8 && off < rules->bytes; i++) {
		if (x86_decode(rules->code + off, rules->bytes - off, &insn) || is_odd(rules->code + off, &insn))
			return false;
		if (is_end(&insn))
			return true;
		off += insn.bytes;
	}
	return true;
}

size_t hs_rules_skip(const struct hs_rules *rules, size_t off)
{
	struct x86_insn insn;

	while (off < rules->bytes && !node_at(rules, off)) {
		if (x86_decode(rules->code + off, rules->bytes - off, &insn))
			return off + 1;
		off += insn.bytes;
		if (is_end(&insn))
			break;
	}
	return off;
}

/* --- what is asked */

/* Most instructions leave all as it was before them. */
static bool is_as_last(const struct hs_rules *rules, const struct node *node)
{
	return rules->ruled &&
	       !memcmp(&node->state, &rules->nodes[rules->ruled - 1].state, sizeof(node->state));
}

unsigned int hs_rules_at(struct hs_rules *rules, size_t off, uint64_t *ret_rule)
{
	const struct node *node = node_at(rules, off);

	if (!node)
		return 0;
	if (!is_as_last(rules, node))
		rules->rule = hs_state_rule(&node->state);
	rules->ruled = rules->index[off];
	*ret_rule = rules->rule;
	return node->insn.bytes;
}

bool hs_rules_begins(const struct hs_rules *rules, size_t off)
{
	const struct node *node = node_at(rules, off);

	return node && node->begins;
}

uint64_t hs_rules_steps(const struct hs_rules *rules)
{
	return rules->steps;
}
