/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the frame is left, at each instruction of a builtin: what its code tells.
 *
 *	called: return address at rsp ──► each instruction changes it ──► the next one, jump targets
 *
 * Where ways meet, what they do not agree on is unknown. Code that no way leads to (handlers of exceptions,
 * which C++ enters by address) runs in the builtin's rbp frame.
 */
#ifndef V8_BUILTINS_FLOW_H
#define V8_BUILTINS_FLOW_H

#include "plugins/v8/builtins/builtins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define V8_MAX_BUILTIN_BYTES (256u << 10) /* the largest of Node 12 to 26 has 32 KB */

struct v8_flow; /* working memory; of one builtin at a time */

/* A rule: struct v8_builtin_row without its addresses. */
struct v8_flow_rule {
	int32_t offset;
	int16_t rbp_at;
	uint8_t base, return_in;
};

/* NULL: no memory. */
struct v8_flow *v8_flow_new(void);
void v8_flow_free(struct v8_flow *flow);

/*
 * Where calls go that take as many words off the stack as rax says: CEntry's variants whose arguments are there.
 * Borrowed.
 */
void v8_flow_set_exits(struct v8_flow *flow, const uint64_t *vas, size_t n);

/*
 * Follows a builtin's code, borrowed until the next. 0, -E2BIG, -ENOMEM. in_frame: it is
 * entered by a jump or a return, in the frame of a JavaScript function, and runs in that frame: [rbp] is the frame,
 * whatever is at rsp. Its rules say how that frame is left.
 */
int v8_flow_run(struct v8_flow *flow, uint64_t va, const uint8_t *code, size_t bytes, bool in_frame);

/* Whether it left a frame that it had not made: then it is one that is entered in a frame. */
bool v8_flow_left_frame(const struct v8_flow *flow);

/* Whether it returns with its frame standing. */
bool v8_flow_keeps_frame(const struct v8_flow *flow);

/* Is it the first byte of an instruction that was followed? Then its length and rule, else 0. */
unsigned int v8_flow_at(const struct v8_flow *flow, size_t off, struct v8_flow_rule *ret_rule);

/* What only fills up at an offset where no instruction was followed: its bytes; 0: something else. */
size_t v8_flow_fill(const struct v8_flow *flow, size_t off);

/* Instructions looked at since _new: what it cost. */
uint64_t v8_flow_steps(const struct v8_flow *flow);

#endif
