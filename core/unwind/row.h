/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of the virtual unwind table of DWARF 5, 6.4.1: how to get the CFA and the caller's
 * registers at one address. Only the registers an unwinder of stacks needs have a column of their
 * own. Of others it needs to know whether they still have their values: two groups share a column
 * each, whose kind says that one of the group was mentioned; what instructions say about the rest
 * (vector registers) lands in the column nobody reads.
 */
#ifndef EP_UNWIND_ROW_H
#define EP_UNWIND_ROW_H

#include <stdbool.h>
#include <stdint.h>

enum ep_col {
	EP_COL_IGNORED, /* registers above those a rule can name */
	EP_COL_FP,
	EP_COL_RA,
	EP_COL_SP,
	EP_COL_BASE, /* see struct ep_machine's with_base */
	EP_COL_FIRST_SHARED,
	EP_COL_CALLEE = EP_COL_FIRST_SHARED, /* a called function saves them before it uses them */
	EP_COL_CALLER, /* a called function may change them */
	EP_COLS,
};

enum ep_col_kind {
	EP_COL_SAME,	  /* unchanged; also: nothing was reported */
	EP_COL_AT_CFA,	  /* saved at CFA + value */
	EP_COL_IS_CFA,	  /* is CFA + value */
	EP_COL_IN_REG,	  /* held by register `value` */
	EP_COL_EXPR,	  /* saved at the address an expression gives */
	EP_COL_VAL_EXPR,  /* is what an expression gives */
	EP_COL_UNDEFINED, /* lost */
};

enum ep_cfa_kind {
	EP_ROW_CFA_UNSET,
	EP_ROW_CFA_REG,	 /* cfa_reg + cfa_off */
	EP_ROW_CFA_EXPR, /* what cfa_expr gives */
};

/*
 * Expressions point at their length (ULEB128) in the section; parsing has checked their bounds. In
 * EP_COL_CALLEE, `value` is 1 when a row with more on the stack than the return address mentioned
 * one of the group: what was saved there has been popped where there is no more.
 */
struct ep_cfi_col {
	uint64_t kind; /* enum ep_col_kind */
	union {
		int64_t value;
		const uint8_t *expr;
	};
};

struct ep_cfi_row {
	uint32_t cfa_kind;
	uint32_t cfa_reg; /* EP_REG_NUMBER_MAX: above what a rule can name */
	int64_t cfa_off; /* an expression leaves it and the register as they were */
	const uint8_t *cfa_expr;
	bool keeps_callee; /* once the row is done: EP_COL_CALLEE's registers have their values */
	struct ep_cfi_col cols[EP_COLS];
};

#define EP_REG_NUMBER_MAX 255u

#endif
