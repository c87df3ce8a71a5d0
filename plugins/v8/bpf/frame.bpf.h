/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames, by rbp (execution/frame-constants.h, 8: frames.h; the same in all):
 *
 *	rbp + 8		return address
 *	rbp		caller's rbp
 *	rbp - 8		context: a function's; or type << 1: neither is the other
 *	rbp - 16	JSFunction; what it is of a typed one depends on the type
 *	  ...		argc, BytecodeArray, offset: their slots are in the state
 *
 * The caller's rsp is taken to be rbp + 16, as it is of JSEntry: only native code asks for it.
 */
#ifndef V8_FRAME_BPF_H
#define V8_FRAME_BPF_H

#include "plugins/v8/bpf/function.bpf.h"
#include "plugins/v8/bpf/leaf.bpf.h"
#include "plugins/v8/bpf/thread.bpf.h"

/* Arguments lie between two frames: Function.prototype.apply takes some 65535 and more of them. */
#define V8_FRAME_MAX 0x1000000
#define V8_STUB_MAX  0x10000 /* bytes of a builtin in a heap */

/* --- what it is ------------------------------------------------------------------------------- */

/* A function's word below rbp is odd, all types are even and small. */
static __always_inline bool find_type(const struct v8_walk *w, __u64 word)
{
	w->s->at.is_function = word & 1;
	w->s->at.type = w->state->types[word >> 1 & (V8_MAX_TYPES - 1)] * (1 ^ (word & 1));
	return (word & 1) || word < 2 * V8_MAX_TYPES;
}

/* 1 where a pc is at an offset that is known. */
static __always_inline __u64 is_at(const struct v8_walk *w, __u64 off)
{
	return ep_is_same(get_offset(w), off) & ep_is_set(off);
}

/* 1 where it is the interpreter's frame. */
static __always_inline __u64 is_interpreted(const struct v8_walk *w)
{
	const struct v8_state *state = w->state;
	__u64 in_blob = ep_is_same(w->s->at.where, V8_IN_BLOB);
	__u64 at_addr = ep_is_same(w->rec->walk.pc, state->iet_return);
	__u64 at_off = is_at(w, state->iet_return_off);

#pragma unroll
	for (__u32 i = 0; i < V8_MAX_ENTERS; i++)
		at_off |= is_at(w, state->enter_offs[i]);
	return ep_pick(in_blob, at_off, at_addr);
}

/* The slots are as no other frame has them. */
static __always_inline __u64 has_slots(const struct v8_walk *w)
{
	__u64 array = get_slot(w, w->state->array_slot),
	      offset = get_slot(w, w->state->offset_slot);

	return ep_is_same(array & 3, 1) & ep_is_set(array >> 16) & ep_is_same(offset << 32, 0);
}

/*
 * With --interpreted-frames-native-stack each function has a trampoline of its own, a copy at a
 * multiple of code's alignment (32 bytes up to 16, then 64). And V8 may have mapped its builtins a
 * second time just now (CodeRange::RemapEmbeddedBuiltins, heap/code-range.cc): in a mapping that is
 * not known yet what is at the same place in a page. Optimized code may be anywhere, and have such
 * words in its slots: the code tells.
 */
static __always_inline bool is_in_copy(const struct v8_walk *w)
{
	const struct v8_state *state = w->state;
	__u64 pc = w->rec->walk.pc, off = state->iet_return_off;
	__u64 copies = ep_is_set(state->flags & V8_STATE_IET_COPIES);
	__u64 in_copy = ep_is_same((pc - (off - state->iet_begin)) & 31, 0);
	__u64 in_page = ep_is_same((pc - off - state->blob_va) & 0xfff, 0);

	in_copy = ((copies & in_copy) | (ep_is_set(w->s->at.is_new) & in_page)) & ep_is_set(off) &
		  has_slots(w) & ep_is_same(w->s->at.where, V8_IN_JIT);
	return in_copy && ep_read_word(pc, &w->s->value) && w->s->value == state->iet_behind;
}

static __always_inline bool is_in_deopt(const struct v8_walk *w)
{
	const struct v8_state *state = w->state;

	return w->s->at.where == V8_IN_BLOB &&
	       get_offset(w) - state->deopt_begin < state->deopt_end - state->deopt_begin;
}

/* The interpreter's own code. */
static __always_inline bool is_in_trampoline(const struct v8_walk *w)
{
	const struct v8_state *state = w->state;

	return w->s->at.where == V8_IN_BLOB &&
	       get_offset(w) - state->iet_begin < state->iet_end - state->iet_begin;
}

/*
 * The trampoline makes the function's frame, and calls from there when the stack ends or others
 * wait. And before that it may ask for better code, in a frame of its own that has the function as
 * first word or as second one (GenerateTailCallToReturnedCode, builtins/x64/builtins-x64.cc, 12;
 * codegen/x64/macro-assembler-x64.cc, 22).
 */
