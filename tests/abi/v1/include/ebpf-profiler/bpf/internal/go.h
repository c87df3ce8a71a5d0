/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_INTERNAL_GO_H
#define EP_BPF_INTERNAL_GO_H

#include "ebpf-profiler/bpf/internal/maps.h"
#include "ebpf-profiler/bpf/record.h"

static __always_inline __u64 ep_hash_word(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 32;
}

static __always_inline __u64 ep_unhash_word(__u64 hash, __u64 word)
{
	hash ^= hash >> 32;
	return (hash * 0x2ab9c720d1024adull) ^ word;
}

static __always_inline void ep_go_to(void *ctx, struct ep_record *rec, __u32 slot)
{
	rec->walk.core.tail_calls++;
	bpf_tail_call(ctx, &ep_progs, slot);
}

static __always_inline void ep_ask_all(struct ep_record *rec)
{
	__u32 pending = 0;

#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		__u64 none = (rec->walk.core.slots[i] - 1ULL) >> 63;

		EP_OPAQUE(none);
		pending |= (1 - (__u32)none) << i;
	}
	rec->walk.core.pending = pending;
}

#endif
