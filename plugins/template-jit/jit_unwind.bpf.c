/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of the toy JIT, whose code keeps no frame pointer, moves, and has sp where its
 * tables say. It is entered at the first frame of its code, and goes on as long as it can without
 * the native unwinder: through native frames that are remembered, which is one run for any number
 * of turns between C and jitted code.
 *
 *	entered ──► block of pc ──► its tables: depth, functions ──► push ──► caller ─┐
 *	              ▲ no block: a remembered native frame? ── no ──► ep_go_native   │
 *	              └────────────────────────────────────────────────────────────────┘
 *	no rules ─► where C was called from: the anchor ──► ep_resume
 */
#include "plugins/shared/bpf/seen.bpf.h"

#include "jit_shared.h"

EP_UNWINDER();

struct jit_scratch {
	EP_ENTER_SCRATCH;
	__u64 anchor; /* where the struct jit_anchor is that holds here; 0: the thread's */
	__u64 block;
	__u64 caller_fp;
	__u64 unit, at, len, line; /* of searches */
	__u64 functions[JIT_FRAME_FUNCTIONS + 1];
	__u64 n_functions;
	struct ep_seen_ranges ranges;
	/* What was read: not zeroed for each sample. */
	__u8 header[JIT_BLOCK_BYTES];
	__u8 pc_entry[JIT_PC_BYTES];
	__u8 scope[JIT_PC_BYTES];
	__u32 start;
	__u8 back;
};
EP_SCRATCH_UP_TO(struct jit_scratch, header)

struct jit_walk {
	EP_ENTER_WALK(struct jit_state, struct jit_scratch);
};
#define EP_WALK		 struct jit_walk
#define EP_ENTER_FRAMES	 JIT_MAX_FRAMES_PER_RUN
#define EP_ENTER_COUNTER JIT_COUNT_SKIPPED
#define EP_ENTER_RESUMED JIT_COUNT_ANCHORS
#include "plugins/shared/bpf/enter.bpf.h"

/* The masks are for the verifier: whatever the offset is, the read stays inside. */
static __always_inline __u64 header_int(const struct jit_walk *w, __u32 off)
{
	return *(const __u32 *)(w->s->header + (off & (JIT_BLOCK_BYTES - 4)));
}

static __always_inline __u64 small_int(const __u8 *bytes, __u32 off)
{
	return *(const __u32 *)(bytes + (off & (JIT_PC_BYTES - 4)));
}

static __always_inline __u64 small_half(const __u8 *bytes, __u32 off)
{
	return *(const __u16 *)(bytes + (off & (JIT_PC_BYTES - 2)));
}

/* --- from a pc to its block ------------------------------------------------------------------- */

/* Leaves in s->block where a block of a heap may begin. False: no heap of ours, or nothing
 * there. */
static __always_inline bool find_in_heap(const struct jit_walk *w, __u64 addr)
{
	struct jit_scratch *s = w->s;
	const struct ep_code *code = &s->ranges.code;

	if (!ep_ranges_see(&s->ranges, w->rec, w->chunk, addr) || !code->data ||
	    !w->state->unit_bytes)
		return false;
	s->unit = (addr - code->start) / w->state->unit_bytes;
	for (__u64 i = 0; i < JIT_MAX_HOPS; i++) {
		if (bpf_probe_read_user(&s->back, 1, (void *)(code->data + s->unit)) || !s->back)
			return false;
		if (s->back == 1) {
			s->block = code->start + s->unit * w->state->unit_bytes;
			return true;
		}
		s->unit -= s->back - 1;
	}
	return false;
}

/* Reads its header; true when the address is in its code. */
static __always_inline bool read_block(const struct jit_walk *w, __u64 addr)
{
	const struct jit_state *state = w->state;
	struct jit_scratch *s = w->s;
	__u64 magic;

	if (bpf_probe_read_user(s->header, sizeof(s->header), (void *)s->block))
		return false;
	magic = *(const __u64 *)(s->header + (state->block_magic & (JIT_BLOCK_BYTES - 8)));
	return magic == JIT_MAGIC && addr - s->block - header_int(w, state->block_code_off) <
					     header_int(w, state->block_code_bytes);
}

static __always_inline bool find_block(const struct jit_walk *w)
{
	__u64 addr = w->rec->walk.pc - w->rec->walk.return_address;
	bool in_heap = find_in_heap(w, addr);

	if (!in_heap)
		w->s->block = addr & -JIT_PAGE_BYTES;
	EP_MEET();
	return (in_heap || w->state->anywhere) &&
	       read_block(w, w->rec->walk.pc - w->rec->walk.return_address);
}

/* --- its tables ------------------------------------------------------------------------------- */

/* Leaves in s->pc_entry the last struct jit_pc at or below an offset into the code. */
static __always_inline bool find_pc(const struct jit_walk *w, __u64 off)
{
	const struct jit_state *state = w->state;
	struct jit_scratch *s = w->s;
	__u64 pcs = s->block + header_int(w, state->block_pcs_off);

	s->at = 0;
	s->len = header_int(w, state->block_n_pcs);
	if (s->len == 0 || s->len > JIT_MAX_PCS)
		return false;
	for (__u64 i = 0; i < JIT_PC_STEPS; i++) {
		__u64 half = s->len >> 1;

		if (bpf_probe_read_user(
			    &s->start, sizeof(s->start),
			    (void *)(pcs + (s->at + half) * JIT_PC_BYTES + state->pc_code_off)))
			return false;
		s->at += half * (1 ^ (off - s->start) >> 63);
		s->len -= half;
	}
	return bpf_probe_read_user(s->pc_entry, sizeof(s->pc_entry),
				   (void *)(pcs + s->at * JIT_PC_BYTES)) == 0;
}

