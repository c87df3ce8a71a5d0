/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/builtins/values.h"

#include <string.h>

/* --- what an instruction does */

static int16_t add(int16_t value, int64_t more)
{
	int64_t sum;

	if (!more)
		return value;
	if (!v8_is_number(value) || __builtin_add_overflow((int64_t)value, more, &sum) ||
	    sum < V_FIRST || sum > INT16_MAX)
		return V_UNKNOWN;
	return (int16_t)sum;
}

static int find_register(const struct v8_values *state, int16_t value)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (state->regs[i] == value)
			return i;
	return -1;
}

/* What lies below rsp is no longer there. */
static void drop_below(struct v8_values *state)
{
	int16_t sp = state->regs[X86_RSP];

	if (!v8_is_number(sp))
		return;
	if (state->return_at < sp)
		state->return_at = SLOT_NONE;
	if (state->fp_at < sp)
		state->fp_at = SLOT_NONE;
	if (state->kept_at < sp)
		state->kept_at = SLOT_NONE;
}

static int16_t load(const struct v8_values *state, int16_t at)
{
	if (!v8_is_number(at))
		return V_UNKNOWN;
	if (at == state->return_at)
		return V_RETURN;
	if (at == state->fp_at)
		return V_FP;
	return at == state->kept_at ? state->kept : V_UNKNOWN;
}

static void store(struct v8_values *state, int16_t at, int16_t value)
{
	if (!v8_is_number(at))
		return;
	if (value == V_RETURN)
		state->return_at = at;
	else if (at == state->return_at)
		state->return_at = SLOT_NONE;
	if (value == V_FP && state->fp_at == SLOT_NONE)
		state->fp_at = at;
	else if (at == state->fp_at && value != V_FP)
		state->fp_at = SLOT_NONE;
	if (v8_is_number(value)) {
		state->kept_at = at;
		state->kept = value;
	} else if (at == state->kept_at) {
		state->kept_at = SLOT_NONE;
	}
}

static int16_t moved(int16_t slot, int16_t by)
{
	int16_t sum = slot == SLOT_NONE ? V_UNKNOWN : add(slot, by);

	return v8_is_number(sum) ? sum : SLOT_NONE;
}

/* Measures from another CFA: what was `by` less. */
static void move_cfa(struct v8_values *state, int16_t by)
{
	if (!by)
		return;
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (v8_is_number(state->regs[i]))
			state->regs[i] = add(state->regs[i], by);
	state->return_at = moved(state->return_at, by);
	state->fp_at = moved(state->fp_at, by);
	state->saved_at = state->kept_at = SLOT_NONE;
}

static void forget_places(struct v8_values *state)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (v8_is_number(state->regs[i]))
			state->regs[i] = V_UNKNOWN;
	state->return_at = state->fp_at = state->saved_at = state->kept_at = SLOT_NONE;
	state->shifts = 0;
}

/* With the return address in a register, and nothing else needed of the stack, CFA can be where rsp is. */
static bool can_float(const struct v8_values *state)
{
	return state->regs[X86_RBP] == V_FP && find_register(state, V_RETURN) >= 0;
}

static void let_float(struct v8_values *state)
{
	forget_places(state);
	state->regs[X86_RSP] = 0;
	state->floats = 1;
}

/* The return address is put where it is to be: CFA is right above. */
static void push_return(struct v8_values *state)
{
	int16_t sp = state->regs[X86_RSP];

	if (v8_is_number(sp))
		move_cfa(state, (int16_t)-sp);
	else
		forget_places(state);
	state->floats = 0;
	state->regs[X86_RSP] = -8;
	state->return_at = -8;
}

static void move_saved(struct v8_values *state, int64_t by)
{
	int16_t at = state->saved_at == SLOT_NONE ? V_UNKNOWN : add(state->saved_at, -by);

	state->saved_at = v8_is_number(at) && at >= 0 ? at : SLOT_NONE;
}

static void push(struct v8_values *state, int16_t value)
{
	if (value == V_RETURN && state->return_at == SLOT_NONE && state->regs[X86_RBP] == V_FP) {
		push_return(state);
		return;
	}
	state->shifts = 0;
	state->regs[X86_RSP] = add(state->regs[X86_RSP], -8);
	move_saved(state, -8);
	store(state, state->regs[X86_RSP], value);
}

