/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	[prefixes] [REX] opcode [ModRM [SIB] [displacement]] [immediate]
 *	            VEX, EVEX: prefix, REX, and map in one
 *
 * One byte of what[] per opcode and map says what follows it and which operand it writes. What
 * changes the stack or control is then distinguished by opcode.
 */
#include "plugins/shared/x86/decode.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	M = 1,	     /* a ModRM byte */
	I1 = 2,	     /* immediate of one byte */
	I4 = 4,	     /* of four, two with 66; with I1: of two */
	WR = 8,	     /* writes the general register that ModRM.reg names */
	WM = 16,     /* the one that ModRM.rm names, if it names one */
	WA = 32,     /* rax */
	BYTE = 64,   /* operands of one byte */
	BAD = 128,
};

#define ALU(write)                                                                                 \
	M | BYTE | ((write) ? WM : 0), M | ((write) ? WM : 0), M | BYTE | ((write) ? WR : 0),      \
		M | ((write) ? WR : 0), I1 | ((write) ? WA : 0), I4 | ((write) ? WA : 0), BAD, BAD
#define X8(x)  x, x, x, x, x, x, x, x
#define X16(x) X8(x), X8(x)

/* Prefixes, REX and escapes do not come here. */
static const uint8_t one_byte[256] = {
	/* 00 */ ALU(1), ALU(1), ALU(1), ALU(1), ALU(1), ALU(1), ALU(1), ALU(0),
	/* 40 */ X16(BAD), X16(0),
	/* 60 */ BAD, BAD, BAD, M | WR, BAD, BAD, BAD, BAD,
	/* 68 */ I4, M | I4 | WR, I1, M | I1 | WR, 0, 0, 0, 0,
	/* 70 */ X16(I1),
	/* 80 */ M | I1 | WM | BYTE, M | I4 | WM, BAD, M | I1 | WM,
	/* 84 */ M | BYTE, M, M | WR | WM | BYTE, M | WR | WM,
	/* 88 */ M | WM | BYTE, M | WM, M | WR | BYTE, M | WR, M | WM, M, M, M,
	/* 90 */ X8(WA), WA, 0, BAD, 0, 0, 0, 0, WA,
	/* a0 */ WA, WA, 0, 0, 0, 0, 0, 0, I1, I4, 0, 0, WA, WA, 0, 0,
	/* b0 */ X8(I1), X8(I4),
	/* c0 */ M | I1 | WM | BYTE, M | I1 | WM, I1 | I4, 0,
	/* c4 */ BAD, BAD, M | I1 | WM | BYTE, M | I4 | WM,
	/* c8 */ 0, 0, I1 | I4, 0, 0, I1, BAD, 0,
	/* d0 */ M | WM | BYTE, M | WM, M | WM | BYTE, M | WM, BAD, BAD, BAD, WA, X8(M),
	/* e0 */ I1, I1, I1, I1, I1 | WA, I1 | WA, I1, I1, I4, I4, BAD, I1, WA, WA, 0, 0,
	/* f0 */ BAD, 0, BAD, BAD, 0, 0, M | BYTE, M, 0, 0, 0, 0, 0, 0, M | WM | BYTE, M | WM,
};

