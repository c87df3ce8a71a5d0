/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of PHP, zend_execute_data (zend_compile.h), from the innermost one to {main}:
 *
 *	EG(current_execute_data) ─► | opline .. func .. This | prev_execute_data | ─► ...
 *	                                        │
 *	                                        └─► zend_function: opcodes, names
 *
 * Frames of plain calls lie on the VM's stack, a callee above its caller. Those of generators are
 * elsewhere.
 *
 * C runs PHP by execute_ex, once for each user function that has TOP: it returns when that one is
 * left. So these end the groups. Internal functions, with TOP or not, are run by nobody: those
 * between an entry and the user function that called them belong to the group of their caller. But
 * those after the last entry, which C called at the root, have no execute_ex after them: they
 * belong to that entry's group. Which of both it is is known when the next user function comes, or
 * none; so an entry is marked then.
 *
 * A generator that delegates (yield from) is not on the chain. The one that runs was resumed
 * through a placeholder: execute_fake of the outermost one, without a function. Those between both
 * wait, each for its node's parent (zend_generators.c: zend_generator_check_placeholder_frame).
 * They have TOP, but nothing runs them.
 *
 * A fiber's frames end at one without a name. It leads to who resumed the fiber; the native stack
 * as well (native.bpf.h). Both are followed, or none.
 */
#include "plugins/php/bpf/line.bpf.h"
#include "plugins/php/bpf/native.bpf.h"
#include "plugins/shared/bpf/mark.bpf.h"

EP_UNWINDER();

/* ep_self.frames_per_run is lower. */
#define PHP_MAX_STEPS_PER_RUN 320

enum php_step {
	PHP_STEP_NEXT = EP_MARK_OWN, /* on to the next frame */
};

/* --- frames ----------------------------------------------------------------------------------- */

/* Brings the next frame into the window, and what is below it: its callers. */
static __always_inline bool see_frame(struct php_scratch *s)
{
	struct ep_window *window = &s->window.is;
	__u64 below = sizeof(s->window.words) - FRAME_BYTES;

	if (ep_window_misses(window, s->sequence, s->frame, FRAME_BYTES)) {
		window->sequence = s->sequence;
		if (!ep_window_read(window, s->window.words, sizeof(s->window.words),
				    s->frame - below, sizeof(s->window.words)) &&
		    !ep_window_read(window, s->window.words, FRAME_BYTES, s->frame, FRAME_BYTES))
			return false;
	}
	EP_MEET();
	window->at = (s->frame - window->first) >> 3;
	return true;
}

static __always_inline void take_frame(struct php_scratch *s)
{
	s->opline = EP_WINDOW_WORD(&s->window, FRAME_OPLINE);
	s->func = EP_WINDOW_WORD(&s->window, FRAME_FUNC);
	s->this = EP_WINDOW_WORD(&s->window, FRAME_THIS);
	s->info = EP_WINDOW_WORD(&s->window, FRAME_INFO);
	s->prev = EP_WINDOW_WORD(&s->window, FRAME_PREV);
	s->func = ep_pick(ep_is_set(s->frameless), s->frameless, s->func);
	s->special = 1;
}

/* The next one: a generator that waits, or who called. */
static __always_inline void next_frame(const struct php_state *state, struct php_scratch *s)
{
	__u64 more = ep_is_set(s->n_waiting), at = s->n_waiting - more;

	s->frame = ep_pick(more, s->waiting[at & (PHP_MAX_WAITING - 1)],
			   ep_pick(s->waits, s->behind, s->prev));
	s->n_waiting = at;
	s->waits = more;
	s->innermost = 0;
	s->current = 0;
	s->phase = PHP_PHASE_FRAME;
	s->special = s->waits | s->n_waiting | s->open | s->comes |
		     (s->from_c & ep_is_set(state->frameless_addr));
}

/* --- generators ------------------------------------------------------------------------------- */

/* One that has a parent waits for it. */
static __always_inline __u32 collect(const struct php_state *state, struct php_scratch *s)
{
	__u64 at = s->n_waiting;

	if (!ep_read_word(s->generator + state->generator_parent, &s->value))
		return EP_MARK_ERROR;
	EP_MEET();
	if (!s->value || at >= PHP_MAX_WAITING)
		return PHP_STEP_NEXT;
	if (!ep_read_word(s->generator + state->generator_data,
			  &s->waiting[at & (PHP_MAX_WAITING - 1)]))
		return EP_MARK_ERROR;
	s->n_waiting = at + 1;
	s->generator = s->value;
	return EP_MARK_AGAIN;
}

