/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of the toy JIT, whose code keeps no frame pointer, moves, and has sp where its
 * tables say. It is entered at the first frame of its code, and goes on as long as it can without the
 * native unwinder: through native frames that are remembered, which is one run for any number of turns
 * between C and jitted code.
 *
 *	entered ──► block of pc ──► its tables: depth, functions ──► push ──► caller ─┐
 *	              ▲ no block: a remembered native frame? ── no ──► ep_go_native   │
 *	              └────────────────────────────────────────────────────────────────┘
 *	no rules ─► where C was called from: the anchor ──► ep_resume
 */
#include <ebpf-profiler/bpf/unwinder.h>

#include "jit_shared.h"

EP_UNWINDER();

/* With fewer tail calls left native frames are skipped, where the anchor says what is behind them. */
#define JIT_KEEP_CALLS 6

struct jit_scratch {
	__u64 sequence;
	__u64 anchor; /* where the struct jit_anchor is that holds here; 0: the thread's */
	__u64 block;
	__u64 return_pc, sp, fp; /* what was read; see ep_read_caller: not on the stack */
	__u64 functions[JIT_FRAME_FUNCTIONS];
	__u32 n_functions;
	__u32 pad;
	__u32 has_stepped; /* since it was entered */
	__u32 goes_on;	   /* this run is the one before, continued */
	__u8 header[JIT_BLOCK_BYTES];
	__u8 pc[JIT_PC_BYTES];
	__u8 scope[JIT_PC_BYTES];
};
EP_SCRATCH(struct jit_scratch)

/* The masks are for the verifier: whatever the offset is, the read stays inside. */
static __always_inline __u32 header_int(const struct jit_scratch *s, __u32 off)
{
	return *(const __u32 *)(s->header + (off & (JIT_BLOCK_BYTES - 4)));
}

static __always_inline __u32 small_int(const __u8 *bytes, __u32 off)
{
	return *(const __u32 *)(bytes + (off & (JIT_PC_BYTES - 4)));
}

static __always_inline __u32 small_half(const __u8 *bytes, __u32 off)
{
	return *(const __u16 *)(bytes + (off & (JIT_PC_BYTES - 2)));
}

static __always_inline bool read_word(__u64 addr, __u64 *value)
{
	return bpf_probe_read_user(value, sizeof(*value), (void *)addr) == 0;
}

/* --- from a pc to its block ------------------------------------------------------------------- */

/* Leaves in s->block where a block of a heap may begin. False: no heap of ours, or nothing there. */
static __always_inline bool find_in_heap(const struct ep_record *rec, const struct jit_state *state,
					 struct jit_scratch *s, __u64 addr)
{
	struct ep_code code;
	__u64 unit;

	if (!ep_find_code(rec, addr, &code) || !code.data || !state->unit_bytes)
		return false;
	unit = (addr - code.start) / state->unit_bytes;
	for (__u32 i = 0; i < JIT_MAX_HOPS; i++) {
		__u8 back = 0;

		if (bpf_probe_read_user(&back, 1, (void *)(code.data + unit)) || !back)
			return false;
		if (back == 1) {
			s->block = code.start + unit * state->unit_bytes;
			return true;
		}
		unit -= back - 1;
	}
	return false;
}

/* Reads its header; true when the address is in its code. */
static __always_inline bool read_block(const struct jit_state *state, struct jit_scratch *s,
				       __u64 addr)
{
	__u64 magic;

	if (bpf_probe_read_user(s->header, sizeof(s->header), (void *)s->block))
		return false;
	magic = *(const __u64 *)(s->header + (state->block_magic & (JIT_BLOCK_BYTES - 8)));
	return magic == JIT_MAGIC && addr - s->block - header_int(s, state->block_code_off) <
					     header_int(s, state->block_code_bytes);
}

static __always_inline bool find_block(const struct ep_record *rec, const struct jit_state *state,
				       struct jit_scratch *s, __u64 addr)
{
	if (!find_in_heap(rec, state, s, addr)) {
		if (!state->anywhere)
			return false;
		s->block = addr & -JIT_PAGE_BYTES;
	}
	return read_block(state, s, addr);
}

