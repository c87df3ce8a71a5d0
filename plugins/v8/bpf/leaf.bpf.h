/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where code that V8 has made was interrupted its frame may not be there yet, or not any more. The bytes
 * around the pc say so:
 *
 *	JavaScript	[mov rbx, [rcx + x] | test [rbx + y], z | jcc ...] | push rbp | mov rbp, rsp |
 *			push rsi | push rdi | ...
 *			mov rsp, rbp | pop rbp | [cmp rcx, n | jg] | ret n
 *			pop r10 | lea rsp, [rsp + rcx * 8] | push r10 | ret
 *	Sparkplug's	xor ebx, ebx or mov ebx, n | mov r12, BytecodeArray | call BaselineOutOfLinePrologue,
 *			which makes the frame
 *	typed		push rbp | mov rbp, rsp | push type << 1 | ...
 *	RegExp		push rbp | mov rbp, rsp | push rdi | push rsi | ...	(up to 18; then it has a type)
 *
 * compiler/backend/x64/code-generator-x64.cc: AssembleConstructFrame, AssembleReturn,
 * BailoutIfDeoptimized (8: compiler/x64); baseline/x64/baseline-compiler-x64-inl.h: Prologue;
 * regexp/x64/regexp-macro-assembler-x64.cc: GetCode. As disassembled in 8 to 26, every second one.
 */
#ifndef V8_LEAF_BPF_H
#define V8_LEAF_BPF_H

#include "plugins/v8/bpf/scratch.bpf.h"

enum v8_shape_says {
	V8_SHAPE_LEFT = 1,	/* no frame: the return address is at sp */
	V8_SHAPE_PUSHED = 2,	/* rbp is at sp, the return address behind it */
	V8_SHAPE_RDI = 4,	/* the function is in rdi */
	V8_SHAPE_REGEXP = 8,
	V8_SHAPE_IN_R10 = 16,	/* no frame, and the return address is in r10 */
	V8_SHAPE_BY_RCX = 32,	/* rsp was moved up by as many words as rcx says */
	V8_SHAPE_BY_R8 = 64,	/* the same, r8 */
	V8_SHAPE_BEHIND = 128,	/* behind the call of BaselineOutOfLinePrologue */
	/* The frame was there a moment ago: its function lies so many words below rsp. */
	V8_SHAPE_BELOW_3 = 256,
	V8_SHAPE_BELOW_4 = 512,
	V8_SHAPE_BELOW_5 = 1024,
};

#define V8_SHAPE_WORDS 3

/* 24 bytes of code, from an offset to pc on. */
struct v8_shape {
	__u64 bytes[V8_SHAPE_WORDS], mask[V8_SHAPE_WORDS];
	__s64 off;
	__u64 says;
};

#define X	(-1)
#define MASK(b) ((b) < 0 ? 0ull : 0xffull)
#define BYTE(b) ((b) < 0 ? 0ull : (unsigned long long)(b))
#define OF(f, a, b, c, d, e, g, h, i)                                                              \
	(f(a) | f(b) << 8 | f(c) << 16 | f(d) << 24 | f(e) << 32 | f(g) << 40 | f(h) << 48 |       \
	 f(i) << 56)
#define SHAPE24(says, off, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, ...) \
	{{OF(BYTE, a, b, c, d, e, f, g, h), OF(BYTE, i, j, k, l, m, n, o, p),                      \
	  OF(BYTE, q, r, s, t, u, v, w, x)},                                                       \
	 {OF(MASK, a, b, c, d, e, f, g, h), OF(MASK, i, j, k, l, m, n, o, p),                      \
	  OF(MASK, q, r, s, t, u, v, w, x)},                                                       \
	 off,                                                                                      \
	 says},
#define SHAPE(says, off, ...)                                                                      \
	SHAPE24(says, off, __VA_ARGS__, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, \
		X, X, X, X)

#define BEGINS (V8_SHAPE_LEFT | V8_SHAPE_RDI)
#define GONE   (V8_SHAPE_LEFT | V8_SHAPE_BELOW_3)

