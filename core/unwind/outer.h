/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code without call frame information that runs within the frame of a function which jumped to it, and not in
 * frames of its own: a compiler keeps its frames on a stack of its own in the heap, and the machine's stack
 * pointer stays where that function has put it. So compiles GHC: StgRun (rts/StgCRun.c, 9.0.2) saves C's
 * registers, makes space of RESERVED_C_STACK_BYTES and jumps; Haskell's code jumps on, and returns
 * in the end to what follows StgRun's jump. rsp is an ordinary C stack all the time:
 *
 *	... ─► scheduler ─► StgRun [ space of 16 KiB ]		rsp in all of Haskell's code
 *	                                         ─► C function	that it calls: from rsp, or from rsp - 8, as
 *	                                                         the stack must be aligned
 *
 * Such a file tells of itself: a part of its text has no call frame information, and one short function
 * makes space of a page and more, stores the six registers that a called function saves, and jumps
 * away.
 */
#ifndef EP_UNWIND_OUTER_H
#define EP_UNWIND_OUTER_H

#include "core/unwind/fde_list.h"
#include "core/unwind/table.h"

#define EP_OUTER_BYTES	   256 /* no such function is longer */
#define EP_OUTER_MIN_FRAME 4096

struct ep_build_input;

/*
 * All code without rules runs in the frame of one function: the address after that function's jump. 0 when no
 * function, or more than one, can be it. `table` has the rules of the FDEs of `list`.
 */
uint64_t ep_outer_find(const struct ep_build_input *input, struct ep_fde_list *list,
		       const struct ep_unwind_table *table);

/* The end of the jump of such a function, all of whose code this is, from its beginning; 0: it is none. */
size_t ep_outer_match(const uint8_t *code, size_t bytes);

/* Where a call of C moves rsp away for so many bytes: sub $by,%rsp to the end of add $by,%rsp. */
struct ep_outer_call {
	size_t begin, end; /* rsp is away from begin on, and back at end */
	uint8_t by;
};
#define EP_OUTER_CALL_BYTES 128 /* from the first instruction to the last, at most */
/* Finds the first call at `from` or later. False when none begins before bytes - EP_OUTER_CALL_BYTES or ends within `bytes`. */
bool ep_outer_next_call(const uint8_t *code, size_t bytes, size_t from, struct ep_outer_call *ret);

#endif
