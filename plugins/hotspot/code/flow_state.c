/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions do to what is known. */
#include "plugins/hotspot/code/flow_state.h"

#include <stddef.h>
#include <string.h>

static int16_t add(int16_t value, int64_t more)
{
	int64_t sum;

	if (!more)
		return value;
	if (!hs_is_number(value) || __builtin_add_overflow((int64_t)value, more, &sum) ||
	    sum < V_FIRST || sum > INT16_MAX)
		return V_UNKNOWN;
	return (int16_t)sum;
}

/* What lies below sp is no longer there. */
static void drop_below(struct hs_state *state)
{
	int16_t sp = state->regs[X86_RSP];

	if (!hs_is_number(sp))
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

static int16_t load(const struct hs_state *state, int16_t at)
{
	if (!hs_is_number(at))
		return V_UNKNOWN;
	if (at == state->return_at)
		return V_RETURN;
	if (at == state->fp_at)
		return V_FP;
	if (at == state->inner_at)
		return FRAME_FP;
	return at == state->sender_at ? V_SENDER : V_UNKNOWN;
}

static void store(struct hs_state *state, int16_t at, int16_t value)
{
	if (!hs_is_number(at))
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
	if (at == FRAME_METHOD && state->regs[X86_RBP] == FRAME_FP && value == V_METHOD)
		state->has_method = 1;
}

static bool holds(const struct hs_state *state, int16_t value)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (state->regs[i] == value)
			return true;
	return false;
}

static int16_t moved(int16_t slot, int16_t by)
{
	int16_t sum = slot == SLOT_NONE ? V_UNKNOWN : add(slot, by);

	return hs_is_number(sum) ? sum : SLOT_NONE;
}

/* Measures from another CFA: what was `by` less. */
static void move_cfa(struct hs_state *state, int16_t by)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (hs_is_number(state->regs[i]))
			state->regs[i] = add(state->regs[i], by);
	state->return_at = moved(state->return_at, by);
	state->fp_at = moved(state->fp_at, by);
	state->sender_at = moved(state->sender_at, by);
	state->inner_at = SLOT_NONE;
}

static void forget_places(struct hs_state *state)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (hs_is_number(state->regs[i]))
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
static void push_return(struct hs_state *state)
{
	if (hs_is_number(state->regs[X86_RSP])) {
		move_cfa(state, (int16_t)-state->regs[X86_RSP]);
	} else {
		forget_places(state);
	}
	state->regs[X86_RSP] = -8;
	state->return_at = -8;
}

/* Something that sp has no place for any longer is as far from it as before. */
static void move_saved(struct hs_state *state, int64_t sp_by)
{
	int16_t at = state->saved_at == SLOT_NONE ? V_UNKNOWN : add(state->saved_at, -sp_by);

	state->saved_at = hs_is_number(at) && at >= 0 ? at : SLOT_NONE;
}

void hs_state_push(struct hs_state *state, int16_t value)
{
	if (value == V_RETURN && !state->exact && holds(state, V_SENDER)) {
		push_return(state);
		return;
	}
	state->regs[X86_RSP] = add(state->regs[X86_RSP], -8);
	move_saved(state, -8);
	if (!hs_is_number(state->regs[X86_RSP]) && hs_is_number(value)) {
		state->saved_at = 0;
		state->saved = value;
	}
	store(state, state->regs[X86_RSP], value);
}

