/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What machine code of exported functions tells: offsets in the VM and in threads differ by patch release
 * and by build, and these functions do little more than use them. As gcc 6 to 14 make them of 2.5 to 3.4:
 *
 *	rb_thread_current	mov EC,%rax; mov 0x30(%rax),%rax; mov 0x10(%rax),%rax
 *	rb_during_gc		mov VM@GOT(%rip),%rax | lea VM(%rip),%rax; mov (%rax),%rax
 *				mov 0x458(%rax),%rax; movzbl 0x10(%rax),%eax; shr $5,%al
 *	rb_thread_main		the same of the main ractor; mov 0x188(%rax),%rax: its thread (3.0 on)
 *	ruby_thread_has_gvl_p	cmpq $0,0xa8(%rax)
 *	rb_id2str		cmp $0xa9,%rdi; ... jmp to what has: cmp %edi,SYMBOLS(%rip)
 *	rb_iseq_eval, _main	jmp rb_vm_exec
 */
#include "plugins/ruby/code.h"

#include "plugins/shared/x86/decode.h"

#include <errno.h>
#include <string.h>

#define MAX_OFFSET   0x10000
#define MAX_PROLOGUE 32

/* An instruction, and of the usual ones with one memory operand what it is. */
struct reading {
	const struct ruby_code *code;
	size_t at; /* of the next one */
	struct x86_insn insn;
	const uint8_t *bytes; /* of this one, from its opcode on */
	size_t n;
	bool wide; /* REX.W */
};

static bool reading_next(struct reading *reading)
{
	const uint8_t *bytes = reading->code->bytes + reading->at;
	size_t left = reading->code->n - reading->at, skip = 0;

	if (!left || x86_decode(bytes, left, &reading->insn) != 0 || !reading->insn.bytes)
		return false;
	reading->at += reading->insn.bytes;
	reading->wide = false;
	while (skip + 1 < reading->insn.bytes && (bytes[skip] == 0x66 || (bytes[skip] & 0xf0) == 0x40)) {
		reading->wide = (bytes[skip] & 0xf8) == 0x48;
		skip++;
	}
	reading->bytes = bytes + skip;
	reading->n = reading->insn.bytes - skip;
	return true;
}

/* What a relative operand at the end of the instruction, but for `behind` bytes, is the address of. */
static uint64_t relative(const struct reading *reading, size_t off)
{
	int32_t value;

	memcpy(&value, reading->bytes + off, sizeof(value));
	return reading->code->va + reading->at + (uint64_t)(int64_t)value;
}

/* OP reg, ADDRESS(%rip), without an immediate. */
static bool is_relative(const struct reading *reading, uint8_t op)
{
	return reading->n == 6 && reading->bytes[0] == op && (reading->bytes[1] & 0xc7) == 0x05;
}

/* OP OFF(%reg), without SIB; `n`: bytes of the opcode, which ends with op. */
static bool is_member(const struct reading *reading, size_t n, uint8_t op, uint32_t *ret_off)
{
	const uint8_t *modrm = reading->bytes + n;
	int32_t off = 0;

	if (reading->n <= n || modrm[-1] != op || modrm[0] >= 0xc0 || (modrm[0] & 7) == 4 ||
	    (modrm[0] & 0xc7) == 5)
		return false;
	if (modrm[0] >> 6 == 1 && reading->n >= n + 2)
		off = (int8_t)modrm[1];
	else if (modrm[0] >> 6 == 2 && reading->n >= n + 5)
		memcpy(&off, modrm + 1, sizeof(off));
	*ret_off = (uint32_t)off;
	return off >= 0 && off < MAX_OFFSET;
}

int ruby_code_thread(const struct ruby_code *code, uint32_t *ret_thread_off)
{
	struct reading reading = {.code = code};
	uint32_t off, before = 0, last = 0;

	while (reading_next(&reading) && reading.insn.kind != X86_RETURN) {
		if (!reading.wide || !is_member(&reading, 1, 0x8b, &off))
			continue;
		before = last;
		last = off;
	}
	if (reading.insn.kind != X86_RETURN || !before || !last)
		return -ENOTSUP;
	*ret_thread_off = before;
	return 0;
}

/* Where the pointer to the VM, or to the main ractor, is: at the beginning. */
static bool read_vm(struct reading *reading, struct ruby_collector *found)
{
	uint32_t off;

	while (reading_next(reading) && reading->insn.kind != X86_RETURN) {
		bool is_load = reading->wide && is_relative(reading, 0x8b);

		if (!is_load && !(reading->wide && is_relative(reading, 0x8d)))
			continue;
		found->vm_va = relative(reading, 2);
		if (!reading_next(reading))
			return false;
		found->vm_in_got = is_load && reading->wide && is_member(reading, 1, 0x8b, &off) && !off;
		return true;
	}
	return false;
}