static const uint8_t two_bytes[256] = {
	/* 00 */ M | WM, M, M | WR, M | WR, BAD, 0, 0, 0, 0, 0, BAD, 0, BAD, M, 0, M | I1,
	/* 10 */ X16(M),
	/* 20 */ M, M, M, M, BAD, BAD, BAD, BAD, M, M, M, M, M | WR, M | WR, M, M,
	/* 30 */ 0, WA, WA, WA, 0, 0, BAD, 0, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	/* 40 */ X16(M | WR),
	/* 50 */ M | WR, M, M, M, M, M, M, M, X8(M),
	/* 60 */ X16(M),
	/* 70 */ M | I1, M | I1, M | I1, M | I1, M, M, M, 0, M | WM, M, BAD, BAD, M, M, M | WM, M,
	/* 80 */ X16(I4),
	/* 90 */ X16(M | WM | BYTE),
	/* a0 */ 0, 0, WA, M, M | I1 | WM, M | WM, BAD, BAD,
	/* a8 */ 0, 0, 0, M | WM, M | I1 | WM, M | WM, M, M | WR,
	/* b0 */ M | WM | WA | BYTE, M | WM | WA, M | WR, M | WM, M | WR, M | WR, M | WR, M | WR,
	/* b8 */ M | WR, M, M | I1 | WM, M | WM, M | WR, M | WR, M | WR, M | WR,
	/* c0 */ M | WR | WM | BYTE, M | WR | WM, M | I1, M,
	/* c4 */ M | I1, M | I1 | WR, M | I1, M | WM | WA, X8(0),
	/* d0 */ M, M, M, M, M, M, M, M | WR, X8(M),
	/* e0 */ X16(M),
	/* f0 */ X16(M),
};

struct decoder {
	const uint8_t *code;
	size_t bytes, at;
	bool operand_16, address_32, rex, wide;
	uint8_t repeat; /* f2, f3 */
	uint8_t rex_r, rex_x, rex_b; /* 0 or 8 */
	uint8_t map; /* 0: one byte, 1: 0f, 2: 0f38, 3: 0f3a, 5, 6: EVEX's */
	bool vex, evex;
	uint8_t vvvv, pp;
	uint8_t opcode, what;
	uint8_t mod, reg, rm; /* with REX */
	uint8_t base, index;  /* of memory; X86_NO_REGISTER: none */
	int64_t displacement, immediate;
};

/* A number of 0 to 8 bytes; its highest bit is its sign. */
static int take(struct decoder *d, size_t bytes, int64_t *ret)
{
	const uint8_t *from = d->code + d->at;
	int64_t value = 0;
	int32_t four;

	if (bytes > d->bytes - d->at)
		return -ENODATA;
	d->at += bytes;
	if (bytes == 4) {
		memcpy(&four, from, sizeof(four));
		value = four;
	} else if (bytes) {
		value = (int8_t)from[bytes - 1];
		for (size_t i = bytes - 1; i; i--)
			value = (int64_t)((uint64_t)value << 8 | from[i - 1]);
	}
	*ret = value;
	return 0;
}

static int take_byte(struct decoder *d, uint8_t *ret)
{
	if (d->at >= d->bytes)
		return -ENODATA;
	*ret = d->code[d->at++];
	return 0;
}

/* Up to the byte after the legacy prefixes, which it gives. */
static int take_prefixes(struct decoder *d, uint8_t *ret)
{
	for (;;) {
		int r = take_byte(d, ret);

		if (r)
			return r;
		switch (*ret) {
		case 0x66:
			d->operand_16 = true;
			break;
		case 0x67:
			d->address_32 = true;
			break;
		case 0xf2:
		case 0xf3:
			d->repeat = *ret;
			break;
		case 0xf0:
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
			break;
		default:
			return 0;
		}
	}
}

static int take_vex(struct decoder *d, uint8_t first)
{
	uint8_t a, b = 0;
	int r = take_byte(d, &a);

	if (!r && first == 0xc4)
		r = take_byte(d, &b);
	if (r)
		return r;
	d->vex = true;
	d->rex_r = a & 0x80 ? 0 : 8;
	d->map = 1;
	if (first == 0xc4) {
		d->rex_x = a & 0x40 ? 0 : 8;
		d->rex_b = a & 0x20 ? 0 : 8;
		d->map = a & 0x1f;
		d->wide = b & 0x80;
		a = b;
	}
	d->vvvv = ~(a >> 3) & 15;
	d->pp = a & 3;
	return d->map >= 1 && d->map <= 3 ? take_byte(d, &d->opcode) : -EBADMSG;
}

