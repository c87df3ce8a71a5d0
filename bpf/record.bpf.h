/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The per-CPU record (ebpf-profiler/bpf/record.h) and what the core keeps after it, out of sight
 * of languages.
 */
#ifndef EP_BPF_CORE_RECORD_H
#define EP_BPF_CORE_RECORD_H

#include "bpf/kernel.bpf.h"
#include "bpf/maps.bpf.h"

#define EP_WINDOW_WORDS 64

/* What is known of an address: how it is shown, and how to go on from it. */
struct ep_place {
	__u64 word; /* ELF virtual address, or the target address when executable is 0 */
	__u32 executable;
	__u32 rule;
	__u32 error; /* reported when the rule leads nowhere */
	__u32 owner; /* EP_ROW_ENTER and slot, as in struct ep_row; 0: native code */
};

/* Where a rule says that the caller's registers are. */
struct ep_plan {
	__u64 cfa;
	__u64 pc, pc_addr; /* the value, or where it is saved; address 0: the value */
	__u64 fp, fp_addr;
	__u64 base_addr; /* 0: no other register is restored */
	__u32 base_reg;
	__u32 by_pointer;
	__u32 keeps; /* bit n: the caller's register n is this frame's, if that is known */
	__u32 return_address; /* 0: the caller was interrupted */
	__u32 switches;
	__u32 pad;
};

/*
 * place and plan are here and not on the stack for the verifier: what goes through memory it
 * forgets, so that the many ways to a frame's rule are one again after it.
 */
struct ep_core_record {
	union {
		struct ep_record record;
		struct {
			struct ep_sample sample;
			__u64 words[EP_RECORD_WORDS];
			struct ep_walk walk;
		};
	};
	__u64 born_ns; /* of the program, as in struct ep_proc */
	__u32 known; /* user space has reported the process */
	__u32 zero;  /* always 0, which only we know: where a search begins, for the verifier */
	__u32 stack_reads, read_faults;
	__u32 pointer_frames;
	__u64 no_trampoline; /* bpf/uretprobe.bpf.h: this pc is none, though it may have seemed so */
	__u64 switch_cfa; /* of an earlier switch to another stack; 0: there was none */
	__u16 stood;   /* a frame was left that has nothing on the stack */
	__u8 takers;   /* bit i: languages[i] takes code that no file backs (EP_RANGE_ANONYMOUS) */
	__u8 offered;  /* of them, those that were asked for the code at pc */
	__u32 use_memo; /* 1: known, and no guess was made since a language was asked */
	/*
	 * Bit i: languages[i] may know where the walk goes on (EP_BPF_RESUMES). Where it is 0 nothing of
	 * what follows is used.
	 */
	__u32 may_resume;
	__u32 resumers; /* of them, those that are to be asked yet */
	__u32 asked;	/* nobody is, until another frame of a language */
	__u32 has_gap;
	__u32 doubtful; /* a frame pointer was followed: what came since may be wrong */
	/* What the walk must not pass: a language's next frame. pc 0 and sp ~0: not known. */
	__u64 bound_pc, bound_sp, bound_fp;
	/* What there was before it became doubtful. */
	__u64 sure_hash;
	__u16 sure_words, sure_frames;
	__u32 keepers; /* so many of its languages' were asked: ep_finish */
	struct ep_row row; /* of the last look-up */
	struct ep_place place;
	struct ep_plan plan;
	/* The interrupted frame, once it was left by frame pointer; sp 0: it was not. */
	__u64 leaf_sp, leaf_fp;
	__u64 guessed; /* a caller was found by what lay at sp, and none by frame pointer since */
	__u32 no_copy;	  /* of the stack: user space would not learn from it */
	__u32 first_step; /* for ep_native: STEP_AGAIN, or the error that the walk has ended with */
	struct ep_copy copy; /* where the native walk stopped, if copy.pc is not 0 */
	__u64 window_base; /* target address of window[0]; ~0: nothing read yet */
	__u64 window[EP_WINDOW_WORDS];
	struct pt_regs entry_regs;
};
_Static_assert(sizeof(struct ep_core_record) < 32768, "per-CPU values are limited to 32 KiB");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ep_core_record);
} ep_records SEC(".maps");

static __always_inline struct ep_core_record *get_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ep_records, &zero);
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

#endif
