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

/*
 * Puts the rules of `fde` from its start to hi. 0; -EBADMSG or -ENOTSUP when its instructions or
 * those of its CIE are malformed or unknown: then nothing was put.
 */
int ep_run_fde(struct ep_run *run, const struct ep_cfi_section *sec, const struct ep_fde *fde,
	       uint64_t hi);

#endif
