/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The per-CPU record: one sample while it is being walked. Its head and its words are what goes
 * onto the ring; the walk is the state that survives tail calls. The core's programs and those of
 * language unwinders share it. It is part of the ABI: the layout of what is declared here never
 * changes, and what the core keeps for itself lies behind it.
 *
 *	sample | words: kernel addresses, native frames, frames of languages | walk | the core's own
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

#include "ebpf-profiler/frame.h"

#include <linux/types.h>

#define EP_COMM_BYTES	 16
#define EP_MAX_KERNEL	 127  /* bpf_get_stack stops there: PERF_MAX_STACK_DEPTH */
#define EP_MAX_WORDS	 3584 /* words of user frames in one trace: 1792 native frames */
#define EP_RECORD_WORDS	 (EP_MAX_KERNEL + 1 + EP_MAX_WORDS)
#define EP_LANGUAGE_WORDS 2048 /* of EP_MAX_WORDS kept for languages whose frames are marked */

/* Slots of ep_progs. Languages get theirs from the host, from EP_SLOT_FIRST_DYNAMIC on. */
enum ep_slot {
	EP_SLOT_FINISH = 0,
	EP_SLOT_NATIVE = 1,
	EP_SLOT_FIRST_DYNAMIC = 2,
	EP_SLOT_COUNT = 32,
};

/* First fields of every event on the ring. */
struct ep_event {
	__u32 type; /* enum ep_event_type */
	__u32 cpu;
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

enum ep_sample_flag {
	EP_SAMPLE_KERNEL_THREAD = 1 << 0,
	EP_SAMPLE_UNKNOWN_PROCESS = 1 << 1, /* not in ep_procs, or under another start time */
	EP_SAMPLE_UNKNOWN_ADDRESS = 1 << 2, /* an address in no mapping: its maps have changed */
	EP_SAMPLE_RAW = 1 << 3, /* has target addresses that user space may be able to place;
				   always sent with its frames */
	EP_SAMPLE_REFRESH = 1 << 4, /* a language wants user space to look again: ep_ask_refresh */
};

struct ep_sample {
	struct ep_event event;
	__u64 hash;	/* over kernel addresses, user frame words, the program; never 0 */
	__u64 start_ns; /* process start, CLOCK_BOOTTIME */
	__u32 pid, tid; /* thread group id and thread id, initial pid namespace */
	__u32 image;	/* another one after each exec: (pid, start_ns, image) names a program */
	__u32 copy_bytes; /* behind the words: struct ep_copy and a piece of the stack; 0: none */
	char comm[EP_COMM_BYTES]; /* of the thread */
	__u16 n_kernel; /* kernel addresses, one word each */
	__u16 n_frames; /* user frames */
	__u16 n_words;	/* words of user frames */
	__u8 error;	/* enum ep_error: why the user part is incomplete, 0 when it is complete */
	__u8 flags;	/* enum ep_sample_flag */
};
_Static_assert(sizeof(struct ep_sample) == 72, "ep_sample is shared with BPF");

/* Languages of one process that are attached at the same time. */
#define EP_MAX_LANGUAGES 4
/* What user space tells a language's BPF program of one process: ep_state in unwinder.h. */
#define EP_STATE_BYTES 256
#define EP_MAX_STATES  4096

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

/* The kernel gives a perf event 33 tail calls; the rest is for the way to the finish program. */
#define EP_MAX_TAIL_CALLS 30
/* So many of them are left for languages, where a process has one. */
#define EP_LANGUAGE_TAIL_CALLS 10

/* In one walk. Each call from a runtime's own stack to the program's and back is two. */
#define EP_MAX_SWITCHES 64

/* How a language's program comes to run, and what it has to say. */
enum ep_entered {
	EP_NOT_ENTERED = 0, /* the native walk is done: push frames */
	EP_GIVEN_BACK = 1,  /* said: not its code after all, native goes on (ep_give_back) */
	EP_ENTERED = 2,	    /* unwind the code at pc */
	EP_FAILED = 3,	    /* the native walk cannot go on, or has to guess: does the language know
			     * where its next frame is? (EP_BPF_RESUMES) */
	EP_RESUMED = 4,	    /* said: at next_pc (ep_resume) */
};

struct ep_walk {
	__u64 pc;
	__u64 hash;
	__u64 sequence;	      /* of this sample on this CPU: state of another one is stale */
	__u32 return_address; /* pc is behind a call */
	__u32 known_regs;     /* bit n: regs[n] is this frame's; sp and fp always are */
	__u32 by_pointer;     /* this frame was found by frame pointer */
	__u32 tail_calls;
	__u32 rows;	/* of the process, and behind them the codes of languages: code.h */
	__u32 n_rows;	/* 0: process not known */
	__u64 memo_tag; /* which remembered frames hold for this sample: native.h */
	__u32 entered;	/* enum ep_entered */
	__u32 pending;	/* bit i: languages[i] has frames to push when native is done */
	__u32 interrupted; /* no call led out of this frame: it was sampled, or a signal hit it */
	__u8 slots[EP_MAX_LANGUAGES];
	__u16 states[EP_MAX_LANGUAGES]; /* index of its struct in ep_states, 0: no language */
	__u16 left_at;	 /* words when a language was entered, and those of native frames since */
	__u16 max_calls; /* tail calls after which nothing is entered any more */
	__u16 keep_words;     /* of EP_MAX_WORDS, for languages whose frames come behind */
	__u16 language_words; /* of languages that were entered: they take none of native frames' */
	__u64 next_pc, next_sp, next_fp; /* what ep_resume said */
	__u32 switches; /* to another stack of the thread: sp need not grow there, so they are counted */
	__u32 memo_key; /* of ep_recall */
	__u64 regs[EP_REGS];
};
_Static_assert(sizeof(struct ep_walk) == 120 + 8 * EP_REGS, "ep_walk is shared with plugins");

struct ep_record {
	struct ep_sample sample;
	__u64 words[EP_RECORD_WORDS];
	struct ep_walk walk;
};

#endif
