/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that run on a stack of their own, as code in assembly calls them: "up" at a higher address than the
 * caller's, "down" at a lower one, "fibers" in the heap, where CFI finds the caller's stack through two loads, as that of
 * OCaml 5 does (runtime/amd64.S). Each call goes through three of them, one on top of the other.
 */
#include "zoo.h"

#include <sys/mman.h>

#define STACK_BYTES 65536
#define DEPTH	    3

ZOO_DEFINE_SPIN(spin)

/* As psm's rust_psm_on_stack (Rust's stacker): the caller's stack is found by rbp. */
void call_on(void *top, void (*function)(int), int argument);
__asm__(".text\n.p2align 4\n.globl call_on\n.type call_on, @function\ncall_on:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa %rsp, 16\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"mov %rdi, %rsp\n"
	"mov %edx, %edi\n"
	"call *%rsi\n"
	"mov %rbp, %rsp\n"
	"pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n.size call_on, .-call_on\n");

/*
 * The first two words of the new stack: where the caller's sp is kept, and nothing. CFA = *(*(rsp + 0) + 0) + 16, where
 * rbp is saved at CFA - 16: DW_CFA_def_cfa_expression, 6 bytes: breg7 0, deref, deref, plus_uconst 16. It is a signal frame,
 * which is how a debugger takes that sp falls.
 */
void call_in_fiber(void *top, void (*function)(int), int argument, void **parent_sp);
__asm__(".text\n.p2align 4\n.globl call_in_fiber\n.type call_in_fiber, @function\ncall_in_fiber:\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	"push %rbp\n"
	".cfi_def_cfa %rsp, 16\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, (%rcx)\n"
	"mov %rcx, -16(%rdi)\n"
	"lea -16(%rdi), %rsp\n"
	".cfi_escape 0x0f, 6, 0x77, 0, 0x06, 0x06, 0x23, 16\n"
	"mov %edx, %edi\n"
	"call *%rsi\n"
	"mov (%rsp), %rcx\n"
	"mov (%rcx), %rsp\n"
	".cfi_def_cfa %rsp, 16\n"
	"pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n.size call_in_fiber, .-call_in_fiber\n");

static char *tops[DEPTH];
static void *parents[DEPTH]; /* of fibers: where their callers' sp is */
static int are_fibers;

KEEP void on_stack(int depth);

KEEP void next_stack(int depth)
{
	if (are_fibers)
		call_in_fiber(tops[depth], on_stack, depth + 1, &parents[depth]);
	else
		call_on(tops[depth], on_stack, depth + 1);
	BARRIER();
}

KEEP void on_stack(int depth)
{
	if (depth == DEPTH)
		spin(SPINS_PER_MS);
	else
		next_stack(depth);
	BARRIER();
}

/* The main thread's stack is above all that mmap gives; so "up" begins on the lowest of four stacks. */
KEEP void make_stacks(int is_up)
{
	char *low = mmap(NULL, (DEPTH + 1) * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (low == MAP_FAILED)
		exit(1);
	for (int i = 0; i < DEPTH; i++)
		tops[i] = low + (is_up ? i + 1 : DEPTH - i) * STACK_BYTES;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "down";

	are_fibers = strcmp(kind, "fibers") == 0;
	make_stacks(strcmp(kind, "down") != 0);
	zoo_start(argc, argv,
		  are_fibers ? "STACK spin on_stack call_in_fiber next_stack on_stack call_in_fiber next_stack on_stack "
			       "call_in_fiber next_stack main\n"
			     : "STACK spin on_stack call_on next_stack on_stack call_on next_stack on_stack "
			       "call_on next_stack main\n");
	while (zoo_time_left())
		next_stack(0);
	return 0;
}
