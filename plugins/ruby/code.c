/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What machine code of exported functions tells: offsets in the VM and in threads differ by patch
 * release and by build, and these functions do little more than use them. As gcc 6 to 14 make them
 * of 2.5 to 3.4:
 *
 *	rb_thread_current	mov EC,%rax; mov 0x30(%rax),%rax; mov 0x10(%rax),%rax
 *	rb_during_gc		mov VM@GOT(%rip),%rax | lea VM(%rip),%rax; mov (%rax),%rax
 *				mov 0x458(%rax),%rax; movzbl 0x10(%rax),%eax; shr $5,%al
 *	rb_thread_main		the same of the main ractor; mov 0x188(%rax),%rax: its thread (3.0
 *				on)
 *	ruby_thread_has_gvl_p	cmpq $0,0xa8(%rax)
 *	rb_id2str		cmp $0xa9,%rdi; ... jmp to what has: cmp %edi,SYMBOLS(%rip)
 *	rb_iseq_eval, _main	jmp rb_vm_exec
 */
#include "plugins/ruby/code.h"

#include <errno.h>
#include <string.h>

int ruby_code_thread(const struct x86_code *code, uint32_t *ret_thread_off)
{
	struct x86_reading reading = {.code = code};
	uint32_t off, before = 0, last = 0;

	while (x86_reading_next(&reading) && reading.insn.kind != X86_RETURN) {
		if (!reading.wide || !x86_is_member(&reading, 1, 0x8b, &off))
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
static bool read_vm(struct x86_reading *reading, struct ruby_collector *found)
{
	uint32_t off;

	while (x86_reading_next(reading) && reading->insn.kind != X86_RETURN) {
		bool is_load = reading->wide && x86_is_relative(reading, 0x8b);

		if (!is_load && !(reading->wide && x86_is_relative(reading, 0x8d)))
			continue;
		found->vm_va = x86_relative(reading, 2);
		if (!x86_reading_next(reading))
			return false;
		found->vm_in_got =
			is_load && reading->wide && x86_is_member(reading, 1, 0x8b, &off) && !off;
		return true;
	}
	return false;
}

/* The load of the flag's word, and how far it is shifted. */
static bool read_flag(struct x86_reading *reading, struct ruby_collector *found)
{
	bool loaded = false;
	uint32_t off;

	do {
		const uint8_t *bytes = reading->bytes;

		if (reading->wide && x86_is_member(reading, 1, 0x8b, &off) && off) {
			found->objspace_off = off;
		} else if (x86_is_member(reading, 1, 0x8b, &off) ||
			   (bytes[0] == 0x0f && x86_is_member(reading, 2, 0xb6, &off))) {
			found->flag_off = off;
			loaded = found->objspace_off && off;
		} else if (loaded && reading->n == 3 && (bytes[0] == 0xc0 || bytes[0] == 0xc1) &&
			   (bytes[1] & 0xf8) == 0xe8) {
			found->bit = bytes[2];
			return found->bit < 32;
		}
	} while (x86_reading_next(reading) && reading->insn.kind != X86_RETURN);
	return false;
}

int ruby_code_collector(const struct x86_code *code, struct ruby_collector *ret)
{
	struct x86_reading reading = {.code = code};
	struct ruby_collector found = {0};

	if (!read_vm(&reading, &found) || !read_flag(&reading, &found))
		return -ENOTSUP;
	*ret = found;
	return 0;
}

int ruby_code_main_thread(const struct x86_code *code, struct ruby_main_thread *ret)
{
	struct x86_reading reading = {.code = code};
	struct ruby_collector found = {0};
	uint32_t off;

	if (!read_vm(&reading, &found))
		return -ENOTSUP;
	do {
		if (reading.wide && x86_is_member(&reading, 1, 0x8b, &off) && off) {
			*ret = (struct ruby_main_thread){found.vm_va, found.vm_in_got, off};
			return 0;
		}
	} while (x86_reading_next(&reading) && reading.insn.kind != X86_RETURN);
	return -ENOTSUP;
}

int ruby_code_blocking(const struct x86_code *code, uint32_t *ret_off)
{
	struct x86_reading reading = {.code = code};
	uint32_t off;

	while (x86_reading_next(&reading) && reading.insn.kind != X86_RETURN) {
		if (reading.wide && reading.n == 7 && (reading.bytes[1] & 0x38) == 0x38 &&
		    !reading.bytes[6] && x86_is_member(&reading, 1, 0x83, &off) && off) {
			*ret_off = off;
			return 0;
		}
	}
	return -ENOTSUP;
}

int ruby_code_symbols(const struct x86_code *code, struct ruby_symbols *symbols)
{
	struct x86_reading reading = {.code = code};

	/* Beyond returns, too: what it is looked for in is a whole function. */
	while (x86_reading_next(&reading)) {
		const uint8_t *bytes = reading.bytes;

		if (!symbols->last_op_id && reading.wide &&
		    ((reading.n == 5 && bytes[0] == 0x3d) ||
		     (reading.n == 6 && bytes[0] == 0x81 && (bytes[1] & 0xf8) == 0xf8)))
			memcpy(&symbols->last_op_id, bytes + reading.n - 4,
			       sizeof(symbols->last_op_id));
		if (!reading.wide &&
		    (x86_is_relative(&reading, 0x39) || x86_is_relative(&reading, 0x3b))) {
			symbols->va = x86_relative(&reading, 2);
			return 0;
		}
		if (reading.insn.kind == X86_JUMP && reading.insn.has_target && !symbols->jump_va)
			symbols->jump_va = x86_target(&reading);
	}
	return -ENOTSUP;
}
