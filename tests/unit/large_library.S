/* SPDX-License-Identifier: Apache-2.0 */
/* A library with more than a megabyte of .eh_frame, over 3 MiB of text. */
	.text
	.globl	large
large:
	.rept	50000
	.p2align 6
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack, "", @progbits
