/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the native walk does not know the way: code of the JIT, and the end of a fiber's stack.
 *
 * The JIT's code is jumped to as a handler is, and runs in the frame of execute_ex: with its sp,
 * and with its rbp if that is a frame pointer (to 8.3 the tracing JIT may use rbp itself, sp
 * holds). Stubs that it calls have a return address and a word more, and where a trace is left all
 * registers are saved (8.0 to 8.3: zend_jit_x86.dasc, zend_jit_trace_exit_stub). So the frame is
 * that of the loop, and is pushed as one. It is PHP's if that returns to who calls execute_ex.
 *
 * A fiber's stack ends with the address `finish` in make_fcontext. Who resumed it is in
 * jump_fcontext:
 *
 *	EG(current_fiber_context) ─► context ─► caller ─► handle ─► | .. rbx rbp | return addr | sp
 */
#ifndef PHP_NATIVE_BPF_H
#define PHP_NATIVE_BPF_H

#include "plugins/php/bpf/scratch.bpf.h"

#define NATIVE_STEPS 28 /* of one run; and a quarter of frames_per_run */
#define STUB_BYTES   16
#define EXIT_BYTES   256
#define CONTEXT_STACK 32 /* zend_fiber_context.stack (zend_fibers.h) */

/* --- the executor's globals ------------------------------------------------------------------- */

/* 0: this thread has none. */
static __always_inline __u64 find_globals(const struct php_state *state)
{
	__u64 cache = 0;

	if (state->globals_addr)
		return state->globals_addr;
	if (!state->globals_off || !ep_read_tls(&state->cache, ep_thread_pointer(), &cache) ||
	    !cache)
		return 0;
	return cache + state->globals_off;
}

/* --- the loop's frame ------------------------------------------------------------------------- */

/* The return address at the loop's CFA, into `value`. */
static __always_inline bool is_loop(const struct php_state *state, struct php_scratch *s, __u64 cfa)
{
	__u64 differs = 1;

	/* What cannot be read is 0. */
	bpf_probe_read_user(&s->value, sizeof(s->value), (void *)(cfa - 8));
#pragma unroll
	for (__u32 i = 0; i < PHP_RETURNS; i++)
		differs &= ep_is_set(s->value ^ state->returns[i]);
	return !(differs | (1 ^ ep_is_set(s->value)));
}

/* The frame of execute_ex, whose CFA is known: pushed as what it is, and left. */
static __always_inline __u32 leave_loop(struct ep_record *rec, const struct php_state *state,
					struct php_scratch *s, __u64 cfa)
{
	__u64 fp = rec->walk.regs[EP_REG_FP], pc = s->value;

	if (state->loop_saved && !ep_read_word(cfa - state->loop_saved, &fp))
		return EP_STEP_UNKNOWN;
	/* A JIT's code: as if it were in the loop. */
	if (rec->walk.pc - rec->walk.return_address - state->loop_start >=
	    state->loop_end - state->loop_start) {
		s->left_jit = 1;
		s->at_jit |= ep_is_same(rec->walk.return_address, 0);
		rec->walk.pc = state->loop_start;
		rec->walk.return_address = 0;
	}
	EP_MEET();
	if (!ep_push_mark(rec))
		return EP_ERROR_TOO_DEEP;
	return ep_set_caller(rec, pc, cfa, fp) ? EP_STEP_CALLER : EP_ERROR_NO_PROGRESS;
}

static __always_inline __u32 step_loop(struct ep_record *rec, const struct php_state *state,
				       struct php_scratch *s)
{
	__u64 sp = rec->walk.regs[EP_REG_SP], fp = rec->walk.regs[EP_REG_FP];
	__u64 cfa = ep_pick(state->loop_has_fp & 1, fp + 16, sp + state->loop_frame);

	/* Else the native unwinder has its rules. */
	return state->loop_frame && ep_read_word(cfa - 8, &s->value)
		       ? leave_loop(rec, state, s, cfa)
		       : EP_STEP_UNKNOWN;
}

/* From a JIT's code. */
static __always_inline __u32 leave_jit(struct ep_record *rec, const struct php_state *state,
				       struct php_scratch *s)
{
	__u64 sp = rec->walk.regs[EP_REG_SP], fp = rec->walk.regs[EP_REG_FP],
	      cfa = sp + state->loop_frame;

	if (!state->loop_frame)
		return EP_STEP_UNKNOWN;
	if (!is_loop(state, s, cfa)) {
		cfa = ep_pick(state->loop_has_fp & 1, fp + 16, cfa + STUB_BYTES);
		if (!is_loop(state, s, cfa)) {
			cfa = sp + state->loop_frame + EXIT_BYTES;
			if (!is_loop(state, s, cfa))
				return EP_STEP_UNKNOWN;
		}
	}
	EP_MEET();
	return leave_loop(rec, state, s, cfa);
}

