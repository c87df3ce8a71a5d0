/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-steps a Java thread and walks its stack at every instruction, with the plugin's own
 * program (core/replay); what it says of the caller is compared with what the executed
 * instructions say.
 *
 *	blobs.c		what an address of the code cache is in, by the VM's tables alone
 *	shadow.c	who called whom, from calls, returns, pushes and pops
 *	caller.c	which caller a walk shows
 *	judge.c		a sample's caller: is it right?
 *	step_hotspot.c	a stretch, its samples
 *
 * All else is tests/kit/step's.
 */
#ifndef HOTSPOT_STEP_H
#define HOTSPOT_STEP_H

#include "core/base/vec.h"
#include "tests/kit/step/step.h"

#include <stdbool.h>
#include <stdint.h>

#define STEP_NAME_BYTES 40

/* --- blobs.c */

enum blob_kind {
	BLOB_OTHER,
	BLOB_INTERPRETER,
	BLOB_ADAPTER,
	BLOB_DEOPT,
	BLOB_SAFEPOINT,
	BLOB_EXCEPTION,
	BLOB_NMETHOD,
};

struct blob {
	uint64_t start, end; /* of struct CodeBlob; of all that it has */
	uint64_t code;
	enum blob_kind kind;
	int64_t frame_bytes;	/* of a compiled frame, with its return address */
	int64_t frame_complete; /* from `code` on */
	char name[STEP_NAME_BYTES];
};

struct blobs;

/* NULL: no memory. What is not understood of the VM ends the program. */
struct blobs *blobs_new(pid_t pid);
void blobs_free(struct blobs *blobs);
/* False: it is in no heap of code, or no block there is used. */
bool blobs_find(struct blobs *blobs, uint64_t addr, struct blob *ret);

/* --- shadow.c */

#define SHADOW_MAX 4096

enum fate {
	FATE_OPEN,     /* it was there when the stretch ended */
	FATE_RETURNED, /* a return went there */
	FATE_PATCHED,  /* a return took another address from where it was: deoptimization */
	FATE_THROWN,   /* an exception went on from there */
	FATE_UNWOUND,  /* cut off: deoptimization, or what is not understood */
	FATE_UNKNOWN,  /* it was never seen where it returns to */
};

struct shadow_caller { /* one call's caller; samples refer to it, since it may be known later */
	uint64_t addr;
	enum fate fate;
};

enum shadow_where {
	SHADOW_AT_SLOT,
	SHADOW_IN_REGISTER,
	SHADOW_EXPECTED, /* to be stored at the slot by code that a signal led to */
	SHADOW_UNKNOWN,	 /* the first frame of a stretch: called before */
};

struct shadow_entry {
	uint64_t slot;
	uint32_t caller; /* index in callers */
	enum shadow_where where;
	uint64_t blob;	  /* SHADOW_UNKNOWN: start of the one it was in */
	bool is_call_next; /* "call" of the next instruction, to get an address */
	bool is_within;	   /* the interpreter called a piece of itself: its frame is the same */
};

struct shadow {
	struct tracee *tracee;
	struct blobs *blobs;
	struct ep_vec callers; /* struct shadow_caller */
	struct shadow_entry entries[SHADOW_MAX];
	size_t n;
	uint64_t pushed, pushed_at; /* by the interpreter: maybe a return address */
	uint64_t returns, returns_elsewhere, lost;
};

void shadow_init(struct shadow *shadow, struct tracee *tracee, struct blobs *blobs);
void shadow_fini(struct shadow *shadow);
/* A stretch begins: nothing is known. */
int shadow_begin(struct shadow *shadow);
static inline struct shadow_entry *shadow_top(struct shadow *shadow)
{
	return &shadow->entries[shadow->n - 1];
}
static inline struct shadow_caller *shadow_caller(const struct shadow *shadow, uint32_t i)
{
	return ep_vec_at(&shadow->callers, struct shadow_caller, i);
}
/* Who called the frame that runs now. */
const struct shadow_entry *shadow_calling(const struct shadow *shadow, const struct blob *blob);
/* The instruction at before's pc, whose bytes are `code`, in `blob`, was executed. */
int shadow_step(struct shadow *shadow, const struct user_regs_struct *before, const uint8_t *code,
		const struct blob *blob);
/* The return out of native code that was not stepped. */
void shadow_returned(struct shadow *shadow);
/* A signal's handler has let the thread go on elsewhere than where it was. */
int shadow_moved(struct shadow *shadow, const struct user_regs_struct *before,
		 const struct blob *blob);

/* --- caller.c */

struct java_walker;

struct walked {
	uint64_t caller; /* return address; 0: none was found */
	uint64_t leaf;	 /* what the first frame says where it is */
	uint32_t error;
	uint32_t n_frames;
	uint32_t header[3]; /* of the first frames: kind, flags, words */
	bool is_seen;	/* the caller is where the walk was seen, not what a frame says */
};

int java_walker_new(pid_t pid, const char *plugins, struct java_walker **ret_walker);
void java_walker_free(struct java_walker *walker);
int java_walker_walk(struct java_walker *walker, const struct tracee *tracee, struct walked *ret);

/* --- judge.c */

struct sample {
	char name[2 * STEP_NAME_BYTES]; /* of the kind of code */
	bool is_counted;		/* the bar is for it */
	uint32_t caller;		/* in shadow->callers */
	uint64_t pc, sp, start, now;	/* now: what was in the slot at that moment; 0: unknown */
	uint64_t within; /* where the interpreter called a piece of itself: may be named too */
	struct walked walked;
	uint8_t code[2 * STEP_CODE_BYTES]; /* before pc, and from it on */
};

/* Compares all samples of the run. */
void judge_all(struct stepping *run, const struct shadow *shadow);

#endif
