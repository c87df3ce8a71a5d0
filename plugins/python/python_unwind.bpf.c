/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of CPython's evaluation loop, from the thread's state to its oldest frame. All
 * frames of a thread are one chain, whatever C code ran in between:
 *
 *	up to 3.10	f ─► f ─► f ─► NULL			each one an evaluation in C
 *	3.11		f ─► f(entry) ─► f(entry) ─► NULL	"entry" ends those of an evaluation
 *	3.12 on		f ─► f ─► SHIM ─► f ─► SHIM ─► NULL	a shim does, and is itself no frame
 *
 * So the flag of a frame may depend on the next one: a frame is pushed when that one has been read.
 */
#include "plugins/python/python_shared.h"
#include "plugins/shared/bpf/mark.bpf.h"
#include "plugins/python/check.h"
#include "plugins/shared/bpf/step.bpf.h"

EP_UNWINDER();

/* About 550 instructions each; ep_self.frames_per_run is lower. */
#define PY_MAX_FRAMES_PER_RUN 128

#define PY_STACK_WORDS	   32
#define PY_MAX_SAVED	   16 /* words of its own that JIT code may have on the stack */
#define PY_MAX_SEARCH	   32 /* threads that are asked in one run */
#define PY_MAX_SEARCH_RUNS 8

/* Objects are aligned; the lower bits of a _PyStackRef are tags (3.14 pycore_stackref.h). */
#define PY_TAG_MASK 7ull

enum py_phase {
	PY_PHASE_THREAD = 0, /* look for the thread's state */
	PY_PHASE_SEARCH,     /* in the list of all threads */
	PY_PHASE_FRAMES,
};

enum py_step {
	PY_STEP_CODE_ERROR = EP_MARK_OWN,
};

struct py_scratch {
	__u64 sequence;
	__u64 thread_id;      /* as PyThreadState has it */
	__u64 frame;	      /* the next one to be read */
	__u64 taken;	      /* the state whose frames come first */
	__u64 interp, thread; /* the next ones to be asked */
	__u32 phase, runs;
	__u32 others; /* 1: now for its states in other interpreters */
	/* The frame before: pushed when it is known what follows. */
	__u64 code;
	__u32 pending, check, instruction, flags;
	__u32 pushed;	/* 1: some frame was */
	__u32 in_group; /* 1: the current evaluation has one */
	__u8 frame_bytes[PY_FRAME_BYTES];
	__u8 code_bytes[PY_CODE_BYTES];
	__u64 stack[PY_STACK_WORDS]; /* of JIT code */
};
EP_SCRATCH(struct py_scratch)

static __always_inline __u64 frame_word(const struct py_scratch *s, __u32 off)
{
	return *(const __u64 *)(s->frame_bytes + (off & (PY_FRAME_BYTES - 8)));
}

static __always_inline __u32 frame_int(const struct py_scratch *s, __u32 off)
{
	return *(const __u32 *)(s->frame_bytes + (off & (PY_FRAME_BYTES - 4)));
}

static __always_inline __u32 frame_byte(const struct py_scratch *s, __u32 off)
{
	return s->frame_bytes[off & (PY_FRAME_BYTES - 1)];
}

static __always_inline __u64 code_word(const struct py_scratch *s, __u32 off)
{
	return *(const __u64 *)(s->code_bytes + (off & (PY_CODE_BYTES - 8)));
}

/* --- the thread's state ----------------------------------------------------------------------- */

/* True when `thread` is the state of the sampled thread: its frame is the first one. */
static __always_inline bool take_thread(const struct py_state *state, struct py_scratch *s,
					__u64 thread)
{
	__u64 id = 0, frame = 0;

	if (!thread || !ep_read_word(thread + state->thread_id, &id) || id != s->thread_id)
		return false;
	if (!ep_read_word(thread + state->thread_frame, &frame))
		return false;
	if (state->flags & PY_CFRAME) {
		if (!frame || !ep_read_word(frame + state->cframe_frame, &frame))
			return false;
	}
	s->frame = frame;
	s->phase = PY_PHASE_FRAMES;
	return true;
}

static __always_inline bool take_first(const struct py_state *state, struct py_scratch *s,
				       __u64 thread)
{
	s->taken = thread;
	return take_thread(state, s, thread);
}

/* From the newest interpreter on. */
static __always_inline void begin_search(const struct py_state *state, struct py_scratch *s)
{
	s->phase = PY_PHASE_SEARCH;
	if (state->interpreters_addr)
		ep_read_word(state->interpreters_addr, &s->interp);
	if (s->interp)
		ep_read_word(s->interp + state->interp_threads, &s->thread);
}

