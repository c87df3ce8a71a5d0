/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where a call led from one of a thread's stacks to the other (golang_shared.h), this finds the
 * caller. What is read is checked, else the native unwinder goes by its own rule. Each m runs its
 * curg: curg.m is the m that says so, and what curg.sched says is on curg's stack.
 */
#include "plugins/golang/golang_shared.h"

#include "ebpf-profiler/bpf/unwinder.h"

EP_UNWINDER();

#define GO_MAX_FRAMES_PER_RUN 16
/* runtime.maxstacksize on 64 bits, rounded up (proc.go: main) */
#define MAX_STACK	      (1ULL << 30)
#define MAX_ROOM	      128	   /* what asmcgocall takes of a stack that it stays on */

enum go_thread {
	GO_NOT_READ = 0,
	GO_RUNS = 1,
	GO_LEFT = 2, /* the thread has let go of its goroutine */
	GO_UNREADABLE = 3,
};

struct go_scratch {
	__u64 sequence;
	__u64 thread; /* enum go_thread */
	__u64 curg;
	__u64 lo, hi; /* of its stack */
	__u64 sp, pc, bp; /* curg.sched */
	__u64 pair[2];
	/* The mapping that has this file's code, with which this run began. */
	__u64 start, bytes, to_va;
	__u64 executable;
	__u64 g[GO_G_BYTES / 8];
};
EP_SCRATCH(struct go_scratch);

static __always_inline __u64 word_of(const struct go_scratch *s, __u32 off)
{
	return s->g[off / 8 % (GO_G_BYTES / 8)];
}

static __always_inline bool is_on_stack(const struct go_scratch *s, __u64 addr)
{
	return addr - s->lo < s->hi - s->lo;
}

/* The registers in curg.sched are as they were when it left its stack. pc is after sp: gobuf. */
static __always_inline __u64 check_goroutine(const struct go_state *state, struct go_scratch *s,
					     __u64 m)
{
	if (word_of(s, state->offsets.g_m) != m)
		return GO_LEFT;
	s->lo = s->g[0];
	s->hi = s->g[1];
	s->sp = word_of(s, state->offsets.g_sched_sp);
	s->pc = word_of(s, state->offsets.g_sched_sp + 8);
	s->bp = word_of(s, state->offsets.g_sched_bp);
	return s->lo < s->hi && s->hi - s->lo <= MAX_STACK ? GO_RUNS : GO_UNREADABLE;
}

static __always_inline __u64 read_goroutine(const struct go_state *state, struct go_scratch *s)
{
	__u64 g = 0, m = 0, curg = 0;

	if (!ep_read_tls(&state->g, ep_thread_pointer(), &g) || !g ||
	    bpf_probe_read_user(&m, 8, (void *)(g + state->offsets.g_m)) ||
	    bpf_probe_read_user(&curg, 8, (void *)(m + state->offsets.m_curg)))
		return GO_UNREADABLE;
	s->curg = curg;
	if (!curg)
		return GO_LEFT;
	if (bpf_probe_read_user(s->g, sizeof(s->g), (void *)curg))
		return GO_UNREADABLE;
	return check_goroutine(state, s, m);
}

/* Once in a sample. */
static __always_inline __u64 thread_of(const struct go_state *state, struct go_scratch *s)
{
	if (s->thread == GO_NOT_READ)
		s->thread = read_goroutine(state, s);
	return s->thread;
}

/* The caller of systemstack or asmcgocall, whose rsp on the goroutine's stack was `sp`. */
static __always_inline bool read_frame(struct ep_walk *walk, const struct go_state *state,
				       struct go_scratch *s, __u64 sp, __u64 fp)
{
	walk->next_sp = sp + state->frame_bytes + 8;
	walk->next_fp = fp;
	if (!state->frame_bytes)
		return bpf_probe_read_user(&walk->next_pc, 8, (void *)sp) == 0;
	if (bpf_probe_read_user(s->pair, sizeof(s->pair), (void *)sp))
		return false;
	walk->next_fp = s->pair[0];
	walk->next_pc = s->pair[1];
	return true;
}

static __always_inline bool leave_systemstack(struct ep_walk *walk, const struct go_state *state,
					      struct go_scratch *s)
{
	return thread_of(state, s) == GO_RUNS && is_on_stack(s, s->sp) &&
	       read_frame(walk, state, s, s->sp, s->bp);
}

/*
 * At its rsp are the depth of the goroutine's stack, and g: the stack itself may have moved while C
 * called back. Without a g it has not left its stack, and the first is where it was there. Before
 * the two are written, curg.sched was.
 */
static __always_inline bool leave_asmcgocall(struct ep_walk *walk, const struct go_state *state,
					     struct go_scratch *s)
{
	__u64 at = walk->regs[EP_REG_SP], sp;

	if (bpf_probe_read_user(s->pair, sizeof(s->pair), (void *)(at + state->depth_off)))
		return false;
	sp = s->pair[0];
	if (s->pair[1] || sp - at > MAX_ROOM) {
		if (thread_of(state, s) != GO_RUNS)
			return false;
		sp = s->pair[1] == s->curg ? s->hi - s->pair[0] : s->sp;
		if (!is_on_stack(s, sp))
			return false;
	}
	return read_frame(walk, state, s, sp, walk->regs[EP_REG_FP]);
}

