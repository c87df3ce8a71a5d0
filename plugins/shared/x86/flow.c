/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the pieces work together, from what is asked for down:
 *
 *	follow	looks at instructions from a queue until it is empty. Each has a node, found by its
 *		offset, which is decoded when a way first leads there, and keeps the state before
 *		the instruction.
 *	look	copies that state, has step change it, and gives it to reach: for the next
 *		instruction, for jump targets, and for calls within the code.
 *	reach	keeps it there, if it is the first. Else both meet: what they disagree on is lost.
 *		If something was lost, the instruction is queued again.
 *
 *	push rbp ─────► mov rbp, rsp ───► jne ──┬──► pop rbp ──┬──► ret
 *	rsp = CFA - 8   rsp = CFA - 16          └──► leave ────┘
 *
 * States only lose knowledge, so each instruction is queued a bounded number of times; steps are
 * counted besides, since a language's meet may break that.
 *
 * Two lists of nodes wait. The queue gives the newest first, so a way is followed to its end. Where
 * a language says that calls may not return, they move to a second list when their turn comes. That
 * list is looked at when the queue is empty, the oldest first.
 *
 * An epoch is one call of follow. A node belongs to the epoch that reached it first, and only that
 * one changes it. The nodes of an epoch are chained, so that a wrong guess can be taken back.
 */
#include "plugins/shared/x86/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- what an instruction changes */

int16_t x86_add(int16_t value, int64_t more)
{
	int64_t sum;

	if (!more)
		return value;
	if (!x86_is_number(value) || __builtin_add_overflow((int64_t)value, more, &sum) ||
	    sum < X86_V_FIRST || sum > INT16_MAX)
		return X86_V_UNKNOWN;
	return (int16_t)sum;
}

void x86_state_drop_below(struct x86_state *state)
{
	int16_t sp = state->regs[X86_RSP];

	for (int i = 0; i < X86_N_PLACES && x86_is_number(sp); i++)
		if (state->at[i] < sp)
			state->at[i] = X86_V_UNKNOWN;
}

void x86_state_store(const struct x86_flow_ops *ops, struct x86_state *state, int16_t at,
		     int16_t value)
{
	if (!x86_is_number(at))
		return;
	for (int i = 0; i < X86_N_PLACES; i++) {
		bool is_there = i < X86_AT_KEPT && value == X86_V_RETURN + i;

		/* rbp is saved once; a copy of it may be overwritten. */
		if (is_there && (i != X86_AT_FP || state->at[i] == X86_V_UNKNOWN))
			state->at[i] = at;
		else if (!is_there && state->at[i] == at)
			state->at[i] = X86_V_UNKNOWN;
	}
	if (ops->stored) {
		ops->stored(state, at, value);
	} else if (x86_is_number(value)) {
		state->at[X86_AT_KEPT] = at;
		state->kept = value;
	}
}

void x86_state_forget_places(struct x86_state *state)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (x86_is_number(state->regs[i]))
			state->regs[i] = X86_V_UNKNOWN;
	for (int i = 0; i < X86_N_PLACES; i++)
		state->at[i] = X86_V_UNKNOWN;
	state->saved_at = X86_V_UNKNOWN;
	state->facts &= (uint16_t)~X86_FACTS_OF_PLACES;
}

void x86_state_push_return(struct x86_state *state)
{
	int16_t sp = state->regs[X86_RSP];

	if (!x86_is_number(sp)) {
		x86_state_forget_places(state);
	} else if (sp) { /* measured from another CFA, all numbers are `sp` less */
		for (int i = 0; i < X86_N_REGISTERS; i++)
			if (x86_is_number(state->regs[i]))
				state->regs[i] = x86_add(state->regs[i], -sp);
		for (int i = 0; i < X86_N_PLACES; i++)
			state->at[i] = x86_add(state->at[i], -sp);
		state->at[X86_AT_KEPT] = state->saved_at = X86_V_UNKNOWN;
	}
	state->regs[X86_RSP] = -8;
	state->at[X86_AT_RETURN] = -8;
}

void x86_state_add_to_sp(struct x86_state *state, int64_t more)
{
	state->regs[X86_RSP] = x86_add(state->regs[X86_RSP], more);
	state->saved_at = x86_add(state->saved_at, -more);
	if (state->saved_at < 0)
		state->saved_at = X86_V_UNKNOWN;
	x86_state_drop_below(state);
}

