/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late unwinding: user space goes on where a sample's walk in the kernel stopped because the
 * process, a mapping or its tables were not known yet. Such a sample carries the registers there
 * and a copy of the stack (struct ep_copy, bpf/shared.h); what was missing has come meanwhile. The
 * unwinder is the kernel's own source, bpf/native.bpf.h, over the copy and the delta store; so late
 * frames are word for word those that BPF would have sent, had it known.
 *
 *	in	sample | kernel words | user words | struct ep_copy | stack
 *	out	sample | kernel words | user words | late frames, maybe an error | user words
 *	                               before at_word                             from at_word on
 *
 * What is after at_word are frames of languages, which ran when the native walk had stopped; the
 * store puts them where they belong (core/trace/merge.h).
 *
 * A walker belongs to the loop's thread, which alone drops rows and tables. What live rows refer to
 * is read without a lock, since nothing of it is freed, let alone written again, before that thread
 * has dropped it.
 */
#ifndef EP_WALK_WALK_H
#define EP_WALK_WALK_H

#include "bpf/shared.h"
#include "core/base/vec.h"

struct ep_delta_store;
struct ep_walker;

struct ep_walker_options {
	const struct ep_delta_store *store;
	const struct ep_rule *rules; /* EP_MAX_RULES of them: the store's */
};

/* What a walk may ask for besides the stack. */
struct ep_walk_source {
	void *arg;
	/*
	 * Code of an executable, at an ELF virtual address: from its file. All or nothing: 0 or a
	 * negative errno. Asked for few bytes, where a return address has no unwind rule.
	 */
	int (*read_code)(void *arg, uint32_t executable, uint64_t va, void *buf, size_t bytes);
};

int ep_walker_new(const struct ep_walker_options *options, struct ep_walker **ret_walker);
void ep_walker_free(struct ep_walker *walker); /* accepts NULL */

/* Bytes of the largest event that a walk makes. */
#define EP_WALK_MAX_BYTES (sizeof(struct ep_sample) + EP_RECORD_WORDS * sizeof(__u64))

/*
 * Walks an EP_EVENT_TRACE with a copy, `bytes` long, aligned or not. Nothing in it is trusted.
 * `rows` are those of its process, sorted by start, at most EP_MAX_ROWS, as BPF would get them; their
 * tables are live. `source` NULL: no code. `ret_event` is a vector of bytes, emptied first; it gets
 * an event without a copy, for ep_store_add. 0, -EBADMSG (malformed, or has no copy), -EINVAL (too
 * many rows), -E2BIG, -ENOMEM (of the vector).
 *
 * The new event's error is 0 when the walk came to the root and no language says otherwise; else
 * there is an error frame after the late ones, as BPF pushes it, and besides:
 *
 *	EP_ERROR_COPY_END  the stack goes on where it was not copied
 *	EP_ERROR_LATE	   code that only a language can unwind, or frames of a language (they are
 *			   marked) that was not attached to the process when it was sampled
 *
 * Its hash is the one BPF makes of the same words, so equal stacks are one trace, whoever walked
 * them. EP_SAMPLE_RAW and EP_SAMPLE_UNKNOWN_ADDRESS are as this walk found, and
 * EP_SAMPLE_UNKNOWN_PROCESS is gone. A walk of an error still gives all frames up to it.
 */
int ep_walker_run(struct ep_walker *walker, const void *event, size_t bytes,
		  const struct ep_row *rows, size_t n_rows, const struct ep_walk_source *source,
		  struct ep_vec *ret_event);

/*
 * Marks the frames of an EP_EVENT_TRACE without a copy, in `event` (bytes), that BPF walked to its
 * root before it knew the languages of the process: by `rows`, as they are now. Where some of them
 * run a language, EP_ERROR_LATE says so at the root, and the hash is that of the frames then. An
 * event with an error, or with frames of that language, stays as it is but for its marks. 0, or
 * -EBADMSG (malformed), -ENOMEM.
 */
int ep_walk_mark(struct ep_vec *event, const struct ep_row *rows, size_t n_rows);

#endif
