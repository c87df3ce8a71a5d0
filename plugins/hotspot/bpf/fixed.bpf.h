/* SPDX-License-Identifier: GPL-2.0-only */
/* Code at fixed places: by the rule of its range (hotspot_shared.h). */
#ifndef HOTSPOT_FIXED_BPF_H
#define HOTSPOT_FIXED_BPF_H

#include "plugins/hotspot/bpf/interpreter.bpf.h"

/* A frame of fixed code with a frame pointer is not larger: save areas of all vector registers. */
#define HOTSPOT_FIXED_MAX 0x4000

static __always_inline bool has_rule(const struct hotspot_walk *w, __u64 rule)
{
	__u32 base = HOTSPOT_RULE_BASE(rule), in = HOTSPOT_RULE_RETURN_IN(rule);

	return base < 16 && is_known(w, base) &&
	       (in >= HOTSPOT_RULE_ON_STACK || is_known(w, in));
}

/* Into at: where a frame under a rule returns to. */
static __always_inline bool follow_rule(const struct hotspot_walk *w, __u64 rule)
{
	struct hotspot_frame_at *at = &w->s->at;
	const __u64 *regs = w->rec->walk.regs;
	__u32 in = HOTSPOT_RULE_RETURN_IN(rule), fp_at = HOTSPOT_RULE_FP_AT(rule);

	at->sp = regs[HOTSPOT_RULE_BASE(rule) & 15] + HOTSPOT_RULE_OFFSET(rule);
	at->fp = get_fp(w);
	at->pc = regs[in & 15];
	if (in >= HOTSPOT_RULE_ON_STACK && !read_word(at->sp - 8, &at->pc))
		return false;
	return !fp_at || read_word(at->sp - 8 * (__u64)fp_at, &at->fp);
}

/* No rule: a frame pointer counts where a return address of ours is above it. Else from sp on. */
static __always_inline __u32 guess_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = get_fp(w);

	allow_search(w, get_sp(w));
	w->s->sure = 0;
	if (fp - get_sp(w) < HOTSPOT_FIXED_MAX && !(fp & 7) &&
	    bpf_probe_read_user(w->b->pair, sizeof(w->b->pair), (void *)fp) == 0 &&
	    is_near(w, w->b->pair[1])) {
		at->pc = w->b->pair[1];
		at->fp = w->b->pair[0];
		at->sp = fp + 16;
		return set_caller(w);
	}
	return search(w);
}

static __always_inline __u32 leave_fixed(const struct hotspot_walk *w, __u64 rule)
{
	w->s->exact = 0;
	if (!has_rule(w, rule))
		return guess_caller(w);
	w->s->searches = 0;
	w->s->sure = 1;
	if (!follow_rule(w, rule))
		return EP_ERROR_BAD_READ;
	return set_caller(w);
}

/* What compiled code that called the interpreter had as sp is in r13: arguments lie between. */
static __always_inline void set_sender_sp(const struct hotspot_walk *w)
{
	__u64 sender = w->rec->walk.regs[HOTSPOT_REG_BCP];

	if (is_known(w, HOTSPOT_REG_BCP) && sender - w->s->at.sp < HOTSPOT_FIXED_MAX)
		w->s->at.sp = sender;
}

/* The interpreter is entered: its frame is not there yet. */
static __always_inline __u32 step_entry(const struct hotspot_walk *w, __u64 rule)
{
	if (!is_known(w, HOTSPOT_REG_METHOD) ||
	    !be_interpreted(w, w->rec->walk.regs[HOTSPOT_REG_METHOD]))
		return own_error(HOTSPOT_ERROR_INTERPRETER);
	w->s->at.aux = w->b->quad & 0xffff ? 0 : HOTSPOT_BCI_NATIVE;
	if (!push_at(w))
		return EP_ERROR_TOO_DEEP;
	w->s->exact = 1;
	w->s->searches = 0;
	w->s->sure = 1;
	if (!has_rule(w, rule) || !follow_rule(w, rule))
		return EP_ERROR_BAD_REGISTER;
	set_sender_sp(w);
	return set_caller(w);
}

static __always_inline __u32 step_stub(const struct hotspot_walk *w, __u64 rule)
{
	if (is_remaking(w))
		return own_error(HOTSPOT_ERROR_DEOPT);
	be_stub(w);
	if (!push_at(w))
		return EP_ERROR_TOO_DEEP;
	pass_call_stub(w);
	if (skip_native(w))
		return EP_STEP_CALLER;
	return leave_fixed(w, rule);
}

static __always_inline __u32 step_fixed(const struct hotspot_walk *w)
{
	__u64 rule = w->s->code.data;
	__u32 method = HOTSPOT_RULE_METHOD(rule);

	if (method == HOTSPOT_METHOD_FRAME)
		return step_interpreted(w);
	if (method == HOTSPOT_METHOD_ENTRY)
		return step_entry(w, rule);
	return step_stub(w, rule);
}

#endif
