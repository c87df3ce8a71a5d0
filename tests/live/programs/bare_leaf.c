/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves in assembly that nothing describes: no call frame information, no frame pointer. What they
 * have in rbp is no address, zero, or one in the stack that has nothing to do with frames.
 */
#include "zoo.h"

#if !defined(__x86_64__)
#error "x86-64 only"
#endif

#define LEAF(name, setup)                                                                          \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ",@function\n" name ":\n"        \
		"mov %rbp, %rsi\n" setup "\n1: dec %edi\n jnz 1b\n mov %rsi, %rbp\n ret\n"         \
		".size " name ",.-" name "\n")

LEAF("leaf_number", "mov $0x1234567, %ebp");
LEAF("leaf_zero", "xor %ebp, %ebp");
LEAF("leaf_stack", "lea 64(%rsp), %rbp\n and $-8, %rbp");

void leaf_number(unsigned int n);
void leaf_zero(unsigned int n);
void leaf_stack(unsigned int n);

/* By pointer: call through a register; the others are direct calls. */
KEEP void by_pointer(void (*function)(unsigned int))
{
	volatile unsigned int pad[64] = {0};

	function(SPINS_PER_MS);
	(void)pad[3];
	BARRIER();
}

KEEP void directly(void)
{
	leaf_zero(SPINS_PER_MS);
	BARRIER();
}

ZOO_MAIN("STACK leaf_number by_pointer main\n"
	 "STACK leaf_zero directly main\n"
	 "STACK leaf_stack by_pointer main\n",
	 by_pointer(leaf_number); directly(); by_pointer(leaf_stack))