static const struct v8_shape v8_shapes[] = {
	/* is this code to be deoptimized? 10 to 22, with a long jump, a short one, or one over a jump */
	SHAPE(BEGINS, 0, 0x48, 0x8b, 0x59, X, 0xf6, 0x43)
	SHAPE(BEGINS, -4, 0x48, 0x8b, 0x59, X, 0xf6, 0x43)
	SHAPE(BEGINS, -8, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x0f, 0x85)
	SHAPE(BEGINS, -8, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x74)
	SHAPE(BEGINS, -10, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x74, 0x05, 0xe9)
	SHAPE(BEGINS, -10, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x74, 0x0d, 0x49, 0xba)
	SHAPE(BEGINS, -20, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x74, 0x0d, 0x49, 0xba)
	/* a frame of JavaScript is made */
	SHAPE(BEGINS, 0, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
	SHAPE(V8_SHAPE_PUSHED | V8_SHAPE_RDI, -1, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
	SHAPE(V8_SHAPE_RDI, -4, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
	SHAPE(V8_SHAPE_RDI, -5, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
	/* one of Sparkplug's is to be made */
	SHAPE(BEGINS, 0, 0x33, 0xdb, 0x49, 0xbc)
	SHAPE(BEGINS, -2, 0x33, 0xdb, 0x49, 0xbc)
	SHAPE(BEGINS, -12, 0x33, 0xdb, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0xe8)
	SHAPE(BEGINS, -12, 0x33, 0xdb, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0x41, 0xff, 0x95)
	SHAPE(BEGINS, 0, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc)
	SHAPE(BEGINS, -5, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc)
	SHAPE(BEGINS, -15, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0xe8)
	SHAPE(BEGINS, -15, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0x41, 0xff, 0x95)
	SHAPE(V8_SHAPE_BEHIND, -17, 0x33, 0xdb, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0xe8)
	SHAPE(V8_SHAPE_BEHIND, -19, 0x33, 0xdb, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0x41, 0xff, 0x95)
	SHAPE(V8_SHAPE_BEHIND, -20, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0xe8)
	SHAPE(V8_SHAPE_BEHIND, -22, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0x41, 0xff,
	      0x95)
	/* RegExp without a type */
	SHAPE(V8_SHAPE_LEFT | V8_SHAPE_REGEXP, 0, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
	SHAPE(V8_SHAPE_PUSHED | V8_SHAPE_REGEXP, -1, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
	SHAPE(V8_SHAPE_REGEXP, -4, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
	SHAPE(V8_SHAPE_REGEXP, -5, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
	/* mov rsp, rbp | pop rbp: done, what follows are ret, and from 16 on cmp | jg */
	SHAPE(GONE, -4, 0x48, 0x8b, 0xe5, 0x5d)
	SHAPE(GONE, -4, 0x48, 0x89, 0xec, 0x5d)
	SHAPE(GONE, -8, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9)
	SHAPE(GONE, -8, 0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8)
	SHAPE(GONE, -10, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9, X, 0x7f)
	SHAPE(GONE, -10, 0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, X, 0x7f)
	SHAPE(GONE, -14, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9, X, 0x0f, 0x8f)
	SHAPE(GONE, -14, 0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, X, 0x0f, 0x8f)
	/* more arguments than parameters: 16 counts them without the receiver */
	SHAPE(GONE, 0, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3)
	SHAPE(GONE, 0, 0x41, 0x5a, 0x4a, 0x8d, 0x24, 0xc4, 0x41, 0x52, 0xc3)
	SHAPE(GONE, 0, 0x41, 0x5a, 0x48, 0x8d, 0x64, 0xcc, 0x08, 0x41, 0x52, 0xc3)
	SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4, -2, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3)
	SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4, -2, 0x41, 0x5a, 0x4a, 0x8d, 0x24, 0xc4, 0x41, 0x52, 0xc3)
	SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4, -2, 0x41, 0x5a, 0x48, 0x8d, 0x64, 0xcc, 0x08, 0x41, 0x52,
	      0xc3)
	SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4 | V8_SHAPE_BY_RCX, -6, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc,
	      0x41, 0x52, 0xc3)
	SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4 | V8_SHAPE_BY_R8, -6, 0x41, 0x5a, 0x4a, 0x8d, 0x24, 0xc4,
	      0x41, 0x52, 0xc3)
	SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_5 | V8_SHAPE_BY_RCX, -7, 0x41, 0x5a, 0x48, 0x8d, 0x64, 0xcc,
	      0x08, 0x41, 0x52, 0xc3)
	SHAPE(GONE | V8_SHAPE_BY_RCX, -8, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3)
	SHAPE(GONE | V8_SHAPE_BY_R8, -8, 0x41, 0x5a, 0x4a, 0x8d, 0x24, 0xc4, 0x41, 0x52, 0xc3)
	SHAPE(V8_SHAPE_LEFT | V8_SHAPE_BELOW_4 | V8_SHAPE_BY_RCX, -9, 0x41, 0x5a, 0x48, 0x8d, 0x64, 0xcc,
	      0x08, 0x41, 0x52, 0xc3)
};
#define V8_SHAPES (sizeof(v8_shapes) / sizeof(v8_shapes[0]))

#undef X
#undef SHAPE
#undef SHAPE24
#undef OF
#undef BYTE
#undef MASK
#undef BEGINS
#undef GONE

/* Eight bytes of the code that was read, at an offset to pc. */
static __always_inline __u64 get_code(const struct v8_walk *w, __s64 off)
{
	return *(const __u64 *)(w->b->code + ((V8_CODE_BACK + off) & (V8_CODE_BYTES - 1)));
}

/* All that the shapes say together. */
static __always_inline __u64 find_shapes(const struct v8_walk *w)
{
	__u64 says = 0;

#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < V8_SHAPES; i++) {
		const struct v8_shape *shape = &v8_shapes[i];
		__u64 differs = (get_code(w, shape->off) ^ shape->bytes[0]) & shape->mask[0];

		differs |= (get_code(w, shape->off + 8) ^ shape->bytes[1]) & shape->mask[1];
		differs |= (get_code(w, shape->off + 16) ^ shape->bytes[2]) & shape->mask[2];
		says |= shape->says & (is_set(differs) - 1);
	}
	return says;
}

/* push rbp | mov rbp, rsp | push type << 1: how far pc is in it, and with which byte. */
static __always_inline __u64 find_typed(const struct v8_walk *w)
{
	static const struct {
		__s64 off;
		__u64 says;
	} places[] = {{0, V8_SHAPE_LEFT}, {-1, V8_SHAPE_PUSHED}, {-4, 0}, {-6, 0}};
	__u64 says = 0, byte = 0;

#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		__u64 code = get_code(w, places[i].off);
		__u64 is = is_set((code & 0xffffffffff) ^ 0x6ae5894855) - 1;

		says |= places[i].says & is;
		byte |= code >> 40 & 0xff & is;
	}
	w->s->type_byte = byte;
	return says;
}

