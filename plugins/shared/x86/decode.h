/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of x86-64: how long they are, and what they do to the stack, to control, and to the
 * general registers, as far as one must know it to follow a frame through code that a runtime made.
 * Intel SDM, volume 2 (325383-083), appendix A and chapter 2; APX (REX2, EVEX map 4) is not known.
 */
#ifndef X86_DECODE_H
#define X86_DECODE_H

#include <stddef.h>
#include <stdint.h>

/* General registers as instructions number them. */
enum x86_register {
	X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
	X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	X86_N_REGISTERS,
};
#define X86_NO_REGISTER 255
#define X86_BIT(reg)    ((uint16_t)(1u << (reg)))

enum x86_kind {
	X86_PLAIN = 0, /* nothing beyond `written` */
	X86_PUSH,  /* to: register; X86_NO_REGISTER: 8 bytes at [from + value], or something else */
	X86_POP,   /* the same */
	X86_SET,   /* to = from + value, all 64 bits */
	X86_ALIGN, /* to &= value, a negative power of two */
	X86_LOAD,  /* to = 8 bytes at [from + value] */
	X86_STORE, /* 8 bytes at [from + value] = to; X86_NO_REGISTER: something else */
	X86_LEAVE,
	X86_CALL,   /* target, where it is known */
	X86_JUMP,   /* the same; the next instruction is not reached */
	X86_BRANCH, /* the same; it is */
	X86_RETURN,
	X86_TRAP, /* never goes on: hlt, ud2, int3 */
};

struct x86_insn {
	uint8_t bytes;
	uint8_t kind; /* enum x86_kind */
	uint8_t to, from;
	uint16_t written; /* general registers that get a value that is not known, by their bits */
	uint8_t has_target;
	int64_t value; /* X86_CALL, X86_JUMP, X86_BRANCH: target, from the instruction's begin */
};

/* 0, -EBADMSG: no instruction that we know, -ENODATA: cut by the end. */
int x86_decode(const uint8_t *code, size_t bytes, struct x86_insn *ret);

#endif