/* f, whose stack was too small, had not begun: morestack notes where it was called. */
static __always_inline bool leave_morestack(struct ep_walk *walk, const struct go_state *state,
					    struct go_scratch *s)
{
	if (thread_of(state, s) != GO_RUNS || !is_on_stack(s, s->sp))
		return false;
	walk->next_pc = s->pc;
	walk->next_sp = s->sp;
	walk->next_fp = s->bp;
	return true;
}

/*
 * The return address on the goroutine's stack is that of the Go code that called C, which leaves C
 * out. But rbp is never changed on the way, so it is that of the frame on the system stack, which
 * does not move.
 */
static __always_inline bool leave_cgocallback(struct ep_walk *walk, const struct go_state *state,
					      struct go_scratch *s)
{
	__u64 fp = walk->regs[EP_REG_FP];

	if (thread_of(state, s) != GO_RUNS || is_on_stack(s, fp) ||
	    bpf_probe_read_user(s->pair, sizeof(s->pair), (void *)fp))
		return false;
	walk->next_pc = s->pair[1];
	walk->next_sp = fp + 16;
	walk->next_fp = s->pair[0];
	return true;
}

static __always_inline bool read_caller(struct ep_walk *walk, const struct go_state *state,
					struct go_scratch *s, __u32 kind)
{
	if (kind == GO_CODE_SYSTEMSTACK)
		return leave_systemstack(walk, state, s);
	if (kind == GO_CODE_ASMCGOCALL)
		return leave_asmcgocall(walk, state, s);
	if (kind == GO_CODE_MORESTACK)
		return leave_morestack(walk, state, s);
	return leave_cgocallback(walk, state, s);
}

/* All that changes stacks is in one mapping, as linkers make them: it is looked for once in a
 * run. */
static __always_inline bool find_mapping(const struct ep_record *rec, struct go_scratch *s)
{
	const struct ep_row *row = ep_find_row(rec, rec->walk.pc - rec->walk.return_address);

	if (!row)
		return false;
	s->start = row->start;
	s->bytes = row->end - row->start;
	s->to_va = row->va - row->start;
	s->executable = EP_ROW_ID(row->executable);
	return s->executable;
}

static __always_inline __u32 kind_at(const struct go_state *state, const struct go_scratch *s,
				     __u64 addr)
{
	__u64 kind = GO_CODE_NONE;

	if (addr - s->start >= s->bytes)
		return GO_CODE_NONE;
	/* No branches, of which a verifier would follow each. */
	for (__u32 i = 0; i < GO_MAX_CODES; i++) {
		__u64 off = addr - state->codes[i].start,
		      is_in = (off - state->codes[i].bytes) & ~off;

		EP_OPAQUE(is_in);
		kind |= state->codes[i].kind & -(is_in >> 63);
	}
	return (__u32)kind;
}

/* EP_STEP_UNKNOWN: what was read does not hold. */
static __always_inline __u32 change_stack(struct ep_record *rec, const struct go_state *state,
					  struct go_scratch *s, __u32 kind)
{
	struct ep_walk *walk = &rec->walk;
	bool found = read_caller(walk, state, s, kind);

	/* newstack has let go of the goroutine, to run another one: nothing called that. */
	if (!found && (kind != GO_CODE_MORESTACK || s->thread != GO_LEFT)) {
		ep_count(GO_COUNT_REFUSED);
		return EP_STEP_UNKNOWN;
	}
	if (!ep_push_native_words(rec, s->executable, walk->pc + s->to_va))
		return EP_ERROR_TOO_DEEP;
	if (!found || !walk->next_pc)
		return EP_STEP_ROOT;
	if (!ep_switch_stack(rec, walk->next_pc, walk->next_sp, walk->next_fp))
		return EP_ERROR_NO_PROGRESS;
	ep_count(GO_COUNT_SWITCHES);
	return EP_STEP_CALLER;
}

static __always_inline __u32 step(struct ep_record *rec, const struct go_state *state,
				  struct go_scratch *s)
{
	__u32 kind = kind_at(state, s, rec->walk.pc - rec->walk.return_address);

	return kind ? change_stack(rec, state, s, kind) : ep_step_native(rec);
}

static __always_inline void walk_frames(void *ctx, struct ep_record *rec,
					const struct go_state *state, struct go_scratch *s)
{
	__u32 done = EP_STEP_CALLER, frames = 0;

	for (; frames < GO_MAX_FRAMES_PER_RUN; frames++) {
		if (frames >= ep_self.frames_per_run)
			break;
		done = step(rec, state, s);
		if (done != EP_STEP_CALLER)
			break;
	}
	if (done == EP_STEP_UNKNOWN && !frames) {
		ep_give_back(ctx, rec);
		done = EP_ERROR_TAIL_CALLS;
	}
	ep_leave(ctx, rec, done == EP_STEP_CALLER ? EP_STEP_UNKNOWN : done);
}

SEC("perf_event")
int golang_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct go_state *state;
	struct go_scratch *s;

	if (!rec)
		return 0;
	if (!ep_is_entered(rec)) {
		ep_next(ctx, rec);
		return 0;
	}
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	if (state && s && find_mapping(rec, s))
		walk_frames(ctx, rec, state, s);
	else
		ep_give_back(ctx, rec);
	return 0;
}
