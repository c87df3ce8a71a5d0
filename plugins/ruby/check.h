/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The check of a frame: 40 bits that tell its body and its method entry from what was later put at
 * their addresses. The BPF program takes it when it meets the frame, the symbolizer when it reads
 * the names. If they differ, what the frame ran is gone.
 *
 * Of a body: its type, sizes, tables and place. Of an entry: the definition's number
 * (method_serial), which is never used again, and its names. None of these change while they live,
 * nor when compaction moves objects.
 *
 *	check = ruby_check_frame(ruby_check_body(words, info), ruby_check_entry(called, original,
 *	serial))
 *
 * What a frame has not counts as 0: ruby_check_frame(0, entry), ruby_check_frame(body, 0).
 */
#ifndef RUBY_CHECK_H
#define RUBY_CHECK_H

#include "plugins/shared/check.h"

#include <linux/types.h>

#define RUBY_HALF_CHECK 20 /* bits */
#define RUBY_HALF_MASK	((1ull << RUBY_HALF_CHECK) - 1)

/* rb_iseq_constant_body from its start on, in words: type and iseq_size, iseq_encoded; from
 * first_lineno (location.first_lineno, 64 + 24) to insns_info.body, which is word `info`, 14 or
 * 15. */
#define RUBY_BODY_LINENO 11
#define RUBY_BODY_INFO	 15

static inline __attribute__((always_inline)) __u64 ruby_check_body(const __u64 *words, __u32 info)
{
	__u64 hash = check_mix(check_mix(1, words[0]), words[1]);

	/* Without a branch: what is after `info` counts as 0. */
#pragma GCC unroll 5
	for (__u32 i = RUBY_BODY_LINENO; i <= RUBY_BODY_INFO; i++)
		hash = check_mix(hash, words[i] * (i <= info));
	return hash;
}

/* called_id of the entry; original_id and method_serial of its definition, without one its
 * address. */
static inline __attribute__((always_inline)) __u64 ruby_check_entry(__u64 called_id,
								    __u64 original_id, __u64 serial)
{
	return check_mix(check_mix(check_mix(2, called_id), original_id), serial);
}

/* The lower half is of the body alone: it is the same when the entry could not be read. */
static inline __attribute__((always_inline)) __u64 ruby_check_frame(__u64 body, __u64 entry)
{
	__u64 lower = check_mix(3, body), both = check_mix(lower, entry);

	return (lower & RUBY_HALF_MASK) | (both & RUBY_HALF_MASK) << RUBY_HALF_CHECK;
}

#endif
