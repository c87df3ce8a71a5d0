/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of a walk leave for each other. It is in maps, not on the stack, of which a
 * verifier remembers what was read where.
 */
#ifndef V8_SCRATCH_BPF_H
#define V8_SCRATCH_BPF_H

#include "plugins/shared/bpf/seen.bpf.h"
#include "plugins/shared/bpf/shapes.bpf.h"
#include "plugins/shared/bpf/window.bpf.h"
#include "plugins/v8/v8_shared.h"

enum v8_reg {
	V8_REG_RCX = 2,	 /* the number of arguments, where a frame is left: 16 and up */
	V8_REG_RBX = 3,
	V8_REG_RSI = 4,	 /* the instance, where a function of WebAssembly begins */
	V8_REG_RDI = 5,	 /* the JSFunction, where one of JavaScript begins */
	V8_REG_R8 = 8,	 /* as rcx, of Maglev's code */
	V8_REG_R10 = 10, /* the return address, while arguments are dropped */
	V8_REG_R12 = 12,
	V8_REG_ROOT = 13,
};

/* Where a pc is. */
enum v8_where {
	V8_IN_JIT = 0, /* memory that no file backs */
	V8_IN_BLOB,
	V8_OUTSIDE,
	V8_NOWHERE, /* in no mapping that is known, or what it is of is not */
	V8_WHERES,
};

/* What is pushed of a frame: bits, in this order. */
enum v8_what {
	V8_PUSH_GC = 1,
	V8_PUSH_NATIVE = 2, /* a builtin: an address in a file */
	V8_PUSH_WORDS = 4,  /* at.words */
};

/* How its caller is found. */
enum v8_how {
	V8_HOW_KNOWN = 0, /* at.pc, at.sp, at.fp */
	V8_HOW_NATIVE,	  /* by the core's rules */
	V8_HOW_FOREIGN,	  /* it is no frame of V8's */
};

enum v8_last {
	V8_LAST_OTHER = 0,
	V8_LAST_NATIVE,	  /* of the core's words */
	V8_LAST_CODE,	  /* the same, as a frame of ours */
	V8_LAST_FUNCTION, /* a construct frame says how it was called */
};

/* What the frame of a function is. */
enum v8_as {
	V8_AS_COMPILED = 0,
	V8_AS_INTERPRETED,
	V8_AS_ENTERED, /* the interpreter begins or ends */
	V8_AS_BARE,    /* its frame is not there, or what it runs is not known */
};

/* What one frame is, and where its caller is. */
struct v8_frame_at {
	__u64 where;  /* enum v8_where; V8_IN_JIT also where it is_new */
	__u64 is_new; /* in no mapping that is known: V8 has made it, or a library was loaded, just
			 now */
	__u64 how;   /* enum v8_how */
	__u64 what;  /* enum v8_what */
	__u64 pc, sp, fp; /* the caller's */
	__u64 type;	  /* enum v8_type */
	__u64 is_function; /* its word below rbp is a context, and no type: it is named by */
	__u64 function, as; /* JSFunction, with its tag; enum v8_as */
	__u64 is_interrupted;
	__u64 kind, flags, aux, words[3], n_words; /* enum v8_frame */
};

/* Rows of the last addresses that were looked up. */
struct v8_near {
	__u64 start, bytes;
};

#define V8_WINDOW     64 /* words of the stack that are read at once */
#define V8_SLOTS_BACK 8	 /* words of a frame below its rbp that are looked at */
#define V8_SLOTS      10

struct v8_scratch {
	EP_ENTER_SCRATCH; /* `gave_back`: where a builtin was interrupted that has rows */
	__u64 blob;	      /* where the blob begins whose row is in near[V8_IN_BLOB] */
	__u64 blob_va, executable; /* of that row */
	__u64 last;	    /* what the frame that was pushed last is: enum v8_last */
	__u64 last_type;    /* of that: enum v8_type */
	__u64 function_at;  /* place of the header of the function's, in words */
	__u64 near_leaf;    /* the frame before was interrupted */
	__u64 passed_entry, exit_fp; /* of the last JSEntry: rbp of the exit frame before it */
	__u64 seen;	    /* a frame of V8's was walked in this sample */
	__u64 says, type_byte; /* of the code around the pc that was interrupted: leaf.bpf.h */
	struct v8_near near[V8_WHERES];
	struct v8_frame_at at;
	/* What was read: not zeroed for each sample. */
	EP_WINDOW(V8_WINDOW) stack;
	struct ep_code_bytes code; /* around the pc that was interrupted */
	__u64 cookie[V8_COOKIE_WORDS];
	__u64 pair[2]; /* saved fp, return address */
	__u64 shared, before;
	__u16 vm_state;
};
EP_SCRATCH_UP_TO(struct v8_scratch, stack)