static int take_evex(struct decoder *d)
{
	uint8_t p[3];

	for (int i = 0; i < 3; i++) {
		int r = take_byte(d, &p[i]);

		if (r)
			return r;
	}
	d->vex = d->evex = true;
	d->map = p[0] & 7;
	if (p[0] & 8 || !(p[1] & 4) || d->map < 1 || d->map == 4 || d->map == 7)
		return -EBADMSG;
	d->rex_r = p[0] & 0x80 ? 0 : 8;
	d->rex_x = p[0] & 0x40 ? 0 : 8;
	d->rex_b = p[0] & 0x20 ? 0 : 8;
	d->wide = p[1] & 0x80;
	d->vvvv = ~(p[1] >> 3) & 15;
	d->pp = p[1] & 3;
	return take_byte(d, &d->opcode);
}

static int take_escape(struct decoder *d)
{
	int r = take_byte(d, &d->opcode);

	if (r)
		return r;
	d->map = 1;
	if (d->opcode != 0x38 && d->opcode != 0x3a)
		return 0;
	d->map = d->opcode == 0x38 ? 2 : 3;
	return take_byte(d, &d->opcode);
}

static int take_opcode(struct decoder *d)
{
	uint8_t byte;
	int r = take_prefixes(d, &byte);

	if (r)
		return r;
	if ((byte & 0xf0) == 0x40) {
		d->rex = true;
		d->wide = byte & 8;
		d->rex_r = byte & 4 ? 8 : 0;
		d->rex_x = byte & 2 ? 8 : 0;
		d->rex_b = byte & 1 ? 8 : 0;
		r = take_byte(d, &byte);
		if (r)
			return r;
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		if (d->rex || d->operand_16 || d->repeat)
			return -EBADMSG;
		return byte == 0x62 ? take_evex(d) : take_vex(d, byte);
	}
	if (byte == 0x0f)
		return take_escape(d);
	d->opcode = byte;
	return 0;
}

/* What VEX and EVEX encode with an opcode that means another thing without them. */
static uint8_t vex_two_bytes(const struct decoder *d)
{
	if (d->opcode >= 0x40 && d->opcode < 0x50) /* kand and its like */
		return M;
	if (d->opcode >= 0x90 && d->opcode < 0xa0) /* kmov, ktest: 93 has a general register */
		return d->opcode == 0x93 ? M | WR : M;
	if (d->evex && (d->opcode == 0x78 || d->opcode == 0x79) && d->pp >= 2)
		return M | WR; /* vcvtss2usi */
	if (d->opcode == 0x78 || d->opcode == 0x79 || d->opcode == 0x7a || d->opcode == 0x7b)
		return d->evex ? M : BAD;
	return two_bytes[d->opcode];
}

static uint8_t three_bytes_38(const struct decoder *d)
{
	if (d->evex)
		return M;
	if (d->opcode >= 0xf0 && d->opcode <= 0xf7)
		return M | WR; /* movbe, crc32, andn, bzhi, pext, mulx, bextr */
	return M;
}

static uint8_t three_bytes_3a(const struct decoder *d)
{
	if (d->opcode >= 0x14 && d->opcode <= 0x17)
		return M | I1 | WM; /* pextr */
	return d->opcode == 0xf0 ? M | I1 | WR : M | I1; /* rorx */
}

static uint8_t find_what(const struct decoder *d)
{
	switch (d->map) {
	case 0:
		return one_byte[d->opcode];
	case 1:
		return d->vex ? vex_two_bytes(d) : two_bytes[d->opcode];
	case 2:
		return three_bytes_38(d);
	case 3:
		return three_bytes_3a(d);
	case 5: /* half precision */
		return d->opcode == 0x7e ? M | WM
		       : d->opcode == 0x2c || d->opcode == 0x2d || d->opcode == 0x78 ||
				       d->opcode == 0x79
			       ? M | WR
			       : M;
	default:
		return M;
	}
}

