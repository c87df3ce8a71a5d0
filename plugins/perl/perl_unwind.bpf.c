/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the contexts of Perl's interpreter, from the innermost one of the thread to the main
 * program. Contexts are in arrays, one for each "stackinfo", and these are a list (cop.h):
 *
 *	PL_curstackinfo ─► si_cxstack  | BLOCK | SUB | LOOP | EVAL | ◄─ si_cxix
 *	                   si_prev ─► si_cxstack | BLOCK | SUB |
 *	                              si_prev ─► NULL			the main one
 *
 * Of a frame the context says what was called and what is to go on with when it returns: the
 * caller's statement (blk_oldcop) and op (retop). So a frame's own statement is in the context
 * before it, towards the leaf, and in PL_curcop for the innermost one.
 *
 * A run loop (PL_runops) is called by C, and these of its frames end its group:
 *
 *	call_sv, overload, tie,	SUB with retop NULL: nothing to go on with, back to C. call_sv(G_EVAL)
 *	DESTROY, signals, ...	pushes an EVAL before it, which is also its frame
 *	sort, (?{}), MULTICALL	the first context of a stackinfo of its own, which stays there while C
 *				runs in between: then it is no frame
 *	eval_sv			EVAL with retop NULL, when its text is compiled
 *	docatch			EVAL that has a jump buffer of its own (pp_ctl.c: S_docatch)
 *	defer			DEFER
 *	perl_run		BLOCK at the bottom of the main stackinfo (pp_enter of the program)
 *
 * Whether an EVAL was docatch's is known when the EVAL around it is found, or where its run loop
 * began: both have the same jump buffer unless docatch made one; a run loop that catches nothing
 * (CATCH_SET(TRUE)) leaves that to the first EVAL in it. So there is a second, faster walk ahead, at
 * each EVAL (PL_PHASE_LOOK).
 */
#include "ebpf-profiler/bpf/unwinder.h"
#include "plugins/perl/perl_shared.h"

EP_UNWINDER();

/* About 2 300 instructions of the verifier each; ep_self.frames_per_run is lower. */
#define PL_MAX_CONTEXTS_PER_RUN 256

/* cop.h, v5.28.3 to v5.44.0: CXTYPEMASK, CXt_*, CXp_*. */
#define CX_TYPE_MASK 0xfu
enum cx_type {
	CX_NULL = 0, /* a sort block */
	CX_BLOCK = 2,
	CX_SUB = 9,
	CX_FORMAT = 10,
	CX_EVAL = 11,
	CX_DEFER = 13,
};
#define CX_MULTICALL 0x10u
#define CX_RE_FAKE   0x80u /* SUB: (?{}) that runs within the sub around it */
#define CX_EVALBLOCK 0x40u /* EVAL: eval {}, and call_sv(G_EVAL) */
#define CX_TRY	     0x80u /* EVAL, from 5.34 on; before it is nothing */

/* struct block, cop.h: the same in v5.28.3 to v5.44.0. */
#define CX_U16	 2
#define CX_COP	 16
#define CX_RETOP 48
#define CX_OP_SHIFT 7 /* blk_u16: CxOLD_OP_TYPE */

/* PERL_SI, cop.h: the same in v5.28.3 to v5.44.0. */
#define SI_CONTEXTS 8
#define SI_PREVIOUS 16
#define SI_INDEX    32
#define SI_BYTES    40

/* BASEOP, op.h: the same in v5.28.3 to v5.44.0. */
#define OP_NEXT	     0
#define OP_TYPE	     32
#define OP_TYPE_MASK 0x1ffu
#define OP_BYTES     40

/* struct STRUCT_SV, sv.h: sv_any, refcount, flags, sv_u. */
#define SV_WORDS      3
#define SV_U	      16
#define SV_TYPE_SHIFT 32 /* of the second word */
#define SV_TYPE_CV    13u /* SVt_PVCV */
#define SV_TYPE_FORM  14u /* SVt_PVFM */
#define SV_TYPE_HASH  12u /* SVt_PVHV */
#define GP_CV	      16  /* struct gp, gv.h: gp_cv */
#define GP_EGV	      56  /* gp_egv */

enum pl_phase {
	PL_PHASE_START = 0,
	PL_PHASE_WALK,
	PL_PHASE_LOOK, /* is the pending EVAL docatch's? */
	PL_PHASE_DONE,
};

enum pl_step {
	PL_STEP_AGAIN = 0,
	PL_STEP_END,
	PL_STEP_ERROR,
	PL_STEP_FULL,
};

/* What a context is. It is in memory, of which the verifier remembers nothing: each of the many ways
 * through classify() comes to the same state. */
