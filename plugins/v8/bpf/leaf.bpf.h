/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where code that V8 has made was interrupted its frame may not be there yet, or not any more. The
 * bytes around the pc say so:
 *
 *	JavaScript	[mov rbx, [rcx + x] | test [rbx + y], z | jcc ...] | push rbp |
 *			mov rbp, rsp | push rsi | push rdi | ...
 *			mov rsp, rbp | pop rbp | [cmp rcx, n | jg] | ret n
 *			pop r10 | lea rsp, [rsp + rcx * 8] | push r10 | ret
 *	Sparkplug's	xor ebx, ebx or mov ebx, n | mov r12, BytecodeArray |
 *			call BaselineOutOfLinePrologue, which makes the frame
 *	typed		push rbp | mov rbp, rsp | push type << 1 | ...
 *	RegExp		push rbp | mov rbp, rsp | push rdi | push rsi | ...	(up to 18)
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
	V8_SHAPE_PUSHED = 2,	/* rbp is at sp, the return address after it */
	V8_SHAPE_RDI = 4,	/* the function is in rdi */
	V8_SHAPE_REGEXP = 8,
	V8_SHAPE_IN_R10 = 16,	/* no frame, and the return address is in r10 */
	V8_SHAPE_BY_RCX = 32,	/* rsp was moved up by as many words as rcx says */
	V8_SHAPE_BY_R8 = 64,	/* the same, r8 */
	V8_SHAPE_BEHIND = 128,	/* after the call of BaselineOutOfLinePrologue */
	/* The frame was there a moment ago: its function lies so many words below rsp. */
	V8_SHAPE_BELOW_3 = 256,
	V8_SHAPE_BELOW_4 = 512,
	V8_SHAPE_BELOW_5 = 1024,
};

#define SHAPE  EP_SHAPE
#define X      EP_ANY
#define BEGINS (V8_SHAPE_LEFT | V8_SHAPE_RDI)
#define GONE   (V8_SHAPE_LEFT | V8_SHAPE_BELOW_3)

