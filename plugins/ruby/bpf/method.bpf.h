/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The method of a frame, as rb_vm_frame_method_entry finds it (vm_insnhelper.c): what stands in its
 * environment, or else in that of the block or method around it, up to the method's own.
 *
 *	block ──► block ──► method: LOCAL
 *	  0         0        entry, or an svar that has the entry
 *
 * Blocks share their outer environments: what one chain passed is known to those that meet it.
 */
#ifndef RUBY_METHOD_BPF_H
#define RUBY_METHOD_BPF_H

#include "plugins/ruby/bpf/memory.bpf.h"

static __always_inline struct ruby_seen_method *seen_method(struct ruby_scratch *s)
{
	return &s->methods[s->method & ((1u << RUBY_SEEN_METHODS_SHIFT) - 1)];
}

static __always_inline bool read_object(struct ruby_scratch *s, __u64 addr)
{
	return !bpf_probe_read_user(s->object_words, sizeof(s->object_words), (void *)addr);
}

static __always_inline __u64 object_type(const struct ruby_scratch *s)
{
	return s->object_words[0] >> IMEMO_SHIFT & IMEMO_MASK;
}

/* What stands in an environment, into the table: an entry, or what has one, or a cref, which has
 * none. */
static __always_inline void read_method(const struct ruby_state *state, struct ruby_scratch *s)
{
	struct ruby_seen_method *seen = seen_method(s);
	__u64 serial;

	seen->entry = 0;
	seen->check = 0;
	seen->unread = 1;
	s->at = s->object;
	if (!read_object(s, s->at))
		return;
	if (object_type(s) == IMEMO_SVAR) {
		s->at = s->object_words[SVAR_METHOD];
		if (!read_object(s, s->at))
			return;
	}
	EP_MEET();
	seen->unread = ep_is_same(object_type(s), IMEMO_METHOD);
	if (!seen->unread ||
	    bpf_probe_read_user(s->def, sizeof(s->def), (void *)s->object_words[METHOD_DEF]))
		return;
	seen->unread = 0;
	serial = ep_pick(ep_is_set(state->def_serial), s->def[DEF_SERIAL],
			 s->object_words[METHOD_DEF]);
	seen->check =
		ruby_check_entry(s->object_words[METHOD_CALLED], s->def[DEF_ORIGINAL], serial);
	seen->entry = s->at;
}

/* `object` into `method`: seen_method() is of it. */
static __always_inline void see_method(const struct ruby_state *state, struct ruby_scratch *s)
{
	s->method = ep_seen_slot(s->object, RUBY_SEEN_METHODS_SHIFT);
	EP_MEET();
	if (ep_is_seen(&seen_method(s)->is, s->sequence, s->object))
		return;
	seen_method(s)->is.sequence = s->sequence;
	seen_method(s)->is.key = s->object;
	read_method(state, s);
}

/* --- chains ----------------------------------------------------------------------------------- */

static __always_inline struct ruby_seen_env *seen_env(struct ruby_scratch *s)
{
	return &s->envs[ep_seen_slot(s->ep, RUBY_SEEN_ENVS_SHIFT) &
			((1u << RUBY_SEEN_ENVS_SHIFT) - 1)];
}

static __always_inline struct ruby_chain *chain_at(struct ruby_scratch *s, __u64 number)
{
	return &s->chains[number & (RUBY_CHAINS - 1)];
}

/* What an environment says itself, into `entry`. True: the chain ends here. */
static __always_inline bool take_method(const struct ruby_state *state, struct ruby_scratch *s)
{
	s->object = s->env[ENV_METHOD];
	s->entry = 0;
	s->entry_check = 0;
	s->unread = 0;
	if (s->object) {
		/* A block that was made a method has an entry, one of instance_eval a cref. */
		see_method(state, s);
		EP_MEET();
		s->entry = seen_method(s)->entry;
		s->entry_check = seen_method(s)->check;
		s->unread = seen_method(s)->unread & is_pointer(s->object);
	}
	EP_MEET();
	return (s->env[ENV_FLAGS] & ENV_LOCAL) | s->entry;
}

/* What an earlier chain that has passed here came to. False: none has. */
static __always_inline bool take_passed(struct ruby_scratch *s)
{
	const struct ruby_seen_env *seen = seen_env(s);
	const struct ruby_chain *chain = chain_at(s, seen->chain);
	__u64 differ = (seen->is.sequence ^ s->sequence) | (seen->is.key ^ s->ep) |
		       (chain->number ^ seen->chain);

	EP_OPAQUE(differ);
	if (differ)
		return false;
	s->entry = chain->entry;
	s->entry_check = chain->check;
	return true;
}

/* On to the environment around. */
static __always_inline void pass_env(struct ruby_scratch *s)
{
	struct ruby_seen_env *seen = seen_env(s);

	seen->is.sequence = s->sequence;
	seen->is.key = s->ep;
	seen->chain = s->n_chains;
	s->ep = s->env[ENV_PREVIOUS] & ~ENV_PREVIOUS_MASK;
	s->level++;
}

/* The environment in `env`: true when the chain has ended, and it is known what it came to. */
static __always_inline bool step_chain(const struct ruby_state *state, struct ruby_scratch *s)
{
	if (take_method(state, s) || s->level >= RUBY_MAX_LEVELS || take_passed(s))
		return true;
	EP_MEET();
	pass_env(s);
	return false;
}

static __always_inline void end_chain(struct ruby_scratch *s)
{
	/* Nobody asks for one that passed nothing. */
	struct ruby_chain *chain = chain_at(s, s->n_chains);

	chain->number = s->n_chains;
	chain->entry = s->entry;
	chain->check = s->entry_check;
}

#endif