/* The 8 bytes at [from + off]. */
static int16_t load_memory(const struct x86_state *state, uint8_t from, int64_t off)
{
	int16_t at = from == X86_NO_REGISTER ? X86_V_UNKNOWN : x86_add(state->regs[from], off);

	if (from == X86_RSP && !x86_is_number(state->regs[X86_RSP]))
		return off >= 0 && off == state->saved_at ? state->saved : X86_V_UNKNOWN;
	for (int i = 0; i < X86_AT_KEPT && x86_is_number(at); i++)
		if (state->at[i] == at)
			return (int16_t)(X86_V_RETURN + i);
	return x86_is_number(at) && state->at[X86_AT_KEPT] == at ? state->kept : X86_V_UNKNOWN;
}

static void store_memory(const struct x86_flow_ops *ops, struct x86_state *state, uint8_t from,
			 int64_t off, int16_t value)
{
	if (from == X86_NO_REGISTER)
		return;
	if (from == X86_RSP && !x86_is_number(state->regs[X86_RSP]) && off >= 0 &&
	    off <= INT16_MAX) {
		if (x86_is_number(value)) {
			state->saved_at = (int16_t)off;
			state->saved = value;
		} else if (state->saved_at == off) {
			state->saved_at = X86_V_UNKNOWN;
		}
	}
	x86_state_store(ops, state, x86_add(state->regs[from], off), value);
}

void x86_state_push(const struct x86_flow_ops *ops, struct x86_state *state, int16_t value)
{
	x86_state_add_to_sp(state, -8);
	store_memory(ops, state, X86_RSP, 0, value);
}

static int16_t pop(struct x86_state *state)
{
	int16_t value = load_memory(state, X86_RSP, 0);

	x86_state_add_to_sp(state, 8);
	return value;
}

static void set_register(const struct x86_flow_ops *ops, struct x86_state *state, uint8_t reg,
			 int16_t value)
{
	if (reg != X86_RSP) {
		state->regs[reg] = value;
		return;
	}
	if (ops->set_sp(state, &value))
		return;
	state->regs[X86_RSP] = x86_is_number(value) ? value : X86_V_UNKNOWN;
	state->saved_at = X86_V_UNKNOWN;
	x86_state_drop_below(state);
}

/* The registers of X86_BIT that a call keeps (System V ABI; code of runtimes keeps fewer). */
#define KEPT_BY_CALLS                                                                              \
	(X86_BIT(X86_RSP) | X86_BIT(X86_RBP) | X86_BIT(X86_RBX) | X86_BIT(X86_R12) |               \
	 X86_BIT(X86_R13) | X86_BIT(X86_R14) | X86_BIT(X86_R15))

static void forget_registers(struct x86_state *state, uint16_t which)
{
	for (unsigned int left = which; left; left &= left - 1)
		state->regs[__builtin_ctz(left)] = X86_V_UNKNOWN;
	if (which & X86_BIT(X86_RSP))
		state->saved_at = X86_V_UNKNOWN;
}

/* Not one to the next instruction: that is how code learns where it is. */
static bool is_call(const struct x86_insn *insn)
{
	return insn->kind == X86_CALL && !(insn->has_target && insn->value == insn->bytes);
}

void x86_state_step(const struct x86_flow_ops *ops, struct x86_state *state,
		    const struct x86_insn *insn)
{
	int16_t value;

	forget_registers(state, insn->written);
	switch (insn->kind) {
	case X86_PUSH:
		value = load_memory(state, insn->from, insn->value);
		x86_state_push(ops, state,
			       insn->to != X86_NO_REGISTER ? state->regs[insn->to] : value);
		break;
	case X86_POP:
		value = pop(state);
		if (insn->to != X86_NO_REGISTER)
			set_register(ops, state, insn->to, value);
		else
			store_memory(ops, state, insn->from, insn->value, value);
		break;
	case X86_SET:
		if (insn->to == X86_RSP && insn->from == X86_RSP)
			x86_state_add_to_sp(state, insn->value);
		else
			set_register(ops, state, insn->to,
				     x86_add(state->regs[insn->from], insn->value));
		break;
	case X86_ALIGN:
		forget_registers(state, X86_BIT(insn->to));
		break;
	case X86_LOAD:
		set_register(ops, state, insn->to, load_memory(state, insn->from, insn->value));
		break;
	case X86_STORE:
		value = insn->to != X86_NO_REGISTER ? state->regs[insn->to] : X86_V_UNKNOWN;
		store_memory(ops, state, insn->from, insn->value, value);
		break;
	case X86_LEAVE:
		set_register(ops, state, X86_RSP, state->regs[X86_RBP]);
		state->regs[X86_RBP] = pop(state);
		break;
	case X86_CALL:
		if (is_call(insn)) {
			forget_registers(state, (uint16_t)~KEPT_BY_CALLS);
			x86_state_drop_below(state);
		} else {
			x86_state_push(ops, state, X86_V_UNKNOWN);
		}
		break;
	default:
		break;
	}
}

