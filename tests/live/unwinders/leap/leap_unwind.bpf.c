/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that only this program can unwind (EP_RANGE_ENTER): return addresses are on a stack of their
 * own, encrypted. The n-th such frame of a sample, counted in scratch memory that outlives tail
 * calls, has the n-th newest entry.
 */
#include <ebpf-profiler/bpf/unwinder.h>

#include "leap_shared.h"

EP_UNWINDER();

struct leap_scratch {
	__u64 sequence;
	__u64 top; /* after the newest entry that has not been used; 0: not read yet */
};
EP_SCRATCH(struct leap_scratch)

/* pop %rax; mov $..., %r11: what a copy of the code begins with. */
#define LEAP_MAGIC 0xbb4958ull

/* Is this our code? In its own ranges only that is known to be; elsewhere the page tells. */
static __always_inline bool is_ours(const struct ep_record *rec, const struct leap_state *state)
{
	__u64 pc = rec->walk.pc, page = pc & -LEAP_PAGE_BYTES, word = 0;
	struct ep_code code;

	if (state->mode == LEAP_ANONYMOUS)
		return bpf_probe_read_user(&word, sizeof(word), (void *)page) == 0 &&
		       (word & 0xffffff) == LEAP_MAGIC;
	if (!ep_find_code(rec, pc, &code) || code.data != code.start)
		return false;
	return code.start == (state->mode == LEAP_HEAP ? state->heap_start : state->code_start);
}

/* The caller's pc, with sp as the caller has it. 0, or an error. */
static __always_inline __u32 find_caller(struct ep_walk *walk, const struct leap_state *state,
					 struct leap_scratch *s, __u64 *ret_pc)
{
	__u64 page = walk->pc & -LEAP_PAGE_BYTES, moved = page - state->code_start, word = 0;

	if (walk->pc == page) { /* nothing has run yet */
		if (bpf_probe_read_user(&word, sizeof(word), (void *)walk->regs[EP_REG_SP]))
			return EP_ERROR_BAD_READ;
		walk->regs[EP_REG_SP] += 8;
		*ret_pc = word;
		return 0;
	}
	if (walk->pc < state->kept_start + moved || walk->pc >= state->kept_end + moved)
		return ep_self.first_error + LEAP_ERROR_BETWEEN;
	if (!s->top && bpf_probe_read_user(&s->top, sizeof(s->top), (void *)state->top_addr))
		return ep_self.first_error + LEAP_ERROR_SIDE_STACK;
	s->top -= 8;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)s->top))
		return ep_self.first_error + LEAP_ERROR_SIDE_STACK;
	*ret_pc = word ^ state->key;
	return 0;
}

static __always_inline void push_frames(struct ep_record *rec, const struct leap_state *state)
{
	for (__u32 i = 0; i < LEAP_MAX_FRAMES; i++) {
		if (i >= state->frames)
			break;
		if (!ep_push_frame(rec, 0, 0, rec->walk.pc & (LEAP_PAGE_BYTES - 1), 0)) {
			ep_push_error(rec, EP_ERROR_TOO_DEEP, rec->walk.pc);
			break;
		}
	}
}

SEC("perf_event")
int leap_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct leap_state *state;
	struct leap_scratch *s;
	__u64 pc = 0;
	__u32 error;

	if (!rec)
		return 0;
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	/*
	 * Not entered: the native walk has ended in an error, and we have nothing to add. It may be
	 * in code of ours that nobody knows.
	 */
	if (!ep_is_entered(rec))
		ep_ask_refresh(rec);
	if (state && s && ep_is_entered(rec)) {
		if (!is_ours(rec, state)) {
			if (state->mode == LEAP_ANONYMOUS)
				ep_give_back(ctx, rec);
			ep_end(ctx, rec, ep_self.first_error + LEAP_ERROR_NO_CODE, rec->walk.pc);
			return 0;
		}
		push_frames(rec, state);
		error = find_caller(&rec->walk, state, s, &pc);
		if (error) {
			ep_end(ctx, rec, error, rec->walk.pc);
			return 0;
		}
		/* Not ep_set_caller: its frame has nothing on this stack. */
		rec->walk.pc = pc;
		rec->walk.return_address = 1;
		rec->walk.by_pointer = 0;
		rec->walk.known_regs = EP_KNOWN_ALWAYS;
		ep_go_native(ctx, rec);
	}
	ep_next(ctx, rec);
	return 0;
}
