/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_INTERNAL_LANGUAGE_H
#define EP_BPF_INTERNAL_LANGUAGE_H

#include "ebpf-profiler/bpf/frames.h"
#include "ebpf-profiler/bpf/internal/memo.h"
#include "ebpf-profiler/bpf/self.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ep_record);
} ep_records SEC(".maps");

struct ep_state_cell {
	__u8 bytes[EP_STATE_BYTES];
} __attribute__((aligned(8)));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_MAX_STATES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_state_cell);
} ep_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_MEMO_SETS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_memo_set);
} ep_memo SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EP_MAX_LANGUAGE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} ep_lang_counts SEC(".maps");

static __always_inline const void *ep_entry_at(const __u8 *chunk, __u64 rows, __u64 index)
{
	__u64 word = (EP_REF_WORD(rows) + index * EP_ENTRY_WORDS) & (EP_CHUNK_WORDS - EP_ENTRY_WORDS);

	return chunk + word * 4;
}

static __always_inline const void *ep_find_entry(const __u8 *chunk, __u64 rows, __u64 lo, __u64 len,
						 __u64 addr)
{
	for (__u64 i = 0; i < EP_ENTRY_STEPS; i++) {
		__u64 half = len >> 1, below;

		below = (*(const __u64 *)ep_entry_at(chunk, rows, lo + half) - addr - 1) >> 63;
		EP_OPAQUE(below);
		lo += half & -below;
		len -= half;
	}
	return ep_entry_at(chunk, rows, lo);
}

static __always_inline void ep_be_caller(struct ep_walk *walk, __u64 pc, __u64 sp, __u64 fp)
{
	walk->pc = pc;
	walk->regs[EP_REG_SP] = sp;
	walk->regs[EP_REG_FP] = fp;
	walk->known_regs = EP_KNOWN_ALWAYS;
	walk->return_address = 1;
	walk->by_pointer = 0;
	walk->interrupted = 0;
}

static __always_inline const struct ep_memo *ep_recall(struct ep_record *rec, __u64 addr)
{
	const struct ep_memo_set *set;

	rec->walk.core.memo_key = EP_MEMO_SET(rec->sample.event.cpu, addr, rec->walk.core.memo_tag);
	set = bpf_map_lookup_elem(&ep_memo, &rec->walk.core.memo_key);
	if (!set)
		return NULL;
	if (set->ways[0].addr == addr && set->ways[0].tag == rec->walk.core.memo_tag)
		return &set->ways[0];
	if (set->ways[1].addr == addr && set->ways[1].tag == rec->walk.core.memo_tag)
		return &set->ways[1];
	return NULL;
}

static __always_inline bool ep_read_caller(struct ep_walk *walk, __u64 rule)
{
	__u64 cfa = rule & EP_RULE_BASE_FP ? walk->regs[EP_REG_FP] : walk->regs[EP_REG_SP];
	__u64 slot = EP_RULE_FP_SLOT(rule);

	cfa += EP_RULE_CFA_OFF(rule);
	walk->next_sp = cfa;
	walk->next_fp = walk->regs[EP_REG_FP];
	return cfa > walk->regs[EP_REG_SP] &&
	       bpf_probe_read_user(&walk->next_pc, 8, (void *)(cfa - 8)) == 0 &&
	       (!slot || bpf_probe_read_user(&walk->next_fp, 8, (void *)(cfa - 8 * slot)) == 0);
}

#endif
