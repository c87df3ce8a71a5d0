/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where native code has no unwind rules. A frame pointer is followed there, or what lies at sp is
 * taken for a return address; both may be wrong, and a wrong one may well lead to the root, past all
 * frames of a language. A language may know better: its runtime keeps where it called C. So it is
 * asked (EP_BPF_RESUMES) before the first guess, and its answer is a bound:
 *
 *	C  ─►  no rules  ─►  C  ─►  language  ─►  C  ─►  language  ─►  main
 *	            │                ▲ bound            ▲ asked for anew
 *	            └── guesses ─────┘ come here, or the walk goes on here, after a gap
 */
#ifndef EP_BPF_RESUME_H
#define EP_BPF_RESUME_H

#include "bpf/record.bpf.h"
#include "bpf/remembered.bpf.h"

#define NO_BOUND ~0ULL

/* From here on languages know another frame. */
static __always_inline void forget_bound(struct ep_core_record *rec)
{
	rec->resumers = rec->may_resume;
	rec->asked = 0;
	rec->doubtful = 0;
	rec->use_memo = rec->known;
	rec->bound_pc = 0;
	rec->bound_sp = NO_BOUND;
}

/* Before a frame is guessed. */
static __always_inline bool must_ask(const struct ep_core_record *rec)
{
	return rec->may_resume && !rec->asked;
}

static __always_inline bool is_behind_bound(const struct ep_core_record *rec, __u64 sp)
{
	return rec->may_resume && sp > rec->bound_sp;
}

/* A guess follows: what there is now is sure. The short way has no checks for what is not. */
static __always_inline void begin_doubt(struct ep_core_record *rec)
{
	if (!rec->may_resume || !rec->bound_pc || rec->doubtful)
		return;
	rec->doubtful = 1;
	rec->use_memo = 0;
	rec->sure_words = rec->sample.n_words;
	rec->sure_frames = rec->sample.n_frames;
	rec->sure_hash = rec->walk.core.hash;
}

static __always_inline bool is_doubtful(const struct ep_core_record *rec)
{
	return rec->may_resume && rec->doubtful;
}

/* What a language has answered. */
static __always_inline void take_bound(struct ep_core_record *rec)
{
	rec->asked = 1;
	if (!rec->walk.next_pc || rec->walk.next_sp <= rec->walk.regs[EP_REG_SP])
		return;
	rec->bound_pc = rec->walk.next_pc;
	rec->bound_sp = rec->walk.next_sp;
	rec->bound_fp = rec->walk.next_fp;
}

/* Errors that another way does not help against are none. */
static __always_inline bool has_failed(__u32 step)
{
	return step != STEP_AGAIN && step < STEP_ASK && step != EP_ERROR_TAIL_CALLS &&
	       step != EP_ERROR_TOO_DEEP;
}

/*
 * From the bound on, after a frame that says why others are missing. Guesses that led here are not
 * shown.
 */
static __always_inline __u32 resume_walk(struct ep_core_record *rec, __u32 error)
{
	struct ep_walk *walk = &rec->walk;

	if (rec->doubtful) {
		rec->sample.n_words = rec->sure_words;
		rec->sample.n_frames = rec->sure_frames;
		walk->core.hash = rec->sure_hash;
	}
	if (!ep_push_words(&rec->record, EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, error), 0, 0, 0, 0))
		return EP_ERROR_TOO_DEEP;
	walk->pc = rec->bound_pc;
	walk->regs[EP_REG_SP] = rec->bound_sp;
	walk->regs[EP_REG_FP] = rec->bound_fp;
	walk->known_regs = EP_KNOWN_ALWAYS;
	walk->return_address = 1;
	walk->by_pointer = 0;
	walk->interrupted = 0;
	rec->has_gap = 1;
	forget_bound(rec);
	return STEP_AGAIN;
}

/* What a run begins with that comes after an answer, or after a failure with a bound. */
static __always_inline __u32 resume(struct ep_core_record *rec, __u32 step)
{
	if (rec->walk.core.entered == EP_RESUMED)
		take_bound(rec);
	if (!rec->resumers)
		rec->asked = 1;
	if (step == STEP_ASK)
		return rec->asked ? STEP_AGAIN : STEP_ASK;
	return rec->bound_pc && has_failed(step) ? resume_walk(rec, step) : step;
}

/* Asks the next language; its answer comes to ep_native. Comes back when there is none to be asked. */
static __always_inline void ask_resumers(void *ctx, struct ep_core_record *rec, __u32 step)
{
	rec->first_step = step;
	rec->walk.core.left_at = rec->sample.n_words;
	rec->walk.core.entered = EP_FAILED;
#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (!(rec->resumers & 1u << i))
			continue;
		rec->resumers &= ~(1u << i);
		ep_go_to(ctx, &rec->record, rec->walk.core.slots[i]);
	}
	rec->walk.core.entered = EP_NOT_ENTERED;
	rec->asked = 1;
}

#endif
