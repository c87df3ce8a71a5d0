/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What V8's builtins do that other code does not: plugins/shared/x86/flow.h follows them, and asks
 * here. They take the return address off while arguments move, by loops or by a register, so CFA is
 * then wherever rsp is; they leave their callers' frames, and make them; and some calls never
 * return.
 */
#include "plugins/v8/code/flow.h"

#include <errno.h>
#include <string.h>

enum {
	/* rsp moved by a register in code without a frame: what is on the stack goes to the new
	 * top, the return address first (Generate_CallOrConstructVarargs, ..ForwardVarargs,
	 * CallBoundFunction, builtins-x64.cc). */
	SHIFTS = 1 << 0,
	LEFT = 1 << 8, /* it left its caller's frame, and is now as if that one's caller had called
			  it */
	/* CFA is wherever rsp is: the return address is in a register while arguments are pushed or
	 * dropped in a loop, or by a register (Generate_CallOrConstructVarargs,
	 * InterpreterPushArgs, builtins-x64.cc). */
	FLOATS = 1 << 9,
};

#define FRAME_FP (-16) /* rbp in a frame: CFA - 16 (StandardFrameConstants, frame-constants.h) */

static const struct x86_flow_ops v8_flow_ops;

/* With the return address in a register, and nothing else needed of the stack, CFA can be where rsp
 * is. */
static bool can_float(const struct x86_state *state)
{
	return state->regs[X86_RBP] == X86_V_FP && x86_state_find(state, X86_V_RETURN) >= 0;
}

static void let_float(struct x86_state *state)
{
	x86_state_forget_places(state);
	state->regs[X86_RSP] = 0;
	state->facts |= FLOATS;
}

/* As if it had just been called. */
static void set_called(struct x86_state *state)
{
	x86_state_forget_places(state);
	state->regs[X86_RSP] = state->at[X86_AT_RETURN] = -8;
}

/* Up to here it was called, with rbp its caller's frame, and that frame it now leaves
 * (OnStackReplacement, builtins-x64.cc). */
static void leave_callers(struct x86_state *state, bool popped)
{
	set_called(state);
	if (!popped)
		state->regs[X86_RSP] = state->regs[X86_RBP] = state->at[X86_AT_FP] = FRAME_FP;
	state->facts |= LEFT;
}

static bool set_sp(struct x86_state *state, int16_t *value)
{
	if (x86_is_number(*value) || !can_float(state))
		return false;
	let_float(state);
	return true;
}

/* mov [rsp + index * 8], register; also with a displacement of a byte. */
static bool is_store_on_top(const uint8_t *op, unsigned int bytes)
{
	return bytes >= 4 && (op[0] & 0xf9) == 0x48 && op[1] == 0x89 &&
	       ((op[2] & 0xc7) == 0x04 || (op[2] & 0xc7) == 0x44) && (op[3] & 7) == 4 &&
	       (op[3] & 0xf8) != 0x20;
}

/* rax after an instruction that changes it, where that is a constant. */
static int16_t find_argc(const struct x86_insn *insn, const uint8_t *op)
{
	int32_t value = 0;

	if (op[0] == 0xb8 && insn->bytes == 5)
		memcpy(&value, op + 1, 4);
	else if ((op[0] != 0x33 && op[0] != 0x31) || insn->bytes != 2 || op[1] != 0xc0)
		return X86_V_UNKNOWN;
	return value >= 0 && value < 256 ? (int16_t)value : X86_V_UNKNOWN;
}

