/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls at the end of a function: a jump leaves no frame, so `jumps` is in no stack; a call of a
 * noreturn function is the last instruction, so its return address is in the next function.
 */
#include "zoo.h"

#include <setjmp.h>

ZOO_DEFINE_SPIN(spin)

static jmp_buf back;

KEEP void target(int n)
{
	spin((unsigned int)n);
	BARRIER();
}

#if defined(__x86_64__)
#define JUMP_TO(fn) __asm__ volatile("jmp " #fn)
#else
#define JUMP_TO(fn) __asm__ volatile("b " #fn)
#endif

/* Written as assembly: no compiler promises a jump. */
void jumps(int n);
__asm__(".text\n.globl jumps\n"
#if defined(__x86_64__)
	".type jumps,@function\njumps:\n.cfi_startproc\njmp target\n.cfi_endproc\n"
#else
	".type jumps,%function\njumps:\n.cfi_startproc\nb target\n.cfi_endproc\n"
#endif
	".size jumps,.-jumps\n");

KEEP void calls_jump(void)
{
	jumps(SPINS_PER_MS);
	BARRIER();
}

KEEP __attribute__((noreturn)) void never_returns(void)
{
	spin(SPINS_PER_MS);
	longjmp(back, 1);
}

KEEP __attribute__((noreturn)) void ends_in_a_call(void)
{
	never_returns();
}

KEEP void next_in_memory(void)
{
	if (setjmp(back) == 0)
		ends_in_a_call();
	BARRIER();
}

ZOO_MAIN("STACK spin target calls_jump main\n"
	 "STACK spin never_returns ends_in_a_call next_in_memory main\n",
	 calls_jump(); next_in_memory())