/* A frame without a function: execute_fake of a generator, or nothing. */
static __always_inline __u32 pass_placeholder(const struct php_state *state, struct php_scratch *s)
{
	__u64 node;

	s->behind = s->prev;
	s->waits = 0;
	/* execute_fake is after the node, which has four words, or to 7.4 five
	 * (zend_generators.h). */
	node = s->frame - s->this - state->generator_parent;
	if (ep_is_set((s->info & INFO_TYPE) ^ INFO_OBJECT) |
	    (ep_is_set(node ^ 32) & ep_is_set(node ^ 40)))
		return PHP_STEP_NEXT;
	s->waits = 1;
	s->generator = s->this;
	s->phase = PHP_PHASE_COLLECT;
	return EP_MARK_AGAIN;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Marks the entry that is open, once a user function follows it or the stack ends. */
static __always_inline void close_entry(struct ep_record *rec, struct php_scratch *s, __u64 at)
{
	s->open = 0;
	ep_add_flags(rec, at, EP_FRAME_ENTRY);
}

/* Says of the code before how it came in. */
static __always_inline void close_code(struct ep_record *rec, struct php_scratch *s, __u32 came)
{
	s->comes = 0;
	ep_add_flags(rec, s->code_at, came << PHP_CAME_SHIFT);
}

static __always_inline bool push(struct ep_record *rec, struct php_scratch *s)
{
	const struct php_seen_function *seen = seen_function(s);
	__u64 entered = seen->is_user & (1 ^ s->waits) & ep_is_set(s->info & INFO_TOP);
	__u64 index = ep_pick(seen->is_user, s->index, PHP_NO_LINE);

	if (seen->is_user & s->open)
		close_entry(rec, s, s->entry_at);
	EP_MEET();
	s->last_at = ep_next_header(rec);
	s->open |= entered;
	s->entry_at = ep_pick(entered, s->last_at, s->entry_at);
	s->from_c = entered;
	s->comes = ep_is_same(php_kind((__u32)seen->known.aux), PHP_KIND_CODE);
	s->code_at = s->last_at;
	EP_MEET();
	return ep_push_words(rec,
			     EP_FRAME_HEADER(ep_self.kind, 0, seen->known.n,
					     (__u32)(seen->known.aux | (index & PHP_NO_LINE))),
			     (__u32)seen->known.n, seen->known.words[0], seen->known.words[1],
			     seen->known.words[2]);
}

/*
 * Nearly all frames: of a user function that was met before, or a copy of one, waiting for another
 * one that it has called itself. There is nothing to be found out of these. False: it may be
 * another one, and nothing has changed.
 */
static __always_inline bool push_known(struct ep_record *rec, struct php_scratch *s,
				       const struct php_known *known)
{
	__u64 off = EP_WINDOW_WORD(&s->window, FRAME_OPLINE) - known->opcodes,
	      index = off / PHP_OP_BYTES;
	__u64 odd = (off % PHP_OP_BYTES) | (1 ^ (index - known->plain) >> 63);

	EP_OPAQUE(odd);
	if (odd ||
	    !ep_push_words(rec,
			   EP_FRAME_HEADER(ep_self.kind, 0, known->n, (__u32)(known->aux | index)),
			   (__u32)known->n, known->words[0], known->words[1], known->words[2]))
		return false;
	s->frame = EP_WINDOW_WORD(&s->window, FRAME_PREV);
	return true;
}

static __always_inline bool push_plain(struct ep_record *rec, const struct php_state *state,
				       struct php_scratch *s)
{
	const struct php_seen_copy *copy;
	__u64 func;

	if (s->special | (EP_WINDOW_WORD(&s->window, FRAME_INFO) & INFO_TOP))
		return false;
	func = EP_WINDOW_WORD(&s->window, FRAME_FUNC);
	s->function = function_slot(s, func);
	if (ep_is_seen(&seen_function(s)->is, s->sequence, func))
		return push_known(rec, s, &seen_function(s)->known);
	EP_MEET();
	copy = s->n_copies ? find_copy(state, s, func) : NULL;
	return copy && push_known(rec, s, &copy->known);
}

/* --- steps ------------------------------------------------------------------------------------ */

/*
 * What the op of a user frame says of what was before it: how code came in, or that a frameless
 * function runs. And of code of files its line: it may be gone as soon as it returns
 * (zend_include_or_eval), with others in its place.
 */
static __always_inline void look_at_op(struct ep_record *rec, const struct php_state *state,
				       struct php_scratch *s)
{
	__u64 is_code = ep_is_same(php_kind((__u32)seen_function(s)->known.aux), PHP_KIND_CODE);
	__u64 is_known = ep_is_set(s->index ^ PHP_NO_LINE);
	__u64 may_be = s->from_c & ep_is_set(state->frameless_addr) & is_known;

	if (!(s->comes | may_be | is_code))
		return;
	read_op(s);
	EP_MEET();
	s->index = ep_pick(is_code & is_known, op_line(s), s->index);
	if (s->comes)
		close_code(rec, s, find_came(s));
	EP_MEET();
	/* What cannot be read is 0. */
	if (may_be & is_frameless(s)) {
		bpf_probe_read_user(&s->value, sizeof(s->value), (void *)state->frameless_addr);
		bpf_probe_read_user(&s->frameless, sizeof(s->frameless),
				    (void *)(s->value + 8 * op_extended(s)));
	}
	EP_MEET();
}

/* What was in r14 was no frame that runs. */
static __always_inline __u32 take_current(struct php_scratch *s)
{
	s->frame = s->current;
	s->current = 0;
	return EP_MARK_AGAIN;
}

/* A fiber's first frame, or what stands for a constructor that there is not. */
static __always_inline __u32 pass_nameless(struct php_scratch *s)
{
	__u64 is_bottom = 1 ^ s->innermost;

	if (is_bottom & ep_is_same(s->followed, 0))
		return EP_MARK_END;
	s->followed -= is_bottom;
	return PHP_STEP_NEXT;
}

/* A frameless function that runs is pushed by a step of its own, then the frame of its caller. */
static __always_inline __u32 push_frame(struct ep_record *rec, struct php_scratch *s)
{
	__u64 is_last = 1 ^ ep_is_set(s->frameless);

	s->frameless = 0;
	if (!push(rec, s))
		return EP_MARK_FULL;
	EP_MEET();
	return is_last ? PHP_STEP_NEXT : EP_MARK_AGAIN;
}

static __always_inline __u32 step_frame(struct ep_record *rec, const struct php_state *state,
					struct php_scratch *s)
{
	/* A generator has been called: it is being resumed, and its caller is not linked yet
	 * (zend_generator_resume). */
	if (!s->frame)
		return s->info & INFO_GENERATOR ? EP_MARK_ERROR : EP_MARK_END;
	if (!see_frame(s))
		return EP_MARK_ERROR;
	if (push_plain(rec, state, s))
		return EP_MARK_AGAIN;
	EP_MEET();
	take_frame(s);
	if (!s->func)
		return pass_placeholder(state, s);
	see_function(state, s);
	if (ep_is_set(s->current) & (1 ^ (s->at_jit | is_in_registers(s))))
		return take_current(s);
	EP_MEET();
	if (!seen_function(s)->known.n)
		return pass_nameless(s);
	EP_MEET();
	if (seen_function(s)->is_user) {
		find_line(state, s);
		EP_MEET();
		if (!s->runs)
			return PHP_STEP_NEXT;
		look_at_op(rec, state, s);
		if (s->frameless)
			return EP_MARK_AGAIN;
	} else if (s->comes) {
		close_code(rec, s, PHP_CAME_OTHERWISE);
	}
	EP_MEET();
	return push_frame(rec, s);
}

static __always_inline __u32 step(struct ep_record *rec, const struct php_state *state,
				  struct php_scratch *s)
{
	__u32 done;

	if (s->phase == PHP_PHASE_COLLECT)
		done = collect(state, s);
	else
		done = step_frame(rec, state, s);
	EP_MEET();
	if (done != PHP_STEP_NEXT)
		return done;
	next_frame(state, s);
	return EP_MARK_AGAIN;
}

/* --- the walk --------------------------------------------------------------------------------- */

static __always_inline void start(const struct bpf_perf_event_data *ctx, struct ep_record *rec,
				  const struct php_state *state, struct php_scratch *s)
{
	s->phase = PHP_PHASE_DONE;
	if (state->unproven)
		ep_ask_refresh(rec);
	s->globals = find_globals(state);
	if (!s->globals) {
		ep_count(PHP_COUNT_NO_GLOBALS);
		return;
	}
	if (!ep_read_word(s->globals + state->current_off, &s->frame)) {
		ep_push_error(rec, ep_self.first_error + PHP_ERROR_FRAME, s->globals);
		return;
	}
	take_registers(ctx, state, s);
	take_left_frame(s);
	s->special = 1;
	s->innermost = 1;
	s->from_c = 1;
	s->phase = PHP_PHASE_FRAME;
}

static __always_inline void finish(struct ep_record *rec, struct php_scratch *s, __u32 done)
{
	/* Internal functions after the last entry belong to it. */
	if (s->open)
		close_entry(rec, s, done == EP_MARK_END ? s->last_at : s->entry_at);
	if (done == EP_MARK_ERROR)
		ep_push_error(rec, ep_self.first_error + PHP_ERROR_FRAME, s->frame);
	else if (done == EP_MARK_FULL)
		ep_push_error(rec, EP_ERROR_TOO_DEEP, s->frame);
	else if (done != EP_MARK_END)
		ep_push_error(rec, ep_self.first_error + PHP_ERROR_DEEP, s->frame);
	s->phase = PHP_PHASE_DONE;
}

static __always_inline void mark(struct bpf_perf_event_data *ctx, struct ep_record *rec,
				 const struct php_state *state, struct php_scratch *s)
{
	if (s->phase == PHP_PHASE_START)
		start(ctx, rec, state, s);
	if (s->phase == PHP_PHASE_FRAME || s->phase == PHP_PHASE_COLLECT)
		finish(rec, s, EP_MARK_STEPS(ctx, rec, PHP_MAX_STEPS_PER_RUN, step(rec, state, s)));
}

SEC("perf_event")
int php_unwind(struct bpf_perf_event_data *ctx)
{
	return EP_MARK(ctx, mark, walk_native);
}
