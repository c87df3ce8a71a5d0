/* SPDX-License-Identifier: GPL-2.0-only */
/* The function of a frame: once in a sample it is read, and with it what its check covers. */
#ifndef PHP_FUNCTION_BPF_H
#define PHP_FUNCTION_BPF_H

#include "plugins/php/bpf/scratch.bpf.h"

static __always_inline struct php_seen_function *seen_function(struct php_scratch *s)
{
	return &s->functions[s->function & ((1u << PHP_SEEN_SHIFT) - 1)];
}

/* Where it is in the table, or will be: one of two places. */
static __always_inline __u64 function_slot(const struct php_scratch *s, __u64 func)
{
	__u64 slot = ep_seen_slot(func, PHP_SEEN_SHIFT);
	const struct ep_seen *first = &s->functions[slot & ((1u << PHP_SEEN_SHIFT) - 1)].is;

	return slot ^ (ep_is_same(first->sequence, s->sequence) & ep_is_set(first->key ^ func));
}

/* Four bytes of what was read of the function. */
static __always_inline __u64 function_int(const struct php_scratch *s, __u64 off)
{
	return s->words[off / 8 & (PHP_FUNCTION_WORDS - 1)] >> (off & 4) * 8 & 0xffffffff;
}

static __always_inline __u64 function_word(const struct php_scratch *s, __u64 off)
{
	return s->words[off / 8 & (PHP_FUNCTION_WORDS - 1)];
}

/* What the function says itself; of a user function more, 0 in others. */
static __always_inline void take_parts(const struct php_state *state, struct php_scratch *s,
				       __u64 is_user)
{
	struct php_parts *parts = &s->parts;

	parts->name = s->words[PHP_FUNCTION_NAME / 8];
	parts->class = s->words[PHP_FUNCTION_SCOPE / 8];
	parts->fn_flags = s->words[0] >> 32;
	parts->file = function_word(s, state->op_file) * is_user;
	parts->opcodes = function_word(s, state->op_opcodes) * is_user;
	parts->last = function_int(s, state->op_last) * is_user;
	parts->lines = function_word(s, state->op_line) * is_user;
}

/* Sixteen bytes at an address, where there is one, else zeroes. 1: they could not be read. */
static __always_inline __u64 read_pair(const struct php_scratch *s, __u64 *ret, __u64 has,
				       __u64 addr)
{
	/* The function itself can be read: a read that fails costs much more. */
	__u64 lost = ep_is_set(bpf_probe_read_user(ret, 16, (void *)ep_pick(has, addr, s->func)));

	ret[0] *= has;
	ret[1] *= has;
	return lost & has;
}

/* What tells its strings from others: hash and length. False: a part that there is could not be
 * read. */
static __always_inline bool read_strings(struct php_scratch *s)
{
	struct php_parts *parts = &s->parts;
	__u64 has_class = ep_is_set(parts->class), has_file = ep_is_set(parts->file), lost;

	lost = read_pair(s, &parts->name_hash, ep_is_set(parts->name),
			 parts->name + PHP_STRING_HASH);
	EP_MEET();
	/* With the word after it. */
	lost |= read_pair(s, s->op, has_class, parts->class + PHP_CLASS_NAME);
	parts->class_name = s->op[0];
	EP_MEET();
	lost |= read_pair(s, &parts->class_hash, has_class, parts->class_name + PHP_STRING_HASH);
	EP_MEET();
	lost |= read_pair(s, &parts->file_hash, has_file, parts->file + PHP_STRING_HASH);
	if (has_file & (1 ^ ep_is_set(parts->file_hash)) &
	    (PHP_FILE_TAIL - 1 - parts->file_len) >> 63)
		lost |= ep_is_set(bpf_probe_read_user(&parts->file_hash, 8,
						      (void *)(parts->file + PHP_STRING_BYTES +
							       parts->file_len - PHP_FILE_TAIL)));
	EP_MEET();
	return !lost;
}

/* To 8.3 the name of a closure that is none of a function says nothing; the first line does. */
static __always_inline __u64 is_old_closure(const struct php_state *state,
					    const struct php_parts *parts)
{
	return ep_is_set(parts->fn_flags & state->old_closure) &
	       (1 ^ ep_is_set(parts->fn_flags & state->fake_closure));
}

