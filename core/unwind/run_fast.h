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
	uint32_t leave;	      /* remember_state and def_cfa sp 8, as before a return */
	uint64_t prologue;    /* machine->fp_prologue but for its steps */
	uint64_t other_save;  /* eight times a DW_CFA_offset that is ignored, see run_fast.c */
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

static inline uint64_t ep_run_fast_load(const uint8_t *pos)
{
	uint64_t value;

	memcpy(&value, pos, sizeof(value));
	return value;
}

/* The next 8 bytes, zeros after the end. An FDE's header is longer than what this reads of it. */
static inline uint64_t ep_run_fast_peek(const uint8_t *pos, const uint8_t *end)
{
	if (end - pos >= 8)
		return ep_run_fast_load(pos);
	return ep_run_fast_load(end - 8) >> 1 >> (63 - 8 * (end - pos)); /* none left: shifts by 64 */
}

/* True when only DW_CFA_nop is left: what pads an FDE to a multiple of 8 bytes. */
static inline bool ep_run_fast_only_nops(const uint8_t *pos, const uint8_t *end)
{
	return end - pos < 8 && ep_run_fast_peek(pos, end) == 0;
}

#endif
