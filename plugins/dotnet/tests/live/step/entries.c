/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native instructions that enter managed code: calls of funclets and methods, and the jumps to
 * the code that replaces a frame or goes on after a catch. To throw an exception takes 100 000 to a
 * million native instructions, so they are not stepped: a breakpoint of the CPU waits at the
 * entries. Which these are is learnt. An entry that was stepped is known exactly. Return addresses
 * on the stack of managed code are candidates: a breakpoint at a wrong one does no harm.
 */
#include "plugins/dotnet/tests/live/step/step.h"

#include "core/proc/memory.h"

#define STACK_WORDS 512

void entries_learn(struct entries *entries, uint64_t addr, bool is_jump)
{
	entries->has_jump |= is_jump;
	for (size_t i = 0; i < entries->n; i++) {
		if (entries->all[i] == addr)
			return;
	}
	if (entries->n < STEP_ENTRIES)
		entries->all[entries->n++] = addr;
}

/* Intel SDM volume 2: call r/m64 (FF /2) by a register, or by memory at a base and an offset. 0: it
 * is another instruction. */
static uint64_t indirect_call_before(const struct tracee *tracee, uint64_t addr)
{
	uint8_t code[6];

	if (ep_memory_read(tracee->pid, addr - sizeof(code), code, sizeof(code)) < 0)
		return 0;
	if (code[4] == 0xff && (code[5] & 0xf8) == 0xd0)
		return addr - (code[3] == 0x41 ? 3 : 2);
	if (code[3] == 0xff && (code[4] & 0xf8) == 0x50 && code[4] != 0x54)
		return addr - (code[2] == 0x41 ? 4 : 3);
	if (code[2] == 0xff && code[3] == 0x54 && code[4] == 0x24)
		return addr - 4;
	return code[0] == 0xff && (code[1] & 0xf8) == 0x90 && code[1] != 0x94 ? addr - 6 : 0;
}

void entries_search(struct entries *entries, const struct tracee *tracee,
		    const struct ranges *ranges)
{
	uint64_t words[STACK_WORDS], call;

	if (ep_memory_read(tracee->pid, tracee->regs.rsp, words, sizeof(words)) < 0)
		return;
	for (size_t i = 0; i < STACK_WORDS; i++) {
		if (!ranges_has_native(ranges, words[i]))
			continue;
		call = indirect_call_before(tracee, words[i]);
		if (call)
			entries_learn(entries, call, false);
		return; /* what is above it is native code's */
	}
}

void entries_choose(struct entries *entries, uint64_t *ret_two)
{
	for (size_t i = 0; i < 2 && i < entries->n; i++)
		ret_two[i] = entries->all[entries->next++ % entries->n];
}