struct pl_found {
	__u32 kind; /* enum pl_kind; PL_KIND_NONE: no frame */
	__u32 base; /* 1: the last one of its run loop */
	__u32 look; /* 1: docatch's? */
	__u32 leave; /* 1: what follows has the statement it was called from */
	__u64 cv;   /* 0: it has none */
	__u32 readable; /* 1: `body` is its body */
	__u32 fault;	/* 1: it could not be read */
	__u32 hidden;	/* 1: DB::sub, and C called it: the frame that it called is the last one */
};

struct pl_scratch {
	__u64 sequence;
	__u64 contexts, previous; /* of this stackinfo */
	__u64 cop, op;		  /* statement and op of the next frame */
	__u64 op_next;		  /* of PL_op */
	__u64 dbsub;		  /* CV of DB::sub, 0: none */
	__u64 look_env;
	__s64 at, back; /* indices of contexts: the next one to be read, and that after looking */
	__u32 op_type;	/* of PL_op; 0: also where there is none */
	__u32 phase;
	__u32 first;	/* 1: the innermost context is yet to be seen */
	__u32 leaf;	/* PL_FRAME_LEAF or 0: of the next frame */
	__u32 boundary; /* while looking: the first frame of the run loop was passed */
	/* The frame before: pushed when what it depends on is known. */
	__u32 kind;    /* PL_KIND_NONE: none */
	__u32 flags;   /* PL_FRAME_LEAF or 0 */
	__u32 base;    /* 1: the last of its run loop, or the fake EVAL behind it is */
	__u32 doubted; /* 1: its statement may be the caller's */
	__u32 n_frames;
	__u64 frame_cv, frame_what, frame_cop, frame_op, frame_check;
	__u64 compiling; /* address of PL_compiling */
	__u64 frame_file, frame_line; /* with PL_FRAME_FILE */
	__u64 text[2];		      /* the beginning of a file's name */
	__u64 name[2]; /* of a closure */
	__u64 hek[2];  /* the beginning of its name */
	__u64 file[PL_FILE_WORDS];
	struct pl_found found;
	__u32 type;	 /* of the context that was read */
	__u32 was_first; /* 1: it is the innermost one */
	__u32 merged;	 /* 1: it is the EVAL of call_sv(G_EVAL) */
	__u32 aux;	 /* of the frame that is pushed */
	__u32 blank;	 /* 1: nothing of it could be read */
	__u64 at_name;	 /* on the way to a name */
	__u64 sv[SV_WORDS];
	__u64 body[PL_CV_WORDS];
	__u64 op_words[OP_BYTES / 8];
	__u64 si[SI_BYTES / 8];
	__u32 cop_ints[PL_COP_INTS + 1];
	__u8 cx[PL_CX_BYTES];
};
EP_SCRATCH(struct pl_scratch)

static __always_inline bool read_word(__u64 addr, __u64 *value)
{
	return bpf_probe_read_user(value, sizeof(*value), (void *)addr) == 0;
}

/* What cannot be read is 0: the helper clears it. */
static __always_inline void read_or_zero(__u64 *value, __u64 addr)
{
	bpf_probe_read_user(value, sizeof(*value), (void *)addr);
}

static __always_inline __u64 cx_word(const struct pl_scratch *s, __u32 off)
{
	return *(const __u64 *)(s->cx + (off & (PL_CX_BYTES - 8)));
}

static __always_inline __u32 cx_op(const struct pl_scratch *s)
{
	return *(const __u16 *)(s->cx + CX_U16) >> CX_OP_SHIFT;
}

/*
 * Between two stages of a round: what a stage has found is in memory, of which the verifier remembers
 * nothing, so each stage is looked at once for all ways through those before it.
 */
#define PL_FORGET() __asm__ volatile("" : : : "memory")

/* 1 when a is not 0, without a branch. */
static __always_inline __u32 is_set(__u64 a)
{
	__u64 set = (a | (0 - a)) >> 63;

	EP_OPAQUE(set);
	return (__u32)set;
}

/* --- the interpreter -------------------------------------------------------------------------- */

static __always_inline bool take_stack(struct pl_scratch *s, __u64 stack)
{
	if (!stack || bpf_probe_read_user(s->si, SI_BYTES, (void *)stack))
		return false;
	s->contexts = s->si[SI_CONTEXTS / 8];
	s->previous = s->si[SI_PREVIOUS / 8];
	s->at = (__s32)(__u32)s->si[SI_INDEX / 8];
	return true;
}

static __always_inline void take_op(struct pl_scratch *s)
{
	if (!s->op || bpf_probe_read_user(s->op_words, OP_BYTES, (void *)s->op))
		return;
	s->op_next = s->op_words[OP_NEXT / 8];
	s->op_type = (__u32)s->op_words[OP_TYPE / 8] & OP_TYPE_MASK;
}

