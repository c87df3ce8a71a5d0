/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's Isolate, which no frame needs: it says whether the collector runs, and where
 * JavaScript was left for C++ last. In V8's code r13 leads to it; so it is remembered of each
 * thread that was interrupted there. Where it comes from does not make it right: what it says is
 * used only where a frame agrees.
 */
#ifndef V8_THREAD_BPF_H
#define V8_THREAD_BPF_H

#include "plugins/v8/bpf/scratch.bpf.h"

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
	w->s->key = w->rec->sample.tid & (V8_THREADS - 1);
	return bpf_map_lookup_elem(&v8_threads, &w->s->key);
}

static __always_inline __u64 get_thread_id(const struct v8_walk *w)
{
	return (__u64)w->rec->sample.tid << 32 | w->rec->sample.image;
}

/* V8's code was interrupted. */
static __always_inline void note_isolate(const struct v8_walk *w)
{
	struct v8_thread *thread;

	if (!w->state->root_off || !ep_enter_knows(w, V8_REG_ROOT))
		return;
	thread = get_thread(w);
	if (!thread)
		return;
	thread->start_ns = w->rec->sample.start_ns;
	thread->id = get_thread_id(w);
	thread->isolate = w->rec->walk.regs[V8_REG_ROOT] - w->state->root_off;
}

/* Into value; 0: not known. */
static __always_inline void find_isolate(const struct v8_walk *w)
{
	const struct v8_thread *thread;

	if (ep_enter_read_tls(w, &w->state->isolate_tls))
		return;
	EP_MEET();
	w->s->value = w->rec->sample.tid == w->rec->sample.pid ? w->state->isolate : 0;
	thread = get_thread(w);
	if (thread && thread->start_ns == w->rec->sample.start_ns &&
	    thread->id == get_thread_id(w))
		w->s->value = thread->isolate;
}

/* A frame has called C++: is it the collector that runs? The Isolate says that this is its last
 * such frame. */
static __always_inline bool is_collecting(const struct v8_walk *w)
{
	__u64 isolate;

	if (!w->state->c_entry_fp || !w->state->vm_state)
		return false;
	find_isolate(w);
	EP_MEET();
	isolate = w->s->value;
	return isolate && !ep_read_word(isolate + w->state->c_entry_fp, &w->s->value) == 0 &&
	       w->s->value == ep_enter_fp(w) &&
	       !bpf_probe_read_user(&w->s->vm_state, sizeof(w->s->vm_state),
				    (void *)(isolate + w->state->vm_state)) &&
	       w->s->vm_state == w->state->gc_state;
}

/* Into exit: rsp of an exit frame at its call, and what that returns to. False: none, or
 * unreadable. */
static __always_inline bool read_exit(const struct v8_walk *w, __u64 fp)
{
	__u64 *sp = &w->s->exit.sp;

	w->s->exit.fp = fp;
	return fp && !(fp & 7) && ep_read_word(fp + V8_EXIT_SP * 8, sp) && *sp - 1 < fp &&
	       ep_read_word(*sp - 8, &w->s->exit.pc);
}

/* C++ has called JavaScript: the rest of that is worth more. */
static __always_inline bool skip_native(const struct v8_walk *w)
{
	return ep_enter_may_skip(w) && read_exit(w, w->s->exit_fp) && ep_enter_skip(w);
}

static __always_inline __u64 find_exit(const struct v8_walk *w)
{
	if (w->s->passed_entry)
		return w->s->exit_fp;
	if (!w->state->c_entry_fp)
		return 0;
	find_isolate(w);
	EP_MEET();
	if (!w->s->value || !ep_read_word(w->s->value + w->state->c_entry_fp, &w->s->value))
		return 0;
	return w->s->value;
}

/* The frame that called native code, or that called what called it. */
static __always_inline bool ep_enter_find_exit(const struct v8_walk *w)
{
	return read_exit(w, find_exit(w));
}

#endif
