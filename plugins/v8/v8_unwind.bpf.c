/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks frames of JavaScript and WebAssembly in V8. It is entered at the first frame in code that
 * V8 has made, or in its builtins, and goes on as long as it can without the native unwinder.
 *
 *	pc ──► its row ──► no file ─┬─ called ────► by rbp: function, typed ─┐ frame.bpf.h
 *	 ▲      │  └► builtins ─────┤                                        ├─► push, caller ─┐
 *	 │      │                   └─ interrupted ─► what the code says ────┘ leaf.bpf.h      │
 *	 │      │                      └─ a builtin: its rows, as of native code ─►            │
 *	 │      └ another file: a remembered native frame? ── no ──► ep_go_native              │
 *	 └─────────────────────────────────────────────────────────────────────────────────────┘
 *	no rules ─► the exit frame before ──► ep_resume		thread.bpf.h
 */
#include "plugins/v8/bpf/frame.bpf.h"

EP_UNWINDER();

/*
 * A builtin that was interrupted has rows, unless the native unwinder found none. The trampoline's
 * would lead past the function whose frame is made there; where that is left they say whether it is
 * gone.
 */
static __always_inline bool has_rows(const struct v8_walk *w)
{
	if (w->s->at.where != V8_IN_BLOB || !w->rec->walk.interrupted)
		return false;
	if (!is_in_trampoline(w))
		return w->s->gave_back != w->rec->walk.pc;
	if (get_offset(w) < w->state->iet_return_off)
		return false;
	return !ep_is_remembered_by_fp(w->rec);
}

static __always_inline void describe(const struct v8_walk *w, bool may_be_leaf)
{
	struct v8_frame_at *at = &w->s->at;

	if (at->where == V8_OUTSIDE || (may_be_leaf && has_rows(w)))
		at->how = V8_HOW_NATIVE;
	else if (may_be_leaf &&
		 (w->rec->walk.interrupted || (w->s->near_leaf && at->where == V8_IN_JIT)))
		step_leaf(w);
	else
		step_frame(w);
}

/* An address in a mapping that is not known yet is placed by user space. */
static __always_inline bool push_native(const struct v8_walk *w)
{
	__u64 pc = w->rec->walk.pc, executable = w->s->executable;

	if (w->s->at.is_new) {
		ep_ask_place(w->rec);
		executable = 0;
	} else {
		pc += w->s->blob_va - w->s->near[V8_IN_BLOB].start;
	}
	EP_MEET();
	return ep_push_native_words(w->rec, executable, pc);
}

static __always_inline void push_words(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;
	__u64 flags = at->kind << V8_FRAME_SHIFT | at->flags |
		      (at->is_interrupted & 1) * EP_FRAME_INTERRUPTED;
	__u32 n = at->n_words & 3;
	__u64 thread = (__u64)w->rec->sample.tid << V8_THREAD_SHIFT;

	w->s->function_at = ep_next_header(w->rec);
	if (!ep_push_words(w->rec, EP_FRAME_HEADER(ep_self.kind, flags, n, at->aux), n,
			   at->words[0], at->words[1], at->words[2] | thread))
		fail(w, EP_ERROR_TOO_DEEP);
	w->s->last = n == 3 ? V8_LAST_FUNCTION : V8_LAST_CODE;
}

static __always_inline void push(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;

	if (at->what & V8_PUSH_GC &&
	    !ep_push_words(w->rec,
			   EP_FRAME_HEADER(ep_self.kind, V8_FRAME_GC << V8_FRAME_SHIFT, 0, 0), 0, 0,
			   0, 0))
		fail(w, EP_ERROR_TOO_DEEP);
	EP_MEET();
	if (at->what & V8_PUSH_NATIVE) {
		if (!push_native(w))
			fail(w, EP_ERROR_TOO_DEEP);
		/* Up to 14 it may lie between a function and the construct frame that calls it. */
		if (at->type != V8_TYPE_ADAPTOR)
			w->s->last = V8_LAST_NATIVE;
	}
	EP_MEET();
	if (at->what & V8_PUSH_WORDS)
		push_words(w);
}

/*
 * Registers that C++ had where it called, as JSEntry and RegExp code save them; which of them are
 * the caller's. Where a frame is not there nothing has changed them yet, or they are what they were
 * again.
 */
