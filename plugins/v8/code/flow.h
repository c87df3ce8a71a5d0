/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the frame is left at each instruction of a builtin, found by plugins/shared/x86/flow.h: what
 * only V8's code does, and a rule for each state. Code that no way leads to (handlers of
 * exceptions, which C++ enters by address) runs in the builtin's rbp frame.
 */
#ifndef V8_FLOW_H
#define V8_FLOW_H

#include "plugins/shared/x86/flow.h"
#include "plugins/v8/code/builtins.h"

#define V8_MAX_BUILTIN_BYTES (256u << 10) /* the largest of Node 12 to 26 has 32 KB */

/* For one builtin at a time. Begins as zeros, with exits set; ends with
 * x86_flow_fini(&flow.flow). */
struct v8_flow {
	/* Where calls go that take as many words off the stack as rax says: CEntry's variants whose
	 * arguments are there. */
	const uint64_t *exits;
	size_t n_exits;
	struct x86_flow flow;
	uint64_t va; /* of the code */
	bool is_entered, has_frame, returns;
	bool left_frame;  /* one that it had not made: then it is entered in a frame */
	bool keeps_frame; /* it returns with its frame standing */
};

/* A rule: struct v8_builtin_row without its addresses. */
struct v8_flow_rule {
	int32_t offset;
	int16_t rbp_at;
	uint8_t base, return_in;
};

/*
 * Follows a builtin's code, borrowed until the next. 0, -E2BIG, -ENOMEM. in_frame: it is entered by
 * a jump or a return, in the frame of a JavaScript function, and runs in that frame: [rbp] is the
 * frame, whatever is at rsp. Its rules say how that frame is left.
 */
int v8_flow_run(struct v8_flow *flow, uint64_t va, const uint8_t *code, size_t bytes,
		bool in_frame);

struct v8_flow_rule v8_flow_rule(const struct v8_flow *flow, const struct x86_state *state);

#endif
