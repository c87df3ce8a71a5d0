/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a frame is left, at each instruction of a piece of code: what the code itself tells.
 *
 *	what is known where it is entered ──► each instruction changes it ──► the next one, jump targets
 *
 * Where ways meet, what they do not agree on is unknown. The result is a rule (hotspot_shared.h) per
 * instruction.
 */
#ifndef HOTSPOT_RULES_H
#define HOTSPOT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_MAX_CODE (1u << 20) /* bytes of a piece */

/* What is known where code is entered. */
enum hs_start {
	HS_START_CALLED = 0, /* return address at sp, fp the caller's */
	HS_START_FRAME,	     /* in a frame of the interpreter */
	HS_START_ENTRY,	     /* of a method in the interpreter: as called; rbx: Method, r13: caller's sp */
	HS_START_TRAPPED,    /* in place of an instruction: nothing was pushed, it will be */
	HS_START_THROWN,     /* the same, and rdx is the return address */
	HS_START_WITH_FP,    /* in a frame that has fp, of a stub */
	HS_START_CONTINUATION, /* returned to, in place of a virtual thread's frames */
};

struct hs_rules; /* working memory; of one piece at a time */

/* NULL: no memory. */
struct hs_rules *hs_rules_new(void);
void hs_rules_free(struct hs_rules *rules);

/* Begins with a piece of code, borrowed until the next. 0, -E2BIG, -ENOMEM. */
int hs_rules_begin(struct hs_rules *rules, const uint8_t *code, size_t bytes);

/*
 * Follows the code from an offset on; what was followed earlier stays as it is. guess: it may be no
 * code: nothing is kept where an instruction is not known. 0, -EBADMSG (a wrong guess), -ENOMEM.
 */
int hs_rules_follow(struct hs_rules *rules, size_t off, enum hs_start start, bool guess);

/*
 * Can a stub begin there? False for most of what is data: its first instructions are none that HotSpot's
 * stubs begin with.
 */
bool hs_rules_plausible(const struct hs_rules *rules, size_t off);

/* Behind code from `off` on that no way led to: where what comes next may begin. */
size_t hs_rules_skip(const struct hs_rules *rules, size_t off);

/* The next offset that no way led to, from `off` on, without padding; the code's size: none. */
size_t hs_rules_next(const struct hs_rules *rules, size_t off);

/* Is it the first byte of an instruction that was followed? Then its length and rule, else 0. */
unsigned int hs_rules_at(struct hs_rules *rules, size_t off, uint64_t *ret_rule);

/* Does code begin there: was it followed from there on, and no way led to it before? */
bool hs_rules_begins(const struct hs_rules *rules, size_t off);

/* Instructions looked at since _new: what it cost. */
uint64_t hs_rules_steps(const struct hs_rules *rules);

#endif
