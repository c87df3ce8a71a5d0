/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where code was interrupted: epilogues, which have no unwind codes, and stubs, which have no
 * frame.
 *
 * An epilogue is read forward, as the processor will run it: at most one add to rsp or lea from
 * rbp, then pops, then ret or a jump out of the function: to an address outside it, through memory,
 * or, as R2R code marks it, through a register with REX.W. Whatever the function did before, that
 * is where its caller is (jit/codegenxarch.cpp: genFnEpilog, v8.0.0; 35 000 exits of CoreLib were
 * read so).
 */
#ifndef DOTNET_LEAF_BPF_H
#define DOTNET_LEAF_BPF_H

#include "plugins/dotnet/bpf/code.bpf.h"
#include "plugins/dotnet/bpf/unwind.bpf.h"
#include "plugins/shared/bpf/shapes.bpf.h"

#define LEAF_STEPS   12 /* instructions: vzeroupper, add, six pops and a jump are nine */
#define FUNCLET_SETS_FP                                                                            \
	16 /* bytes after the prologue: mov rbp, [rdi]; mov [rsp], rbp; lea rbp, [rbp + n] (8, 9) \
	    */
#define STUB_DEPTHS  3	/* words that a stub may have pushed, and 0 */

enum dotnet_verdict {
	VERDICT_NONE = 0, /* read on */
	VERDICT_EPILOGUE,
	VERDICT_BODY,
};

static __always_inline __u64 get_byte(__u64 code, __u32 i)
{
	return code >> (8 * i) & 255;
}

/* The caller's rsp and rbp by what was read so far: s->total, and the rule. */
static __always_inline void take_instruction(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;
	__u64 code = *(const __u64 *)(s->code + (s->code_at & (DOTNET_LEAF_BYTES - 1)));
	__u64 b0 = get_byte(code, 0), b1 = get_byte(code, 1), b2 = get_byte(code, 2);
	__s64 near = (__s8)get_byte(code, 3), far = (__s32)(code >> 24);
	__u64 target, after = w->rec->walk.pc + s->code_at;

	if ((b0 & 0xf8) == 0x58) { /* pop */
		if (b0 == 0x58 + DOTNET_REG_RBP) {
			s->rule.has_fp = 1;
			s->rule.fp_at = s->total;
		}
		s->total += 8;
		s->code_at += 1;
	} else if (b0 == 0x41 && (b1 & 0xf8) == 0x58) { /* pop r8 to r15 */
		s->total += 8;
		s->code_at += 2;
	} else if (b0 == 0xc3 || (b0 == 0xf3 && b1 == 0xc3) || (b0 == 0xff && b1 == 0x25) ||
		   ((b0 & 0xf8) == 0x48 && b1 == 0xff && (b2 & 0x38) == 0x20)) {
		/* ret; jmp through memory, or with REX.W */
		s->verdict = VERDICT_EPILOGUE;
	} else if (b0 == 0xe9 || b0 == 0xeb) { /* jmp */
		target = b0 == 0xeb ? after + 2 + (__u64)(__s64)(__s8)b1
				    : after + 5 + (__u64)(__s64)(__s32)(code >> 8);
		s->verdict = target - s->at.begin < s->at.end - s->at.begin ? VERDICT_BODY
									    : VERDICT_EPILOGUE;
	} else if (s->total || s->rule.base_fp) {
		s->verdict = VERDICT_BODY;
	} else if (b0 == 0x48 && ((b1 == 0x83 && b2 == 0xc4) || (b1 == 0x8d && b2 == 0x65))) {
		s->rule.base_fp = b1 == 0x8d; /* lea rsp, [rbp + n]; else add rsp, n */
		s->total = (__u64)near;
		s->code_at += 4;
	} else if (b0 == 0x48 && ((b1 == 0x81 && b2 == 0xc4) || (b1 == 0x8d && b2 == 0xa5))) {
		s->rule.base_fp = b1 == 0x8d; /* the same, further */
		s->total = (__u64)far;
		s->code_at += 7;
	} else if (b0 == 0xc5 && b1 == 0xf8 && b2 == 0x77) { /* vzeroupper */
		s->code_at += 3;
	} else {
		s->verdict = VERDICT_BODY;
	}
}

