/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_RECORD_H
#define EP_BPF_RECORD_H

#include "ebpf-profiler/bpf/internal/record.h"
#include "ebpf-profiler/frame.h"

#include <linux/types.h>

struct ep_sample {
	struct ep_event event;
	__u64 hash;
	__u64 start_ns;
	__u32 pid, tid;
	__u32 image;
	__u32 copy_bytes;
	char comm[EP_COMM_BYTES];
	__u16 n_kernel;
	__u16 n_frames;
	__u16 n_words;
	__u8 error;
	__u8 flags;
};
_Static_assert(sizeof(struct ep_sample) == 72, "ep_sample is shared with BPF");

#define EP_STATE_BYTES 256

#if defined(__x86_64__)
#define EP_REGS	     17
#define EP_REG_FP    6
#define EP_REG_SP    7
#define EP_REG_PC    16
#define EP_KNOWN_ALL 0xffffu
#elif defined(__aarch64__)
#define EP_REGS	     33
#define EP_REG_FP    29
#define EP_REG_SP    31
#define EP_REG_PC    32
#define EP_KNOWN_ALL 0xffffffffu
#else
#error "the registers of this machine are not known"
#endif
#define EP_KNOWN_ALWAYS (1u << EP_REG_FP | 1u << EP_REG_SP)

#define EP_CALLEE_REGS (1u << 3 | 0xf000u)
#define EP_CALLER_REGS (0x0f37u)

struct ep_walk {
	__u64 pc;
	__u64 sequence;
	__u32 return_address;
	__u32 known_regs;
	__u32 by_pointer;
	__u32 interrupted;
	__u64 next_pc, next_sp, next_fp;
	__u64 regs[EP_REGS];
	struct ep_walk_core core;
};
_Static_assert(sizeof(struct ep_walk) == 120 + 8 * EP_REGS, "ep_walk is shared with plugins");

struct ep_record {
	struct ep_sample sample;
	__u64 words[EP_RECORD_WORDS];
	struct ep_walk walk;
};

#endif