static void step(void *arg, struct x86_state *state, const struct x86_insn *insn,
		 const uint8_t *code)
{
	struct v8_flow *flow = arg;
	int16_t *regs = state->regs, argc = state->own;
	bool in_frame = x86_is_number(regs[X86_RBP]), in_callers = regs[X86_RBP] == X86_V_FP;
	bool left = state->facts & LEFT, floats, shifts;

	if (in_frame)
		flow->has_frame = true;
	if (left)
		flow->left_frame = true;
	if (insn->written & X86_BIT(X86_RAX) || insn->kind == X86_CALL ||
	    (insn->to == X86_RAX && insn->kind != X86_PUSH && insn->kind != X86_STORE))
		state->own = find_argc(insn, code);
	switch (insn->kind) {
	case X86_PLAIN:
		if (insn->written & X86_BIT(X86_RSP)) {
			floats = can_float(state);
			shifts = in_callers && state->at[X86_AT_RETURN] != X86_V_UNKNOWN &&
				 x86_is_number(regs[X86_RSP]);
			state->facts &= (uint16_t)~SHIFTS;
			x86_state_step(&v8_flow_ops, state, insn);
			if (floats)
				let_float(state);
			else if (shifts)
				state->facts |= SHIFTS;
			return;
		}
		if (state->facts & SHIFTS && is_store_on_top(code, insn->bytes)) {
			set_called(state);
			return;
		}
		break;
	case X86_PUSH:
		state->facts &= (uint16_t)~SHIFTS;
		if (insn->to != X86_NO_REGISTER && regs[insn->to] == X86_V_RETURN &&
		    state->at[X86_AT_RETURN] == X86_V_UNKNOWN && in_callers) {
			state->facts &= (uint16_t)~FLOATS;
			x86_state_push_return(state);
			return;
		}
		x86_state_step(&v8_flow_ops, state, insn);
		/* What is pushed while rsp is unknown is not known when it is popped. */
		if (!state->saved_at)
			state->saved_at = X86_V_UNKNOWN;
		return;
	case X86_SET:
	case X86_LEAVE:
		if (in_callers &&
		    (insn->kind == X86_LEAVE ||
		     (insn->to == X86_RSP && insn->from == X86_RBP && !insn->value))) {
			leave_callers(state, insn->kind == X86_LEAVE);
			return;
		}
		/* fallthrough */
	case X86_LOAD:
	case X86_ALIGN:
	case X86_POP:
		if (insn->to == X86_RSP || insn->kind == X86_LEAVE || insn->kind == X86_POP)
			state->facts &= (uint16_t)~SHIFTS;
		break;
	case X86_CALL:
		x86_state_step(&v8_flow_ops, state, insn);
		for (size_t i = 0; i < flow->n_exits && insn->has_target && argc != X86_V_UNKNOWN;
		     i++)
			if (flow->exits[i] ==
			    flow->va + (uint64_t)(code - flow->flow.code) + (uint64_t)insn->value)
				x86_state_add_to_sp(state, argc * 8);
		return;
	case X86_RETURN:
		flow->keeps_frame |= flow->is_entered && in_frame;
		flow->returns |= flow->is_entered && !left;
		break;
	default:
		break;
	}
	x86_state_step(&v8_flow_ops, state, insn);
}

static bool is_called(const struct x86_state *state)
{
	return state->regs[X86_RBP] == X86_V_FP && state->regs[X86_RSP] == -8 &&
	       state->at[X86_AT_RETURN] == -8;
}

static bool meet(struct x86_state *state, const struct x86_state *of_other)
{
	struct x86_state other = *of_other;
	int16_t *sp = &state->regs[X86_RSP], *fp = &state->regs[X86_RBP];
	bool lost = false;

	if (!memcmp(state, &other, sizeof(other)))
		return false;
	if (state->facts & SHIFTS && is_called(&other)) { /* once around the loop that moves */
		set_called(state);
		lost = true;
	}
	if (other.facts & SHIFTS && is_called(state))
		set_called(&other);
	/* In a frame both ways have the same rsp. Where they seem to differ, one had a call that
	 * took arguments off, as all calls of JavaScript do, and it is the higher. */
	if (x86_is_number(*fp) && *fp == other.regs[X86_RBP] && x86_is_number(*sp) &&
	    x86_is_number(other.regs[X86_RSP])) {
		if (other.regs[X86_RSP] > *sp) {
			*sp = other.regs[X86_RSP];
			x86_state_drop_below(state);
			lost = true;
		}
		other.regs[X86_RSP] = *sp;
	}
	if (!(state->facts & FLOATS) && (other.facts & FLOATS || *sp != other.regs[X86_RSP]) &&
	    can_float(state) && can_float(&other)) {
		let_float(state);
		lost = true;
	}
	if (state->facts & FLOATS)
		let_float(&other);
	lost |= x86_state_meet(state, &other);
	if (state->facts & FLOATS &&
	    x86_state_find(state, X86_V_RETURN) < 0) { /* nothing is left to float with */
		lost |= *sp != X86_V_UNKNOWN;
		*sp = X86_V_UNKNOWN;
	}
	return lost;
}

/*
 * Some calls never return, such as those that throw, and what comes after them is other code, to
 * which another way leads: one of the two has a frame where the other has none
 * (Generate_ConstructBoundFunction: of CallRuntime(kThrowStackOverflow), builtins-x64.cc).
 */
