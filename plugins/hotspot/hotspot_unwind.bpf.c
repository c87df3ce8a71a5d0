/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks frames of Java on HotSpot. It is entered at the first frame in code that the VM made, and goes
 * on as long as it can without the native unwinder, through native frames that are remembered.
 *
 *	pc ──► its range ──► heap: block ──► method, adapter, other ─┐     frame.bpf.h: push, caller ─┐
 *	 ▲  │          └───► interpreter, stub: by rule ─────────────┴──►                             │
 *	 │  └ none: a frame of Java has called? ── search.bpf.h ─────────────────────────────────────►│
 *	 │          else a remembered native frame? ── no ──► ep_go_native                            │
 *	 └────────────────────────────────────────────────────────────────────────────────────────────┘
 *	return barrier ─► frames in the heap, then those of the carrier         thread.bpf.h
 *	no rules ─► where Java called native code: the anchor ──► ep_resume     thread.bpf.h
 */
#include <ebpf-profiler/bpf/unwinder.h>

EP_UNWINDER();

#include "plugins/hotspot/bpf/compiled.bpf.h"

#define HOTSPOT_MAX_FRAMES_PER_RUN 64

/*
 * The pc itself tells the range: the interpreter's return addresses are entries of their own, behind no
 * call. In a heap the call counts, which is before it.
 */
static __always_inline __u64 find_kind(const struct hotspot_walk *w)
{
	static const __u8 of_rule[4] = {HOTSPOT_IS_STUB, HOTSPOT_IS_INTERPRETED, HOTSPOT_IS_ENTRY,
					HOTSPOT_IS_INTERPRETED};
	static const __u8 of_blob[8] = {HOTSPOT_IS_OTHER, HOTSPOT_IS_METHOD, HOTSPOT_IS_FRAMELESS,
					HOTSPOT_IS_FRAMELESS, HOTSPOT_IS_FRAMELESS};
	struct ep_walk *walk = &w->rec->walk;

	if (is_barrier(w))
		return HOTSPOT_IS_BARRIER;
	if (!find_range(w, walk->pc))
		return HOTSPOT_IS_OUTSIDE;
	if (HOTSPOT_CODE(w->s->code.data) != HOTSPOT_CODE_HEAP)
		return of_rule[HOTSPOT_RULE_METHOD(w->s->code.data) & 3];
	if (!find_block(w, walk->pc - walk->return_address))
		return HOTSPOT_IS_LOST;
	return of_blob[w->s->blob & 7];
}

/* No code of ours: the caller of Java code is searched, else it is a native frame. */
static __always_inline void step_outside(const struct hotspot_walk *w)
{
	w->s->at.how = w->s->searches ? HOTSPOT_HOW_SEARCH : HOTSPOT_HOW_NATIVE;
	if (w->s->at.is == HOTSPOT_IS_LOST && !w->s->searches)
		fail_own(w, HOTSPOT_ERROR_BLOCK);
}

static __always_inline void describe(const struct hotspot_walk *w)
{
	__u64 is = w->s->at.is;

	if (is == HOTSPOT_IS_METHOD)
		step_method(w);
	else if (is == HOTSPOT_IS_INTERPRETED)
		step_interpreted(w);
	else if (is == HOTSPOT_IS_STUB)
		step_stub(w);
	else if (is == HOTSPOT_IS_ENTRY)
		step_entry(w);
	else if (is == HOTSPOT_IS_FRAMELESS)
		step_frameless(w);
	else if (is == HOTSPOT_IS_OTHER)
		step_other(w);
	else if (is == HOTSPOT_IS_BARRIER)
		be_barrier(w);
	else
		step_outside(w);
}

/* Native code that is remembered; what it was called by is no word that could be wrong. */
static __always_inline __u32 step_native(const struct hotspot_walk *w)
{
	w->s->exact = 0;
	w->s->sure = 1;
	return ep_step_native(w->rec);
}

