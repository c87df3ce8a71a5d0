/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a frame is left at each instruction of HotSpot's code, found by plugins/shared/x86/flow.h:
 * values and facts that only this runtime has, and a rule (hotspot_shared.h) for each state.
 */
#ifndef HOTSPOT_FLOW_H
#define HOTSPOT_FLOW_H

#include "plugins/shared/x86/flow.h"

#define HS_MAX_CODE (1u << 20) /* bytes of a piece */

/* What is known where code is entered. */
enum hs_start {
	HS_START_CALLED = 0, /* return address at sp, fp the caller's */
	HS_START_FRAME,	     /* in a frame of the interpreter */
	HS_START_ENTRY, /* of an interpreted method: as called; rbx: Method, r13: caller's sp */
	HS_START_TRAPPED,      /* in place of an instruction: nothing was pushed, it will be */
	HS_START_THROWN,       /* the same, and rdx is the return address */
	HS_START_WITH_FP,      /* in a frame that has fp, of a stub */
	HS_START_CONTINUATION, /* returned to, in place of a virtual thread's frames */
};

extern const struct x86_flow_ops hs_flow_ops;

struct x86_state hs_flow_start(enum hs_start start);
/* As x86_flow_follow. */
int hs_flow_follow(struct x86_flow *flow, size_t off, enum hs_start start, bool guess);
/* HOTSPOT_RULE. */
uint64_t hs_flow_rule(const struct x86_state *state);

#endif
