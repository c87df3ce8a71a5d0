/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the frames of the thread are, and whether it collects garbage. */
#ifndef RUBY_THREAD_BPF_H
#define RUBY_THREAD_BPF_H

#include "plugins/ruby/bpf/scratch.bpf.h"

/* What cannot be read is 0, as the helper clears it, and `unread` says so. */
static __always_inline __u64 read_or_zero(struct ruby_scratch *s, __u64 addr)
{
	s->unread |= ep_is_set(bpf_probe_read_user(&s->value, sizeof(s->value), (void *)addr));
	return s->value;
}

/* The global is that of the thread that has the lock: rb_thread_t.thread_id says whose. */
static __always_inline __u64 find_global(const struct ruby_state *state, struct ruby_scratch *s)
{
	__u64 context = read_or_zero(s, state->ec_addr), thread;

	if (!context)
		return 0;
	thread = read_or_zero(s, context + state->thread_off);
	return read_or_zero(s, thread + state->thread_id_off) == ep_thread_pointer() ? context : 0;
}

static __always_inline __u64 find_context(const struct ruby_state *state, struct ruby_scratch *s)
{
	__u64 context = 0;

	if (state->ec_addr)
		return find_global(state, s);
	if (!state->ec.steps || !ep_read_tls(&state->ec, ep_thread_pointer(), &context))
		return 0;
	return context;
}

/* Control frames fill the stack's end: a number of whole ones. */
static __always_inline bool take_stack(const struct ruby_state *state, struct ruby_scratch *s)
{
	__u64 size, used, bytes = state->cfp_bytes;

	if (bpf_probe_read_user(s->ec, sizeof(s->ec), (void *)s->context))
		return false;
	size = s->ec[EC_SIZE / 8] * 8;
	s->cfp = s->ec[EC_CFP / 8];
	s->end = s->ec[EC_STACK / 8] + size;
	used = s->end - s->cfp;
	return bytes && size < 1ull << 32 && used <= size && used % bytes == 0;
}

#define COLLECTING_MASK 3u

/*
 * The flag is the VM's. A thread that has let go of the lock runs C while another one collects.
 * Returns 1 + enum ruby_collecting, or 0: not, or `unread`.
 */
static __always_inline __u64 find_collector(const struct ruby_state *state, struct ruby_scratch *s)
{
	__u64 addr, word, thread;

	s->unread = state->vm_unread;
	addr = state->vm_addr ? read_or_zero(s, state->vm_addr) : 0;
	if (!addr)
		return 0;
	addr = read_or_zero(s, addr + state->objspace_off);
	if (!addr)
		return 0;
	word = read_or_zero(s, addr + state->collector_off);
	if (!(word >> (state->collector_bit & 31) & 1))
		return 0;
	thread = read_or_zero(s, s->context + state->thread_off);
	return read_or_zero(s, thread + state->blocking_off) ? 0 : 1 + (word & COLLECTING_MASK);
}

#endif
