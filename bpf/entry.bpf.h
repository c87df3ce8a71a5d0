/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The program on the perf event: who is it, is it wanted, kernel stack, user registers. */
#ifndef EP_BPF_ENTRY_H
#define EP_BPF_ENTRY_H

#include "bpf/program.bpf.h"
#include "bpf/remembered.bpf.h"
#include "bpf/resume.bpf.h"
#include "bpf/send.bpf.h"
#include "bpf/uretprobe.bpf.h"

/* User code segments of x86-64 Linux: arch/x86/include/asm/segment.h, __USER32_CS. */
#define USER32_CS 0x23

static __always_inline bool from_user_mode(const struct pt_regs *regs)
{
	return (regs->cs & 3) != 0;
}

static __always_inline void reset_record(struct ep_core_record *rec, __u32 pid, __u32 tid)
{
	struct ep_sample *sample = &rec->sample;

	sample->event.cpu = bpf_get_smp_processor_id();
	sample->event.time_ns = bpf_ktime_get_ns();
	sample->pid = pid;
	sample->tid = tid;
	sample->copy_bytes = 0;
	sample->n_kernel = 0;
	sample->n_frames = 0;
	sample->n_words = 0;
	sample->error = 0;
	sample->flags = 0;
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	rec->walk.core.tail_calls = 0;
	rec->stack_reads = 0;
	rec->read_faults = 0;
	rec->pointer_frames = 0;
	rec->walk.by_pointer = 0;
	rec->walk.interrupted = 1;
	rec->stood = 0;
	rec->walk.core.switches = 0;
	rec->switch_cfa = 0;
	rec->no_trampoline = 0;
	rec->takers = 0;
	rec->may_resume = 0;
	rec->keepers = 0;
	rec->resumers = 0;
	rec->offered = 0;
	rec->walk.core.entered = 0;
	rec->walk.core.pending = 0;
	rec->walk.sequence++;
	__builtin_memset(rec->walk.core.slots, 0, sizeof(rec->walk.core.slots));
	rec->row.start = 0;
	rec->row.end = 0;
	rec->copy.pc = 0;
	rec->window_base = ~0ULL;
	rec->leaf_sp = 0;
	rec->guessed = 0;
}

/* In place of frames that there are none of: the stack is complete. */
static __always_inline void push_task_state(struct ep_core_record *rec, __u32 state)
{
	ep_push_words(&rec->record, EP_FRAME_HEADER(EP_FRAME_TASK, 0, 1, state), 1,
		      rec->sample.image, 0, 0);
}

static __always_inline void add_kernel_stack(void *ctx, struct ep_core_record *rec, __u64 task)
{
	__u64 hash = rec->walk.core.hash;
	long bytes = bpf_get_stack(ctx, rec->words, EP_MAX_KERNEL * sizeof(__u64), 0);
	__u32 n;

	/*
	 * The address that was interrupted is in every stack (arch/x86/events/core.c,
	 * perf_callchain_kernel), unless a guest of KVM was: else nothing is a failure too. What the guest was at
	 * nobody knows here; who runs it is the thread whose user stack follows.
	 */
	if (bytes <= 0 && task_runs_guest(task)) {
		push_task_state(rec, EP_TASK_GUEST);
		return;
	}
	if (bytes <= 0) {
		ep_push_error(&rec->record, EP_ERROR_KERNEL_STACK, 0);
		return;
	}
	n = (__u32)bytes >> 3;
	/* 127 rounds of about 10 instructions. */
	for (__u32 i = 0; i < EP_MAX_KERNEL; i++) {
		if (i >= n)
			break;
		hash = ep_hash_word(hash, rec->words[i]);
	}
	rec->sample.n_kernel = n;
	rec->walk.core.hash = ep_hash_word(hash, n);
	/* Its outermost frames were cut off, nobody knows how many. */
	if (n >= ep_config.kernel_frames)
		ep_push_error(&rec->record, EP_ERROR_KERNEL_DEPTH, 0);
}

/* Copies registers into DWARF order. */
static __always_inline void take_regs(struct ep_walk *walk, const struct pt_regs *regs)
{
	walk->regs[0] = regs->rax;
	walk->regs[1] = regs->rdx;
	walk->regs[2] = regs->rcx;
	walk->regs[3] = regs->rbx;
	walk->regs[4] = regs->rsi;
	walk->regs[5] = regs->rdi;
	walk->regs[8] = regs->r8;
	walk->regs[9] = regs->r9;
	walk->regs[10] = regs->r10;
	walk->regs[11] = regs->r11;
	walk->regs[12] = regs->r12;
	walk->regs[13] = regs->r13;
	walk->regs[14] = regs->r14;
	walk->regs[15] = regs->r15;
	walk->pc = regs->rip;
	walk->regs[EP_REG_SP] = regs->rsp;
	walk->regs[EP_REG_FP] = regs->rbp;
	walk->known_regs = EP_KNOWN_ALL;
	walk->return_address = 0;
}