static __always_inline void describe_trampoline(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;
	__u64 first = get_slot(w, -2), second = get_slot(w, -3);
	__u64 is_first = ep_is_same(first & 3, 1);

	at->as = V8_AS_ENTERED;
	if (!at->is_function)
		at->function = ep_pick(is_first, first, second);
	at->is_function = 1;
	at->type = V8_TYPE_OTHER;
}

/*
 * A builtin's own frame, whatever function it has. Only the deoptimizer's entries have none: that
 * at rbp is what they remake.
 */
static __always_inline void describe_builtin(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;

	if (is_in_trampoline(w)) {
		describe_trampoline(w);
		return;
	}
	at->as = V8_AS_BARE;
	at->what = V8_PUSH_NATIVE;
	at->is_function &= is_in_deopt(w);
}

static __always_inline void be_wasm(const struct v8_walk *w, __u64 instance)
{
	struct v8_frame_at *at = &w->s->at;

	be_code(w, V8_FRAME_WASM);
	at->n_words = 2;
	at->words[1] = at->words[0];
	at->words[0] = is_tagged(instance) ? instance - 1 : 0;
}

/* What a type is shown as, if its code is no builtin. */
static __always_inline __u64 kind_of(__u64 type)
{
	__u64 kind = V8_FRAME_CODE;

	if (type == V8_TYPE_REGEXP)
		kind = V8_FRAME_REGEXP;
	if (type == V8_TYPE_EXIT)
		kind = V8_FRAME_EXIT;
	if (type == V8_TYPE_TO_JS)
		kind = V8_FRAME_TO_JS;
	return kind;
}

static __always_inline void describe_typed(const struct v8_walk *w, __u64 instance)
{
	if (w->s->at.type == V8_TYPE_WASM)
		be_wasm(w, instance);
	else if (w->s->at.is_new) /* a builtin: user space will know its file */
		w->s->at.what = V8_PUSH_NATIVE;
	else
		be_code(w, kind_of(w->s->at.type));
}

/* Up to 18 RegExp code has the subject where functions have their context, and then a small
 * number. */
static __always_inline bool is_regexp(const struct v8_walk *w, __u64 function)
{
	return !is_tagged(function) && w->state->flags & V8_STATE_REGEXP_UNMARKED;
}

static __always_inline void be_regexp(const struct v8_walk *w)
{
	be_code(w, V8_FRAME_REGEXP);
	w->s->at.type = V8_TYPE_REGEXP;
}

static __always_inline void describe_function(const struct v8_walk *w)
{
	if (is_regexp(w, w->s->at.function))
		be_regexp(w);
	else if (!is_tagged(w->s->at.function))
		fail_frame(w, V8_ERROR_FUNCTION);
}

static __always_inline void describe_frame(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;

	at->function = get_slot(w, w->state->function_slot);
	if (is_interpreted(w) || is_in_copy(w)) {
		at->as = V8_AS_INTERPRETED;
		at->is_function = 1;
		take_back(w);
	} else if (at->where == V8_IN_BLOB) {
		describe_builtin(w);
	} else if (at->is_function) {
		describe_function(w);
	} else {
		describe_typed(w, get_slot(w, V8_WASM_INSTANCE));
	}
}

/* What is after it, or before it, in a way of its own. */
static __always_inline void look_at_type(const struct v8_walk *w)
{
	__u64 type = w->s->at.type;

	if (type == V8_TYPE_CONSTRUCT)
		mark_construct(w);
	if (type == V8_TYPE_ENTRY) {
		w->s->passed_entry = 1;
		w->s->exit_fp = get_slot(w, V8_ENTRY_C_ENTRY_FP);
	}
	if (type == V8_TYPE_EXIT && !w->s->seen && is_collecting(w))
		w->s->at.what |= V8_PUSH_GC;
}

/*
 * DeoptimizationEntry_* has called ComputeOutputFrames: the frame lies in a FrameDescription, and
 * C++ where it was. Before that it had called for this, with all registers between rsp and the
 * frame: more than V8_DEOPT_SAVED (Generate_DeoptimizationEntry, builtins/x64/builtins-x64.cc, 9.4
 * to 14.6).
 *
 *	rsp		what it was before the call: an address of
 *	  ...		Deoptimizer		-> input_
 *	after that	what the frame's caller has: size and words of the frame end there
 */
#define V8_DEOPT_SAVED 0x100

static __always_inline bool is_taken_off(const struct v8_walk *w, __u64 fp)
{
	return is_in_deopt(w) && (__s64)(fp - ep_enter_sp(w)) < V8_DEOPT_SAVED &&
	       !w->rec->walk.interrupted;
}