struct v8_walk {
	EP_ENTER_WALK(struct v8_state, struct v8_scratch);
};
/* Frames that may not be there, or not whole: what was interrupted and, where that is a builtin,
 * what called it. */
#define EP_WALK		 struct v8_walk
#define EP_ENTER_LEAVES	 2
#define EP_ENTER_FRAMES	 96
#define EP_ENTER_COUNTER V8_COUNT_GUESSED
#define EP_ENTER_RESUMED V8_COUNT_RESUMED
#include "plugins/shared/bpf/enter.bpf.h"

static __always_inline void fail(const struct v8_walk *w, __u32 error)
{
	w->s->error = error;
}

/* No frame of V8's: where it was entered it may be another's code, else the stack ends. */
static __always_inline void fail_frame(const struct v8_walk *w, __u32 error)
{
	w->s->error = ep_self.first_error + error;
	w->s->at.how = V8_HOW_FOREIGN;
}

static __always_inline bool is_tagged(__u64 word)
{
	return (word & 3) == 1 && word >> 16;
}

/* Brings the words of the frame at fp into the window; get_slot says what they are. */
static __always_inline bool see_frame(const struct v8_walk *w, __u64 fp)
{
	return EP_WINDOW_SEE(&w->s->stack, w->s->sequence, fp - V8_SLOTS_BACK * 8, V8_SLOTS * 8);
}

/* A word of the frame that was seen last, counted from its fp. */
static __always_inline __u64 get_slot(const struct v8_walk *w, __s64 slot)
{
	return EP_WINDOW_WORD(&w->s->stack, V8_SLOTS_BACK + slot);
}

/* --- code ------------------------------------------------------------------------------------- */

/* Whose a row is: ours by a range of ours, anybody's, a file's, or not known yet. */
static __always_inline __u64 whose(const struct ep_row *row)
{
	__u64 slot = EP_ROW_SLOT(row->executable), is_file = EP_ROW_ID(row->executable);

	if (slot == ep_self.slot)
		return V8_IN_BLOB;
	if (is_file || (slot && slot != EP_ROW_SLOT_ANY))
		return V8_OUTSIDE;
	return slot ? V8_IN_JIT : V8_NOWHERE;
}

/* Its begin may be below the mapping's. */
static __always_inline void note_blob(const struct v8_walk *w, const struct ep_row *row)
{
	w->s->blob_va = row->va;
	w->s->executable = EP_ROW_ID(row->executable);
	w->s->blob = row->start - row->va + w->state->blob_va;
}

static __always_inline __u64 look_up(const struct v8_walk *w, __u64 addr)
{
	const struct ep_row *row = ep_last_row(w->rec, w->chunk, addr);
	__u64 bytes = row->end - row->start, where;

	if (addr - row->start >= bytes)
		return V8_NOWHERE;
	where = whose(row) & (V8_WHERES - 1);
	w->s->near[where].start = row->start;
	w->s->near[where].bytes = bytes;
	if (where == V8_IN_BLOB)
		note_blob(w, row);
	return where;
}

static __always_inline __u64 find_where(const struct v8_walk *w, __u64 addr)
{
#pragma unroll
	for (__u32 i = 0; i < V8_NOWHERE; i++) {
		if (addr - w->s->near[i].start < w->s->near[i].bytes)
			return i;
	}
	return look_up(w, addr);
}

/* Of a pc in the blob: from its begin. */
static __always_inline __u64 get_offset(const struct v8_walk *w)
{
	return w->rec->walk.pc - w->s->blob;
}

#endif