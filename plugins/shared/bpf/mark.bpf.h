/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of a language that is marked (ebpf-profiler/bpf/unwinder.h): frame by frame, run by run,
 * to the outermost frame of the thread. A language that is entered as well, as most JITs are, says
 * how code of its JIT is left.
 *
 *	static __always_inline void mark(ctx, rec, state, s)	begins, then finish(rec, s,
 *								EP_MARK_STEPS(...))
 *	static __always_inline void enter(ctx, rec, state, s)	code of the JIT, once
 *
 *	SEC("perf_event")
 *	int toy_unwind(struct bpf_perf_event_data *ctx)
 *	{
 *		return EP_MARK(ctx, mark, enter);
 *	}
 */
#ifndef EP_SHARED_MARK_BPF_H
#define EP_SHARED_MARK_BPF_H

#include "ebpf-profiler/bpf/unwinder.h"

/*
 * What a step says. A language may have one more outcome, EP_MARK_OWN: 1, so that what says nothing
 * but whether it is that is a number without a branch.
 */
enum ep_mark_step {
	EP_MARK_AGAIN = 0, /* there is another frame */
	EP_MARK_OWN,
	EP_MARK_END,   /* that was the outermost frame */
	EP_MARK_ERROR, /* a frame cannot be read */
	EP_MARK_FULL,  /* the record is full */
};

/*
 * What the step says that is not EP_MARK_AGAIN, the expression `step_`. Where the frames of this
 * run are used up, the next run goes on; EP_MARK_AGAIN: there is none. `most` is a constant, above
 * max_frames_per_run.
 */
#define EP_MARK_STEPS(ctx, rec, most, step_)                                                       \
	({                                                                                         \
		__u32 done_ = EP_MARK_AGAIN;                                                       \
                                                                                                   \
		for (__u64 i_ = 0; i_ < (most); i_++) {                                            \
			if (i_ >= ep_self.frames_per_run)                                          \
				break;                                                             \
			done_ = (step_);                                                           \
			if (done_ != EP_MARK_AGAIN)                                                \
				break;                                                             \
		}                                                                                  \
		if (done_ == EP_MARK_AGAIN)                                                        \
			ep_run_again(ctx, rec);                                                    \
		done_;                                                                             \
	})

/* The program. Without state the code of a JIT is given back. */
#define EP_MARK(ctx, mark_, enter_)                                                                \
	({                                                                                         \
		struct ep_record *rec_ = ep_get_record();                                          \
                                                                                                   \
		if (rec_) {                                                                        \
			const void *state_ = ep_get_state(rec_);                                   \
			void *s_ = ep_get_scratch(rec_);                                           \
                                                                                                   \
			if (ep_is_entered(rec_)) {                                                 \
				if (state_ && s_)                                                  \
					enter_(ctx, rec_, state_, s_);                             \
				else                                                               \
					ep_give_back(ctx, rec_);                                   \
			} else if (state_ && s_) {                                                 \
				mark_(ctx, rec_, state_, s_);                                      \
			}                                                                          \
			ep_next(ctx, rec_);                                                        \
		}                                                                                  \
		0;                                                                                 \
	})

#endif
