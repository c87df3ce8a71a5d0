/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Which program a task runs, and what user space says of it. */
#ifndef EP_BPF_PROGRAM_H
#define EP_BPF_PROGRAM_H

#include "bpf/filter.bpf.h"

/* An exec gives a process new memory that has its stack alone, in at most two mappings. */
#define FRESH_IMAGE_MAPPINGS 2
static __always_inline bool has_fresh_image(__u64 task)
{
	__u64 mm = read_kernel_u64(task + ep_config.task_mm_off);

	return mm && read_kernel_u32(mm + ep_config.mm_map_count_off) <= FRESH_IMAGE_MAPPINGS;
}

/* True when a process that was there before us still runs what it ran when it was read. */
static __always_inline bool has_old_image(__u32 pid, __u64 start_ns)
{
	struct ep_exec *exec = bpf_map_lookup_elem(&ep_execs, &pid);

	return !exec || exec->start_ns != start_ns;
}

/* NULL: user space reported nothing of this program. */
static __always_inline struct ep_proc *find_proc(__u32 pid, __u64 start_ns, __u32 image)
{
	struct ep_proc *proc = bpf_map_lookup_elem(&ep_procs, &pid);

	/* /proc tells the start in clock ticks: what it says is at most one of them too early. */
	if (!proc || start_ns - proc->start_ns >= EP_CLOCK_TICK_NS)
		return NULL;
	if (proc->image == image)
		return proc;
	return proc->image == EP_IMAGE_ANY && has_old_image(pid, start_ns) ? proc : NULL;
}

#endif
