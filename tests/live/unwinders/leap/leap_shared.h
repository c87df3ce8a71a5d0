/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* See tests/live/programs/leap.c for what is after these. */
#ifndef LEAP_SHARED_H
#define LEAP_SHARED_H

#include <ebpf-profiler/bpf/record.h>

struct leap_state {
	__u64 code_start, code_end;
	__u64 kept_start, kept_end; /* in here the newest entry of the side stack is ours */
	__u64 top_addr;		    /* of the pointer after the newest entry */
	__u64 key;
	__u64 heap_start, heap_end;
	__u64 mode; /* enum leap_mode */
	__u64 frames; /* that each leap stands for */
};
_Static_assert(sizeof(struct leap_state) <= EP_STATE_BYTES, "leap_state is too large");

#define LEAP_MAX_FRAMES 1024

/* Each copy of the code begins a page. */
#define LEAP_PAGE_BYTES 4096ull

enum leap_mode {
	LEAP_PAGE = 0,	    /* [code_start, code_end) */
	LEAP_HEAP = 1,	    /* pages of [heap_start, heap_end) */
	LEAP_ANONYMOUS = 2, /* pages anywhere */
};

enum leap_error {
	LEAP_ERROR_BETWEEN = 0,
	LEAP_ERROR_SIDE_STACK,
	LEAP_ERROR_NO_CODE,
};

#endif
