/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that can be freed: its memory and its MethodDesc may be another method's when it is named.
 * So the frame has a check over what its name is made of (dotnet_shared.h); dotnet_method_check of
 * symbolize/methods.c makes the same.
 */
#ifndef DOTNET_CHECK_BPF_H
#define DOTNET_CHECK_BPF_H

#include "plugins/dotnet/bpf/scratch.bpf.h"

static __always_inline void check_word(const struct dotnet_walk *w, __u64 word)
{
	w->s->check = dotnet_check_word(w->s->check, word);
}

static __always_inline bool check_name(const struct dotnet_walk *w, __u64 addr)
{
	struct dotnet_scratch *s = w->s;
	long len;

	__builtin_memset(s->name, 0, sizeof(s->name));
	len = bpf_probe_read_user_str(s->name, sizeof(s->name), (void *)addr);
	if (len < 0)
		return false;
	check_word(w, addr);
	for (__u64 i = 0; i < DOTNET_NAME_WORDS; i++)
		check_word(w, s->name[i]);
	return true;
}

/* 0: it cannot be read, and names nothing. */
static __always_inline bool check_method(const struct dotnet_walk *w, __u64 method)
{
	const struct dotnet_state *state = w->state;
	struct dotnet_scratch *s = w->s;
	__u64 chunk, flags;

	if (!ep_read_word(method, &s->method))
		return false;
	check_word(w, s->method);
	flags = s->method >> (8 * (state->method_flags & 7));
	if ((flags & DOTNET_METHOD_KIND) == DOTNET_METHOD_DYNAMIC)
		return ep_read_word(method + state->dynamic_name, &s->value) &&
		       check_name(w, s->value);
	chunk = method - state->chunk_bytes -
		8 * (s->method >> (8 * (state->method_chunk & 7)) & 255);
	if (bpf_probe_read_user(s->chunk, sizeof(s->chunk), (void *)chunk))
		return false;
	s->search = *(const __u64 *)((const __u8 *)s->chunk + (state->chunk_table & 16));
	if (bpf_probe_read_user(s->table, sizeof(s->table), (void *)s->search))
		return false;
	check_word(w, s->search);
	for (__u64 i = 0; i < DOTNET_TABLE_WORDS; i++)
		check_word(w, s->table[i]);
	s->search = *(const __u64 *)((const __u8 *)s->table + (state->table_module & 24));
	return ep_read_word(s->search + state->module_name, &s->value) && check_name(w, s->value);
}

#endif
