/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of the template interpreter, by fp (src/hotspot/cpu/x86/frame_x86.hpp; 8 has no mirror):
 *
 *	fp + 8		return address
 *	fp		caller's fp
 *	fp - 8		sender's sp: that of the caller before arguments were moved
 *	  ...		last sp, Method, mirror, mdp, cache, locals, bcp: their slots are in the state
 */
#ifndef HOTSPOT_INTERPRETER_BPF_H
#define HOTSPOT_INTERPRETER_BPF_H

#include "plugins/hotspot/bpf/frame.bpf.h"

#define HOTSPOT_REG_METHOD 3  /* rbx: Method at the entry of the interpreter, 8 to 27 */
#define HOTSPOT_REG_BCP	   13 /* r13: in the interpreter bcp, else the sender's sp: 8 to 27 */
#define HOTSPOT_SENDER_MAX 0x100000 /* a method has at most 65535 locals */

static __always_inline __u64 get_slot(const struct hotspot_walk *w, __s32 slot)
{
	return w->b->slots[(__u32)(HOTSPOT_SLOTS_BACK + slot) & 15];
}

/* On to its name and its class's. What cannot be read is 0, and so no method that who names it knows. */
static __always_inline void read_way(const struct hotspot_walk *w)
{
	const struct hotspot_state *state = w->state;
	struct hotspot_way *way = &w->b->way;

	read_word(way->const_method + state->const_pool, &way->pool);
	read_word(way->pool + state->pool_holder, &way->class);
	read_word(way->class + state->class_name, &way->class_name);
	read_word(way->class_name, &way->class_symbol);
	read_word(way->pool + state->pool_bytes + 8 * HOTSPOT_NAME_INDEX(way->quad), &way->name);
	read_word(way->name, &way->symbol);
	way->class_symbol &= HOTSPOT_SYMBOL_MASK(state->symbol_shift);
	way->symbol &= HOTSPOT_SYMBOL_MASK(state->symbol_shift);
}

/* The words that name it. */
static __always_inline bool be_interpreted(const struct hotspot_walk *w, __u64 method)
{
	struct hotspot_frame_at *at = &w->s->at;
	struct hotspot_buffers *b = w->b;

	at->flags = HOTSPOT_FRAME_INTERPRETED;
	at->n_words = 2;
	at->pushes = 1;
	at->words[0] = method;
	w->s->exact = 1;
	w->s->sure = 1;
	w->s->searches = 0;
	if (!method || !read_word(method + w->state->method_const, &b->way.const_method) ||
	    !read_word(b->way.const_method + w->state->const_code_size, &b->way.quad) || b->way.const_method >> 47)
		return false;
	read_way(w);
	at->words[1] = hotspot_interpreted_word(&b->way);
	return true;
}

/* A leaf's bcp may be in its register, which has other things at times; else the slot has it. */
static __always_inline __u64 find_bci(const struct hotspot_walk *w)
{
	__u64 begin = w->b->way.const_method + w->state->const_bytes, size = w->b->way.quad & 0xffff;
	__u64 bci = get_slot(w, w->state->bcp_slot) - begin;
	__u64 in_reg = w->rec->walk.regs[HOTSPOT_REG_BCP] - begin;

	if (w->rec->walk.interrupted && is_known(w, HOTSPOT_REG_BCP) && in_reg < size)
		bci = in_reg;
	return bci < size ? bci : HOTSPOT_BCI_NATIVE;
}

static __always_inline void step_interpreted(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = get_fp(w);

	if (fp < get_sp(w) ||
	    bpf_probe_read_user(w->b->slots, HOTSPOT_SLOTS * 8, (void *)(fp - HOTSPOT_SLOTS_BACK * 8)) ||
	    !be_interpreted(w, get_slot(w, w->state->method_slot))) {
		fail_own(w, HOTSPOT_ERROR_INTERPRETER);
		return;
	}
	at->aux = find_bci(w);
	at->pc = get_slot(w, 1);
	at->fp = get_slot(w, 0);
	at->sp = get_slot(w, w->state->sender_sp_slot);
	at->how = HOTSPOT_HOW_KNOWN;
	/* Only compiled callers need it. */
	if (at->sp - fp >= HOTSPOT_SENDER_MAX) {
		at->sp = fp + 16;
		w->s->exact = 0;
	}
}

#endif
