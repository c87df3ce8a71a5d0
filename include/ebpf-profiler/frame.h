/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A frame as it leaves the kernel: one header word, then up to EP_FRAME_MAX_WORDS words whose
 * meaning belongs to the frame's kind. Seen by BPF programs, by the core and by unwinder plugins.
 *
 *    header word   63                32 31      24 23      16 15       8 7        0
 *                 |       aux          |    0     |  words   |  flags   |   kind   |
 */
#ifndef EP_FRAME_H
#define EP_FRAME_H

#include <linux/types.h>

#define EP_FRAME_MAX_WORDS 3

/* Kinds from EP_FRAME_FIRST_DYNAMIC on are handed out by the host to unwinder plugins. */
enum ep_frame_kind {
	EP_FRAME_NONE = 0,
	EP_FRAME_KERNEL = 1, /* word 0: kernel address */
	EP_FRAME_NATIVE = 2, /* aux: executable id (0: in no known one); word 0: ELF virtual address,
				or the raw target address when aux is 0 */
	EP_FRAME_ERROR = 3,  /* aux: enum ep_error, why the walk ended here; word 0: the address */
	EP_FRAME_TASK = 4,   /* aux: enum ep_task_state; word 0: image. The task was at something that has no
				frames; the stack is complete without them */
	EP_FRAME_GAP = 5,    /* aux: enum ep_error, why frames are missing between the two around it;
				no words. A stack with gaps may be complete */
	EP_FRAME_FIRST_DYNAMIC = 16,
};

/* What a task was at: the first two are roots, it had no user code to be in; the last one is a leaf. */
enum ep_task_state {
	EP_TASK_EXEC = 1,  /* "[exec]": the old program is gone, the new one is not there yet */
	EP_TASK_EXIT = 2,  /* "[exit]": its memory goes or is gone */
	EP_TASK_GUEST = 3, /* "[guest]": it is a virtual CPU of KVM, and its guest ran */
};

enum ep_frame_flag {
	EP_FRAME_RETURN_ADDRESS = 1 << 0, /* the address is after a call: look up address - 1 */
	EP_FRAME_POINTER_WALK = 1 << 1,	  /* found by frame pointer, no rule vouches for it */
	EP_FRAME_SIGNAL = 1 << 2,	  /* a signal trampoline: the next frame was interrupted */
	/* Of a native frame, bits 3 to 7: slot of the language whose frames it may run; 0: none.
	 * Its word is then where the range begins. */
	EP_FRAME_SLOT_SHIFT = 3,
	/*
	 * Of a language's frame. The first one says where it belongs and not what it is; all others
	 * are a part of what names it, bits 2 to 7 those of the language.
	 */
	EP_FRAME_ENTRY = 1 << 0,       /* called by native code, not by the frame that follows */
	EP_FRAME_INTERRUPTED = 1 << 1, /* its address was interrupted, none it returns to */
};

#define EP_FRAME_HEADER(kind, flags, words, aux)                                                   \
	((__u64)(kind) | (__u64)(flags) << 8 | (__u64)(words) << 16 | (__u64)(aux) << 32)
/*
 * In the header of a language's innermost frame: an entry, but native code may not have called the runtime's
 * function for it yet. It is dropped where there are more entries than marked frames.
 */
#define EP_FRAME_DOUBTFUL (1ull << 24)
#define EP_FRAME_KIND(header)  ((__u32)((header)&0xff))
#define EP_FRAME_FLAGS(header) ((__u32)((header) >> 8 & 0xff))
#define EP_FRAME_WORDS(header) ((__u32)((header) >> 16 & 0xff))
#define EP_FRAME_AUX(header)   ((__u32)((header) >> 32))

/* Why a walk ended early; the names and texts are in errors.def. */
enum ep_error {
	EP_ERROR_NONE = 0,
#define EP_ERROR(name, text) EP_ERROR_##name,
#include "ebpf-profiler/errors.def"
#undef EP_ERROR
	EP_ERROR_COUNT,
	EP_ERROR_FIRST_DYNAMIC = 64, /* from here on handed out by the host to unwinder plugins */
};

#endif
