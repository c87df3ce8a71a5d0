/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call has put the address of the next instruction into a slot. It has ended when rsp is above
 * that: by a return, or since an exception went on further out. What suspension writes into the
 * slot is no other caller.
 */
#include "plugins/dotnet/tests/live/step/step.h"
#include "plugins/shared/x86/decode.h"

#include <errno.h>

#define MAX_CALLS 100000

void calls_init(struct calls *calls)
{
	ep_vec_init(&calls->all, sizeof(struct call), MAX_CALLS);
}

void calls_fini(struct calls *calls)
{
	ep_vec_fini(&calls->all);
}

size_t calls_len(const struct calls *calls)
{
	return calls->all.len;
}

const struct call *calls_get(const struct calls *calls, size_t n)
{
	return ep_vec_at(&calls->all, struct call, calls->all.len - 1 - n);
}

int calls_step(struct calls *calls, const struct tracee *tracee,
	       const struct user_regs_struct *before, const uint8_t *code)
{
	struct x86_insn insn;
	uint64_t sp = tracee->regs.rsp;

	while (calls->all.len > 0 && calls_get(calls, 0)->slot < sp)
		calls->all.len--;
	/* A signal's handler begins far below, with another return address. */
	if (sp != before->rsp - 8 || x86_decode(code, STEP_CODE_BYTES, &insn) ||
	    insn.kind != X86_CALL || tracee_word(tracee, sp) != before->rip + insn.bytes)
		return 0;
	return ep_vec_append(&calls->all,
			     &(struct call){sp, before->rip + insn.bytes, tracee->regs.rip}, 1);
}

bool calls_are_there(const struct calls *calls, const struct tracee *tracee)
{
	const struct call *call;

	ep_vec_each (&calls->all, call) {
		if (call->slot < tracee->regs.rsp || tracee_word(tracee, call->slot) != call->addr)
			return false;
	}
	return true;
}
