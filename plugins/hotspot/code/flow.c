/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HotSpot's code does that other code does not. The interpreter's frames have the Method, and
 * the caller's sp, which the interpreter calls sender sp, since entries put locals where arguments
 * are; barriers of collectors make frames within them; virtual threads' frames are thawed in place
 * of a return; signal handlers and throwers enter code with no return address, which it then puts
 * on the stack itself.
 */
#include "plugins/hotspot/code/flow.h"

#include "plugins/hotspot/hotspot_shared.h"

#include <string.h>

enum {
	V_SENDER = X86_V_OWN, /* the caller's sp as the interpreter has it: it takes arguments off,
				 adapters add some */
	V_METHOD,	      /* struct Method of an interpreted method */
	V_INNER, /* points to a word that has the interpreter's frame pointer: see step, X86_SET */
};

enum {
	HAS_METHOD = 1 << 0, /* the frame of the interpreter has it */
	EXACT = 1 << 8,	     /* CFA is the interpreter's SENDER */
	AT_ENTRY = 1 << 9,   /* on the stack of a continuation's entry: CFA is not known */
};

/*
 * Frame of the interpreter: words from fp, frame_x86.hpp, 8 to 27: sender_sp -1, method -3; fp is
 * CFA - 16 (interpreter_frame_sender_sp_offset, interpreter_frame_method_offset).
 */
#define FRAME_FP     (-16)
#define FRAME_SENDER (FRAME_FP - 8)
#define FRAME_METHOD (FRAME_FP - 24)

#define ON_STACK HOTSPOT_RULE_ON_STACK

static void stored(struct x86_state *state, int16_t at, int16_t value)
{
	if (at == FRAME_METHOD && state->regs[X86_RBP] == FRAME_FP && value == V_METHOD)
		state->facts |= HAS_METHOD;
	if (state->facts & HAS_METHOD && value == FRAME_FP) {
		state->at[X86_AT_KEPT] = at;
		state->kept = value;
	}
}

static bool set_sp(struct x86_state *state, int16_t *value)
{
	if (*value == V_INNER) { /* where the inner frame has the outer one's fp */
		state->regs[X86_RSP] = X86_V_UNKNOWN;
		state->saved_at = 0;
		state->saved = FRAME_FP;
		return true;
	}
	if (*value == V_SENDER) { /* the frame is gone: CFA is where sp is now */
		x86_state_forget_places(state);
		for (int i = 0; i < X86_N_REGISTERS; i++)
			if (state->regs[i] == V_SENDER)
				state->regs[i] = 0;
		state->facts |= EXACT;
		*value = 0;
	}
	state->facts &= (uint16_t)~AT_ENTRY;
	return false;
}

/*
 * Code that is called has CFA at a multiple of 16 (System V ABI; compiled code keeps it too): there
 * is nothing to align where sp is at such a place already. Where another register has a place, it
 * stays the better base.
 */
static bool is_aligned(const struct x86_state *state, const struct x86_insn *insn)
{
	int16_t sp = state->regs[X86_RSP];

	if (insn->to != X86_RSP || insn->value != -16 || !x86_is_number(sp) || sp % 16)
		return false;
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (i != X86_RSP && x86_is_number(state->regs[i]))
			return false;
	return true;
}

/*
 * The stack of the continuation's entry: JavaThread::_cont_entry, from r15 (generate_cont_thaw,
 * stubGenerator_x86_64.cpp, 21 to 27; no other code loads sp from the thread).
 */
static void enter_continuation(struct x86_state *state)
{
	x86_state_forget_places(state);
	state->regs[X86_RSP] = state->regs[X86_RBP] = X86_V_UNKNOWN;
	state->facts |= AT_ENTRY;
}

/* MacroAssembler::pusha, popa (macroAssembler_x86.cpp, 8 to 27): the eleventh of 16
 * words */
#define PUSHA_RBP 0x50

