/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of CPython's evaluation loop, from the thread's state to its oldest frame. All
 * frames of a thread are one chain, whatever C code ran in between:
 *
 *	up to 3.10	f ─► f ─► f ─► NULL			each one an evaluation in C
 *	3.11		f ─► f(entry) ─► f(entry) ─► NULL	"entry" ends the frames of an evaluation
 *	3.12 on		f ─► f ─► SHIM ─► f ─► SHIM ─► NULL	a shim does, and is itself no frame
 *
 * So the flag of a frame may depend on the next one: a frame is pushed when that one has been read.
 */
#include "ebpf-profiler/bpf/unwinder.h"
#include "plugins/python/python_shared.h"
#include "plugins/python/symbolize/check.h"

EP_UNWINDER();

#define PY_MAX_FRAMES_PER_RUN 128 /* about 170 instructions each; ep_self.frames_per_run is lower */
#define PY_MAX_SEARCH	      32  /* threads that are asked in one run */
#define PY_MAX_SEARCH_RUNS    8

/* Objects are aligned; the lower bits of a _PyStackRef are tags (3.14 pycore_stackref.h). */
#define PY_TAG_MASK 7ull

enum py_phase {
	PY_PHASE_THREAD = 0, /* look for the thread's state */
	PY_PHASE_SEARCH,     /* in the list of all threads */
	PY_PHASE_FRAMES,
};

enum py_step {
	PY_STEP_AGAIN = 0,
	PY_STEP_END,
	PY_STEP_FRAME_ERROR,
	PY_STEP_CODE_ERROR,
};

struct py_scratch {
	__u64 sequence;
	__u64 thread_id; /* as PyThreadState has it */
	__u64 frame;	 /* the next one to be read */
	__u64 interp, thread; /* the next ones to be asked */
	__u32 phase, runs;
	/* The frame before: pushed when it is known what follows. */
	__u64 code;
	__u32 pending, check, instruction, flags;
	__u32 pushed;	/* frames so far */
	__u32 in_group; /* of the current evaluation */
	__u8 frame_bytes[PY_FRAME_BYTES];
	__u8 code_bytes[PY_CODE_BYTES];
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

static __always_inline bool read_word(__u64 addr, __u64 *value)
{
	return bpf_probe_read_user(value, sizeof(*value), (void *)addr) == 0;
}

/* --- the thread's state ------------------------------------------------------------------------ */

/* True when `thread` is the state of the sampled thread: its frame is the first one. */
static __always_inline bool take_thread(const struct py_state *state, struct py_scratch *s,
					__u64 thread)
{
	__u64 id = 0, frame = 0;

	if (!thread || !read_word(thread + state->thread_id, &id) || id != s->thread_id)
		return false;
	if (!read_word(thread + state->thread_frame, &frame))
		return false;
	if (state->flags & PY_CFRAME) {
		if (!frame || !read_word(frame + state->cframe_frame, &frame))
			return false;
	}
	s->frame = frame;
	s->phase = PY_PHASE_FRAMES;
	return true;
}

static __always_inline void find_thread(const struct py_state *state, struct py_scratch *s)
{
	__u64 pointer = ep_thread_pointer(), thread;

	s->phase = PY_PHASE_SEARCH;
	s->thread_id = pointer + state->thread_id_off;
	if (!pointer)
		return;
	thread = 0;
	if (state->holder_addr && read_word(state->holder_addr, &thread) &&
	    take_thread(state, s, thread))
		return;
	for (__u32 i = 0; i < PY_TLS_PATHS; i++) {
		if (ep_read_tls(&state->paths[i], pointer, &thread) &&
		    take_thread(state, s, thread))
			return;
	}
	if (state->interpreters_addr)
		read_word(state->interpreters_addr, &s->interp);
	if (s->interp)
		read_word(s->interp + state->interp_threads, &s->thread);
}

/* One thread of the list. False at its end, or when the thread has been found. */
static __always_inline bool search_step(const struct py_state *state, struct py_scratch *s)
{
	if (!s->thread) {
		if (!s->interp || !read_word(s->interp + state->interp_next, &s->interp) ||
		    !s->interp)
			return false;
		return read_word(s->interp + state->interp_threads, &s->thread);
	}
	if (take_thread(state, s, s->thread))
		return false;
	return read_word(s->thread + state->thread_next, &s->thread);
}

/* --- frames ------------------------------------------------------------------------------------ */

static __always_inline bool push_pending(struct ep_record *rec, struct py_scratch *s, __u32 flags)
{
	if (!s->pending)
		return true;
	s->pending = 0;
	s->pushed++;
	return ep_push_frame(rec, s->flags | flags, s->instruction, s->code, s->check);
}

static __always_inline void set_pending(struct py_scratch *s, __u64 code, __u32 flags)
{
	s->pending = 1;
	s->code = code;
	s->flags = flags;
	s->in_group = 1;
}

/*
 * The end of an evaluation's frames. One that has none between others keeps its place: without it
 * all older evaluations would stand for the wrong native frames.
 */
static __always_inline bool end_group(struct ep_record *rec, struct py_scratch *s)
{
	if (!push_pending(rec, s, EP_FRAME_ENTRY))
		return false;
	if (!s->in_group && s->pushed) {
		s->check = 0;
		s->instruction = 0;
		set_pending(s, PY_FRAME_CLEANUP, EP_FRAME_ENTRY);
	}
	s->in_group = 0;
	return true;
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
	if (!copies || !read_word(copies + 8 + 8 * index, &copy) || !copy)
		return 0x7fffffff;
	return addr - copy;
}

static __always_inline __u64 find_instruction(const struct py_state *state,
					      const struct py_scratch *s, __u64 code)
{
	__u64 addr;

	if (!(state->flags & PY_INSTRUCTION_ADDR))
		return (__u64)((__s64)(__s32)frame_int(s, state->frame_instruction)
			       << (state->instruction_shift & 1));
	addr = frame_word(s, state->frame_instruction);
	if (state->flags & PY_BYTECODE_COPIES)
		return copied_instruction(state, s, addr);
	return addr - code - state->code_instructions;
}

/* FRAME_OWNED_BY_GENERATOR, 3.11 and newer pycore_frame.h: always complete. */
#define PY_OWNED_BY_GENERATOR 1

/* _PyFrame_IsIncomplete, 3.11 and newer pycore_frame.h: CPython itself does not show them. */
static __always_inline bool is_incomplete(const struct py_state *state, const struct py_scratch *s,
					  __s64 instruction)
{
	__s64 first;

	if (!(state->flags & PY_FIRST_TRACEABLE) ||
	    frame_byte(s, state->frame_owner) == PY_OWNED_BY_GENERATOR)
		return false;
	first = (__s64)*(const __s32 *)(s->code_bytes +
					(state->code_first_traceable & (PY_CODE_BYTES - 4)));
	return instruction < first * 2;
}

/* The frame whose bytes have been read becomes the pending one. */
static __always_inline __u32 take_frame(const struct py_state *state, struct py_scratch *s)
{
	__u64 code = frame_word(s, state->frame_code) & ~PY_TAG_MASK, instruction;
	__u32 bytes = state->code_bytes, flags = 0;

	if (bytes > PY_CODE_BYTES)
		return PY_STEP_CODE_ERROR;
	if (state->flags & PY_ALL_ENTRIES)
		flags = EP_FRAME_ENTRY;
	if (state->flags & PY_ENTRY_BYTE)
		flags = frame_byte(s, state->frame_entry) ? EP_FRAME_ENTRY : 0;
	if (bpf_probe_read_user(s->code_bytes, bytes, (void *)code)) {
		ep_count(PY_COUNT_CODE_UNREADABLE);
		s->check = 0;
		s->instruction = 0x7fffffff;
		set_pending(s, code, flags);
		return PY_STEP_AGAIN;
	}
	if (code_word(s, state->code_object_type) != state->code_type)
		return PY_STEP_CODE_ERROR;
	instruction = find_instruction(state, s, code);
	if (is_incomplete(state, s, instruction) && !(flags && s->pushed))
		return PY_STEP_AGAIN;
	s->check = check_code(state, s);
	s->instruction = (__u32)instruction;
	set_pending(s, code, flags);
	return PY_STEP_AGAIN;
}

static __always_inline __u32 step_frame(struct ep_record *rec, const struct py_state *state,
					struct py_scratch *s)
{
	__u32 bytes = state->frame_bytes;

