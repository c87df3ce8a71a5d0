/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Births and deaths of processes, by raw tracepoints (include/trace/events/sched.h). */
#ifndef EP_BPF_PROCESS_H
#define EP_BPF_PROCESS_H

#include "bpf/program.bpf.h"

static __always_inline void tell_of_drop(void)
{
	struct ep_control *control = get_control();

	count(EP_COUNTER_EVENTS_DROPPED);
	if (control)
		control->dropped = 1;
}

/*
 * The time of an event is taken first of all: a sample of what it brings, or a publication that
 * does not know of it, is later. An interrupt may sample this very program.
 */
static __always_inline bool send_process_event(struct ep_process_event *event, __u64 flags)
{
	event->event.cpu = bpf_get_smp_processor_id();
	if (bpf_ringbuf_output(&ep_ring, event, sizeof(*event), flags) == 0)
		return true;
	tell_of_drop();
	return false;
}

static __always_inline void set_mount_ns(__u64 task, struct ep_process_event *event)
{
	__u64 nsproxy = read_kernel_u64(task + ep_config.task_nsproxy_off);
	__u64 mounts = read_kernel_u64(nsproxy + ep_config.nsproxy_mount_off);

	if (ep_config.mount_ns_id_off)
		event->mount_ns = read_kernel_u64(mounts + ep_config.mount_ns_id_off);
	if (ep_config.mount_ns_inode_off)
		event->mount_inode = read_kernel_u32(mounts + ep_config.mount_ns_inode_off);
}

/* The rights of a program that has a set-user-id bit come only after its exec's first event. */
static __always_inline void set_owner(const struct ep_subject *who, struct ep_process_event *event)
{
	event->user = ep_config.cred_euid_off ? task_user(who) : EP_NO_USER;
	event->cgroup = ep_config.node_id_off ? task_cgroup(who) : 0;
}

/*
 * A forked child has its parent's mappings: it is known from its first instruction. The fork event
 * tells user space to keep the shared rows; without the event the child must not use them.
 */
static __always_inline void share_mappings(const struct ep_process_event *event,
					   __u64 parent_start_ns)
{
	struct ep_proc *parent = find_proc(event->parent_pid, parent_start_ns, event->image);
	__u32 pid = event->pid;
	struct ep_proc child;

	if (!parent)
		return;
	child = *parent;
	child.start_ns = event->start_ns;
	child.image = event->image;
	child.born_ns = event->event.time_ns;
	bpf_map_update_elem(&ep_procs, &pid, &child, BPF_ANY);
}

/* TP_PROTO(struct task_struct *parent, struct task_struct *child) */
SEC("raw_tracepoint/sched_process_fork")
int ep_fork(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 parent = ctx->args[0], child = ctx->args[1];
	__u64 parent_start_ns = task_start_ns(parent);
	struct ep_process_event event = {
		.event = {.type = EP_EVENT_FORK, .time_ns = bpf_ktime_get_ns()},
		.pid = read_kernel_u32(child + ep_config.task_tgid_off),
		.parent_pid = read_kernel_u32(parent + ep_config.task_tgid_off),
		.image = task_image(child),
	};
	__u32 pid = event.pid;
	struct ep_subject who = {.task = child, .pid = pid, .tid = pid, .image = event.image};

	if (pid == event.parent_pid) /* a thread */
		return 0;
	event.start_ns = who.start_ns = task_start_ns(child);
	inherit_pid(event.parent_pid, parent_start_ns, pid, event.start_ns);
	begin_other(pid);
	if (!is_wanted(&who))
		return 0;
	set_mount_ns(child, &event);
	note_told(&who);
	/* In this order: what user space writes when it has the event must not be overwritten. */
	share_mappings(&event, parent_start_ns);
	if (!send_process_event(&event, BPF_RB_NO_WAKEUP))
		bpf_map_delete_elem(&ep_procs, &pid);
	count_birth(); /* it has not run yet */
	return 0;
}

static __always_inline bool is_of_runtime(const struct ep_exec *exec)
{
	return bpf_map_lookup_elem(&ep_runtimes, &exec->inode) != NULL;
}

/*
 * User space is woken for an exec alone: to open what it does not know before that is gone. What a
 * language runs in is known, and wakes it when it is mapped.
 */
static __always_inline __u64 exec_wake_flag(const struct ep_exec *exec)
{
	struct ep_control *control = get_control();

	return control && !is_of_runtime(exec) ? wake_flag(control) : BPF_RB_NO_WAKEUP;
}

static __always_inline __u64 task_exe_inode(__u64 task)
{
	__u64 mm = read_kernel_u64(task + ep_config.task_mm_off);

	return read_kernel_u64(read_kernel_u64(mm + ep_config.mm_exe_file_off) +
			       ep_config.file_inode_off);
}

static __always_inline bool is_leader(__u64 task)
{
	return read_kernel_u64(task + ep_config.task_group_leader_off) == task;
}

/*
 * TP_PROTO(struct task_struct *task, const char *comm). An exec renames the task when the old
 * memory is gone and nothing of the new program is mapped yet (fs/exec.c, begin_new_exec): just
 * the moment to forget the old mappings. sched_process_exec comes only after the new ones. Other
 * renames find a process with many mappings; a fresh image has its stack alone. self_exec_id is
 * counted up right after this tracepoint, and the task still has its old name.
 */