void v8_values_add_to_sp(struct v8_values *state, int64_t more)
{
	state->shifts = 0;
	state->regs[X86_RSP] = add(state->regs[X86_RSP], more);
	move_saved(state, more);
	drop_below(state);
}

static int16_t pop(struct v8_values *state)
{
	int16_t value = load(state, state->regs[X86_RSP]);

	v8_values_add_to_sp(state, 8);
	return value;
}

static void set_register(struct v8_values *state, uint8_t reg, int16_t value)
{
	if (reg == X86_RAX)
		state->argc = V_UNKNOWN;
	if (reg != X86_RSP) {
		state->regs[reg] = value;
		return;
	}
	if (!v8_is_number(value) && can_float(state)) {
		let_float(state);
		return;
	}
	state->regs[X86_RSP] = v8_is_number(value) ? value : V_UNKNOWN;
	state->saved_at = SLOT_NONE;
	state->shifts = 0;
	drop_below(state);
}

/* Up to here it was called, with rbp its caller's frame, and that frame it now leaves (OnStackReplacement,
 * builtins-x64.cc). */
static void leave_callers(struct v8_values *state, bool popped)
{
	forget_places(state);
	state->regs[X86_RSP] = popped ? -8 : FRAME_FP;
	state->regs[X86_RBP] = popped ? V_FP : FRAME_FP;
	state->fp_at = popped ? SLOT_NONE : FRAME_FP;
	state->return_at = -8;
	state->left = 1;
}

/* MacroAssembler::PrepareCallCFunction (macro-assembler-x64.cc) aligns rsp and keeps the old one above the
 * arguments: mov r10, rsp | sub rsp, n | and rsp, -16 | mov [rsp + n - 8], r10; behind the call it is loaded. */
static void store_register(struct v8_values *state, const struct x86_insn *insn)
{
	int16_t value = insn->to == X86_NO_REGISTER ? V_UNKNOWN : state->regs[insn->to];

	if (insn->from == X86_RSP && !v8_is_number(state->regs[X86_RSP]) && insn->value >= 0 &&
	    insn->value <= INT16_MAX) {
		if (v8_is_number(value)) {
			state->saved_at = (int16_t)insn->value;
			state->saved = value;
		} else if (state->saved_at == insn->value) {
			state->saved_at = SLOT_NONE;
		}
	}
	store(state, add(state->regs[insn->from], insn->value), value);
}

static int16_t load_register(const struct v8_values *state, const struct x86_insn *insn)
{
	if (insn->from == X86_RSP && insn->value == state->saved_at)
		return state->saved;
	return load(state, add(state->regs[insn->from], insn->value));
}

/* Nothing is known of what a call leaves but rbp: V8's code keeps no other register (x64 linkage, no callee-saved
 * ones); C++ keeps those of the System V ABI. */
static void call(struct v8_values *state)
{
	static const uint16_t kept = X86_BIT(X86_RSP) | X86_BIT(X86_RBP) | X86_BIT(X86_RBX) | X86_BIT(X86_R12) |
				     X86_BIT(X86_R13) | X86_BIT(X86_R14) | X86_BIT(X86_R15);

	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (!(kept & X86_BIT(i)))
			state->regs[i] = V_UNKNOWN;
	state->argc = V_UNKNOWN;
}

static void forget_sp(struct v8_values *state)
{
	bool floats = can_float(state);

	state->shifts = state->regs[X86_RBP] == V_FP && state->return_at != SLOT_NONE &&
			v8_is_number(state->regs[X86_RSP]);
	state->regs[X86_RSP] = V_UNKNOWN;
	state->saved_at = SLOT_NONE;
	if (floats)
		let_float(state);
}

static void forget_written(struct v8_values *state, uint16_t written)
{
	if (written & X86_BIT(X86_RSP))
		forget_sp(state);
	if (written & X86_BIT(X86_RAX))
		state->argc = V_UNKNOWN;
	for (unsigned int left = written & (uint16_t)~X86_BIT(X86_RSP); left; left &= left - 1)
		state->regs[__builtin_ctz(left)] = V_UNKNOWN;
}

static int16_t memory(const struct v8_values *state, const struct x86_insn *insn)
{
	return insn->from == X86_NO_REGISTER ? V_UNKNOWN : add(state->regs[insn->from], insn->value);
}

