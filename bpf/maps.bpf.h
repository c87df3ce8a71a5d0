/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Every map that the core's programs share. Sizes marked "host" are set by user space before load. */
#ifndef EP_BPF_MAPS_H
#define EP_BPF_MAPS_H

#include "bpf/shared.h"

/* ep_progs and ep_chunks are declared here, as for languages. */
#include "ebpf-profiler/bpf/frames.h"
#include "ebpf-profiler/bpf/internal/maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* host */
} ep_ring SEC(".maps");

/* pid (thread group) -> its mappings. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* host */
	__type(key, __u32);
	__type(value, struct ep_proc);
} ep_procs SEC(".maps");

/* Processes that were named by their pids; children are added at fork. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* host: 1 without a filter */
	__type(key, __u32);
	__type(value, struct ep_filter_entry);
} ep_filter SEC(".maps");

/* What the names of processes say. One that is pushed out is judged again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384); /* host: 1 without a filter */
	__type(key, __u32);
	__type(value, struct ep_verdict);
} ep_verdicts SEC(".maps");

/* Threads, users, cgroups and names of units that say something: EP_CHOICE to bits. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* host: 1 without a filter */
	__type(key, __u64);
	__type(value, __u32);
} ep_choices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_marks);
} ep_marks SEC(".maps");

/* What ep_front goes on with: ep_entry. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} ep_starts SEC(".maps");

/* Processes that are known not to be wanted: see struct ep_others_line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* host */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_others_line);
} ep_others SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_GLOB_COUNT);
	__type(key, __u32);
	__type(value, struct ep_glob);
} ep_globs SEC(".maps");

/* pid -> its last exec. Kept until the process ends, for those user space knows no image of. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct ep_exec);
} ep_execs SEC(".maps");

/* The inodes of programs in whose processes a language was met (ep_exec: inode). The value means nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} ep_runtimes SEC(".maps");

/* Wakes user space in the middle of a rest, which must not see whether there are samples. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ep_wakes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_MAX_RULES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_rule);
} ep_rules SEC(".maps");

/* EP_MEMO_SETS sets for each CPU. A mmapable map begins on a page, so each set is one cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_MEMO_SETS); /* host */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_memo_set);
} ep_memo SEC(".maps");

/* Trace hash -> epoch in which its frames were sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u32);
} ep_known SEC(".maps");

/* Of each CPU EP_RECENT_LEN: a look-up in ep_known goes through four lines and a hash, this through one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_RECENT_LEN); /* host */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_recent);
} ep_recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_control);
} ep_control SEC(".maps");

/*
 * By CPU. A per-CPU map would be the same to BPF, but a pointer and a call more on most kernels;
 * and user space would need a system call for each look at it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* host */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_counts);
} ep_counters SEC(".maps");

static __always_inline struct ep_control *get_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ep_control, &zero);
}

/* For bpf_ringbuf_output: wakes user space if it sleeps, once. */
static __always_inline __u64 wake_flag(struct ep_control *control)
{
	if (!control->asleep)
		return BPF_RB_NO_WAKEUP;
	control->asleep = 0;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline struct ep_counts *get_counts(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&ep_counters, &cpu);
}

static __always_inline void count(enum ep_counter counter)
{
	struct ep_counts *counts = get_counts();

	if (counts)
		counts->n[counter]++;
}

#endif
