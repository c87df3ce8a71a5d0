/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a function reads a thread variable depends on the TLS model (Drepper, "ELF Handling For
 * Thread-Local Storage"; x86-64 psABI):
 *
 *	local exec	mov %fs:off,%rax			64 48 8b 04 25 off32
 *			mov $off,%rax; mov %fs:(%rax),%rax	48 c7 c0 off32  64 48 8b 00 (initial exec, relaxed)
 *	initial exec	mov got(%rip),%rax; mov %fs:(%rax),%rax	48 8b 05 rel32  64 48 8b 00
 *	general		data16 lea got(%rip),%rdi; call ...	66 48 8d 3d rel32 66 66 48 e8 rel32
 *			maybe pop %rbp				5d
 *			mov (%rax),%rax				48 8b 00
 *	local dynamic	lea got(%rip),%rdi; call ...;		48 8d 3d rel32 e8 rel32
 *			maybe pop %rbp				5d
 *			mov off(%rax),%rax			48 8b 80 off32, 48 8b 40 off8
 */
#include "core/base/code.h"

#include <errno.h>
#include <string.h>

#define GETTER_BYTES   48 /* prologue and the longest form have 32 */
#define PROLOGUE_BYTES 12

static uint64_t get_i32(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return (uint64_t)(int64_t)value;
}

static size_t skip_prologue(const uint8_t *code)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t sub_rsp_8[] = {0x48, 0x83, 0xec, 8};
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5}; /* push %rbp; mov %rsp,%rbp */
	size_t at = 0;

	if (memcmp(code + at, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	if (memcmp(code + at, frame, sizeof(frame)) == 0)
		at += sizeof(frame);
	if (memcmp(code + at, sub_rsp_8, sizeof(sub_rsp_8)) == 0)
		at += sizeof(sub_rsp_8);
	return at;
}

static bool local_exec(const uint8_t *code, struct ep_variable *variable)
{
	bool relaxed = memcmp(code, "\x48\xc7\xc0", 3) == 0 && memcmp(code + 7, "\x64\x48\x8b\x00", 4) == 0;

	if (!relaxed && memcmp(code, "\x64\x48\x8b\x04\x25", 5) != 0)
		return false;
	variable->kind = EP_VARIABLE_POINTER;
	variable->value = get_i32(code + (relaxed ? 3 : 5));
	return true;
}

static bool initial_exec(const uint8_t *code, uint64_t va, struct ep_variable *variable)
{
	if (memcmp(code, "\x48\x8b\x05", 3) != 0 || memcmp(code + 7, "\x64\x48\x8b\x00", 4) != 0)
		return false;
	variable->kind = EP_VARIABLE_WORD;
	variable->value = va + 7 + get_i32(code + 3);
	return true;
}

static bool general_dynamic(const uint8_t *code, uint64_t va, struct ep_variable *variable)
{
	const uint8_t *load = code + (code[16] == 0x5d ? 17 : 16);

	if (memcmp(code, "\x66\x48\x8d\x3d", 4) != 0 ||
	    memcmp(code + 8, "\x66\x66\x48\xe8", 4) != 0 || memcmp(load, "\x48\x8b\x00", 3) != 0)
		return false;
	variable->kind = EP_VARIABLE_PAIR;
	variable->value = va + 8 + get_i32(code + 4);
	return true;
}

static bool local_dynamic(const uint8_t *code, uint64_t va, struct ep_variable *variable)
{
	const uint8_t *load = code + (code[12] == 0x5d ? 13 : 12);

	if (memcmp(code, "\x48\x8d\x3d", 3) != 0 || code[7] != 0xe8)
		return false;
	variable->kind = EP_VARIABLE_PAIR;
	variable->value = va + 7 + get_i32(code + 3);
	if (memcmp(load, "\x48\x8b\x80", 3) == 0)
		variable->add = (uint32_t)get_i32(load + 3);
	else if (memcmp(load, "\x48\x8b\x40", 3) == 0)
		variable->add = load[3];
	else
		return memcmp(load, "\x48\x8b\x00", 3) == 0;
	return true;
}

int ep_code_variable(const uint8_t *code, size_t bytes, uint64_t va, struct ep_variable *ret)
{
	uint8_t padded[GETTER_BYTES + PROLOGUE_BYTES] = {0};
	struct ep_variable out = {0};
	size_t at;

	if (bytes > 0)
		memcpy(padded, code, EP_MIN(bytes, (size_t)GETTER_BYTES));
	at = skip_prologue(padded);
	va += at;
	if (!local_exec(padded + at, &out) && !initial_exec(padded + at, va, &out) &&
	    !general_dynamic(padded + at, va, &out) && !local_dynamic(padded + at, va, &out))
		return -ENOTSUP;
	*ret = out;
	return 0;
}

/* mov x(%rip),%edi: the first argument of what is called next, or of what is jumped to. */
int ep_code_argument(const uint8_t *code, size_t bytes, uint64_t va, uint64_t *ret_va)
{
	for (size_t i = 0; i + 6 <= bytes; i++) {
		if (code[i] != 0x8b || code[i + 1] != 0x3d)
			continue;
		*ret_va = va + i + 6 + get_i32(code + i + 2);
		return 0;
	}
	return -ENOTSUP;
}

/* jmp rel32: e9; jcc rel32: 0f 80 to 0f 8f. Intel SDM volume 2. */
bool ep_code_jump(const uint8_t *code, size_t bytes, size_t at, uint64_t va, uint64_t *ret_target)
{
	size_t opcode;

	if (ep_in_bounds(at, 5, bytes) && code[at] == 0xe9)
		opcode = 1;
	else if (ep_in_bounds(at, 6, bytes) && code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80)
		opcode = 2;
	else
		return false;
	*ret_target = va + at + opcode + 4 + get_i32(code + at + opcode);
	return true;
}
