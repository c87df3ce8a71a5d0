/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that runs in the frame of a function that jumped to it, as GHC's does: its own frames are on a stack in the
 * heap, at rbp, and the C stack stays where run_outer has put it. Blocks have no call frame information. They jump to each
 * other, call C, and C that enters them once more. `stale` is an address on their stack that has not run.
 */
#include "zoo.h"

#include <stdlib.h>

#if !defined(__x86_64__)
#error "x86-64 only"
#endif

#define SAVE(n, reg) "mov %" reg ", " #n "(%rax)\n"
#define RESTORE(n, reg) "mov " #n "(%rdx), %" reg "\n"

void run_outer(void *stack);

KEEP void spin(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		BARRIER();
}

KEEP void called(void)
{
	spin(SPINS_PER_MS);
	BARRIER();
}

static char *inner_stack;

KEEP void enters_again(void)
{
	static int depth;

	if (depth++ == 0)
		run_outer(inner_stack + 4096);
	depth--;
	BARRIER();
}

__asm__(".text\n.p2align 4\n.globl run_outer\n.type run_outer,@function\nrun_outer:\n.cfi_startproc\n"
	"sub $48, %rsp\n.cfi_def_cfa %rsp, 56\nmov %rsp, %rax\nsub $0x4000, %rsp\n.cfi_def_cfa %rsp, 0x4038\n"
	SAVE(0, "rbx") SAVE(8, "rbp") SAVE(16, "r12") SAVE(24, "r13") SAVE(32, "r14") SAVE(40, "r15")
	".cfi_offset %rbx, -56\n.cfi_offset %rbp, -48\n.cfi_offset %r12, -40\n.cfi_offset %r13, -32\n"
	".cfi_offset %r14, -24\n.cfi_offset %r15, -16\n"
	"mov %rdi, %rbp\nlea block_first(%rip), %rax\njmp *%rax\n"
	".globl return_outer\nreturn_outer:\n"
	"add $0x4000, %rsp\n.cfi_def_cfa %rsp, 56\nmov %rsp, %rdx\n"
	RESTORE(0, "rbx") RESTORE(8, "rbp") RESTORE(16, "r12") RESTORE(24, "r13") RESTORE(32, "r14") RESTORE(40, "r15")
	"add $48, %rsp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n.size run_outer,.-run_outer\n"
	".skip 4096, 0xcc\n"
	".globl block_first\n.type block_first,@function\nblock_first:\n"
	"lea stale(%rip), %rax\nsub $16, %rbp\nmov %rax, (%rbp)\nmov %rax, 8(%rbp)\n"
	"mov $1000000, %ecx\n1: dec %ecx\njnz 1b\njmp block_calls\n.size block_first,.-block_first\n"
	".skip 64, 0xcc\n"
	".globl block_calls\n.type block_calls,@function\nblock_calls:\n"
	"sub $8, %rsp\ncall called\nadd $8, %rsp\n"
	"sub $8, %rsp\ncall enters_again\nadd $8, %rsp\n"
	"jmp *(%rbp)\n.size block_calls,.-block_calls\n"
	".skip 64, 0xcc\n"
	".globl stale\n.type stale,@function\nstale:\nadd $16, %rbp\njmp return_outer\n.size stale,.-stale\n");

KEEP void schedule(char *stack)
{
	run_outer(stack + 4096);
	BARRIER();
}

static char *new_stack(void)
{
	char *stack = calloc(1, 8192);

	if (!stack)
		exit(1);
	return stack;
}

ZOO_MAIN("STACK block_first GAP run_outer schedule main\n"
	 "STACK spin called block_calls GAP run_outer schedule main\n"
	 "STACK block_first GAP run_outer enters_again block_calls GAP run_outer schedule main\n"
	 "STACK spin called block_calls GAP run_outer enters_again block_calls GAP run_outer schedule main\n",
	 inner_stack = inner_stack ? inner_stack : new_stack(); static char *stack; stack = stack ? stack : new_stack(); schedule(stack))
