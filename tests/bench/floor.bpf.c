/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The least that a profiler of kernel and user stacks can do for a sample: take the kernel stack,
 * copy 4 KiB of user stack in one read, send 512 bytes. Nothing is unwound and nothing is looked
 * up. What such a program costs depends on the machine in the same way as ours does, so that the
 * ratio of the two says more than microseconds.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#define USER_BYTES   4096
#define SENT_BYTES   512
#define KERNEL_WORDS 127 /* PERF_MAX_STACK_DEPTH, include/uapi/linux/perf_event.h */

/* The kernel stack first, as ours has it: what is sent is the kernel addresses or user stack. */
struct floor_record {
	__u64 kernel[KERNEL_WORDS + 1];
	__u8 user[USER_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct floor_record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* like ours */
} ring SEC(".maps");

/* The stack pointer with which the task was in user space. */
static unsigned long user_sp(struct bpf_perf_event_data *ctx)
{
	unsigned long sp = ctx->regs.rsp;
	struct pt_regs *regs;

	/* Read here: the verifier takes no address that is computed in the context. */
	__asm__ volatile("" : "+r"(sp));
	if (ctx->regs.cs & 3)
		return sp;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	bpf_probe_read_kernel(&sp, sizeof(sp), &regs->rsp);
	return sp;
}

SEC("perf_event")
int cost_floor(struct bpf_perf_event_data *ctx)
{
	struct floor_record *record;
	__u32 zero = 0;

	if ((__u32)bpf_get_current_pid_tgid() == 0)
		return 0;
	record = bpf_map_lookup_elem(&records, &zero);
	if (!record)
		return 0;
	/* The kernel stack is asked for only where there is one, as ours does. */
	if (!(ctx->regs.cs & 3))
		bpf_get_stack(ctx, record->kernel, KERNEL_WORDS * sizeof(__u64), 0);
	bpf_probe_read_user(record->user, USER_BYTES, (void *)user_sp(ctx));
	bpf_ringbuf_output(&ring, record->user, SENT_BYTES, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
