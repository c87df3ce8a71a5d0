/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_INTERNAL_MEMO_H
#define EP_BPF_INTERNAL_MEMO_H

#include <linux/types.h>

struct ep_memo {
	__u64 addr;
	__u64 tag;
	__u64 bias;
	__u32 executable;
	__u32 rule;
};

struct ep_memo_set {
	struct ep_memo ways[2];
};
_Static_assert(sizeof(struct ep_memo_set) == 64, "a set is a cache line");

#define EP_MEMO_SHIFT 9
#define EP_MEMO_SETS  (1u << EP_MEMO_SHIFT)

#define EP_MEMO_SET(cpu, addr, tag)                                                                \
	((__u32)(cpu) * EP_MEMO_SETS +                                                             \
	 (__u32)((((__u64)(addr) ^ (tag)) * 0x9e3779b97f4a7c15ULL) >> (64 - EP_MEMO_SHIFT)))

#define EP_RULE_STOP 1u

#define EP_RULE_IMMEDIATE    (1u << 19)
#define EP_RULE_BASE_FP	     (1u << 18)
#define EP_RULE_KEEPS	     (1u << 0)
#define EP_RULE_FP_SLOT(rule) ((rule) >> 13 & 0x1f)
#define EP_RULE_CFA_OFF(rule) (((rule) >> 1 & 0xfff) << 3)

#endif
