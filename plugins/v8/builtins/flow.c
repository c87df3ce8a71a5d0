/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values (values.h) are what is known before an instruction. They only ever lose knowledge, so each instruction is
 * looked at a bounded number of times; steps are bounded besides.
 */
#include "plugins/v8/builtins/flow.h"

#include "plugins/shared/x86/decode.h"
#include "plugins/v8/builtins/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An instruction. */
struct node {
	struct x86_insn insn;
	struct v8_values state;
	uint32_t off;
	uint32_t chain; /* the node that the epoch got before: + 1 */
	uint32_t next_call; /* see go_on_behind; + 1 */
	uint16_t epoch; /* of the way that led here; 0: none yet */
	bool queued, call_queued;
};

struct v8_flow {
	const uint8_t *code;
	size_t bytes;
	uint64_t va;	       /* of the code */
	const uint64_t *exits; /* see v8_flow_set_exits */
	size_t n_exits;
	uint32_t *index; /* by offset: node + 1; UINT32_MAX: no instruction */
	size_t index_len;
	struct node *nodes;
	size_t n_nodes, max_nodes;
	uint32_t *queue;
	size_t n_queue;
	uint32_t first_call, last_call; /* calls behind which nobody has looked: + 1 */
	uint32_t chain; /* of the epoch's nodes, the newest: + 1 */
	uint16_t epoch;
	bool bad, has_frame, left_frame, keeps_frame, returns;
	uint64_t steps, max_steps;
};

#define STEPS_PER_BYTE 16 /* each of the values is lost once at most; most never */

struct v8_flow *v8_flow_new(void)
{
	return calloc(1, sizeof(struct v8_flow));
}

void v8_flow_free(struct v8_flow *flow)
{
	if (!flow)
		return;
	free(flow->index);
	free(flow->nodes);
	free(flow->queue);
	free(flow);
}

/* --- an instruction at its place */

/* mov [rsp + index * 8], register; also with a displacement of a byte. */
static bool is_store_on_top(const uint8_t *op, unsigned int bytes)
{
	return bytes >= 4 && (op[0] & 0xf9) == 0x48 && op[1] == 0x89 &&
	       ((op[2] & 0xc7) == 0x04 || (op[2] & 0xc7) == 0x44) && (op[3] & 7) == 4 && (op[3] & 0xf8) != 0x20;
}

static bool pops_arguments(const struct v8_flow *flow, uint64_t va)
{
	for (size_t i = 0; i < flow->n_exits; i++)
		if (flow->exits[i] == va)
			return true;
	return false;
}

/* What the decoder does not tell of an instruction, and step does not know. */
static void step_at(const struct v8_flow *flow, struct v8_values *state, const struct x86_insn *insn, uint32_t off)
{
	const uint8_t *op = flow->code + off;
	int16_t argc = state->argc;
	int32_t value;

	v8_values_step(state, insn);
	if (state->shifts && is_store_on_top(op, insn->bytes))
		v8_values_set_called(state);
	if (insn->kind == X86_CALL && insn->has_target && argc != V_UNKNOWN &&
	    pops_arguments(flow, flow->va + off + (uint64_t)insn->value))
		v8_values_add_to_sp(state, argc * 8);
	if (op[0] == 0xb8 && insn->bytes == 5) {
		memcpy(&value, op + 1, 4);
		state->argc = value >= 0 && value < 256 ? (int16_t)value : V_UNKNOWN;
	} else if ((op[0] == 0x33 || op[0] == 0x31) && insn->bytes == 2 && op[1] == 0xc0) {
		state->argc = 0;
	}
}

/* --- where it goes */