SEC("raw_tracepoint/task_rename")
int ep_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	struct ep_process_event event = {
		.event = {.type = EP_EVENT_EXEC, .time_ns = bpf_ktime_get_ns()},
	};
	struct ep_exec exec = {.is_going = 1};
	struct ep_subject who = {.task = task};
	bool was_known, is_exec = has_fresh_image(task);
	__u32 pid;

	if (!is_exec && !used_bits(EP_FILTER_BOTH(EP_FILTER_COMM)))
		return 0;
	pid = read_kernel_u32(task + ep_config.task_tgid_off);
	event.pid = who.pid = pid;
	exec.start_ns = event.start_ns = who.start_ns = task_start_ns(task);
	exec.image = event.image = who.image = task_image(task) + is_exec;
	bpf_probe_read_kernel_str(exec.comm, sizeof(exec.comm), (void *)ctx->args[1]);
	if (!is_exec) {
		if (is_leader(task))
			judge_rename(&who, exec.comm, false);
		return 0;
	}
	set_mount_ns(task, &event);
	set_owner(&who, &event);
	exec.inode = task_exe_inode(task);
	__builtin_memcpy(event.comm, exec.comm, sizeof(event.comm));
	was_known = was_told(&who);
	bpf_map_delete_elem(&ep_procs, &pid);
	bpf_map_update_elem(&ep_execs, &pid, &exec, BPF_ANY);
	judge_rename(&who, exec.comm, true); /* after what gives its samples that name */
	who.tid = pid; /* whoever calls exec becomes the first thread */
	if (is_wanted(&who)) {
		note_told(&who);
		send_process_event(&event, exec_wake_flag(&exec));
		count_birth();
	} else if (was_known) {
		event.event.type = EP_EVENT_EXIT; /* what it runs from here on is not for user space */
		forget_told(&who);
		send_process_event(&event, BPF_RB_NO_WAKEUP);
	}
	return 0;
}

/* The runtime may be a library, which is mapped in the next moments. */
static __always_inline void wake_for_runtime(__u32 pid)
{
	struct ep_wake wake = {.pid = pid};
	struct ep_control *control = get_control();

	if (control)
		control->young = 1;
	bpf_ringbuf_output(&ep_wakes, &wake, sizeof(wake), 0);
}

static __always_inline bool is_known_program(__u32 pid, const struct ep_exec *exec)
{
	struct ep_subject who = {.pid = pid, .start_ns = exec->start_ns, .image = exec->image};

	return was_told(&who);
}

/* TP_PROTO(struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm): it is ready to run. */
SEC("raw_tracepoint/sched_process_exec")
int ep_exec_done(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ep_exec *exec = bpf_map_lookup_elem(&ep_execs, &pid);
	(void)ctx;
	if (!exec)
		return 0;
	exec->is_going = 0;
	if (used_bits(EP_FILTER_NAMES))
		forget_other(pid, false); /* its name is in place */
	if (is_of_runtime(exec) && is_known_program(pid, exec))
		wake_for_runtime(pid);
	return 0;
}

/*
 * TP_PROTO(struct task_struct *p): runs after the thread left signal->live (kernel/exit.c); before
 * its memory is gone since 6.16, after that on older kernels. Samples may follow on both.
 */
SEC("raw_tracepoint/sched_process_exit")
int ep_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u64 signal = read_kernel_u64(task + ep_config.task_signal_off);
	struct ep_process_event event = {
		.event = {.type = EP_EVENT_EXIT, .time_ns = bpf_ktime_get_ns()},
	};
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ep_subject who = {.task = task, .pid = pid};
	bool was_known;

	if (read_kernel_u32(signal + ep_config.signal_live_off) != 0)
		return 0;
	event.pid = pid;
	event.start_ns = who.start_ns = task_start_ns(task);
	event.image = who.image = task_image(task);
	was_known = was_told(&who);
	bpf_map_delete_elem(&ep_procs, &pid);
	bpf_map_delete_elem(&ep_execs, &pid);
	if (was_known)
		send_process_event(&event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* TP_PROTO(struct task_struct *p): nothing runs as this task any more. With a filter only. */
SEC("raw_tracepoint/sched_process_free")
int ep_free(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u32 pid = read_kernel_u32(task + ep_config.task_tgid_off);
	__u64 thread = EP_CHOICE(EP_FILTER_TID, read_kernel_u32(task + ep_config.task_pid_off));
	struct ep_filter_entry *entry;

	if (used_bits(EP_FILTER_BOTH(EP_FILTER_TID)))
		bpf_map_delete_elem(&ep_choices, &thread);
	if (!is_leader(task))
		return 0;
	forget_other(pid, false); /* before somebody gets the pid: user space judges too, and may be slow */
	if (may_change())
		bpf_map_delete_elem(&ep_verdicts, &pid);
	entry = bpf_map_lookup_elem(&ep_filter, &pid);
	if (entry && (!entry->start_ns || entry->start_ns == task_start_ns(task)))
		bpf_map_delete_elem(&ep_filter, &pid);
	return 0;
}

#endif