static __always_inline bool see_taken_off(const struct v8_walk *w, __u64 fp)
{
	const struct v8_state *state = w->state;
	struct v8_scratch *s = w->s;
	__u64 end, from_end;

	if (!state->deopt_content || !ep_read_word(ep_enter_sp(w), &s->pair[0]) ||
	    !ep_read_word(s->pair[0], &s->value) ||
	    !ep_read_word(s->value + state->deopt_input, &s->value) ||
	    !ep_read_word(s->value, &s->pair[1]))
		return false;
	EP_MEET();
	end = s->pair[0] + 8;
	from_end = end - fp;
	if (end <= ep_enter_sp(w) || from_end - 16 >= V8_FRAME_MAX || from_end > s->pair[1] ||
	    !see_frame(w, s->value + state->deopt_content + s->pair[1] - from_end))
		return false;
	w->s->at.sp = end;
	return true;
}

/* BaselineOutOfLinePrologue has made it, and is left with rsp as when it was called: above rbp. */
static __always_inline bool see_words(const struct v8_walk *w, __u64 fp)
{
	w->s->at.sp = fp + 16;
	if (fp & 7)
		return false;
	if (is_taken_off(w, fp))
		return see_taken_off(w, fp);
	return fp + 8 - ep_enter_sp(w) < V8_FRAME_MAX && see_frame(w, fp);
}

static __always_inline void step_frame(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;

	if (!see_words(w, ep_enter_fp(w)) || !find_type(w, get_slot(w, -1))) {
		fail_frame(w, is_in_deopt(w) ? V8_ERROR_DEOPT : V8_ERROR_FRAME);
		return;
	}
	at->pc = get_slot(w, 1);
	at->fp = get_slot(w, 0);
	at->how = V8_HOW_KNOWN;
	describe_frame(w);
	EP_MEET();
	look_at_type(w);
	EP_MEET();
	if (!at->pc)
		fail(w, ep_self.first_error + V8_ERROR_STACK);
}

/* --- where it was interrupted ----------------------------------------------------------------- */

/* Where the frame was a moment ago: into pair, what is 16 bytes below its rbp and what is above
 * that. */
static __always_inline bool read_left(const struct v8_walk *w)
{
	const __u64 *regs = w->rec->walk.regs;
	__u64 says = w->s->says, words = 0;

	words += 3 * ep_is_set(says & V8_SHAPE_BELOW_3);
	words += 4 * ep_is_set(says & V8_SHAPE_BELOW_4);
	words += 5 * ep_is_set(says & V8_SHAPE_BELOW_5);
	words += regs[V8_REG_RCX] * ep_is_set(says & V8_SHAPE_BY_RCX);
	words += regs[V8_REG_R8] * ep_is_set(says & V8_SHAPE_BY_R8);
	return words && !bpf_probe_read_user(w->s->pair, sizeof(w->s->pair),
					     (void *)(ep_enter_sp(w) - 8 * words));
}

/* What begins: the code says what it is to be, registers have what is to be in the frame. */
static __always_inline void describe_begun(const struct v8_walk *w)
{
	const __u64 *regs = w->rec->walk.regs;

	if (w->s->says & V8_SHAPE_REGEXP) {
		be_regexp(w);
	} else if (w->s->type_byte) {
		find_type(w, w->s->type_byte);
		describe_typed(w, regs[V8_REG_RSI]);
	} else {
		w->s->at.is_function = 1;
		w->s->at.function = ep_enter_knows(w, V8_REG_RDI) ? regs[V8_REG_RDI] : 0;
	}
}

/* What has ended: the words of its frame are there yet, below rsp. */
static __always_inline void describe_left(const struct v8_walk *w)
{
	if (!read_left(w) || !find_type(w, w->s->pair[1]))
		be_code(w, V8_FRAME_CODE);
	else if (!w->s->at.is_function)
		describe_typed(w, w->s->pair[0]);
	else if (is_regexp(w, w->s->pair[0]))
		be_regexp(w);
	else
		w->s->at.function = w->s->pair[0];
}

static __always_inline void describe_bare(const struct v8_walk *w)
{
	w->s->at.as = w->s->at.where == V8_IN_BLOB ? V8_AS_ENTERED : V8_AS_BARE;
	if (w->s->at.where == V8_IN_BLOB && !is_in_trampoline(w))
		w->s->at.what = V8_PUSH_NATIVE;
	else if (w->s->says & (V8_SHAPE_RDI | V8_SHAPE_REGEXP) || w->s->type_byte)
		describe_begun(w);
	else
		describe_left(w);
}