static int take_memory(struct decoder *d)
{
	uint8_t sib;
	int r;

	d->index = X86_NO_REGISTER;
	d->base = d->rm | d->rex_b;
	if (d->rm == 4) {
		r = take_byte(d, &sib);
		if (r)
			return r;
		d->base = (sib & 7) | d->rex_b;
		d->index = (sib >> 3 & 7) | d->rex_x;
		if (d->index == 4)
			d->index = X86_NO_REGISTER;
		if ((sib & 7) == 5 && !d->mod) {
			d->base = X86_NO_REGISTER;
			return take(d, 4, &d->displacement);
		}
	} else if (d->rm == 5 && !d->mod) { /* from rip */
		d->base = X86_NO_REGISTER;
		return take(d, 4, &d->displacement);
	}
	if (!d->mod)
		return 0;
	return take(d, d->mod == 1 ? 1 : 4, &d->displacement);
}

static int take_modrm(struct decoder *d)
{
	uint8_t byte;
	int r = take_byte(d, &byte);

	if (r)
		return r;
	d->mod = byte >> 6;
	d->reg = byte >> 3 & 7;
	d->rm = byte & 7;
	d->base = d->index = X86_NO_REGISTER;
	if (d->mod != 3) {
		r = take_memory(d);
		if (r)
			return r;
	} else {
		d->rm |= d->rex_b;
	}
	d->reg |= d->rex_r;
	return 0;
}

static size_t immediate_bytes(const struct decoder *d)
{
	size_t z = d->operand_16 && !d->wide ? 2 : 4;

	if (!d->map) {
		if (d->opcode >= 0xa0 && d->opcode <= 0xa3)
			return d->address_32 ? 4 : 8;
		if (d->opcode >= 0xb8 && d->opcode <= 0xbf && d->wide)
			return 8;
		if (d->opcode == 0xc8) /* enter */
			return 3;
		if (d->opcode == 0xe8 || d->opcode == 0xe9)
			return 4;
		if (d->opcode == 0xf6 || d->opcode == 0xf7) /* test */
			return (d->reg & 7) > 1 ? 0 : d->opcode == 0xf6 ? 1 : z;
		if (d->opcode == 0xc7 && d->mod == 3 && d->reg == 7) /* xbegin */
			return z;
	}
	if (d->map == 1 && !d->vex && (d->opcode & 0xf0) == 0x80)
		return 4;
	switch (d->what & (I1 | I4)) {
	case I1:
		return 1;
	case I4:
		return z;
	case I1 | I4:
		return 2;
	default:
		return 0;
	}
}

/* Without REX the byte registers 4 to 7 are ah, ch, dh, bh. */
static uint8_t whole_register(const struct decoder *d, uint8_t reg)
{
	return d->what & BYTE && !d->rex && !d->vex && reg >= 4 ? reg - 4 : reg;
}

static uint16_t one_byte_written(const struct decoder *d)
{
	uint8_t op = d->opcode, group = d->reg & 7;

	if ((op & 0xf0) == 0xb0 || (op > 0x90 && op < 0x98)) {
		uint8_t reg = (op & 7) | d->rex_b;

		if (op < 0xb8 && op >= 0xb0 && !d->rex && reg >= 4)
			reg -= 4;
		return X86_BIT(reg) | (op < 0x98 && op >= 0x90 ? X86_BIT(X86_RAX) : 0);
	}
	switch (op) {
	case 0x6c: case 0x6d: case 0x6e: case 0x6f:
	case 0xa4: case 0xa5: case 0xa6: case 0xa7:
	case 0xac: case 0xad: case 0xae: case 0xaf:
		return X86_BIT(X86_RSI) | X86_BIT(X86_RDI) | X86_BIT(X86_RCX);
	case 0xaa: case 0xab: /* stos */
		return X86_BIT(X86_RDI) | X86_BIT(X86_RCX);
	case 0x90:
		return d->rex_b ? X86_BIT(X86_RAX) | X86_BIT(X86_R8) : 0;
	case 0x99:
		return X86_BIT(X86_RDX);
	case 0xdf: /* fnstsw ax */
		return X86_BIT(X86_RAX);
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:
		return X86_BIT(X86_RCX);
	case 0xf6:
	case 0xf7:
		return group >= 4 ? X86_BIT(X86_RAX) | X86_BIT(X86_RDX) :
		       group >= 2 && d->mod == 3 ? X86_BIT(whole_register(d, d->rm)) : 0;
	default:
		return 0;
	}
}

