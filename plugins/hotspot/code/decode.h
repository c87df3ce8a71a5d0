/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of x86-64: how long they are, and what they do to the stack, to control, and to the
 * general registers, as far as one must know it to follow a frame through code that HotSpot made.
 * Intel SDM, volume 2 (325383-083), appendix A and chapter 2; APX (REX2, EVEX map 4) is not known.
 */
#ifndef HOTSPOT_DECODE_H
#define HOTSPOT_DECODE_H

#include <stddef.h>
#include <stdint.h>

/* General registers as instructions number them. */
enum hs_register {
	HS_RAX, HS_RCX, HS_RDX, HS_RBX, HS_RSP, HS_RBP, HS_RSI, HS_RDI,
	HS_R8, HS_R9, HS_R10, HS_R11, HS_R12, HS_R13, HS_R14, HS_R15,
	HS_N_REGISTERS,
};
#define HS_NO_REGISTER 255
#define HS_BIT(reg)    ((uint16_t)(1u << (reg)))

enum hs_kind {
	HS_PLAIN = 0,	/* nothing beyond `written` */
	HS_PUSH,	/* to: register, HS_NO_REGISTER: something else */
	HS_POP,		/* the same */
	HS_SET,		/* to = from + value, all 64 bits */
	HS_ALIGN,	/* to &= value, a negative power of two */
	HS_LOAD,	/* to = 8 bytes at [from + value] */
	HS_STORE,	/* 8 bytes at [from + value] = to; HS_NO_REGISTER: something else */
	HS_LEAVE,
	HS_CALL,	/* target, where it is known */
	HS_JUMP,	/* the same; the next instruction is not reached */
	HS_BRANCH,	/* the same; it is */
	HS_RETURN,
	HS_TRAP,	/* never goes on: hlt, ud2, int3 */
};

struct hs_insn {
	uint8_t bytes;
	uint8_t kind; /* enum hs_kind */
	uint8_t to, from;
	uint16_t written; /* general registers that get a value that is not known, by their bits */
	uint8_t has_target;
	int64_t value;	/* HS_CALL, HS_JUMP, HS_BRANCH: target, from where the instruction begins */
};

/* 0, -EBADMSG: no instruction that we know, -ENODATA: cut by the end. */
int hs_decode(const uint8_t *code, size_t bytes, struct hs_insn *ret);

#endif
