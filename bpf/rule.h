/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The 20-bit rule of a delta (bpf/shared.h): how to get the caller's registers. Nearly all rules
 * fit into the delta itself; what does not is an entry of ep_rules.
 *
 *	immediate   19  18                                   0
 *	           | 1 |   base, fp slot, CFA offset, k      |  ebpf-profiler/bpf/internal/memo.h
 *	table      19  18                                    0
 *	           | 0 |      EP_RULE_FIRST_TABLE + index      |    or one of the EP_RULE_* below
 *
 * Registers that a row does not mention have their values, as for libgcc and gdb: a CFA that
 * starts from one of them is found in any frame, as long as no frame before has changed it. k,
 * "keeps": the row mentions none of those that a called function saves before it uses them (rbx,
 * r12 to r15); without it they are lost. A row that mentions one of the others is in the table,
 * whose entries say the same of both groups (EP_OTHERS_*).
 */
#ifndef EP_BPF_RULE_H
#define EP_BPF_RULE_H

#include "ebpf-profiler/bpf/internal/memo.h"

#define EP_RULE_NONE	    0u /* nothing known: frame pointer walk */
/* EP_RULE_STOP, 1: the root of the stack */
#define EP_RULE_SIGNAL	    2u /* signal trampoline: registers are in the frame the kernel made */
#define EP_RULE_UNSUPPORTED 3u /* there is a rule, but it is one we cannot follow */
#define EP_RULE_FIRST_TABLE 16u

#define EP_RULE_IMM(base_fp, fp_slot, cfa_off)                                                     \
	(EP_RULE_IMMEDIATE | EP_RULE_KEEPS | ((base_fp) ? EP_RULE_BASE_FP : 0) |                   \
	 (__u32)(fp_slot) << 13 |                                                                  \
	 (__u32)(cfa_off) >> 3 << 1)
#define EP_RULE_IMM_MAX_FP_SLOT 31
#define EP_RULE_IMM_MAX_CFA_OFF (4095 * 8)

/* Struct ep_rule's `others`: a register, and which groups of other ones the row leaves alone. */
#define EP_OTHERS_REG(others)	((others) & 0xf)
#define EP_OTHERS_KEEPS_CALLEE	(1u << 4) /* rbx, r12 to r15 */
#define EP_OTHERS_KEEPS_CALLER	(1u << 5) /* what a call may change: rax, rcx, rdx, rsi, rdi, r8-r11 */
#define EP_OTHERS_INTERRUPTED	(1u << 6) /* the caller did not call: it was made to look so where it was interrupted */
#define EP_OTHERS_SWITCH	(1u << 7) /* the caller is on another stack: sp need not grow */
#define EP_OTHERS_KEEPS		(EP_OTHERS_KEEPS_CALLEE | EP_OTHERS_KEEPS_CALLER)

enum ep_cfa {
	EP_CFA_REG = 0,	  /* cfa_reg + cfa_off */
	EP_CFA_DEREF = 1, /* *(cfa_reg + cfa_off) + cfa_add */
	EP_CFA_PLT = 2,	  /* cfa_reg + cfa_off + ((pc & 15) >= cfa_add ? 8 : 0) */
	EP_CFA_DEREF_TWICE = 3, /* *(*(cfa_reg + cfa_off) + between) + after; cfa_add has both */
};
#define EP_CFA_ADD_TWICE(between, after) ((__s32)((__u32)(between) << 16 | (__u16)(after)))
#define EP_CFA_ADD_BETWEEN(add)		 ((__s64)((add) >> 16))
#define EP_CFA_ADD_AFTER(add)		 ((__s64)(__s16)(add))

enum ep_reg_rule {
	EP_REG_SAME = 0,      /* unchanged */
	EP_REG_AT_CFA = 1,    /* saved at CFA + off */
	EP_REG_IN_REG = 2,    /* held by another register */
	EP_REG_UNDEFINED = 3, /* for the return address: the root of the stack */
	EP_REG_AT_REG = 4,    /* fp only: saved at fp_reg + fp_off */
	EP_REG_IS_CFA = 5,    /* value is CFA + off (DW_CFA_val_offset) */
	/*
	 * The return address only: ra_off, unsigned, is a virtual address of the rule's file. The code runs within the
	 * frame of another function (core/unwind/outer.h): its own frames are elsewhere, and a gap stands for them.
	 */
	EP_REG_IS_CODE = 6,
};

#endif