/* --- its tables -------------------------------------------------------------------------------- */

/* Leaves in s->pc the last struct jit_pc at or below an offset into the code. */
static __always_inline bool find_pc(const struct jit_state *state, struct jit_scratch *s, __u32 off)
{
	__u64 pcs = s->block + header_int(s, state->block_pcs_off);
	__u32 lo = 0, len = header_int(s, state->block_n_pcs);

	if (len == 0 || len > JIT_MAX_PCS)
		return false;
	for (__u32 i = 0; i < JIT_PC_STEPS; i++) {
		__u32 half = len >> 1, start = 0;

		if (!half)
			break;
		if (bpf_probe_read_user(&start, sizeof(start),
					(void *)(pcs + (lo + half) * JIT_PC_BYTES +
						 state->pc_code_off)))
			return false;
		if (start <= off)
			lo += half;
		len -= half;
	}
	return bpf_probe_read_user(s->pc, sizeof(s->pc), (void *)(pcs + lo * JIT_PC_BYTES)) == 0;
}

static __always_inline bool push_functions(struct ep_record *rec, struct jit_scratch *s)
{
	__u32 n = s->n_functions;

	s->n_functions = 0;
	return ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, 0, n, 0), n, s->functions[0],
			     s->functions[1], s->functions[2]);
}

/* The function at the pc and those that it is inlined into, three of them a frame. 0 or an error. */
static __always_inline __u32 push_scopes(struct ep_record *rec, const struct jit_state *state,
					 struct jit_scratch *s)
{
	__u64 scopes = s->block + header_int(s, state->block_scopes_off);
	__u32 scope = small_half(s->pc, state->pc_scope), line = small_int(s->pc, state->pc_line);
	__u32 n = header_int(s, state->block_n_scopes);

	s->n_functions = 0;
	for (__u32 i = 0; i < JIT_MAX_SCOPES; i++) {
		__u32 at = s->n_functions;

		if (scope >= n ||
		    bpf_probe_read_user(s->scope, sizeof(s->scope),
					(void *)(scopes + (__u64)scope * JIT_PC_BYTES)))
			return ep_self.first_error + JIT_ERROR_TABLES;
		if (at >= JIT_FRAME_FUNCTIONS) {
			if (!push_functions(rec, s))
				return EP_ERROR_TOO_DEEP;
			at = 0;
		}
		s->functions[at] =
			*(const __u64 *)(s->scope + (state->scope_function & (JIT_PC_BYTES - 8))) |
			(__u64)line << JIT_LINE_SHIFT;
		s->n_functions = at + 1;
		line = small_int(s->scope, state->scope_line);
		scope = small_int(s->scope, state->scope_caller);
		if (scope == JIT_NO_SCOPE)
			return push_functions(rec, s) ? 0 : EP_ERROR_TOO_DEEP;
	}
	return ep_self.first_error + JIT_ERROR_TABLES;
}

/* --- to the caller ----------------------------------------------------------------------------- */

/* Leaves it in s->return_pc and s->sp. False: there is none, or it cannot be read. */
static __always_inline bool read_anchor(const struct jit_state *state, struct jit_scratch *s)
{
	return read_word(s->anchor + state->anchor_sp, &s->sp) && s->sp &&
	       read_word(s->anchor + state->anchor_pc, &s->return_pc);
}

/*
 * C has called, whose caller was called by jitted code, and hardly a tail call is left: the rest of the
 * jitted frames is worth more than what C there is between. False: go on as always.
 */
static __always_inline bool skip_native(struct ep_record *rec, const struct jit_state *state,
					struct jit_scratch *s)
{
	if (ep_calls_left(rec) >= JIT_KEEP_CALLS || !read_anchor(state, s) ||
	    !ep_skip_to(rec, EP_ERROR_TAIL_CALLS, s->return_pc, s->sp, 0))
		return false;
	ep_count(JIT_COUNT_SKIPPED);
	return true;
}

