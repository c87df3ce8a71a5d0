/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are followed, of registers and of a few words of the stack:
 *
 *	n	CFA + n, in bytes; CFA: sp before the call that led here
 *	RETURN	the return address
 *	FP	the caller's fp
 *	SENDER	the caller's sp as the interpreter has it: it takes arguments off, adapters add some
 *	METHOD	struct Method of an interpreted method
 *
 * A state is what is known before an instruction. It only ever loses knowledge, so each instruction is
 * looked at a bounded number of times; steps are bounded besides.
 */
#include "plugins/hotspot/code/rules.h"

#include "plugins/hotspot/code/decode.h"
#include "plugins/hotspot/hotspot_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	V_UNKNOWN = INT16_MIN,
	V_RETURN,
	V_FP,
	V_SENDER,
	V_METHOD,
	V_INNER, /* points to a word that holds the interpreter's frame pointer: see make_inner */
	V_FIRST, /* numbers begin here */
};

#define SLOT_NONE INT16_MIN

/*
 * Frame of the interpreter: words from fp, frame_x86.hpp, 8 to 27: sender_sp -1, method -3; fp is CFA - 16
 * (interpreter_frame_sender_sp_offset, interpreter_frame_method_offset).
 */
#define FRAME_FP     (-16)
#define FRAME_SENDER (FRAME_FP - 8)
#define FRAME_METHOD (FRAME_FP - 24)

struct state {
	int16_t regs[HS_N_REGISTERS];
	int16_t return_at, fp_at, sender_at; /* from CFA, SLOT_NONE: not on the stack */
	int16_t inner_at; /* where the fp of the interpreter's frame was put: see makes_inner */
	uint8_t has_method; /* the frame of the interpreter has it */
	uint8_t exact;	    /* CFA is the interpreter's SENDER: see push */
	uint8_t at_entry;   /* on the stack of a continuation's entry: CFA is not known */
	uint8_t pad;
	/* Where sp has no place: a value that was put into memory, and where from sp; SLOT_NONE: none. */
	int16_t saved_at, saved;
};

