/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks managed frames of CoreCLR. It is entered at the first frame in code that the runtime made
 * or mapped, and goes on as long as it can without the native unwinder.
 *
 *	pc ─┬─ remembered: words and rule ────────────────────────────────────┐
 *	    ├─ a remembered native frame ──► its caller                        ├─► push, caller ─┐
 *	    ├─ in the runtime's map ──► function ──► UNWIND_INFO ──► rule ─────┘                  │
 *	    │    code.bpf.h               └ a stub: [rsp]     unwind.bpf.h                        │
 *	    └─ else ──► ep_go_native                                                            │
 *	 ▲   interrupted: prologue, epilogue, stub	leaf.bpf.h                               │
 *	 └───────────────────────────────────────────────────────────────────────────────────────┘
 *
 * rbp alone is wrong here: small methods keep none, and code of on-stack replacement has its rbp
 * lead to the frame that it has replaced.
 */
#include "plugins/dotnet/bpf/check.bpf.h"
#include "plugins/dotnet/bpf/leaf.bpf.h"
#include "plugins/dotnet/bpf/thread.bpf.h"
#include "plugins/dotnet/bpf/unwind.bpf.h"

EP_UNWINDER();

/* Of code that called. */
static __always_inline void step_called(const struct dotnet_walk *w)
{
	find_code(w, w->rec->walk.pc - w->rec->walk.return_address);
	EP_MEET();
	if (w->s->at.is == DOTNET_IS_OUTSIDE)
		return;
	if (w->s->at.is != DOTNET_IS_CODE) {
		fail(w, w->s->at.is == DOTNET_IS_STUB ? DOTNET_ERROR_STUB : DOTNET_ERROR_CODE);
		return;
	}
	if (!find_rule(w))
		guess_rule(w);
	EP_MEET();
	if (w->s->at.is_kept)
		remember(w);
}

/* Of code that was interrupted. */
static __always_inline void step_leaf(const struct dotnet_walk *w)
{
	find_code(w, w->rec->walk.pc);
	EP_MEET();
	if (w->s->at.is == DOTNET_IS_CODE) {
		find_leaf_rule(w);
	} else if (w->s->at.is == DOTNET_IS_STUB) {
		if (find_stub_caller(w, STUB_DEPTHS))
			return;
		EP_MEET();
		if (!find_native_caller(w))
			fail(w, DOTNET_ERROR_STUB);
	} else if (w->s->at.is == DOTNET_IS_LOST) {
		fail(w, DOTNET_ERROR_CODE);
	} else if (find_stub_caller(w, 1)) {
		be_stub(w, DOTNET_STUB_NO_RANGE);
	} else if (is_entry(w) && find_native_caller(w)) {
		be_stub(w, DOTNET_STUB_NO_RANGE);
	}
}

/* What is asked for. */
enum dotnet_look {
	LOOK_CALLED = 0, /* the rule of code that called */
	LOOK_LEAF,	 /* of code that was interrupted */
	LOOK_HIJACKED,	 /* a return address that suspension has replaced */
	LOOK_LAST_CALL,	 /* where managed code called native code last: 1, or 0 */
};

static __always_inline void look_up_code(const struct dotnet_walk *w, __u64 is_leaf)
{
	if (is_leaf)
		step_leaf(w);
	else
		step_called(w);
	EP_MEET();
	if (w->s->at.kind != DOTNET_FRAME_COLLECTIBLE || w->s->at.is != DOTNET_IS_CODE)
		return;
	w->s->check = 0;
	if (!check_method(w, w->s->at.method))
		w->s->check = 0;
}

/*
 * What is not remembered, or seldom needed. A function of its own, which a verifier walks once for
 * all frames of a run: it is given no pointers, and finds its own.
 */
int dotnet_look_up(__u64 what);
__attribute__((noinline)) int dotnet_look_up(__u64 what)
{
	struct dotnet_walk w = {.rec = ep_get_record()};

	if (!w.rec)
		return 0;
	w.state = ep_get_state(w.rec);
	w.s = ep_get_scratch(w.rec);
	if (!w.state || !w.s)
		return 0;
	if (what == LOOK_LAST_CALL)
		return find_last_call(&w);
	if (what == LOOK_HIJACKED)
		find_hijacked(&w);
	else
		look_up_code(&w, what);
	return 0;
}

