/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The kernel as the BPF programs see it: what of its structs they read, and how. No CO-RE: offsets
 * come from user space in struct ep_config, so that a kernel without BTF can be served as well,
 * and the same file can be compiled for user space over recorded memory.
 */
#ifndef EP_BPF_KERNEL_H
#define EP_BPF_KERNEL_H

#include "bpf/shared.h"

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* include/linux/sched.h */
#define PF_VCPU	   0x00000001
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

extern const volatile struct ep_config ep_config;

static __always_inline __u64 read_kernel_u64(__u64 addr)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)addr);
	return value;
}

static __always_inline __u32 read_kernel_u32(__u64 addr)
{
	__u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)addr);
	return value;
}

static __always_inline bool task_is_kernel_thread(__u64 task)
{
	return read_kernel_u32(task + ep_config.task_flags_off) & PF_KTHREAD;
}

/* It was interrupted as a virtual CPU, while its guest ran (kvm_guest_enter_irqoff, include/linux/context_tracking.h). */
static __always_inline bool task_runs_guest(__u64 task)
{
	return read_kernel_u32(task + ep_config.task_flags_off) & PF_VCPU;
}

static __always_inline bool task_is_exiting(__u64 task)
{
	return read_kernel_u32(task + ep_config.task_flags_off) & PF_EXITING;
}

/* Start of the process (not the thread), CLOCK_BOOTTIME: with the pid it names a process for ever. */
static __always_inline __u64 task_start_ns(__u64 task)
{
	__u64 leader = read_kernel_u64(task + ep_config.task_group_leader_off);

	return read_kernel_u64(leader + ep_config.task_start_off);
}

/* What a process runs changes with each exec; all threads of one have the same number. */
static __always_inline __u32 task_image(__u64 task)
{
	return read_kernel_u32(task + ep_config.task_exec_id_off);
}

/* Which program the current task runs: its process's start, and its image. */
struct ep_identity {
	__u64 start_ns;
	__u32 image;
};

/*
 * Where the verifier knows what a task is (5.11), its fields are loads, where they else are calls.
 * Each sample does that.
 */
static __always_inline struct ep_identity current_identity(__u64 task)
{
	const __u8 *known, *leader;

	if (!ep_config.has_task_btf)
		return (struct ep_identity){task_start_ns(task), task_image(task)};
	known = (const __u8 *)bpf_get_current_task_btf();
	leader = *(const __u8 *const *)(known + ep_config.task_group_leader_off);
	return (struct ep_identity){*(const __u64 *)(leader + ep_config.task_start_off),
				    *(const __u32 *)(known + ep_config.task_exec_id_off)};
}

static __always_inline bool task_has_memory(__u64 task)
{
	return read_kernel_u64(task + ep_config.task_mm_off) != 0;
}

/* The registers with which the task entered the kernel. False when there are none. */
static __always_inline bool read_entry_regs(__u64 task, struct pt_regs *regs)
{
	__u64 addr;

	if (ep_config.has_task_pt_regs) {
		addr = (__u64)bpf_task_pt_regs(bpf_get_current_task_btf());
	} else {
		/* The top of the kernel stack: arch/x86/include/asm/processor.h, task_pt_regs. */
		addr = read_kernel_u64(task + ep_config.task_stack_off);
		if (!addr)
			return false;
		addr += ep_config.kernel_stack_bytes - sizeof(*regs);
	}
	return bpf_probe_read_kernel(regs, sizeof(*regs), (void *)addr) == 0;
}

#endif
