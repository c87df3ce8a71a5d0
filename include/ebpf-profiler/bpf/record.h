/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * One sample while it is walked: what a language's program sees of it. The record is per CPU; its
 * head and its words are what goes onto the ring, the walk is the state that survives tail calls.
 *
 *	sample | words: kernel addresses, native frames, frames of languages | walk | the core's own
 *
 * A language reads and writes what is declared here, the words by the functions of frames.h and
 * unwinder.h alone. What lies in internal/ is for the core and for these headers' own functions: its
 * names and its layout may change with EP_BPF_ABI (self.h), and no source of a language names any.
 *
 * Frames of a language are of kind EP_FRAME_FIRST_DYNAMIC + its slot. A language comes by them in
 * one of two ways, which it chooses for each range of code it declares (ebpf-profiler/unwinder.h):
 *
 *  - mark: native frames in the range run the language's interpreter, and have unwind rules.
 *    The native unwinder goes on through them and marks each with the language's slot. When it is
 *    at the root, the language's program runs once, pushes all of its frames, leaf first, and sets
 *    EP_FRAME_ENTRY on each that was entered from native code. User space puts the two together:
 *    each marked native frame is replaced by the frames up to the next entry. So any number of
 *    switches between the two costs no tail calls.
 *
 *  - enter: only the language can unwind the code (a JIT's). The native unwinder jumps to its
 *    program there and then; it pushes frames, leaves the caller's registers in the walk and goes
 *    back with ep_go_native.
 */
#ifndef EP_BPF_RECORD_H
#define EP_BPF_RECORD_H

#include "ebpf-profiler/bpf/internal/record.h"
#include "ebpf-profiler/frame.h"

#include <linux/types.h>

/*
 * A language may read which program and thread this is, and how many frames there are. All of it is
 * written by the core and by ep_push_words.
 */
struct ep_sample {
	struct ep_event event;
	__u64 hash;	/* over kernel addresses, user frame words, the program; never 0 */
	__u64 start_ns; /* process start, CLOCK_BOOTTIME */
	__u32 pid, tid; /* thread group id and thread id, initial pid namespace */
	__u32 image;	/* another one after each exec: (pid, start_ns, image) names a program */
	__u32 copy_bytes; /* after the words: struct ep_copy and a piece of the stack; 0: none */
	char comm[EP_COMM_BYTES]; /* of the thread */
	__u16 n_kernel; /* kernel addresses, one word each */
	__u16 n_frames; /* user frames */
	__u16 n_words;	/* words of user frames */
	__u8 error;	/* enum ep_error: why the user part is incomplete, 0 when it is complete */
	__u8 flags;	/* enum ep_sample_flag */
};
_Static_assert(sizeof(struct ep_sample) == 72, "ep_sample is shared with BPF");

/* What user space tells a language's BPF program of one process: ep_get_state. */
#define EP_STATE_BYTES 256

/* DWARF register numbers. */
#if defined(__x86_64__) /* System V ABI AMD64 supplement, figure 3.36 */
#define EP_REGS	     17
#define EP_REG_FP    6
#define EP_REG_SP    7
#define EP_REG_PC    16
#define EP_KNOWN_ALL 0xffffu
#elif defined(__aarch64__) /* DWARF for the Arm 64-bit Architecture, 4.1; 30 is the link register */
#define EP_REGS	     33
#define EP_REG_FP    29
#define EP_REG_SP    31
#define EP_REG_PC    32
#define EP_KNOWN_ALL 0xffffffffu
#else
#error "the registers of this machine are not known"
#endif
#define EP_KNOWN_ALWAYS (1u << EP_REG_FP | 1u << EP_REG_SP)

/* Bits of known_regs that a called function saves, and those that it may change; x86-64. */
#define EP_CALLEE_REGS (1u << 3 | 0xf000u)
#define EP_CALLER_REGS (0x0f37u)

/* The frame that the walk is at. */
struct ep_walk {
	__u64 pc;
	__u64 sequence;	      /* of this sample on this CPU: state of another one is stale */
	__u32 return_address; /* 1: pc is after a call; pc - return_address is what to look up */
	__u32 known_regs;     /* bit n: regs[n] is this frame's; sp and fp always are */
	__u32 by_pointer;     /* this frame was found by frame pointer */
	__u32 interrupted;    /* no call led out of this frame: it was sampled, or a signal hit it */
	__u64 next_pc, next_sp, next_fp; /* the caller's, for whoever is about to make it the walk's */
	__u64 regs[EP_REGS];
	struct ep_walk_core core; /* not for languages */
};
_Static_assert(sizeof(struct ep_walk) == 120 + 8 * EP_REGS, "ep_walk is shared with plugins");

struct ep_record {
	struct ep_sample sample;
	__u64 words[EP_RECORD_WORDS];
	struct ep_walk walk;
};

#endif
