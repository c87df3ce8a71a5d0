/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_FRAME_H
#define EP_FRAME_H

#include <linux/types.h>

#define EP_FRAME_MAX_WORDS 3

enum ep_frame_kind {
	EP_FRAME_NONE = 0,
	EP_FRAME_KERNEL = 1,
	EP_FRAME_NATIVE = 2,
	EP_FRAME_ERROR = 3,
	EP_FRAME_TASK = 4,
	EP_FRAME_GAP = 5,
	EP_FRAME_FIRST_DYNAMIC = 16,
};

enum ep_task_state {
	EP_TASK_EXEC = 1,
	EP_TASK_EXIT = 2,
};

enum ep_frame_flag {
	EP_FRAME_RETURN_ADDRESS = 1 << 0,
	EP_FRAME_POINTER_WALK = 1 << 1,
	EP_FRAME_SIGNAL = 1 << 2,
	EP_FRAME_SLOT_SHIFT = 3,
	EP_FRAME_ENTRY = 1 << 0,
	EP_FRAME_INTERRUPTED = 1 << 1,
};

#define EP_FRAME_HEADER(kind, flags, words, aux)                                                   \
	((__u64)(kind) | (__u64)(flags) << 8 | (__u64)(words) << 16 | (__u64)(aux) << 32)
#define EP_FRAME_KIND(header)  ((__u32)((header)&0xff))
#define EP_FRAME_FLAGS(header) ((__u32)((header) >> 8 & 0xff))
#define EP_FRAME_WORDS(header) ((__u32)((header) >> 16 & 0xff))
#define EP_FRAME_AUX(header)   ((__u32)((header) >> 32))

enum ep_error {
	EP_ERROR_NONE = 0,
#define EP_ERROR(name, text) EP_ERROR_##name,
#include "ebpf-profiler/errors.def"
#undef EP_ERROR
	EP_ERROR_COUNT,
	EP_ERROR_FIRST_DYNAMIC = 64,
};

#endif