/* perl -d: a GV, whose sub calls all others, and is none to caller() (pp_ctl.c: caller_cx). */
static __always_inline void take_dbsub(const struct pl_state *state, struct pl_scratch *s,
				       __u64 interp)
{
	__u64 gv = 0;

	if (!state->dbsub_off || !read_word(interp + state->dbsub_off, &gv) || !gv)
		return;
	if (read_word(gv + SV_U, &gv) && gv)
		read_word(gv + GP_CV, &s->dbsub);
}

static __always_inline bool find_interpreter(const struct ep_record *rec,
					     const struct pl_state *state, __u64 *interp)
{
	if (state->interp.steps)
		return ep_read_tls(&state->interp, ep_thread_pointer(), interp) && *interp;
	if (state->holder_of_main && rec->sample.tid != rec->sample.pid)
		return false;
	if (state->holder_addr)
		return read_word(state->holder_addr, interp) && *interp;
	*interp = 0;
	return true;
}

/* The least of what attach asks: PL_defstash is a hash, PL_curstackinfo has no more than it may. */
static __always_inline bool is_likely(const struct pl_state *state, struct pl_scratch *s,
				      __u64 interp)
{
	__u64 stash = 0;

	if (!read_word(interp + state->defstash_off, &stash) || !stash ||
	    bpf_probe_read_user(s->sv, sizeof(s->sv), (void *)stash))
		return false;
	return ((s->sv[1] >> SV_TYPE_SHIFT) & 0xff) == SV_TYPE_HASH && s->at >= -1 &&
	       s->at <= (__s32)(s->si[SI_INDEX / 8] >> 32);
}

static __always_inline void start(struct ep_record *rec, const struct pl_state *state,
				  struct pl_scratch *s)
{
	__u64 interp = 0, stack = 0;

	s->phase = PL_PHASE_DONE;
	if (state->unproven)
		ep_ask_refresh(rec);
	if (!find_interpreter(rec, state, &interp)) {
		ep_count(PL_COUNT_NO_INTERPRETER);
		return;
	}
	if (!read_word(interp + state->op_off, &s->op) ||
	    !read_word(interp + state->cop_off, &s->cop) ||
	    !read_word(interp + state->stack_off, &stack) || !take_stack(s, stack) ||
	    (state->unproven && !is_likely(state, s, interp)))
		return;
	s->compiling = interp + state->compiling_off;
	take_op(s);
	take_dbsub(state, s, interp);
	s->first = 1;
	s->leaf = PL_FRAME_LEAF;
	s->phase = PL_PHASE_WALK;
}

/* --- the pending frame ------------------------------------------------------------------------ */

static __always_inline __u32 op_bits(const struct pl_scratch *s)
{
	__s64 words = (__s64)(s->frame_op - s->frame_cop) >> 3;

	if (s->flags & PL_FRAME_FILE)
		return s->frame_line & PL_OP_MASK;
	if (!s->frame_op || !s->frame_cop ||
	    (__u64)(words + (1 << (PL_OP_BITS - 1))) >= 1ull << PL_OP_BITS)
		return 0;
	return (__u32)words & PL_OP_MASK;
}

static __always_inline bool push_pending(struct ep_record *rec, struct pl_scratch *s)
{
	__u64 check = s->frame_check, word0, word1;
	__u32 flags, n;

	s->frame_cop &= s->doubted - 1ull;
	s->aux = op_bits(s) | (__u32)(check & 0xff) << PL_OP_BITS;
	PL_FORGET();
	check = s->frame_check;
	word0 = (s->frame_what & PL_ADDRESS_MASK) | (check >> 8 & 0xffff) << PL_CHECK_SHIFT |
		(__u64)s->kind << PL_KIND_SHIFT;
	word1 = (s->frame_cop >> 3 & PL_ADDRESS_MASK) | (check >> 24) << PL_ADDRESS_BITS;
	flags = s->flags | s->base * EP_FRAME_ENTRY;
	/* A closure's word 0 has no room for its text. */
	n = 2 + (is_set(s->flags & (PL_FRAME_FILE | PL_FRAME_NAME)) |
		 (is_set(s->flags & PL_FRAME_TEXT) & (1 - is_set(s->kind ^ PL_KIND_CLOSURE))));
	n = s->blank + (1 - s->blank) * n;
	s->kind = PL_KIND_NONE;
	s->base = 0;
	return ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, flags, n, s->aux), n, word0, word1,
			     s->frame_file);
}

/* "(eval " */
#define TEXT_HEAD 0x206c61766528ull
#define TEXT_HEAD_BYTES 6
#define TEXT_DIGITS 8

