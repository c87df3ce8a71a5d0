/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the return address of an interrupted method is: its frame may be half made or gone already.
 * The code around the pc says so. With F the size of the frame, return address and saved fp
 * included:
 *
 *	prologue	... | push rbp | [mov rbp, rsp] | sub rsp, F - 16 | ... frame_complete
 *			... | sub rsp, F - 8 | mov [rsp + F - 16], rbp | ... frame_complete
 *	epilogue	add rsp, F - 16 | pop rbp | poll | ret
 *			add rsp, F - 16 | pop rbp | jmp
 *			leave | [cmp dword [r15 + x], 0 | jne] | ret or jmp
 *	poll stub	lea r10, [rip + x] | mov [r15 + x], r10 | jmp, after the method: no frame
 *	call stub	mov rbx, method | jmp, after the method, too: what it called is interpreted
 *
 * Polls: 8 test [rip + x], eax; 8, 11 mov r10, ... | test [r10], eax; 17 on cmp rsp, [r15 + x] |
 * ja. C2: src/hotspot/cpu/x86/x86_64.ad, MachPrologNode and MachEpilogNode, 8 to 27, and
 * c2_safepointPollStubTable_x86.cpp, c2_CodeStubs_x86.cpp; C1: c1_MacroAssembler_x86.cpp,
 * build_frame, and c1_LIRAssembler_x86.cpp, return_op, emit_unwind_handler; native methods:
 * sharedRuntime_x86_64.cpp, generate_native_wrapper. Calls of what is interpreted:
 * compiledIC_x86.cpp, emit_to_interp_stub.
 */
#ifndef HOTSPOT_LEAF_BPF_H
#define HOTSPOT_LEAF_BPF_H

#include "plugins/hotspot/bpf/scratch.bpf.h"

enum hotspot_shape_says {
	HOTSPOT_SHAPE_LEFT = 1,	  /* no frame: the return address is at sp */
	HOTSPOT_SHAPE_PUSHED = 2, /* rbp is at sp, the return address after it */
	HOTSPOT_SHAPE_BEGINS = 4, /* the same, in a prologue */
	HOTSPOT_SHAPE_UNSAVED = 8, /* the frame is made, rbp is still in its register */
	HOTSPOT_SHAPE_SMALL = 16, /* no frame, where it is but rbp and the return address */
};

#define SHAPE(says, ...) EP_SHAPE(HOTSPOT_SHAPE_##says, __VA_ARGS__)
#define X EP_ANY

