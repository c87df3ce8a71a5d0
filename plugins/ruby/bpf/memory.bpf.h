/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a walk reads of the VM's stack: control frames grow down from its end, sixteen at a time are
 * read; environments, which ep points into, grow up from its start.
 */
#ifndef RUBY_MEMORY_BPF_H
#define RUBY_MEMORY_BPF_H

#include "plugins/ruby/bpf/scratch.bpf.h"

/* --- control frames --------------------------------------------------------------------------- */

static __always_inline __u64 cf_word(const struct ruby_scratch *s, enum cf_word word)
{
	return s->window[(s->cf_at + word) & (RUBY_WINDOW_WORDS - 1)];
}

static __always_inline __u64 cf_jit_return(const struct ruby_state *state,
					   const struct ruby_scratch *s)
{
	__u64 off = state->cfp_jit_return;

	return s->window[(s->cf_at + off / 8) & (RUBY_WINDOW_WORDS - 1)] * ep_is_set(off);
}

/* What is compared is what is passed: verifiers of 5.10 and 6.1 know no bounds of what was on the
 * stack. */
static __always_inline void read_frames(struct ruby_scratch *s, __u64 bytes)
{
	__u64 from = s->cfp, size = bytes;

	s->window_first = from;
	s->window_bytes = 0;
	EP_OPAQUE(from);
	EP_OPAQUE(size);
	if (size <= sizeof(s->window) && !bpf_probe_read_user(s->window, size, (void *)from))
		s->window_bytes = size;
}

/* Brings the next frame into the window: cf_word() is of it. */
static __always_inline bool see_frame(const struct ruby_state *state, struct ruby_scratch *s)
{
	__u64 left = s->end - s->cfp, most = RUBY_WINDOW_FRAMES * (__u64)state->cfp_bytes;

	if (s->cfp - s->window_first >= s->window_bytes)
		read_frames(s, ep_pick((left - most) >> 63, left, most));
	EP_MEET();
	s->cf_at = (s->cfp - s->window_first) >> 3;
	return s->window_bytes;
}

/* What a frame that is not made yet has for one is a value that was there: a number, nil. */
static __always_inline __u64 is_pointer(__u64 word)
{
	return 1 ^ (ep_is_set(word & 7) | ep_is_set(word >> 47) | (1 ^ ep_is_set(word >> 12)));
}

/* --- environments ----------------------------------------------------------------------------- */

static __always_inline struct ruby_piece *piece_of(struct ruby_scratch *s, __u64 key)
{
	return &s->pieces[ep_seen_slot(key, RUBY_PIECES_SHIFT) & ((1u << RUBY_PIECES_SHIFT) - 1)];
}

/* ep[-2] to ep[0] into `env`. False: it cannot be read. */
static __always_inline bool see_env(struct ruby_scratch *s)
{
	__u64 from = s->ep - 2 * 8, first = from >> RUBY_PIECE_SHIFT << RUBY_PIECE_SHIFT;
	struct ruby_piece *piece = piece_of(s, first);

	if (!ep_is_seen(&piece->is, s->sequence, first)) {
		piece->is.sequence = s->sequence;
		piece->is.key = first;
		piece->bytes = 1 ^ ep_is_set(bpf_probe_read_user(piece->words, sizeof(piece->words),
								 (void *)first));
	}
	EP_MEET();
	/* At the end of what is mapped, as on the heap, there may be this and no more. */
	if (!piece->bytes)
		return !bpf_probe_read_user(s->env, sizeof(s->env), (void *)(s->ep - 2 * 8));
	s->at = ((s->ep - 2 * 8) >> 3) & (RUBY_PIECE_WORDS - 1);
	EP_MEET();
#pragma unroll
	for (__u64 i = 0; i < ENV_WORDS; i++)
		s->env[i] = piece->words[(s->at & (RUBY_PIECE_WORDS - 1)) + i];
	return true;
}

#endif