static void step(void *arg, struct x86_state *state, const struct x86_insn *insn,
		 const uint8_t *code)
{
	int16_t *regs = state->regs, return_at = state->at[X86_AT_RETURN], fp = regs[X86_RBP];
	uint16_t exact = state->facts & EXACT, at_entry = state->facts & AT_ENTRY;
	struct x86_insn plain;

	(void)arg;
	(void)code;
	switch (insn->kind) {
	case X86_PUSH:
		/* An entry of the interpreter took the return address off to put locals below it,
		 * and puts it back: the frame is made from there; the caller's sp is SENDER. */
		if (insn->to != X86_NO_REGISTER && regs[insn->to] == X86_V_RETURN && !exact &&
		    x86_state_find(state, V_SENDER) >= 0) {
			x86_state_push_return(state);
			return;
		}
		/* fallthrough */
	case X86_POP:
		plain = *insn;
		plain.from = X86_NO_REGISTER; /* a copy of the return address does not move it: C2's
						 rethrow */
		insn = &plain;
		break;
	case X86_SET:
		/*
		 * In the interpreter's frame sp may be anywhere. A barrier of a collector makes a
		 * frame of its own there, as a function does, to align sp for what it calls: push
		 * rbp | mov rbp, rsp | and rsp, -16 | ... | leave
		 * (gc/shenandoah/shenandoahBarrierSetAssembler_x86.cpp, load_reference_barrier, 17
		 * to 27). In a method's entry, after it has made the frame, sp has a place, and so
		 * has the fp that is saved.
		 */
		if (state->facts & HAS_METHOD && insn->to == X86_RBP && insn->from == X86_RSP &&
		    !insn->value && !state->saved_at && state->saved == FRAME_FP) {
			regs[X86_RBP] = V_INNER;
			return;
		}
		break;
	case X86_ALIGN:
		if (is_aligned(state, insn))
			return;
		break;
	case X86_LOAD:
		if (insn->to == X86_RSP && insn->from == X86_R15) {
			enter_continuation(state);
			return;
		}
		if (insn->to == X86_RBP && insn->from == X86_RSP && insn->value == PUSHA_RBP) {
			x86_state_step(&hs_flow_ops, state, insn);
			if (regs[X86_RBP] == X86_V_UNKNOWN)
				regs[X86_RBP] = fp;
			return;
		}
		break;
	case X86_STORE:
		/* Stores by fp to where the return address is give the frame another one:
		 * SharedRuntime's blobs that a signal or a thrower enters,
		 * Runtime1::handle_exception. */
		if (x86_add(regs[insn->from], insn->value) == -8 && insn->to != X86_NO_REGISTER &&
		    !exact && (insn->from == X86_RBP || return_at == X86_V_UNKNOWN)) {
			x86_state_store(&hs_flow_ops, state, -8, X86_V_RETURN);
			return;
		}
		break;
	case X86_LEAVE:
		x86_state_step(&hs_flow_ops, state, insn);
		state->facts |= at_entry;
		return;
	case X86_CALL:
		/* Only generate_cont_thaw calls with the return address in no other place than a
		 * register that is lost: its frame is the continuation's entry's
		 * (stubGenerator_x86_64.cpp, 21 to 27). */
		if (return_at == X86_V_UNKNOWN && regs[X86_RCX] == X86_V_RETURN && fp == X86_V_FP &&
		    !exact)
			enter_continuation(state);
		break;
	default:
		break;
	}
	x86_state_step(&hs_flow_ops, state, insn);
}

struct x86_state hs_flow_start(enum hs_start start)
{
	struct x86_state state = x86_state_start();

	switch (start) {
	case HS_START_ENTRY:
		state.regs[X86_R13] = V_SENDER;
		state.regs[X86_RBX] = V_METHOD;
		/* fallthrough */
	case HS_START_CALLED:
		state.regs[X86_RSP] = -8;
		state.regs[X86_RBP] = X86_V_FP;
		state.at[X86_AT_RETURN] = -8;
		break;
	case HS_START_FRAME:
		state.at[X86_AT_OWN] = FRAME_SENDER;
		state.facts = HAS_METHOD;
		/* fallthrough */
	case HS_START_WITH_FP:
		state.regs[X86_RBP] = FRAME_FP;
		state.at[X86_AT_FP] = FRAME_FP;
		state.at[X86_AT_RETURN] = -8;
		break;
	case HS_START_THROWN:
		state.regs[X86_RDX] = X86_V_RETURN;
		/* fallthrough */
	case HS_START_TRAPPED:
		state.regs[X86_RSP] = 0;
		state.regs[X86_RBP] = X86_V_FP;
		break;
	case HS_START_CONTINUATION:
		state.facts = AT_ENTRY;
		break;
	}
	return state;
}

/*
 * A call within the piece: in a frame that has fp, a part of that frame (the interpreter's call_VM
 * does so: macroAssembler_x86.cpp, 8 to 27), else a function of its own.
 */
static struct x86_state enter(const struct x86_state *before)
{
	struct x86_state state = *before;

	if (!x86_is_number(before->regs[X86_RBP]))
		return hs_flow_start(HS_START_CALLED);
	x86_state_push(&hs_flow_ops, &state, X86_V_UNKNOWN);
	return state;
}

static size_t fill(const uint8_t *code, size_t bytes)
{
	if (bytes >= 8 && !memcmp(code, "\0\0\0\0\0\0\0", 8))
		return 8;
	return bytes && code[0] == 0xf4 ? 1 : x86_fill(code, bytes); /* hlt */
}

