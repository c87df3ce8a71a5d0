/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What uprobes take away. A probe at the return of a function (uretprobe: bpftrace, Beyla, sslsniff and others that look
 * into TLS) puts the address of a trampoline, the first byte of the process's [uprobes] page, in place of the return
 * address, and keeps that for the task (prepare_uretprobe, linux/kernel/events/uprobes.c):
 *
 *	task ──► utask ──► return_instance ──► return_instance ──► ...	the innermost function first
 *			   stack: where the return address was, orig_ret_vaddr: what it was
 *
 * A probed instruction has a breakpoint in place of its first byte, and runs as a copy in that page: at xol_vaddr, while the
 * one at vaddr is meant.
 */
#ifndef EP_BPF_URETPROBE_H
#define EP_BPF_URETPROBE_H

#include "bpf/record.bpf.h"

/* The kernel keeps at most 64 (MAX_URETPROBE_DEPTH). */
#define EP_MAX_RETURNS 64
#define EP_TRAMPOLINE_BYTES  64
#define EP_TRAMPOLINE_PUSHED 24
#define EP_COPY_BYTES  128 /* UPROBE_XOL_SLOT_BYTES, arch/x86/include/asm/uprobes.h */

static __always_inline __u64 get_utask(void)
{
	return ep_config.task_utask_off ? read_kernel_u64(bpf_get_current_task() + ep_config.task_utask_off)
					: 0;
}

/* True when pc may be in that page. Nearly always the first look says no. */
static __always_inline bool may_be_trampoline(const struct ep_core_record *rec)
{
	const struct ep_walk *walk = &rec->walk;

	return (walk->interrupted || !(walk->pc & (EP_PAGE_BYTES - 1))) && walk->pc != rec->no_trampoline &&
	       get_utask();
}

/* In the kernel for its sake: what it stands for has not run yet. */
static __always_inline bool is_behind_breakpoint(struct ep_core_record *rec)
{
	__u8 code = 0;

	rec->stack_reads++;
	return rec->sample.n_kernel && bpf_probe_read_user(&code, 1, (void *)(rec->walk.pc - 1)) == 0 && code == 0xcc;
}

/*
 * Puts in place what uprobes took. A return address was right below sp. The trampoline itself may be interrupted when it
 * was returned to, and since 6.11 when it has pushed up to three registers and is in its system call (uretprobe_trampoline_entry,
 * arch/x86/kernel/uprobes.c). When there is neither, pc is what it seems to be.
 */
static __always_inline void leave_trampoline(struct ep_core_record *rec)
{
	struct ep_walk *walk = &rec->walk;
	__u64 utask = get_utask(), most = walk->interrupted ? EP_TRAMPOLINE_PUSHED : 0;
	__u64 instance = read_kernel_u64(utask + ep_config.utask_returns_off), sp, copied;

	copied = walk->pc - read_kernel_u64(utask + ep_config.utask_copy_off);
	if (walk->interrupted && copied < EP_COPY_BYTES) { /* 0: it has not run yet; else pc is after it */
		walk->pc = read_kernel_u64(utask + ep_config.utask_probed_off) + copied;
		rec->no_trampoline = walk->pc;
		return;
	}
	for (__u32 i = 0; i < EP_MAX_RETURNS && instance && (walk->pc & (EP_PAGE_BYTES - 1)) < EP_TRAMPOLINE_BYTES; i++) {
		sp = read_kernel_u64(instance + ep_config.return_stack_off) + 8;
		if (sp - walk->regs[EP_REG_SP] <= most) {
			walk->pc = read_kernel_u64(instance + ep_config.return_addr_off);
			walk->regs[EP_REG_SP] = sp;
			walk->return_address = 1;
			walk->interrupted = 0;
			return;
		}
		instance = read_kernel_u64(instance + ep_config.return_next_off);
	}
	if (walk->interrupted && is_behind_breakpoint(rec))
		walk->pc--;
	rec->no_trampoline = walk->pc;
}

/*
 * The same in a copy of the stack, `words` of it from addr on: its walk is late, and user space does not see what the kernel
 * keeps for the task. `at` is where the copy begins in rec->words.
 */
static __always_inline void restore_returns(struct ep_core_record *rec, __u64 at, __u64 addr, __u64 words)
{
	__u64 utask = get_utask(), instance, word;

	if (!utask)
		return;
	instance = read_kernel_u64(utask + ep_config.utask_returns_off);
	for (__u32 i = 0; i < EP_MAX_RETURNS && instance; i++) {
		word = (read_kernel_u64(instance + ep_config.return_stack_off) - addr) >> 3;
		if (word < words) {
			word += at;
			EP_OPAQUE(word);
			/* Other words: a function that was left by longjmp is still in the list. */
			if (word < EP_RECORD_WORDS && !(rec->words[word] & (EP_PAGE_BYTES - 1)))
				rec->words[word] = read_kernel_u64(instance + ep_config.return_addr_off);
		}
		instance = read_kernel_u64(instance + ep_config.return_next_off);
	}
}

#endif