/* The number in "(eval NUMBER)" (pp_ctl.c: pp_entereval); 0: the file is none. */
static __always_inline __u64 text_number(const struct pl_scratch *s)
{
	__u64 digits = s->text[0] >> 8 * TEXT_HEAD_BYTES | s->text[1] << 16, number = 0, more = 1;

	if ((s->text[0] & ((1ull << 8 * TEXT_HEAD_BYTES) - 1)) != TEXT_HEAD)
		return 0;
	for (__u32 i = 0; i < TEXT_DIGITS; i++) {
		__u64 digit = (digits & 0xff) - '0';

		more *= 1 - ((digit | (9 - digit)) >> 63);
		EP_OPAQUE(more); /* or it becomes a branch */
		number = number * (1 + 9 * more) + digit * more;
		digits >>= 8;
	}
	return number >> PL_TEXT_BITS ? 0 : number;
}

/* The check is that of the statement. */
static __always_inline void check_statement(struct pl_scratch *s)
{
	s->frame_check = 0;
	if (!s->frame_cop)
		return;
	if (bpf_probe_read_user(s->cop_ints, PL_COP_INTS * 4, (void *)(s->frame_cop + PL_COP_AT)))
		s->blank |= is_set(s->kind ^ PL_KIND_CLOSURE);
	else
		s->frame_check = pl_check_cop(s->cop_ints);
}

static __always_inline void take_file(struct pl_scratch *s, __u64 name)
{
	__builtin_memset(s->file, 0, sizeof(s->file));
	if (bpf_probe_read_user_str(s->file, sizeof(s->file), (void *)name) <= 1)
		return;
	s->flags |= PL_FRAME_FILE;
	s->frame_file = pl_hash_file(s->file);
	s->frame_line = s->cop_ints[PL_COP_LINE];
	s->frame_cop = 0;
	s->frame_check = 0;
}

/*
 * What is known here and now, of a statement that may be gone when names are asked for. That which
 * calls BEGIN is made for it, and freed after it.
 */
static __always_inline void take_place(const struct pl_state *state, struct pl_scratch *s)
{
	__u64 name = s->cop_ints[PL_COP_FILE] | (__u64)s->cop_ints[PL_COP_FILE + 1] << 32, number;

	if (!state->threads || !s->frame_check || s->kind == PL_KIND_MAIN)
		return;
	if (bpf_probe_read_user(s->text, sizeof(s->text), (void *)name)) {
		s->blank |= is_set(s->kind ^ PL_KIND_CLOSURE);
		return;
	}
	number = text_number(s);
	if (number && s->kind != PL_KIND_BEGIN) {
		s->flags |= PL_FRAME_TEXT;
		s->frame_file = number | (__u64)s->cop_ints[PL_COP_LINE] << PL_TEXT_BITS;
		if (s->kind != PL_KIND_CLOSURE)
			s->frame_what = s->frame_file;
	} else if (s->kind == PL_KIND_CLOSURE) {
		return;
	} else if (s->kind == PL_KIND_FILE || s->kind == PL_KIND_TEXT ||
		   s->kind == PL_KIND_BEGIN || s->base || s->frame_cop == s->compiling) {
		take_file(s, name);
	}
}

/* "BEGIN" */
#define BEGIN_NAME  0x4e49474542ull
#define BEGIN_BYTES 6
#define HEK_KEY	    8  /* struct hek, hv.h */
/* "__ANON__", its first eight bytes */
#define ANON_NAME 0x5f5f4e4f4e415f5full

/* It is called while it is compiled, and freed right after (op.c: process_special_blocks). */
static __always_inline bool is_begin(struct pl_scratch *s)
{
	__u64 named = is_set(s->body[PL_CV_SEQ_FLAGS] >> 32 & PL_CVF_NAMED), gv;

	gv = s->body[PL_CV_GV];
	read_or_zero(&s->at_name, gv);
	read_or_zero(&s->at_name, s->at_name + PL_GV_NAME_AT);
	s->at_name = named * gv + (1 - named) * s->at_name;
	read_or_zero(&s->at_name, s->at_name + HEK_KEY);
	return (s->at_name & ((1ull << 8 * BEGIN_BYTES) - 1)) == BEGIN_NAME;
}

/* A glob's sub has the name of its effective glob, as it is now (gv.c: gv_efullname4). */
static __always_inline __u64 effective_glob(struct pl_scratch *s, __u64 gv)
{
	__u64 found;

	read_or_zero(&s->at_name, gv + SV_U);
	read_or_zero(&s->at_name, s->at_name + GP_EGV);
	found = is_set(s->at_name);
	return found * s->at_name + (1 - found) * gv;
}