static __always_inline void find_thread(const struct py_state *state, struct py_scratch *s)
{
	__u64 pointer = ep_thread_pointer(), thread = 0;

	s->thread_id = pointer + state->thread_id_off;
	if (!pointer)
		return;
	if (state->holder_addr && ep_read_word(state->holder_addr, &thread) &&
	    take_first(state, s, thread))
		return;
	for (__u32 i = 0; i < PY_TLS_PATHS; i++) {
		if (ep_read_tls(&state->paths[i], pointer, &thread) && take_first(state, s, thread))
			return;
	}
	s->taken = 0;
	begin_search(state, s);
}

/*
 * A thread that runs an interpreter within another has a state in each, and the frames of the one
 * that is current come first. Those of the others are in the list, newest interpreter first.
 */
static __always_inline bool has_others(const struct py_state *state, struct py_scratch *s)
{
	__u64 interp = 0, next = 0;

	if (s->others) {
		s->phase = PY_PHASE_SEARCH;
		return true;
	}
	if (!state->interpreters_addr || !ep_read_word(state->interpreters_addr, &interp) ||
	    !interp || !ep_read_word(interp + state->interp_next, &next) || !next)
		return false;
	s->others = 1;
	begin_search(state, s);
	return true;
}

/* One thread of the list. False at its end, or when the thread has been found. */
static __always_inline bool search_step(const struct py_state *state, struct py_scratch *s)
{
	__u64 thread = s->thread;

	if (!thread) {
		if (!s->interp || !ep_read_word(s->interp + state->interp_next, &s->interp) ||
		    !s->interp)
			return false;
		return ep_read_word(s->interp + state->interp_threads, &s->thread);
	}
	if (!ep_read_word(thread + state->thread_next, &s->thread))
		return false;
	if (thread == s->taken || !take_thread(state, s, thread))
		return true;
	if (!s->others)
		s->taken = thread;
	return false;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* 1 when a < b, else 0, without a branch; their difference must be below 2^63. */
static __always_inline __u64 is_below(__u64 a, __u64 b)
{
	__u64 diff = a - b;

	EP_OPAQUE(diff);
	return diff >> 63;
}

static __always_inline bool push_pending(struct ep_record *rec, struct py_scratch *s, __u32 flags)
{
	__u64 instruction = (__u64)(__s64)(__s32)s->instruction, code = s->code;
	__u64 rest = instruction >> 16 | code >> PY_INSTRUCTION_SHIFT;
	__u32 n = 1 + (__u32)is_below(0, rest);

	s->pending = 0;
	s->pushed = 1;
	flags |= s->flags;
	if (n == 1)
		code |= instruction << PY_INSTRUCTION_SHIFT;
	return ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, flags, n, s->check), n, code,
			     instruction, 0);
}

/*
 * The end of an evaluation's frames. One that has none between others keeps its place: without it
 * all older evaluations would stand for the wrong native frames.
 */
static __always_inline void end_group(struct py_scratch *s)
{
	s->pending = s->pushed & ~s->in_group;
	s->code = PY_FRAME_CLEANUP;
	s->check = 0;
	s->instruction = 0;
	s->flags = EP_FRAME_ENTRY;
	s->in_group = 0;
}

static __always_inline __u32 check_code(const struct py_state *state, const struct py_scratch *s)
{
	__u64 words[PY_CHECK_WORDS];

#pragma unroll
	for (__u32 i = 0; i < PY_CHECK_WORDS; i++)
		words[i] = code_word(s, state->code_check + 8 * i);
	return py_code_check(words, state->code_check_mask);
}

/* Offset of the current instruction, which is in the thread's copy of the bytecode. */
static __always_inline __u64 copied_instruction(const struct py_state *state,
						const struct py_scratch *s, __u64 addr)
{
	__u64 copies = code_word(s, state->code_copies), copy = 0;
	__u64 index = frame_int(s, state->frame_copy);

	/* struct _PyCodeArray: size, then entries (3.14 Include/cpython/code.h). */
	if (!copies || !ep_read_word(copies + 8 + 8 * index, &copy) || !copy)
		return 0x7fffffff;
	return addr - copy;
}

static __always_inline __u64 find_instruction(const struct py_state *state,
					      const struct py_scratch *s, __u64 code)
{
	__u64 addr = frame_word(s, state->frame_instruction);
	__s64 index = (__s32)frame_int(s, state->frame_instruction);

	if (state->flags & PY_BYTECODE_COPIES)
		return copied_instruction(state, s, addr);
	addr -= code + state->code_instructions;
	return (addr & state->address_mask) |
	       ((__u64)(index << (state->index_shift & 1)) & ~state->address_mask);
}

/* FRAME_OWNED_BY_GENERATOR, 3.11 and newer pycore_frame.h: always complete. */
#define PY_OWNED_BY_GENERATOR 1

