/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of a language that is entered (ebpf-profiler/bpf/unwinder.h): from frame to frame,
 * through native frames that are remembered, in one run for any number of turns between native code
 * and its own.
 *
 *	entered ─► begin ─► step ─► step ─► ... ─► no frames of this run are left: the next goes on
 *	                     │ └ the root of the stack, or an error: its end
 *	                     └ EP_STEP_UNKNOWN: ep_go_native; after the first step: ep_give_back
 *	no rules ─► find_exit: where the language called native code last ─► ep_resume
 *
 * A language includes this after its scratch and the struct of its pointers, which it names:
 *
 *	struct toy_scratch {
 *		EP_ENTER_SCRATCH;		first
 *		...
 *	};
 *	EP_SCRATCH(struct toy_scratch)
 *
 *	struct toy_walk {
 *		EP_ENTER_WALK(struct toy_state, struct toy_scratch);
 *	};
 *	#define EP_WALK		 struct toy_walk
 *	#define EP_ENTER_FRAMES	 64		at least max_frames_per_run of the descriptor
 *	#define EP_ENTER_RESUMED TOY_COUNT_X	counts walks that were resumed
 *	#define EP_ENTER_COUNTER TOY_COUNT_Y	optional: counts what steps add to `counted`
 *	#define EP_ENTER_LEAVES	 2		optional: steps whose frame may be interrupted (rule
 *						7)
 *	#include "plugins/shared/bpf/enter.bpf.h"
 *
 * It defines the three functions that are declared here, and its program returns ep_enter(ctx).
 */
#ifndef EP_SHARED_ENTER_BPF_H
#define EP_SHARED_ENTER_BPF_H

#include "plugins/shared/bpf/step.bpf.h"

#ifndef EP_ENTER_LEAVES
#define EP_ENTER_LEAVES 0
#endif

/* With fewer tail calls left native frames are skipped, where it is known what is after them. */
#define EP_ENTER_KEEP_CALLS 6

/* The first of a run. `is_new`: the native unwinder has entered the program, else the run before
 * goes on. */
static void ep_enter_begin(const EP_WALK *w, bool is_new);
/* One frame, and on to its caller: EP_STEP_CALLER, another enum ep_step, or an enum ep_error. */
static __u32 ep_enter_step(const EP_WALK *w, bool may_be_leaf);
/* Into `exit`: where the language called native code last. False: not known. */
static bool ep_enter_find_exit(const EP_WALK *w);

static __always_inline __u64 ep_enter_sp(const EP_WALK *w)
{
	return w->rec->walk.regs[EP_REG_SP];
}

static __always_inline __u64 ep_enter_fp(const EP_WALK *w)
{
	return w->rec->walk.regs[EP_REG_FP];
}

static __always_inline bool ep_enter_knows(const EP_WALK *w, __u32 reg)
{
	return w->rec->walk.known_regs >> (reg & 31) & 1;
}

/* As ep_read_tls, into `value` of the scratch; 0: it is not known. */
static __always_inline bool ep_enter_read_tls(const EP_WALK *w, const struct ep_tls *tls)
{
	__u64 *at = &w->s->value;

	if (!tls->steps ||
	    bpf_probe_read_kernel(at, sizeof(*at),
				  (void *)(bpf_get_current_task() + ep_self.task_tls_off)))
		return false;
	for (__u64 i = 0; i < EP_TLS_MAX_STEPS; i++) {
		if (i >= tls->steps)
			break;
		if (!ep_read_word(*at + (__s64)tls->off[i], at))
			return false;
	}
	return true;
}

/*
 * The caller's registers become the walk's; `known` are those beside sp and fp that it has. False:
 * sp does not grow. It need not after a frame that was interrupted, nor where `stands` is 1.
 */
static __always_inline void ep_enter_set_caller(const EP_WALK *w, __u64 pc, __u64 sp, __u64 fp,
						__u64 stands)
{
	struct ep_walk *walk = &w->rec->walk;
	bool stays = sp + (stands | walk->interrupted) <= walk->regs[EP_REG_SP];

	if (stays)
		w->s->error = EP_ERROR_NO_PROGRESS;
	walk->pc = pc;
	walk->regs[EP_REG_SP] = sp;
	walk->regs[EP_REG_FP] = fp;
	walk->return_address = 1;
	walk->by_pointer = 0;
	walk->interrupted = 0;
}