/*
 * A lexical sub that somebody has asked for a glob, such as the debugger, owns that one: it goes with
 * the CV, but its name is the one that all of them share (gv.c: cvgv_from_hek).
 */
static __always_inline __u64 lexical_name(struct pl_scratch *s, __u64 gv)
{
	read_or_zero(&s->at_name, gv);
	read_or_zero(&s->at_name, s->at_name + PL_GV_NAME_AT);
	return s->at_name;
}

static __always_inline void set_closure(struct pl_scratch *s)
{
	__u64 what = s->body[PL_CV_GV], flags = s->body[PL_CV_SEQ_FLAGS] >> 32;

	s->kind = PL_KIND_CLOSURE;
	if (flags & PL_CVF_NAMED)
		s->flags |= PL_FRAME_NAMED;
	else if (flags & PL_CVF_LEXICAL)
		what = lexical_name(s, what);
	else
		what = effective_glob(s, what);
	s->frame_what = what >> 3;
	s->blank = 1 - is_set(what);
	PL_FORGET();
	if (s->body[PL_CV_SEQ_FLAGS] >> 32 & PL_CVF_LEXICAL)
		s->flags |= PL_FRAME_NAMED | PL_FRAME_LEXICAL;
	/* It may not have come to its first statement. */
	if (s->was_first && s->cop == cx_word(s, CX_COP))
		s->frame_cop = s->body[PL_CV_START];
	PL_FORGET();
}

/* 1: it has a name, and not that of those that are all called "__ANON__". */
static __always_inline __u32 has_own_name(struct pl_scratch *s)
{
	__u32 globbed = 1 - is_set(s->flags & PL_FRAME_NAMED);

	bpf_probe_read_user(s->hek, sizeof(s->hek), (void *)(s->name[0] * globbed));
	return globbed & is_set(s->name[1]) & is_set(s->hek[0]) & is_set(s->hek[1] ^ ANON_NAME);
}

/* The check, if its name can be read. What was named by hand has a glob that goes with it. */
static __always_inline void check_closure(struct pl_scratch *s)
{
	__u64 what = s->frame_what << 3, globbed = 1 - is_set(s->flags & PL_FRAME_NAMED), found, own;

	read_or_zero(&s->at_name, what);
	what += globbed * (s->at_name + PL_GV_NAME_AT - what);
	bpf_probe_read_user(s->name, sizeof(s->name), (void *)what);
	/* Of a HEK its first word alone. */
	s->name[1] *= 1 - is_set(s->flags & PL_FRAME_NAMED);
	found = is_set(s->name[0]);
	own = has_own_name(s);
	s->flags += own * PL_FRAME_NAME - own * (s->flags & PL_FRAME_TEXT);
	s->frame_file = own * pl_name_of_closure(s->hek[0], s->name[1]) +
			(1 - own) * s->frame_file;
	s->frame_check = own * s->frame_check +
			 (1 - own) * found *
				 pl_check_name(s->frame_check, s->name[0], s->name[1]);
}

/* What is freed right after it ran is near the leaf, and has been compiled not long ago. */
static __always_inline void take_name(struct pl_scratch *s)
{
	__u64 named = is_set(s->body[PL_CV_SEQ_FLAGS] >> 32 & PL_CVF_NAMED), name;

	if (s->n_frames > PL_NEAR_FRAMES)
		return;
	bpf_probe_read_user(s->cop_ints, sizeof(__u32), (void *)(s->frame_cop + PL_COP_AT));
	name = named * pl_name_of_hek(s->body[PL_CV_GV], s->body[PL_CV_STASH]) +
	       (1 - named) * (s->body[PL_CV_GV] >> 3);
	s->flags |= PL_FRAME_NAME | (__u32)named * PL_FRAME_NAMED;
	s->frame_file = (name & PL_ADDRESS_MASK) | (__u64)s->cop_ints[0] << PL_ADDRESS_BITS;
}

static __always_inline void set_named(struct pl_scratch *s)
{
	s->frame_what = s->found.cv >> 3;
	s->blank = 1 - s->found.readable;
	s->frame_check = pl_check_cv(s->body);
	/* It may have passed its last one, too. */
	s->doubted = s->was_first * (1 - is_set(s->cop ^ cx_word(s, CX_COP)));
	take_name(s);
}

static __always_inline void set_sub(struct pl_scratch *s)
{
	s->frame_cv = s->found.cv;
	if (s->found.readable && (s->base || s->dbsub) && is_begin(s)) {
		s->kind = PL_KIND_BEGIN;
		s->frame_what = s->body[PL_CV_STASH] >> 3;
	}
	PL_FORGET();
	if (s->kind == PL_KIND_BEGIN)
		return;
	if (s->found.readable && s->body[PL_CV_SEQ_FLAGS] >> 32 & (PL_CVF_CLONED | PL_CVF_ANON))
		set_closure(s);
	else
		set_named(s);
}

