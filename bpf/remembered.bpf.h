/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Frames that are remembered (bpf/memo.bpf.h), by the shortest way. Nearly all stacks are made of
 * nothing else: ep_entry walks them without the native unwinder, which goes on where that stops.
 */
#ifndef EP_BPF_REMEMBERED_H
#define EP_BPF_REMEMBERED_H

#include "bpf/memo.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/rule.h"

/* In one run of ep_entry. */
#define EP_REMEMBERED_FRAMES 8

/* What a step gives: one of these, or an enum ep_error. */
#define STEP_AGAIN EP_STEP_CALLER /* pc, sp and fp are the caller's now */
#define STEP_ROOT  EP_STEP_ROOT
#define STEP_ENTER 0xfeu /* a language unwinds this code */
#define STEP_LATE  0xfdu /* user space may come to know this code, and go on from a copy */
#define STEP_TRAMPOLINE 0xfau /* the return address may be elsewhere: bpf/uretprobe.bpf.h */
#define STEP_ASK   0xfbu /* a language may know more than can be guessed */
#define STEP_LONG  EP_STEP_UNKNOWN /* step_frame is to find out */

/*
 * 1 when a <= b, else 0; both below 2^63. Without a branch, which in a search loop would double the
 * paths the verifier walks in each round: so the compiler may not know how it came about.
 */
static __always_inline __u64 not_above(__u64 a, __u64 b)
{
	__u64 diff = a - b - 1;

	EP_OPAQUE(diff);
	return diff >> 63;
}

/*
 * Reads a word of the user's stack through a window: neighbouring reads, which nearly all are,
 * cost one bpf_probe_read_user for many.
 */
static __always_inline bool read_stack(struct ep_core_record *rec, __u64 addr, __u64 *value)
{
	__u64 off = addr - rec->window_base;

	if (off >= sizeof(rec->window) - 7 || (off & 7)) {
		rec->stack_reads++;
		if (!(addr & 7) &&
		    bpf_probe_read_user(rec->window, sizeof(rec->window), (void *)addr) == 0) {
			rec->window_base = addr;
			*value = rec->window[0];
			return true;
		}
		/* Unaligned, or the window would reach beyond the end of the stack. */
		rec->window_base = ~0ULL;
		if (bpf_probe_read_user(value, sizeof(*value), (void *)addr) == 0)
			return true;
		rec->read_faults++;
		return false;
	}
	*value = rec->window[(off >> 3) & (EP_WINDOW_WORDS - 1)];
	return true;
}

/* Arithmetic instead of branches, for the verifier's sake; both members are 0 or 1. */
static __always_inline __u32 frame_flags(const struct ep_core_record *rec)
{
	return rec->walk.return_address * EP_FRAME_RETURN_ADDRESS +
	       rec->walk.by_pointer * EP_FRAME_POINTER_WALK;
}

/* Space for languages, whose frames follow, is kept. */
static __always_inline bool push_native(struct ep_core_record *rec, __u32 flags, __u32 executable,
					__u64 word)
{
	__u32 used = rec->sample.n_words;

	return used < EP_MAX_WORDS - 8 &&
	       used - rec->walk.core.language_words < EP_MAX_WORDS - 8u - rec->walk.core.keep_words &&
	       ep_push_words(&rec->record,
			     EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, executable), 1, word, 0, 0);
}

static __always_inline __u64 immediate_cfa(const struct ep_walk *walk, __u64 rule)
{
	return (rule & EP_RULE_BASE_FP ? walk->regs[EP_REG_FP] : walk->regs[EP_REG_SP]) + EP_RULE_CFA_OFF(rule);
}

/*
 * plan_immediate and follow_plan of bpf/native.bpf.h in one: nothing between them goes through
 * memory. The rule is 64 bits wide since it is spilled: see get_chunk there.
 */
static __always_inline __u32 follow_immediate(struct ep_core_record *rec, __u64 rule, __u64 cfa)
{
	struct ep_walk *walk = &rec->walk;
	__u64 slot = EP_RULE_FP_SLOT(rule);

	if (slot && !read_stack(rec, cfa - 8 * (__u64)slot, &walk->regs[EP_REG_FP]))
		return EP_ERROR_BAD_READ;
	/*
	 * Not into walk->pc: a read that fails leaves 0, and the error is reported of the old one.
	 */
	if (!read_stack(rec, cfa - 8, &rec->plan.pc))
		return EP_ERROR_BAD_READ;
	walk->pc = rec->plan.pc;
	walk->by_pointer = 0;
	walk->regs[EP_REG_SP] = cfa;
	walk->return_address = 1;
	walk->interrupted = 0;
	walk->known_regs &=
		EP_KNOWN_ALWAYS | EP_CALLER_REGS | (rule & EP_RULE_KEEPS) * EP_CALLEE_REGS;
	return walk->pc ? STEP_AGAIN : STEP_ROOT;
}

/*
 * A frame that is remembered: what step_frame does, by the shortest way, so that neither its code
 * nor the tables are touched. STEP_LONG: it is not one, and nothing was done.
 */
static __always_inline __u32 step_remembered(struct ep_core_record *rec)
{
	const struct ep_memo *memo;
	__u64 rule, cfa;

	if (!rec->use_memo)
		return STEP_LONG;
	memo = recall(rec, rec->walk.pc - rec->walk.return_address);
	if (!memo)
		return STEP_LONG;
	rule = memo->rule;
	cfa = immediate_cfa(&rec->walk, rule);
	if (rule != EP_RULE_STOP && cfa <= rec->walk.regs[EP_REG_SP])
		return STEP_LONG; /* its caller is on another stack */
	rec->walk.core.entered = 0;
	if (!push_native(rec, frame_flags(rec), memo->executable, rec->walk.pc + memo->bias))
		return EP_ERROR_TOO_DEEP;
	return rule == EP_RULE_STOP ? STEP_ROOT : follow_immediate(rec, rule, cfa);
}

/* Up to the root or to the first frame that is not remembered. STEP_LONG: the native unwinder goes on. */
static __always_inline __u32 walk_remembered(struct ep_core_record *rec)
{
	__u32 step;

	for (__u64 i = 0; i < EP_REMEMBERED_FRAMES; i++) {
		step = step_remembered(rec);
		if (step != STEP_AGAIN)
			return step;
	}
	return STEP_LONG;
}

#endif