static __always_inline __u32 step(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;

	at->error = 0;
	at->pushes = 0;
	at->may_stand = 0;
	at->keeps_regs = 0;
	at->is = find_kind(w);
	HOTSPOT_MEET();
	describe(w);
	HOTSPOT_MEET();
	if (at->error)
		return at->error;
	if (at->how == HOTSPOT_HOW_NATIVE)
		return step_native(w);
	if (at->pushes) {
		push(w);
		HOTSPOT_MEET();
		if (at->is == HOTSPOT_IS_STUB && skip_native(w))
			at->how = HOTSPOT_HOW_SKIPPED;
		HOTSPOT_MEET();
	}
	go_to_caller(w);
	HOTSPOT_MEET();
	return at->error;
}

static __always_inline void count_searched(const struct hotspot_walk *w)
{
	__u32 index = ep_self.first_counter + HOTSPOT_COUNT_SEARCHED;
	__u64 *value = w->s->searched ? bpf_map_lookup_elem(&ep_lang_counts, &index) : NULL;

	if (value)
		*value += w->s->searched;
	w->s->searched = 0;
}

static __always_inline void go_on(void *ctx, const struct hotspot_walk *w, __u32 done)
{
	struct ep_record *rec = w->rec;

	count_searched(w);
	if (done == EP_STEP_CALLER) {
		w->s->goes_on = 1;
		ep_run_again(ctx, rec);
		done = EP_ERROR_TAIL_CALLS;
	}
	if (done == EP_STEP_UNKNOWN) {
		if (!w->s->has_stepped)
			ep_give_back(ctx, rec);
		ep_go_native(ctx, rec);
		done = EP_ERROR_TAIL_CALLS;
	}
	if (done == EP_STEP_ROOT)
		ep_next(ctx, rec);
	else
		ep_end(ctx, rec, done, rec->walk.pc);
}

static __always_inline void begin_run(const struct hotspot_walk *w)
{
	bool goes_on = w->s->goes_on;

	if (!goes_on) {
		w->s->has_stepped = 0;
		w->s->exact = 0;
		w->s->sure = 1;
		w->s->searches = 0;
		note_thread(w);
		begin_epoch(w);
	}
	w->s->goes_on = 0;
	find_bounds(w);
	if (!goes_on)
		look_at_first(w);
}

/*
 * The same, as values that a compiler knows nothing of: addresses it made before are not kept on the
 * stack, where each has a state of its own for a verifier.
 */
static __always_inline struct hotspot_walk forget(const struct hotspot_walk *w)
{
	struct hotspot_walk same = *w;

	EP_OPAQUE(same.rec);
	EP_OPAQUE(same.chunk);
	EP_OPAQUE(same.state);
	EP_OPAQUE(same.s);
	EP_OPAQUE(same.b);
	return same;
}

static __always_inline void walk_frames(void *ctx, const struct hotspot_walk *w)
{
	__u32 done = EP_STEP_CALLER;

	for (__u64 i = 0; i < HOTSPOT_MAX_FRAMES_PER_RUN; i++) {
		if (i >= ep_self.frames_per_run)
			break;
		done = step(w);
		if (done != EP_STEP_CALLER)
			break;
		w->s->has_stepped = 1;
	}
	go_on(ctx, w, done);
}

static __always_inline void walk(void *ctx, const struct hotspot_walk *w)
{
	struct hotspot_walk same;

	begin_run(w);
	same = forget(w);
	walk_frames(ctx, &same);
}

SEC("perf_event")
int hotspot_unwind(struct bpf_perf_event_data *ctx)
{
	struct hotspot_walk w = {.rec = ep_get_record()};
	__u32 zero = 0;

	if (!w.rec)
		return 0;
	w.state = ep_get_state(w.rec);
	w.s = ep_get_scratch(w.rec);
	w.b = bpf_map_lookup_elem(&hotspot_bytes, &zero);
	w.chunk = ep_get_codes(w.rec);
	if (!ep_is_entered(w.rec)) {
		if (w.state && w.s && w.b && ep_has_failed(w.rec))
			resume(ctx, &w);
		ep_next(ctx, w.rec);
		return 0;
	}
	if (w.state && w.s && w.b && w.chunk)
		walk(ctx, &w);
	else
		ep_give_back(ctx, w.rec);
	return 0;
}
