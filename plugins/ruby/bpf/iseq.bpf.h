/* SPDX-License-Identifier: GPL-2.0-only */
/* The code of a frame: its iseq's body, which stays where it is, and the check of it. */
#ifndef RUBY_ISEQ_BPF_H
#define RUBY_ISEQ_BPF_H

#include "plugins/ruby/bpf/memory.bpf.h"

static __always_inline struct ruby_seen_iseq *seen_iseq(struct ruby_scratch *s)
{
	return &s->iseqs[s->iseq & ((1u << RUBY_SEEN_ISEQS_SHIFT) - 1)];
}

static __always_inline void read_iseq(const struct ruby_state *state, struct ruby_scratch *s)
{
	struct ruby_seen_iseq *seen = seen_iseq(s);

	seen->is.sequence = s->sequence;
	seen->is.key = cf_word(s, CF_ISEQ);
	seen->body = 0;
	if (!ep_read_word(seen->is.key + ISEQ_BODY, &s->value) || !s->value ||
	    bpf_probe_read_user(s->body_words, sizeof(s->body_words), (void *)s->value))
		return;
	seen->body = s->value;
	seen->size = s->body_words[0] >> 32;
	seen->is_eval = ep_is_same(s->body_words[0] & 0xffffffff, TYPE_EVAL);
	seen->encoded = s->body_words[1];
	seen->check = ruby_check_body(s->body_words, state->body_info / 8);
}

/* seen_iseq() is of the frame in the window. False: it cannot be read. */
static __always_inline bool see_iseq(const struct ruby_state *state, struct ruby_scratch *s)
{
	s->iseq = ep_seen_slot(cf_word(s, CF_ISEQ), RUBY_SEEN_ISEQS_SHIFT);
	EP_MEET();
	if (!ep_is_seen(&seen_iseq(s)->is, s->sequence, cf_word(s, CF_ISEQ)))
		read_iseq(state, s);
	EP_MEET();
	return seen_iseq(s)->body;
}

/*
 * Index of the word after the instruction. A JIT keeps pc elsewhere: of the innermost frame the
 * one that is in memory may be old, or none, which `jit_return` tells; Ruby itself says no line
 * then (vm_backtrace.c: rb_profile_frames).
 */
static __always_inline __u64 find_index(struct ruby_scratch *s)
{
	__u64 index = (cf_word(s, CF_PC) - seen_iseq(s)->encoded) >> 3;
	__u64 lost = ((seen_iseq(s)->size - index) >> 63) | s->jit;

	return ep_pick(lost & 1, RUBY_NO_INDEX, index);
}

#endif