	if (!s->frame)
		return PY_STEP_END;
	if (bytes > PY_FRAME_BYTES ||
	    bpf_probe_read_user(s->frame_bytes, bytes, (void *)(s->frame + state->frame_start)))
		return PY_STEP_FRAME_ERROR;
	s->frame = frame_word(s, state->frame_previous);
	if (state->flags & PY_SHIMS && frame_byte(s, state->frame_owner) >= state->first_shim)
		return end_group(rec, s) ? PY_STEP_AGAIN : PY_STEP_END;
	if (!push_pending(rec, s, 0))
		return PY_STEP_END;
	return take_frame(state, s);
}

/* What is left when the chain has ended. */
static __always_inline void finish(struct ep_record *rec, struct py_scratch *s, __u32 step)
{
	if (s->pending && s->code != PY_FRAME_CLEANUP)
		push_pending(rec, s, step == PY_STEP_END ? EP_FRAME_ENTRY : 0);
	if (step == PY_STEP_FRAME_ERROR)
		ep_push_error(rec, ep_self.first_error + PY_ERROR_FRAME, s->frame);
	else if (step == PY_STEP_CODE_ERROR)
		ep_push_error(rec, ep_self.first_error + PY_ERROR_NOT_CODE, s->frame);
	else if (step == PY_STEP_AGAIN)
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
	if (s->phase != PY_PHASE_FRAMES)
		ep_count(PY_COUNT_THREADS_UNKNOWN);
}

static __always_inline void walk_frames(void *ctx, struct ep_record *rec,
					const struct py_state *state, struct py_scratch *s)
{
	__u32 step = PY_STEP_AGAIN;

	for (__u64 i = 0; i < PY_MAX_FRAMES_PER_RUN; i++) {
		if (i >= ep_self.frames_per_run)
			break;
		step = step_frame(rec, state, s);
		if (step != PY_STEP_AGAIN)
			break;
	}
	if (step == PY_STEP_AGAIN)
		ep_run_again(ctx, rec);
	finish(rec, s, step);
}

SEC("perf_event")
int python_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct py_state *state;
	struct py_scratch *s;

	if (!rec)
		return 0;
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	if (state && s) {
		if (s->phase == PY_PHASE_THREAD)
			find_thread(state, s);
		if (s->phase == PY_PHASE_SEARCH)
			walk_threads(ctx, rec, state, s);
		if (s->phase == PY_PHASE_FRAMES)
			walk_frames(ctx, rec, state, s);
	}
	ep_next(ctx, rec);
	return 0;
}