/* The rule of an epilogue; false: it is in none. */
static __always_inline bool find_epilogue(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	if (bpf_probe_read_user(s->code, DOTNET_LEAF_BYTES, (void *)w->rec->walk.pc) &&
	    bpf_probe_read_user(s->code, DOTNET_LEAF_BYTES / 4, (void *)w->rec->walk.pc))
		return false;
	s->code_at = s->total = s->verdict = 0;
	s->rule.base_fp = s->rule.has_fp = s->rule.fp_at = 0;
	for (__u64 i = 0; i < LEAF_STEPS; i++) {
		if (s->verdict || s->code_at > DOTNET_LEAF_BYTES - 8)
			break;
		take_instruction(w);
		EP_MEET();
	}
	s->rule.cfa = s->total + 8;
	return s->verdict == VERDICT_EPILOGUE;
}

/* Where the function was interrupted. A prologue may be short of its first instruction: no frame
 * yet. */
static __always_inline void find_leaf_rule(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;
	__u64 in_prologue;

	if (!read_unwind(w)) {
		guess_rule(w);
		return;
	}
	in_prologue = (w->rec->walk.pc - s->at.begin - s->unwind.prologue) >> 63;
	s->at.is_early =
		(w->rec->walk.pc - s->at.begin - s->unwind.prologue - FUNCLET_SETS_FP) >> 63;
	EP_MEET();
	if (!in_prologue && find_epilogue(w)) {
		/* An epilogue without rbp has popped it: it is the caller's again. */
		s->at.is_early |= 1 ^ s->rule.has_fp;
		return;
	}
	EP_MEET();
	if (!find_rule(w))
		guess_rule(w);
}

/* --- stubs ---------------------------------------------------------------------------------- */

/* The word is after a call. */
static __always_inline bool is_return_address(const struct dotnet_walk *w, __u64 addr)
{
	return ep_read_word(addr - 8, &w->s->before) && ep_is_call(&w->s->before);
}

/*
 * A stub is jumped to or called, and jumps on: its return address is at rsp, or under what it has
 * pushed (resolve and lookup stubs, thunks of images). What it pushes is no return address into
 * managed code. In memory of no range there is no other evidence that the code is the runtime's.
 */
static __always_inline bool find_stub_caller(const struct dotnet_walk *w, __u64 depths)
{
	struct dotnet_scratch *s = w->s;
	__u64 sp = ep_enter_sp(w);

	for (__u64 i = 0; i < STUB_DEPTHS; i++) {
		if (i >= depths || !ep_read_word(sp + 8 * i, &s->exit.pc))
			return false;
		s->exit.sp = sp + 8 * i + 8;
		s->exit.fp = ep_enter_fp(w);
		if (is_in_code(w, s->exit.pc - 1) && is_return_address(w, s->exit.pc))
			return true;
		EP_MEET();
	}
	return false;
}

/*
 * What native code calls a method by, in no range (8: UMEntryThunkCode, vm/amd64/cgencpu.h,
 * v8.0.0): mov r10, imm64; mov rax, imm64; jmp rax with REX.W. It was interrupted at one of these.
 */
#define ENTRY_MOVE_BYTES 10
#define ENTRY_BYTES	 24
static __always_inline bool is_entry(const struct dotnet_walk *w)
{
	const __u64 *words = (const __u64 *)w->s->code;

	for (__u64 i = 0; i < 3; i++) {
		if (!bpf_probe_read_user(w->s->code, ENTRY_BYTES,
					 (void *)(w->rec->walk.pc - ENTRY_MOVE_BYTES * i)) &&
		    (words[0] & 0xffff) == 0xba49 && (words[1] >> 16 & 0xffff) == 0xb848 &&
		    (words[2] >> 32 & 0xffffff) == 0xe0ff48)
			return true;
	}
	return false;
}

/* Of a stub that native code called. */
static __always_inline bool find_native_caller(const struct dotnet_walk *w)
{
	w->s->exit.sp = ep_enter_sp(w) + 8;
	w->s->exit.fp = ep_enter_fp(w);
	return ep_read_word(ep_enter_sp(w), &w->s->exit.pc) && is_return_address(w, w->s->exit.pc);
}

#endif