static void step_push(struct v8_values *state, const struct x86_insn *insn)
{
	push(state, insn->to == X86_NO_REGISTER ? load(state, memory(state, insn)) : state->regs[insn->to]);
}

static void step_pop(struct v8_values *state, const struct x86_insn *insn)
{
	int16_t value = pop(state);

	if (insn->to != X86_NO_REGISTER)
		set_register(state, insn->to, value);
	else
		store(state, memory(state, insn), value);
}

static void step_set(struct v8_values *state, const struct x86_insn *insn)
{
	if (insn->to == X86_RSP && insn->from == X86_RSP)
		v8_values_add_to_sp(state, insn->value);
	else if (insn->to == X86_RSP && insn->from == X86_RBP && !insn->value && state->regs[X86_RBP] == V_FP)
		leave_callers(state, false);
	else
		set_register(state, insn->to, add(state->regs[insn->from], insn->value));
}

static void step_leave(struct v8_values *state)
{
	if (state->regs[X86_RBP] == V_FP) {
		leave_callers(state, true);
		return;
	}
	set_register(state, X86_RSP, state->regs[X86_RBP]);
	state->regs[X86_RBP] = pop(state);
}

void v8_values_step(struct v8_values *state, const struct x86_insn *insn)
{
	if (insn->written)
		forget_written(state, insn->written);
	switch (insn->kind) {
	case X86_PUSH:
		step_push(state, insn);
		break;
	case X86_POP:
		step_pop(state, insn);
		break;
	case X86_SET:
		step_set(state, insn);
		break;
	case X86_ALIGN:
		state->regs[insn->to] = V_UNKNOWN;
		if (insn->to == X86_RSP)
			state->saved_at = SLOT_NONE;
		break;
	case X86_LOAD:
		set_register(state, insn->to, load_register(state, insn));
		break;
	case X86_STORE:
		store_register(state, insn);
		break;
	case X86_LEAVE:
		step_leave(state);
		break;
	case X86_CALL:
		if (insn->has_target && insn->value == insn->bytes)
			push(state, V_UNKNOWN);
		else
			call(state);
		break;
	default:
		break;
	}
}

void v8_values_set_called(struct v8_values *state)
{
	forget_places(state);
	state->regs[X86_RSP] = state->return_at = -8;
}

/* --- where ways meet */

/* Whether it lost something. */
static bool meet_value(int16_t *value, int16_t other)
{
	if (*value == other || *value == V_UNKNOWN)
		return false;
	*value = V_UNKNOWN; /* and SLOT_NONE */
	return true;
}

static bool meet_plain(struct v8_values *state, const struct v8_values *other)
{
	bool lost = false;

	for (int i = 0; i < X86_N_REGISTERS; i++)
		lost |= meet_value(&state->regs[i], other->regs[i]);
	lost |= meet_value(&state->return_at, other->return_at);
	lost |= meet_value(&state->fp_at, other->fp_at);
	if (state->saved_at != SLOT_NONE && (state->saved_at != other->saved_at || state->saved != other->saved)) {
		state->saved_at = SLOT_NONE;
		lost = true;
	}
	if (state->kept_at != SLOT_NONE && (state->kept_at != other->kept_at || state->kept != other->kept)) {
		state->kept_at = SLOT_NONE;
		lost = true;
	}
	lost |= state->shifts > other->shifts || state->left > other->left;
	state->shifts &= other->shifts;
	state->left &= other->left;
	return lost | meet_value(&state->argc, other->argc);
}

static bool is_called(const struct v8_values *state)
{
	return state->regs[X86_RBP] == V_FP && state->regs[X86_RSP] == -8 && state->return_at == -8;
}

/*
 * In a frame both ways have the same rsp. Where they seem to differ, one had a call that took arguments off, as all
 * calls of JavaScript do, and it is the higher.
 */
static bool meet_sp(struct v8_values *state, const struct v8_values *other)
{
	int16_t *sp = &state->regs[X86_RSP];

	if (!v8_is_number(state->regs[X86_RBP]) || !v8_is_number(*sp) || other->regs[X86_RSP] <= *sp)
		return false;
	*sp = other->regs[X86_RSP];
	drop_below(state);
	return true;
}