static uint16_t two_bytes_written(const struct decoder *d)
{
	if (d->vex)
		return 0;
	switch (d->opcode) {
	case 0x01: /* xgetbv, rdtscp and others */
		return X86_BIT(X86_RAX) | X86_BIT(X86_RDX) | X86_BIT(X86_RCX);
	case 0x05:
	case 0x34:
		return X86_BIT(X86_RAX) | X86_BIT(X86_RCX) | X86_BIT(X86_R11);
	case 0x20:
	case 0x21:
		return X86_BIT(d->rm);
	case 0x31: case 0x32: case 0x33:
	case 0xc7:
		return X86_BIT(X86_RDX);
	case 0xa2:
		return X86_BIT(X86_RBX) | X86_BIT(X86_RCX) | X86_BIT(X86_RDX);
	case 0xae: /* rdfsbase */
		return d->mod == 3 && d->repeat == 0xf3 ? X86_BIT(d->rm & 15) : 0;
	case 0xc8: case 0xc9: case 0xca: case 0xcb: case 0xcc: case 0xcd: case 0xce: case 0xcf:
		return X86_BIT((d->opcode & 7) | d->rex_b);
	default:
		return 0;
	}
}

static bool only_reads(const struct decoder *d)
{
	uint8_t group = d->reg & 7;

	if (!d->map)
		return (d->opcode == 0x80 || d->opcode == 0x81 || d->opcode == 0x83) && group == 7;
	if (d->map == 1 && !d->vex)
		return d->opcode == 0xba && group == 4; /* bt */
	return false;
}

static uint16_t find_written(const struct decoder *d)
{
	uint16_t written = 0;

	if (d->what & WR)
		written |= X86_BIT(whole_register(d, d->reg));
	if (d->what & WM && d->mod == 3 && !only_reads(d))
		written |= X86_BIT(whole_register(d, d->rm));
	if (d->what & WA)
		written |= X86_BIT(X86_RAX);
	if (d->vex && d->map == 2 && !d->evex && (d->opcode == 0xf3 || d->opcode == 0xf6))
		written |= X86_BIT(d->vvvv); /* blsr and its like; mulx */
	if (!d->map)
		written |= one_byte_written(d);
	else if (d->map == 1)
		written |= two_bytes_written(d);
	return written;
}

/* [base + displacement] without an index. */
static bool is_plain_memory(const struct decoder *d)
{
	return d->mod != 3 && d->base != X86_NO_REGISTER && d->index == X86_NO_REGISTER &&
	       !d->address_32;
}

static void set(struct x86_insn *insn, enum x86_kind kind, uint8_t to, uint8_t from, int64_t value)
{
	insn->kind = kind;
	insn->to = to;
	insn->from = from;
	insn->value = value;
}

static void set_and_forget(struct x86_insn *insn, enum x86_kind kind, uint8_t to, uint8_t from,
			   int64_t value)
{
	set(insn, kind, to, from, value);
	insn->written &= ~X86_BIT(to);
}

static void set_target(const struct decoder *d, struct x86_insn *insn, enum x86_kind kind)
{
	set(insn, kind, X86_NO_REGISTER, X86_NO_REGISTER, (int64_t)d->at + d->immediate);
	insn->has_target = 1;
}

/* push or pop of what ModRM names; [from + value] where that is plain memory. */
static void set_stack(const struct decoder *d, struct x86_insn *insn, enum x86_kind kind)
{
	set(insn, kind, d->mod == 3 ? d->rm : X86_NO_REGISTER, X86_NO_REGISTER, 0);
	if (!is_plain_memory(d) || d->operand_16)
		return;
	insn->from = d->base;
	insn->value = d->displacement;
}

