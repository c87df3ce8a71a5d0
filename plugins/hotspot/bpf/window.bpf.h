/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack through a window: a read of 512 bytes costs as much as one and a half of 16, and frames of
 * compiled code have 32 to 100, those of the interpreter 80 to 150.
 *
 *	window ... | frame | frame | frame | ... window + window_bytes
 *	               ▲ what is wanted: window_at words from there
 *
 * It holds what was there when the first of its frames was looked at, microseconds ago for the last one.
 * Its thread is in the sample, and does not run. Another thread may write to it, where it deoptimizes: a
 * return address as it was before is right, and one that is a handler's already leads to a word that is
 * written before it (frame::patch_pc and deoptimize, share/runtime/frame.cpp, 8 to 27), and is read anew.
 * The words of a frame are out of one read, as they were.
 */
#ifndef HOTSPOT_WINDOW_BPF_H
#define HOTSPOT_WINDOW_BPF_H

#include "plugins/hotspot/bpf/scratch.bpf.h"

/* As much as can be read: the window, or what is wanted alone, as at the end of a stack. */
static __always_inline bool move_window(const struct hotspot_walk *w, __u64 addr, __u64 bytes)
{
	w->s->window = addr;
	w->s->window_bytes = sizeof(w->b->window);
	if (!bpf_probe_read_user(w->b->window, sizeof(w->b->window), (void *)addr))
		return true;
	w->s->window_bytes = bytes;
	if (bytes < sizeof(w->b->window) &&
	    !bpf_probe_read_user(w->b->window, bytes, (void *)addr))
		return true;
	w->s->window_bytes = 0;
	return false;
}

/* Brings so many bytes into the window; get_seen says what they are. */
static __always_inline bool see_stack(const struct hotspot_walk *w, __u64 addr, __u64 bytes)
{
	__u64 off = addr - w->s->window;
	__u64 missing = (off & 7) | (off | (w->s->window_bytes - bytes - off)) >> 63;

	EP_OPAQUE(missing); /* one branch for a verifier to walk */
	if (missing && !move_window(w, addr, bytes))
		return false;
	HOTSPOT_MEET();
	w->s->window_at = (addr - w->s->window) >> 3;
	return true;
}

/* A word of it, counted from the address that was asked for. */
static __always_inline __u64 get_seen(const struct hotspot_walk *w, __u64 index)
{
	return w->b->window[(w->s->window_at + index) & (HOTSPOT_WINDOW - 1)];
}

#endif
