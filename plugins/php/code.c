/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What machine code of exported functions tells: offsets differ by release and by build (with
 * threads, with valgrind), and these functions do little more than use them. As gcc 10 to 15 make
 * them of 7.4 to 8.6, and clang:
 *
 *	zend_get_executed_scope		lea EG(%rip),%rax; mov 0x1e8(%rax),%rax; ... mov
 *					0x18(%rax),%rdx
 *	zend_get_executed_filename_ex	... mov 0xa8(%rdx),%rax; ret
 *	zend_get_executed_lineno	mov (%rax),%rax; ... cmpq $0,0x3a8(%rcx); ... mov
 *					0x3b8(%rcx),%rdx; mov 0x18(%rdx),%eax ... mov
 *					0x68(%rdx),%rax; mov 0x18(%rax),%eax
 *	zend_fiber_switch_context	lea EG(%rip),%rbx; mov 0x6d0(%rbx),%r12
 *	make_fcontext			lea FINISH(%rip),%rcx; mov %rcx,0x38(%rax)
 *	zend_generator_check_...	mov 0x98(%rdx),%rcx; cmpq $0,0x98(%rcx); ... mov
 *					0x38(%rdx),%rcx; mov %rax,0x30(%rcx)
 *	zend_execute			lea zend_execute_ex(%rip),%rax; mov %rbx,%rdi; call *(%rax)
 *	zend_vm_kind			mov $4,%eax; ret
 *
 * Members of the globals that are looked for lie after the first GLOBALS_FIRST bytes
 * (zend_globals.h: two zvals, the cache of symbol tables), those of frames and functions before.
 */
#include "plugins/php/code.h"

#include <errno.h>
#include <string.h>

#define GLOBALS_FIRST 0x120 /* symtable_cache_limit, and more */
#define FUNCTION_NAMES 0x30 /* in a function: what all kinds have; prev_execute_data in a frame */
#define CONTEXT_FINISH 0x38
#define FRAME_PREV     0x30
#define GENERATOR_FIRST 0x38 /* after the object */

/* MOV OFF(%reg,%reg,1), of the globals of a thread, or MOV OFF(%r12), with a large OFF. Not of the
 * stack. */
static bool is_indexed(const struct x86_reading *reading, uint32_t *ret_off)
{
	const uint8_t *bytes = reading->bytes;

	if (!reading->wide || reading->n != 7 || bytes[0] != 0x8b || (bytes[1] & 0xc7) != 0x84 ||
	    bytes[2] >> 6 || (bytes[2] == 0x24 && !(bytes[-1] & 1)))
		return false;
	memcpy(ret_off, bytes + 3, sizeof(*ret_off));
	return *ret_off < X86_MAX_MEMBER;
}

/* Loads eight bytes of a structure. */
static bool is_load(const struct x86_reading *reading, uint32_t *ret_off)
{
	return reading->wide &&
	       (x86_is_member(reading, 1, 0x8b, ret_off) || is_indexed(reading, ret_off));
}

/* The first member of the globals that is loaded. */
static int find_first(const struct x86_code *code, uint32_t *ret_off)
{
	struct x86_reading reading = {.code = code};
	uint32_t off;

	while (x86_reading_next(&reading)) {
		if (is_load(&reading, &off) && off >= GLOBALS_FIRST) {
			*ret_off = off;
			return 0;
		}
	}
	return -ENOTSUP;
}

int php_code_current(const struct x86_code *code, uint32_t *ret_off)
{
	return find_first(code, ret_off);
}

int php_code_fiber(const struct x86_code *code, uint32_t *ret_off)
{
	return find_first(code, ret_off);
}

int php_code_filename(const struct x86_code *code, uint32_t *ret_off)
{
	struct x86_reading reading = {.code = code};
	uint32_t off, found = 0;

	while (x86_reading_next(&reading)) {
		if (is_load(&reading, &off) && off > FUNCTION_NAMES && off < GLOBALS_FIRST)
			found = off;
	}
	if (!found)
		return -ENOTSUP;
	*ret_off = found;
	return 0;
}

int php_code_lineno(const struct x86_code *code, uint32_t *ret_before_exception,
		    uint32_t *ret_opcodes)
{
	struct x86_reading reading = {.code = code};
	uint32_t off, before = 0, opcodes = 0;

	while (x86_reading_next(&reading)) {
		if (!is_load(&reading, &off))
			continue;
		if (off >= GLOBALS_FIRST)
			before = off;
		else if (off > FUNCTION_NAMES)
			opcodes = off;
	}
	if (!before)
		return -ENOTSUP;
	*ret_before_exception = before;
	*ret_opcodes = opcodes;
	return 0;
}

int php_code_finish(const struct x86_code *code, uint64_t *ret_va)
{
	struct x86_reading reading = {.code = code};
	uint64_t address = 0;

	while (x86_reading_next(&reading) && reading.insn.kind != X86_RETURN) {
		const struct x86_insn *insn = &reading.insn;

		if (reading.wide && x86_is_relative(&reading, 0x8d))
			address = x86_relative(&reading, 2);
		if (address && insn->kind == X86_STORE && insn->value == CONTEXT_FINISH) {
			*ret_va = address;
			return 0;
		}
	}
	return -ENOTSUP;
}

int php_code_generator(const struct x86_code *code, uint32_t *ret_data, uint32_t *ret_parent)
{
	struct x86_reading reading = {.code = code};
	uint32_t off, loaded = 0, data = 0, parent = 0;

	while (x86_reading_next(&reading)) {
		const struct x86_insn *insn = &reading.insn;

		/* Into the frame that execute_data is. */
		if (insn->kind == X86_STORE && insn->value == FRAME_PREV)
			data = loaded;
		/* cmpq $0, and cmp of a register (7.4). */
		if (reading.wide &&
		    (x86_is_member(&reading, 1, 0x83, &off) ||
		     x86_is_member(&reading, 1, 0x39, &off)) &&
		    off > GENERATOR_FIRST)
			parent = off;
		if (is_load(&reading, &off))
			loaded = off;
	}
	if (data < GENERATOR_FIRST || data >= parent)
		return -ENOTSUP;
	*ret_data = data;
	*ret_parent = parent;
	return 0;
}

/* CALL *(%reg), CALL *ADDRESS(%rip). */
static bool is_call_of_variable(const struct x86_reading *reading)
{
	uint8_t modrm = reading->bytes[1];

	return reading->n >= 2 && reading->bytes[0] == 0xff && (modrm & 0xf8) == 0x10 &&
	       (modrm & 7) != 4;
}

size_t php_code_returns(const struct x86_code *code, uint64_t *ret_returns, size_t max)
{
	struct x86_reading reading = {.code = code};
	size_t n = 0;

	while (n < max && x86_reading_next(&reading)) {
		if (is_call_of_variable(&reading))
			ret_returns[n++] = code->va + reading.at;
	}
	return n;
}

int php_code_number(const struct x86_code *code, uint32_t *ret)
{
	struct x86_reading reading = {.code = code};
	uint32_t found = 0;

	while (x86_reading_next(&reading) && reading.insn.kind != X86_RETURN) {
		if (reading.n == 5 && reading.bytes[0] == 0xb8)
			memcpy(&found, reading.bytes + 1, sizeof(found));
	}
	if (reading.insn.kind != X86_RETURN || !found)
		return -ENOTSUP;
	*ret = found;
	return 0;
}
