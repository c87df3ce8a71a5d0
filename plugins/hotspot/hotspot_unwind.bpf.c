/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks frames of Java on HotSpot. It is entered at the first frame in code that the VM made, and
 * goes on as long as it can without the native unwinder, through native frames that are remembered.
 *
 *	pc ──► its range ──► heap: block ──► method, adapter, other ─┐  frame.bpf.h: push, caller ─┐
 *	 ▲  │          └───► interpreter, stub: by rule ─────────────┴──►                          │
 *	 │  └ none: a frame of Java has called? ── search.bpf.h ──────────────────────────────────►│
 *	 │          else a remembered native frame? ── no ──► ep_go_native                         │
 *	 └─────────────────────────────────────────────────────────────────────────────────────────┘
 *	return barrier ─► frames in the heap, then those of the carrier         thread.bpf.h
 *	no rules ─► where Java called native code: the anchor ──► ep_resume     thread.bpf.h
 */
#include "plugins/hotspot/bpf/compiled.bpf.h"

EP_UNWINDER();

/*
 * The pc itself tells the range: the interpreter's return addresses are entries of their own,
 * after no call. In a heap the call counts, which is before it.
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
	if (!ep_ranges_see(&w->s->ranges, w->rec, w->chunk, walk->pc))
		return HOTSPOT_IS_OUTSIDE;
	if (HOTSPOT_CODE(w->s->ranges.code.data) != HOTSPOT_CODE_HEAP)
		return of_rule[HOTSPOT_RULE_METHOD(w->s->ranges.code.data) & 3];
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

static __always_inline __u32 ep_enter_step(const struct hotspot_walk *w, bool may_be_leaf)
{
	struct hotspot_frame_at *at = &w->s->at;

	(void)may_be_leaf;
	w->s->error = 0;
	at->pushes = 0;
	at->may_stand = 0;
	at->keeps_regs = 0;
	at->is = find_kind(w);
	EP_MEET();
	describe(w);
	EP_MEET();
	if (w->s->error)
		return w->s->error;
	if (at->how == HOTSPOT_HOW_NATIVE)
		return step_native(w);
	if (at->pushes) {
		push(w);
		EP_MEET();
		if (at->is == HOTSPOT_IS_STUB && skip_native(w))
			at->how = HOTSPOT_HOW_SKIPPED;
		EP_MEET();
	}
	go_to_caller(w);
	EP_MEET();
	return w->s->error;
}

static __always_inline void ep_enter_begin(const struct hotspot_walk *w, bool is_new)
{
	if (is_new) {
		w->s->exact = 0;
		w->s->sure = 1;
		w->s->searches = 0;
		note_thread(w);
		begin_epoch(w);
	}
	ep_ranges_find(&w->s->ranges, w->rec, w->chunk);
	if (is_new)
		look_at_first(w);
}

SEC("perf_event")
int hotspot_unwind(struct bpf_perf_event_data *ctx)
{
	return ep_enter(ctx);
}
