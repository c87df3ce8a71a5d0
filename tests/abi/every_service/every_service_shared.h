/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What both sides see; programs: tests/live/programs/leap.c built with -DWITH_TOY, and the template's. */
#ifndef EVERY_SERVICE_SHARED_H
#define EVERY_SERVICE_SHARED_H

#include <ebpf-profiler/bpf/record.h>
#include <ebpf-profiler/bpf/tls.h>

/* struct toy_frame: previous, function, line, entry. */
struct every_frame {
	__u64 previous, function;
	__u32 line, entry;
};

struct every_state {
	struct ep_tls top;
	/* Zero when the program has no code to enter: leap_about. */
	__u64 code_start, code_end, kept_start, kept_end, top_addr, key;
};
_Static_assert(sizeof(struct every_state) <= EP_STATE_BYTES, "every_state is too large");

#define EVERY_LEAP 1 /* aux of a frame of leap's; word 0: offset in the code */

enum { EVERY_ERROR_FRAME = 0, EVERY_ERROR_LEAP };
enum { EVERY_COUNT_RUNS = 0, EVERY_COUNT_NAMES };

#endif
