/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the control frames of a thread's VM stack (vm_core.h: rb_control_frame_t), from the
 * innermost one to the stack's end. They are contiguous:
 *
 *	ec ─► cfp ─► | frame | frame | frame | ... | dummy | vm_stack + vm_stack_size
 *	               │ pc, iseq, ep
 *	               └─► ep[0]: type and flags; ep[-1]: the environment around; ep[-2]: the method
 *
 * C calls Ruby by rb_vm_exec, once for each frame that has FINISH: it returns when that one is
 * left. So these end the groups. C functions (CFUNC) are frames, too: those between an entry and
 * the Ruby that called them belong to the group of their caller. But those after the last entry,
 * which C called at the root, have no rb_vm_exec after them: they belong to that entry's group.
 * Which of both it is is known when the next frame of Ruby comes, or none; so an entry is marked
 * then.
 *
 * A frame that runs a rescue or ensure clause stands for its method's frame, the next one
 * (vm_backtrace.c of 3.4: is_rescue_or_ensure_frame; vm.c, 2.5 on: vm_exec_handle_exception gives
 * them, and no other, VM_FRAME_MAGIC_RESCUE).
 */
#include "plugins/ruby/bpf/iseq.bpf.h"
#include "plugins/ruby/bpf/jit.bpf.h"
#include "plugins/ruby/bpf/method.bpf.h"
#include "plugins/ruby/bpf/thread.bpf.h"
#include "plugins/shared/bpf/mark.bpf.h"

EP_UNWINDER();

/* ep_self.frames_per_run is lower. */
#define RUBY_MAX_STEPS_PER_RUN 320

/* --- entries ---------------------------------------------------------------------------------- */

/* Marks the entry that is open, once a frame of Ruby follows it or the stack ends. */
static __always_inline void close_entry(struct ep_record *rec, struct ruby_scratch *s, __u64 at)
{
	s->open = 0;
	ep_add_flags(rec, at, EP_FRAME_ENTRY);
}