static __always_inline void find_process(struct ep_core_record *rec, __u64 task)
{
	struct ep_proc *proc = find_proc(rec->sample.pid, rec->sample.start_ns, rec->sample.image);
	struct ep_control *control = get_control();

	rec->known = 0;
	rec->walk.core.n_rows = 0;
	rec->walk.core.max_calls = EP_MAX_TAIL_CALLS;
	rec->walk.core.keep_words = 0;
	rec->walk.core.language_words = 0;
	rec->use_memo = 0;
	if (!proc) {
		/* After its exit event nobody needs to find out about a process any more. */
		if (!task_is_exiting(task))
			rec->sample.flags |= EP_SAMPLE_UNKNOWN_PROCESS;
		rec->no_copy = !control || control->no_copies;
		count(EP_COUNTER_UNKNOWN_PROCESS);
		return;
	}
	rec->no_copy = proc->flags & EP_PROC_FINAL;
	rec->known = 1;
	rec->born_ns = proc->born_ns;
	if (proc->born_ns && rec->sample.event.time_ns - proc->born_ns < EP_YOUNG_NS)
		rec->sample.flags |= EP_SAMPLE_YOUNG;
	if (proc->flags & EP_PROC_AWAITS)
		rec->sample.flags |= EP_SAMPLE_RAW;
	rec->use_memo = 1;
	rec->takers = proc->flags >> EP_PROC_TAKERS_SHIFT & EP_PROC_LANGUAGES;
	rec->may_resume = proc->flags >> EP_PROC_RESUMERS_SHIFT & EP_PROC_LANGUAGES;
	rec->has_gap = 0;
	if (rec->may_resume)
		forget_bound(rec);
	/* One for each of its languages, which are asked when the native walk ends in an error. */
#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++)
		rec->walk.core.max_calls -= proc->slots[i] != 0;
	if (proc->flags & EP_PROC_MARKS) {
		rec->walk.core.keep_words = EP_LANGUAGE_WORDS;
		rec->walk.core.max_calls = EP_MAX_TAIL_CALLS - EP_LANGUAGE_TAIL_CALLS;
	}
	rec->walk.core.memo_tag = memo_tag(proc->rows_serial);
	rec->walk.core.rows = proc->rows;
	rec->walk.core.n_rows = proc->n_rows;
	__builtin_memcpy(rec->walk.core.states, proc->states, sizeof(proc->states));
	__builtin_memcpy(rec->walk.core.slots, proc->slots, sizeof(proc->slots));
}

/* execve of 32-bit programs, and munmap of others: who calls execve is not 32-bit after it. */
#define NR_COMPAT_EXECVE 11

/* execve and execveat of x86-64, of 32-bit programs, and of x32: arch/x86/entry/syscalls. */
static __always_inline bool is_exec_call(__u64 number)
{
	__u32 nr = (__u32)number & ~0x40000000u;

	return nr == 59 || nr == 322 || nr == NR_COMPAT_EXECVE || nr == 358 || nr == 520 ||
	       nr == 545;
}

/*
 * In a system call the pc is after the syscall instruction, which may be the function's last one
 * (rt_sigreturn); but at the end of an exec it is the new program's first one. Interrupts and faults
 * set orig_rax to -1.
 */
static __always_inline bool is_behind_call(const struct pt_regs *regs)
{
	return (__s64)regs->orig_rax >= 0 &&
	       (!is_exec_call(regs->orig_rax) || regs->orig_rax == NR_COMPAT_EXECVE);
}

/*
 * From the moment the old memory is gone until the new program is ready (fs/exec.c, begin_new_exec
 * and exec_binprm), the registers are those of a program that is not there.
 */
static __always_inline bool is_in_exec(struct ep_core_record *rec, __u64 task)
{
	__u32 pid = rec->sample.pid;
	struct ep_exec *exec = bpf_map_lookup_elem(&ep_execs, &pid);

	if (exec && exec->is_going && exec->start_ns == rec->sample.start_ns) {
		rec->sample.image = exec->image;
		__builtin_memcpy(rec->sample.comm, exec->comm, sizeof(rec->sample.comm));
		return true;
	}
	return has_fresh_image(task);
}

