/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of `perf script`, taken apart. */
#ifndef EP_READERS_PERF_SCRIPT_H
#define EP_READERS_PERF_SCRIPT_H

#include "reports/read/shared/lines.h"

/* "comm 12/13 [001] 5.250000000: 10000 cpu-clock:u: " */
struct script_head {
	struct ep_piece comm, event;
	uint64_t time_ns, period; /* 0: none */
	uint32_t pid, tid, cpu; /* 0 where perf prints -1 */
	bool is_unknown;	/* its process is -1: it had ended */
	bool has_time;
	struct ep_piece rest; /* of samples without stacks: their one frame */
};

/* "    7f00001234 name+0x12 (/usr/lib/libx.so)" */
struct script_frame {
	uint64_t address;
	struct ep_piece symbol, dso; /* without offset and parentheses; "": unknown */
	bool is_inlined;
};

/* Whether it is such a line, spaces in front or not. */
bool script_head(struct ep_piece line, struct script_head *ret_head);
bool script_frame(struct ep_piece line, struct script_frame *ret_frame);
/* "  app.c:12", of perf script -F +srcline. */
bool script_source(struct ep_piece line);

#endif