static const struct ep_shape v8_shapes[] = {
	/* is this code to be deoptimized? 10 to 22, with a long jump, a short one, or one over a
	 * jump */
	SHAPE(BEGINS, 0, 0x48, 0x8b, 0x59, X, 0xf6,
	      0x43) SHAPE(BEGINS, -4, 0x48, 0x8b, 0x59, X, 0xf6,
			  0x43) SHAPE(BEGINS, -8, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x0f, 0x85)
		SHAPE(BEGINS, -8, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x74)
			SHAPE(BEGINS, -10, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x74, 0x05, 0xe9)
				SHAPE(BEGINS, -10, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X, 0x74,
				      0x0d, 0x49, 0xba)
					SHAPE(BEGINS, -20, 0x48, 0x8b, 0x59, X, 0xf6, 0x43, X, X,
					      0x74, 0x0d, 0x49, 0xba)
	/* a frame of JavaScript is made */
	SHAPE(BEGINS, 0, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
		SHAPE(V8_SHAPE_PUSHED | V8_SHAPE_RDI, -1, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
			SHAPE(V8_SHAPE_RDI, -4, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
				SHAPE(V8_SHAPE_RDI, -5, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57)
	/* one of Sparkplug's is to be made */
	SHAPE(BEGINS, 0, 0x33, 0xdb, 0x49, 0xbc) SHAPE(BEGINS, -2, 0x33, 0xdb, 0x49, 0xbc) SHAPE(
		BEGINS, -12, 0x33, 0xdb, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0xe8)
		SHAPE(BEGINS, -12, 0x33, 0xdb, 0x49, 0xbc, X, X, X, X, X, X, X, X, 0x41, 0xff,
		      0x95) SHAPE(BEGINS, 0, 0xbb, X, X, 0x00, 0x00, 0x49,
				  0xbc) SHAPE(BEGINS, -5, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc)
			SHAPE(BEGINS, -15, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc, X, X, X, X, X, X, X,
			      X, 0xe8) SHAPE(BEGINS, -15, 0xbb, X, X, 0x00, 0x00, 0x49, 0xbc, X, X,
					     X, X, X, X, X, X, 0x41, 0xff, 0x95)
				SHAPE(V8_SHAPE_BEHIND, -17, 0x33, 0xdb, 0x49, 0xbc, X, X, X, X, X,
				      X, X, X, 0xe8) SHAPE(V8_SHAPE_BEHIND, -19, 0x33, 0xdb, 0x49,
							   0xbc, X, X, X, X, X, X, X, X, 0x41, 0xff,
							   0x95) SHAPE(V8_SHAPE_BEHIND, -20, 0xbb,
								       X, X, 0x00, 0x00, 0x49, 0xbc,
								       X, X, X, X, X, X, X, X, 0xe8)
					SHAPE(V8_SHAPE_BEHIND, -22, 0xbb, X, X, 0x00, 0x00, 0x49,
					      0xbc, X, X, X, X, X, X, X, X, 0x41, 0xff, 0x95)
	/* RegExp without a type */
	SHAPE(V8_SHAPE_LEFT | V8_SHAPE_REGEXP, 0, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
		SHAPE(V8_SHAPE_PUSHED | V8_SHAPE_REGEXP, -1, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
			SHAPE(V8_SHAPE_REGEXP, -4, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
				SHAPE(V8_SHAPE_REGEXP, -5, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x56)
	/* mov rsp, rbp | pop rbp: done, what follows are ret, and from 16 on cmp | jg */
	SHAPE(GONE, -4, 0x48, 0x8b, 0xe5, 0x5d) SHAPE(GONE, -4, 0x48, 0x89, 0xec, 0x5d)
		SHAPE(GONE, -8, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83,
		      0xf9) SHAPE(GONE, -8, 0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8)
			SHAPE(GONE, -10, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9, X, 0x7f)
				SHAPE(GONE, -10, 0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, X, 0x7f)
					SHAPE(GONE, -14, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9,
					      X, 0x0f, 0x8f)
						SHAPE(GONE, -14, 0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83,
						      0xf8, X, 0x0f, 0x8f)
	/* more arguments than parameters: 16 counts them without the receiver */
	SHAPE(GONE, 0, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52,
	      0xc3) SHAPE(GONE, 0, 0x41, 0x5a, 0x4a, 0x8d, 0x24, 0xc4, 0x41, 0x52, 0xc3)
		SHAPE(GONE, 0, 0x41, 0x5a, 0x48, 0x8d, 0x64, 0xcc, 0x08, 0x41, 0x52, 0xc3) SHAPE(
			V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4, -2, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc,
			0x41, 0x52, 0xc3) SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4, -2, 0x41, 0x5a,
						0x4a, 0x8d, 0x24, 0xc4, 0x41, 0x52, 0xc3)
			SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4, -2, 0x41, 0x5a, 0x48, 0x8d, 0x64,
			      0xcc, 0x08, 0x41, 0x52,
			      0xc3) SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4 | V8_SHAPE_BY_RCX,
					  -6, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3)
				SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_4 | V8_SHAPE_BY_R8, -6, 0x41,
				      0x5a, 0x4a, 0x8d, 0x24, 0xc4, 0x41, 0x52, 0xc3)
					SHAPE(V8_SHAPE_IN_R10 | V8_SHAPE_BELOW_5 | V8_SHAPE_BY_RCX,
					      -7, 0x41, 0x5a, 0x48, 0x8d, 0x64, 0xcc, 0x08, 0x41,
					      0x52, 0xc3) SHAPE(GONE | V8_SHAPE_BY_RCX, -8, 0x41,
								0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41,
								0x52, 0xc3)
						SHAPE(GONE | V8_SHAPE_BY_R8, -8, 0x41, 0x5a, 0x4a,
						      0x8d, 0x24, 0xc4, 0x41, 0x52, 0xc3)
							SHAPE(V8_SHAPE_LEFT | V8_SHAPE_BELOW_4 |
								      V8_SHAPE_BY_RCX,
							      -9, 0x41, 0x5a, 0x48, 0x8d, 0x64,
							      0xcc, 0x08, 0x41, 0x52, 0xc3)};
#define V8_SHAPES (sizeof(v8_shapes) / sizeof(v8_shapes[0]))

#undef X
#undef SHAPE
#undef BEGINS
#undef GONE

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
		__u64 code = ep_get_code(&w->s->code, places[i].off);
		__u64 is = ep_is_same(code & 0xffffffffff, 0x6ae5894855);

		says |= places[i].says * is;
		byte |= (code >> 40 & 0xff) * is;
	}
	w->s->type_byte = byte;
	return says;
}

/* What the code around the pc says, where it was interrupted. */
static __always_inline void read_code(const struct v8_walk *w)
{
	if (ep_read_code(&w->s->code, w->rec->walk.pc))
		w->s->says = ep_find_shapes(&w->s->code, v8_shapes, V8_SHAPES) | find_typed(w);
}

/* Is there a call right before an address? */
static __always_inline bool is_behind_call(const struct v8_walk *w, __u64 addr)
{
	return ep_read_word(addr - 8, &w->s->before) && ep_is_call(&w->s->before);
}

#endif
