/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Not for languages. Memory of a program on its way through the ring: ebpf-profiler/bpf/keeper.h. */
#ifndef EP_BPF_INTERNAL_KEEP_H
#define EP_BPF_INTERNAL_KEEP_H

#include "ebpf-profiler/bpf/internal/record.h"

#define EP_EVENT_KEPT 6 /* struct ep_kept, then pieces; before the sample whose frames it is about */

struct ep_kept {
	struct ep_event event; /* the time is the sample's */
	__u64 start_ns;	       /* the program, as in struct ep_sample */
	__u32 pid, image;
	__u32 slot;  /* of the language */
	__u32 bytes; /* of all pieces with their heads */
};
_Static_assert(sizeof(struct ep_kept) == 40, "ep_kept is shared with BPF");

/* Its bytes follow, and then none to seven others up to a multiple of eight. */
struct ep_kept_piece {
	__u64 addr;
	__u32 bytes;
	__u32 pad;
};
_Static_assert(sizeof(struct ep_kept_piece) == 16, "ep_kept_piece is shared with BPF");

#define EP_KEPT_BYTES	    16384 /* of one event's pieces */
#define EP_KEPT_PIECE_BYTES 1024 /* of one piece */

#endif
