/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the toy runtime has in assembly, as real ones have: code that was made by a generator of its
 * own, with neither call frame information nor a symbol. A table tells where it is, for those who
 * print crashes, and how much each piece of it has on the stack:
 *
 *	toy_stubs	| n | bytes of an entry | entry | entry ...
 */
#ifndef STUBS_H
#define STUBS_H

#include <stdint.h>

struct toy_stub {
	int32_t off;	/* of its code, from where toy_stubs begins */
	uint32_t bytes;
	uint32_t pushed_at, popped_at; /* from its first byte; between them rbp is on the stack */
	char name[16];
};

struct toy_stubs {
	uint32_t n, stub_bytes;
	struct toy_stub stubs[1];
};

#ifdef __x86_64__
extern const struct toy_stubs toy_stubs;

/* Counts down, in rbp, so that nobody gets far by following frame pointers. */
__asm__(".pushsection .text.toy_stubs, \"ax\", @progbits\n"
	".balign 16\n"
	".Lnap:\n"
	"	push %rbp\n"
	".Lnap_pushed:\n"
	"	mov %edi, %ebp\n"
	"1:	dec %ebp\n"
	"	jnz 1b\n"
	"	pop %rbp\n"
	".Lnap_popped:\n"
	"	ret\n"
	".Lnap_end:\n"
	".popsection\n"
	".pushsection .rodata.toy_stubs, \"a\", @progbits\n"
	".balign 8\n"
	".globl toy_stubs\n"
	".type toy_stubs, @object\n"
	"toy_stubs:\n"
	"	.long 1, 32\n"
	"	.long .Lnap - toy_stubs, .Lnap_end - .Lnap\n"
	"	.long .Lnap_pushed - .Lnap, .Lnap_popped - .Lnap\n"
	"	.string \"nap\"\n"
	"	.zero 12\n"
	".size toy_stubs, . - toy_stubs\n"
	".popsection\n");

/* It has no symbol to be called by. */
#define TOY_NAP(n)                                                                                 \
	((void (*)(unsigned int))((uintptr_t)&toy_stubs +                                          \
				  (uintptr_t)(intptr_t)toy_stubs.stubs[0].off))(n)
#else
#define TOY_NAP(n) spin(n)
#endif

#endif
