/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stopped thread. Registers are numbered as in DWARF, so that nothing but the table of
 * architectures here knows one from another: System V ABI AMD64 supplement, figure 3.36 (16: return
 * address column, here rip); DWARF for the Arm 64-bit Architecture, "DWARF register names" (pc
 * is 32).
 */
#ifndef EP_REPLAY_THREAD_H
#define EP_REPLAY_THREAD_H

#include "core/base/util.h"

#include <elf.h>

#define EP_REPLAY_MAX_REGS   33
#define EP_REPLAY_COMM_BYTES 16

struct ep_replay_arch {
	const char *name;
	uint16_t machine; /* EM_* */
	uint8_t n_regs, fp, sp, pc;
};

static const struct ep_replay_arch ep_replay_archs[] = {
	{"x86_64", EM_X86_64, 17, 6, 7, 16},
	{"aarch64", EM_AARCH64, 33, 29, 31, 32},
};

static inline const struct ep_replay_arch *ep_replay_arch_find(uint16_t machine)
{
	for (size_t i = 0; i < EP_LEN(ep_replay_archs); i++) {
		if (ep_replay_archs[i].machine == machine)
			return &ep_replay_archs[i];
	}
	return NULL;
}

struct ep_replay_thread {
	const struct ep_replay_arch *arch;
	uint32_t pid, tid;
	uint64_t start_ns; /* of the process, CLOCK_BOOTTIME */
	uint64_t thread_pointer;
	bool in_syscall; /* stopped after the instruction that entered the kernel */
	char comm[EP_REPLAY_COMM_BYTES];
	uint64_t regs[EP_REPLAY_MAX_REGS]; /* arch->n_regs of them */
};

#endif