const struct x86_flow_ops hs_flow_ops = {
	.max_bytes = HS_MAX_CODE,
	.step = step,
	.meet = x86_state_meet,
	.set_sp = set_sp,
	.stored = stored,
	.enter = enter,
	.fill = fill,
};

int hs_flow_follow(struct x86_flow *flow, size_t off, enum hs_start start, bool guess)
{
	struct x86_state state = hs_flow_start(start);

	return x86_flow_follow(flow, off, &state, guess);
}

uint64_t hs_flow_rule(const struct x86_state *state)
{
	const uint64_t unknown =
		HOTSPOT_RULE(0, HOTSPOT_RULE_UNKNOWN, 0, ON_STACK, HOTSPOT_METHOD_NONE);
	const int16_t *regs = state->regs, *at = state->at, fp = regs[X86_RBP];
	bool has_method = state->facts & HAS_METHOD,
	     entry = !has_method && regs[X86_RBX] == V_METHOD;
	unsigned int method = entry ? HOTSPOT_METHOD_ENTRY : HOTSPOT_METHOD_NONE;
	int base = x86_state_base(state), sender = x86_state_find(state, V_SENDER);
	int reg = x86_state_find(state, X86_V_RETURN), words = -state->saved / 8, fp_at = 0;
	unsigned int return_in;

	if (has_method && fp == FRAME_FP)
		return HOTSPOT_RULE(2, x86_dwarf_register(X86_RBP), 2, ON_STACK,
				    HOTSPOT_METHOD_FRAME);
	if (has_method && (fp == V_INNER || (x86_is_number(fp) && fp == at[X86_AT_KEPT])))
		return HOTSPOT_RULE(2, x86_dwarf_register(X86_RBP), 2, ON_STACK,
				    HOTSPOT_METHOD_INNER);
	if (state->facts & AT_ENTRY)
		return HOTSPOT_RULE(0, HOTSPOT_RULE_CONTINUATION, 0, ON_STACK, HOTSPOT_METHOD_NONE);
	if (at[X86_AT_RETURN] == -8)
		return_in = ON_STACK;
	else if (at[X86_AT_RETURN] != X86_V_UNKNOWN && at[X86_AT_RETURN] == regs[X86_RSP])
		return_in = HOTSPOT_RULE_AT_SP;
	else if (reg >= 0)
		return_in = x86_dwarf_register(reg);
	else if (base >= 0 && at[X86_AT_RETURN] != X86_V_UNKNOWN && fp == X86_V_FP)
		/* The return address is not at CFA - 8, and no rule says where it is. The rule
		 * treats the word after it as the CFA. The caller's sp is then a word or two off;
		 * only compiled callers need it. */
		return HOTSPOT_RULE((at[X86_AT_RETURN] + 8 - regs[base]) / 8,
				    x86_dwarf_register(base), 0, ON_STACK, HOTSPOT_METHOD_NONE);
	else
		return unknown;
	/* The caller's sp is SENDER, in a register: the frame of the interpreter is just gone. */
	if (sender >= 0 && (!entry || base < 0) && fp == X86_V_FP &&
	    (return_in != ON_STACK || regs[X86_RSP] == -8))
		return HOTSPOT_RULE(0, x86_dwarf_register(sender), 0,
				    return_in == ON_STACK ? HOTSPOT_RULE_AT_SP : return_in, method);
	/* fp is a frame's already, the caller's sp not yet in its slot: see hotspot_rule_method. */
	if (entry && base == X86_RBP && at[X86_AT_OWN] != FRAME_SENDER)
		base = x86_is_number(regs[X86_RSP]) ? X86_RSP : -1;
	if (fp != X86_V_FP)
		fp_at = at[X86_AT_FP] != X86_V_UNKNOWN && !(at[X86_AT_FP] % 8) ? -at[X86_AT_FP] / 8
									       : -1;
	if (fp_at < 0 || fp_at > 31)
		return unknown;
	if (base >= 0)
		return HOTSPOT_RULE(-regs[base] / 8, x86_dwarf_register(base), fp_at, return_in,
				    method);
	/* The old sp is in memory. */
	if (entry || state->saved_at == X86_V_UNKNOWN || state->saved_at % 8 ||
	    at[X86_AT_RETURN] != -8 || words < 0 || words > 31 || state->saved % 8)
		return unknown;
	return HOTSPOT_RULE(state->saved_at / 8, HOTSPOT_RULE_SAVED_SP, fp_at, words,
			    HOTSPOT_METHOD_NONE);
}