static const struct ep_shape hotspot_shapes[] = {
	/* push rbp, and then sub rsp or mov rbp, rsp */
	SHAPE(LEFT, 0, 0x55, 0x48, 0x83, 0xec)
	SHAPE(LEFT, 0, 0x55, 0x48, 0x81, 0xec)
	SHAPE(LEFT, 0, 0x55, 0x48, 0x8b, 0xec)
	SHAPE(LEFT, 0, 0x55, 0x48, 0x89, 0xe5)
	SHAPE(LEFT, 0, 0x89, 0x84, 0x24, X, X, X, X, 0x55) /* mov [rsp - x], eax before it */
	SHAPE(PUSHED, -1, 0x55, 0x48, 0x83, 0xec)
	SHAPE(PUSHED, -1, 0x55, 0x48, 0x81, 0xec)
	SHAPE(PUSHED, -1, 0x55, 0x48, 0x8b, 0xec)
	SHAPE(PUSHED, -1, 0x55, 0x48, 0x89, 0xe5)
	SHAPE(PUSHED, -4, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec)
	SHAPE(PUSHED, -4, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x81, 0xec)
	SHAPE(PUSHED, -4, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec)
	SHAPE(PUSHED, -4, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec)
	SHAPE(BEGINS, -1, 0x55)
	SHAPE(BEGINS, -4, 0x55, 0x48, 0x8b, 0xec)
	SHAPE(BEGINS, -4, 0x55, 0x48, 0x89, 0xe5)
	/* mov [rsp + x], rbp */
	SHAPE(UNSAVED, 0, 0x48, 0x89, 0x6c, 0x24)
	SHAPE(UNSAVED, 0, 0x48, 0x89, 0xac, 0x24)
	/* pop rbp; the same with REX2, where the processor has it */
	SHAPE(PUSHED, 0, 0x5d)
	SHAPE(PUSHED, 0, 0xd5, 0x08, 0x5d)
	SHAPE(LEFT, 0, 0xc3)
	/* polls, and what is left of them */
	SHAPE(LEFT, 0, 0x85, 0x05, X, X, X, X, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0xba, X, X, X, X, X, X, X, X, 0x41, 0x85, 0x02, 0xc3)
	SHAPE(LEFT, 0, 0x4d, 0x8b, 0x97, X, X, X, X, 0x41, 0x85, 0x02, 0xc3)
	SHAPE(LEFT, 0, 0x4d, 0x8b, 0x57, X, 0x41, 0x85, 0x02, 0xc3)
	SHAPE(LEFT, 0, 0x41, 0x85, 0x02, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0x3b, 0xa7, X, X, X, X, 0x0f, 0x87, X, X, X, X, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0x3b, 0x67, X, 0x0f, 0x87, X, X, X, X, 0xc3)
	SHAPE(LEFT, 0, 0x0f, 0x87, X, X, X, X, 0xc3)
	/* add rsp, x | pop rbp: done, whatever follows; without the add: a jump, or a poll */
	SHAPE(LEFT, -5, 0x48, 0x83, 0xc4, X, 0x5d)
	SHAPE(LEFT, -8, 0x48, 0x81, 0xc4, X, X, X, X, 0x5d)
	SHAPE(LEFT, -7, 0x48, 0x83, 0xc4, X, 0xd5, 0x08, 0x5d)
	SHAPE(LEFT, -10, 0x48, 0x81, 0xc4, X, X, X, X, 0xd5, 0x08, 0x5d)
	SHAPE(SMALL, -1, 0x5d, 0xe9)
	SHAPE(SMALL, -1, 0x5d, 0xeb)
	SHAPE(SMALL, -1, 0x5d, 0xff)
	SHAPE(SMALL, -1, 0x5d, 0x41, 0xff)
	SHAPE(SMALL, -1, 0x5d, 0x49, 0x3b)
	/* the polls' stubs, and what a native method of 25 on has of them */
	SHAPE(LEFT, 0, 0x4c, 0x8d, 0x15, X, X, X, X, 0x4d, 0x89, 0x97, X, X, X, X, 0xe9)
	SHAPE(LEFT, -7, 0x4c, 0x8d, 0x15, X, X, X, X, 0x4d, 0x89, 0x97, X, X, X, X, 0xe9)
	SHAPE(LEFT, -14, 0x4c, 0x8d, 0x15, X, X, X, X, 0x4d, 0x89, 0x97, X, X, X, X, 0xe9)
	SHAPE(LEFT, 0, 0x49, 0xba, X, X, X, X, X, X, X, X, 0x4d, 0x89, 0x97, X, X, X, X, 0xe9)
	SHAPE(LEFT, -10, 0x49, 0xba, X, X, X, X, X, X, X, X, 0x4d, 0x89, 0x97, X, X, X, X, 0xe9)
	SHAPE(LEFT, -17, 0x49, 0xba, X, X, X, X, X, X, X, X, 0x4d, 0x89, 0x97, X, X, X, X, 0xe9)
	/* the stub of a call to the interpreter, before another one or the exception handler */
	SHAPE(LEFT, 0, 0x48, 0xbb, X, X, X, X, X, X, X, X, 0xe9, X, X, X, X, 0xe9)
	SHAPE(LEFT, 0, 0x48, 0xbb, X, X, X, X, X, X, X, X, 0xe9, X, X, X, X, 0x48, 0xbb)
	SHAPE(LEFT, -10, 0x48, 0xbb, X, X, X, X, X, X, X, X, 0xe9, X, X, X, X, 0xe9)
	SHAPE(LEFT, -10, 0x48, 0xbb, X, X, X, X, X, X, X, X, 0xe9, X, X, X, X, 0x48, 0xbb)
	/* leave; it is distinguished from xor ecx, ecx by the mov dword [rcx + x], 0 before it */
	SHAPE(LEFT, -5, 0x00, 0x00, 0x00, 0x00, 0xc9)
	SHAPE(LEFT, -10, 0x00, 0x00, 0x00, 0x00, 0xc9, 0x41, 0xf6, 0x47, X, 0x01, 0x74)
	SHAPE(LEFT, -13, 0x00, 0x00, 0x00, 0x00, 0xc9, 0x41, 0xf6, 0x87, X, X, X, X, 0x01, 0x74)
	/* is there an exception? ret, or forward it */
	SHAPE(LEFT, 0, 0x49, 0x83, 0x7f, X, 0x00, 0x0f, 0x85, X, X, X, X, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0x83, 0x7f, X, 0x00, 0x75, X, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0x83, 0xbf, X, X, X, X, 0x00, 0x0f, 0x85, X, X, X, X, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0x83, 0xbf, X, X, X, X, 0x00, 0x75, X, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0x81, 0x7f, X, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x85, X, X, X, X, 0xc3)
	SHAPE(LEFT, 0, 0x49, 0x81, 0x7f, X, 0x00, 0x00, 0x00, 0x00, 0x75, X, 0xc3)
	SHAPE(LEFT, 0, 0x0f, 0x85, X, X, X, X, 0xc3)
	SHAPE(LEFT, 0, 0x75, X, 0xc3)
	SHAPE(LEFT, -7, 0x0f, 0x85, X, X, X, X, 0xc3, 0xe9)
	SHAPE(LEFT, -3, 0x75, X, 0xc3, 0xe9)
};
#define HOTSPOT_SHAPES (sizeof(hotspot_shapes) / sizeof(hotspot_shapes[0]))