static __always_inline void push(const struct dotnet_walk *w)
{
	struct dotnet_frame_at *at = &w->s->at;
	__u64 addr = w->rec->walk.pc - w->rec->walk.return_address,
	      flags = at->kind << DOTNET_FRAME_SHIFT;
	__u64 is_stub = ep_is_same(at->kind, DOTNET_FRAME_STUB),
	      aux = ep_pick(is_stub, at->stub, addr - at->start);
	__u32 n = at->kind == DOTNET_FRAME_COLLECTIBLE ? 2 : 1;

	if (!ep_push_words(w->rec, EP_FRAME_HEADER(ep_self.kind, flags, n, aux), n,
			   ep_pick(is_stub, addr, at->start), w->s->check, 0))
		w->s->error = EP_ERROR_TOO_DEEP;
}

/*
 * While a catch or finally funclet runs, its method's frame is still below it, and in between those
 * of who threw, which are dead, and of the runtime. The method is shown once, as the funclet, as
 * the runtime's StackTrace does; its caller is next. rbp of a funclet is its method's. A filter's
 * thrower is alive.
 */
#define FP_UNKNOWN 1 /* no address of a word */
static __always_inline void note_funclet(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;
	__u64 is_run = ep_is_same(s->exit.pc, w->state->funclet) & ep_is_set(s->exit.pc);

	if (s->parent_fp || !(is_run | s->at.is_funclet))
		return;
	/* In 10, where the call is known, the runtime has set rbp before it, and nothing else sets
	 * it. */
	s->parent_fp = ep_pick(s->at.is_early & (1 ^ is_run), FP_UNKNOWN, ep_enter_fp(w));
	s->parent_start = s->at.start;
	ep_set_mark(w->rec, &s->mark);
}

/* It is the frame of that method: rbp, which it has saved, leads into it. */
static __always_inline bool is_parent(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;
	__u64 by_fp = ep_is_same(s->parent_fp, ep_enter_fp(w));
	__u64 by_start =
		ep_is_same(s->parent_fp, FP_UNKNOWN) & ep_is_same(s->parent_start, s->at.start);

	by_start &= 1 ^ s->at.is_funclet;
	return (by_fp | by_start) & s->rule.has_fp && s->at.is == DOTNET_IS_CODE &&
	       ep_enter_fp(w) - ep_enter_sp(w) < s->exit.sp - ep_enter_sp(w);
}

/* A frame that is shown, or ends what is not. */
static __always_inline void take_frame(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	if (s->parent_fp && is_parent(w)) {
		ep_go_back(w->rec, &s->mark);
		s->parent_fp = 0;
		return;
	}
	EP_MEET();
	push(w);
	EP_MEET();
	if (s->at.is == DOTNET_IS_CODE)
		note_funclet(w);
}

static __always_inline __u32 ep_enter_step(const struct dotnet_walk *w, bool may_be_leaf)
{
	struct dotnet_frame_at *at = &w->s->at;
	__u32 done;

	w->s->error = 0;
	at->by_pointer = at->is_early = 0;
	if (may_be_leaf && w->rec->walk.interrupted) {
		dotnet_look_up(LOOK_LEAF);
	} else if (!recall(w)) {
		EP_MEET();
		done = ep_step_native(w->rec);
		if (done != EP_STEP_UNKNOWN)
			return done;
		EP_MEET();
		dotnet_look_up(LOOK_CALLED);
	}
	EP_MEET();
	if (w->s->error)
		return w->s->error;
	if (at->is == DOTNET_IS_OUTSIDE)
		return EP_STEP_UNKNOWN;
	if (at->is == DOTNET_IS_CODE)
		follow_rule(w);
	EP_MEET();
	if (w->s->exit.pc == w->state->trip && w->state->trip)
		dotnet_look_up(LOOK_HIJACKED);
	EP_MEET();
	take_frame(w);
	EP_MEET();
	if (w->s->error)
		return w->s->error;
	w->rec->walk.known_regs = EP_KNOWN_ALWAYS;
	ep_enter_set_caller(w, w->s->exit.pc, w->s->exit.sp, w->s->exit.fp, 0);
	w->rec->walk.by_pointer = (__u32)at->by_pointer;
	EP_MEET();
	return w->s->error;
}

/* What is remembered is of an image of a process: pid and start may be the same after an exec. */
static __always_inline void ep_enter_begin(const struct dotnet_walk *w, bool is_new)
{
	const struct ep_sample *sample = &w->rec->sample;
	__u64 process = dotnet_check_word(sample->start_ns, sample->pid);

	(void)is_new;
	w->s->tag = dotnet_check_word(process, sample->image) | 1;
}

static __always_inline bool ep_enter_find_exit(const struct dotnet_walk *w)
{
	(void)w;
	return dotnet_look_up(LOOK_LAST_CALL);
}

SEC("perf_event")
int dotnet_unwind(struct bpf_perf_event_data *ctx)
{
	return ep_enter(ctx);
}
