/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of the template interpreter, by fp (src/hotspot/cpu/x86/frame_x86.hpp; 8 has no mirror):
 *
 *	fp + 8		return address
 *	fp		caller's fp
 *	fp - 8		sender's sp: that of the caller before arguments were moved
 *	  ...		last sp, Method, mirror, mdp, cache, locals, bcp: their slots are in the
 *			state
 */
#ifndef HOTSPOT_INTERPRETER_BPF_H
#define HOTSPOT_INTERPRETER_BPF_H

#include "plugins/hotspot/bpf/frame.bpf.h"

#define HOTSPOT_REG_METHOD 3  /* rbx: Method at the entry of the interpreter, 8 to 27 */
#define HOTSPOT_REG_BCP	   13 /* r13: in the interpreter bcp, else the sender's sp: 8 to 27 */
#define HOTSPOT_SENDER_MAX 0x100000 /* a method has at most 65535 locals */

static __always_inline __u64 get_slot(const struct hotspot_walk *w, __s32 slot)
{
	return EP_WINDOW_WORD(&w->s->stack, (__u64)(HOTSPOT_SLOTS_BACK + slot));
}

/* On to its name and its class's. What cannot be read is 0, and so no method that who names it
 * knows. */
static __always_inline void read_way(const struct hotspot_walk *w)
{
	const struct hotspot_state *state = w->state;
	struct hotspot_way *way = &w->s->way;

	ep_read_word(way->const_method + state->const_pool, &way->pool);
	ep_read_word(way->pool + state->pool_len, &way->version);
	ep_read_word(way->pool + state->pool_holder, &way->class);
	ep_read_word(way->class + state->class_name, &way->class_name);
	ep_read_word(way->class_name, &way->class_symbol);
	ep_read_word(way->pool + state->pool_bytes + 8 * HOTSPOT_NAME_INDEX(way->quad), &way->name);
	ep_read_word(way->name, &way->symbol);
	way->class_symbol &= HOTSPOT_SYMBOL_MASK(state->symbol_shift);
	way->symbol &= HOTSPOT_SYMBOL_MASK(state->symbol_shift);
}

/*
 * What was read of a Method holds while no safepoint begins or ends. A Method whose frame is on a
 * stack is alive, and its class with it: marking takes the frames as roots. So before another is at
 * its address, a marking has to end that did not find it, and that is a safepoint after the sample
 * that read it, also where classes are unloaded beside running threads:
 *
 *	Z		pause_mark_end, then concurrent_process_non_strong_references,
 *			ZUnload::purge (gc/z/zDriver.cpp, 17; zGeneration.cpp,
 *			ZGenerationOld::collect, 21 to 27)
 *	Shenandoah	vmop_entry_final_mark, then entry_class_unloading
 *			(gc/shenandoah/shenandoahConcurrentGC.cpp, 17 to 27)
 *	the others	ClassLoaderDataGraph::purge at a safepoint, or after the one that ended
 *			marking (8 to 27); so does redefinition of classes (VM_RedefineClasses)
 *
 * The counter is incremented when a safepoint begins and when it ends, before threads run on
 * (SafepointSynchronize::begin and end, runtime/safepoint.cpp, 8 to 27). Where it is not known:
 * this sample, in which the frames are there all the time.
 */
static __always_inline void begin_epoch(const struct hotspot_walk *w)
{
	const struct ep_record *rec = w->rec;
	struct hotspot_epoch *epoch = &w->s->epoch;
	__u64 at = w->state->safepoints_at;

	epoch->start_ns = rec->sample.start_ns;
	epoch->image = (__u64)rec->sample.pid << 32 | rec->sample.image;
	epoch->counter_at = at;
	if (at && ep_read_word(at, &w->s->value)) {
		epoch->counter = w->s->value << (w->state->safepoints_shift & 63);
		return;
	}
	epoch->counter_at = 0;
	epoch->counter = rec->walk.sequence;
}

static __always_inline struct hotspot_known *get_known(const struct hotspot_walk *w, __u64 method)
{
	__u64 hash = (method >> 3) * 0x9e3779b97f4a7c15ull >> 57;

	return &w->s->known[hash & (HOTSPOT_KNOWN - 1)];
}

/* Without branches, of which a verifier would walk each. */
static __always_inline bool is_known_method(const struct hotspot_walk *w,
					    const struct hotspot_known *known, __u64 method)
{
	const struct hotspot_epoch *now = &w->s->epoch, *then = &known->epoch;
	__u64 differs = (now->start_ns ^ then->start_ns) | (now->image ^ then->image) |
			(now->counter_at ^ then->counter_at) | (now->counter ^ then->counter) |
			(method ^ known->method);

	EP_OPAQUE(differs);
	return !differs;
}

/* Into the buffers' way and the one that is remembered. */
static __always_inline bool read_method(const struct hotspot_walk *w, struct hotspot_known *known,
					__u64 method)
{
	struct hotspot_way *way = &w->s->way;

	if (!method || !ep_read_word(method + w->state->method_const, &way->const_method) ||
	    !ep_read_word(way->const_method + w->state->const_code_size, &way->quad) ||
	    way->const_method >> 47)
		return false;
	read_way(w);
	known->epoch = w->s->epoch;
	known->method = method;
	known->const_method = way->const_method;
	known->quad = way->quad;
	known->word = hotspot_interpreted_word(way);
	return true;
}

/* The words that name it. */
static __always_inline bool be_interpreted(const struct hotspot_walk *w, __u64 method)
{
	struct hotspot_frame_at *at = &w->s->at;
	struct hotspot_known *known = get_known(w, method);

	at->flags = HOTSPOT_FRAME_INTERPRETED;
	at->n_words = 2;
	at->pushes = 1;
	at->words[0] = method;
	w->s->exact = 1;
	w->s->sure = 1;
	w->s->searches = 0;
	if (!is_known_method(w, known, method) && !read_method(w, known, method))
		return false;
	EP_MEET();
	w->s->way.const_method = known->const_method;
	w->s->way.quad = known->quad;
	at->words[1] = known->word;
	return true;
}

/* A leaf's bcp may be in its register, which has other things at times; else the slot has it. */
static __always_inline __u64 find_bci(const struct hotspot_walk *w)
{
	__u64 begin = w->s->way.const_method + w->state->const_bytes,
	      size = w->s->way.quad & 0xffff;
	__u64 bci = get_slot(w, w->state->bcp_slot) - begin;
	__u64 in_reg = w->rec->walk.regs[HOTSPOT_REG_BCP] - begin;

	if (w->rec->walk.interrupted && ep_enter_knows(w, HOTSPOT_REG_BCP) && in_reg < size)
		bci = in_reg;
	return bci < size ? bci : HOTSPOT_BCI_NATIVE;
}

/* That of the frame: a barrier has made one within it (HOTSPOT_METHOD_INNER). */
static __always_inline __u64 find_frame(const struct hotspot_walk *w)
{
	if (HOTSPOT_RULE_METHOD(w->s->ranges.code.data) != HOTSPOT_METHOD_INNER)
		return ep_enter_fp(w);
	w->s->value = 0;
	ep_read_word(ep_enter_fp(w), &w->s->value);
	return w->s->value;
}

static __always_inline void step_interpreted(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 fp = find_frame(w);

	if (fp < ep_enter_sp(w) ||
	    !EP_WINDOW_SEE(&w->s->stack, w->s->sequence, fp - HOTSPOT_SLOTS_BACK * 8,
			   HOTSPOT_SLOTS * 8) ||
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
