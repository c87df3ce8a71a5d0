/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between processors: register numbers and how a row of the unwind table becomes a
 * rule that BPF can follow. The interpreter knows nothing else about them.
 */
#ifndef EP_UNWIND_MACHINE_H
#define EP_UNWIND_MACHINE_H

#include "core/unwind/row.h"
#include "core/unwind/rule_set.h"

/* Why rows got EP_RULE_UNSUPPORTED, and other things worth counting. */
struct ep_rule_counts {
	uint64_t bad_cfa_expr; /* CFA expressions outside our forms */
	uint64_t bad_reg_expr; /* the same for return address or frame pointer */
	uint64_t bad_sp;       /* rows that restore the stack pointer to something but the CFA */
	uint64_t no_cfa;       /* rows without a CFA */
	uint64_t too_large;    /* offsets above 31 bits */
	uint64_t base_cfa;     /* no fault: CFAs that start from the base register */
};

struct ep_machine {
	uint16_t e_machine; /* EM_* */
	uint8_t sp_reg, fp_reg, ra_reg; /* DWARF register numbers */
	int8_t imm_ra_off; /* where the return address is in an immediate rule */
	/*
	 * Slow path: a row that no immediate rule can express → its rule number. `signal`: the CIE
	 * has 'S'. Pointers of expressions lead to their bounded bytes.
	 */
	uint32_t (*rule)(const struct ep_cfi_row *row, bool signal, struct ep_rule_set *set,
			 struct ep_rule_counts *counts);
	/* Code of the C library's signal trampoline, to see whether an FDE starts right at it. */
	const uint8_t *trampoline;
	uint8_t trampoline_bytes;
	/*
	 * CFI of the usual prologue that saves the frame pointer and sets it, the first byte's
	 * advance zero: eight bytes, the first one lowest. 0: there is none.
	 */
	uint64_t fp_prologue;
	uint8_t columns[32]; /* DWARF register → enum ep_col; above: ignored */
	/*
	 * The same machine with a column for its base register: one that a few functions compute
	 * their CFA from while they call others (x86-64: rbx, in ld.so's _dl_runtime_resolve). Only
	 * files with such a function bear the cost of the larger rules. NULL: this is it.
	 */
	const struct ep_machine *with_base;
};

/* NULL when there are no rules for this machine. */
const struct ep_machine *ep_machine_find(uint16_t e_machine);

extern const struct ep_machine ep_machine_x86_64;

#endif