/* A frame that is not there, or not whole: what the code around the pc says. */
static __always_inline void step_bare(const struct v8_walk *w)
{
	struct v8_frame_at *at = &w->s->at;
	__u64 says = w->s->says, bare = ep_is_set(says & (V8_SHAPE_LEFT | V8_SHAPE_IN_R10));
	__u64 pushed = ep_is_set(says & V8_SHAPE_PUSHED),
	      in_reg = ep_is_set(says & V8_SHAPE_IN_R10);
	__u64 slot = ep_pick(bare, ep_enter_sp(w),
			     ep_pick(pushed, ep_enter_sp(w) + 8, ep_enter_fp(w) + 8));

	if (bpf_probe_read_user(w->s->pair, sizeof(w->s->pair), (void *)(slot - 8))) {
		fail_frame(w, V8_ERROR_FRAME);
		return;
	}
	at->fp = ep_pick(bare, ep_enter_fp(w), w->s->pair[0]);
	at->pc = ep_pick(in_reg, w->rec->walk.regs[V8_REG_R10], w->s->pair[1]);
	at->sp = slot + 8 - 8 * in_reg;
	at->how = V8_HOW_KNOWN;
	describe_bare(w);
}

/* InterpreterEntryTrampoline: its frame is made at iet_push. */
static __always_inline void read_trampoline(const struct v8_walk *w)
{
	__u64 off = get_offset(w) - w->state->iet_push;

	if ((__s64)off <= 0)
		w->s->says = V8_SHAPE_LEFT | V8_SHAPE_RDI;
	else if (off < 4)
		w->s->says = V8_SHAPE_PUSHED | V8_SHAPE_RDI;
	else if (off < 6)
		w->s->says = V8_SHAPE_RDI;
}

/* Is what rsp points to what a call pushed? */
static __always_inline bool has_return_address(const struct v8_walk *w)
{
	return ep_read_word(ep_enter_sp(w), &w->s->value) &&
	       find_where(w, w->s->value - 1) < V8_OUTSIDE && is_behind_call(w, w->s->value);
}

/* Of that call: one by rel32 leads to where the code that runs begins, unless it was a jump that
 * led on. */
static __always_inline __u64 is_called_here(const struct v8_walk *w)
{
	__u64 target = w->s->value + (__u64)((__s64)w->s->before >> 32);
	__u64 is_near = (w->rec->walk.pc - target - V8_STUB_MAX) >> 63 &
			~((w->rec->walk.pc - target) >> 63);

	return ep_is_set((w->s->before >> 24 & 0xff) ^ 0xe8) | is_near;
}

/*
 * What the code says counts where it can be so: after its call of BaselineOutOfLinePrologue, which
 * was interrupted, the function is in rdi, and the frame is where that makes it or is not there.
 * And where no shape is known of a heap's builtin (8, 10), or no row of another, it has none, if a
 * return address is there. The trampoline has a frame where it asks for better code before it makes
 * the function's.
 */
static __always_inline void judge_code(const struct v8_walk *w)
{
	struct v8_scratch *s = w->s;
	__u64 returns = has_return_address(w), is_leaf = w->rec->walk.interrupted & 1;
	__u64 is_made = ep_is_same(ep_enter_fp(w) + 8, ep_enter_sp(w)),
	      in_trampoline = is_in_trampoline(w);
	__u64 behind = ep_is_set(s->says & V8_SHAPE_BEHIND) & ep_enter_knows(w, V8_REG_RDI) &
		       (1 ^ is_leaf);
	__u64 asks = in_trampoline & (1 ^ returns) & ep_is_set(s->says & V8_SHAPE_LEFT), guessed;

	s->says = (s->says & ~(__u64)V8_SHAPE_BEHIND) * (is_leaf & (1 ^ asks));
	s->says |=
		behind * ep_pick(is_made, V8_SHAPE_RDI, (V8_SHAPE_LEFT | V8_SHAPE_RDI) * returns);
	s->type_byte *= is_leaf;
	guessed = returns & is_called_here(w) & is_leaf & (1 ^ in_trampoline) &
		  (ep_is_same(s->at.where, V8_IN_BLOB) |
		   ep_is_set(w->state->flags & V8_STATE_HEAP_BUILTINS)) &
		  ep_is_same(s->says | s->type_byte, 0);
	s->says |= V8_SHAPE_LEFT * guessed;
	s->counted += guessed;
}

static __always_inline void step_leaf(const struct v8_walk *w)
{
	w->s->says = 0;
	w->s->type_byte = 0;
	if (is_in_trampoline(w))
		read_trampoline(w);
	else if (w->s->at.where == V8_IN_JIT)
		read_code(w);
	EP_MEET();
	judge_code(w);
	EP_MEET();
	if (w->s->says | w->s->type_byte)
		step_bare(w);
	else
		step_frame(w);
}

#endif