static int16_t pop(struct hs_state *state)
{
	int16_t value = load(state, state->regs[X86_RSP]);

	if (!hs_is_number(state->regs[X86_RSP]) && !state->saved_at)
		value = state->saved;
	state->regs[X86_RSP] = add(state->regs[X86_RSP], 8);
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
static bool makes_inner(const struct hs_state *state, const struct x86_insn *insn)
{
	return state->has_method && insn->to == X86_RBP && insn->from == X86_RSP && !insn->value &&
	       !state->saved_at && state->saved == FRAME_FP;
}

/* sp is where the inner frame has the outer one's fp. */
static void back_to_inner(struct hs_state *state)
{
	state->regs[X86_RSP] = V_UNKNOWN;
	state->saved_at = 0;
	state->saved = FRAME_FP;
}

static void set_register(struct hs_state *state, uint8_t reg, int16_t value)
{
	if (reg != X86_RSP) {
		state->regs[reg] = value;
		return;
	}
	if (value == V_SENDER) { /* the frame is gone: CFA is where sp is now */
		forget_places(state);
		for (int i = 0; i < X86_N_REGISTERS; i++)
			if (state->regs[i] == V_SENDER)
				state->regs[i] = 0;
		state->exact = 1;
		value = 0;
	}
	if (value == V_INNER) {
		back_to_inner(state);
		return;
	}
	state->regs[X86_RSP] = hs_is_number(value) ? value : V_UNKNOWN;
	state->saved_at = SLOT_NONE;
	state->at_entry = 0;
	drop_below(state);
}

static void add_to_sp(struct hs_state *state, int64_t more)
{
	state->regs[X86_RSP] = add(state->regs[X86_RSP], more);
	move_saved(state, more);
	drop_below(state);
}

/* Stores by fp to where the return address is give the frame another one: SharedRuntime's blobs that a signal or
 * a thrower enters, Runtime1::handle_exception. */
static void store_register(struct hs_state *state, const struct x86_insn *insn)
{
	int16_t value = insn->to == X86_NO_REGISTER ? V_UNKNOWN : state->regs[insn->to];
	int16_t at = add(state->regs[insn->from], insn->value);

	if (at == -8 && insn->to != X86_NO_REGISTER && !state->exact &&
	    (insn->from == X86_RBP || state->return_at == SLOT_NONE))
		value = V_RETURN;
	if (insn->from == X86_RSP && !hs_is_number(state->regs[X86_RSP]) && insn->value >= 0 &&
	    insn->value <= INT16_MAX) {
		if (hs_is_number(value)) {
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

static int16_t load_register(const struct hs_state *state, const struct x86_insn *insn)
{
	int16_t value = load(state, add(state->regs[insn->from], insn->value));

	if (value != V_UNKNOWN || insn->from != X86_RSP)
		return value;
	if (insn->value == state->saved_at)
		return state->saved;
	return insn->to == X86_RBP && insn->value == PUSHA_RBP ? state->regs[X86_RBP] : value;
}

/* The stack of the continuation's entry: JavaThread::_cont_entry, from r15 (generate_cont_thaw,
 * stubGenerator_x86_64.cpp, 21 to 27; no other code loads sp from the thread). */
static void enter_continuation(struct hs_state *state)
{
	forget_places(state);
	state->regs[X86_RSP] = state->regs[X86_RBP] = V_UNKNOWN;
	state->at_entry = 1;
}

/*
 * Code that is called has CFA at a multiple of 16 (System V ABI; compiled code keeps it too): there is
 * nothing to align where sp is at such a place already. Where another register has a place, it stays
 * the better base.
 */
static void align(struct hs_state *state, const struct x86_insn *insn)
{
	int16_t value = state->regs[insn->to];

	state->regs[insn->to] = V_UNKNOWN;
	if (insn->to == X86_RSP && (insn->value < -16 || !hs_is_number(value)))
		state->saved_at = SLOT_NONE;
	if (insn->to != X86_RSP || insn->value != -16 || !hs_is_number(value) || value % 16)
		return;
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (hs_is_number(state->regs[i]))
			return;
	state->regs[X86_RSP] = value;
}

static void leave(struct hs_state *state)
{
	if (state->regs[X86_RBP] == V_INNER)
		back_to_inner(state);
	else
		state->regs[X86_RSP] = hs_is_number(state->regs[X86_RBP]) ? state->regs[X86_RBP] : V_UNKNOWN;
	drop_below(state);
	state->regs[X86_RBP] = pop(state);
}

/*
 * Only generate_cont_thaw calls with the return address in no other place than a register that is lost: its frame
 * is the continuation's entry's (stubGenerator_x86_64.cpp, 21 to 27).
 */
static bool loses_return(const struct hs_state *state)
{
	return state->return_at == SLOT_NONE && state->regs[X86_RCX] == V_RETURN &&
	       state->regs[X86_RBP] == V_FP && !state->exact;
}

/* rbx, rbp, r12 to r15 are kept by what is called (System V ABI; Java code keeps rbp alone). */
static void call(struct hs_state *state)
{
	static const uint8_t lost[] = { X86_RAX, X86_RCX, X86_RDX, X86_RSI, X86_RDI,
					X86_R8, X86_R9, X86_R10, X86_R11 };

	if (loses_return(state))
		enter_continuation(state);
	for (size_t i = 0; i < sizeof(lost); i++)
		state->regs[lost[i]] = V_UNKNOWN;
	drop_below(state);
}

void hs_state_step(struct hs_state *state, const struct x86_insn *insn)
{
	int16_t value;

	for (uint16_t left = insn->written; left; left &= left - 1)
		state->regs[__builtin_ctz(left)] = V_UNKNOWN;
	switch (insn->kind) {
	case X86_PUSH:
		hs_state_push(state, insn->to == X86_NO_REGISTER ? V_UNKNOWN : state->regs[insn->to]);
		break;
	case X86_POP:
		value = pop(state);
		if (insn->to != X86_NO_REGISTER)
			set_register(state, insn->to, value);
		break;
	case X86_SET:
		if (insn->to == X86_RSP && insn->from == X86_RSP)
			add_to_sp(state, insn->value);
		else if (makes_inner(state, insn))
			state->regs[X86_RBP] = V_INNER;
		else
			set_register(state, insn->to, add(state->regs[insn->from], insn->value));
		break;
	case X86_ALIGN:
		align(state, insn);
		break;
	case X86_LOAD:
		if (insn->to == X86_RSP && insn->from == X86_R15)
			enter_continuation(state);
		else
			set_register(state, insn->to, load_register(state, insn));
		break;
	case X86_STORE:
		store_register(state, insn);
		break;
	case X86_LEAVE:
		leave(state);
		break;
	case X86_CALL:
		if (insn->has_target && insn->value == insn->bytes)
			hs_state_push(state, V_UNKNOWN);
		else
			call(state);
		break;
	default:
		break;
	}
}

static int meet_slot(int16_t *slot, int16_t other, int16_t none)
{
	if (*slot == other || *slot == none)
		return 0;
	*slot = none;
	return 1;
}

int hs_state_meet(struct hs_state *state, const struct hs_state *other)
{
	int lost = 0;

	if (!memcmp(state, other, sizeof(*state)))
		return 0;
	for (int i = 0; i < X86_N_REGISTERS; i++)
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

struct hs_state hs_state_start(enum hs_start start)
{
	struct hs_state state = { .return_at = SLOT_NONE, .fp_at = SLOT_NONE, .sender_at = SLOT_NONE,
			       .inner_at = SLOT_NONE, .saved_at = SLOT_NONE, .saved = V_UNKNOWN };

	for (int i = 0; i < X86_N_REGISTERS; i++)
		state.regs[i] = V_UNKNOWN;
	switch (start) {
	case HS_START_ENTRY:
		state.regs[X86_R13] = V_SENDER;
		state.regs[X86_RBX] = V_METHOD;
		/* fallthrough */
	case HS_START_CALLED:
		state.regs[X86_RSP] = -8;
		state.regs[X86_RBP] = V_FP;
		state.return_at = -8;
		break;
	case HS_START_FRAME:
		state.sender_at = FRAME_SENDER;
		state.has_method = 1;
		/* fallthrough */
	case HS_START_WITH_FP:
		state.regs[X86_RBP] = FRAME_FP;
		state.fp_at = FRAME_FP;
		state.return_at = -8;
		break;
	case HS_START_THROWN:
		state.regs[X86_RDX] = V_RETURN;
		/* fallthrough */
	case HS_START_TRAPPED:
		state.regs[X86_RSP] = 0;
		state.regs[X86_RBP] = V_FP;
		break;
	case HS_START_CONTINUATION:
		state.at_entry = 1;
		break;
	}
	return state;
}
