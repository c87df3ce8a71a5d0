/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * How an unwinder stays cheap to verify. A verifier walks a loop round by round, and each way
 * through a round. It drops a way where it has seen the same state at the same place. So:
 *
 *  1. What one step leaves for the next, and what was read, lies in a map (EP_SCRATCH_UP_TO), not
 *     on the stack: a verifier remembers each stack slot, and nothing of a map.
 *  2. EP_MEET() stands where ways through a step come together. A compiler that still knows what
 *     was written copies the rest of the step for each way.
 *  3. A condition that only decides a number is arithmetic: ep_is_set, ep_pick. A branch is two
 *     ways.
 *  4. Numbers have 64 bits. A verifier takes halves of a word for different things.
 *  5. Pointers into maps are hidden from the compiler before the loop (ep_enter_forget of
 *     enter.bpf.h): it would compute addresses ahead and keep them on the stack.
 *  6. The key of a map that a step asks lies in the scratch (rule 1): it is half a stack slot, and
 *     the verifier does not notice that the slot is not used any more.
 *  7. What only a frame that was interrupted needs stands in a loop of its own, for the first
 *     frames.
 *
 * `ebpf-profiler plugins --check FILE` prints how many instructions the verifier walked.
 */
#ifndef EP_SHARED_STEP_BPF_H
#define EP_SHARED_STEP_BPF_H

#include <ebpf-profiler/bpf/unwinder.h>

#define EP_MEET() __asm__ volatile("" ::: "memory")

/* 1 when it is not 0, without a branch. */
static __always_inline __u64 ep_is_set(__u64 value)
{
	__u64 set = -value;

	EP_OPAQUE(set); /* or this becomes a branch, */
	set = (set | value) >> 63;
	EP_OPAQUE(set); /* or what is made of it */
	return set;
}

static __always_inline __u64 ep_is_same(__u64 a, __u64 b)
{
	return 1 ^ ep_is_set(a ^ b);
}

/*
 * a where a bit is 1, else b. Products: newer verifiers (6.12.y on) walk both values of a mask, all
 * ones or none, that is ANDed with something.
 */
static __always_inline __u64 ep_pick(__u64 bit, __u64 a, __u64 b)
{
	return a * bit + b * (1 ^ bit);
}

/* Of numbers below 2^63. */
static __always_inline __u64 ep_at_most(__u64 value, __u64 most)
{
	return ep_pick((value - most) >> 63, value, most);
}

static __always_inline bool ep_read_word(__u64 addr, __u64 *value)
{
	return bpf_probe_read_user(value, sizeof(*value), (void *)addr) == 0;
}

/* --- a walk that is entered: enter.bpf.h ------------------------------------------------------ */

/* First in the scratch. */
#define EP_ENTER_SCRATCH                                                                           \
	__u64 sequence;                                                                            \
	__u64 has_stepped; /* since it was entered */                                              \
	__u64 goes_on;	   /* this run is the one before, continued */                             \
	__u64 gave_back;   /* pc of what was given back to the native unwinder */                  \
	__u64 counted;	   /* events of the run that EP_ENTER_COUNTER, if any, is to count */      \
	__u64 error;	   /* why the stack ends at this step; 0: it does not */                   \
	__u64 value;	   /* what was read last, by whoever needs it at once */                   \
	__u32 key;	   /* of a map that is asked in a step: not on the stack */                \
	__u32 pad;                                                                                 \
	struct {                                                                                   \
		__u64 pc, sp, fp;                                                                  \
	} exit /* where the language called native code */

/* All that a step needs. */
#define EP_ENTER_WALK(state_type, scratch_type)                                                    \
	struct ep_record *rec;                                                                     \
	const __u8 *chunk; /* the process's rows and ranges are in it */                           \
	const state_type *state;                                                                   \
	scratch_type *s

#endif
