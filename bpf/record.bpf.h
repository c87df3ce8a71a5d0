/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-CPU record: one sample while it is being walked. Its head and words are what goes onto
 * the ring; what follows them is the state of the walk, kept here across tail calls.
 */
#ifndef EP_BPF_RECORD_H
#define EP_BPF_RECORD_H

#include "bpf/kernel.bpf.h"
#include "bpf/maps.bpf.h"

#define EP_WINDOW_WORDS 64

/* DWARF register numbers, System V ABI AMD64 supplement, figure 3.36. */
#define EP_REGS	  17
#define EP_REG_FP 6
#define EP_REG_SP 7
#define EP_REG_PC 16
#define KNOWN_ALL    0xffffu
#define KNOWN_ALWAYS (1u << EP_REG_FP | 1u << EP_REG_SP)

/* The kernel gives a perf event 33 tail calls; the rest is for the way to the finish program. */
#define EP_MAX_TAIL_CALLS 30

struct ep_walk {
	__u64 pc;
	__u64 hash;
	__u32 return_address; /* pc is behind a call */
	__u32 known_regs;     /* bit n: regs[n] is this frame's; sp and fp always are */
	__u32 by_pointer;     /* this frame was found by frame pointer */
	__u32 tail_calls;
	__u32 stack_reads, read_faults;
	__u32 pointer_frames;
	__u32 rows;   /* struct ep_proc's */
	__u32 n_rows; /* 0: process not known */
	__u32 known;
	__u32 zero; /* always 0, which only we know: see find_row */
	__u32 pad;
	__u64 regs[EP_REGS];
};

/* What is known of an address: how it is shown, and how to go on from it. */
struct ep_place {
	__u64 word; /* ELF virtual address, or the target address when executable is 0 */
	__u32 executable;
	__u32 rule;
	__u32 error; /* said when the rule leads nowhere */
	__u32 pad;
};

/* Where a rule says that the caller's registers are. */
struct ep_plan {
	__u64 cfa;
	__u64 pc, pc_addr; /* the value, or where it is saved; address 0: the value */
	__u64 fp, fp_addr;
	__u64 base_addr; /* 0: no other register is restored */
	__u32 base_reg;
	__u32 by_pointer;
};

/*
 * place and plan are here and not on the stack for the verifier: what goes through memory it
 * forgets, so that the many ways to a frame's rule are one again behind it.
 */
struct ep_record {
	struct ep_sample sample;
	__u64 words[EP_RECORD_WORDS];
	struct ep_walk walk;
	struct ep_row row; /* of the last look-up */
	struct ep_place place;
	struct ep_plan plan;
	__u64 window_base; /* target address of window[0]; ~0: nothing read yet */
	__u64 window[EP_WINDOW_WORDS];
	struct pt_regs entry_regs;
};
_Static_assert(sizeof(struct ep_record) < 32768, "per-CPU values are limited to 32 KiB");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ep_record);
} ep_records SEC(".maps");

static __always_inline struct ep_record *get_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ep_records, &zero);
}

/* One word into the trace hash: each step is a bijection of the hash, so no word is forgotten. */
static __always_inline __u64 hash_word(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 32;
}

/* MurmurHash3's 64-bit finalizer: every bit of the state reaches every bit of the result. */
static __always_inline __u64 hash_finish(__u64 hash)
{
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdULL;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ULL;
	hash ^= hash >> 33;
	return hash ? hash : 1; /* 0 is nobody's hash */
}

/* Adds a user frame of one word. False when the record is full. */
static __always_inline bool push_frame(struct ep_record *rec, __u64 header, __u64 word)
{
	__u32 n = rec->sample.n_words, at = rec->sample.n_kernel + n;

	if (n > EP_MAX_WORDS - 4 || at > EP_RECORD_WORDS - 4)
		return false;
	rec->words[at] = header;
	rec->words[at + 1] = word;
	rec->sample.n_words = n + 2;
	rec->sample.n_frames++;
	rec->walk.hash = hash_word(hash_word(rec->walk.hash, header), word);
	return true;
}

/* Ends the user part with a frame that says why; the two words kept free by push_frame take it. */
static __always_inline void push_error(struct ep_record *rec, __u32 error, __u64 addr)
{
	__u32 n = rec->sample.n_words, at = rec->sample.n_kernel + n;
	__u64 header = EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, error);

	if (rec->sample.error || n > EP_MAX_WORDS - 2 || at > EP_RECORD_WORDS - 2)
		return;
	rec->words[at] = header;
	rec->words[at + 1] = addr;
	rec->sample.n_words = n + 2;
	rec->sample.n_frames++;
	rec->sample.error = error;
	rec->walk.hash = hash_word(rec->walk.hash, header);
	rec->walk.hash = hash_word(rec->walk.hash, addr);
}

/*
 * First statement of a program that is not reached by a tail call but makes them: takes the whole
 * stack. Without JIT, programs reached by tail calls run in the frame of the first one. Kernels give
 * programs with tail calls MAX_BPF_STACK, but since may_goto came (6.9) the end of do_misc_fixups
 * (linux/kernel/bpf/verifier.c) puts back what the first one alone needs, and the others overwrite
 * the kernel's return addresses: seen on 6.12 and 7.2.
 */
static __always_inline void reserve_stack(void)
{
#ifdef __bpf__
	__asm__ volatile("*(u64 *)(r10 - 512) = %0" : : "r"(0ULL) : "memory");
#endif
}

/* Continues in another program. Falls through when the tail call fails. */
static __always_inline void go_to(void *ctx, struct ep_record *rec, __u32 slot)
{
	rec->walk.tail_calls++;
	bpf_tail_call(ctx, &ep_progs, slot);
}

#endif
