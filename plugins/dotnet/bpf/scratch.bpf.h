/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of a walk leave for each other, and what each CPU remembers: for a return address
 * in code that is never freed, where its method begins and the rule to its caller.
 */
#ifndef DOTNET_SCRATCH_BPF_H
#define DOTNET_SCRATCH_BPF_H

#include "plugins/dotnet/dotnet_shared.h"
#include "plugins/shared/bpf/window.bpf.h"

#define DOTNET_REG_RBP 5 /* as unwind codes number it */

/* What a pc is in. */
enum dotnet_is {
	DOTNET_IS_OUTSIDE = 0, /* in no range of the runtime's map */
	DOTNET_IS_CODE,
	DOTNET_IS_STUB,
	DOTNET_IS_LOST, /* in a range, and in no code of it */
};

/*
 * base: rsp, or rbp. The caller's rsp is base + cfa, the return address below it; the caller's rbp
 * is at base + fp_at, or is in rbp still. Offsets may be negative.
 */
struct dotnet_rule {
	__u64 base_fp; /* 1: rbp */
	__u64 cfa;
	__u64 has_fp; /* 1: it is saved */
	__u64 fp_at;
};

/* What one frame is. */
struct dotnet_frame_at {
	__u64 is;	 /* enum dotnet_is */
	__u64 kind;	 /* enum dotnet_frame */
	__u64 start;	 /* the frame's offset counts from here: a method, a function */
	__u64 method;	 /* MethodDesc *, of collectible code */
	__u64 stub;	 /* enum dotnet_stub */
	__u64 begin, end; /* the function's code, or that of a part of it */
	__u64 unwind;	 /* address of its UNWIND_INFO */
	__u64 is_kept;	 /* its code is never freed */
	__u64 is_funclet; /* a part of its method that handles an exception, not a filter */
	__u64 is_early;	  /* interrupted where a funclet's rbp may not be its method's yet */
	__u64 by_pointer; /* its caller is found by rbp alone */
};

/* The range that was found last. */
struct dotnet_range_at {
	__u64 begin, bytes;
	__u64 flags, module, heap, list;
};

#define DOTNET_WINDOW	  64 /* words of the stack that are read at once */
#define DOTNET_MAX_SLOTS  24 /* of an UNWIND_INFO; CoreLib's have 11 at most */
#define DOTNET_SLOT_SPACE 32 /* with operands that lie after them */
#define DOTNET_LEAF_BYTES 32 /* of code after an interrupted pc */

struct dotnet_scratch {
	EP_ENTER_SCRATCH;
	__u64 tag; /* of the process, for what is remembered */
	struct dotnet_range_at range;
	struct dotnet_frame_at at;
	struct dotnet_rule rule;
	/* Of a funclet that was pushed: rbp of its method, 0 if there is none, or FP_UNKNOWN; where
	 * the method begins, and the record as it was then. */
	__u64 parent_fp, parent_start;
	struct ep_mark mark;
	__u64 call; /* the Frame that was looked at last: those before it are passed */
	/* What was read, and what searches are at: not zeroed for each sample. */
	EP_WINDOW(DOTNET_WINDOW) stack;
	__u64 fragment[DOTNET_FRAGMENT_WORDS];
	__u64 section[DOTNET_RANGE_BYTES / 8];
	__u64 heap[8];	 /* DOTNET_HEAP_BYTES of it */
	__u64 header[8]; /* DOTNET_HEADER_BYTES of it */
	__u64 search, found, len;
	union {
		__u32 nibbles[DOTNET_NIBBLE_WORDS];
		__u64 nibble_pairs[DOTNET_NIBBLE_WORDS / 2];
	};
	__u64 word, word_at, first; /* of the nibble map */
	__u64 is_cut; /* `word` is of the first window, whose last word was cut */
	__u64 base;   /* what the functions' offsets count from */
	__u32 function[3]; /* RUNTIME_FUNCTION */
	__u32 begin;
	__u32 count, kind;
	struct {
		__u8 version_flags, prologue, n_slots, frame;
		__u16 slots[DOTNET_SLOT_SPACE];
	} unwind;
	__u64 skip, bad, total; /* of a search of a rule */
	__u64 rel, is_done;
	__u8 code[DOTNET_LEAF_BYTES + 8];
	__u64 code_at, verdict;
	__u64 before;
	__u64 thread, hijacked[2];
	__u64 check, name[DOTNET_NAME_WORDS];
	__u64 method, chunk[DOTNET_CHUNK_BYTES / 8], table[DOTNET_TABLE_WORDS];
};
EP_SCRATCH_UP_TO(struct dotnet_scratch, stack)

