/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _PyThreadState_GetCurrent (3.12 and newer) and, from 3.15 on, PyGILState_GetThisThreadState
 * return a variable of thread storage that has no dynamic symbol. How they read it depends on the
 * TLS model (Drepper, "ELF Handling For Thread-Local Storage"; x86-64 psABI):
 *
 *	local exec	mov %fs:off,%rax			64 48 8b 04 25 off32
 *	initial exec	mov got(%rip),%rax; mov %fs:(%rax),%rax	48 8b 05 rel32  64 48 8b 00
 *	general		data16 lea got(%rip),%rdi; call ...	66 48 8d 3d rel32 66 66 48 e8 rel32
 *			mov (%rax),%rax				48 8b 00
 *	local dynamic	lea got(%rip),%rdi; call ...;		48 8d 3d rel32 e8 rel32
 *			maybe pop %rbp				5d
 *			mov off(%rax),%rax			48 8b 80 off32, 48 8b 40 off8
 */
#include "plugins/python/python.h"

#include <errno.h>
#include <string.h>

#define GETTER_BYTES 48

static int64_t get_i32(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
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

/* `code` is at `va`; 32 bytes of it can be read. */
static int decode(const uint8_t *code, uint64_t va, struct py_thread_variable *ret)
{
	static const uint8_t local_exec[] = {0x64, 0x48, 0x8b, 0x04, 0x25};
	static const uint8_t from_got[] = {0x48, 0x8b, 0x05}, by_rax[] = {0x64, 0x48, 0x8b, 0x00};
	static const uint8_t general[] = {0x66, 0x48, 0x8d, 0x3d};
	static const uint8_t call[] = {0x66, 0x66, 0x48, 0xe8};
	static const uint8_t dynamic[] = {0x48, 0x8d, 0x3d}, wide[] = {0x48, 0x8b, 0x80};
	static const uint8_t narrow[] = {0x48, 0x8b, 0x40}, plain[] = {0x48, 0x8b, 0x00};
	struct py_thread_variable out = {0};

	if (memcmp(code, local_exec, 5) == 0) {
		out.kind = PY_VARIABLE_POINTER;
		out.value = (uint64_t)get_i32(code + 5);
	} else if (memcmp(code, from_got, 3) == 0 && memcmp(code + 7, by_rax, 4) == 0) {
		out.kind = PY_VARIABLE_WORD;
		out.value = va + 7 + (uint64_t)get_i32(code + 3);
	} else if (memcmp(code, general, 4) == 0 && memcmp(code + 8, call, 4) == 0 &&
		   memcmp(code + 16, plain, 3) == 0) {
		out.kind = PY_VARIABLE_PAIR;
		out.value = va + 8 + (uint64_t)get_i32(code + 4);
	} else if (memcmp(code, dynamic, 3) == 0 && code[7] == 0xe8) {
		const uint8_t *load = code + (code[12] == 0x5d ? 13 : 12);

		out.kind = PY_VARIABLE_PAIR;
		out.value = va + 7 + (uint64_t)get_i32(code + 3);
		if (memcmp(load, wide, 3) == 0)
			out.add = (uint32_t)get_i32(load + 3);
		else if (memcmp(load, narrow, 3) == 0)
			out.add = load[3];
		else if (memcmp(load, plain, 3) != 0)
			return -ENOTSUP;
	} else {
		return -ENOTSUP;
	}
	*ret = out;
	return 0;
}

int py_decode_getter(const struct ep_unwinder_host *host, const struct ep_file *file,
		     const char *name, struct py_thread_variable *ret)
{
	uint8_t code[GETTER_BYTES] = {0};
	struct ep_symbol symbol;
	size_t at;
	int r;

	r = host->file_symbol(file, name, &symbol);
	if (r < 0)
		return r;
	r = host->file_read(file, symbol.va, code, sizeof(code));
	if (r < 0)
		return r;
	at = skip_prologue(code);
	return decode(code + at, symbol.va + at, ret);
}

/* mov key(%rip),%edi: the first argument of pthread_getspecific, or of what calls it. */
int py_decode_argument(const struct ep_unwinder_host *host, const struct ep_file *file,
		       const char *name, uint64_t *ret_va)
{
	uint8_t code[GETTER_BYTES];
	struct ep_symbol symbol;
	int r;

	r = host->file_symbol(file, name, &symbol);
	if (r < 0)
		return r;
	r = host->file_read(file, symbol.va, code, sizeof(code));
	if (r < 0)
		return r;
	for (size_t i = 0; i + 6 <= sizeof(code); i++) {
		if (code[i] == 0x8b && code[i + 1] == 0x3d) {
			*ret_va = symbol.va + i + 6 + (uint64_t)get_i32(code + i + 2);
			return 0;
		}
	}
	return -ENOTSUP;
}