/* The function at the pc and those that it is inlined into, three of them a frame. */
static __always_inline void push_scopes(const struct jit_walk *w)
{
	const struct jit_state *state = w->state;
	struct jit_scratch *s = w->s;

	s->at = small_half(s->pc_entry, state->pc_scope);
	s->line = small_int(s->pc_entry, state->pc_line);
	s->n_functions = 0;
	for (__u64 i = 0; i < JIT_MAX_SCOPES; i++) {
		__u64 scopes = s->block + header_int(w, state->block_scopes_off);
		__u32 n;

		if (s->at >= header_int(w, state->block_n_scopes) ||
		    bpf_probe_read_user(s->scope, sizeof(s->scope),
					(void *)(scopes + s->at * JIT_PC_BYTES)))
			break;
		s->functions[s->n_functions & 3] =
			*(const __u64 *)(s->scope + (state->scope_function & (JIT_PC_BYTES - 8))) |
			s->line << JIT_LINE_SHIFT;
		n = ++s->n_functions & 3;
		s->line = small_int(s->scope, state->scope_line);
		s->at = small_int(s->scope, state->scope_caller);
		if (n < JIT_FRAME_FUNCTIONS && s->at != JIT_NO_SCOPE)
			continue;
		s->n_functions = 0;
		if (!ep_push_words(w->rec, EP_FRAME_HEADER(ep_self.kind, 0, n, 0), n,
				   s->functions[0], s->functions[1], s->functions[2]))
			s->error = EP_ERROR_TOO_DEEP;
		EP_MEET();
		if (s->at == JIT_NO_SCOPE)
			return;
	}
	s->error = ep_self.first_error + JIT_ERROR_TABLES;
}

/* --- to the caller ---------------------------------------------------------------------------- */

/* Into exit. False: there is none, or it cannot be read. */
static __always_inline bool read_anchor(const struct jit_walk *w)
{
	struct jit_scratch *s = w->s;

	s->exit.fp = 0;
	return ep_read_word(s->anchor + w->state->anchor_sp, &s->exit.sp) && s->exit.sp &&
	       ep_read_word(s->anchor + w->state->anchor_pc, &s->exit.pc);
}

/* C has called, whose caller was called by jitted code. */
static __always_inline bool skip_native(const struct jit_walk *w)
{
	bool skips = ep_enter_may_skip(w) && read_anchor(w) && ep_enter_skip(w);

	w->s->counted += skips;
	return skips;
}

static __always_inline bool ep_enter_find_exit(const struct jit_walk *w)
{
	if (!w->s->anchor && ep_enter_read_tls(w, &w->state->self))
		w->s->anchor = w->s->value + w->state->thread_anchor;
	return w->s->anchor && read_anchor(w);
}

/* The entry stub keeps for us what C had, and where the jitted frames before C are. */
static __always_inline __u32 step_caller(const struct jit_walk *w)
{
	const struct jit_state *state = w->state;
	struct jit_scratch *s = w->s;
	__u64 slot = ep_enter_sp(w) + small_int(s->pc_entry, state->pc_depth);
	__u64 flags = small_half(s->pc_entry, state->pc_flags);

	s->caller_fp = ep_enter_fp(w);
	if (flags & JIT_PC_FP_SAVED && !ep_read_word(slot - state->fp_depth, &s->caller_fp))
		return EP_ERROR_BAD_READ;
	EP_MEET();
	if (flags & JIT_PC_ANCHOR_SAVED) {
		s->anchor = slot - state->anchor_depth;
		if (skip_native(w))
			return EP_STEP_CALLER;
	}
	EP_MEET();
	if (!ep_read_word(slot, &s->value))
		return EP_ERROR_BAD_READ;
	return ep_set_caller(w->rec, s->value, slot + 8, s->caller_fp) ? EP_STEP_CALLER
								       : EP_ERROR_NO_PROGRESS;
}

/* --- the walk --------------------------------------------------------------------------------- */

static __always_inline void ep_enter_begin(const struct jit_walk *w, bool is_new)
{
	(void)is_new;
	ep_ranges_find(&w->s->ranges, w->rec, w->chunk);
}

/* Where it was entered and there is no block: another language's code, or what is no code. */
static __always_inline __u32 ep_enter_step(const struct jit_walk *w, bool may_be_leaf)
{
	__u64 addr = w->rec->walk.pc - w->rec->walk.return_address;

	(void)may_be_leaf;
	w->s->error = 0;
	if (!find_block(w))
		return ep_step_native(w->rec);
	EP_MEET();
	if (!find_pc(w, addr - w->s->block - header_int(w, w->state->block_code_off)))
		return ep_self.first_error + JIT_ERROR_TABLES;
	EP_MEET();
	push_scopes(w);
	EP_MEET();
	return w->s->error ? w->s->error : step_caller(w);
}

SEC("perf_event")
int jit_unwind(struct bpf_perf_event_data *ctx)
{
	return ep_enter(ctx);
}