static __always_inline bool has_cv(const struct pl_scratch *s)
{
	return s->kind == PL_KIND_SUB || s->kind == PL_KIND_FORMAT;
}

/* The context that was found to be a frame becomes the pending one. */
static __always_inline void set_pending(const struct pl_state *state, struct pl_scratch *s)
{
	s->n_frames++;
	s->kind = s->found.kind;
	s->flags = s->leaf;
	s->base = s->found.base;
	s->doubted = 0;
	s->blank = 0;
	s->frame_cv = 0;
	s->frame_what = 0;
	s->frame_cop = s->cop;
	s->frame_op = s->op;
	if (has_cv(s))
		set_sub(s);
	PL_FORGET();
	if (has_cv(s))
		return;
	check_statement(s);
	PL_FORGET();
	take_place(state, s);
	PL_FORGET();
	if (s->kind == PL_KIND_CLOSURE)
		check_closure(s);
}

static __always_inline void leave_frame(struct pl_scratch *s)
{
	s->cop = cx_word(s, CX_COP);
	s->op = cx_word(s, CX_RETOP);
	s->leaf = 0;
}

/* --- what a context is ------------------------------------------------------------------------- */

/* The body of found.cv, where that is a CV. */
static __always_inline void read_cv(struct pl_scratch *s)
{
	__u32 type;

	s->found.readable = 0;
	s->found.fault = is_set(s->found.cv);
	if (!s->found.cv || bpf_probe_read_user(s->sv, sizeof(s->sv), (void *)s->found.cv))
		return;
	s->found.fault = 0;
	type = (__u32)(s->sv[1] >> SV_TYPE_SHIFT) & 0xff;
	if (type != SV_TYPE_CV && type != SV_TYPE_FORM)
		return;
	if (bpf_probe_read_user(s->body, sizeof(s->body), (void *)(s->sv[0] + PL_CV_AT)) == 0)
		s->found.readable = 1;
	s->found.fault = 1 - s->found.readable;
}

static __always_inline bool is_running(const struct pl_scratch *s)
{
	return (__s32)(__u32)s->body[PL_CV_DEPTH] > 0;
}

/*
 * The innermost context, which may be half written (inline.h: cx_pushblock, cx_pushsub; a sub's
 * depth grows after that), or be left of a sub that has returned.
 */
static __always_inline bool is_half_made(const struct pl_state *state, const struct pl_scratch *s)
{
	if (!s->found.fault && (!s->found.readable || !is_running(s)))
		return true;
	/* pp_entersub has pushed it, and nothing of it has run. call_sv's op has no number. */
	return (!s->op_type || s->op_type == state->op_entersub) && s->op &&
	       s->op_next == cx_word(s, CX_RETOP) && s->cop == cx_word(s, CX_COP);
}

/*
 * What stays at the bottom of a stackinfo for many calls: C runs between two of them. The loop that
 * has ended left no op; statements are put back (regexec.c; pp_sort.c: S_sortcv).
 */
static __always_inline bool is_between_calls(const struct pl_scratch *s)
{
	return s->at < 0 && s->previous && (!s->op || s->cop == cx_word(s, CX_COP));
}

static __always_inline void find_sub(const struct pl_state *state, struct pl_scratch *s)
{
	__u64 retop = cx_word(s, CX_RETOP);
	struct pl_found *found = &s->found;

	found->leave = 1;
	if (s->was_first && s->cx[0] & CX_MULTICALL) {
		if (is_between_calls(s))
			return;
	} else if (s->was_first && is_half_made(state, s)) {
		/* Where it is being left, what is next is the caller's. */
		found->leave = s->op_type && s->op_type != state->op_entersub;
		return;
	}
	/* sort calls an XS function for each comparison, without a run loop. */
	if (found->readable && s->body[PL_CV_SEQ_FLAGS] >> 32 & PL_CVF_ISXSUB)
		return;
	if (s->dbsub && found->cv == s->dbsub) {
		found->hidden = 1 - is_set(retop);
		return;
	}
	/* A sub that calls itself is at the same statement as its caller. */
	s->doubted &= is_set(found->cv ^ s->frame_cv);
	found->kind = s->cx[0] & CX_RE_FAKE ? PL_KIND_REGEX : PL_KIND_SUB;
	found->base = 1 - is_set(retop);
}

/* Its text is being compiled: no run loop of its own yet (pp_ctl.c: S_doeval_compile). */
static __always_inline bool is_compiling(const struct pl_scratch *s)
{
	return s->found.readable && !is_running(s);
}