/* --- where ways meet */

static bool meet_value(int16_t *value, int16_t other)
{
	if (*value == other || *value == X86_V_UNKNOWN)
		return false;
	*value = X86_V_UNKNOWN;
	return true;
}

/* A place and the number that is there: both are lost, or none. */
static bool meet_pair(int16_t *at, int16_t value, int16_t other_at, int16_t other)
{
	return meet_value(at, value == other ? other_at : X86_V_UNKNOWN);
}

bool x86_state_meet(struct x86_state *state, const struct x86_state *other)
{
	bool lost = (state->facts & ~other->facts) != 0;

	if (!memcmp(state, other, sizeof(*state)))
		return false;
	for (int i = 0; i < X86_N_REGISTERS; i++)
		lost |= meet_value(&state->regs[i], other->regs[i]);
	for (int i = 0; i < X86_AT_KEPT; i++)
		lost |= meet_value(&state->at[i], other->at[i]);
	lost |= meet_pair(&state->at[X86_AT_KEPT], state->kept, other->at[X86_AT_KEPT],
			  other->kept);
	lost |= meet_pair(&state->saved_at, state->saved, other->saved_at, other->saved);
	state->facts &= other->facts;
	return lost | meet_value(&state->own, other->own);
}

struct x86_state x86_state_start(void)
{
	struct x86_state state = { .saved_at = X86_V_UNKNOWN, .own = X86_V_UNKNOWN };

	for (int i = 0; i < X86_N_REGISTERS; i++)
		state.regs[i] = X86_V_UNKNOWN;
	for (int i = 0; i < X86_N_PLACES; i++)
		state.at[i] = X86_V_UNKNOWN;
	return state;
}

/* --- what rules are made of */

unsigned int x86_dwarf_register(int reg)
{
	static const uint8_t low[8] = { 0, 2, 1, 3, 7, 6, 4, 5 }; /* System V ABI, figure 3.36 */

	return reg < 8 ? low[reg] : (unsigned int)reg;
}

int x86_state_base(const struct x86_state *state)
{
	static const uint8_t first[] = { X86_RBP, X86_RSP };

	for (int i = 0; i < X86_N_REGISTERS + 2; i++) {
		int reg = i < 2 ? first[i] : i - 2;

		if (x86_is_number(state->regs[reg]) && !(state->regs[reg] % 8))
			return reg;
	}
	return -1;
}

/* --- where it goes */

#define STEPS_PER_BYTE 16 /* each of a state's values is lost once at most; most never */

void x86_flow_fini(struct x86_flow *flow)
{
	free(flow->index);
	free(flow->nodes);
}

int x86_flow_begin(struct x86_flow *flow, const uint8_t *code, size_t bytes)
{
	if (bytes > flow->ops->max_bytes)
		return -E2BIG;
	free(flow->index);
	flow->index = calloc(bytes + 1, sizeof(*flow->index));
	flow->bytes = flow->index ? bytes : 0;
	flow->code = code;
	flow->n_nodes = 0;
	flow->epoch = 0;
	flow->max_steps = flow->steps + bytes * STEPS_PER_BYTE;
	return flow->index ? 0 : -ENOMEM;
}

