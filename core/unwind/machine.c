/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/machine.h"

#include <elf.h>

/*
 * aarch64 needs a file rule_aarch64.c beside rule_x86_64.c with: sp 31, fp 29, ra 30 (AAPCS64
 * DWARF numbers); immediate rules that say where fp *and* lr are, since lr has no fixed slot (the
 * form is reserved in bpf/rule.h); EP_REG_IN_REG for leaf functions that keep lr; the kernel's
 * rt_sigframe (registers at sp + 312). Until that exists its files have no tables.
 */
const struct ep_machine *ep_machine_find(uint16_t e_machine)
{
	return e_machine == EM_X86_64 ? &ep_machine_x86_64 : NULL;
}
