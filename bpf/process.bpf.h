/* SPDX-License-Identifier: GPL-2.0-only */
/* Births and deaths of processes, by raw tracepoints (include/trace/events/sched.h). */
#ifndef EP_BPF_PROCESS_H
#define EP_BPF_PROCESS_H

#include "bpf/kernel.bpf.h"
#include "bpf/maps.bpf.h"

static __always_inline bool in_filter(__u32 pid)
{
	return !ep_config.filter || bpf_map_lookup_elem(&ep_filter, &pid);
}

static __always_inline bool send_process_event(__u32 type, __u32 pid, __u32 parent_pid,
					       __u64 start_ns)
{
	struct ep_process_event event = {
		.event = {
			.type = type,
			.cpu = bpf_get_smp_processor_id(),
			.time_ns = bpf_ktime_get_ns(),
		},
		.start_ns = start_ns,
		.pid = pid,
		.parent_pid = parent_pid,
	};

	if (bpf_ringbuf_output(&ep_ring, &event, sizeof(event), 0) == 0)
		return true;
	count(EP_COUNTER_EVENTS_DROPPED, 1);
	return false;
}

/*
 * A forked child has its parent's mappings: it is known from its first instruction. The fork event
 * tells user space to keep the shared rows; without the event the child must not use them.
 */
static __always_inline void share_mappings(__u32 parent_pid, __u32 pid, __u64 start_ns)
{
	struct ep_proc *parent = bpf_map_lookup_elem(&ep_procs, &parent_pid);
	struct ep_proc child;

	if (!parent)
		return;
	child = *parent;
	child.start_ns = start_ns;
	bpf_map_update_elem(&ep_procs, &pid, &child, BPF_ANY);
}

/* TP_PROTO(struct task_struct *parent, struct task_struct *child) */
SEC("raw_tracepoint/sched_process_fork")
int ep_fork(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 parent = ctx->args[0], child = ctx->args[1];
	__u32 parent_pid = read_kernel_u32(parent + ep_config.task_tgid_off);
	__u32 pid = read_kernel_u32(child + ep_config.task_tgid_off);
	__u32 one = 1;
	__u64 start_ns;

	if (pid == parent_pid || !in_filter(parent_pid)) /* a thread, or not ours */
		return 0;
	if (ep_config.filter && bpf_map_update_elem(&ep_filter, &pid, &one, BPF_ANY))
		count(EP_COUNTER_FILTER_FULL, 1);
	start_ns = task_start_ns(child);
	/* In this order: what user space writes when it has the event must not be overwritten. */
	share_mappings(parent_pid, pid, start_ns);
	if (!send_process_event(EP_EVENT_FORK, pid, parent_pid, start_ns))
		bpf_map_delete_elem(&ep_procs, &pid);
	return 0;
}

/*
 * TP_PROTO(struct task_struct *task, const char *comm). An exec renames the task when the old
 * memory is gone and nothing of the new program is mapped yet (fs/exec.c, begin_new_exec): just
 * the moment to forget the old mappings. sched_process_exec comes only behind the new ones. Other
 * renames find a process with many mappings; a fresh image has its stack alone.
 */
#define FRESH_IMAGE_MAPPINGS 2
SEC("raw_tracepoint/task_rename")
int ep_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u64 mm = read_kernel_u64(task + ep_config.task_mm_off);
	__u32 pid = read_kernel_u32(task + ep_config.task_tgid_off);

	if (!mm || read_kernel_u32(mm + ep_config.mm_map_count_off) > FRESH_IMAGE_MAPPINGS)
		return 0;
	bpf_map_delete_elem(&ep_procs, &pid);
	if (in_filter(pid))
		send_process_event(EP_EVENT_EXEC, pid, 0, task_start_ns(task));
	return 0;
}

/* TP_PROTO(struct task_struct *p): runs after the thread left signal->live (kernel/exit.c). */
SEC("raw_tracepoint/sched_process_exit")
int ep_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u64 signal = read_kernel_u64(task + ep_config.task_signal_off);
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (read_kernel_u32(signal + ep_config.signal_live_off) != 0)
		return 0;
	bpf_map_delete_elem(&ep_procs, &pid);
	if (!in_filter(pid))
		return 0;
	send_process_event(EP_EVENT_EXIT, pid, 0, task_start_ns(task));
	if (ep_config.filter)
		bpf_map_delete_elem(&ep_filter, &pid);
	return 0;
}

#endif
