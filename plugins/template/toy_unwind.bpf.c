/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of the toy interpreter: a list from the innermost to the oldest frame, through
 * all calls of toy_run of the thread. The native unwinder has been at the root when this runs, and
 * has marked the frames of toy_run; EP_FRAME_ENTRY says which of ours each of them began with.
 *
 *	toy_top ──► inner ──► outer(entry) ──► inner ──► outer(entry) ──► NULL
 */
#include <ebpf-profiler/bpf/unwinder.h>

#include "toy_shared.h"

EP_UNWINDER();

/* Survives tail calls, begins as zeroes for each sample. */
struct toy_scratch {
	__u64 sequence;
	__u64 frame; /* the next one to be read */
	__u32 started;
	__u32 pad;
	__u8 bytes[TOY_FRAME_BYTES];
};
EP_SCRATCH(struct toy_scratch)

/* The mask is for the verifier: whatever the offset is, the read stays inside. */
static __always_inline __u64 frame_word(const struct toy_scratch *s, __u32 off)
{
	return *(const __u64 *)(s->bytes + (off & (TOY_FRAME_BYTES - 8)));
}

static __always_inline __u32 frame_int(const struct toy_scratch *s, __u32 off)
{
	return *(const __u32 *)(s->bytes + (off & (TOY_FRAME_BYTES - 4)));
}

/* False at the end of the list, or when it is broken: then that is reported. */
static __always_inline bool step_frame(struct ep_record *rec, const struct toy_state *state,
				       struct toy_scratch *s)
{
	__u64 function, name = 0;

	if (!s->frame)
		return false;
	if (bpf_probe_read_user(s->bytes, sizeof(s->bytes), (void *)s->frame)) {
		ep_push_error(rec, ep_self.first_error + TOY_ERROR_FRAME, s->frame);
		return false;
	}
	function = frame_word(s, state->frame_function);
	/* A name that cannot be read is 0, which symbolize does not find again. */
	bpf_probe_read_user(&name, sizeof(name), (void *)(function + state->function_name));
	if (!ep_push_frame(rec, frame_int(s, state->frame_entry) ? EP_FRAME_ENTRY : 0,
			   frame_int(s, state->frame_line), function, name)) {
		ep_push_error(rec, EP_ERROR_TOO_DEEP, s->frame); /* the record is full */
		return false;
	}
	s->frame = frame_word(s, state->frame_previous);
	return true;
}

static __always_inline void walk(void *ctx, struct ep_record *rec, const struct toy_state *state,
				 struct toy_scratch *s)
{
	bool more = true;

	for (__u64 i = 0; i < TOY_MAX_FRAMES_PER_RUN; i++) {
		if (i >= ep_self.frames_per_run) /* as many as this kernel accepts */
			break;
		more = step_frame(rec, state, s);
		if (!more)
			break;
	}
	if (!more)
		return;
	ep_run_again(ctx, rec); /* comes back only when there are no tail calls left */
	ep_push_error(rec, EP_ERROR_TAIL_CALLS, s->frame);
}

SEC("perf_event")
int toy_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct toy_state *state;
	struct toy_scratch *s;

	if (!rec)
		return 0;
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	if (state && s) {
		if (!s->started && !ep_read_tls(&state->top, ep_thread_pointer(), &s->frame))
			ep_count(TOY_COUNT_NO_THREAD);
		s->started = 1;
		walk(ctx, rec, state, s);
	}
	ep_next(ctx, rec);
	return 0;
}
