/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Not for languages. What the core keeps in a record of the sample and of the walk, and how much
 * there is of everything: the core and the functions of ebpf-profiler/bpf/ go by it. It may change
 * with each EP_BPF_ABI (ebpf-profiler/bpf/self.h).
 */
#ifndef EP_BPF_INTERNAL_RECORD_H
#define EP_BPF_INTERNAL_RECORD_H

#include <linux/types.h>

#define EP_COMM_BYTES	 16
#define EP_MAX_KERNEL	 127  /* bpf_get_stack stops there: PERF_MAX_STACK_DEPTH */
#define EP_MAX_WORDS	 3584 /* words of user frames in one trace: 1792 native frames */
#define EP_RECORD_WORDS	 (EP_MAX_KERNEL + 1 + EP_MAX_WORDS)
#define EP_LANGUAGE_WORDS 2048 /* of EP_MAX_WORDS kept for languages whose frames are marked */

/*
 * Languages of one process that are attached at the same time, and what is reported of processes.
 */
#define EP_MAX_LANGUAGES 4
#define EP_MAX_STATES	 4096

/* The kernel gives a perf event 33 tail calls; the rest is for the way to the finish program. */
#define EP_MAX_TAIL_CALLS 30
/* So many of them are left for languages, where a process has one. */
#define EP_LANGUAGE_TAIL_CALLS 10

/* In one walk. Each call from a runtime's own stack to the program's and back is two. */
#define EP_MAX_SWITCHES 64

/* Slots of ep_progs. Languages get theirs from the host, from EP_SLOT_FIRST_DYNAMIC on. */
enum ep_slot {
	EP_SLOT_FINISH = 0,
	EP_SLOT_NATIVE = 1,
	EP_SLOT_FIRST_DYNAMIC = 2,
	EP_SLOT_COUNT = 32,
	EP_SLOT_FIRST_KEEPER = EP_SLOT_COUNT, /* and the slot of its language */
	EP_SLOT_COUNT_ALL = 2 * EP_SLOT_COUNT,
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
	EP_SAMPLE_RAW = 1 << 3, /* has target addresses that user space may be able to place, or frames
				   that it will know more of; always sent with its frames */
	EP_SAMPLE_REFRESH = 1 << 4, /* a language wants user space to look again: ep_ask_refresh */
	EP_SAMPLE_YOUNG = 1 << 5, /* of a program in its first second: snapshot programs run */
	EP_SAMPLE_ADDED = 1 << 6, /* ep_add_flags has been there: the hash is not that of the words alone */
	EP_SAMPLE_KEEP = 1 << 7, /* the same, however old the program is: ep_ask_keep */
};

/* How a language's program comes to run, and what it has to say. */
enum ep_entered {
	EP_NOT_ENTERED = 0, /* the native walk is done: push frames */
	EP_GIVEN_BACK = 1,  /* reported: not its code after all, native goes on (ep_give_back) */
	EP_ENTERED = 2,	    /* unwind the code at pc */
	EP_FAILED = 3,	    /* the native walk cannot go on, or has to guess: does the language know
			     * where its next frame is? (EP_BPF_RESUMES) */
	EP_RESUMED = 4,	    /* reported: at next_pc (ep_resume) */
};

/* After the registers of struct ep_walk. */
struct ep_walk_core {
	__u64 hash;
	__u64 memo_tag;	  /* which remembered frames hold for this sample: memo.h */
	__u32 rows;	  /* of the process, and after them the codes of languages: rows.h */
	__u32 n_rows;	  /* 0: process not known */
	__u32 entered;	  /* enum ep_entered */
	__u32 pending;	  /* bit i: languages[i] has frames to push when native is done */
	__u32 tail_calls;
	__u8 slots[EP_MAX_LANGUAGES];
	__u16 states[EP_MAX_LANGUAGES]; /* index of its struct in ep_states, 0: no language */
	__u16 left_at;	 /* words when a language was entered, and those of native frames since */
	__u16 max_calls; /* tail calls after which nothing is entered any more */
	__u16 keep_words;     /* of EP_MAX_WORDS, for languages whose frames come after */
	__u16 language_words; /* of languages that were entered: they take none of native frames' */
	__u32 switches; /* to another stack of the thread: sp need not grow there, so they are counted */
	__u32 memo_key; /* of ep_recall */
};
_Static_assert(sizeof(struct ep_walk_core) == 64, "a cache line");

#endif