/* What the code around the pc says, where it was interrupted. */
static __always_inline void read_code(const struct v8_walk *w)
{
	if (bpf_probe_read_user(w->b->code, V8_CODE_BYTES, (void *)(w->rec->walk.pc - V8_CODE_BACK)))
		return;
	w->s->says = find_shapes(w) | find_typed(w);
}

/* call: rel32; by register; by memory, 0xff /2 with each kind of address. The last byte is the highest. */
static const __u64 v8_calls[][2] = {
	{0x00000000e8000000, 0x00000000ff000000}, {0xd0ff000000000000, 0xf8ff000000000000},
	{0x10ff000000000000, 0xf8ff000000000000}, {0x0014ff0000000000, 0x00ffff0000000000},
	{0x0050ff0000000000, 0x00f8ff0000000000}, {0x000054ff00000000, 0x0000ffff00000000},
	{0x0000000090ff0000, 0x00000000f8ff0000}, {0x0000000015ff0000, 0x00000000ffff0000},
	{0x000000000094ff00, 0x0000000000ffff00},
};

/* Is there a call right before an address? */
static __always_inline bool is_behind_call(const struct v8_walk *w, __u64 addr)
{
	__u64 none = 1;

	if (!read_word(addr - 8, &w->b->before))
		return false;
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < sizeof(v8_calls) / sizeof(v8_calls[0]); i++)
		none &= is_set((w->b->before ^ v8_calls[i][0]) & v8_calls[i][1]);
	return !none;
}

#endif
