/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Return addresses that are not where they should be: compiled code may have moved sp, be it to spill
 * registers before it calls a barrier of a collector. Then words upwards from there are tried, and the
 * first counts that lies in code of Java behind a call. fp alone is nothing to go by.
 *
 *	sp ... | slot | word | word | word that is in code ...
 *	         ▲ no code of ours    ▲ looked up in the next step; where it is none the search goes on
 */
#ifndef HOTSPOT_SEARCH_BPF_H
#define HOTSPOT_SEARCH_BPF_H

#include "plugins/hotspot/bpf/scratch.bpf.h"

/* The frame before was searched: that is part of it now, and of the trace's hash. */
static __always_inline void mark_searched(const struct hotspot_walk *w)
{
	__u64 at = w->s->last_frame, flag = (__u64)HOTSPOT_FRAME_SEARCHED << 8;

	if (at > EP_RECORD_WORDS - 1 || w->rec->words[at] & flag)
		return;
	w->rec->words[at] |= flag;
	w->rec->walk.hash = ep_hash_word(w->rec->walk.hash, flag);
	ep_count(HOTSPOT_COUNT_SEARCHED);
}

/* Begins at a slot, and looks at more than one only where what is there does not hold. */
static __always_inline void allow_search(const struct hotspot_walk *w, __u64 slot)
{
	w->s->search_sp = slot;
	w->s->searches = HOTSPOT_WINDOWS;
}

static __always_inline __u32 search(const struct hotspot_walk *w)
{
	struct ep_walk *walk = &w->rec->walk;
	__u64 found = 0;

	if (!w->s->searches)
		return own_error(HOTSPOT_ERROR_RETURN);
	w->s->searches--;
	if (bpf_probe_read_user(w->b->words, sizeof(w->b->words), (void *)(w->s->search_sp - 8)))
		return own_error(HOTSPOT_ERROR_RETURN);
	for (__u64 i = 1; i <= HOTSPOT_WINDOW; i++) {
		found = i;
		if (is_near(w, w->b->words[i]))
			break;
	}
	EP_OPAQUE(found);
	found &= 127;
	w->s->search_sp += found * 8;
	if (found > HOTSPOT_WINDOW || !is_near(w, w->b->words[found]))
		return EP_STEP_CALLER; /* the next window: pc is as bad as it was */
	walk->pc = w->b->words[found];
	walk->regs[EP_REG_FP] = w->b->words[found - 1];
	walk->regs[EP_REG_SP] = w->s->search_sp;
	walk->known_regs = EP_KNOWN_ALWAYS;
	walk->return_address = 1;
	walk->interrupted = 0;
	walk->by_pointer = 0;
	w->s->sure = 0;
	mark_searched(w);
	return EP_STEP_CALLER;
}

#endif
