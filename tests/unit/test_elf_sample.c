/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that the ELF and symbol tests read. It is built by test_elf_samples.sh in several
 * forms; what matters is which symbols it has, see the comments.
 */
#include <stdio.h>
#include <stdlib.h>

int sample_known(int x);
int sample_alias_target(int x);
void sample_asm_func(void);
void sample_asm_label(void);

/* a global function, called through nothing special */
__attribute__((noinline)) int sample_known(int x)
{
	return x * 3 + 1;
}

/* three names for one address: the global one with fewest underscores is to win */
__attribute__((noinline)) int __sample_internal(int x);
__attribute__((noinline)) int __sample_internal(int x)
{
	return x ^ 0x55;
}
extern __typeof__(__sample_internal) sample_public __attribute__((alias("__sample_internal")));
extern __typeof__(__sample_internal) sample_w __attribute__((weak, alias("__sample_internal")));

/* what stands at the address of an IFUNC is its resolver */
static int (*sample_resolve(void))(int)
{
	return sample_known;
}
int sample_ifunc(int x) __attribute__((ifunc("sample_resolve")));

/* a local function: in .symtab only */
static __attribute__((noinline, used)) int sample_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * assembly: a function without a size, a local label in it, a global label of no type after it,
 * and a function without a size that is longer than one may be guessed to be
 */
__asm__(".pushsection .text.sample_asm,\"ax\",@progbits\n"
	".globl sample_asm_func\n"
	".type sample_asm_func,@function\n"
	"sample_asm_func:\n"
	".fill 24, 1, 0x90\n"
	"sample_inner_label:\n"
	".fill 8, 1, 0x90\n"
	"ret\n"
	".balign 16\n"
	".globl sample_asm_label\n"
	"sample_asm_label:\n"
	".fill 15, 1, 0x90\n"
	"ret\n"
	".globl sample_asm_long\n"
	".type sample_asm_long,@function\n"
	"sample_asm_long:\n"
	".fill 400, 1, 0x90\n"
	"ret\n"
	".popsection\n");

int main(int argc, char **argv)
{
	int values[3] = {argc, 2, sample_public(argc)};

	(void)argv;
	qsort(values, 3, sizeof(values[0]), sample_compare);
	printf("%d %d\n", values[0], sample_known(values[1]) + sample_w(3));
	sample_asm_func();
	sample_asm_label();
	return 0;
}