/* An instruction that was decoded. */
struct node {
	struct hs_insn insn;
	struct state state;
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

/* --- what an instruction does */

static bool is_number(int16_t value)
{
	return value >= V_FIRST;
}

static int16_t add(int16_t value, int64_t more)
{
	int64_t sum;

	if (!more)
		return value;
	if (!is_number(value) || __builtin_add_overflow((int64_t)value, more, &sum) ||
	    sum < V_FIRST || sum > INT16_MAX)
		return V_UNKNOWN;
	return (int16_t)sum;
}

/* What lies below sp is no longer there. */
static void drop_below(struct state *state)
{
	int16_t sp = state->regs[HS_RSP];

	if (!is_number(sp))
		return;
	if (state->return_at < sp)
		state->return_at = SLOT_NONE;
	if (state->fp_at < sp)
		state->fp_at = SLOT_NONE;
	if (state->sender_at < sp)
		state->sender_at = SLOT_NONE;
	if (state->inner_at < sp)
		state->inner_at = SLOT_NONE;
}

static int16_t load(const struct state *state, int16_t at)
{
	if (!is_number(at))
		return V_UNKNOWN;
	if (at == state->return_at)
		return V_RETURN;
	if (at == state->fp_at)
		return V_FP;
	if (at == state->inner_at)
		return FRAME_FP;
	return at == state->sender_at ? V_SENDER : V_UNKNOWN;
}

static void store(struct state *state, int16_t at, int16_t value)
{
	if (!is_number(at))
		return;
	if (value == V_RETURN)
		state->return_at = at;
	else if (at == state->return_at)
		state->return_at = SLOT_NONE;
	if (value == V_FP && state->fp_at == SLOT_NONE)
		state->fp_at = at;
	else if (at == state->fp_at && value != V_FP)
		state->fp_at = SLOT_NONE;
	if (value == V_SENDER)
		state->sender_at = at;
	else if (at == state->sender_at)
		state->sender_at = SLOT_NONE;
	if (state->has_method && value == FRAME_FP)
		state->inner_at = at;
	else if (at == state->inner_at)
		state->inner_at = SLOT_NONE;
	if (at == FRAME_METHOD && state->regs[HS_RBP] == FRAME_FP && value == V_METHOD)
		state->has_method = 1;
}

static bool holds(const struct state *state, int16_t value)
{
	for (int i = 0; i < HS_N_REGISTERS; i++)
		if (state->regs[i] == value)
			return true;
	return false;
}

static int16_t moved(int16_t slot, int16_t by)
{
	int16_t sum = slot == SLOT_NONE ? V_UNKNOWN : add(slot, by);

	return is_number(sum) ? sum : SLOT_NONE;
}

/* Measures from another CFA: what was `by` less. */
static void move_cfa(struct state *state, int16_t by)
{
	for (int i = 0; i < HS_N_REGISTERS; i++)
		if (is_number(state->regs[i]))
			state->regs[i] = add(state->regs[i], by);
	state->return_at = moved(state->return_at, by);
	state->fp_at = moved(state->fp_at, by);
	state->sender_at = moved(state->sender_at, by);
	state->inner_at = SLOT_NONE;
}

static void forget_places(struct state *state)
{
	for (int i = 0; i < HS_N_REGISTERS; i++)
		if (is_number(state->regs[i]))
			state->regs[i] = V_UNKNOWN;
	state->return_at = state->fp_at = state->sender_at = state->saved_at = SLOT_NONE;
	state->inner_at = SLOT_NONE;
	state->saved = V_UNKNOWN;
	state->has_method = 0;
}

/*
 * An entry of the interpreter took the return address off to put locals below it, and puts it back: the
 * frame is made from there; the caller's sp is SENDER.
 */
static void push_return(struct state *state)
{
	if (is_number(state->regs[HS_RSP])) {
		move_cfa(state, (int16_t)-state->regs[HS_RSP]);
	} else {
		forget_places(state);
	}
	state->regs[HS_RSP] = -8;
	state->return_at = -8;
}

/* Something that sp has no place for any longer is as far from it as before. */
static void move_saved(struct state *state, int64_t sp_by)
{
	int16_t at = state->saved_at == SLOT_NONE ? V_UNKNOWN : add(state->saved_at, -sp_by);

	state->saved_at = is_number(at) && at >= 0 ? at : SLOT_NONE;
}

static void push(struct state *state, int16_t value)
{
	if (value == V_RETURN && !state->exact && holds(state, V_SENDER)) {
		push_return(state);
		return;
	}
	state->regs[HS_RSP] = add(state->regs[HS_RSP], -8);
	move_saved(state, -8);
	if (!is_number(state->regs[HS_RSP]) && is_number(value)) {
		state->saved_at = 0;
		state->saved = value;
	}
	store(state, state->regs[HS_RSP], value);
}

static int16_t pop(struct state *state)
{
	int16_t value = load(state, state->regs[HS_RSP]);

	if (!is_number(state->regs[HS_RSP]) && !state->saved_at)
		value = state->saved;
	state->regs[HS_RSP] = add(state->regs[HS_RSP], 8);
	move_saved(state, 8);
	drop_below(state);
	return value;
}

/*
 * In the interpreter's frame sp may be anywhere. A barrier of a collector makes a frame of its own there, as a
 * function does, to align sp for what it calls: push rbp | mov rbp, rsp | and rsp, -16 | ... | leave
 * (gc/shenandoah/shenandoahBarrierSetAssembler_x86.cpp, load_reference_barrier, 17 to 27). In a method's entry,
 * behind the frame that it made, sp has a place, and so has the fp that is saved.
 */
static bool makes_inner(const struct state *state, const struct hs_insn *insn)
{
	return state->has_method && insn->to == HS_RBP && insn->from == HS_RSP && !insn->value &&
	       !state->saved_at && state->saved == FRAME_FP;
}

/* sp is where the inner frame has the outer one's fp. */
static void back_to_inner(struct state *state)
{
	state->regs[HS_RSP] = V_UNKNOWN;
	state->saved_at = 0;
	state->saved = FRAME_FP;
}

static void set_register(struct state *state, uint8_t reg, int16_t value)
{
	if (reg != HS_RSP) {
		state->regs[reg] = value;
		return;
	}
	if (value == V_SENDER) { /* the frame is gone: CFA is where sp is now */
		forget_places(state);
		for (int i = 0; i < HS_N_REGISTERS; i++)
			if (state->regs[i] == V_SENDER)
				state->regs[i] = 0;
		state->exact = 1;
		value = 0;
	}
	if (value == V_INNER) {
		back_to_inner(state);
		return;
	}
	state->regs[HS_RSP] = is_number(value) ? value : V_UNKNOWN;
	state->saved_at = SLOT_NONE;
	state->at_entry = 0;
	drop_below(state);
}

static void add_to_sp(struct state *state, int64_t more)
{
	state->regs[HS_RSP] = add(state->regs[HS_RSP], more);
	move_saved(state, more);
	drop_below(state);
}

/* Stores by fp to where the return address is give the frame another one: SharedRuntime's blobs that a signal or
 * a thrower enters, Runtime1::handle_exception. */
static void store_register(struct state *state, const struct hs_insn *insn)
{
	int16_t value = insn->to == HS_NO_REGISTER ? V_UNKNOWN : state->regs[insn->to];
	int16_t at = add(state->regs[insn->from], insn->value);

	if (at == -8 && insn->to != HS_NO_REGISTER && !state->exact &&
	    (insn->from == HS_RBP || state->return_at == SLOT_NONE))
		value = V_RETURN;
	if (insn->from == HS_RSP && !is_number(state->regs[HS_RSP]) && insn->value >= 0 &&
	    insn->value <= INT16_MAX) {
		if (is_number(value)) {
			state->saved_at = (int16_t)insn->value;
			state->saved = value;
		} else if (state->saved_at == insn->value) {
			state->saved_at = SLOT_NONE;
		}
	}
	store(state, at, value);
}

/* MacroAssembler::pusha, popa (macroAssembler_x86.cpp, 8 to 27): 16 words, rbp's is the eleventh. */
#define PUSHA_RBP 0x50

static int16_t load_register(const struct state *state, const struct hs_insn *insn)
{
	int16_t value = load(state, add(state->regs[insn->from], insn->value));

	if (value != V_UNKNOWN || insn->from != HS_RSP)
		return value;
	if (insn->value == state->saved_at)
		return state->saved;
	return insn->to == HS_RBP && insn->value == PUSHA_RBP ? state->regs[HS_RBP] : value;
}

/* The stack of the continuation's entry: JavaThread::_cont_entry, from r15 (generate_cont_thaw,
 * stubGenerator_x86_64.cpp, 21 to 27; no other code loads sp from the thread). */
static void enter_continuation(struct state *state)
{
	forget_places(state);
	state->regs[HS_RSP] = state->regs[HS_RBP] = V_UNKNOWN;
	state->at_entry = 1;
}

/*
 * Code that is called has CFA at a multiple of 16 (System V ABI; compiled code keeps it too): there is
 * nothing to align where sp is at such a place already. Where another register has a place, it stays
 * the better base.
 */
static void align(struct state *state, const struct hs_insn *insn)
{
	int16_t value = state->regs[insn->to];

	state->regs[insn->to] = V_UNKNOWN;
	if (insn->to == HS_RSP && (insn->value < -16 || !is_number(value)))
		state->saved_at = SLOT_NONE;
	if (insn->to != HS_RSP || insn->value != -16 || !is_number(value) || value % 16)
		return;
	for (int i = 0; i < HS_N_REGISTERS; i++)
		if (is_number(state->regs[i]))
			return;
	state->regs[HS_RSP] = value;
}

static void leave(struct state *state)
{
	if (state->regs[HS_RBP] == V_INNER)
		back_to_inner(state);
	else
		state->regs[HS_RSP] = is_number(state->regs[HS_RBP]) ? state->regs[HS_RBP] : V_UNKNOWN;
	drop_below(state);
	state->regs[HS_RBP] = pop(state);
}

/*
 * Only generate_cont_thaw calls with the return address in no other place than a register that is lost: its frame
 * is the continuation's entry's (stubGenerator_x86_64.cpp, 21 to 27).
 */
static bool loses_return(const struct state *state)
{
	return state->return_at == SLOT_NONE && state->regs[HS_RCX] == V_RETURN &&
	       state->regs[HS_RBP] == V_FP && !state->exact;
}

/* rbx, rbp, r12 to r15 are kept by what is called (System V ABI; Java code keeps rbp alone). */
static void call(struct state *state)
{
	static const uint8_t lost[] = { HS_RAX, HS_RCX, HS_RDX, HS_RSI, HS_RDI,
					HS_R8, HS_R9, HS_R10, HS_R11 };

	if (loses_return(state))
		enter_continuation(state);
	for (size_t i = 0; i < sizeof(lost); i++)
		state->regs[lost[i]] = V_UNKNOWN;
	drop_below(state);
}

static void step(struct state *state, const struct hs_insn *insn)
{
	int16_t value;

	for (uint16_t left = insn->written; left; left &= left - 1)
		state->regs[__builtin_ctz(left)] = V_UNKNOWN;
	switch (insn->kind) {
	case HS_PUSH:
		push(state, insn->to == HS_NO_REGISTER ? V_UNKNOWN : state->regs[insn->to]);
		break;
	case HS_POP:
		value = pop(state);
		if (insn->to != HS_NO_REGISTER)
			set_register(state, insn->to, value);
		break;
	case HS_SET:
		if (insn->to == HS_RSP && insn->from == HS_RSP)
			add_to_sp(state, insn->value);
		else if (makes_inner(state, insn))
			state->regs[HS_RBP] = V_INNER;
		else
			set_register(state, insn->to, add(state->regs[insn->from], insn->value));
		break;
	case HS_ALIGN:
		align(state, insn);
		break;
	case HS_LOAD:
		if (insn->to == HS_RSP && insn->from == HS_R15)
			enter_continuation(state);
		else
			set_register(state, insn->to, load_register(state, insn));
		break;
	case HS_STORE:
		store_register(state, insn);
		break;
	case HS_LEAVE:
		leave(state);
		break;
	case HS_CALL:
		if (insn->has_target && insn->value == insn->bytes)
			push(state, V_UNKNOWN);
		else
			call(state);
		break;
	default:
		break;
	}
}

/* --- where it goes */

static int meet_slot(int16_t *slot, int16_t other, int16_t none)
{
	if (*slot == other || *slot == none)
		return 0;
	*slot = none;
	return 1;
}

/* Whether it lost something. */
static int meet(struct state *state, const struct state *other)
{
	int lost = 0;

	if (!memcmp(state, other, sizeof(*state)))
		return 0;
	for (int i = 0; i < HS_N_REGISTERS; i++)
		lost |= meet_slot(&state->regs[i], other->regs[i], V_UNKNOWN);
	lost |= meet_slot(&state->return_at, other->return_at, SLOT_NONE);
	lost |= meet_slot(&state->fp_at, other->fp_at, SLOT_NONE);
	lost |= meet_slot(&state->sender_at, other->sender_at, SLOT_NONE);
	lost |= meet_slot(&state->inner_at, other->inner_at, SLOT_NONE);
	lost |= meet_slot(&state->saved_at, other->saved_at, SLOT_NONE);
	if (state->saved_at != SLOT_NONE && state->saved != other->saved) {
		state->saved_at = SLOT_NONE;
		lost = 1;
	}
	if (state->has_method > other->has_method || state->exact > other->exact ||
	    state->at_entry > other->at_entry)
		lost = 1;
	state->at_entry &= other->at_entry;
	state->has_method &= other->has_method;
	state->exact &= other->exact;
	return lost;
}

static struct state start_state(enum hs_start start)
{
	struct state state = { .return_at = SLOT_NONE, .fp_at = SLOT_NONE, .sender_at = SLOT_NONE,
			       .inner_at = SLOT_NONE, .saved_at = SLOT_NONE, .saved = V_UNKNOWN };

