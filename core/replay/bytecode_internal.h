/* SPDX-License-Identifier: Apache-2.0 */
/* What loading gives to running. */
#ifndef EP_REPLAY_BYTECODE_INTERNAL_H
#define EP_REPLAY_BYTECODE_INTERNAL_H

#include <stddef.h>

#include <linux/bpf.h>

struct ep_bytecode_program {
	char name[16];
	const struct bpf_insn *insns; /* of all programs, and of the functions that they call */
	size_t first, n;	      /* where it begins; of all */
};

#endif
