/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of a walk leave for each other, and how they read: the parts of Perl's structures
 * that are the same in all releases.
 */
#ifndef PL_SCRATCH_BPF_H
#define PL_SCRATCH_BPF_H

#include "plugins/perl/perl_shared.h"
#include "plugins/shared/bpf/seen.bpf.h"
#include "plugins/shared/bpf/window.bpf.h"

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

/* What a context is. It is in memory, of which the verifier remembers nothing: each of the many
 * ways through classify() comes to the same state. */
struct pl_found {
	__u32 kind; /* enum pl_kind; PL_KIND_NONE: no frame */
	__u32 base; /* 1: the last one of its run loop */
	__u32 look; /* 1: docatch's? */
	__u32 leave; /* 1: what follows has the statement it was called from */
	__u64 cv;   /* 0: it has none */
	__u32 readable; /* 1: cv_word() has its body */
	__u32 fault;	/* 1: it could not be read */
	__u32 hidden;	/* 1: DB::sub, and C called it: the frame that it called is the last one */
};

/* A CV's body, from xcv_stash on. */
struct pl_seen_cv {
	struct ep_seen is; /* its address */
	__u64 check; /* 0: it is a closure's, and wanted by nobody */
	__u64 body[PL_CV_WORDS];
};

/* What has the name of a closure: glob or HEK. */
struct pl_seen_name {
	struct ep_seen is;
	__u64 what;	/* the glob or HEK that the frame says; 0: none */
	__u64 words[2]; /* of it: pl_check_name */
	__u64 head;	/* of the name's HEK */
	__u64 own;	/* 1: somebody has named it by hand */
};

struct pl_seen_statement {
	struct ep_seen is; /* its address */
	__u64 check;
	__u64 text;	/* number of the text it is in; 0: none */
	__u32 has_file; /* 1: its file's name could be read */
	__u32 ints[PL_COP_INTS];
};

/* Tables: memory.bpf.h. */
#define PL_SEEN_CVS_SHIFT	 6
#define PL_SEEN_NAMES_SHIFT	 4
#define PL_SEEN_STATEMENTS_SHIFT 5
#define PL_SEEN_CVS		 (1u << PL_SEEN_CVS_SHIFT)
#define PL_SEEN_NAMES		 (1u << PL_SEEN_NAMES_SHIFT)
#define PL_SEEN_STATEMENTS	 (1u << PL_SEEN_STATEMENTS_SHIFT)

#define PL_NEAR_WORDS 128u

#define PL_WINDOW_CONTEXTS 16u
#define PL_WINDOW_BYTES	   (PL_WINDOW_CONTEXTS * PL_CX_BYTES)

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
	__u32 base;    /* 1: the last of its run loop, or the fake EVAL after it is */
	__u32 doubted; /* 1: its statement may be the caller's */
	__u32 n_frames;
	__u64 frame_cv, frame_what, frame_cop, frame_op, frame_check;
	__u64 compiling; /* address of PL_compiling */
	__u64 frame_file, frame_line; /* with PL_FRAME_FILE */
	__u64 frame_file_at;	      /* likewise; 0: not reported */
	__u64 young;		      /* 1: the program is */
	__u64 text[2];		      /* the beginning of a file's name */
	__u64 hek[2];		      /* of a closure's name */
	__u64 file[PL_FILE_WORDS];
	struct pl_found found;
	__u32 type;	 /* of the context that was read */
	__u32 was_first; /* 1: it is the innermost one */
	__u32 merged;	 /* 1: it is the EVAL of call_sv(G_EVAL) */
	__u32 aux;	 /* of the frame that is pushed */
	__u32 blank;	 /* 1: nothing of it could be read */
	__u64 at_name;	 /* on the way to a name */
	__u64 sv[SV_WORDS];
	__u64 body_at;
	__u64 op_words[OP_BYTES / 8];
	__u64 si[SI_BYTES / 8];
	__u32 line;		 /* of a statement */
	__u32 cv_at, name_at, statement_at; /* what is looked at, in the tables */
	/* memory.bpf.h */
	__u64 window_first, window_contexts; /* of the stackinfo, that are in the window */
	__u64 cx_index;			     /* the context that is looked at */
	__u64 cx_at;			     /* the same, in bytes of the window */
	__u64 cx_head;			     /* its first word */
	/* All before is zeroed for each sample; what is here is of one that has its number. */
	__u64 window[PL_WINDOW_BYTES / 8];
	EP_WINDOW(PL_NEAR_WORDS) heads, bodies; /* of CVs */
	struct pl_seen_cv cvs[PL_SEEN_CVS];
	struct pl_seen_name names[PL_SEEN_NAMES];
	struct pl_seen_statement statements[PL_SEEN_STATEMENTS];
};

EP_SCRATCH_UP_TO(struct pl_scratch, window)

/* What cannot be read is 0: the helper clears it. */
static __always_inline void read_or_zero(__u64 *value, __u64 addr)
{
	bpf_probe_read_user(value, sizeof(*value), (void *)addr);
}

/* As ep_is_set; of that one, and what is in this program, clang 16 makes twice as many states for a
 * verifier. */
static __always_inline __u32 is_set(__u64 a)
{
	__u64 set = (a | -a) >> 63;

	EP_OPAQUE(set);
	return (__u32)set;
}

#endif