static __always_inline void find_eval(const struct pl_state *state, struct pl_scratch *s)
{
	__u64 retop = cx_word(s, CX_RETOP);
	struct pl_found *found = &s->found;

	found->leave = 1;
	if (s->cx[0] & CX_EVALBLOCK) {
		found->kind = PL_KIND_BLOCK;
		found->base = s->merged;
		found->look = is_set(retop);
		if (s->cx[0] & CX_TRY) {
			found->kind = PL_KIND_TRY;
			found->leave = 0;
		}
		return;
	}
	/* Its last op is running: the statement is the caller's again. */
	if (s->was_first && s->cop == cx_word(s, CX_COP))
		return;
	/* Its CV is not made yet, or it is what was left of another one. */
	if (s->was_first && !found->readable && !found->fault) {
		found->leave = 0;
		return;
	}
	if (is_compiling(s)) {
		/* eval_sv, which has called no run loop: no frame of anyone */
		if (!retop)
			return;
		/*
		 * What goes on behind an eval that was docatch's is still in its run loop: then that is the
		 * text's. Where there is none a last group too many joins the one before it.
		 */
		found->look = s->was_first;
	} else {
		found->look = is_set(retop);
		found->base = 1 - found->look;
	}
	found->kind = cx_op(s) == state->op_require ? PL_KIND_FILE : PL_KIND_TEXT;
}

/* What has a run loop of its own, and no retop. */
static __always_inline void find_block(struct pl_scratch *s, __u32 kind)
{
	s->found.kind = kind;
	s->found.base = 1;
	s->found.leave = 1;
}

static __always_inline void find_bottom(struct pl_scratch *s, __u32 type)
{
	if (type == CX_BLOCK && !s->previous)
		find_block(s, PL_KIND_MAIN);
	if (type == CX_NULL && s->previous) {
		find_block(s, PL_KIND_SORT);
		if (s->was_first && is_between_calls(s))
			s->found.kind = PL_KIND_NONE;
	}
}

static __always_inline void classify(const struct pl_state *state, struct pl_scratch *s)
{
	__u32 type = s->type;

	if (type == CX_SUB)
		find_sub(state, s);
	else if (type == CX_EVAL)
		find_eval(state, s);
	else if (type == CX_DEFER)
		find_block(s, PL_KIND_DEFER);
	else if (type == CX_FORMAT)
		s->found.kind = PL_KIND_FORMAT, s->found.leave = 1;
	else if (s->at < 0)
		find_bottom(s, type);
}

/* --- was it docatch's? -------------------------------------------------------------------------- */

static __always_inline bool is_fake_eval(const struct pl_scratch *s)
{
	return (s->cx[0] & (CX_TYPE_MASK | CX_EVALBLOCK)) == (CX_EVAL | CX_EVALBLOCK) &&
	       !cx_word(s, CX_RETOP);
}

static __always_inline void begin_look(const struct pl_state *state, struct pl_scratch *s)
{
	s->look_env = cx_word(s, state->cx_eval_env);
	s->back = s->at;
	s->boundary = 0;
	s->phase = PL_PHASE_LOOK;
}

static __always_inline void end_look(struct pl_scratch *s, __u32 caught)
{
	s->base |= caught;
	s->boundary = 0;
	s->phase = PL_PHASE_WALK;
	s->at = s->back;
	/* A try block that nothing in C knows of is no frame to caller(). */
	if (s->kind == PL_KIND_TRY && !s->base) {
		s->kind = PL_KIND_NONE;
		s->leaf = s->flags;
	}
}

static __always_inline void step_look(const struct pl_state *state, struct pl_scratch *s)
{
	__u32 type = s->type;

	if (s->boundary)
		end_look(s, !is_fake_eval(s));
	else if (type == CX_EVAL)
		end_look(s, is_set(cx_word(s, state->cx_eval_env) ^ s->look_env));
	else if (type == CX_SUB && !cx_word(s, CX_RETOP))
		s->boundary = 1;
}

/* --- from context to context ---------------------------------------------------------------------- */

/* A type that no context has: the stackinfo has no more. */
#define CX_END 0x100u

static __always_inline __u32 next_stack(struct pl_scratch *s)
{
	if (!s->previous)
		return PL_STEP_END;
	/* Which op pushed the stackinfo is not said. */
	s->op = 0;
	s->leaf = 0;
	return take_stack(s, s->previous) ? PL_STEP_AGAIN : PL_STEP_ERROR;
}

