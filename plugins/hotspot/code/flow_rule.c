/* SPDX-License-Identifier: Apache-2.0 */
/* From what is known to a rule. */
#include "plugins/hotspot/code/flow_state.h"

#include "plugins/hotspot/hotspot_shared.h"

#include <stddef.h>

static uint32_t dwarf_register(unsigned int reg)
{
	static const uint8_t low[8] = { 0, 2, 1, 3, 7, 6, 4, 5 }; /* System V ABI, figure 3.36 */

	return reg < 8 ? low[reg] : reg;
}

static uint64_t unknown_rule(void)
{
	return HOTSPOT_RULE(0, HOTSPOT_RULE_UNKNOWN, 0, HOTSPOT_RULE_ON_STACK, HOTSPOT_METHOD_NONE);
}

static int find_register(const struct hs_state *state, int16_t value)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (state->regs[i] == value)
			return i;
	return -1;
}

/* A register that has a place: fp before sp, since it does not change with it. */
static int find_base(const struct hs_state *state)
{
	static const uint8_t first[] = { X86_RBP, X86_RSP };

	for (size_t i = 0; i < sizeof(first); i++)
		if (hs_is_number(state->regs[first[i]]) && !(state->regs[first[i]] % 8))
			return first[i];
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (hs_is_number(state->regs[i]) && !(state->regs[i] % 8))
			return i;
	return -1;
}

/* Where the return address is, as a rule says it; -1: nowhere. */
static int find_return(const struct hs_state *state)
{
	int reg;

	if (state->return_at == -8)
		return HOTSPOT_RULE_ON_STACK;
	if (state->return_at != SLOT_NONE && state->return_at == state->regs[X86_RSP])
		return HOTSPOT_RULE_AT_SP;
	reg = find_register(state, V_RETURN);
	return reg < 0 ? -1 : (int)dwarf_register((unsigned int)reg);
}

/* The caller's sp is SENDER, in a register: the frame of the interpreter is just gone. */
static uint64_t sender_rule(const struct hs_state *state, int sender, int return_in, unsigned int method)
{
	if (return_in == HOTSPOT_RULE_ON_STACK && state->regs[X86_RSP] == -8)
		return_in = HOTSPOT_RULE_AT_SP;
	if (return_in == HOTSPOT_RULE_ON_STACK || state->regs[X86_RBP] != V_FP)
		return 0;
	return HOTSPOT_RULE(0, dwarf_register((unsigned int)sender), 0, return_in, method);
}

/* The old sp is in memory: see HOTSPOT_RULE_SAVED_SP. */
static uint64_t saved_rule(const struct hs_state *state)
{
	int words = -state->saved / 8, fp_at = 0;

	if (state->regs[X86_RBP] != V_FP)
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
static uint64_t displaced_rule(const struct hs_state *state, int base)
{
	if (base < 0 || state->return_at == SLOT_NONE || state->regs[X86_RBP] != V_FP)
		return unknown_rule();
	return HOTSPOT_RULE((state->return_at + 8 - state->regs[base]) / 8,
			    dwarf_register((unsigned int)base), 0, HOTSPOT_RULE_ON_STACK, HOTSPOT_METHOD_NONE);
}

static bool is_inner(const struct hs_state *state, int16_t value)
{
	return value == V_INNER || (hs_is_number(value) && value == state->inner_at);
}

uint64_t hs_state_rule(const struct hs_state *state)
{
	bool entry = !state->has_method && state->regs[X86_RBX] == V_METHOD;
	int return_in = find_return(state), base = find_base(state), sender = find_register(state, V_SENDER);
	unsigned int method = entry ? HOTSPOT_METHOD_ENTRY : HOTSPOT_METHOD_NONE;
	int fp_at = 0;

	if (state->has_method && state->regs[X86_RBP] == FRAME_FP)
		return HOTSPOT_RULE(2, dwarf_register(X86_RBP), 2, HOTSPOT_RULE_ON_STACK,
				    HOTSPOT_METHOD_FRAME);
	if (state->has_method && is_inner(state, state->regs[X86_RBP]))
		return HOTSPOT_RULE(2, dwarf_register(X86_RBP), 2, HOTSPOT_RULE_ON_STACK,
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
	if (entry && base == X86_RBP && state->sender_at != FRAME_SENDER)
		base = hs_is_number(state->regs[X86_RSP]) ? X86_RSP : -1;
	if (state->regs[X86_RBP] != V_FP)
		fp_at = state->fp_at != SLOT_NONE && !(state->fp_at % 8) ? -state->fp_at / 8 : -1;
	if (base < 0 && !entry)
		return saved_rule(state);
	if (base < 0 || fp_at < 0 || fp_at > 31)
		return unknown_rule();
	return HOTSPOT_RULE(-state->regs[base] / 8, dwarf_register((unsigned int)base), fp_at, return_in,
			    method);
}
