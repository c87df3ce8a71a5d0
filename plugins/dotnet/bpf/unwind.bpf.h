/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a function's UNWIND_INFO to the rule for its caller. Windows' codes for x64, and CoreCLR's
 * own number 11 (inc/win64unwind.h, jit/unwindamd64.cpp, unwinder/amd64/unwinder.cpp, v8.0.0):
 *
 *	version:3 flags:5 | bytes of the prologue | slots | frame register:4 its offset / 16:4
 *	slots, the last instruction first: u8 offset after it | op:4 info:4
 *		0 push; 1 allocate much, in the next slot or two; 2 allocate (info + 1) * 8
 *		3 set the frame register; 11 the same, its offset in the next two slots
 *		4 save at the next slot * 8; 5 the same, in two slots; 8, 9 of xmm registers
 *
 * In the prologue only what was done is undone, also where it calls (JIT_StackProbe). Slots of
 * offset 0 are of the frame that code of on-stack replacement has taken over, and always hold.
 * Epilogues have no codes: leaf.bpf.h.
 */
#ifndef DOTNET_UNWIND_BPF_H
#define DOTNET_UNWIND_BPF_H

#include "plugins/dotnet/bpf/scratch.bpf.h"

#define UNWIND_VERSION 1
#define UNWIND_CHAINED (4 << 3)
#define UNWIND_SHORT   16 /* slots that are read where there are no more bytes */

/* What a slot does, as factors: each way through it is the same one. */
struct unwind_op {
	__u8 operands, is_bad;
	__u8 bytes, by_info, by_next, by_both; /* that are allocated */
	__u8 pushes;			       /* a register, at what was allocated so far */
	__u8 saves, at_next, at_both;	       /* one, from the frame's end on */
	__u8 sets, off_both;		       /* the frame register */
	__u8 pad[4];
};

/* The arguments are of what allocates much, which is another one where the slot's info is 0. */
#define BAD {.is_bad = 1}
#define OPS(at, ...) \
	[(at) + 0] = {.bytes = 8, .pushes = 1}, [(at) + 1] = {__VA_ARGS__}, \
	[(at) + 2] = {.bytes = 8, .by_info = 8}, [(at) + 3] = {.sets = 1}, \
	[(at) + 4] = {.operands = 1, .saves = 1, .at_next = 8}, \
	[(at) + 5] = {.operands = 2, .saves = 1, .at_both = 1}, \
	[(at) + 6] = BAD, [(at) + 7] = BAD, [(at) + 8] = {.operands = 1}, \
	[(at) + 9] = {.operands = 2}, [(at) + 10] = BAD, \
	[(at) + 11] = {.operands = 2, .sets = 1, .off_both = 1}, \
	[(at) + 12] = BAD, [(at) + 13] = BAD, [(at) + 14] = BAD, [(at) + 15] = BAD
static const struct unwind_op unwind_ops[32] = {
	OPS(0, .operands = 2, .by_both = 1), OPS(16, .operands = 1, .by_next = 8),
};
#undef OPS
#undef BAD

static __always_inline bool read_unwind(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	if (bpf_probe_read_user(&s->unwind, 4 + 2 * DOTNET_MAX_SLOTS, (void *)s->at.unwind) &&
	    bpf_probe_read_user(&s->unwind, 4 + 2 * UNWIND_SHORT, (void *)s->at.unwind))
		return false;
	return (s->unwind.version_flags & 7) == UNWIND_VERSION &&
	       !(s->unwind.version_flags & UNWIND_CHAINED) && s->unwind.n_slots <= DOTNET_MAX_SLOTS;
}

static __always_inline __u64 get_slot(const struct dotnet_walk *w, __u64 i)
{
	return w->s->unwind.slots[i & (DOTNET_SLOT_SPACE - 1)];
}

/*
 * One slot, without branches, which a compiler makes of numbers that it knows to be 0 or 1. s->rel:
 * of the pc in the function; all holds after the prologue.
 */