bool v8_values_meet(struct v8_values *state, const struct v8_values *other)
{
	struct v8_values floating, plain;
	bool lost = false;

	if (!memcmp(state, other, sizeof(*state)))
		return false;
	if (state->shifts && is_called(other)) { /* once around the loop that moves */
		v8_values_set_called(state);
		lost = true;
	}
	if (other->shifts && is_called(state)) {
		plain = *other;
		v8_values_set_called(&plain);
		other = &plain;
	}
	if (v8_is_number(state->regs[X86_RBP]) && state->regs[X86_RBP] == other->regs[X86_RBP] &&
	    v8_is_number(other->regs[X86_RSP]) && v8_is_number(state->regs[X86_RSP])) {
		lost |= meet_sp(state, other);
		plain = *other;
		plain.regs[X86_RSP] = state->regs[X86_RSP];
		other = &plain;
	}
	if (!state->floats && (other->floats || state->regs[X86_RSP] != other->regs[X86_RSP]) && can_float(state) &&
	    can_float(other)) {
		let_float(state);
		lost = true;
	}
	if (!state->floats)
		return meet_plain(state, other) || lost;
	floating = *other;
	let_float(&floating);
	lost |= meet_plain(state, &floating);
	if (find_register(state, V_RETURN) < 0) { /* nothing is left to float with */
		lost |= state->regs[X86_RSP] != V_UNKNOWN;
		state->regs[X86_RSP] = V_UNKNOWN;
	}
	return lost;
}

struct v8_values v8_values_start(bool in_frame)
{
	struct v8_values state = { .return_at = -8, .fp_at = in_frame ? FRAME_FP : SLOT_NONE,
			       .saved_at = SLOT_NONE, .kept_at = SLOT_NONE, .argc = V_UNKNOWN };

	for (int i = 0; i < X86_N_REGISTERS; i++)
		state.regs[i] = V_UNKNOWN;
	state.regs[X86_RSP] = in_frame ? V_UNKNOWN : -8;
	state.regs[X86_RBP] = in_frame ? FRAME_FP : V_FP;
	return state;
}

/* --- the rule */

static uint8_t dwarf_register(unsigned int reg)
{
	static const uint8_t low[8] = { 0, 2, 1, 3, 7, 6, 4, 5 }; /* System V ABI, figure 3.36 */

	return reg < 8 ? low[reg] : (uint8_t)reg;
}

/* A register that has a place: rbp before rsp, since it does not change with it. */
static int find_base(const struct v8_values *state)
{
	if (v8_is_number(state->regs[X86_RBP]))
		return X86_RBP;
	if (v8_is_number(state->regs[X86_RSP]))
		return X86_RSP;
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (v8_is_number(state->regs[i]))
			return i;
	return -1;
}

static const struct v8_flow_rule no_rule = { .base = V8_ROW_NONE, .return_in = V8_RETURN_ON_STACK };

struct v8_flow_rule v8_values_rule(const struct v8_values *state, bool keeps_frame)
{
	struct v8_flow_rule rule = { .return_in = V8_RETURN_ON_STACK };
	int base = find_base(state), reg, cfa = 0;

	/* An exit frame is left: mov rcx, [rbp + 8] | mov rbp, [rbp] | lea rsp, [r15 + 8] (LeaveExitFrame,
	 * macro-assembler-x64.cc, 7.8 to 11.3). rsp is too low for what the caller has, rbp is right. */
	if (base < 0 && can_float(state)) {
		reg = find_register(state, V_RETURN);
		return (struct v8_flow_rule){ .base = V8_ROW_RSP, .return_in = dwarf_register((unsigned int)reg) };
	}
	if (base < 0)
		return no_rule;
	if (state->return_at != SLOT_NONE) {
		cfa = state->return_at + 8; /* elsewhere than at -8: as if CFA were behind it */
	} else {
		reg = find_register(state, V_RETURN);
		if (reg < 0)
			return no_rule;
		rule.return_in = dwarf_register((unsigned int)reg);
	}
	rule.base = dwarf_register((unsigned int)base);
	rule.offset = cfa - state->regs[base];
	/* A builtin that makes its caller's frame (BaselineOutOfLinePrologue) returns with rbp in it. */
	if (state->regs[X86_RBP] == V_FP || keeps_frame)
		return rule;
	if (state->fp_at == SLOT_NONE || state->fp_at == cfa)
		return no_rule;
	rule.rbp_at = (int16_t)(state->fp_at - cfa);
	return rule;
}