/* 1: _PyFrame_IsIncomplete, 3.11 and newer pycore_frame.h. CPython itself does not show them. */
static __always_inline __u64 is_incomplete(const struct py_state *state, const struct py_scratch *s,
					   __u64 instruction)
{
	__u64 owner = frame_byte(s, state->frame_owner);
	__s64 first = *(const __s32 *)(s->code_bytes +
				       (state->code_first_traceable & (PY_CODE_BYTES - 4)));
	__s64 limit = ((first * 2) & (__s64)state->address_mask) | state->always_traceable;
	__u64 other = owner ^ PY_OWNED_BY_GENERATOR;

	/* Both are far from the ends of the range, or limit is its lower end. */
	return is_below((__u64)((__s64)instruction >> 1), (__u64)(limit >> 1)) & is_below(0, other);
}

static __always_inline void set_pending(const struct py_state *state, struct py_scratch *s,
					__u64 code)
{
	s->code = code;
	s->flags = (frame_byte(s, state->frame_entry) & state->entry_mask) | state->entry_always;
	s->pending = 1;
}

/* The frame whose bytes have been read becomes the pending one. */
static __always_inline __u32 take_frame(const struct py_state *state, struct py_scratch *s)
{
	__u64 code = frame_word(s, state->frame_code) & ~PY_TAG_MASK, instruction;
	__u32 bytes = state->code_bytes;

	set_pending(state, s, code);
	s->check = 0;
	s->instruction = 0x7fffffff;
	if (bytes > PY_CODE_BYTES || bpf_probe_read_user(s->code_bytes, bytes, (void *)code)) {
		ep_count(PY_COUNT_CODE_UNREADABLE);
		s->in_group = 1;
		return EP_MARK_AGAIN;
	}
	if (code_word(s, state->code_object_type) != state->code_type)
		return PY_STEP_CODE_ERROR;
	instruction = find_instruction(state, s, code);
	s->instruction = (__u32)instruction;
	s->check = check_code(state, s);
	/* One that stands alone for an evaluation keeps its place. */
	s->pending = (1 - is_incomplete(state, s, instruction)) | (s->flags & s->pushed);
	s->in_group |= s->pending;
	return EP_MARK_AGAIN;
}

static __always_inline __u32 step_frame(struct ep_record *rec, const struct py_state *state,
					struct py_scratch *s)
{
	__u32 bytes = state->frame_bytes;
	__u64 shim;

	if (!s->frame)
		return EP_MARK_END;
	if (bytes > PY_FRAME_BYTES ||
	    bpf_probe_read_user(s->frame_bytes, bytes, (void *)(s->frame + state->frame_start)))
		return EP_MARK_ERROR;
	s->frame = frame_word(s, state->frame_previous);
	shim = 1 - is_below(frame_byte(s, state->frame_owner), state->first_shim);
	if (s->pending && !push_pending(rec, s, (__u32)shim * EP_FRAME_ENTRY))
		return EP_MARK_FULL;
	if (shim) {
		end_group(s);
		return EP_MARK_AGAIN;
	}
	return take_frame(state, s);
}

/* What is left when the chain has ended. */
static __always_inline void finish(struct ep_record *rec, struct py_scratch *s, __u32 step)
{
	if (s->pending && s->code != PY_FRAME_CLEANUP && step != PY_STEP_CODE_ERROR)
		push_pending(rec, s, step == EP_MARK_END ? EP_FRAME_ENTRY : 0);
	s->pending = 0;
	s->in_group = 0;
	/* An interpreter within another mostly runs a script that is freed in a moment. */
	if (s->others)
		ep_ask_keep(rec);
	if (step == EP_MARK_ERROR)
		ep_push_error(rec, ep_self.first_error + PY_ERROR_FRAME, s->frame);
	else if (step == PY_STEP_CODE_ERROR)
		ep_push_error(rec, ep_self.first_error + PY_ERROR_NOT_CODE, s->frame);
	else if (step == EP_MARK_AGAIN || step == EP_MARK_FULL)
		ep_push_error(rec, ep_self.first_error + PY_ERROR_DEEP, s->frame);
}

static __always_inline void walk_threads(void *ctx, struct ep_record *rec,
					 const struct py_state *state, struct py_scratch *s)
{
	bool more = true;

	for (__u64 i = 0; i < PY_MAX_SEARCH; i++) {
		more = search_step(state, s);
		if (!more)
			break;
	}
	if (more && s->runs++ < PY_MAX_SEARCH_RUNS)
		ep_run_again(ctx, rec);
	if (s->phase != PY_PHASE_FRAMES && !s->others)
		ep_count(PY_COUNT_THREADS_UNKNOWN);
}

static __always_inline void walk_frames(void *ctx, struct ep_record *rec,
					const struct py_state *state, struct py_scratch *s)
{
	__u32 step = EP_MARK_STEPS(ctx, rec, PY_MAX_FRAMES_PER_RUN, step_frame(rec, state, s));

	finish(rec, s, step);
	if (step == EP_MARK_END && has_others(state, s))
		ep_run_again(ctx, rec);
}

