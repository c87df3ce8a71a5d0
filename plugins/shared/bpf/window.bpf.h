/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Memory through a window: a read of 512 bytes costs as much as one and a half of 16, and what is
 * wanted next is near: frames of a stack, objects that were made one after the other.
 *
 *	first ... | frame | frame | frame | ... first + bytes
 *	              ▲ what is wanted: `at` words from there
 *
 * It holds what was there when the first of its words was looked at. Words that belong together
 * come out of one read. A window holds for the sample that it was read in.
 */
#ifndef EP_SHARED_WINDOW_BPF_H
#define EP_SHARED_WINDOW_BPF_H

#include "plugins/shared/bpf/step.bpf.h"

struct ep_window {
	__u64 sequence; /* of the sample */
	__u64 first, bytes;
	__u64 at; /* the word that was asked for */
};

/* Its words lie after it. `n`: a power of two. */
#define EP_WINDOW(n)                                                                               \
	struct {                                                                                   \
		struct ep_window is;                                                               \
		__u64 words[n];                                                                    \
	}
#define EP_WINDOW_BYTES(window) sizeof((window)->words)

/* As much as can be read from `addr` on: `most` bytes, or what is wanted alone, as at the end of a
 * stack. */
static __always_inline bool ep_window_read(struct ep_window *window, __u64 *words, __u64 most,
					   __u64 addr, __u64 bytes)
{
	window->first = addr;
	window->bytes = most;
	if (!bpf_probe_read_user(words, most, (void *)addr))
		return true;
	window->bytes = bytes;
	if (bytes < most && !bpf_probe_read_user(words, bytes, (void *)addr))
		return true;
	window->bytes = 0;
	return false;
}

/* Is something of what is wanted not in it? A number, so that it is one branch for a verifier to
 * walk. */
static __always_inline __u64 ep_window_misses(const struct ep_window *window, __u64 sequence,
					      __u64 addr, __u64 bytes)
{
	__u64 off = addr - window->first;
	__u64 missing = (window->sequence ^ sequence) | (off & 7) |
			(off | (window->bytes - bytes - off)) >> 63;

	EP_OPAQUE(missing);
	return missing;
}

/* Brings so many bytes from `addr` on into the window, and what is after them. */
#define EP_WINDOW_SEE(window, sequence, addr, bytes)                                               \
	ep_window_see(&(window)->is, (window)->words, EP_WINDOW_BYTES(window), sequence, addr,     \
		      bytes)
static __always_inline bool ep_window_see(struct ep_window *window, __u64 *words, __u64 most,
					  __u64 sequence, __u64 addr, __u64 bytes)
{
	if (ep_window_misses(window, sequence, addr, bytes)) {
		window->sequence = sequence;
		if (!ep_window_read(window, words, most, addr, bytes))
			return false;
	}
	EP_MEET();
	window->at = (addr - window->first) >> 3;
	return true;
}

/* A word of it, counted from the one that was asked for. */
#define EP_WINDOW_WORD(window, i)                                                                  \
	((window)->words[((window)->is.at + (i)) & (EP_WINDOW_BYTES(window) / 8 - 1)])

#endif