static int grow(struct v8_flow *flow)
{
	size_t max = flow->max_nodes ? flow->max_nodes * 2 : 4096;
	struct node *nodes;
	uint32_t *queue;

	if (flow->n_nodes < flow->max_nodes)
		return 0;
	nodes = realloc(flow->nodes, max * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	flow->nodes = nodes;
	queue = realloc(flow->queue, max * sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	flow->queue = queue;
	flow->max_nodes = max;
	return 0;
}

/* The node of an offset, decoded when first asked for. 0, -EBADMSG, -ENOMEM. */
static int find_node(struct v8_flow *flow, size_t off, struct node **ret)
{
	struct node *node;
	int r;

	if (flow->index[off] == UINT32_MAX)
		return -EBADMSG;
	if (flow->index[off]) {
		*ret = &flow->nodes[flow->index[off] - 1];
		return 0;
	}
	r = grow(flow);
	if (r)
		return r;
	node = &flow->nodes[flow->n_nodes];
	r = x86_decode(flow->code + off, flow->bytes - off, &node->insn);
	if (r) {
		flow->index[off] = UINT32_MAX;
		return -EBADMSG;
	}
	flow->n_nodes++;
	node->off = (uint32_t)off;
	node->epoch = 0;
	node->queued = node->call_queued = false;
	flow->index[off] = (uint32_t)flow->n_nodes;
	*ret = node;
	return 0;
}

/* A way leads to an offset: its node, to be looked at; NULL: no need. Ways out of the builtin are not followed. */
static int reach(struct v8_flow *flow, int64_t off, const struct v8_values *state, struct node **ret)
{
	struct node *node;
	int r;

	*ret = NULL;
	if (off < 0 || (uint64_t)off >= flow->bytes)
		return 0;
	r = find_node(flow, (size_t)off, &node);
	if (r == -EBADMSG)
		flow->bad = true;
	if (r)
		return r == -EBADMSG ? 0 : r;
	if (!node->epoch) {
		node->epoch = flow->epoch;
		node->state = *state;
		node->chain = flow->chain;
		flow->chain = flow->index[off];
	} else if (node->epoch != flow->epoch || !v8_values_meet(&node->state, state)) {
		return 0;
	}
	*ret = node;
	return 0;
}

static void put_off(struct v8_flow *flow, struct node *node)
{
	if (!node || node->queued)
		return;
	node->queued = true;
	flow->queue[flow->n_queue++] = (uint32_t)(node - flow->nodes);
}

static void put_call_off(struct v8_flow *flow, struct node *node)
{
	uint32_t at = (uint32_t)(node - flow->nodes) + 1;

	if (node->call_queued)
		return;
	node->call_queued = true;
	node->next_call = 0;
	if (flow->first_call)
		flow->nodes[flow->last_call - 1].next_call = at;
	else
		flow->first_call = at;
	flow->last_call = at;
}

static bool is_end(const struct x86_insn *insn)
{
	return insn->kind == X86_JUMP || insn->kind == X86_RETURN || insn->kind == X86_TRAP;
}

static void note(struct v8_flow *flow, const struct v8_values *state, const struct x86_insn *insn)
{
	int16_t rbp = state->regs[X86_RBP];

	if (v8_is_number(rbp))
		flow->has_frame = true;
	if (state->left)
		flow->left_frame = true;
	if (insn->kind != X86_RETURN || flow->epoch != 1)
		return;
	flow->keeps_frame |= v8_is_number(rbp);
	flow->returns |= !state->left;
}

static bool is_real_call(const struct x86_insn *insn)
{
	return insn->kind == X86_CALL && (!insn->has_target || insn->value != insn->bytes);
}

/* An instruction, the one behind it, and so on, to the end of the way or a call. */
static int go_on(struct v8_flow *flow, struct node *node)
{
	while (node && flow->steps < flow->max_steps) {
		struct x86_insn insn = node->insn;
		struct v8_values state = node->state;
		int64_t off = node->off;
		int r = 0;

		flow->steps++;
		note(flow, &state, &insn);
		if (is_real_call(&insn)) {
			put_call_off(flow, node);
			return 0;
		}
		step_at(flow, &state, &insn, node->off);
		if ((insn.kind == X86_JUMP || insn.kind == X86_BRANCH) && insn.has_target) {
			r = reach(flow, off + insn.value, &state, &node);
			if (!r)
				put_off(flow, node);
		}
		if (r || is_end(&insn))
			return r;
		r = reach(flow, off + insn.bytes, &state, &node);
		if (r)
			return r;
	}
	put_off(flow, node); /* too many steps: see follow */
	return 0;
}

/* One of the two has a frame where the other has none. */
static bool contradict(const struct v8_values *a, const struct v8_values *b)
{
	int16_t left = a->regs[X86_RBP], right = b->regs[X86_RBP];

	return (left == V_FP && v8_is_number(right)) || (right == V_FP && v8_is_number(left));
}

/*
 * Behind a call. Some never return, such as those that throw, and what is behind them is other code that another
 * way leads to (Generate_ConstructBoundFunction: of CallRuntime(kThrowStackOverflow), builtins-x64.cc); so calls
 * are looked behind when there is nothing else to follow.
 */
static int go_on_behind(struct v8_flow *flow, struct node *call_node)
{
	struct v8_values state = call_node->state;
	size_t off = (size_t)call_node->off + call_node->insn.bytes;
	struct node *node;
	int r;

	step_at(flow, &state, &call_node->insn, call_node->off);
	if (off < flow->bytes && flow->index[off] && flow->index[off] != UINT32_MAX) {
		node = &flow->nodes[flow->index[off] - 1];
		if (node->epoch && contradict(&node->state, &state))
			return 0;
	}
	r = reach(flow, (int64_t)off, &state, &node);
	return r ? r : go_on(flow, node);
}

/* A guess was wrong: as if it had never been. */
static void take_back(struct v8_flow *flow)
{
	for (uint32_t at = flow->chain; at; at = flow->nodes[at - 1].chain)
		flow->nodes[at - 1].epoch = 0;
}

static struct node *take_call(struct v8_flow *flow)
{
	struct node *node;

	if (!flow->first_call)
		return NULL;
	node = &flow->nodes[flow->first_call - 1];
	flow->first_call = node->next_call;
	node->call_queued = false;
	return node;
}

static int follow_all(struct v8_flow *flow)
{
	struct node *node;
	int r = 0;

	while (!r && flow->steps < flow->max_steps) {
		if (flow->n_queue) {
			node = &flow->nodes[flow->queue[--flow->n_queue]];
			node->queued = false;
			r = go_on(flow, node);
		} else if ((node = take_call(flow))) {
			r = go_on_behind(flow, node);
		} else {
			break;
		}
	}
	return r;
}

/*
 * A module's jump table comes to WasmCompileLazy with a number above the return address, push INDEX | jmp, which is made
 * a Smi there: pop r | shl r, 32 (EmitLazyCompileJumpSlot, wasm/jump-table-assembler.cc; Generate_WasmCompileLazy,
 * builtins/x64/builtins-x64.cc, 7.8 to 14.6). No return address is shifted.
 */
static bool has_number(const uint8_t *code, size_t bytes)
{
	uint8_t rex = bytes >= 6 && code[0] == 0x41;
	const uint8_t *pop = code + rex;

	return bytes >= 6 && (pop[0] & 0xf8) == 0x58 && pop[1] == (0x48 | rex) && pop[2] == 0xc1 &&
	       pop[3] == (0xe0 | (pop[0] & 7)) && pop[4] == 32;
}

/* 0, -EBADMSG (what is there is no code), -ENOMEM. */
static int follow(struct v8_flow *flow, size_t off, bool in_frame, bool guess)
{
	struct v8_values state = v8_values_start(in_frame);
	struct node *node;
	int r;

	if (off == 0 && !in_frame && has_number(flow->code, flow->bytes))
		v8_values_add_to_sp(&state, -8);
	flow->epoch++;
	flow->bad = false;
	flow->chain = 0;
	r = reach(flow, (int64_t)off, &state, &node);
	if (!r)
		r = go_on(flow, node);
	if (!r)
		r = follow_all(flow);
	if (flow->n_queue || flow->first_call)
		flow->bad = guess = true;
	while (flow->n_queue)
		flow->nodes[flow->queue[--flow->n_queue]].queued = false;
	while (take_call(flow))
		;
	if (r)
		return r;
	if (flow->bad && guess)
		take_back(flow);
	return flow->bad && guess ? -EBADMSG : 0;
}

static int begin(struct v8_flow *flow, const uint8_t *code, size_t bytes)
{
	if (bytes > V8_MAX_BUILTIN_BYTES)
		return -E2BIG;
	if (bytes > flow->index_len) {
		uint32_t *index = realloc(flow->index, bytes * sizeof(*index));

		if (!index)
			return -ENOMEM;
		flow->index = index;
		flow->index_len = bytes;
	}
	if (bytes)
		memset(flow->index, 0, bytes * sizeof(*flow->index));
	flow->code = code;
	flow->bytes = bytes;
	flow->n_nodes = flow->n_queue = 0;
	flow->epoch = 0;
	flow->first_call = flow->last_call = 0;
	flow->has_frame = flow->left_frame = flow->keeps_frame = flow->returns = false;
	flow->max_steps = flow->steps + bytes * STEPS_PER_BYTE;
	return 0;
}

static const struct node *node_at(const struct v8_flow *flow, size_t off)
{
	uint32_t at = off < flow->bytes ? flow->index[off] : 0;

	if (!at || at == UINT32_MAX || !flow->nodes[at - 1].epoch)
		return NULL;
	return &flow->nodes[at - 1];
}

/* What fills up: int3, and no-ops of several bytes (Assembler::Nop, assembler-x64.cc). */
size_t v8_flow_fill(const struct v8_flow *flow, size_t off)
{
	const uint8_t *code = flow->code + off;
	size_t bytes = flow->bytes - off;
	struct x86_insn insn;
	size_t at = 0;

	while (at < bytes && at < 12 && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < bytes && (code[at] == 0x90 || (code[at] == 0xcc && !at)))
		return at + 1;
	if (bytes - at >= 2 && code[at] == 0x0f && code[at + 1] == 0x1f && !x86_decode(code, bytes, &insn))
		return insn.bytes;
	return 0;
}

/* Code that no way led to, from `off` on. */
static size_t find_unknown(const struct v8_flow *flow, size_t off)
{
	while (off < flow->bytes) {
		const struct node *node = node_at(flow, off);
		size_t skip = node ? node->insn.bytes : v8_flow_fill(flow, off);

		if (!skip)
			break;
		off += skip;
	}
	return off;
}

void v8_flow_set_exits(struct v8_flow *flow, const uint64_t *vas, size_t n)
{
	flow->exits = vas;
	flow->n_exits = n;
}

int v8_flow_run(struct v8_flow *flow, uint64_t va, const uint8_t *code, size_t bytes, bool in_frame)
{
	size_t off;
	int r = begin(flow, code, bytes);

	if (r || !bytes)
		return r;
	flow->va = va;
	r = follow(flow, 0, in_frame, false);
	if (r && r != -EBADMSG)
		return r;
	for (off = find_unknown(flow, 0); off < bytes && flow->has_frame && flow->epoch < UINT16_MAX - 1;
	     off = find_unknown(flow, off + 1)) {
		r = follow(flow, off, true, true);
		if (r && r != -EBADMSG)
			return r;
	}
	return 0;
}

bool v8_flow_left_frame(const struct v8_flow *flow)
{
	return flow->left_frame && !flow->returns;
}

/* --- what is asked */

bool v8_flow_keeps_frame(const struct v8_flow *flow)
{
	return flow->keeps_frame;
}

unsigned int v8_flow_at(const struct v8_flow *flow, size_t off, struct v8_flow_rule *ret_rule)
{
	const struct node *node = node_at(flow, off);

	if (!node)
		return 0;
	*ret_rule = v8_values_rule(&node->state, flow->keeps_frame);
	return node->insn.bytes;
}

uint64_t v8_flow_steps(const struct v8_flow *flow)
{
	return flow->steps;
}
