/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's Isolate, which no frame needs: it says whether the collector runs, and where JavaScript was left
 * for C++ last. In V8's code r13 leads to it; so it is remembered of each thread that was interrupted there.
 * Where it comes from does not make it right: what it says is used only where a frame agrees.
 */
#ifndef V8_THREAD_BPF_H
#define V8_THREAD_BPF_H

#include "plugins/v8/bpf/scratch.bpf.h"

/* With fewer tail calls left native frames are skipped, where it is known what is behind them. */
#define V8_KEEP_CALLS 6

#define V8_THREADS 1024
struct v8_thread {
	__u64 start_ns, id; /* of the program; tid and image */
	__u64 isolate;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, V8_THREADS);
	__type(key, __u32);
	__type(value, struct v8_thread);
} v8_threads SEC(".maps");

static __always_inline struct v8_thread *get_thread(const struct v8_walk *w)
{
	__u32 index = w->rec->sample.tid & (V8_THREADS - 1);

	return bpf_map_lookup_elem(&v8_threads, &index);
}

static __always_inline __u64 get_thread_id(const struct v8_walk *w)
{
	return (__u64)w->rec->sample.tid << 32 | w->rec->sample.image;
}

/* V8's code was interrupted. */
static __always_inline void note_isolate(const struct v8_walk *w)
{
	struct v8_thread *thread;

	if (!w->state->root_off || !is_known(w, V8_REG_ROOT))
		return;
	thread = get_thread(w);
	if (!thread)
		return;
	thread->start_ns = w->rec->sample.start_ns;
	thread->id = get_thread_id(w);
	thread->isolate = w->rec->walk.regs[V8_REG_ROOT] - w->state->root_off;
}

/* As ep_read_tls, by way of memory: see v8_frame_at. */
static __always_inline bool read_isolate(const struct v8_walk *w)
{
	const struct ep_tls *tls = &w->state->isolate_tls;
	__u64 *at = &w->b->value;

	if (!tls->steps ||
	    bpf_probe_read_kernel(at, sizeof(*at),
				  (void *)(bpf_get_current_task() + ep_self.task_tls_off)))
		return false;
	for (__u64 i = 0; i < EP_TLS_MAX_STEPS; i++) {
		if (i >= tls->steps)
			break;
		if (!read_word(*at + (__s64)tls->off[i], at))
			return false;
	}
	return true;
}

/* Into b->value; 0: not known. */
static __always_inline void find_isolate(const struct v8_walk *w)
{
	const struct v8_thread *thread;

	if (read_isolate(w))
		return;
	V8_MEET();
	w->b->value = w->rec->sample.tid == w->rec->sample.pid ? w->state->isolate : 0;
	thread = get_thread(w);
	if (thread && thread->start_ns == w->rec->sample.start_ns &&
	    thread->id == get_thread_id(w))
		w->b->value = thread->isolate;
}

/* A frame has called C++: is it the collector that runs? The Isolate says that this is its last such frame. */
static __always_inline bool is_collecting(const struct v8_walk *w)
{
	__u64 isolate;

	if (!w->state->c_entry_fp || !w->state->vm_state)
		return false;
	find_isolate(w);
	V8_MEET();
	isolate = w->b->value;
	return isolate && !read_word(isolate + w->state->c_entry_fp, &w->b->value) == 0 &&
	       w->b->value == get_fp(w) &&
	       !bpf_probe_read_user(&w->b->vm_state, sizeof(w->b->vm_state),
				    (void *)(isolate + w->state->vm_state)) &&
	       w->b->vm_state == w->state->gc_state;
}

/*
 * Of an exit frame: its rsp at the call, and what that returns to, into pair. False: none, or unreadable. What
 * is in at stays.
 */
static __always_inline bool read_exit(const struct v8_walk *w, __u64 fp)
{
	__u64 *sp = &w->b->pair[0];

	return fp && !(fp & 7) && read_word(fp + V8_EXIT_SP * 8, sp) && *sp - 1 < fp &&
	       read_word(*sp - 8, &w->b->pair[1]);
}

/* C++ has called JavaScript, and hardly a tail call is left: the rest of JavaScript is worth more. */
static __always_inline bool skip_native(const struct v8_walk *w)
{
	__u64 fp = w->s->exit_fp;

	if (ep_calls_left(w->rec) >= V8_KEEP_CALLS || !read_exit(w, fp))
		return false;
	return ep_skip_to(w->rec, EP_ERROR_TAIL_CALLS, w->b->pair[1], w->b->pair[0], fp);
}

static __always_inline __u64 find_exit(const struct v8_walk *w)
{
	if (w->s->passed_entry)
		return w->s->exit_fp;
	if (!w->state->c_entry_fp)
		return 0;
	find_isolate(w);
	V8_MEET();
	if (!w->b->value || !read_word(w->b->value + w->state->c_entry_fp, &w->b->value))
		return 0;
	return w->b->value;
}

/* Native code has no rules: on at the frame that called it, or that called what called it. */
static __always_inline void resume(void *ctx, const struct v8_walk *w)
{
	__u64 fp = find_exit(w);

	if (!read_exit(w, fp))
		return;
	ep_count(V8_COUNT_RESUMED);
	ep_resume(ctx, w->rec, w->b->pair[1], w->b->pair[0], fp);
}

#endif
