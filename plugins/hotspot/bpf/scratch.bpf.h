/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of a walk leave for each other. It is in maps, not on the stack, of which a verifier
 * remembers what was read where.
 */
#ifndef HOTSPOT_SCRATCH_BPF_H
#define HOTSPOT_SCRATCH_BPF_H

#include <ebpf-profiler/bpf/unwinder.h>

#include "plugins/hotspot/hotspot_shared.h"

/* What one frame is, and where its caller is. */
struct hotspot_frame_at {
	__u64 is;	    /* enum hotspot_is */
	__u64 how;	    /* enum hotspot_how */
	__u64 error;	    /* why the stack ends here, 0: it does not */
	__u64 pc, sp, fp;   /* the caller's */
	__u64 slot;	    /* where the return address is; sp is behind it */
	__u64 keeps_fp;	    /* the caller's fp is in the register, else below the slot */
	__u64 keeps_regs;   /* registers that the caller has as they are */
	__u64 may_stand;    /* it may have no bytes at all */
	__u64 pushes;	    /* it is a frame to show: */
	__u64 flags, aux, words[2], n_words;
};

enum hotspot_is {
	HOTSPOT_IS_OUTSIDE = 0, /* no code of ours */
	HOTSPOT_IS_LOST,	/* in a heap, but in no block */
	HOTSPOT_IS_BARRIER,	/* what is behind the frame before is in the heap of objects */
	HOTSPOT_IS_INTERPRETED,
	HOTSPOT_IS_ENTRY,
	HOTSPOT_IS_STUB,
	HOTSPOT_IS_METHOD,
	HOTSPOT_IS_FRAMELESS,
	HOTSPOT_IS_OTHER,
};

enum hotspot_how {
	HOTSPOT_HOW_NATIVE = 0, /* a native frame: the core's rules */
	HOTSPOT_HOW_KNOWN,	/* at.pc, at.sp, at.fp */
	HOTSPOT_HOW_SLOT,	/* at.slot */
	HOTSPOT_HOW_RULE,	/* the rule of the range */
	HOTSPOT_HOW_GUESS,	/* fp, if a return address is there, else a search */
	HOTSPOT_HOW_SEARCH,
	HOTSPOT_HOW_SKIPPED,	/* the walk is there already */
};

/*
 * What was written is read anew behind it: a compiler that knows it makes a copy of what follows for
 * each way that leads there, and a verifier walks all of them.
 */
#define HOTSPOT_MEET() __asm__ volatile("" ::: "memory")

struct hotspot_scratch {
	__u64 sequence;
	__u64 anchor; /* where the JavaFrameAnchor is that holds here; 0: the thread's */
	__u64 thread; /* struct JavaThread; 0: not looked for */
	__u64 low, bytes; /* all code of ours is in [low, low + bytes) */
	__u64 first, n_codes; /* its ranges, in entries from the first row */
	__u64 searched;	      /* frames whose caller was searched: HOTSPOT_COUNT_SEARCHED */
	__u64 block, block_end; /* of the CodeBlob whose bytes were read last, with its header */
	__u64 blob;		/* enum hotspot_blob of it */
	__u64 code_begin, code_end;
	__u64 frame_bytes;      /* of its frames; 0: but the return address */
	__u64 method, compiled; /* its Method; HOTSPOT_COMPILED_WORD */
	__u64 deopt, deopt_mh;  /* where those of its frames return to that are to be remade */
	__u64 name, name_blob; /* the name that was read last, and what it says */
	__u64 window, window_bytes, window_at; /* window.bpf.h */
	__u64 search_sp;       /* where the search for the return address goes on */
	__u64 searches;	       /* windows of it that are left; 0: the pc is where it is */
	__u64 last_frame;      /* place of the frame whose caller is searched, in words */
	__u64 exact;	       /* sp is where a frame of Java left it */
	__u64 sure;	       /* pc is what a call or jump of Java code is known to return to */
	__u64 seen;	       /* a frame of ours was pushed in this sample */
	__u64 says, made;      /* of the code around the pc that was interrupted: leaf.bpf.h */
	__u64 first_slot;      /* of the return address of the first frame; 0: it is no method's */
	__u64 first_keeps_fp, first_is_searched, first_sp_moved;
	__u64 spilled;	     /* bytes that its sp is lower, as its code says */
	__u64 pushed;	     /* the same, as what lies there says beyond doubt */
	__u64 searched_slot; /* of it, if that one is no good */
	__u64 link_slot, link; /* of the chain that begins there */
	struct hotspot_callee {
		__u64 begin, end, method; /* its code, its Method */
	} callee;
	__u64 has_stepped;     /* since it was entered */
	__u64 goes_on;	       /* this run is the one before, continued */
	struct hotspot_epoch { /* what is known of Methods holds in it alone */
		__u64 start_ns, image; /* of the program */
		__u64 counter_at, counter;
	} epoch;
	struct ep_code code;   /* the range that was found last */
	struct hotspot_frame_at at;
};
EP_SCRATCH(struct hotspot_scratch)

