/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is common to frames: they are pushed, and the walk goes on at their caller, however that is
 * found: enum hotspot_how.
 */
#ifndef HOTSPOT_FRAME_BPF_H
#define HOTSPOT_FRAME_BPF_H

#include "plugins/hotspot/bpf/search.bpf.h"
#include "plugins/hotspot/bpf/thread.bpf.h"

/* A frame of fixed code with a frame pointer is not larger: save areas of all vector registers. */
#define HOTSPOT_FIXED_MAX 0x4000

static __always_inline void push(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 flags = at->flags << HOTSPOT_FRAME_SHIFT |
		      (__u64)w->rec->walk.interrupted * EP_FRAME_INTERRUPTED;
	__u32 n = at->n_words & 3;

	w->s->last_frame = w->rec->sample.n_kernel + w->rec->sample.n_words;
	w->s->seen = 1;
	if (!ep_push_words(w->rec, EP_FRAME_HEADER(ep_self.kind, flags, n, at->aux), n, at->words[0],
			   at->words[1], 0))
		fail(w, EP_ERROR_TOO_DEEP);
}

static __always_inline void be_stub(const struct hotspot_walk *w)
{
	w->s->at.flags = HOTSPOT_FRAME_STUB;
	w->s->at.aux = 0;
	w->s->at.n_words = 1;
	w->s->at.words[0] = w->rec->walk.pc;
	w->s->at.pushes = 1;
}

/* To what the slot says; the caller's fp is below it or in its register. */
static __always_inline void return_by_slot(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = get_fp(w), keeps = -(at->keeps_fp & 1);

	if (!see_stack(w, at->slot - 8, 16))
		fail(w, EP_ERROR_BAD_READ);
	at->pc = get_seen(w, 1);
	at->fp = (fp & keeps) | (get_seen(w, 0) & ~keeps);
	at->sp = at->slot + 8;
}

static __always_inline bool has_rule(const struct hotspot_walk *w, __u64 rule)
{
	__u32 base = HOTSPOT_RULE_BASE(rule), in = HOTSPOT_RULE_RETURN_IN(rule);

	return base < 16 && is_known(w, base) &&
	       (in >= HOTSPOT_RULE_ON_STACK || is_known(w, in));
}

static __always_inline void return_by_rule(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	const __u64 *regs = w->rec->walk.regs;
	__u64 rule = w->s->code.data, slot;
	__u32 in = HOTSPOT_RULE_RETURN_IN(rule), fp_at = HOTSPOT_RULE_FP_AT(rule);

	at->sp = regs[HOTSPOT_RULE_BASE(rule) & 15] + HOTSPOT_RULE_OFFSET(rule);
	at->fp = get_fp(w);
	at->pc = regs[in & 15];
	slot = in == HOTSPOT_RULE_AT_SP ? get_sp(w) : at->sp - 8;
	if (((in >= HOTSPOT_RULE_ON_STACK || in == HOTSPOT_RULE_AT_SP) &&
	     !read_word(slot, &at->pc)) ||
	    (fp_at && !read_word(at->sp - 8 * (__u64)fp_at, &at->fp)))
		fail(w, EP_ERROR_BAD_READ);
}

/* No rule: a frame pointer counts where a return address of ours is above it. Else from sp on. */
static __always_inline void guess_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = get_fp(w);

	allow_search(w, get_sp(w));
	w->s->sure = 0;
	at->how = HOTSPOT_HOW_SEARCH;
	if (fp - get_sp(w) >= HOTSPOT_FIXED_MAX || (fp & 7) ||
	    bpf_probe_read_user(w->b->pair, sizeof(w->b->pair), (void *)fp) ||
	    !is_near(w, w->b->pair[1]))
		return;
	at->pc = w->b->pair[1];
	at->fp = w->b->pair[0];
	at->sp = fp + 16;
	at->how = HOTSPOT_HOW_KNOWN;
}

/* at.pc, at.sp and at.fp become the walk's. */
static __always_inline void set_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	struct ep_walk *walk = &w->rec->walk;

	if (at->sp + (at->may_stand | walk->interrupted) <= walk->regs[EP_REG_SP])
		fail(w, EP_ERROR_NO_PROGRESS);
	walk->pc = at->pc;
	walk->regs[EP_REG_SP] = at->sp;
	walk->regs[EP_REG_FP] = at->fp;
	walk->known_regs = EP_KNOWN_ALWAYS | (walk->known_regs & at->keeps_regs);
	walk->return_address = 1;
	walk->by_pointer = 0;
	walk->interrupted = 0;
}

static __always_inline void go_to_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	if (at->how == HOTSPOT_HOW_GUESS)
		guess_caller(w);
	else if (at->how == HOTSPOT_HOW_RULE)
		return_by_rule(w);
	else if (at->how == HOTSPOT_HOW_SLOT)
		return_by_slot(w);
	HOTSPOT_MEET();
	if (at->how == HOTSPOT_HOW_SEARCH)
		search(w);
	else if (at->how != HOTSPOT_HOW_SKIPPED && !at->error)
		set_caller(w);
}

#endif
