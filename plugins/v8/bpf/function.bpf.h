/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of JavaScript: what names them, and those of the interpreter, which are two in one:
 *
 *	handler of a bytecode	a builtin, with a frame of its own (Stub) or without: not shown
 *	  its return address	after InterpreterEntryTrampoline's only call of handlers; what a
 *				handler jumps to, such as what it calls last, returns there too, and
 *				is shown
 *	the function's frame	has BytecodeArray and the offset of the last bytecode that called
 *
 * SharedFunctionInfo is taken from the JSFunction, which moves while it is young. Of one that was
 * moved the old copy keeps all but its first word (objects/objects-inl.h: MapWord), until its page
 * is used again.
 */
#ifndef V8_FUNCTION_BPF_H
#define V8_FUNCTION_BPF_H

#include "plugins/v8/bpf/scratch.bpf.h"

static __always_inline void be_code(const struct v8_walk *w, __u64 kind)
{
	struct v8_frame_at *at = &w->s->at;

	at->kind = kind;
	at->flags = 0;
	at->aux = 0;
	at->n_words = 1;
	at->words[0] = w->rec->walk.pc;
	at->what |= V8_PUSH_WORDS;
	at->is_function = 0;
}

/* The words of a function. False: what should be one is none. */
static __always_inline bool be_function(const struct v8_walk *w, __u64 function)
{
	struct v8_frame_at *at = &w->s->at;
	const struct v8_state *state = w->state;

	if (!is_tagged(function) ||
	    !ep_read_word(function - 1 + state->js_function_shared, &w->s->shared) ||
	    !is_tagged(w->s->shared) ||
	    bpf_probe_read_user(w->s->cookie, sizeof(w->s->cookie),
				(void *)(w->s->shared - 1 + state->cookie_at)))
		return false;
	at->kind = V8_FRAME_COMPILED;
	at->flags = 0;
	at->aux = 0;
	at->n_words = 3;
	at->words[0] = w->s->shared - 1;
	at->words[1] =
		v8_cookie(w->s->cookie, state->cookie_masks, state->flags & V8_STATE_UNIQUE_ID);
	at->words[2] = w->rec->walk.pc;
	at->what |= V8_PUSH_WORDS;
	return true;
}

/* Bytes from the first bytecode, of an offset that counts from the BytecodeArray's tagged
 * pointer. */
static __always_inline __u64 count_bytes(const struct v8_walk *w, __u64 offset)
{
	return offset - (w->state->bytecode_header - 1ull);
}

static __always_inline __u64 get_saved_offset(const struct v8_walk *w)
{
	__u64 smi = get_slot(w, w->state->offset_slot), bytes = count_bytes(w, smi >> 32);
	__u64 is_none = ep_is_set(smi << 32 | bytes >> 32);

	return ep_pick(is_none, V8_OFFSET_UNKNOWN, bytes & V8_OFFSET_UNKNOWN);
}

/*
 * A handler that was interrupted has not written the offset, unless it calls. Its register has
 * other things at times: it counts where the array's register is what the frame says, and where it
 * leads into the array.
 */
static __always_inline void take_offset(const struct v8_walk *w, __u64 array)
{
	struct v8_frame_at *at = &w->s->at;
	__u32 array_reg = w->state->array_reg & 15, offset_reg = w->state->offset_reg & 15;
	__u64 bytes = count_bytes(w, w->rec->walk.regs[offset_reg]);

	if (!ep_enter_knows(w, array_reg) || !ep_enter_knows(w, offset_reg) ||
	    w->rec->walk.regs[array_reg] != array ||
	    !ep_read_word(array - 1 + w->state->bytecode_length, &w->s->value) ||
	    bytes >= w->s->value >> 32)
		return;
	at->aux = bytes;
}

/* Where the handlers are is not known in 8 and 10: those that call have a type. */
static __always_inline bool is_handler(const struct v8_walk *w, __u64 va)
{
	__u64 off = va - w->state->blob_va - w->state->handlers_begin;
	__u64 bytes = w->state->handlers_end - w->state->handlers_begin;

	if (w->s->last == V8_LAST_NATIVE && bytes)
		return off < bytes;
	return w->s->near_leaf || w->s->last_type == V8_TYPE_STUB;
}

/* The frame that was pushed last is taken back, if it is a handler's. */
static __always_inline void take_back(const struct v8_walk *w)
{
	struct ep_record *rec = w->rec;
	const __u64 *frame;

	if (w->s->last != V8_LAST_NATIVE && w->s->last != V8_LAST_CODE)
		return;
	frame = ep_last_frame_of_a_word(rec);
	if (!frame || !is_handler(w, frame[1]))
		return;
	w->s->at.is_interrupted = w->s->near_leaf;
	ep_take_back(rec, frame);
	w->s->last = V8_LAST_OTHER;
}

/* The function whose frame was pushed last was called by new: that is part of it now, and of the
 * hash. */
static __always_inline void mark_construct(const struct v8_walk *w)
{
	if (w->s->last == V8_LAST_FUNCTION)
		ep_add_flags(w->rec, w->s->function_at, V8_FRAME_CONSTRUCT);
}

static __always_inline void take_bytecode(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;
	__u64 array = get_slot(w, w->state->array_slot);

	at->kind = V8_FRAME_INTERPRETED;
	at->aux = get_saved_offset(w);
	at->words[2] = is_tagged(array) ? array - 1 : 0;
	EP_MEET();
	if (at->is_interrupted)
		take_offset(w, array);
}

static __always_inline void be_entered(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;

	at->kind = V8_FRAME_INTERPRETED;
	at->aux = V8_OFFSET_UNKNOWN;
	at->words[2] = 0;
}

/* All functions come here: what is reported of one whose words cannot be read is code at a pc. */
static __always_inline void name_function(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;

	if (!be_function(w, at->function)) {
		be_code(w, V8_FRAME_CODE);
		return;
	}
	EP_MEET();
	if (at->as >= V8_AS_ENTERED)
		at->flags = V8_FRAME_FROM_REGISTER;
	if (at->as == V8_AS_INTERPRETED)
		take_bytecode(w);
	else if (at->as == V8_AS_ENTERED)
		be_entered(w);
	else if (w->state->flags & V8_STATE_IET_UNKNOWN && at->as == V8_AS_COMPILED)
		at->aux = get_saved_offset(w);
}

#endif
