/* SPDX-License-Identifier: GPL-2.0-only */
/* What is common to frames: they are pushed, and the walk goes on at what at.slot returns to. */
#ifndef HOTSPOT_FRAME_BPF_H
#define HOTSPOT_FRAME_BPF_H

#include "plugins/hotspot/bpf/search.bpf.h"
#include "plugins/hotspot/bpf/thread.bpf.h"

static __always_inline bool push_at(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 flags = at->flags << HOTSPOT_FRAME_SHIFT |
		      (__u64)w->rec->walk.interrupted * EP_FRAME_INTERRUPTED;
	__u32 n = at->n_words & 3;

	w->s->last_frame = w->rec->sample.n_kernel + w->rec->sample.n_words;
	w->s->seen = 1;
	return ep_push_words(w->rec, EP_FRAME_HEADER(ep_self.kind, flags, n, at->aux), n, at->words[0],
			     at->words[1], 0);
}

static __always_inline void be_stub(const struct hotspot_walk *w)
{
	w->s->at.flags = HOTSPOT_FRAME_STUB;
	w->s->at.aux = 0;
	w->s->at.n_words = 1;
	w->s->at.words[0] = w->rec->walk.pc;
}

/* at.pc, at.sp and at.fp become the walk's. Only an interrupted frame may have no bytes at all. */
static __always_inline __u32 set_caller(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	struct ep_walk *walk = &w->rec->walk;

	if (at->sp + walk->interrupted <= walk->regs[EP_REG_SP])
		return EP_ERROR_NO_PROGRESS;
	walk->pc = at->pc;
	walk->regs[EP_REG_SP] = at->sp;
	walk->regs[EP_REG_FP] = at->fp;
	walk->known_regs = EP_KNOWN_ALWAYS;
	walk->return_address = 1;
	walk->by_pointer = 0;
	walk->interrupted = 0;
	return EP_STEP_CALLER;
}

/* To what the slot says; the caller's fp is below it or in its register. */
static __always_inline __u32 return_by_slot(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	if (bpf_probe_read_user(w->b->pair, sizeof(w->b->pair), (void *)(at->slot - 8)))
		return EP_ERROR_BAD_READ;
	at->pc = w->b->pair[1];
	at->fp = at->keeps_fp ? get_fp(w) : w->b->pair[0];
	at->sp = at->slot + 8;
	return set_caller(w);
}

#endif