/* --- fibers ----------------------------------------------------------------------------------- */

/*
 * The fiber that runs: EP_STEP_CALLER. EP_STEP_UNKNOWN: the stack is not its own, while one gives
 * way to another that is current already.
 */
static __always_inline __u32 find_fiber(struct ep_record *rec, const struct php_state *state,
					struct php_scratch *s)
{
	__u64 globals = find_globals(state);

	if (!globals)
		return EP_STEP_UNKNOWN;
	/* zend_fiber_stack: pointer, size */
	if (!ep_read_word(globals + state->fiber_off, &s->fiber) ||
	    !ep_read_word(s->fiber + CONTEXT_STACK, &s->value) ||
	    bpf_probe_read_user(s->context, 16, (void *)s->value))
		return ep_self.first_error + PHP_ERROR_FIBER;
	return rec->walk.regs[EP_REG_SP] - s->context[0] <= s->context[1] ? EP_STEP_CALLER
									  : EP_STEP_UNKNOWN;
}

/* Who resumed it; EP_STEP_UNKNOWN: nobody, once it has begun to give way. */
static __always_inline __u32 find_resumer(const struct php_state *state, struct php_scratch *s)
{
	__u32 failed = ep_self.first_error + PHP_ERROR_FIBER;

	if (!ep_read_word(s->fiber + state->fiber_caller_off, &s->value))
		return failed;
	s->fiber = s->value;
	if (!s->fiber)
		return EP_STEP_UNKNOWN;
	if (!ep_read_word(s->fiber, &s->value) ||
	    bpf_probe_read_user(s->context, sizeof(s->context), (void *)s->value) ||
	    s->context[CONTEXT_PC] - state->code_start >= state->code_end - state->code_start)
		return failed;
	return EP_STEP_CALLER;
}

static __always_inline __u32 leave_fiber(struct ep_record *rec, const struct php_state *state,
					 struct php_scratch *s)
{
	__u32 found = EP_STEP_CALLER;

	if (!s->fiber)
		found = find_fiber(rec, state, s);
	if (found == EP_STEP_CALLER)
		found = find_resumer(state, s);
	if (found != EP_STEP_CALLER) {
		s->fiber = 0;
		return found;
	}
	s->followed++;
	return ep_switch_stack(rec, s->context[CONTEXT_PC], s->value + sizeof(s->context),
			       s->context[CONTEXT_RBP])
		       ? EP_STEP_CALLER
		       : EP_ERROR_NO_PROGRESS;
}

/* --- the walk --------------------------------------------------------------------------------- */

static __always_inline __u32 step_native(struct ep_record *rec, const struct php_state *state,
					 struct php_scratch *s)
{
	__u64 addr = rec->walk.pc - rec->walk.return_address;
	const struct ep_row *row;

	if (rec->walk.pc == state->finish_addr)
		return leave_fiber(rec, state, s);
	if (addr - state->loop_start < state->loop_end - state->loop_start)
		return step_loop(rec, state, s);
	row = ep_find_row(rec, addr);
	if (!row || !EP_ROW_ID(row->executable))
		return leave_jit(rec, state, s);
	return ep_step_native(rec);
}

/*
 * Where it was entered the first step must do: else that code is not PHP's. Then the walk goes on
 * in the runtime, and comes back to such code through C that is remembered: any number of such
 * turns costs no tail call.
 */
static __always_inline void walk_native(void *ctx, struct ep_record *rec,
					const struct php_state *state, struct php_scratch *s)
{
	__u32 done = EP_STEP_CALLER;

	for (__u64 i = 0; i < NATIVE_STEPS; i++) {
		if (i >= ep_self.frames_per_run / 4)
			break;
		done = step_native(rec, state, s);
		if (done != EP_STEP_CALLER)
			break;
		s->goes_on = 1;
	}
	if (done == EP_STEP_CALLER)
		ep_run_again(ctx, rec);
	if (done == EP_STEP_UNKNOWN && !s->goes_on) {
		/* It may be the JIT's all the same: the innermost line is not known. */
		s->left_jit |= ep_is_interrupted(rec);
		ep_count(PHP_COUNT_JIT_LOST);
		ep_give_back(ctx, rec);
	}
	s->goes_on = 0;
	ep_leave(ctx, rec, done == EP_STEP_CALLER ? EP_STEP_UNKNOWN : done);
}

#endif
