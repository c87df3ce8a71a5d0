/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Return addresses that are not where they should be: compiled code may have moved sp, be it to
 * spill registers before it calls a barrier of a collector. Then words upwards from there are
 * tried, and the first counts that lies in code of Java after a call. fp alone is nothing to go
 * by.
 *
 *	sp ... | slot | word | word | word that is in code ...
 *	         ▲ no code of ours    ▲ looked up in the next step; if it is none the search goes on
 */
#ifndef HOTSPOT_SEARCH_BPF_H
#define HOTSPOT_SEARCH_BPF_H

#include "plugins/hotspot/bpf/scratch.bpf.h"

/* The frame before was searched: that is part of it now, and of the trace's hash. */
static __always_inline void mark_searched(const struct hotspot_walk *w)
{
	if (ep_add_flags(w->rec, w->s->last_frame, HOTSPOT_FRAME_SEARCHED))
		w->s->counted++;
}

/* Begins at a slot, and looks at more than one only where what is there does not hold. */
static __always_inline void allow_search(const struct hotspot_walk *w, __u64 slot)
{
	w->s->search_sp = slot;
	w->s->searches = HOTSPOT_WINDOWS;
}

/* How many words after the first are none; without a branch, of which each would be a way of its
 * own. */
static __always_inline __u64 find_near(const struct hotspot_walk *w)
{
	__u64 found = 0, none = 1;

#pragma clang loop unroll(disable)
	for (__u64 i = 1; i < HOTSPOT_WINDOW; i++) {
		__u64 off = w->s->stack.words[i] - w->s->ranges.low;
		__u64 is = (~off & (off - w->s->ranges.bytes)) >> 63;

		EP_OPAQUE(is);
		none &= 1 ^ is;
		found += none;
	}
	return found;
}

/* The next word that may be one. Where a window has none pc is no code, for the next one. */
static __always_inline void search(const struct hotspot_walk *w)
{
	struct ep_walk *walk = &w->rec->walk;
	__u64 found;

	if (!w->s->searches || !EP_WINDOW_SEE(&w->s->stack, w->s->sequence, w->s->search_sp - 8,
					      sizeof(w->s->stack.words))) {
		fail_own(w, HOTSPOT_ERROR_RETURN);
		return;
	}
	w->s->searches--;
	found = find_near(w);
	w->s->search_sp += 8 * found;
	walk->interrupted = 0;
	if (found >= HOTSPOT_WINDOW - 1) {
		walk->pc = 0;
		return;
	}
	found++;
	w->s->search_sp += 8;
	walk->pc = w->s->stack.words[found];
	walk->regs[EP_REG_FP] = w->s->stack.words[found - 1];
	walk->regs[EP_REG_SP] = w->s->search_sp;
	walk->known_regs = EP_KNOWN_ALWAYS;
	walk->return_address = 1;
	walk->by_pointer = 0;
	w->s->sure = 0;
	mark_searched(w);
}

#endif
