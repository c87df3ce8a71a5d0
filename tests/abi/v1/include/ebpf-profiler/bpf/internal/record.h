/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_INTERNAL_RECORD_H
#define EP_BPF_INTERNAL_RECORD_H

#include <linux/types.h>

#define EP_COMM_BYTES	 16
#define EP_MAX_KERNEL	 127
#define EP_MAX_WORDS	 3584
#define EP_RECORD_WORDS	 (EP_MAX_KERNEL + 1 + EP_MAX_WORDS)
#define EP_LANGUAGE_WORDS 2048

#define EP_MAX_LANGUAGES 4
#define EP_MAX_STATES	 4096

#define EP_MAX_TAIL_CALLS 30
#define EP_LANGUAGE_TAIL_CALLS 10

#define EP_MAX_SWITCHES 64

enum ep_slot {
	EP_SLOT_FINISH = 0,
	EP_SLOT_NATIVE = 1,
	EP_SLOT_FIRST_DYNAMIC = 2,
	EP_SLOT_COUNT = 32,
};

struct ep_event {
	__u32 type;
	__u32 cpu;
	__u64 time_ns;
};

enum ep_sample_flag {
	EP_SAMPLE_KERNEL_THREAD = 1 << 0,
	EP_SAMPLE_UNKNOWN_PROCESS = 1 << 1,
	EP_SAMPLE_UNKNOWN_ADDRESS = 1 << 2,
	EP_SAMPLE_RAW = 1 << 3,
	EP_SAMPLE_REFRESH = 1 << 4,
};

enum ep_entered {
	EP_NOT_ENTERED = 0,
	EP_GIVEN_BACK = 1,
	EP_ENTERED = 2,
	EP_FAILED = 3,
	EP_RESUMED = 4,
};

struct ep_walk_core {
	__u64 hash;
	__u64 memo_tag;
	__u32 rows;
	__u32 n_rows;
	__u32 entered;
	__u32 pending;
	__u32 tail_calls;
	__u8 slots[EP_MAX_LANGUAGES];
	__u16 states[EP_MAX_LANGUAGES];
	__u16 left_at;
	__u16 max_calls;
	__u16 keep_words;
	__u16 language_words;
	__u32 switches;
	__u32 memo_key;
};
_Static_assert(sizeof(struct ep_walk_core) == 64, "a cache line");

#endif