/* Leaves the user registers in rec->walk. False when the sample has no user part to walk. */
static __always_inline bool find_user_regs(struct bpf_perf_event_data *ctx, struct ep_core_record *rec,
					   __u64 task)
{
	struct pt_regs *regs = &rec->entry_regs;
	__u64 cs;

	if (from_user_mode((const struct pt_regs *)&ctx->regs)) {
		take_regs(&rec->walk, (const struct pt_regs *)&ctx->regs);
		cs = ctx->regs.cs & 0xffff;
		/* Or else the compiler makes one copy of two sources, which no verifier takes. */
		EP_OPAQUE(cs);
	} else {
		if (task_is_kernel_thread(task)) {
			rec->sample.flags |= EP_SAMPLE_KERNEL_THREAD;
			return false;
		}
		if (!read_entry_regs(task, regs)) {
			ep_push_error(&rec->record, EP_ERROR_NO_REGISTERS, 0);
			return false;
		}
		/* A thread that the kernel made for a process (io_uring, vhost). The bits of its
		 * flags that tell so differ by release. */
		if (regs->rip == 0 && regs->rsp == 0)
			return false;
		/*
		 * In its exit what a stack holds may be another's by now: a vfork's parent runs on
		 * as soon as the child lets go of their memory, a moment before it is gone.
		 */
		if (task_is_exiting(task) || !task_has_memory(task)) {
			push_task_state(rec, EP_TASK_EXIT);
			return false;
		}
		if (is_exec_call(regs->orig_rax) && is_in_exec(rec, task)) {
			push_task_state(rec, EP_TASK_EXEC);
			return false;
		}
		take_regs(&rec->walk, regs);
		cs = regs->cs & 0xffff;
		rec->walk.return_address = is_behind_call(regs);
	}
	if ((cs & 3) == 0) { /* a task that never was in user space, as during exec */
		ep_push_error(&rec->record, EP_ERROR_NO_REGISTERS, 0);
		return false;
	}
	if (cs == USER32_CS) {
		ep_push_error(&rec->record, EP_ERROR_COMPAT, rec->walk.pc);
		return false;
	}
	return true;
}

/*
 * With a filter that remembers which processes are not wanted, this runs first: samples of those and of idle CPUs end
 * here, after touching few cache lines. It uses one of the tail calls that EP_MAX_TAIL_CALLS leaves.
 */
SEC("perf_event")
int ep_front(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	struct ep_counts *counts = get_counts();

	reserve_stack();
	if (!counts)
		return 0;
	if ((__u32)pid_tid == 0) {
		counts->n[EP_COUNTER_IDLE]++;
		return 0;
	}
	if (is_known_other(pid_tid >> 32)) {
		counts->n[EP_COUNTER_FILTERED]++;
		return 0;
	}
	bpf_tail_call(ctx, &ep_starts, 0);
	return 0;
}

SEC("perf_event")
int ep_entry(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), task;
	__u32 pid = pid_tid >> 32;
	struct ep_identity identity;
	struct ep_subject who = {.pid = pid, .tid = (__u32)pid_tid, .is_current = true};
	struct ep_counts *counts = get_counts();
	struct ep_core_record *rec = get_record();
	enum ep_judgement judgement;
	__u32 step, changes;

	reserve_stack();
	if (!counts || !rec)
		return 0;
	if ((__u32)pid_tid == 0) {
		counts->n[EP_COUNTER_IDLE]++;
		return 0;
	}
	if (!ep_config.has_task_btf)
		who.task = bpf_get_current_task();
	changes = count_of_changes();
	judgement = judge(&who);
	who.task = task = bpf_get_current_task();
	if (judgement == EP_WANTED) {
		identity = current_identity(task);
		who.start_ns = identity.start_ns;
		who.image = identity.image;
		if (!is_wanted_program(&who))
			judgement = EP_NEVER_WANTED;
	}
	if (judgement != EP_WANTED) {
		if (judgement == EP_NEVER_WANTED)
			keep_other(pid, changes);
		counts->n[EP_COUNTER_FILTERED]++;
		return 0;
	}
	note_told(&who);
	counts->n[EP_COUNTER_SAMPLES]++;
	reset_record(rec, pid, (__u32)pid_tid);
	rec->sample.start_ns = identity.start_ns;
	rec->sample.image = identity.image;
	rec->walk.core.hash = ep_hash_word((__u64)identity.image << 32 | pid, identity.start_ns);
	if (!from_user_mode((const struct pt_regs *)&ctx->regs))
		add_kernel_stack(ctx, rec, task);
	if (find_user_regs(ctx, rec, task)) {
		find_process(rec, task);
		if (rec->sample.n_kernel && get_utask())
			leave_trampoline(rec); /* before anything is remembered of pc */
		step = walk_remembered(rec);
		rec->first_step = step == STEP_LONG ? STEP_AGAIN : step;
		if (step != STEP_ROOT)
			ep_go_to(ctx, &rec->record, EP_SLOT_NATIVE);
	}
	if (!finish_known(rec, counts))
		ep_go_to(ctx, &rec->record, EP_SLOT_FINISH);
	return 0;
}

#endif