/* The check of what has no function that can be read later is of what its words lead to. */
static __always_inline void forget_copy(struct php_parts *parts, __u64 is_code, __u64 is_old,
					__u64 is_function)
{
	/* A file that a method includes has its class. */
	parts->class_hash *= 1 ^ is_code;
	parts->class_len *= 1 ^ is_code;
	parts->name_hash *= 1 ^ is_old;
	parts->name_len *= 1 ^ is_old;
	parts->last *= is_function;
	parts->lines *= is_function;
	parts->fn_flags *= is_function;
}

static __always_inline void put_words(const struct php_state *state, struct php_scratch *s,
				      struct php_seen_function *seen)
{
	struct php_parts *parts = &s->parts;
	__u64 is_user = seen->is_user, is_code, is_copy, is_old,
	      line = (parts->lines & 0xffffffff) << 3, check, first, second;
	__u64 kind;

	is_code = is_user & (1 ^ ep_is_set(parts->name));
	is_copy = is_user & ep_is_set(parts->fn_flags & state->copy_flags) & (1 ^ is_code);
	is_old = is_copy & is_old_closure(state, parts);
	forget_copy(parts, is_code, is_old, is_user & (1 ^ (is_code | is_copy)));
	check = php_check(parts);
	first = ep_pick(is_user, parts->opcodes, parts->name);
	second = ep_pick(is_user, ep_pick(is_code, parts->file, seen->is.key), parts->class);
	kind = (1 ^ is_user) * PHP_KIND_INTERNAL + is_code * PHP_KIND_CODE +
	       is_copy * ep_pick(is_old, PHP_KIND_OLD_CLOSURE, PHP_KIND_CLOSURE);
	seen->known.aux = php_closure_aux((__u32)kind, 0, check * is_copy);
	seen->known.words[0] =
		ep_pick(is_copy, php_closure_word0(parts->opcodes, parts->file, check),
			php_word(first, check));
	seen->known.words[1] =
		ep_pick(is_copy, php_closure_word1(ep_pick(is_old, line, parts->name), parts->file),
			php_word(second, check >> PHP_HALF_CHECK));
	seen->known.words[2] = php_closure_word2(parts->class, parts->file);
	/* In C without a name: where a fiber begins, or what stands for a constructor that there is
	 * not. */
	seen->known.n = (2 + is_copy) * (is_user | ep_is_set(parts->name));
}

/* --- copies ----------------------------------------------------------------------------------- */

static __always_inline struct php_seen_copy *seen_copy(struct php_scratch *s)
{
	return &s->copies[s->copy & ((1u << PHP_COPIES_SHIFT) - 1)];
}

static __always_inline __u64 is_copy(const struct php_state *state, const struct php_scratch *s)
{
	return ep_is_set(s->parts.fn_flags & state->copy_flags) & ep_is_set(s->parts.opcodes);
}

/* As a copy of the same that was met before: its strings are not read again. False: there was
 * none. */
static __always_inline bool take_copy(const struct php_state *state, struct php_scratch *s,
				      struct php_seen_function *seen)
{
	const struct php_seen_copy *copy;
	__u64 differ;

	s->copy = ep_seen_slot(s->parts.opcodes, PHP_COPIES_SHIFT);
	copy = seen_copy(s);
	differ = (copy->is.sequence ^ s->sequence) | (copy->is.key ^ s->parts.opcodes) |
		 (copy->name ^ s->parts.name) | (copy->class ^ s->parts.class) |
		 (copy->file ^ s->parts.file) | (1 ^ is_copy(state, s));
	EP_OPAQUE(differ);
	if (differ)
		return false;
	seen->known = copy->known;
	return true;
}

/*
 * The copy that `func` is by its oplines, name and class: within a sample others of the same code
 * are of the same file. NULL: it was not met, or it is none.
 */
static __always_inline const struct php_seen_copy *find_copy(const struct php_state *state,
							     struct php_scratch *s, __u64 func)
{
	const struct php_seen_copy *copy;
	__u64 lost, differ;

