/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data flow through x86-64 code without unwind tables: what is known of the caller's registers
 * before each instruction. flow.c says how it works. A language brings struct x86_flow_ops, says
 * what is known where its code is entered, and makes its rules of the states. Code is hostile: work
 * and memory are bounded by its size.
 *
 *	x86_flow_begin(code) ──► x86_flow_follow(offset, state there), any number of times
 *	                     ──► x86_flow_at(offset)
 */
#ifndef X86_FLOW_H
#define X86_FLOW_H

#include "plugins/shared/x86/decode.h"

#include <stdbool.h>

/*
 * A value, of a register or of a word of the stack. From X86_V_FIRST on it is a number n: the
 * address CFA + n, in bytes. CFA is what rsp is in the caller after this frame has returned, unless
 * a language moves it.
 */
enum {
	X86_V_UNKNOWN = INT16_MIN, /* as a place: on no known word of the stack */
	X86_V_RETURN,		   /* the return address */
	X86_V_FP,		   /* the caller's rbp */
	X86_V_OWN, /* five values of the language; it is known where the first is on the stack */
	X86_V_FIRST = X86_V_OWN + 5,
};

enum x86_place {
	X86_AT_RETURN, /* where X86_V_RETURN is; and so on */
	X86_AT_FP,
	X86_AT_OWN,
	X86_AT_KEPT, /* where the number `kept` is */
	X86_N_PLACES,
};

/* What is known before an instruction. Without padding: states are compared as bytes. */
struct x86_state {
	int16_t regs[X86_N_REGISTERS];
	int16_t at[X86_N_PLACES]; /* from CFA */
	int16_t kept;
	int16_t saved_at, saved; /* while rsp is unknown: the number `saved` is at rsp + saved_at */
	int16_t own;		 /* of the language; X86_V_UNKNOWN where ways disagree */
	uint16_t facts; /* of the language, a bit each; it holds where it does on all ways */
};
#define X86_FACTS_OF_PLACES 0xff /* those that x86_state_forget_places takes back */

struct x86_flow_ops {
	size_t max_bytes; /* of a piece of code */
	/* What the instruction at `code` changes; all but the language's own cases are
	 * x86_state_step's. */
	void (*step)(void *arg, struct x86_state *state, const struct x86_insn *insn,
		     const uint8_t *code);
	/* x86_state_meet, or that with what only the language knows. Whether `state` lost
	 * something. */
	bool (*meet)(struct x86_state *state, const struct x86_state *other);
	/* rsp becomes *value, which can be changed. True: that is done. */
	bool (*set_sp)(struct x86_state *state, int16_t *value);
	/* A value was put on the stack at CFA + at: for facts, and to keep numbers. Optional: the
	 * last is kept. */
	void (*stored)(struct x86_state *state, int16_t at, int16_t value);
	/* What is known where a call within the code leads. Optional: such calls are not
	 * followed. */
	struct x86_state (*enter)(const struct x86_state *before);
	/*
	 * May a call whose state is `state` afterwards return to where `next` is known from another
	 * way? Optional. With it calls are followed last, since some never return, and other code
	 * follows them.
	 */
	bool (*may_return)(const struct x86_state *state, const struct x86_state *next);
	/* Bytes at `code` that fill a hole, 0: none. x86_fill, or that with what the runtime fills
	 * with. */
	size_t (*fill)(const uint8_t *code, size_t bytes);
};

/* An instruction. Nodes are named by their index + 1; 0: none. */
struct x86_node {
	struct x86_insn insn;
	struct x86_state state; /* before it */
	uint32_t off;
	uint32_t epoch; /* of the way that led here first; 0: none yet, or taken back */
	uint32_t chain; /* the node that the epoch reached before this one; 0: follow began here */
	uint32_t next;	/* of the list that it waits in */
	bool waits;
};

