/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter for FDEs whose rows are all immediate rules (bpf/rule.h), which nearly all are:
 * the state is the rule itself, so remembering is storing 20 bits and a row is one comparison.
 */
#ifndef EP_UNWIND_RUN_FAST_H
#define EP_UNWIND_RUN_FAST_H

#include "core/unwind/cfi.h"
#include "core/unwind/machine.h"
#include "core/unwind/pack.h"

struct ep_run_fast {
	const struct ep_machine *machine;
	uint32_t leave;	      /* remember_state and def_cfa sp 8, as in front of a return */
	uint8_t actions[256]; /* by opcode; see run_fast.c */
};

void ep_run_fast_init(struct ep_run_fast *fast, const struct ep_machine *machine);

/*
 * Like ep_run_fde. `first` is the immediate rule of the FDE's CIE, whose code alignment is 1 and
 * data alignment -8. True when done; false when something needs the general interpreter (an
 * instruction, an operand, or bytes that are malformed): then what was put is rubbish and the
 * caller rewinds.
 */
bool ep_run_fde_fast(const struct ep_run_fast *fast, struct ep_pack *pack, const struct ep_fde *fde,
		     uint32_t first, uint64_t hi);

#endif
