/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/x86/calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Registers that a called function may change: System V ABI AMD64 supplement, figure 3.4. */
#define CALLED (X86_BIT(X86_RAX) | X86_BIT(X86_RCX) | X86_BIT(X86_RDX) | X86_BIT(X86_RSI) |  \
		X86_BIT(X86_RDI) | X86_BIT(X86_R8) | X86_BIT(X86_R9) | X86_BIT(X86_R10) |     \
		X86_BIT(X86_R11))

struct calls_walk {
	uint64_t va;
	const uint8_t *code;
	size_t bytes;
	uint8_t *is_target; /* of each byte of code */
	struct x86_values values;
	x86_visit_call *visit;
	void *arg;
};

static void calls_forget(struct calls_walk *walk, uint16_t registers)
{
	for (size_t i = 0; i < X86_N_REGISTERS; i++) {
		if (registers & X86_BIT(i))
			walk->values.regs[i] = 0;
	}
}

static void calls_meet(struct calls_walk *walk, const struct x86_insn *insn)
{
	calls_forget(walk, UINT16_MAX);
	walk->visit(walk->arg, X86_AT_MEET, &walk->values, insn);
}

/* lea disp32(%rip), reg */
static bool calls_take_address(struct calls_walk *walk, size_t at, struct x86_insn *insn)
{
	const uint8_t *code = walk->code + at;
	int32_t distance;

	if (insn->bytes != 7 || (code[0] & 0xfb) != 0x48 || code[1] != 0x8d ||
	    (code[2] & 0xc7) != 5)
		return false;
	memcpy(&distance, code + 3, sizeof(distance));
	insn->to = (uint8_t)((code[2] >> 3 & 7) | (code[0] & 4) << 1);
	walk->values.regs[insn->to] = walk->va + at + insn->bytes + (uint64_t)(int64_t)distance;
	walk->visit(walk->arg, X86_AT_ADDRESS, &walk->values, insn);
	return true;
}

/* mov $imm32, reg, which clears the upper half */
static bool calls_take_number(struct calls_walk *walk, size_t at, const struct x86_insn *insn)
{
	const uint8_t *code = walk->code + at;
	uint8_t high = insn->bytes == 6 && code[0] == 0x41;
	uint32_t number;

	code += high;
	if (insn->bytes != 5 + high || (code[0] & 0xf8) != 0xb8)
		return false;
	memcpy(&number, code + 1, sizeof(number));
	walk->values.regs[(code[0] & 7) | high << 3] = number;
	return true;
}

static void calls_set(struct calls_walk *walk, const struct x86_insn *insn)
{
	uint64_t from = insn->from < X86_N_REGISTERS ? walk->values.regs[insn->from] : 0;

	if (insn->to < X86_N_REGISTERS)
		walk->values.regs[insn->to] = from ? from + (uint64_t)insn->value : 0;
}

static bool calls_is_end(const struct x86_insn *insn)
{
	return insn->kind == X86_JUMP || insn->kind == X86_RETURN || insn->kind == X86_TRAP ||
	       insn->kind == X86_LEAVE;
}

static void calls_step(struct calls_walk *walk, size_t at, struct x86_insn *insn)
{
	if (walk->is_target[at])
		calls_meet(walk, insn);
	if (calls_take_address(walk, at, insn) || calls_take_number(walk, at, insn))
		return;
	calls_forget(walk, insn->written);
	if (insn->kind == X86_SET) {
		calls_set(walk, insn);
	} else if (insn->kind == X86_CALL) {
		walk->visit(walk->arg, X86_AT_CALL, &walk->values, insn);
		calls_forget(walk, CALLED);
	} else if (calls_is_end(insn)) {
		calls_meet(walk, insn);
	} else if (insn->kind != X86_PLAIN && insn->kind != X86_STORE && insn->kind != X86_PUSH &&
		   insn->kind != X86_BRANCH && insn->to < X86_N_REGISTERS) {
		walk->values.regs[insn->to] = 0;
	}
}

/* First all targets, then the walk. */
static void calls_mark_target(struct calls_walk *walk, size_t at, const struct x86_insn *insn)
{
	uint64_t target = at + (uint64_t)insn->value;

	if (insn->has_target && target < walk->bytes)
		walk->is_target[target] = 1;
}

int x86_calls_visit(const uint8_t *code, size_t bytes, uint64_t va, x86_visit_call *visit,
		    void *arg)
{
	struct calls_walk walk = {
		.va = va, .code = code, .bytes = bytes, .visit = visit, .arg = arg};
	struct x86_insn insn;

	walk.is_target = calloc(bytes ? bytes : 1, 1);
	if (!walk.is_target)
		return -ENOMEM;
	for (size_t at = 0; at < bytes; at += insn.bytes) {
		if (x86_decode(code + at, bytes - at, &insn) != 0 || !insn.bytes)
			break;
		calls_mark_target(&walk, at, &insn);
	}
	for (size_t at = 0; at < bytes; at += insn.bytes) {
		if (x86_decode(code + at, bytes - at, &insn) != 0 || !insn.bytes)
			break;
		calls_step(&walk, at, &insn);
	}
	free(walk.is_target);
	return 0;
}
