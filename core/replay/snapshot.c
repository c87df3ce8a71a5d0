/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/snapshot.h"

#include <string.h>

/* arch/x86/include/asm/user_64.h, struct user_regs_struct: DWARF numbers of its first members. */
#define X86_ORIG_RAX 15
#define X86_RIP	     16
#define X86_RSP	     19
#define X86_FS_BASE  21
static const int8_t x86_order[X86_ORIG_RAX] = {15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5};

static bool take_x86_64(struct ep_replay_thread *thread, const uint64_t *regs, size_t n)
{
	if (n <= X86_FS_BASE)
		return false;
	for (size_t i = 0; i < EP_LEN(x86_order); i++)
		thread->regs[x86_order[i]] = regs[i];
	thread->regs[7] = regs[X86_RSP];
	thread->regs[16] = regs[X86_RIP];
	thread->thread_pointer = regs[X86_FS_BASE];
	thread->in_syscall = (int64_t)regs[X86_ORIG_RAX] >= 0;
	return true;
}

/*
 * arch/arm64/include/uapi/asm/ptrace.h, struct user_pt_regs: x0 to x30, sp, pc, pstate. Nothing in
 * it says whether the thread is in a system call, and the thread pointer is a note of its own.
 */
static bool take_aarch64(struct ep_replay_thread *thread, const uint64_t *regs, size_t n)
{
	if (n < thread->arch->n_regs)
		return false;
	memcpy(thread->regs, regs, thread->arch->n_regs * sizeof(regs[0]));
	return true;
}

bool ep_snapshot_take_regs(struct ep_replay_thread *thread, const uint64_t *regs, size_t n)
{
	return thread->arch->machine == EM_X86_64 ? take_x86_64(thread, regs, n)
						  : take_aarch64(thread, regs, n);
}

void ep_snapshot_close(struct ep_snapshot *snapshot)
{
	if (snapshot)
		snapshot->ops->close(snapshot);
}