/* The context at `at`, and its type, or CX_END. */
static __always_inline bool read_context(const struct pl_state *state, struct pl_scratch *s)
{
	__u32 bytes = state->cx_bytes;
	__s64 at = s->at;

	s->type = CX_END;
	if (at < 0)
		return true;
	s->at = at - 1;
	if (bytes > PL_CX_BYTES || at >= 1 << 24 ||
	    bpf_probe_read_user(s->cx, bytes, (void *)(s->contexts + (__u64)at * bytes)))
		return false;
	s->type = s->cx[0] & CX_TYPE_MASK;
	return true;
}

/* Loops and blocks, of which most contexts are, say nothing of frames but at the bottom. */
static __always_inline bool is_passed(const struct pl_scratch *s)
{
	const __u32 frames = 1u << CX_SUB | 1u << CX_FORMAT | 1u << CX_EVAL | 1u << CX_DEFER;

	return !((frames >> (s->type & CX_TYPE_MASK) & 1) | s->base | s->boundary) && s->at >= 0;
}

static __always_inline void find(const struct pl_state *state, struct pl_scratch *s)
{
	struct pl_found *found = &s->found;

	__builtin_memset(found, 0, sizeof(*found));
	s->merged = 0;
	if (s->type == CX_END)
		return;
	if (s->type == CX_SUB || s->type == CX_FORMAT)
		found->cv = cx_word(s, state->cx_sub_cv);
	else if (s->type == CX_EVAL && !(s->cx[0] & CX_EVALBLOCK))
		found->cv = cx_word(s, state->cx_eval_cv);
	PL_FORGET();
	read_cv(s);
	/* call_sv(G_EVAL) has pushed both: its EVAL is the last of the group. */
	if (s->base && s->frame_cv && is_fake_eval(s)) {
		s->merged = 1;
		s->base = 0;
	}
	PL_FORGET();
	classify(state, s);
}

static __always_inline void look(const struct pl_state *state, struct pl_scratch *s)
{
	if (s->type == CX_END) /* perl_run catches; of another stackinfo nobody did */
		end_look(s, s->boundary | is_set(s->previous));
	else
		step_look(state, s);
}

static __always_inline bool is_complete(const struct pl_scratch *s)
{
	return s->kind && (s->found.kind || s->base || s->type == CX_END);
}

static __always_inline __u32 step_context(struct ep_record *rec, const struct pl_state *state,
					  struct pl_scratch *s)
{
	s->was_first = s->first;
	s->first = 0;
	if (!read_context(state, s))
		return PL_STEP_ERROR;
	PL_FORGET();
	if (is_passed(s))
		return PL_STEP_AGAIN;
	PL_FORGET();
	if (s->phase == PL_PHASE_LOOK) {
		look(state, s);
		return PL_STEP_AGAIN;
	}
	find(state, s);
	PL_FORGET();
	if (is_complete(s) && !push_pending(rec, s))
		return PL_STEP_FULL;
	PL_FORGET();
	if (s->type == CX_END)
		return next_stack(s);
	s->base |= s->found.hidden;
	if (s->found.kind)
		set_pending(state, s);
	PL_FORGET();
	if (s->found.look)
		begin_look(state, s);
	PL_FORGET();
	if (s->found.leave)
		leave_frame(s);
	return PL_STEP_AGAIN;
}

static __always_inline void finish(struct ep_record *rec, struct pl_scratch *s, __u32 step)
{
	if (step == PL_STEP_ERROR)
		ep_push_error(rec, ep_self.first_error + PL_ERROR_CONTEXT, s->contexts);
	else if (step != PL_STEP_END)
		ep_push_error(rec, ep_self.first_error + PL_ERROR_DEEP, s->contexts);
	s->phase = PL_PHASE_DONE;
}

static __always_inline void walk(void *ctx, struct ep_record *rec, const struct pl_state *state,
				 struct pl_scratch *s)
{
	__u32 step = PL_STEP_AGAIN;

	for (__u64 i = 0; i < PL_MAX_CONTEXTS_PER_RUN; i++) {
		if (i >= ep_self.frames_per_run)
			break;
		step = step_context(rec, state, s);
		if (step != PL_STEP_AGAIN)
			break;
	}
	if (step == PL_STEP_AGAIN)
		ep_run_again(ctx, rec);
	finish(rec, s, step);
}

SEC("perf_event")
int perl_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct pl_state *state;
	struct pl_scratch *s;

	if (!rec)
		return 0;
	state = ep_get_state(rec);
	s = ep_get_scratch(rec);
	if (state && s && !ep_is_entered(rec)) {
		if (s->phase == PL_PHASE_START)
			start(rec, state, s);
		if (s->phase == PL_PHASE_WALK || s->phase == PL_PHASE_LOOK)
			walk(ctx, rec, state, s);
	}
	ep_next(ctx, rec);
	return 0;
}