/* A way leads to an offset. Ways out of the code are not followed. 0, -ENOMEM. */
static int reach(struct x86_flow *flow, int64_t off, const struct x86_state *state)
{
	struct x86_node *node;
	uint32_t *index;

	if (off < 0 || (uint64_t)off >= flow->bytes)
		return 0;
	index = &flow->index[off];
	if (!*index && flow->n_nodes == flow->max_nodes) {
		size_t max = flow->max_nodes ? flow->max_nodes * 2 : 4096;
		struct x86_node *nodes = realloc(flow->nodes, max * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		flow->nodes = nodes;
		flow->max_nodes = max;
	}
	if (!*index) {
		node = &flow->nodes[flow->n_nodes];
		*index = UINT32_MAX;
		if (!x86_decode(flow->code + off, flow->bytes - (size_t)off, &node->insn)) {
			node->off = (uint32_t)off;
			node->epoch = 0;
			node->waits = false;
			*index = (uint32_t)++flow->n_nodes;
		}
	}
	if (*index == UINT32_MAX) {
		flow->bad = true;
		return 0;
	}
	node = &flow->nodes[*index - 1];
	if (!node->epoch) {
		node->epoch = flow->epoch;
		node->state = *state;
		node->chain = flow->chain;
		flow->chain = *index;
	} else if (node->epoch != flow->epoch || !flow->ops->meet(&node->state, state)) {
		return 0;
	}
	if (!node->waits) {
		node->waits = true;
		node->next = flow->queue;
		flow->queue = *index;
	}
	return 0;
}

bool x86_is_end(const struct x86_insn *insn)
{
	return insn->kind == X86_JUMP || insn->kind == X86_RETURN || insn->kind == X86_TRAP;
}

/* The next node to look at, NULL: none. Calls that may not return are put off when their turn
 * comes. */
static struct x86_node *take_next(struct x86_flow *flow)
{
	struct x86_node *node = NULL;

	while (flow->queue) {
		uint32_t at = flow->queue;

		node = &flow->nodes[at - 1];
		flow->queue = node->next;
		if (!is_call(&node->insn) || !flow->ops->may_return) {
			node->waits = false;
			return node;
		}
		node->next = 0;
		if (flow->first_call)
			flow->nodes[flow->last_call - 1].next = at;
		else
			flow->first_call = at;
		flow->last_call = at;
	}
	if (!flow->first_call)
		return NULL;
	node = &flow->nodes[flow->first_call - 1];
	flow->first_call = node->next;
	node->waits = false;
	return node;
}

static int look(struct x86_flow *flow, const struct x86_node *node)
{
	const struct x86_flow_ops *ops = flow->ops;
	struct x86_insn insn = node->insn; /* reach may move nodes */
	struct x86_state state = node->state;
	int64_t off = node->off;
	int r = 0;

	flow->steps++;
	if (is_call(&insn) && insn.has_target && ops->enter) {
		struct x86_state entered = ops->enter(&state);

		r = reach(flow, off + insn.value, &entered);
	}
	ops->step(flow->arg, &state, &insn, flow->code + off);
	if ((insn.kind == X86_JUMP || insn.kind == X86_BRANCH) && insn.has_target)
		r = reach(flow, off + insn.value, &state);
	if (r || x86_is_end(&insn))
		return r;
	if (ops->may_return && is_call(&insn)) {
		const struct x86_node *next = x86_flow_at(flow, (size_t)off + insn.bytes);

		if (next && !ops->may_return(&state, &next->state))
			return 0;
	}
	return reach(flow, off + insn.bytes, &state);
}

int x86_flow_follow(struct x86_flow *flow, size_t off, const struct x86_state *start, bool guess)
{
	struct x86_node *node;
	int r;

	flow->epoch++;
	flow->bad = false;
	flow->chain = 0;
	r = reach(flow, (int64_t)off, start);
	while ((node = take_next(flow))) {
		if (!r && flow->steps < flow->max_steps)
			r = look(flow, node);
		else /* no memory, or too many steps */
			flow->bad = guess = true;
	}
	if (r || !flow->bad || !guess)
		return r;
	for (uint32_t at = flow->chain; at;
	     at = flow->nodes[at - 1].chain) /* as if it had never been */
		flow->nodes[at - 1].epoch = 0;
	return -EBADMSG;
}

int x86_flow_follow_rest(struct x86_flow *flow, const struct x86_state *start)
{
	for (size_t off = 0; (off = x86_flow_next(flow, off)) < flow->bytes;) {
		int r = x86_flow_follow(flow, off, start, true);

		if (r && r != -EBADMSG)
			return r;
		off += r != 0;
	}
	return 0;
}

/* --- what is asked */

size_t x86_fill(const uint8_t *code, size_t bytes)
{
	struct x86_insn insn;
	size_t at = 0;

	while (at < bytes && at < 12 && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < bytes && (code[at] == 0x90 || (code[at] == 0xcc && !at)))
		return at + 1;
	if (bytes - at >= 2 && code[at] == 0x0f && code[at + 1] == 0x1f &&
	    !x86_decode(code, bytes, &insn))
		return insn.bytes;
	return 0;
}

size_t x86_flow_next(const struct x86_flow *flow, size_t off)
{
	while (off < flow->bytes) {
		const struct x86_node *node = x86_flow_at(flow, off);
		size_t skip = node ? node->insn.bytes
				   : flow->ops->fill(flow->code + off, flow->bytes - off);

		if (!skip)
			break;
		off += skip;
	}
	return off < flow->bytes ? off : flow->bytes;
}

size_t x86_flow_skip(const struct x86_flow *flow, size_t off)
{
	struct x86_insn insn;

	while (off < flow->bytes && !x86_flow_at(flow, off)) {
		if (x86_decode(flow->code + off, flow->bytes - off, &insn))
			return off + 1;
		off += insn.bytes;
		if (x86_is_end(&insn))
			break;
	}
	return off;
}