#define HOTSPOT_WINDOW	   64 /* words of the stack that are read at once, and searched */
#define HOTSPOT_WINDOWS	   8
#define HOTSPOT_CODE_BYTES 64 /* around a pc */
#define HOTSPOT_CODE_BACK  32
#define HOTSPOT_SLOTS	   10 /* words of a frame of the interpreter: its fp is at word 8 */
#define HOTSPOT_SLOTS_BACK 8

/* What a Method says, in an epoch: interpreter.bpf.h. */
struct hotspot_known {
	struct hotspot_epoch epoch;
	__u64 method; /* 0: none */
	__u64 const_method, quad; /* as struct hotspot_way has them */
	__u64 word;
};
#define HOTSPOT_KNOWN 128

#define HOTSPOT_HOPS	    128 /* are as dear to read as one */
#define HOTSPOT_HOPS_WITHIN 2

/* What was read: not zeroed for each sample. */
struct hotspot_buffers {
	__u8 block[512 + 8]; /* its header, its struct CodeBlob, as far as state->block_bytes */
	__u64 window[HOTSPOT_WINDOW]; /* of the stack */
	__u64 words[2 * HOTSPOT_WINDOW];
	__u8 code[HOTSPOT_CODE_BYTES + 8];
	__u64 pair[2]; /* saved fp, return address */
	struct hotspot_way way; /* of a Method */
	struct hotspot_known known[HOTSPOT_KNOWN];
	__u64 value, before;
	__u8 hops[HOTSPOT_HOPS]; /* of a segment map, as far as a segment */
	__u8 hop;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hotspot_buffers);
} hotspot_bytes SEC(".maps");

/* All that a step needs. */
struct hotspot_walk {
	struct ep_record *rec;
	const __u8 *chunk; /* the process's ranges are in it */
	const struct hotspot_state *state;
	struct hotspot_scratch *s;
	struct hotspot_buffers *b;
};

static __always_inline bool read_word(__u64 addr, __u64 *value)
{
	return bpf_probe_read_user(value, sizeof(*value), (void *)addr) == 0;
}

static __always_inline __u64 get_sp(const struct hotspot_walk *w)
{
	return w->rec->walk.regs[EP_REG_SP];
}

static __always_inline __u64 get_fp(const struct hotspot_walk *w)
{
	return w->rec->walk.regs[EP_REG_FP];
}

static __always_inline bool is_known(const struct hotspot_walk *w, __u32 reg)
{
	return w->rec->walk.known_regs >> (reg & 31) & 1;
}

/* The stack ends here. */
static __always_inline void fail(const struct hotspot_walk *w, __u32 error)
{
	w->s->at.error = error;
}

static __always_inline void fail_own(const struct hotspot_walk *w, __u32 error)
{
	w->s->at.error = ep_self.first_error + error;
}

/* May be code of ours: what it is in is not looked up. */
static __always_inline bool is_near(const struct hotspot_walk *w, __u64 addr)
{
	return addr - w->s->low < w->s->bytes;
}

static __always_inline const struct ep_code *get_code_at(const struct hotspot_walk *w, __u64 index)
{
	__u64 word = (EP_REF_WORD(w->rec->walk.rows) + index * EP_ENTRY_WORDS) &
		     (EP_CHUNK_WORDS - EP_ENTRY_WORDS);

	return (const struct ep_code *)(w->chunk + word * 4);
}

/* Where our ranges are, and where code of ours begins and ends: they are sorted. */
static __always_inline void find_bounds(const struct hotspot_walk *w)
{
	const struct ep_code_index *index =
		(const struct ep_code_index *)get_code_at(w, w->rec->walk.n_rows);

	if (w->s->n_codes)
		return;
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (w->rec->walk.slots[i] == ep_self.slot) {
			w->s->first = index->of[i].first;
			w->s->n_codes = index->of[i].n;
		}
	}
	HOTSPOT_MEET();
	w->s->low = get_code_at(w, w->s->first)->start;
	w->s->bytes = get_code_at(w, w->s->first + w->s->n_codes - 1)->end - w->s->low;
}

/*
 * The range of an address, into code; as ep_find_code, with the look-ups of maps done once, and in
 * numbers of 64 bits: of halves a verifier takes the same for different things.
 */
static __always_inline bool find_range(const struct hotspot_walk *w, __u64 addr)
{
	__u64 lo = w->s->first, len = w->s->n_codes;

	if (addr - w->s->code.start < w->s->code.end - w->s->code.start)
		return true;
	for (__u64 i = 0; i < EP_ENTRY_STEPS; i++) {
		__u64 half = len >> 1, below = (get_code_at(w, lo + half)->start - addr - 1) >> 63;

		EP_OPAQUE(below);
		lo += half & -below;
		len -= half;
	}
	w->s->code = *get_code_at(w, lo);
	return addr - w->s->code.start < w->s->code.end - w->s->code.start;
}

#endif
