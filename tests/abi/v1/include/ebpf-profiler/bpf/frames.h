/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_FRAMES_H
#define EP_BPF_FRAMES_H

#include "ebpf-profiler/bpf/internal/go.h"
#include "ebpf-profiler/bpf/record.h"

static __always_inline bool ep_push_words(struct ep_record *rec, __u64 header, __u32 n, __u64 word0,
					  __u64 word1, __u64 word2)
{
	__u32 used = rec->sample.n_words;
	__u64 hash = ep_hash_word(rec->walk.core.hash, header), at = used + rec->sample.n_kernel, *words;

	EP_OPAQUE(header);
	EP_OPAQUE(hash);
	EP_OPAQUE(at);
	if (used > EP_MAX_WORDS - 6 || at > EP_RECORD_WORDS - 6)
		return false;
	words = rec->words + at;
	words[0] = header;
	if (n > 0) {
		words[1] = word0;
		hash = ep_hash_word(hash, word0);
	}
	if (n > 1) {
		words[2] = word1;
		hash = ep_hash_word(hash, word1);
	}
	if (n > 2) {
		words[3] = word2;
		hash = ep_hash_word(hash, word2);
	}
	rec->sample.n_words = used + 1 + n;
	rec->sample.n_frames++;
	rec->walk.core.hash = hash;
	return true;
}

static __always_inline void ep_push_error(struct ep_record *rec, __u32 error, __u64 addr)
{
	__u32 used = rec->sample.n_words, at = rec->sample.n_kernel + used;
	__u64 header = EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, error);

	if (!rec->sample.error)
		rec->sample.error = error;
	if (used > EP_MAX_WORDS - 2 || at > EP_RECORD_WORDS - 2)
		return;
	rec->words[at] = header;
	rec->words[at + 1] = addr;
	rec->sample.n_words = used + 2;
	rec->sample.n_frames++;
	rec->walk.core.hash = ep_hash_word(ep_hash_word(rec->walk.core.hash, header), addr);
}

enum ep_step {
	EP_STEP_CALLER = 0,
	EP_STEP_UNKNOWN = 0xfc,
	EP_STEP_ROOT = 0xff,
};

static __always_inline void ep_next(void *ctx, struct ep_record *rec)
{
	if (rec->walk.core.entered == EP_FAILED) {
		ep_go_to(ctx, rec, EP_SLOT_NATIVE);
		ep_push_error(rec, EP_ERROR_TAIL_CALLS, rec->walk.pc);
	}
	rec->walk.core.entered = EP_NOT_ENTERED;
#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (!(rec->walk.core.pending >> i & 1))
			continue;
		rec->walk.core.pending &= ~(1u << i);
		if (rec->walk.core.tail_calls < EP_MAX_TAIL_CALLS)
			ep_go_to(ctx, rec, rec->walk.core.slots[i]);
		else
			ep_push_error(rec, EP_ERROR_TAIL_CALLS, rec->walk.pc);
	}
	ep_go_to(ctx, rec, EP_SLOT_FINISH);
}

static __always_inline void ep_end(void *ctx, struct ep_record *rec, __u32 error, __u64 addr)
{
	ep_push_error(rec, error, addr);
	if (rec->walk.core.entered != EP_NOT_ENTERED)
		ep_ask_all(rec);
	rec->walk.core.entered = EP_NOT_ENTERED;
	ep_next(ctx, rec);
}

#endif
