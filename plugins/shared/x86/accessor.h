/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What small functions of x86-64 tell: accessors that a runtime exports use the offsets and
 * variables that one wants to know, and do little more. They are read one instruction after the
 * other, as a compiler put them. All of it is hostile.
 */
#ifndef X86_ACCESSOR_H
#define X86_ACCESSOR_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/shared/x86/decode.h"

#include <stdbool.h>

#define X86_CODE_BYTES 4096
#define X86_MAX_MEMBER 0x10000

/* A function's beginning. */
struct x86_code {
	uint64_t va;
	size_t n;
	uint8_t bytes[X86_CODE_BYTES];
};

/* The function at va of a file, by the bounds that its unwind tables give. 0, or a negative
 * errno. */
int x86_code_read(const struct ep_unwinder_host *host, const struct ep_file *file, uint64_t va,
		  struct x86_code *ret);
/* The one that has this symbol; -ENODATA: there is none. */
int x86_code_named(const struct ep_unwinder_host *host, const struct ep_file *file,
		   const char *name, struct x86_code *ret);

/* An instruction, and of the usual ones with one memory operand what it is. Begins with `code`
 * alone. */
struct x86_reading {
	const struct x86_code *code;
	size_t at; /* of the next one */
	struct x86_insn insn;
	const uint8_t *bytes; /* of this one, from its opcode on */
	size_t n;
	bool wide; /* REX.W */
};

/* The next instruction; false: there is none that is known. */
bool x86_reading_next(struct x86_reading *reading);
/* The address that a relative operand at the end of the instruction, `off` bytes from its opcode,
 * has. */
uint64_t x86_relative(const struct x86_reading *reading, size_t off);
/* Where a jump, branch or call whose target is known leads to. */
uint64_t x86_target(const struct x86_reading *reading);
/* OP reg, ADDRESS(%rip), without an immediate. */
bool x86_is_relative(const struct x86_reading *reading, uint8_t op);
/* OP OFF(%reg), without SIB; `n`: bytes of the opcode, which ends with op. Offsets from 0 to
 * X86_MAX_MEMBER. */
bool x86_is_member(const struct x86_reading *reading, size_t n, uint8_t op, uint32_t *ret_off);

/* A function's frame after its prologue. Offsets are from the CFA down. */
struct x86_prologue {
	uint32_t frame; /* to sp, with has_fp maybe less; 0: not known */
	uint32_t saved; /* to the caller's rbp; 0: rbp is not changed */
	bool has_fp;	/* rbp is CFA - 16: sp may be anything */
};

/* 0 or -ENOTSUP: other code than is known. */
int x86_code_prologue(const struct x86_code *code, struct x86_prologue *ret);
/* Where a function jumps to outside of itself; how many. Or calls, with X86_CALL. */
size_t x86_code_leaves(const struct x86_code *code, enum x86_kind kind, uint64_t *ret_targets,
		       size_t max);

#endif