static __always_inline __u32 take_saved(const struct v8_walk *w, __u32 known)
{
	__u64 *regs = w->rec->walk.regs;
	__u64 type = w->s->at.type;

	if (w->s->says | w->s->type_byte)
		return known & EP_CALLEE_REGS;
	if (type == V8_TYPE_ENTRY) {
		regs[V8_REG_RBX] = get_slot(w, V8_ENTRY_RBX);
		regs[12] = get_slot(w, V8_ENTRY_R12);
		regs[13] = get_slot(w, V8_ENTRY_R13);
		regs[14] = get_slot(w, V8_ENTRY_R14);
		regs[15] = get_slot(w, V8_ENTRY_R15);
		return EP_CALLEE_REGS;
	}
	if (type == V8_TYPE_REGEXP) {
		regs[V8_REG_RBX] = get_slot(w, w->state->regexp_rbx_slot);
		return (known & EP_CALLEE_REGS) | 1u << V8_REG_RBX;
	}
	return 0;
}

/* at.pc, at.sp and at.fp become the walk's. */
static __always_inline void set_caller(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;

	w->rec->walk.known_regs = EP_KNOWN_ALWAYS | take_saved(w, w->rec->walk.known_regs);
	EP_MEET();
	ep_enter_set_caller(w, at->pc, at->sp, at->fp, 0);
}

static __always_inline void begin_step(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;
	struct ep_walk *walk = &w->rec->walk;

	w->s->error = 0;
	at->what = 0;
	at->type = V8_TYPE_OTHER;
	at->is_function = 0;
	at->as = V8_AS_COMPILED;
	at->is_interrupted = walk->interrupted;
	at->where = find_where(w, walk->pc - walk->return_address);
	EP_MEET();
	at->is_new = at->where == V8_NOWHERE;
	if (at->is_new)
		at->where = V8_IN_JIT;
	w->s->says = 0;
	w->s->type_byte = 0;
}

/* Native code that is remembered, or a builtin's rows. */
static __always_inline __u32 step_native(const struct v8_walk *w)
{
	w->s->near_leaf = w->rec->walk.interrupted;
	w->s->last = V8_LAST_NATIVE;
	w->s->last_type = V8_TYPE_OTHER;
	return ep_step_native(w->rec);
}

/*
 * Not V8's frame, where nothing says that the code is V8's: a library, too, may be mapped just now.
 * The native unwinder is asked once.
 */
static __always_inline bool is_foreign(const struct v8_walk *w)
{
	return w->s->at.how == V8_HOW_FOREIGN && (!w->s->has_stepped || w->s->at.is_new) &&
	       w->s->gave_back != w->rec->walk.pc;
}

static __always_inline __u32 ep_enter_step(const struct v8_walk *w, bool may_be_leaf)
{
	struct v8_frame_at *at = &w->s->at;

	begin_step(w);
	EP_MEET();
	describe(w, may_be_leaf);
	EP_MEET();
	if (w->s->error)
		return is_foreign(w) ? EP_STEP_UNKNOWN : w->s->error;
	if (at->how == V8_HOW_NATIVE)
		return step_native(w);
	if (at->is_function)
		name_function(w);
	EP_MEET();
	push(w);
	EP_MEET();
	w->s->last_type = at->type;
	w->s->near_leaf = 0;
	w->s->seen = 1;
	if (at->type == V8_TYPE_ENTRY && !w->s->error && skip_native(w))
		return EP_STEP_CALLER;
	EP_MEET();
	set_caller(w);
	EP_MEET();
	return w->s->error;
}

/* The native unwinder comes from a frame that it has pushed. */
static __always_inline void ep_enter_begin(const struct v8_walk *w, bool is_new)
{
	if (!is_new)
		return;
	w->s->last = w->rec->sample.n_frames ? V8_LAST_NATIVE : V8_LAST_OTHER;
	w->s->last_type = V8_TYPE_OTHER;
	w->s->near_leaf = w->rec->sample.n_frames == 1;
	if (w->rec->walk.interrupted)
		note_isolate(w);
}

SEC("perf_event")
int v8_unwind(struct bpf_perf_event_data *ctx)
{
	return ep_enter(ctx);
}