static bool may_return(const struct x86_state *state, const struct x86_state *next)
{
	int16_t fp = state->regs[X86_RBP], next_fp = next->regs[X86_RBP];

	return !(fp == X86_V_FP && x86_is_number(next_fp)) &&
	       !(next_fp == X86_V_FP && x86_is_number(fp));
}

static const struct x86_flow_ops v8_flow_ops = {
	.max_bytes = V8_MAX_BUILTIN_BYTES,
	.step = step,
	.meet = meet,
	.set_sp = set_sp,
	.may_return = may_return,
	.fill = x86_fill,
};

static struct x86_state start_of(bool in_frame)
{
	struct x86_state state = x86_state_start();

	state.regs[X86_RBP] = in_frame ? FRAME_FP : X86_V_FP;
	state.at[X86_AT_RETURN] = -8;
	if (in_frame)
		state.at[X86_AT_FP] = FRAME_FP;
	else
		state.regs[X86_RSP] = -8;
	return state;
}

/*
 * A module's jump table comes to WasmCompileLazy with a number above the return address, push INDEX
 * | jmp, which is made a Smi there: pop r | shl r, 32 (EmitLazyCompileJumpSlot,
 * wasm/jump-table-assembler.cc; Generate_WasmCompileLazy, builtins/x64/builtins-x64.cc, 7.8 to
 * 14.6). No return address is shifted.
 */
static bool has_number(const uint8_t *code, size_t bytes)
{
	uint8_t rex = bytes >= 6 && code[0] == 0x41;
	const uint8_t *pop = code + rex;

	return bytes >= 6 && (pop[0] & 0xf8) == 0x58 && pop[1] == (0x48 | rex) && pop[2] == 0xc1 &&
	       pop[3] == (0xe0 | (pop[0] & 7)) && pop[4] == 32;
}

int v8_flow_run(struct v8_flow *flow, uint64_t va, const uint8_t *code, size_t bytes, bool in_frame)
{
	struct x86_state start = start_of(in_frame);
	int r;

	flow->flow.ops = &v8_flow_ops;
	flow->flow.arg = flow;
	flow->va = va;
	flow->has_frame = flow->left_frame = flow->keeps_frame = flow->returns = false;
	r = x86_flow_begin(&flow->flow, code, bytes);
	if (r)
		return r;
	if (!in_frame && has_number(code, bytes))
		x86_state_add_to_sp(&start, -8);
	flow->is_entered = true;
	r = x86_flow_follow(&flow->flow, 0, &start, false);
	flow->is_entered = false;
	start = start_of(true);
	if (flow->has_frame && (!r || r == -EBADMSG))
		r = x86_flow_follow_rest(&flow->flow, &start);
	flow->left_frame &= !flow->returns;
	return r == -EBADMSG ? 0 : r;
}

struct v8_flow_rule v8_flow_rule(const struct v8_flow *flow, const struct x86_state *state)
{
	const struct v8_flow_rule unknown = {.base = V8_ROW_NONE, .return_in = V8_RETURN_ON_STACK};
	bool has_return = state->at[X86_AT_RETURN] != X86_V_UNKNOWN;
	int base = x86_state_base(state), cfa = has_return ? state->at[X86_AT_RETURN] + 8 : 0;
	int reg = base < 0 || !has_return ? x86_state_find(state, X86_V_RETURN) : -1;
	struct v8_flow_rule rule = {
		.base = (uint8_t)x86_dwarf_register(base < 0 ? X86_RSP : base),
		.return_in = reg < 0 ? V8_RETURN_ON_STACK : (uint8_t)x86_dwarf_register(reg),
	};

	/* An exit frame is left: mov rcx, [rbp + 8] | mov rbp, [rbp] | lea rsp, [r15 + 8]
	 * (LeaveExitFrame, macro-assembler-x64.cc, 7.8 to 11.3). rsp is too low for what the caller
	 * has, rbp is right. */
	if (base < 0)
		return can_float(state) ? rule : unknown;
	if (reg < 0 && !has_return)
		return unknown;
	rule.offset = cfa - state->regs[base]; /* the return address elsewhere than at -8: as if CFA
						  were after it */
	/* A builtin that makes its caller's frame (BaselineOutOfLinePrologue) returns with rbp in
	 * it. */
	if (state->regs[X86_RBP] == X86_V_FP || flow->keeps_frame)
		return rule;
	if (state->at[X86_AT_FP] == X86_V_UNKNOWN || state->at[X86_AT_FP] == cfa)
		return unknown;
	rule.rbp_at = (int16_t)(state->at[X86_AT_FP] - cfa);
	return rule;
}