struct dotnet_walk {
	EP_ENTER_WALK(struct dotnet_state, struct dotnet_scratch);
};
#define EP_WALK		 struct dotnet_walk
#define EP_ENTER_LEAVES	 1
#define EP_ENTER_FRAMES	 DOTNET_MAX_FRAMES_PER_RUN
#define EP_ENTER_RESUMED DOTNET_COUNT_RESUMED
#include "plugins/shared/bpf/enter.bpf.h"

static __always_inline void fail(const struct dotnet_walk *w, __u32 error)
{
	w->s->error = ep_self.first_error + error;
}

/* A word of what was read, at an offset in bytes; the mask is for the verifier. */
#define DOTNET_WORD(words, off) (*(const __u64 *)((const __u8 *)(words) + ((off) & 56)))
#define DOTNET_INT(words, off)	(*(const __u32 *)((const __u8 *)(words) + ((off) & 60)))

/* --- what is remembered --------------------------------------------------------------------- */

struct dotnet_known {
	__u64 addr, tag;
	__u64 start;
	__s32 cfa, fp_at;
	__u32 kind;
	__u32 flags; /* enum dotnet_memo_flag */
	__u64 pad;
};

enum dotnet_memo_flag {
	DOTNET_MEMO_BASE_FP = 1,
	DOTNET_MEMO_HAS_FP = 2,
	DOTNET_MEMO_FUNCLET = 4,
};

#define DOTNET_MEMO_SHIFT 10
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1u << DOTNET_MEMO_SHIFT);
	__type(key, __u32);
	__type(value, struct dotnet_known);
} dotnet_known SEC(".maps");

static __always_inline struct dotnet_known *find_memo(const struct dotnet_walk *w)
{
	w->s->key = (__u32)(((w->rec->walk.pc ^ w->s->tag) * 0x9e3779b97f4a7c15ull) >>
			    (64 - DOTNET_MEMO_SHIFT));
	return bpf_map_lookup_elem(&dotnet_known, &w->s->key);
}

static __always_inline bool recall(const struct dotnet_walk *w)
{
	const struct dotnet_known *memo = find_memo(w);
	__u64 differ;

	if (!memo)
		return false;
	differ = (memo->addr ^ w->rec->walk.pc) | (memo->tag ^ w->s->tag);
	if (differ)
		return false;
	w->s->at.is = DOTNET_IS_CODE;
	w->s->at.kind = memo->kind;
	w->s->at.start = memo->start;
	w->s->rule.base_fp = memo->flags & DOTNET_MEMO_BASE_FP;
	w->s->rule.has_fp = memo->flags >> 1 & 1;
	w->s->at.is_funclet = memo->flags >> 2 & 1;
	w->s->rule.cfa = (__u64)(__s64)memo->cfa;
	w->s->rule.fp_at = (__u64)(__s64)memo->fp_at;
	return true;
}

static __always_inline void remember(const struct dotnet_walk *w)
{
	const struct dotnet_rule *rule = &w->s->rule;
	struct dotnet_known *memo = find_memo(w);

	if (!memo)
		return;
	memo->addr = w->rec->walk.pc;
	memo->tag = w->s->tag;
	memo->kind = (__u32)w->s->at.kind;
	memo->start = w->s->at.start;
	memo->cfa = (__s32)rule->cfa;
	memo->fp_at = (__s32)rule->fp_at;
	memo->flags = (__u32)(rule->base_fp | rule->has_fp << 1 | w->s->at.is_funclet << 2);
}

#endif
