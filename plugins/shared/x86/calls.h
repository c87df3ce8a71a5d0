/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of registers where a function calls: addresses in its file (lea disp(%rip)) and
 * 32-bit numbers (mov $number). One pass in order of addresses; where ways meet, and after jumps,
 * nothing is known.
 */
#ifndef X86_CALLS_H
#define X86_CALLS_H

#include "plugins/shared/x86/decode.h"

enum x86_event {
	X86_AT_ADDRESS, /* insn->to has got an address */
	X86_AT_CALL,	/* before it */
	X86_AT_MEET,	/* all is forgotten */
};

struct x86_values {
	uint64_t regs[X86_N_REGISTERS]; /* 0 where nothing is known */
};

typedef void x86_visit_call(void *arg, enum x86_event event, const struct x86_values *values,
			    const struct x86_insn *insn);

/* The code is at `va`. It ends where an instruction is not known. 0, -ENOMEM. */
int x86_calls_visit(const uint8_t *code, size_t bytes, uint64_t va, x86_visit_call *visit,
		    void *arg);

#endif
