/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* See tests/live/programs/leap.c for what is behind these. */
#ifndef LEAP_SHARED_H
#define LEAP_SHARED_H

#include <ebpf-profiler/bpf/record.h>

struct leap_state {
	__u64 code_start, code_end;
	__u64 kept_start, kept_end; /* in here the newest entry of the side stack is ours */
	__u64 top_addr;		    /* of the pointer behind the newest entry */
	__u64 key;
};
_Static_assert(sizeof(struct leap_state) <= EP_STATE_BYTES, "leap_state is too large");

enum leap_error {
	LEAP_ERROR_BETWEEN = 0,
	LEAP_ERROR_SIDE_STACK,
};

#endif