	lost = ep_is_set(bpf_probe_read_user(s->words, PHP_FUNCTION_SCOPE + 8, (void *)func)) |
	       ep_is_set(bpf_probe_read_user(&s->value, sizeof(s->value),
					     (void *)(func + state->op_opcodes)));
	EP_MEET();
	s->copy = ep_seen_slot(s->value, PHP_COPIES_SHIFT);
	copy = seen_copy(s);
	differ = lost | (copy->is.sequence ^ s->sequence) | (copy->is.key ^ s->value) |
		 (copy->name ^ s->words[PHP_FUNCTION_NAME / 8]) |
		 (copy->class ^ s->words[PHP_FUNCTION_SCOPE / 8]) |
		 (1 ^ ep_is_set((s->words[0] >> 32) & state->copy_flags)) |
		 ep_is_same(s->words[0] & 0xff, PHP_TYPE_INTERNAL);
	EP_OPAQUE(differ);
	return differ ? NULL : copy;
}

static __always_inline void keep_copy(struct php_scratch *s, const struct php_seen_function *seen)
{
	struct php_seen_copy *copy = seen_copy(s);

	/* No sample has number 0. Only copies have three words. */
	copy->is.sequence = s->sequence * ep_is_same(seen->known.n, 3);
	copy->is.key = s->parts.opcodes;
	copy->name = s->words[PHP_FUNCTION_NAME / 8];
	copy->class = s->parts.class;
	copy->file = s->parts.file;
	copy->known = seen->known;
	s->n_copies += ep_is_same(seen->known.n, 3);
}

/* --- all -------------------------------------------------------------------------------------- */

/* It may be shorter, and end where mapped memory does, if it is an internal one. */
static __always_inline bool read_words(struct php_scratch *s, __u64 func)
{
	return !bpf_probe_read_user(s->words, PHP_FUNCTION_BYTES, (void *)func) ||
	       (!bpf_probe_read_user(s->words, PHP_FUNCTION_SCOPE + 8, (void *)func) &&
		(s->words[0] & 0xff) == PHP_TYPE_INTERNAL);
}

static __always_inline void read_function(const struct php_state *state, struct php_scratch *s)
{
	struct php_seen_function *seen = seen_function(s);
	__u64 type;

	seen->is.sequence = s->sequence;
	seen->is.key = s->func;
	seen->known.aux = php_aux(PHP_KIND_UNREADABLE, 0);
	seen->is_user = 1;
	seen->known.opcodes = 0;
	seen->known.last = 0;
	seen->known.plain = 0;
	seen->known.n = 1;
	seen->known.words[0] = s->func;
	if (!read_words(s, s->func))
		return;
	EP_MEET();
	type = s->words[0] & 0xff;
	seen->is_user = ep_is_set(type ^ PHP_TYPE_INTERNAL);
	if (ep_is_set(type ^ PHP_TYPE_INTERNAL) & ep_is_set(type ^ PHP_TYPE_USER) &
	    ep_is_set(type ^ PHP_TYPE_EVAL))
		return;
	take_parts(state, s, seen->is_user);
	seen->known.opcodes = s->parts.opcodes;
	seen->known.last = s->parts.last;
	seen->n_args = s->words[PHP_FUNCTION_ARGS / 8] & 0xffffffff;
	EP_MEET();
	if (take_copy(state, s, seen))
		return;
	if (!read_strings(s))
		return;
	EP_MEET();
	put_words(state, s, seen);
	EP_MEET();
	seen->known.plain = seen->known.last * seen->is_user * (seen->known.n >> 1 & 1) *
			    (1 ^ ep_is_same(php_kind((__u32)seen->known.aux), PHP_KIND_CODE));
	EP_MEET();
	keep_copy(s, seen);
}

/* seen_function() is that of the frame in hand. */
static __always_inline void see_function(const struct php_state *state, struct php_scratch *s)
{
	s->function = function_slot(s, s->func);
	EP_MEET();
	if (!ep_is_seen(&seen_function(s)->is, s->sequence, s->func))
		read_function(state, s);
	EP_MEET();
}

#endif