/* Working memory, of one piece of code at a time. Begins as zeros, with the first two set. */
struct x86_flow {
	const struct x86_flow_ops *ops;
	void *arg;	/* step's */
	uint64_t steps; /* instructions looked at since it began as zeros: what it cost */
	uint64_t max_steps;
	const uint8_t *code; /* borrowed */
	size_t bytes;
	uint32_t *index; /* the node of each offset; UINT32_MAX: no instruction */
	struct x86_node *nodes;
	size_t n_nodes, max_nodes;
	uint32_t queue;			/* the newest */
	uint32_t first_call, last_call; /* the oldest, and the newest */
	uint32_t epoch;
	uint32_t chain; /* the node that the epoch reached last */
	bool bad;	/* the epoch came to what is no instruction */
};

/* Begins with a piece of code, borrowed until the next. 0, -E2BIG, -ENOMEM. */
int x86_flow_begin(struct x86_flow *flow, const uint8_t *code, size_t bytes);
void x86_flow_fini(struct x86_flow *flow);

/*
 * Follows the code from an offset on; what was followed earlier stays as it is. guess: it may be no
 * code: nothing is kept where an instruction is not known. 0, -EBADMSG (a wrong guess), -ENOMEM.
 */
int x86_flow_follow(struct x86_flow *flow, size_t off, const struct x86_state *start, bool guess);
/* Guesses that all code begins with `start` to which no way has led. 0, -ENOMEM. */
int x86_flow_follow_rest(struct x86_flow *flow, const struct x86_state *start);

/* The instruction at an offset. NULL: none that was followed begins there. */
static inline const struct x86_node *x86_flow_at(const struct x86_flow *flow, size_t off)
{
	uint32_t at = off < flow->bytes ? flow->index[off] : 0;

	if (!at || at == UINT32_MAX || !flow->nodes[at - 1].epoch)
		return NULL;
	return &flow->nodes[at - 1];
}

/* The next offset, from `off` on, to which no way led and which is not filled; the code's size:
 * none. */
size_t x86_flow_next(const struct x86_flow *flow, size_t off);
/* The end of the code from `off` on to which no way led: where other code may begin. */
size_t x86_flow_skip(const struct x86_flow *flow, size_t off);

/* Jumps, returns and traps: the next instruction is not reached. */
bool x86_is_end(const struct x86_insn *insn);
/* Bytes of a no-op or int3, 0: none. */
size_t x86_fill(const uint8_t *code, size_t bytes);
unsigned int x86_dwarf_register(int reg);

static inline bool x86_is_number(int16_t value)
{
	return value >= X86_V_FIRST;
}

/* A number plus `more`; X86_V_UNKNOWN for other values, unless `more` is 0. */
int16_t x86_add(int16_t value, int64_t more);

struct x86_state x86_state_start(void); /* nothing is known */
void x86_state_step(const struct x86_flow_ops *ops, struct x86_state *state,
		    const struct x86_insn *insn);
bool x86_state_meet(struct x86_state *state, const struct x86_state *other);
void x86_state_push(const struct x86_flow_ops *ops, struct x86_state *state, int16_t value);
/* The return address is pushed where it is to be: CFA is right above it from now on. */
void x86_state_push_return(struct x86_state *state);
void x86_state_add_to_sp(struct x86_state *state, int64_t more);
void x86_state_store(const struct x86_flow_ops *ops, struct x86_state *state, int16_t at,
		     int16_t value);
/* Forgets the words below rsp. */
void x86_state_drop_below(struct x86_state *state);
/* CFA is lost, and with it all numbers and places. */
void x86_state_forget_places(struct x86_state *state);
/* The first register with this value, -1: none. */
static inline int x86_state_find(const struct x86_state *state, int16_t value)
{
	for (int i = 0; i < X86_N_REGISTERS; i++)
		if (state->regs[i] == value)
			return i;
	return -1;
}

/* A register that holds CFA plus a multiple of 8; rbp before rsp, since it moves less. -1: none. */
int x86_state_base(const struct x86_state *state);

#endif
