/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF half: it replaces the frames of the toy interpreter and is entered for leap's code, with
 * every helper there is: scratch memory, tail calls to itself and to the native unwinder, errors,
 * counters.
 */
#include "every_service_shared.h"

#include <ebpf-profiler/bpf/unwinder.h>

EP_UNWINDER();

#define FRAMES_PER_RUN 16 /* few: stacks of the test take several runs */

struct every_scratch {
	__u64 sequence;
	__u64 frame, side_top;
	__u32 started, runs;
};
EP_SCRATCH(struct every_scratch)

/* True when the walk has the caller's registers. */
static __always_inline bool leave_leap(struct ep_record *rec, const struct every_state *state,
				       struct every_scratch *s)
{
	struct ep_walk *walk = &rec->walk;
	__u64 word = 0;

	if (walk->pc < state->kept_start || walk->pc >= state->kept_end)
		return false;
	if (!s->side_top &&
	    bpf_probe_read_user(&s->side_top, sizeof(s->side_top), (void *)state->top_addr))
		return false;
	s->side_top -= 8;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)s->side_top))
		return false;
	ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, 0, 1, EVERY_LEAP), 1,
		      walk->pc - state->code_start, 0, 0);
	walk->pc = word ^ state->key;
	walk->return_address = 1;
	walk->by_pointer = 0;
	walk->known_regs = EP_KNOWN_ALWAYS;
	return true;
}

static __always_inline void walk_toy(void *ctx, struct ep_record *rec,
				     const struct every_state *state, struct every_scratch *s)
{
	if (!s->started && !ep_read_tls(&state->top, ep_thread_pointer(), &s->frame))
		return;
	s->started = 1;
	s->runs++;
	ep_count(EVERY_COUNT_RUNS);
	for (__u64 i = 0; i < FRAMES_PER_RUN; i++) {
		struct every_frame frame = {0};

		if (i >= ep_self.frames_per_run)
			break;
		if (!s->frame)
			return;
		if (bpf_probe_read_user(&frame, sizeof(frame), (void *)s->frame)) {
			ep_push_error(rec, ep_self.first_error + EVERY_ERROR_FRAME, s->frame);
			return;
		}
		if (!ep_push_frame(rec, frame.entry ? EP_FRAME_ENTRY : 0, frame.line << 8,
				   frame.function, 0x1122334455667788ull)) {
			ep_push_error(rec, EP_ERROR_TOO_DEEP, s->frame);
			return;
		}
		s->frame = frame.previous;
	}
	ep_run_again(ctx, rec);
	ep_push_error(rec, EP_ERROR_TAIL_CALLS, s->frame);
}

SEC("perf_event")
int every_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct every_state *state;
	struct every_scratch *s;

	if (!rec)
		return 0;
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	if (state && s && ep_is_entered(rec)) {
		if (rec->walk.pc == state->code_start)
			ep_give_back(ctx, rec);
		if (leave_leap(rec, state, s))
			ep_go_native(ctx, rec);
		ep_push_error(rec, ep_self.first_error + EVERY_ERROR_LEAP, rec->walk.pc);
	} else if (state && s) {
		walk_toy(ctx, rec, state, s);
	}
	ep_next(ctx, rec);
	return 0;
}
