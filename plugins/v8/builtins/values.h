/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known before an instruction: values of registers and of words of the stack,
 *
 *	n	CFA + n, in bytes; CFA: rsp when the caller goes on
 *	RETURN	the return address
 *	FP	the caller's rbp
 *
 * what an instruction makes of them, what is left where two ways meet, and the rule they give. Part of flow.c.
 */
#ifndef V8_BUILTINS_VALUES_H
#define V8_BUILTINS_VALUES_H

#include "plugins/shared/x86/decode.h"
#include "plugins/v8/builtins/flow.h"

enum {
	V_UNKNOWN = INT16_MIN,
	V_RETURN,
	V_FP,
	V_FIRST, /* numbers begin here */
};

#define SLOT_NONE INT16_MIN
#define FRAME_FP  (-16) /* rbp in a frame: CFA - 16 (StandardFrameConstants, frame-constants.h) */

struct v8_values {
	int16_t regs[X86_N_REGISTERS];
	int16_t return_at, fp_at; /* from CFA; SLOT_NONE: not on the stack */
	/* CFA is wherever rsp is: the return address is in a register while arguments are pushed or dropped in
	 * a loop, or by a register (Generate_CallOrConstructVarargs, InterpreterPushArgs, builtins-x64.cc). */
	int16_t floats;
	int16_t saved_at; /* from rsp, where rsp has no place: the old rsp, which is `saved` */
	int16_t saved;
	int16_t kept_at; /* from CFA: a word that holds CFA + `kept` */
	int16_t kept;
	/* rsp moved by a register in code without a frame: what is on the stack goes to the new top, the return
	 * address first (Generate_CallOrConstructVarargs, ..ForwardVarargs, CallBoundFunction, builtins-x64.cc). */
	uint8_t shifts;
	uint8_t left; /* it left its caller's frame, and is now as if that one's caller had called it */
	int16_t argc; /* rax is this constant; V_UNKNOWN: not known */
};

static inline bool v8_is_number(int16_t value)
{
	return value >= V_FIRST;
}

struct v8_values v8_values_start(bool in_frame);
void v8_values_step(struct v8_values *values, const struct x86_insn *insn);
void v8_values_add_to_sp(struct v8_values *values, int64_t more);
/* As if it had just been called. */
void v8_values_set_called(struct v8_values *values);
/* Whether the first lost something. */
bool v8_values_meet(struct v8_values *values, const struct v8_values *other);
/* keeps_frame: see struct v8_builtin_row, makes_frame. */
struct v8_flow_rule v8_values_rule(const struct v8_values *values, bool keeps_frame);

#endif