/* The load of the flag's word, and how far it is shifted. */
static bool read_flag(struct reading *reading, struct ruby_collector *found)
{
	bool loaded = false;
	uint32_t off;

	do {
		const uint8_t *bytes = reading->bytes;

		if (reading->wide && is_member(reading, 1, 0x8b, &off) && off) {
			found->objspace_off = off;
		} else if (is_member(reading, 1, 0x8b, &off) || (bytes[0] == 0x0f && is_member(reading, 2, 0xb6, &off))) {
			found->flag_off = off;
			loaded = found->objspace_off && off;
		} else if (loaded && reading->n == 3 && (bytes[0] == 0xc0 || bytes[0] == 0xc1) &&
			   (bytes[1] & 0xf8) == 0xe8) {
			found->bit = bytes[2];
			return found->bit < 32;
		}
	} while (reading_next(reading) && reading->insn.kind != X86_RETURN);
	return false;
}

int ruby_code_collector(const struct ruby_code *code, struct ruby_collector *ret)
{
	struct reading reading = {.code = code};
	struct ruby_collector found = {0};

	if (!read_vm(&reading, &found) || !read_flag(&reading, &found))
		return -ENOTSUP;
	*ret = found;
	return 0;
}

int ruby_code_main_thread(const struct ruby_code *code, struct ruby_main_thread *ret)
{
	struct reading reading = {.code = code};
	struct ruby_collector found = {0};
	uint32_t off;

	if (!read_vm(&reading, &found))
		return -ENOTSUP;
	do {
		if (reading.wide && is_member(&reading, 1, 0x8b, &off) && off) {
			*ret = (struct ruby_main_thread){found.vm_va, found.vm_in_got, off};
			return 0;
		}
	} while (reading_next(&reading) && reading.insn.kind != X86_RETURN);
	return -ENOTSUP;
}

int ruby_code_blocking(const struct ruby_code *code, uint32_t *ret_off)
{
	struct reading reading = {.code = code};
	uint32_t off;

	while (reading_next(&reading) && reading.insn.kind != X86_RETURN) {
		if (reading.wide && reading.n == 7 && (reading.bytes[1] & 0x38) == 0x38 && !reading.bytes[6] &&
		    is_member(&reading, 1, 0x83, &off) && off) {
			*ret_off = off;
			return 0;
		}
	}
	return -ENOTSUP;
}

int ruby_code_symbols(const struct ruby_code *code, struct ruby_symbols *symbols)
{
	struct reading reading = {.code = code};

	/* Beyond returns, too: what it is looked for in is a whole function. */
	while (reading_next(&reading)) {
		const uint8_t *bytes = reading.bytes;

		if (!symbols->last_op_id && reading.wide &&
		    ((reading.n == 5 && bytes[0] == 0x3d) ||
		     (reading.n == 6 && bytes[0] == 0x81 && (bytes[1] & 0xf8) == 0xf8)))
			memcpy(&symbols->last_op_id, bytes + reading.n - 4, sizeof(symbols->last_op_id));
		if (!reading.wide && (is_relative(&reading, 0x39) || is_relative(&reading, 0x3b))) {
			symbols->va = relative(&reading, 2);
			return 0;
		}
		if (reading.insn.kind == X86_JUMP && reading.insn.has_target && !symbols->jump_va)
			symbols->jump_va = code->va + reading.at - reading.insn.bytes + (uint64_t)reading.insn.value;
	}
	return -ENOTSUP;
}

int ruby_code_prologue(const struct ruby_code *code, struct ruby_prologue *ret)
{
	struct reading reading = {.code = code};
	struct ruby_prologue found = {.frame = 8};

	for (uint32_t i = 0; i < MAX_PROLOGUE && reading_next(&reading); i++) {
		const struct x86_insn *insn = &reading.insn;

		if (insn->kind == X86_PUSH) {
			found.frame += 8;
			if (insn->to == X86_RBP && !found.saved)
				found.saved = found.frame;
		} else if (insn->kind == X86_SET && insn->to == X86_RBP && insn->from == X86_RSP) {
			found.has_fp = found.frame == 16 && found.saved == 16;
		} else if (insn->kind == X86_SET && insn->to == X86_RSP && insn->from == X86_RSP) {
			found.frame += (uint32_t)-insn->value;
			if (insn->value >= 0 || insn->value < -MAX_OFFSET || found.frame % 16)
				return -ENOTSUP;
			*ret = found;
			return 0;
		} else if (insn->kind > X86_STORE) {
			return -ENOTSUP;
		}
	}
	return -ENOTSUP;
}

size_t ruby_code_jumps(const struct ruby_code *code, uint64_t *ret_targets, size_t max)
{
	struct reading reading = {.code = code};
	size_t n = 0;

	while (n < max && reading_next(&reading)) {
		uint64_t target = code->va + reading.at - reading.insn.bytes + (uint64_t)reading.insn.value;

		if (reading.insn.kind == X86_JUMP && reading.insn.has_target && target - code->va >= code->n)
			ret_targets[n++] = target;
	}
	return n;
}