#undef X
#undef SHAPE

/* Has `sub rsp` been passed a moment ago? */
static __always_inline __u64 is_frame_made(const struct hotspot_walk *w)
{
	__u64 not_made = 1;

#pragma clang loop unroll(disable)
	for (__s64 i = 4; i <= EP_CODE_BEFORE; i++) {
		not_made &= ep_is_set((ep_get_code(&w->s->code, -i) & 0xffffff) ^ 0xec8348);
		not_made &=
			ep_is_set((ep_get_code(&w->s->code, -i) & 0xffffff) ^ 0xec8148) | (i < 7);
	}
	return 1 ^ not_made;
}

/*
 * Bytes below the frame that a barrier of a collector spills registers to, where it is seen to
 * begin or to end; 0: neither.
 *
 *	sub rsp, n | mov [rsp + x], ... | call | ... | add rsp, n | jmp back into the method
 *
 * src/hotspot/cpu/x86/gc/z/zBarrierSetAssembler_x86.cpp, 17, gc/shared/barrierSetAssembler_x86.cpp,
 * 21 to 27: SaveLiveRegisters. The prologue's own sub rsp makes the frame: F - 16 or F - 8.
 */
static __always_inline __u64 find_spilled(const struct hotspot_walk *w, __u64 frame_bytes)
{
	__u64 n = 0;

#pragma clang loop unroll(disable)
	for (__s64 i = EP_CODE_BEFORE; i >= 4; i--) {
		__u64 code = ep_get_code(&w->s->code, -i),
		      is = ep_is_set((code & 0xffffff) ^ 0xec8348) - 1;
		__u64 end = ep_get_code(&w->s->code, EP_CODE_BEFORE - i);
		__u64 ends = ep_is_set((end & 0xff00ffffff) ^ 0xe900c48348) - 1;

		n = (n & ~is) | ((code >> 24 & 0xff) & is);
		n = (n & ~ends) | ((end >> 24 & 0xff) & ends);
	}
	n &= 0x70;
	return n & -ep_is_set((frame_bytes - n - 8) & ~8ull);
}

/* Asked once, before the first frame: none after it was interrupted. */
static __always_inline void read_leaf(const struct hotspot_walk *w)
{
	w->s->says = 0;
	w->s->made = 0;
	if (!ep_read_code(&w->s->code, w->rec->walk.pc))
		return;
	w->s->says = ep_find_shapes(&w->s->code, hotspot_shapes, HOTSPOT_SHAPES);
	w->s->made = is_frame_made(w);
}

/* Where the return address of an interrupted method is. False: as in a frame that is whole. */
static __always_inline bool find_leaf_slot(const struct hotspot_walk *w, __u64 frame_bytes,
					   __u64 begins)
{
	struct hotspot_scratch *s = w->s;
	__u64 says = s->says, pushed, left, made;

	pushed = ep_is_set(says & HOTSPOT_SHAPE_PUSHED) |
		 (begins & ep_is_set(says & HOTSPOT_SHAPE_BEGINS));
	left = ep_is_set(says & HOTSPOT_SHAPE_LEFT) | (begins & (1 ^ s->made)) |
	       (ep_is_set(says & HOTSPOT_SHAPE_SMALL) & (1 ^ ep_is_set(frame_bytes ^ 16)));
	left &= 1 ^ pushed;
	made = 1 ^ (pushed | left);
	s->first_slot = ep_enter_sp(w) + pushed * 8 + made * (frame_bytes - 8);
	s->first_keeps_fp = left | (begins & ep_is_set(says & HOTSPOT_SHAPE_UNSAVED));
	return !made;
}

#endif
