/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of a walk leave for each other. It is in maps, not on the stack, of which a
 * verifier remembers what was read where.
 */
#ifndef HOTSPOT_SCRATCH_BPF_H
#define HOTSPOT_SCRATCH_BPF_H

#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/shared/bpf/seen.bpf.h"
#include "plugins/shared/bpf/shapes.bpf.h"
#include "plugins/shared/bpf/window.bpf.h"

/* What one frame is, and where its caller is. */
struct hotspot_frame_at {
	__u64 is;	    /* enum hotspot_is */
	__u64 how;	    /* enum hotspot_how */
	__u64 pc, sp, fp;   /* the caller's */
	__u64 slot;	    /* where the return address is; sp is after it */
	__u64 keeps_fp;	    /* the caller's fp is in the register, else below the slot */
	__u64 keeps_regs;   /* registers that the caller has as they are */
	__u64 may_stand;    /* it may have no bytes at all */
	__u64 pushes;	    /* it is a frame to show: */
	__u64 flags, aux, words[2], n_words;
};

enum hotspot_is {
	HOTSPOT_IS_OUTSIDE = 0, /* no code of ours */
	HOTSPOT_IS_LOST,	/* in a heap, but in no block */
	HOTSPOT_IS_BARRIER,	/* what is after the frame before is in the heap of objects */
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

#define HOTSPOT_WINDOW	   64 /* words of the stack that are read at once, and searched */
#define HOTSPOT_WINDOWS	   8
#define HOTSPOT_SLOTS	   10 /* words of a frame of the interpreter: its fp is at word 8 */
#define HOTSPOT_SLOTS_BACK 8

#define HOTSPOT_HOPS	    128 /* are as expensive to read as one */
#define HOTSPOT_HOPS_WITHIN 2

struct hotspot_epoch { /* what is known of Methods holds in it alone */
	__u64 start_ns, image; /* of the program */
	__u64 counter_at, counter;
};

/* What a Method says, in an epoch: interpreter.bpf.h. */
struct hotspot_known {
	struct hotspot_epoch epoch;
	__u64 method; /* 0: none */
	__u64 const_method, quad; /* as struct hotspot_way has them */
	__u64 word;
};
#define HOTSPOT_KNOWN 128

struct hotspot_scratch {
	EP_ENTER_SCRATCH; /* `counted`: frames whose caller was searched */
	__u64 anchor; /* where the JavaFrameAnchor is that holds here; 0: the thread's */
	__u64 thread; /* struct JavaThread; 0: not looked for */
	struct ep_seen_ranges ranges;
	__u64 block, block_end; /* of the CodeBlob whose bytes were read last, with its header */
	__u64 blob;		/* enum hotspot_blob of it */
	__u64 code_begin, code_end;
	__u64 frame_bytes;      /* of its frames; 0: but the return address */
	__u64 method, compiled; /* its Method; HOTSPOT_COMPILED_WORD */
	__u64 deopt, deopt_mh;  /* where those of its frames return to that are to be remade */
	__u64 name, name_blob; /* the name that was read last, and what it says */
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
	__u64 pushed;	     /* the same, as what lies there proves */
	__u64 searched_slot; /* of it, if that one is no good */
	__u64 pusha, pusha_seems;
	__u64 link_slot, link; /* of the chain that begins there */
	struct hotspot_callee {
		__u64 begin, end, method; /* its code, its Method */
	} callee;
	struct hotspot_epoch epoch;
	struct hotspot_frame_at at;
	/* What was read: not zeroed for each sample. */
	__u8 block_bytes[512 +
			 8]; /* its header, its struct CodeBlob, as far as state->block_bytes */
	EP_WINDOW(HOTSPOT_WINDOW) stack;
	__u64 words[2 * HOTSPOT_WINDOW];
	struct ep_code_bytes code; /* around the pc that was interrupted */
	__u64 pair[2]; /* saved fp, return address */
	struct hotspot_way way; /* of a Method */
	struct hotspot_known known[HOTSPOT_KNOWN];
	__u64 before;
	__u8 hops[HOTSPOT_HOPS]; /* of a segment map, as far as a segment */
	__u8 hop;
};
EP_SCRATCH_UP_TO(struct hotspot_scratch, block_bytes)

struct hotspot_walk {
	EP_ENTER_WALK(struct hotspot_state, struct hotspot_scratch);
};
#define EP_WALK		 struct hotspot_walk
#define EP_ENTER_FRAMES	 64
#define EP_ENTER_COUNTER HOTSPOT_COUNT_SEARCHED
#define EP_ENTER_RESUMED HOTSPOT_COUNT_ANCHORS
#include "plugins/shared/bpf/enter.bpf.h"

/* The stack ends here. */
static __always_inline void fail(const struct hotspot_walk *w, __u32 error)
{
	w->s->error = error;
}

static __always_inline void fail_own(const struct hotspot_walk *w, __u32 error)
{
	w->s->error = ep_self.first_error + error;
}

#endif