static __always_inline void take_slot(const struct dotnet_walk *w, __u64 i)
{
	struct dotnet_scratch *s = w->s;
	struct dotnet_rule *rule = &s->rule;
	__u64 slot = get_slot(w, i), next = get_slot(w, i + 1),
	      both = next | get_slot(w, i + 2) << 16;
	__u64 info = slot >> 12, far = (info - 1) >> 63, is_op = (s->skip - 1) >> 63;
	__u64 off = slot & 255, index, is_undone, fp, fp_at;
	const struct unwind_op *op;

	EP_OPAQUE(far);
	EP_OPAQUE(is_op);
	/* A sum: to 5.10 what an or has made has no bounds. */
	index = slot >> 8 & 15;
	EP_OPAQUE(index);
	index &= 15;
	op = &unwind_ops[index] + (far & 1) * 16;
	s->bad |= is_op & op->is_bad;
	s->skip += is_op * (op->operands + 1ull) - 1;
	is_undone = (s->rel - off) >> 63;
	EP_OPAQUE(is_undone);
	is_op &= s->is_done | (is_undone ^ 1);
	EP_OPAQUE(is_op);
	fp = is_op & ep_is_same(info, DOTNET_REG_RBP) & (op->pushes | op->saves);
	EP_OPAQUE(fp);
	fp_at = op->pushes * s->total + op->at_next * next + op->at_both * both;
	rule->has_fp |= fp;
	rule->fp_at += fp * (fp_at - rule->fp_at);
	rule->base_fp |= is_op & op->sets;
	s->base += (is_op & op->off_both) * (both * 16 - s->base);
	s->total +=
		is_op * (op->bytes + op->by_info * info + op->by_next * next + op->by_both * both);
}

/* False: it is not understood. */
static __always_inline bool find_rule(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;

	if (!read_unwind(w))
		return false;
	EP_MEET();
	s->rel = w->rec->walk.pc - s->at.begin;
	s->is_done = 1 ^ (s->rel - s->unwind.prologue) >> 63;
	s->skip = s->bad = s->total = 0;
	s->base = (s->unwind.frame >> 4) * 16;
	s->rule.base_fp = s->rule.has_fp = s->rule.fp_at = 0;
	for (__u64 i = 0; i < DOTNET_MAX_SLOTS; i++) {
		if (i >= s->unwind.n_slots)
			break;
		take_slot(w, i);
	}
	EP_MEET();
	s->base *= s->rule.base_fp;
	s->rule.cfa = s->total + 8 - s->base;
	s->rule.fp_at -= s->base;
	s->bad |= s->rule.base_fp & ep_is_set((s->unwind.frame & 15) ^ DOTNET_REG_RBP);
	return !s->bad;
}

/* As if the function had pushed rbp and set it. */
static __always_inline void guess_rule(const struct dotnet_walk *w)
{
	w->s->at.by_pointer = 1;
	w->s->at.is_kept = 0;
	w->s->rule.base_fp = w->s->rule.has_fp = 1;
	w->s->rule.cfa = 16;
	w->s->rule.fp_at = 0;
	ep_count(DOTNET_COUNT_POINTER);
	if (ep_enter_fp(w) < ep_enter_sp(w) || (ep_enter_fp(w) & 7))
		fail(w, DOTNET_ERROR_UNWIND);
}

/* The caller's registers by the rule. */
static __always_inline void follow_rule(const struct dotnet_walk *w)
{
	struct dotnet_scratch *s = w->s;
	__u64 base = ep_pick(s->rule.base_fp, ep_enter_fp(w), ep_enter_sp(w)),
	      cfa = base + s->rule.cfa;

	s->exit.sp = cfa;
	s->exit.fp = ep_enter_fp(w);
	if (!EP_WINDOW_SEE(&s->stack, s->sequence, cfa - 16, 16)) {
		s->error = EP_ERROR_BAD_READ;
		return;
	}
	EP_MEET();
	s->exit.pc = EP_WINDOW_WORD(&s->stack, 1);
	if (s->rule.has_fp && s->rule.fp_at + 16 == s->rule.cfa)
		s->exit.fp = EP_WINDOW_WORD(&s->stack, 0);
	else if (s->rule.has_fp && !ep_read_word(base + s->rule.fp_at, &s->exit.fp))
		s->error = EP_ERROR_BAD_READ;
}

#endif
