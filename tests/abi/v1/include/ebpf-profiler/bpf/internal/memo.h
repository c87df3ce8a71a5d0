/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Not for languages, which call ep_step_native of ebpf-profiler/bpf/unwinder.h. Native frames that
 * are remembered: what the native unwinder found at an address, on this CPU. Nearly all frames are
 * under a simple rule, and stacks repeat; so who finds one here need not ask the native unwinder,
 * which takes two tail calls.
 *
 * An entry holds for its tag: a process's rows and a generation of the unwind tables (memo_tag of
 * struct ep_walk_core).
 */
#ifndef EP_BPF_INTERNAL_MEMO_H
#define EP_BPF_INTERNAL_MEMO_H

#include <linux/types.h>

/* Two of them are a cache line. */
struct ep_memo {
	__u64 addr; /* pc, or of a frame that called the byte before */
	__u64 tag;
	__u64 bias; /* ELF virtual address - target address */
	__u32 executable;
	__u32 rule; /* EP_RULE_STOP, or EP_RULE_IMMEDIATE and what follows */
};

struct ep_memo_set {
	struct ep_memo ways[2]; /* the one written last first */
};
_Static_assert(sizeof(struct ep_memo_set) == 64, "a set is a cache line");

#define EP_MEMO_SHIFT 9
#define EP_MEMO_SETS  (1u << EP_MEMO_SHIFT) /* of each CPU: 32 KiB */

/* 2^64 / the golden ratio: the upper bits of the product are mixed of all. */
#define EP_MEMO_SET(cpu, addr, tag)                                                                \
	((__u32)(cpu) * EP_MEMO_SETS +                                                             \
	 (__u32)((((__u64)(addr) ^ (tag)) * 0x9e3779b97f4a7c15ULL) >> (64 - EP_MEMO_SHIFT)))

#define EP_RULE_STOP 1u /* the root of the stack */

/*
 *	immediate   19  18   17        13 12              1  0
 *	           | 1 | base | fp slot    | CFA offset / 8   | k |    x86-64
 *
 * base: 0 CFA = sp + offset, 1 CFA = fp + offset. fp slot: 0 the frame pointer is unchanged, n > 0 it
 * is saved at CFA - 8 * n. The return address is at CFA - 8. k: registers that called functions save
 * are what they were. The aarch64 form is reserved: its return address needs a slot of its own.
 */
#define EP_RULE_IMMEDIATE    (1u << 19)
#define EP_RULE_BASE_FP	     (1u << 18)
#define EP_RULE_KEEPS	     (1u << 0)
#define EP_RULE_FP_SLOT(rule) ((rule) >> 13 & 0x1f)
#define EP_RULE_CFA_OFF(rule) (((rule) >> 1 & 0xfff) << 3)

#endif
