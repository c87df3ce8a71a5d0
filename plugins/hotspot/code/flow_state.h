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
#ifndef HOTSPOT_FLOW_STATE_H
#define HOTSPOT_FLOW_STATE_H

#include "plugins/hotspot/code/rules.h"
#include "plugins/shared/x86/decode.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	V_UNKNOWN = INT16_MIN,
	V_RETURN,
	V_FP,
	V_SENDER,
	V_METHOD,
	V_INNER, /* points to a word that holds the interpreter's frame pointer: see makes_inner */
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

struct hs_state {
	int16_t regs[X86_N_REGISTERS];
	int16_t return_at, fp_at, sender_at; /* from CFA, SLOT_NONE: not on the stack */
	int16_t inner_at; /* where the fp of the interpreter's frame was put: see makes_inner */
	uint8_t has_method; /* the frame of the interpreter has it */
	uint8_t exact;	    /* CFA is the interpreter's SENDER: see push */
	uint8_t at_entry;   /* on the stack of a continuation's entry: CFA is not known */
	uint8_t pad;
	/* Where sp has no place: a value that was put into memory, and where from sp; SLOT_NONE: none. */
	int16_t saved_at, saved;
};

static inline bool hs_is_number(int16_t value)
{
	return value >= V_FIRST;
}

struct hs_state hs_state_start(enum hs_start start);

/* What an instruction changes. */
void hs_state_step(struct hs_state *state, const struct x86_insn *insn);
void hs_state_push(struct hs_state *state, int16_t value);

/* Where ways meet: what they do not agree on is lost. Whether something was. */
int hs_state_meet(struct hs_state *state, const struct hs_state *other);

/* How the frame is left: HOTSPOT_RULE. */
uint64_t hs_state_rule(const struct hs_state *state);

#endif