/* Is hardly a tail call left? Then the rest of the language's frames is worth more than native
 * ones. */
static __always_inline bool ep_enter_may_skip(const EP_WALK *w)
{
	return ep_calls_left(w->rec) < EP_ENTER_KEEP_CALLS;
}

/* Native code has called the language: on at `exit`, from where that was called. False: nothing is
 * done. */
static __always_inline bool ep_enter_skip(const EP_WALK *w)
{
	return ep_skip_to(w->rec, EP_ERROR_TAIL_CALLS, w->s->exit.pc, w->s->exit.sp, w->s->exit.fp);
}

static __always_inline void ep_enter_count(const EP_WALK *w)
{
#ifdef EP_ENTER_COUNTER
	__u32 index = ep_self.first_counter + EP_ENTER_COUNTER;
	__u64 *value = w->s->counted ? bpf_map_lookup_elem(&ep_lang_counts, &index) : NULL;

	if (value)
		*value += w->s->counted;
	w->s->counted = 0;
#endif
}

static __always_inline void ep_enter_go_on(void *ctx, const EP_WALK *w, __u32 done)
{
	struct ep_record *rec = w->rec;

	ep_enter_count(w);
	if (done == EP_STEP_CALLER) {
		w->s->goes_on = 1;
		ep_run_again(ctx, rec);
		done = EP_ERROR_TAIL_CALLS;
	}
	if (done == EP_STEP_UNKNOWN && !w->s->has_stepped) {
		w->s->gave_back = rec->walk.pc;
		ep_give_back(ctx, rec);
	}
	ep_leave(ctx, rec, done);
}

/* The same pointers, of which a compiler knows nothing (rule 5 of step.bpf.h). */
static __always_inline EP_WALK ep_enter_forget(const EP_WALK *w)
{
	EP_WALK same = *w;

	EP_OPAQUE(same.rec);
	EP_OPAQUE(same.chunk);
	EP_OPAQUE(same.state);
	EP_OPAQUE(same.s);
	return same;
}

static __always_inline __u32 ep_enter_steps(const EP_WALK *w)
{
	__u32 done = EP_STEP_CALLER;

	for (__u64 i = 0; i != EP_ENTER_LEAVES; i++) {
		done = ep_enter_step(w, true);
		if (done != EP_STEP_CALLER)
			return done;
		w->s->has_stepped = 1;
	}
	for (__u64 i = 0; i < EP_ENTER_FRAMES; i++) {
		if (i >= ep_self.frames_per_run)
			break;
		done = ep_enter_step(w, EP_ENTER_LEAVES == 0);
		if (done != EP_STEP_CALLER)
			break;
		w->s->has_stepped = 1;
	}
	return done;
}

static __always_inline void ep_enter_walk(void *ctx, const EP_WALK *w)
{
	bool is_new = !w->s->goes_on;
	EP_WALK same;

	if (is_new)
		w->s->has_stepped = 0;
	w->s->goes_on = 0;
	ep_enter_begin(w, is_new);
	same = ep_enter_forget(w);
	ep_enter_go_on(ctx, &same, ep_enter_steps(&same));
}

static __always_inline void ep_enter_resume(void *ctx, const EP_WALK *w)
{
	if (!ep_enter_find_exit(w))
		return;
	ep_count(EP_ENTER_RESUMED);
	ep_resume(ctx, w->rec, w->s->exit.pc, w->s->exit.sp, w->s->exit.fp);
}

/* All of a language's program. */
static __always_inline int ep_enter(void *ctx)
{
	EP_WALK w = {.rec = ep_get_record()};

	if (!w.rec)
		return 0;
	w.state = ep_get_state(w.rec);
	w.s = ep_get_scratch(w.rec);
	w.chunk = ep_get_codes(w.rec);
	if (!ep_is_entered(w.rec)) {
		if (w.state && w.s && ep_has_failed(w.rec))
			ep_enter_resume(ctx, &w);
		ep_next(ctx, w.rec);
	} else if (w.state && w.s && w.chunk) {
		ep_enter_walk(ctx, &w);
	} else {
		ep_give_back(ctx, w.rec);
	}
	return 0;
}

#endif
