/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call frame instruction interpreter: runs one FDE and hands each row's rule to the packer.
 * This is the hot loop of table building; it allocates nothing and looks at each byte once.
 */
#ifndef EP_UNWIND_RUN_H
#define EP_UNWIND_RUN_H

#include "core/unwind/cfi.h"
#include "core/unwind/machine.h"
#include "core/unwind/pack.h"
#include "core/unwind/run_fast.h"
#include "ebpf-profiler/unwinder.h"

/* remember_state nests as deep as a function's early returns do; compilers emit 1, rarely 2. */
#define EP_RUN_DEPTH 64

struct ep_run {
	const struct ep_machine *machine;
	struct ep_pack *pack;
	struct ep_rule_set *rules;
	struct ep_rule_counts counts;
	struct ep_run_fast fast;
	struct ep_cfi_row stack[EP_RUN_DEPTH];
};

/* The same as ep_run_fde, for any FDE. */
int ep_run_fde_general(struct ep_run *run, const struct ep_cfi_section *sec,
		       const struct ep_fde *fde, uint64_t hi);

/* The rule of a row that was described. */
uint32_t ep_run_row(struct ep_run *run, const struct ep_code_row *row);

/*
 * Puts the rules of `fde` from its start to hi. 0; -EBADMSG or -ENOTSUP when its instructions or
 * those of its CIE are malformed or unknown: then nothing was put.
 */
static inline int ep_run_fde(struct ep_run *run, const struct ep_cfi_section *sec,
			     const struct ep_fde *fde, uint64_t hi)
{
	uint32_t first = fde->cie->first_rule; /* 0 as well while the CIE's instructions have not run */

	/* A third of all FDEs, those of leaf functions, have no instructions: only DW_CFA_nop. */
	if (first && ep_run_fast_only_nops(fde->insns, fde->insns_end)) {
		if (fde->start < hi)
			ep_pack_put(run->pack, fde->start, first);
		return 0;
	}
	if (first) {
		if (__builtin_expect(ep_run_fde_fast(&run->fast, run->pack, fde, first, hi), 1))
			return 0;
		ep_pack_cut(run->pack, fde->start);
	}
	return ep_run_fde_general(run, sec, fde, hi);
}

#endif
