/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions of call frame information, reduced to the few shapes BPF can follow. The
 * expression runs on symbolic values; whatever leaves the shapes below has no rule.
 *
 *	EP_EXPR_CONST	add
 *	EP_EXPR_REG	reg + add			(reg may be the CFA)
 *	EP_EXPR_DEREF	*(reg + off) + add
 *	EP_EXPR_DEREF_TWICE	*(*(reg + off) + between) + add
 *	EP_EXPR_PLT	reg + off + ((pc & 15) >= add ? 8 : 0)
 */
#ifndef EP_UNWIND_EXPR_H
#define EP_UNWIND_EXPR_H

#include <stdint.h>

#define EP_EXPR_REG_CFA 0xffffffffu

enum ep_expr_kind {
	EP_EXPR_CONST,
	EP_EXPR_REG,
	EP_EXPR_DEREF,
	EP_EXPR_DEREF_TWICE,
	EP_EXPR_PLT,
};

struct ep_expr {
	uint32_t kind;
	uint32_t reg; /* DWARF number or EP_EXPR_REG_CFA */
	int64_t off;
	int64_t between;
	int64_t add;
};

/*
 * `expr` points at the ULEB128 length, whose bytes the caller knows to be in bounds. With
 * `push_cfa` the CFA lies on the stack first (register rules do so, CFA rules do not).
 * 0, -ENOTSUP.
 */
int ep_expr_parse(const uint8_t *expr, int push_cfa, uint32_t pc_reg, struct ep_expr *ret);

#endif