/* The entry stub keeps for us what C had, and where the jitted frames before C are. */
static __always_inline __u32 step_caller(struct ep_record *rec, const struct jit_state *state,
					 struct jit_scratch *s)
{
	__u64 slot = rec->walk.regs[EP_REG_SP] + small_int(s->pc, state->pc_depth);
	__u32 flags = small_half(s->pc, state->pc_flags);

	s->fp = rec->walk.regs[EP_REG_FP];
	if (flags & JIT_PC_FP_SAVED && !read_word(slot - state->fp_depth, &s->fp))
		return EP_ERROR_BAD_READ;
	if (flags & JIT_PC_ANCHOR_SAVED) {
		s->anchor = slot - state->anchor_depth;
		if (skip_native(rec, state, s))
			return EP_STEP_CALLER;
	}
	if (!read_word(slot, &s->return_pc))
		return EP_ERROR_BAD_READ;
	return ep_set_caller(rec, s->return_pc, slot + 8, s->fp) ? EP_STEP_CALLER
								 : EP_ERROR_NO_PROGRESS;
}

/* --- the walk ---------------------------------------------------------------------------------- */

static __always_inline __u32 step_block(struct ep_record *rec, const struct jit_state *state,
					struct jit_scratch *s, __u64 addr)
{
	__u32 off = (__u32)(addr - s->block) - header_int(s, state->block_code_off), error;

	if (!find_pc(state, s, off))
		return ep_self.first_error + JIT_ERROR_TABLES;
	error = push_scopes(rec, state, s);
	return error ? error : step_caller(rec, state, s);
}

static __always_inline __u32 step(struct ep_record *rec, const struct jit_state *state,
				  struct jit_scratch *s)
{
	__u64 addr = rec->walk.pc - rec->walk.return_address;

	return find_block(rec, state, s, addr) ? step_block(rec, state, s, addr) : ep_step_native(rec);
}

static __always_inline void walk(void *ctx, struct ep_record *rec, const struct jit_state *state,
				 struct jit_scratch *s)
{
	__u32 done = EP_STEP_CALLER;

	if (!s->goes_on)
		s->has_stepped = 0;
	s->goes_on = 0;
	for (__u64 i = 0; i < JIT_MAX_FRAMES_PER_RUN; i++) {
		if (i >= ep_self.frames_per_run)
			break;
		done = step(rec, state, s);
		if (done != EP_STEP_CALLER)
			break;
		s->has_stepped = 1;
	}
	if (done == EP_STEP_CALLER) {
		s->goes_on = 1;
		ep_run_again(ctx, rec);
		done = EP_ERROR_TAIL_CALLS;
	}
	if (done == EP_STEP_UNKNOWN) {
		/* Where it was entered there is no block: another language's code, or what is no code. */
		if (!s->has_stepped)
			ep_give_back(ctx, rec);
		ep_go_native(ctx, rec);
		done = EP_ERROR_TAIL_CALLS;
	}
	if (done == EP_STEP_ROOT)
		ep_next(ctx, rec);
	else
		ep_end(ctx, rec, done, rec->walk.pc);
}

static __always_inline void resume(void *ctx, struct ep_record *rec, const struct jit_state *state,
				   struct jit_scratch *s)
{
	__u64 thread = 0;

	if (!s->anchor && ep_read_tls(&state->self, ep_thread_pointer(), &thread))
		s->anchor = thread + state->thread_anchor;
	if (!s->anchor || !read_anchor(state, s))
		return;
	ep_count(JIT_COUNT_ANCHORS);
	ep_resume(ctx, rec, s->return_pc, s->sp, 0);
}

SEC("perf_event")
int jit_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct jit_state *state;
	struct jit_scratch *s;

	if (!rec)
		return 0;
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	if (!ep_is_entered(rec)) {
		if (state && s && ep_has_failed(rec))
			resume(ctx, rec, state, s);
		ep_next(ctx, rec);
		return 0;
	}
	if (state && s)
		walk(ctx, rec, state, s);
	else
		ep_give_back(ctx, rec);
	return 0;
}