static __always_inline bool push(struct ep_record *rec, struct ruby_scratch *s)
{
	__u64 check, words = 2 - s->faulty, is_ruby = 1 ^ s->kind;

	if (is_ruby & s->open)
		close_entry(rec, s, s->entry_at);
	EP_MEET();
	s->last_at = ep_next_header(rec);
	s->open |= s->entered;
	s->entry_at = ep_pick(s->entered, s->last_at, s->entry_at);
	check = ruby_check_frame(s->body_check, s->entry_check);
	s->word0 = ep_pick(s->faulty, s->cfp, ruby_word0(s->body, check));
	s->word1 = ruby_word1(s->entry, check);
	s->kind = ep_pick(s->faulty, RUBY_KIND_UNREADABLE, s->kind);
	EP_MEET();
	return ep_push_words(
		rec,
		EP_FRAME_HEADER(ep_self.kind, 0, words, ruby_aux((__u32)s->kind, (__u32)s->index)) |
			s->doubtful * EP_FRAME_DOUBTFUL,
		(__u32)words, s->word0, s->word1, 0);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* What it is, by its flags; without them it is not known, it may be an entry. False: no frame. */
static __always_inline bool classify(struct ruby_scratch *s)
{
	__u64 magic = ep_pick(s->readable, s->env[ENV_FLAGS] & MAGIC_MASK, MAGIC_CFUNC);

	s->faulty = 1 ^ s->readable;
	s->kind = ep_is_same(magic, MAGIC_CFUNC);
	s->entered = s->readable & s->env[ENV_FLAGS] / FRAME_FINISH;
	s->has_method = s->kind | ep_is_same(magic, MAGIC_METHOD);
	s->stands = ep_is_same(magic, MAGIC_RESCUE);
	return s->kind | (ep_is_set(magic ^ MAGIC_IFUNC) & ep_is_set(magic ^ MAGIC_DUMMY) &
			  (s->jit | ep_is_set(cf_word(s, CF_PC))) & ep_is_set(cf_word(s, CF_ISEQ)));
}

static __always_inline void take_code(const struct ruby_state *state, struct ruby_scratch *s)
{
	s->body = 0;
	s->body_check = 0;
	s->index = 0;
	if (s->faulty | s->kind)
		return;
	if (!see_iseq(state, s)) {
		s->faulty = 1;
		return;
	}
	s->body = seen_iseq(s)->body;
	s->body_check = seen_iseq(s)->check;
	s->has_eval |= seen_iseq(s)->is_eval;
	s->index = find_index(s);
}

/*
 * The innermost frame may be half made: its fields are those of another one, or not there yet. Then
 * it is no frame. Or it is made, and C has not called rb_vm_exec yet, or has, and no instruction
 * has stored its pc: how many calls of rb_vm_exec there are tells. What could not be read is a
 * frame, which says so.
 */
static __always_inline __u64 is_unborn(struct ruby_scratch *s)
{
	__u64 is_ruby = 1 ^ s->kind, lost = is_ruby & ep_is_same(s->index, RUBY_NO_INDEX);
	__u64 without = s->has_method & (1 ^ (ep_is_set(s->entry) | s->unread));
	__u64 garbage =
		1 ^ (is_pointer(cf_word(s, CF_EP)) & (s->kind | is_pointer(cf_word(s, CF_ISEQ))));

	s->doubtful = s->innermost & is_ruby & s->entered & ep_is_same(s->index, 0) &
		      (1 ^ (s->jit | s->faulty));
	if (s->faulty)
		return s->innermost & garbage;
	return s->innermost & (without | ((1 ^ s->jit) & lost));
}

/* The frame is that of the method whose rescue or ensure clause was before it; it may be one as
 * well. */
static __always_inline __u64 is_hidden(struct ruby_scratch *s)
{
	__u64 is_ruby = 1 ^ s->kind, hidden = s->hides & is_ruby;

	s->hides = ep_pick(is_ruby, s->stands, s->hides);
	if (hidden & s->entered) {
		s->open = 1;
		s->entry_at = s->last_at;
	}
	return hidden;
}

/* The next control frame's environment is that to be read. EP_MARK_AGAIN: there is one. */
static __always_inline __u32 begin_frame(const struct ruby_state *state, struct ruby_scratch *s)
{
	if (s->cfp >= s->end)
		return EP_MARK_END;
	if (!see_frame(state, s))
		return EP_MARK_ERROR;
	s->ep = cf_word(s, CF_EP);
	s->jit = s->innermost & (s->left_jit | ep_is_set(cf_jit_return(state, s)));
	s->level = 0;
	s->entry = 0;
	s->entry_check = 0;
	s->n_chains++;
	return EP_MARK_AGAIN;
}

static __always_inline __u32 next_frame(const struct ruby_state *state, struct ruby_scratch *s)
{
	s->phase = RUBY_PHASE_FRAME;
	s->cfp += state->cfp_bytes;
	s->innermost = 0;
	return EP_MARK_AGAIN;
}

static __always_inline __u32 end_frame(struct ep_record *rec, const struct ruby_state *state,
				       struct ruby_scratch *s)
{
	end_chain(s);
	take_code(state, s);
	EP_MEET();
	if (!(is_unborn(s) | is_hidden(s)) && !push(rec, s))
		return EP_MARK_FULL;
	EP_MEET();
	return next_frame(state, s);
}

/* One environment: a frame's own one, or further up the chain. */
static __always_inline __u32 step(struct ep_record *rec, const struct ruby_state *state,
				  struct ruby_scratch *s)
{
	__u32 done = EP_MARK_AGAIN;

	if (s->phase == RUBY_PHASE_FRAME)
		done = begin_frame(state, s);
	EP_MEET();
	if (done != EP_MARK_AGAIN)
		return done;
	s->readable = see_env(s);
	EP_MEET();
	if (s->phase == RUBY_PHASE_FRAME && !classify(s))
		return next_frame(state, s);
	EP_MEET();
	s->phase = RUBY_PHASE_CHAIN;
	if (s->readable && !step_chain(state, s))
		return EP_MARK_AGAIN;
	EP_MEET();
	return end_frame(rec, state, s);
}

/* --- the walk --------------------------------------------------------------------------------- */

static __always_inline void start(struct ep_record *rec, const struct ruby_state *state,
				  struct ruby_scratch *s)
{
	__u64 collecting;
	__u32 kind;

	s->phase = RUBY_PHASE_DONE;
	if (state->unproven)
		ep_ask_refresh(rec);
	s->context = find_context(state, s);
	if (!s->context) {
		ep_count(RUBY_COUNT_NO_CONTEXT);
		return;
	}
	if (!take_stack(state, s)) {
		if (!state->unproven)
			ep_push_error(rec, ep_self.first_error + RUBY_ERROR_STACK, s->context);
		return;
	}
	collecting = find_collector(state, s);
	kind = s->unread ? RUBY_KIND_UNREADABLE : RUBY_KIND_COLLECTOR;
	if (collecting | s->unread)
		ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, 0, 1, ruby_aux(kind, 0)), 1,
			      collecting - 1, 0, 0);
	s->innermost = 1;
	s->phase = RUBY_PHASE_FRAME;
}

static __always_inline void finish(struct ep_record *rec, struct ruby_scratch *s, __u32 done)
{
	if (s->has_eval)
		ep_ask_keep(rec);
	/* C functions after the last entry belong to it. */
	if (s->open)
		close_entry(rec, s, done == EP_MARK_END ? s->last_at : s->entry_at);
	if (done == EP_MARK_ERROR)
		ep_push_error(rec, ep_self.first_error + RUBY_ERROR_STACK, s->cfp);
	else if (done == EP_MARK_FULL)
		ep_push_error(rec, EP_ERROR_TOO_DEEP, s->cfp);
	else if (done != EP_MARK_END)
		ep_push_error(rec, ep_self.first_error + RUBY_ERROR_DEEP, s->cfp);
	s->phase = RUBY_PHASE_DONE;
}

static __always_inline void mark(struct bpf_perf_event_data *ctx, struct ep_record *rec,
				 const struct ruby_state *state, struct ruby_scratch *s)
{
	if (s->phase == RUBY_PHASE_START)
		start(rec, state, s);
	if (s->phase == RUBY_PHASE_FRAME || s->phase == RUBY_PHASE_CHAIN)
		finish(rec, s,
		       EP_MARK_STEPS(ctx, rec, RUBY_MAX_STEPS_PER_RUN, step(rec, state, s)));
}

SEC("perf_event")
int ruby_unwind(struct bpf_perf_event_data *ctx)
{
	return EP_MARK(ctx, mark, walk_jit);
}
