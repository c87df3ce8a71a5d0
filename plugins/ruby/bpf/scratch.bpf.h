/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of a walk leave for each other, and the parts of Ruby's structures that are the
 * same in 2.5 to 4.0 (vm_core.h, method.h, internal/imemo.h).
 */
#ifndef RUBY_SCRATCH_BPF_H
#define RUBY_SCRATCH_BPF_H

#include "plugins/ruby/ruby_shared.h"
#include "plugins/shared/bpf/seen.bpf.h"

/* rb_execution_context_t */
#define EC_STACK 0
#define EC_SIZE	 8 /* in words */
#define EC_CFP	 16
#define EC_WORDS 3

/* rb_control_frame_t, in words */
enum cf_word {
	CF_PC = 0,
	CF_SP,
	CF_ISEQ,
	CF_SELF,
	CF_EP,
};

/* Of an environment: ep[-2] to ep[0], as they are read. */
enum env_word {
	ENV_METHOD = 0, /* method entry, cref or svar */
	ENV_PREVIOUS,	/* or block handler */
	ENV_FLAGS,
	ENV_WORDS,
};
#define ENV_PREVIOUS_MASK 3ull

/* Flags of a frame: VM_FRAME_MAGIC_*, VM_FRAME_FLAG_FINISH, VM_ENV_FLAG_LOCAL. */
#define MAGIC_MASK    0x7fff0001u
#define MAGIC_METHOD  0x11110001u
#define MAGIC_CFUNC   0x55550001u
#define MAGIC_IFUNC   0x66660001u
#define MAGIC_RESCUE  0x78880001u
#define MAGIC_DUMMY   0x79990001u
#define FRAME_FINISH  0x20u
#define ENV_LOCAL     0x02u

#define ISEQ_BODY 16 /* of rb_iseq_t */
#define TYPE_EVAL 6  /* of a body, its first 32 bits: enum iseq_type */

/* rb_method_entry_t and vm_svar, in words; their types (imemo_type). */
#define OBJECT_WORDS  5
#define SVAR_METHOD   1
#define METHOD_DEF    2
#define METHOD_CALLED 3
#define IMEMO_SHIFT   12
#define IMEMO_MASK    15u
#define IMEMO_SVAR    2u
#define IMEMO_METHOD  6u

/* rb_method_definition_t, in words. */
#define DEF_ORIGINAL 4
#define DEF_SERIAL   5
#define DEF_WORDS    6

enum ruby_phase {
	RUBY_PHASE_START = 0,
	RUBY_PHASE_FRAME, /* the next control frame */
	RUBY_PHASE_CHAIN, /* the environments of the one before */
	RUBY_PHASE_DONE,
};

/* What is on a chain of environments, and has been passed. */
struct ruby_seen_env {
	struct ep_seen is; /* its ep */
	__u64 chain;	   /* number of the chain */
};

/* What a chain came to. */
struct ruby_chain {
	__u64 number;
	__u64 entry, check; /* at its end; 0: none */
};

struct ruby_seen_iseq {
	struct ep_seen is; /* its address */
	__u64 body, encoded, check;
	__u64 size; /* of the code, in words */
	__u64 is_eval;
};

struct ruby_seen_method {
	struct ep_seen is; /* what stands in the environment */
	__u64 entry;	   /* 0: it has none */
	__u64 check;
	__u64 unread;	   /* 1: whether it has one could not be read */
};

#define RUBY_SEEN_ENVS_SHIFT	7
#define RUBY_SEEN_ISEQS_SHIFT	7
#define RUBY_SEEN_METHODS_SHIFT 7
#define RUBY_CHAINS		64u
#define RUBY_MAX_LEVELS		64

#define RUBY_WINDOW_FRAMES 16u
#define RUBY_WINDOW_WORDS  (RUBY_WINDOW_FRAMES * RUBY_CFP_BYTES / 8)

/* Pieces of the VM's stack that environments lie in: none is read twice. */
#define RUBY_PIECE_SHIFT  9
#define RUBY_PIECES_SHIFT 4
#define RUBY_PIECE_WORDS  ((1u << RUBY_PIECE_SHIFT) / 8)
#define RUBY_PIECE_MORE   2u /* words of the next one: an environment may begin in this */

/* Of the native stack, where a JIT's code runs. */
#define RUBY_STACK_WORDS 16u

struct ruby_piece {
	struct ep_seen is; /* its address */
	__u64 bytes;	   /* that could be read: all or none */
	__u64 words[RUBY_PIECE_WORDS + RUBY_PIECE_MORE];
};

struct ruby_scratch {
	__u64 sequence;
	__u64 phase;
	__u64 cfp, end;		     /* the next control frame, the end of them */
	__u64 context;		     /* ec */
	__u64 window_first, window_bytes; /* control frames that are in the window */
	__u64 cf_at;		     /* the one that is looked at, in words of the window */
	__u64 innermost;	     /* 1: no control frame has been passed */
	__u64 hides;		     /* 1: the frame after is that of this one's method */
	__u64 open; /* 1: the frame at `last_entry` has been entered, and is not marked so yet */
	__u64 entry_at, last_at; /* headers of the last one that was entered, of the last frame */
	__u64 n_chains, level;
	__u64 ep, at;
	__u64 object;  /* what the environment says of its method */
	__u64 env[ENV_WORDS];
	/* The frame in hand. */
	__u64 kind; /* RUBY_KIND_ISEQ or RUBY_KIND_CFUNC */
	__u64 entered, readable, faulty, has_method;
	__u64 doubtful; /* 1: it may not run yet */
	__u64 stands; /* 1: for the frame of its method, as it runs a rescue or ensure clause */
	__u64 iseq, method; /* where they are in the tables */
	__u64 body, entry, body_check, entry_check, index;
	__u64 unread; /* 1: its method, or before all frames the collector's flag, is unread */
	__u64 value, word0, word1;
	__u64 ec[EC_WORDS];
	__u64 stack[RUBY_STACK_WORDS];
	__u64 jit;	/* 1: the innermost frame may run in a JIT's code */
	__u64 left_jit; /* 1: such code was found on the native stack */
	__u64 in_jit;	/* 1: this run goes on with the walk of the one before */
	__u64 has_eval; /* 1: a frame's code is that of an eval: it may be gone in a moment */
	__u64 object_words[OBJECT_WORDS];
	__u64 def[DEF_WORDS];
	__u64 body_words[RUBY_BODY_BYTES / 8];
	struct ruby_chain chains[RUBY_CHAINS];
	/* All before is zeroed for each sample; what is here is of one that has its number. */
	__u64 window[RUBY_WINDOW_WORDS];
	struct ruby_piece pieces[1u << RUBY_PIECES_SHIFT];
	struct ruby_seen_env envs[1u << RUBY_SEEN_ENVS_SHIFT];
	struct ruby_seen_iseq iseqs[1u << RUBY_SEEN_ISEQS_SHIFT];
	struct ruby_seen_method methods[1u << RUBY_SEEN_METHODS_SHIFT];
};

EP_SCRATCH_UP_TO(struct ruby_scratch, chains)

#endif