/* The group at ff: inc, dec, call, jmp, push. */
static int tell_ff(const struct decoder *d, struct x86_insn *insn)
{
	switch (d->reg & 7) {
	case 0:
	case 1:
		if (d->mod == 3 && d->wide)
			set_and_forget(insn, X86_SET, d->rm, d->rm, (d->reg & 7) ? -1 : 1);
		return 0;
	case 2:
	case 3:
		set(insn, X86_CALL, X86_NO_REGISTER, X86_NO_REGISTER, 0);
		insn->written = 0;
		return 0;
	case 4:
	case 5:
		set(insn, X86_JUMP, X86_NO_REGISTER, X86_NO_REGISTER, 0);
		insn->written = 0;
		return 0;
	case 6:
		set_stack(d, insn, X86_PUSH);
		insn->written = d->operand_16 ? X86_BIT(X86_RSP) : 0;
		return 0;
	default:
		return -EBADMSG;
	}
}

/* The groups at 81 and 83: of add, sub, and with an immediate. */
static void tell_arithmetic(const struct decoder *d, struct x86_insn *insn)
{
	uint8_t group = d->reg & 7;

	if (d->mod != 3 || !d->wide)
		return;
	if (!group || group == 5)
		set_and_forget(insn, X86_SET, d->rm, d->rm, group ? -d->immediate : d->immediate);
	else if (group == 4 && d->immediate < 0 && !(-d->immediate & (-d->immediate - 1)))
		set_and_forget(insn, X86_ALIGN, d->rm, d->rm, d->immediate);
}

static void tell_move(const struct decoder *d, struct x86_insn *insn)
{
	bool store = d->opcode == 0x89;

	if (!d->wide) {
		if (d->mod != 3 && store && is_plain_memory(d))
			set(insn, X86_STORE, X86_NO_REGISTER, d->base, d->displacement);
		return;
	}
	if (d->mod == 3)
		set_and_forget(insn, X86_SET, store ? d->rm : d->reg, store ? d->reg : d->rm, 0);
	else if (is_plain_memory(d) && store)
		set(insn, X86_STORE, d->reg, d->base, d->displacement);
	else if (is_plain_memory(d))
		set_and_forget(insn, X86_LOAD, d->reg, d->base, d->displacement);
}

static int tell_one_byte(const struct decoder *d, struct x86_insn *insn)
{
	uint8_t op = d->opcode;

	if (op >= 0x50 && op < 0x60) {
		set(insn, op < 0x58 ? X86_PUSH : X86_POP, (op & 7) | d->rex_b, X86_NO_REGISTER, 0);
		insn->written = d->operand_16 ? X86_BIT(X86_RSP) : 0;
		return 0;
	}
	if (op >= 0x70 && op < 0x80)
		set_target(d, insn, X86_BRANCH);
	switch (op) {
	case 0x68: case 0x6a: case 0x9c:
		set(insn, X86_PUSH, X86_NO_REGISTER, X86_NO_REGISTER, 0);
		insn->written = d->operand_16 ? X86_BIT(X86_RSP) : 0;
		return 0;
	case 0x9d:
		set(insn, X86_POP, X86_NO_REGISTER, X86_NO_REGISTER, 0);
		return 0;
	case 0x8f:
		if (d->reg & 7) /* XOP */
			return -EBADMSG;
		set_stack(d, insn, X86_POP);
		return 0;
	case 0x81: case 0x83:
		tell_arithmetic(d, insn);
		return 0;
	case 0x89: case 0x8b:
		tell_move(d, insn);
		return 0;
	case 0x8d:
		if (d->mod == 3)
			return -EBADMSG;
		if (d->wide && is_plain_memory(d))
			set_and_forget(insn, X86_SET, d->reg, d->base, d->displacement);
		else
			insn->written |= X86_BIT(d->reg);
		return 0;
	case 0xc7:
		if (d->mod == 3 && d->reg == 7) /* xbegin: goes on here or there */
			set_target(d, insn, X86_BRANCH);
		else if (d->reg & 7)
			return -EBADMSG;
		else if (is_plain_memory(d))
			set(insn, X86_STORE, X86_NO_REGISTER, d->base, d->displacement);
		return 0;
	case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf:
		set(insn, X86_RETURN, X86_NO_REGISTER, X86_NO_REGISTER, 0);
		return 0;
	case 0xc8: /* enter: no code that is followed has it */
		insn->written = X86_BIT(X86_RSP) | X86_BIT(X86_RBP);
		return 0;
	case 0xc9:
		set(insn, X86_LEAVE, X86_NO_REGISTER, X86_NO_REGISTER, 0);
		return 0;
	case 0xcc: case 0xf4:
		set(insn, X86_TRAP, X86_NO_REGISTER, X86_NO_REGISTER, 0);
		return 0;
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:
		set_target(d, insn, X86_BRANCH);
		return 0;
	case 0xe8:
		set_target(d, insn, X86_CALL);
		return 0;
	case 0xe9: case 0xeb:
		set_target(d, insn, X86_JUMP);
		return 0;
	case 0xff:
		return tell_ff(d, insn);
	default:
		return 0;
	}
}

