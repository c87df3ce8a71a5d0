/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions in assembly that call others while their CFA starts from a register that no rule
 * mentions, as OpenSSL's do: the callee leaves it alone, so whoever unwinds has it still.
 */
#include "zoo.h"

#if !defined(__x86_64__)
#error "x86-64 only"
#endif

/* Burns %edi rounds; touches nothing but rdi and the flags. */
__asm__(".text\n.p2align 4\n.globl burn\n.type burn,@function\nburn:\n.cfi_startproc\n"
	"1: dec %edi\n jnz 1b\n ret\n.cfi_endproc\n.size burn,.-burn\n");

/* A helper between: it has a frame, and mentions no register. */
__asm__(".p2align 4\n.globl helper\n.type helper,@function\nhelper:\n.cfi_startproc\n"
	"sub $24, %rsp\n.cfi_adjust_cfa_offset 24\n call burn\n"
	"add $24, %rsp\n.cfi_adjust_cfa_offset -24\n ret\n.cfi_endproc\n.size helper,.-helper\n");

/* Realigns its stack, and keeps what it was in REG. */
#define BY_REGISTER(name, reg, save, restore)                                                      \
	__asm__(".p2align 4\n.globl " name "\n.type " name ",@function\n" name ":\n"              \
		".cfi_startproc\n" save "mov %rsp, %" reg "\n.cfi_def_cfa_register %" reg "\n"                        \
		"sub $96, %rsp\n and $-64, %rsp\n call helper\n mov %" reg ", %rsp\n"              \
		".cfi_def_cfa_register %rsp\n" restore "ret\n.cfi_endproc\n"                       \
		".size " name ",.-" name "\n")

#define PUSH(reg) "push %" reg "\n.cfi_adjust_cfa_offset 8\n.cfi_offset %" reg ", -16\n"
#define POP(reg)  "pop %" reg "\n.cfi_adjust_cfa_offset -8\n.cfi_restore %" reg "\n"

BY_REGISTER("by_rax", "rax", "", "");
BY_REGISTER("by_r10", "r10", "", "");
BY_REGISTER("by_r11", "r11", "", "");
BY_REGISTER("by_rbx", "rbx", PUSH("rbx"), POP("rbx"));
BY_REGISTER("by_r12", "r12", PUSH("r12"), POP("r12"));
BY_REGISTER("by_r15", "r15", PUSH("r15"), POP("r15"));

void by_rax(unsigned int n);
void by_r10(unsigned int n);
void by_r11(unsigned int n);
void by_rbx(unsigned int n);
void by_r12(unsigned int n);
void by_r15(unsigned int n);

KEEP void run(void (*function)(unsigned int))
{
	function(SPINS_PER_MS);
	BARRIER();
}

ZOO_MAIN("STACK burn helper by_rax run main\n"
	 "STACK burn helper by_r10 run main\n"
	 "STACK burn helper by_r11 run main\n"
	 "STACK burn helper by_rbx run main\n"
	 "STACK burn helper by_r12 run main\n"
	 "STACK burn helper by_r15 run main\n",
	 run(by_rax); run(by_r10); run(by_r11); run(by_rbx); run(by_r12); run(by_r15))
