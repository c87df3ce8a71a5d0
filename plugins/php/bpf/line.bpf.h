/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a frame is in its code. A frame's opline is stored before whatever can call or throw, so
 * those of callers hold. The innermost one's is older, but in the loop of the hybrid VM it is in
 * r15, while r14 is the frame (zend_execute.c: ZEND_VM_FP_GLOBAL_REG, ZEND_VM_IP_GLOBAL_REG). A JIT
 * keeps neither.
 */
#ifndef PHP_LINE_BPF_H
#define PHP_LINE_BPF_H

#include "plugins/php/bpf/function.bpf.h"

static __always_inline __u64 is_in(__u64 addr, __u64 start, __u64 bytes)
{
	return (addr - start - bytes) >> 63 & (start - 1 - addr) >> 63;
}

static __always_inline __u64 is_in_maker(const struct php_state *state, __u64 pc, __u32 maker)
{
	return is_in(pc, state->code_start + state->makers[maker].first,
		     state->makers[maker].bytes);
}

/*
 * What was interrupted may be the loop, or what makes a frame for it. Where code of the JIT was
 * found it must be the loop itself: r15 may be an opline from before that code, also in C that it
 * has called. In that code itself r14 is the frame, which is current only where it has called
 * something.
 */
static __always_inline void take_registers(const struct bpf_perf_event_data *ctx,
					   const struct php_state *state, struct php_scratch *s)
{
#if defined(__x86_64__)
	__u64 pc = ctx->regs.rip, is_user = ep_is_same(ctx->regs.cs & 3, 3);
	__u64 holds = (1 ^ s->left_jit) | s->at_jit |
		      is_in(pc, state->loop_start, state->loop_end - state->loop_start);

	s->register_frame = ctx->regs.r14 * (is_user & state->hybrid & holds);
	s->register_opline = ctx->regs.r15;
	s->makes = is_user & (is_in_maker(state, pc, 0) | is_in_maker(state, pc, 1));
#endif
}

/*
 * One that returns takes its caller for current before it frees its variables, and one that is
 * called becomes current last. The loop is in it all the same.
 */
static __always_inline void take_left_frame(struct php_scratch *s)
{
	if (s->register_frame == s->frame || !s->frame || !s->register_frame)
		return;
	if (ep_read_word(s->register_frame + 8 * FRAME_PREV, &s->value) && s->value == s->frame) {
		s->current = s->frame;
		s->frame = s->register_frame;
	}
}

/* Number of an opline; PHP_NO_LINE: it is none of this function. */
static __always_inline __u64 number_of(struct php_scratch *s, __u64 opline)
{
	__u64 off = opline - seen_function(s)->known.opcodes, index = off / PHP_OP_BYTES;
	__u64 holds =
		(index - seen_function(s)->known.last) >> 63 & (1 ^ ep_is_set(off % PHP_OP_BYTES));

	return ep_pick(holds, index, PHP_NO_LINE);
}

/* The frame in hand is in the loop: in its registers are the frame and one of its oplines. */
static __always_inline __u64 is_in_registers(struct php_scratch *s)
{
	return ep_is_same(s->register_frame, s->frame) &
	       ep_is_set(number_of(s, s->register_opline) ^ PHP_NO_LINE);
}

/* While an exception is handled the opline is one of the globals: exception_op. 1: it is. */
static __always_inline __u64 leave_exception(const struct php_state *state, struct php_scratch *s)
{
	if (s->opline - s->globals >= state->globals_bytes)
		return 0;
	bpf_probe_read_user(&s->value, sizeof(s->value),
			    (void *)(s->globals + state->before_exception_off));
	s->opline = s->value;
	return 1;
}

/*
 * Its opline, that one's index, and whether it runs: opcache's optimizer makes frames whose opline
 * is none of theirs (Optimizer/sccp.c). C makes a frame before it runs it: its opline is then the
 * first one after those that receive arguments.
 */
static __always_inline void find_line(const struct php_state *state, struct php_scratch *s)
{
	__u64 in_loop, number, is_new;

	s->runs = leave_exception(state, s) &
		  ep_is_set(seen_function(s)->known.last); /* a trampoline has no oplines */
	EP_MEET();
	in_loop = s->innermost & (1 ^ s->at_jit) & is_in_registers(s);
	s->opline = ep_pick(in_loop, s->register_opline, s->opline);
	number = number_of(s, s->opline);
	is_new = s->innermost & s->makes & ep_is_set(s->info & INFO_TOP) &
		 (number - seen_function(s)->n_args - 1) >> 63;
	s->runs |= (ep_is_set(number ^ PHP_NO_LINE) & (1 ^ is_new)) |
		   ep_is_same(php_kind((__u32)seen_function(s)->known.aux), PHP_KIND_UNREADABLE);
	/* The JIT's code stores none where nothing can call or throw. */
	s->runs |= s->innermost & s->at_jit & ep_is_same(s->register_frame, s->frame);
	s->index = ep_pick(s->innermost & s->left_jit & (1 ^ in_loop), PHP_NO_LINE, number);
}

/* --- what its op says ------------------------------------------------------------------------- */

static __always_inline void read_op(struct php_scratch *s)
{
	/* What cannot be read is 0. */
	s->op_lost =
		ep_is_set(bpf_probe_read_user(s->op, sizeof(s->op), (void *)(s->opline + OP_READ)));
}

static __always_inline __u64 op_code(const struct php_scratch *s)
{
	return s->op[1] >> (PHP_OP_OPCODE - OP_READ - 8) * 8 & 0xff;
}

static __always_inline __u64 op_line(const struct php_scratch *s)
{
	return s->op[1] & 0xffffffff;
}

static __always_inline __u64 op_extended(const struct php_scratch *s)
{
	return s->op[0] >> (PHP_OP_EXTENDED - OP_READ) * 8;
}

/* enum php_came: 1 eval, 2 include, 4 include_once, 8 require, 16 require_once (zend_compile.h). */
static __always_inline __u32 find_came(const struct php_scratch *s)
{
	__u64 how = op_extended(s), came = 1;

	came += ep_is_same(how, 2) + 2 * ep_is_same(how, 4) + 3 * ep_is_same(how, 8) +
		4 * ep_is_same(how, OP_INCLUDES);
	return (__u32)ep_pick(ep_is_same(op_code(s), OP_INCLUDE), came,
			      PHP_CAME_OTHERWISE + s->op_lost);
}

static __always_inline __u64 is_frameless(const struct php_scratch *s)
{
	return (OP_FRAMELESS_FIRST - 1 - op_code(s)) >> 63 &
	       (op_code(s) - OP_FRAMELESS_LAST - 1) >> 63;
}

#endif
