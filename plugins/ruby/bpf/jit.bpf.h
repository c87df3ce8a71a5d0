/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that a JIT made. Its frames of Ruby are control frames like any other; natively all that
 * call each other share one frame, whose entry pushed three registers (yjit_codegen.c of 3.1,
 * yjit/src/codegen.rs: gen_entry_prologue; RJIT's compiler.rb is the same), and with --yjit-perf
 * rbp twice before:
 *
 *	sp ─► | rbx | r12 | r13 | return address into the runtime
 *	sp ─► | rbx | r12 | r13 | rbp | rbp | return address
 *
 * Stubs and calls push more for a moment: then it is looked for in the next words.
 */
#ifndef RUBY_JIT_BPF_H
#define RUBY_JIT_BPF_H

#include "plugins/ruby/bpf/scratch.bpf.h"

#define JIT_USUAL     3
#define JIT_WITH_FP   5
#define JIT_STEPS     28 /* of one run; and a quarter of frames_per_run */
#define CALL_BYTES    8 /* before a return address, in which the call is */
#define CALL_RELATIVE 0xe8
#define CALL_OTHER    0xff
#define CALL_DIGIT    0x10 /* of the byte after, with its mask: CALL r/m64 */
#define CALL_MASK     0x38

/* A byte that ends `n` bytes before the return address. */
static __always_inline __u64 call_byte(__u64 code, __u32 n)
{
	return code >> 8 * (CALL_BYTES - n) & 0xff;
}

static __always_inline __u64 is_call_through(__u64 code, __u32 n)
{
	return ep_is_same(call_byte(code, n), CALL_OTHER) &
	       ep_is_same(call_byte(code, n - 1) & CALL_MASK, CALL_DIGIT);
}

/* A word of the stack that leads into the runtime's code, after a call. */
static __always_inline bool is_return(const struct ruby_state *state, struct ruby_scratch *s,
				      __u64 addr)
{
	__u64 in = (addr - state->code_start - (state->code_end - state->code_start)) >> 63 &
		   (state->code_start - 1 - addr) >> 63;

	/* What cannot be read is 0. */
	bpf_probe_read_user(&s->value, sizeof(s->value), (void *)((addr - CALL_BYTES) * in));
	return ep_is_same(call_byte(s->value, 5), CALL_RELATIVE) | is_call_through(s->value, 2) |
	       is_call_through(s->value, 3) | is_call_through(s->value, 4) |
	       is_call_through(s->value, 6) | is_call_through(s->value, 7);
}

/* Where the return address is, in words; RUBY_STACK_WORDS: not found. `is_new`: the frame may be a
 * stub's. */
static __always_inline __u64 find_return(const struct ruby_state *state, struct ruby_scratch *s,
					 bool is_new)
{
	__u64 at;

	if (is_return(state, s, s->stack[JIT_USUAL]))
		return JIT_USUAL;
	if (!is_new)
		return is_return(state, s, s->stack[JIT_WITH_FP]) ? JIT_WITH_FP : RUBY_STACK_WORDS;
	for (at = 0; at < RUBY_STACK_WORDS; at++) {
		if (is_return(state, s, s->stack[at]))
			break;
	}
	return at;
}

/* From a JIT's code to the runtime's that called it. No frame. */
static __always_inline __u32 leave_jit(struct ep_record *rec, const struct ruby_state *state,
				       struct ruby_scratch *s, bool is_new)
{
	__u64 sp = rec->walk.regs[EP_REG_SP], fp = rec->walk.regs[EP_REG_FP], at = RUBY_STACK_WORDS;

	if (!bpf_probe_read_user(s->stack, sizeof(s->stack), (void *)sp))
		at = find_return(state, s, is_new);
	if (at == JIT_WITH_FP && s->stack[JIT_WITH_FP - 1] == s->stack[JIT_WITH_FP - 2])
		fp = s->stack[JIT_WITH_FP - 1];
	if (at >= RUBY_STACK_WORDS ||
	    !ep_set_caller(rec, s->stack[at & (RUBY_STACK_WORDS - 1)], sp + 8 * at + 8, fp))
		return EP_STEP_UNKNOWN;
	s->left_jit = 1;
	return EP_STEP_CALLER;
}

/* rb_vm_exec, which is marked: it is not remembered, but its frame is known. */
static __always_inline __u32 step_exec(struct ep_record *rec, const struct ruby_state *state,
				       struct ruby_scratch *s)
{
	__u64 fp = rec->walk.regs[EP_REG_FP], cfa, saved = state->exec_saved;

	cfa = ep_pick(state->exec_has_fp & 1, fp + 16,
		      rec->walk.regs[EP_REG_SP] + state->exec_frame);
	if (!ep_read_word(cfa - 8, &s->value) || (saved && !ep_read_word(cfa - saved, &fp)))
		return EP_STEP_UNKNOWN;
	if (!ep_push_mark(rec))
		return EP_ERROR_TOO_DEEP;
	return ep_set_caller(rec, s->value, cfa, fp) ? EP_STEP_CALLER : EP_ERROR_NO_PROGRESS;
}

static __always_inline __u32 step_native(struct ep_record *rec, const struct ruby_state *state,
					 struct ruby_scratch *s)
{
	__u64 addr = rec->walk.pc - rec->walk.return_address;
	const struct ep_row *row;

	if (addr - state->exec_start < state->exec_end - state->exec_start)
		return step_exec(rec, state, s);
	row = ep_find_row(rec, addr);
	if (!row || !EP_ROW_ID(row->executable))
		return leave_jit(rec, state, s, false);
	return ep_step_native(rec);
}

/*
 * The walk goes on in the runtime, and comes back to a JIT's code through C that is remembered: any
 * number of such turns costs no tail call. Or where it was: that code is no JIT's.
 */
static __always_inline void walk_jit(void *ctx, struct ep_record *rec,
				     const struct ruby_state *state, struct ruby_scratch *s)
{
	__u32 done = EP_STEP_CALLER;

	if (!s->in_jit)
		done = leave_jit(rec, state, s, true);
	if (done != EP_STEP_CALLER) {
		ep_count(RUBY_COUNT_JIT_LOST);
		ep_give_back(ctx, rec);
		return;
	}
	for (__u64 i = 0; i < JIT_STEPS; i++) {
		if (i >= ep_self.frames_per_run / 4)
			break;
		done = step_native(rec, state, s);
		if (done != EP_STEP_CALLER)
			break;
	}
	s->in_jit = done == EP_STEP_CALLER;
	if (s->in_jit)
		ep_run_again(ctx, rec);
	s->in_jit = 0;
	ep_leave(ctx, rec, done == EP_STEP_CALLER ? EP_STEP_UNKNOWN : done);
}

#endif