static void tell_two_bytes(const struct decoder *d, struct x86_insn *insn)
{
	if (d->vex)
		return;
	if ((d->opcode & 0xf0) == 0x80)
		set_target(d, insn, X86_BRANCH);
	else if (d->opcode == 0x0b || d->opcode == 0xff || d->opcode == 0xb9)
		set(insn, d->opcode == 0xb9 ? X86_PLAIN : X86_TRAP, X86_NO_REGISTER,
		    X86_NO_REGISTER, 0);
	else if (d->opcode == 0xa0 || d->opcode == 0xa8)
		set(insn, X86_PUSH, X86_NO_REGISTER, X86_NO_REGISTER, 0);
	else if (d->opcode == 0xa1 || d->opcode == 0xa9)
		set(insn, X86_POP, X86_NO_REGISTER, X86_NO_REGISTER, 0);
	/* movd and movq to a general register: not f3's, which is between vectors. */
	else if (d->opcode == 0x7e && (d->repeat || !d->operand_16))
		insn->written = d->repeat ? 0 : insn->written;
	/* cvttss2si has f2 or f3: else it is of MMX; pmovmskb's and movmskps' register is a general
	 * one */
	else if ((d->opcode == 0x2c || d->opcode == 0x2d) && !d->repeat)
		insn->written = 0;
}

static int take_rest(struct decoder *d)
{
	int r;

	d->what = find_what(d);
	if (d->what & BAD)
		return -EBADMSG;
	if (d->what & M) {
		r = take_modrm(d);
		if (r)
			return r;
	}
	if (!d->map && d->opcode == 0xfe && (d->reg & 7) > 1)
		return -EBADMSG;
	return take(d, immediate_bytes(d), &d->immediate);
}

int x86_decode(const uint8_t *code, size_t bytes, struct x86_insn *ret)
{
	struct decoder d = { .code = code, .bytes = bytes > 15 ? 15 : bytes };
	struct x86_insn insn = { .to = X86_NO_REGISTER, .from = X86_NO_REGISTER };
	int r = take_opcode(&d);

	if (!r)
		r = take_rest(&d);
	if (r)
		return r == -ENODATA && bytes > 15 ? -EBADMSG : r;
	insn.bytes = (uint8_t)d.at;
	insn.written = find_written(&d);
	if (!d.map) {
		r = tell_one_byte(&d, &insn);
		if (r)
			return r;
	} else if (d.map == 1) {
		tell_two_bytes(&d, &insn);
	}
	*ret = insn;
	return 0;
}