	for (int i = 0; i < HS_N_REGISTERS; i++)
		state.regs[i] = V_UNKNOWN;
	switch (start) {
	case HS_START_ENTRY:
		state.regs[HS_R13] = V_SENDER;
		state.regs[HS_RBX] = V_METHOD;
		/* fallthrough */
	case HS_START_CALLED:
		state.regs[HS_RSP] = -8;
		state.regs[HS_RBP] = V_FP;
		state.return_at = -8;
		break;
	case HS_START_FRAME:
		state.sender_at = FRAME_SENDER;
		state.has_method = 1;
		/* fallthrough */
	case HS_START_WITH_FP:
		state.regs[HS_RBP] = FRAME_FP;
		state.fp_at = FRAME_FP;
		state.return_at = -8;
		break;
	case HS_START_THROWN:
		state.regs[HS_RDX] = V_RETURN;
		/* fallthrough */
	case HS_START_TRAPPED:
		state.regs[HS_RSP] = 0;
		state.regs[HS_RBP] = V_FP;
		break;
	case HS_START_CONTINUATION:
		state.at_entry = 1;
		break;
	}
	return state;
}

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
	struct hs_insn insn;
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
	r = hs_decode(rules->code + off, rules->bytes - off, &insn);
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
static int reach(struct hs_rules *rules, int64_t off, const struct state *state)
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
	} else if (node->epoch != rules->epoch || !meet(&node->state, state)) {
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
static int reach_called(struct hs_rules *rules, int64_t off, const struct state *before)
{
	struct state state = start_state(HS_START_CALLED);

	if (is_number(before->regs[HS_RBP])) {
		state = *before;
		push(&state, V_UNKNOWN);
	}
	return reach(rules, off, &state);
}

static bool is_end(const struct hs_insn *insn)
{
	return insn->kind == HS_JUMP || insn->kind == HS_RETURN || insn->kind == HS_TRAP;
}

static int go_on(struct hs_rules *rules, uint32_t at)
{
	struct node *node = &rules->nodes[at];
	struct hs_insn insn = node->insn;
	struct state state = node->state, before = state;
	int64_t off = node->off, next = off + insn.bytes;
	int r = 0;

	node->queued = false;
	step(&state, &insn);
	if (insn.kind == HS_CALL && insn.has_target && insn.value != insn.bytes)
		r = reach_called(rules, off + insn.value, &before);
	else if ((insn.kind == HS_JUMP || insn.kind == HS_BRANCH) && insn.has_target)
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
	struct state state = start_state(start);
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
	struct hs_insn insn;
	size_t at = 0;

	if (bytes >= 8 && !memcmp(code, "\0\0\0\0\0\0\0", 8))
		return 8;
	while (at < bytes && at < 12 && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < bytes && (code[at] == 0x90 || ((code[at] == 0xf4 || code[at] == 0xcc) && !at)))
		return at + 1;
	if (bytes - at >= 2 && code[at] == 0x0f && code[at + 1] == 0x1f && !hs_decode(code, bytes, &insn))
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
static bool is_odd(const uint8_t *code, const struct hs_insn *insn)
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
	struct hs_insn insn;

	for (int i = 0; i < 8 && off < rules->bytes; i++) {
		if (hs_decode(rules->code + off, rules->bytes - off, &insn) || is_odd(rules->code + off, &insn))
			return false;
		if (is_end(&insn))
			return true;
		off += insn.bytes;
	}
	return true;
}

size_t hs_rules_skip(const struct hs_rules *rules, size_t off)
{
	struct hs_insn insn;

	while (off < rules->bytes && !node_at(rules, off)) {
		if (hs_decode(rules->code + off, rules->bytes - off, &insn))
			return off + 1;
		off += insn.bytes;
		if (is_end(&insn))
			break;
	}
	return off;
}

/* --- the rule */

static uint32_t dwarf_register(unsigned int reg)
{
	static const uint8_t low[8] = { 0, 2, 1, 3, 7, 6, 4, 5 }; /* System V ABI, figure 3.36 */

	return reg < 8 ? low[reg] : reg;
}

static uint64_t unknown_rule(void)
{
	return HOTSPOT_RULE(0, HOTSPOT_RULE_UNKNOWN, 0, HOTSPOT_RULE_ON_STACK, HOTSPOT_METHOD_NONE);
}

static int find_register(const struct state *state, int16_t value)
{
	for (int i = 0; i < HS_N_REGISTERS; i++)
		if (state->regs[i] == value)
			return i;
	return -1;
}

/* A register that has a place: fp before sp, since it does not change with it. */
static int find_base(const struct state *state)
{
	static const uint8_t first[] = { HS_RBP, HS_RSP };

	for (size_t i = 0; i < sizeof(first); i++)
		if (is_number(state->regs[first[i]]) && !(state->regs[first[i]] % 8))
			return first[i];
	for (int i = 0; i < HS_N_REGISTERS; i++)
		if (is_number(state->regs[i]) && !(state->regs[i] % 8))
			return i;
	return -1;
}

/* Where the return address is, as a rule says it; -1: nowhere. */
static int find_return(const struct state *state)
{
	int reg;

	if (state->return_at == -8)
		return HOTSPOT_RULE_ON_STACK;
	if (state->return_at != SLOT_NONE && state->return_at == state->regs[HS_RSP])
		return HOTSPOT_RULE_AT_SP;
	reg = find_register(state, V_RETURN);
	return reg < 0 ? -1 : (int)dwarf_register((unsigned int)reg);
}

/* The caller's sp is SENDER, in a register: the frame of the interpreter is just gone. */
static uint64_t sender_rule(const struct state *state, int sender, int return_in, unsigned int method)
{
	if (return_in == HOTSPOT_RULE_ON_STACK && state->regs[HS_RSP] == -8)
		return_in = HOTSPOT_RULE_AT_SP;
	if (return_in == HOTSPOT_RULE_ON_STACK || state->regs[HS_RBP] != V_FP)
		return 0;
	return HOTSPOT_RULE(0, dwarf_register((unsigned int)sender), 0, return_in, method);
}

/* The old sp is in memory: see HOTSPOT_RULE_SAVED_SP. */
static uint64_t saved_rule(const struct state *state)
{
	int words = -state->saved / 8, fp_at = 0;

	if (state->regs[HS_RBP] != V_FP)
		fp_at = state->fp_at != SLOT_NONE && !(state->fp_at % 8) ? -state->fp_at / 8 : -1;
	if (state->saved_at == SLOT_NONE || state->saved_at % 8 || state->return_at != -8 || words < 0 ||
	    words > 31 || state->saved % 8 || fp_at < 0 || fp_at > 31)
		return unknown_rule();
	return HOTSPOT_RULE(state->saved_at / 8, HOTSPOT_RULE_SAVED_SP, fp_at, words, HOTSPOT_METHOD_NONE);
}

/*
 * The return address is at another place than CFA - 8, and no rule says where: as if CFA were behind it. The
 * caller's sp is a word or two off then, which only compiled callers need.
 */
static uint64_t displaced_rule(const struct state *state, int base)
{
	if (base < 0 || state->return_at == SLOT_NONE || state->regs[HS_RBP] != V_FP)
		return unknown_rule();
	return HOTSPOT_RULE((state->return_at + 8 - state->regs[base]) / 8,
			    dwarf_register((unsigned int)base), 0, HOTSPOT_RULE_ON_STACK, HOTSPOT_METHOD_NONE);
}

static bool is_inner(const struct state *state, int16_t value)
{
	return value == V_INNER || (is_number(value) && value == state->inner_at);
}

static uint64_t rule_of(const struct state *state)
{
	bool entry = !state->has_method && state->regs[HS_RBX] == V_METHOD;
	int return_in = find_return(state), base = find_base(state), sender = find_register(state, V_SENDER);
	unsigned int method = entry ? HOTSPOT_METHOD_ENTRY : HOTSPOT_METHOD_NONE;
	int fp_at = 0;

	if (state->has_method && state->regs[HS_RBP] == FRAME_FP)
		return HOTSPOT_RULE(2, dwarf_register(HS_RBP), 2, HOTSPOT_RULE_ON_STACK,
				    HOTSPOT_METHOD_FRAME);
	if (state->has_method && is_inner(state, state->regs[HS_RBP]))
		return HOTSPOT_RULE(2, dwarf_register(HS_RBP), 2, HOTSPOT_RULE_ON_STACK,
				    HOTSPOT_METHOD_INNER);
	if (state->at_entry)
		return HOTSPOT_RULE(0, HOTSPOT_RULE_CONTINUATION, 0, HOTSPOT_RULE_ON_STACK,
				    HOTSPOT_METHOD_NONE);
	if (return_in < 0)
		return displaced_rule(state, base);
	if (sender >= 0 && (!entry || base < 0)) {
		uint64_t rule = sender_rule(state, sender, return_in, method);

		if (rule)
			return rule;
	}
	/* fp is a frame's already, the caller's sp not yet in its slot: see hotspot_rule_method. */
	if (entry && base == HS_RBP && state->sender_at != FRAME_SENDER)
		base = is_number(state->regs[HS_RSP]) ? HS_RSP : -1;
	if (state->regs[HS_RBP] != V_FP)
		fp_at = state->fp_at != SLOT_NONE && !(state->fp_at % 8) ? -state->fp_at / 8 : -1;
	if (base < 0 && !entry)
		return saved_rule(state);
	if (base < 0 || fp_at < 0 || fp_at > 31)
		return unknown_rule();
	return HOTSPOT_RULE(-state->regs[base] / 8, dwarf_register((unsigned int)base), fp_at, return_in,
			    method);
}

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
		rules->rule = rule_of(&node->state);
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