/* --- code of the JIT -------------------------------------------------------------------------- */

/* True for a return address in the evaluation loop. */
static __always_inline bool is_eval(const struct py_state *state, __u64 addr)
{
	return addr - state->eval_addr[0] < state->eval_bytes[0] ||
	       addr - state->eval_addr[1] < state->eval_bytes[1];
}

/* A frame pointer of the loop, whose frame begins at sp. */
#define PY_MAX_EVAL_FRAME 8192
static __always_inline bool is_eval_pointer(__u64 fp, __u64 sp)
{
	return fp - sp < PY_MAX_EVAL_FRAME && !(fp & 7);
}

static __always_inline bool leave_by_pointer(const struct py_state *state, struct ep_record *rec,
					     struct py_scratch *s)
{
	__u64 fp = rec->walk.regs[EP_REG_FP];

	return fp >= rec->walk.regs[EP_REG_SP] &&
	       bpf_probe_read_user(s->stack, 16, (void *)fp) == 0 && is_eval(state, s->stack[1]) &&
	       ep_set_caller(rec, s->stack[1], fp + 16, s->stack[0]);
}

/* pop %rbx, %r12, %r13, %r14, ...: what an executor's first function does at its end. */
#define PY_SHIM_END 0x415e415d415c415bull

static __always_inline bool is_shim(__u64 addr)
{
	__u64 code = 0;

	return addr >= 4096 && ep_read_word(addr, &code) && code == PY_SHIM_END;
}

/*
 *	sp ─► what the code at pc has pushed: nothing, padding, the loop's rbp
 *	      return address in the shim ([at])
 *	      rbx r12 r13 r14 r15, maybe rbp
 *	      return address in the evaluation loop
 */
static __always_inline bool leave_shim(const struct py_state *state, struct ep_record *rec,
				       struct py_scratch *s, __u32 at)
{
	const struct ep_walk *walk = &rec->walk;
	__u32 ret = at + 6;
	__u64 fp = walk->regs[EP_REG_FP], sp;

	if (!is_eval(state, s->stack[ret & (PY_STACK_WORDS - 1)])) {
		fp = s->stack[ret & (PY_STACK_WORDS - 1)];
		ret++;
	}
	if (!is_eval(state, s->stack[ret & (PY_STACK_WORDS - 1)]))
		return false;
	sp = walk->regs[EP_REG_SP] + 8 * (ret + 1);
	for (__u32 i = 0; i < PY_MAX_SAVED; i++) {
		if (i >= at || is_eval_pointer(fp, sp))
			break;
		fp = s->stack[i];
	}
	if (!is_eval_pointer(fp, sp))
		fp = walk->regs[EP_REG_FP];
	return ep_set_caller(rec, s->stack[ret & (PY_STACK_WORDS - 1)], sp, fp);
}

static __always_inline bool leave_by_stack(const struct py_state *state, struct ep_record *rec,
					   struct py_scratch *s)
{
	const struct ep_row *row;
	__u32 at;

	if (bpf_probe_read_user(s->stack, sizeof(s->stack), (void *)rec->walk.regs[EP_REG_SP]))
		return false;
	for (at = 0; at < PY_MAX_SAVED; at++) {
		if (is_shim(s->stack[at]))
			break;
	}
	/* Functions in C end like that, too. */
	if (at == PY_MAX_SAVED)
		return false;
	row = ep_find_row(rec, s->stack[at & (PY_STACK_WORDS - 1)]);
	return (!row || !EP_ROW_ID(row->executable)) && leave_shim(state, rec, s, at);
}

/* The walk goes on in the evaluation loop, whose frame stands for what the JIT's code runs. */
static __always_inline void leave_jit(void *ctx, struct ep_record *rec,
				      const struct py_state *state, struct py_scratch *s)
{
	bool found = state->jit == PY_JIT_POINTER ? leave_by_pointer(state, rec, s)
						  : leave_by_stack(state, rec, s);

	if (!found) {
		ep_count(PY_COUNT_JIT_UNKNOWN);
		ep_give_back(ctx, rec);
		return;
	}
	ep_go_native(ctx, rec);
}

static __always_inline void mark(void *ctx, struct ep_record *rec, const struct py_state *state,
				 struct py_scratch *s)
{
	if (s->phase == PY_PHASE_THREAD)
		find_thread(state, s);
	if (s->phase == PY_PHASE_SEARCH)
		walk_threads(ctx, rec, state, s);
	if (s->phase == PY_PHASE_FRAMES)
		walk_frames(ctx, rec, state, s);
}

SEC("perf_event")
int python_unwind(struct bpf_perf_event_data *ctx)
{
	return EP_MARK(ctx, mark, leave_jit);
}
