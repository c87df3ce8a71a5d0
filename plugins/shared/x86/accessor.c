/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/x86/accessor.h"

#include "plugins/shared/read/file.h"

#include <errno.h>
#include <string.h>

#define MAX_PROLOGUE 32

int x86_code_read(const struct ep_unwinder_host *host, const struct ep_file *file, uint64_t va,
		  struct x86_code *ret)
{
	struct ep_symbol function;
	int r = va ? host->file_function(file, va, &function) : -ENODATA;

	if (r < 0)
		return r;
	ret->va = va;
	ret->n = function.va + function.bytes - va;
	if (ret->n > sizeof(ret->bytes))
		ret->n = sizeof(ret->bytes);
	return host->file_read(file, va, ret->bytes, ret->n);
}

int x86_code_named(const struct ep_unwinder_host *host, const struct ep_file *file,
		   const char *name, struct x86_code *ret)
{
	return x86_code_read(host, file, file_va(host, file, name), ret);
}

bool x86_reading_next(struct x86_reading *reading)
{
	const uint8_t *bytes = reading->code->bytes + reading->at;
	size_t left = reading->code->n - reading->at, skip = 0;

	if (!left || x86_decode(bytes, left, &reading->insn) != 0 || !reading->insn.bytes)
		return false;
	reading->at += reading->insn.bytes;
	reading->wide = false;
	while (skip + 1 < reading->insn.bytes &&
	       (bytes[skip] == 0x66 || (bytes[skip] & 0xf0) == 0x40)) {
		reading->wide = (bytes[skip] & 0xf8) == 0x48;
		skip++;
	}
	reading->bytes = bytes + skip;
	reading->n = reading->insn.bytes - skip;
	return true;
}

uint64_t x86_relative(const struct x86_reading *reading, size_t off)
{
	int32_t value;

	memcpy(&value, reading->bytes + off, sizeof(value));
	return reading->code->va + reading->at + (uint64_t)(int64_t)value;
}

uint64_t x86_target(const struct x86_reading *reading)
{
	return reading->code->va + reading->at - reading->insn.bytes +
	       (uint64_t)reading->insn.value;
}

bool x86_is_relative(const struct x86_reading *reading, uint8_t op)
{
	return reading->n == 6 && reading->bytes[0] == op && (reading->bytes[1] & 0xc7) == 0x05;
}

bool x86_is_member(const struct x86_reading *reading, size_t n, uint8_t op, uint32_t *ret_off)
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
	return off >= 0 && off < X86_MAX_MEMBER;
}

int x86_code_prologue(const struct x86_code *code, struct x86_prologue *ret)
{
	struct x86_reading reading = {.code = code};
	struct x86_prologue found = {.frame = 8};

	for (uint32_t i = 0; i < MAX_PROLOGUE && x86_reading_next(&reading); i++) {
		const struct x86_insn *insn = &reading.insn;

		if (insn->kind == X86_PUSH) {
			found.frame += 8;
			if (insn->to == X86_RBP && !found.saved)
				found.saved = found.frame;
		} else if (insn->kind == X86_SET && insn->to == X86_RBP && insn->from == X86_RSP) {
			found.has_fp = found.frame == 16 && found.saved == 16;
		} else if (insn->kind == X86_SET && insn->to == X86_RSP && insn->from == X86_RSP) {
			found.frame += (uint32_t)-insn->value;
			if (insn->value >= 0 || insn->value < -X86_MAX_MEMBER || found.frame % 16)
				return -ENOTSUP;
			*ret = found;
			return 0;
		} else if (insn->kind > X86_STORE) {
			break;
		}
	}
	/* It needs no space, or makes it later. */
	if (!found.has_fp)
		return -ENOTSUP;
	*ret = found;
	return 0;
}

size_t x86_code_leaves(const struct x86_code *code, enum x86_kind kind, uint64_t *ret_targets,
		       size_t max)
{
	struct x86_reading reading = {.code = code};
	size_t n = 0;

	while (n < max && x86_reading_next(&reading)) {
		if (reading.insn.kind == kind && reading.insn.has_target &&
		    x86_target(&reading) - code->va >= code->n)
			ret_targets[n++] = x86_target(&reading);
	}
	return n;
}
