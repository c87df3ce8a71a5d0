/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/golang/golang.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FS 0x64

/* mov %fs:..., REG: 64, REX.W, 8b */
static bool loads_from_fs(const struct x86_reading *c)
{
	return c->insn.bytes >= 4 && c->bytes[0] == FS && (c->bytes[1] & 0xf8) == 0x48 &&
	       c->bytes[2] == 0x8b;
}

static uint8_t to_register(const struct x86_reading *c)
{
	return (uint8_t)((c->bytes[3] >> 3 & 7) | (c->bytes[1] & 4) << 1);
}

/* ---- where g is ---- */

/*
 * What the register holds that %fs is indexed with (cmd/link/internal/amd64/asm.go):
 *	mov $-8,%rcx		48 c7 c1	the linker knows
 *	mov x(%rip),%rcx	48 8b 0d	the loader does
 */
static int from_register(const struct x86_code *function, size_t off, struct ep_variable *ret)
{
	const uint8_t *insn = function->bytes + off;

	if (off + 7 > function->n)
		return -ENODATA;
	if ((insn[0] & 0xfe) == 0x48 && insn[1] == 0xc7 && (insn[2] & 0xf8) == 0xc0) {
		*ret = (struct ep_variable){.kind = EP_VARIABLE_POINTER,
					    .value = (uint64_t)(int32_t)ep_get_u32(insn + 3)};
		return 0;
	}
	if ((insn[0] & 0xfb) == 0x48 && insn[1] == 0x8b && (insn[2] & 0xc7) == 0x05) {
		*ret = (struct ep_variable){.kind = EP_VARIABLE_WORD,
					    .value = function->va + off + 7 +
						     (uint64_t)(int32_t)ep_get_u32(insn + 3)};
		return 0;
	}
	return -ENODATA;
}

int go_code_g(const struct x86_code *function, struct ep_variable *ret)
{
	struct x86_reading c = {.code = function};
	size_t before = 0;

	for (; x86_reading_next(&c); before = c.at - c.insn.bytes) {
		if (!loads_from_fs(&c))
			continue;
		/* mov %fs:N,REG: no base, no index */
		if (c.insn.bytes == 9 && (c.bytes[3] & 0xc7) == 0x04 && c.bytes[4] == 0x25) {
			*ret = (struct ep_variable){
				.kind = EP_VARIABLE_POINTER,
				.value = (uint64_t)(int32_t)ep_get_u32(c.bytes + 5)};
			return 0;
		}
		return from_register(function, before, ret);
	}
	return -ENODATA;
}

/* ---- offsets ---- */

static bool is_offset(int64_t value, int64_t below)
{
	return value > 0 && value < below && value % 8 == 0;
}

static bool loads(const struct x86_reading *c, uint8_t from)
{
	return c->insn.kind == X86_LOAD && c->bytes[0] != FS && c->insn.from == from;
}

/*
 *	mov %fs:-8,%rax		g
 *	mov 0x30(%rax),%rbx	g.m
 *	mov 0xb8(%rbx),%rax	m.curg
 *	mov %rax,%fs:-8
 *	mov 0x38(%rax),%rsp	curg.sched.sp
 */
int go_code_offsets(const struct x86_code *systemstack, struct go_offsets *ret)
{
	uint8_t g = X86_NO_REGISTER, m = X86_NO_REGISTER, curg = X86_NO_REGISTER;
	struct x86_reading c = {.code = systemstack};
	struct go_offsets found = {0};

	while (x86_reading_next(&c)) {
		if (loads_from_fs(&c)) {
			g = to_register(&c);
			m = curg = X86_NO_REGISTER;
		} else if (curg != X86_NO_REGISTER && loads(&c, curg) && c.insn.to == X86_RSP &&
			   is_offset(c.insn.value, GO_G_BYTES)) {
			found.g_sched_sp = (uint32_t)c.insn.value;
			*ret = found;
			return 0;
		} else if (m != X86_NO_REGISTER && loads(&c, m) && is_offset(c.insn.value, 1024)) {
			curg = c.insn.to;
			found.m_curg = (uint32_t)c.insn.value;
		} else if (g != X86_NO_REGISTER && loads(&c, g) &&
			   is_offset(c.insn.value, GO_G_BYTES)) {
			m = c.insn.to;
			g = X86_NO_REGISTER;
			found.g_m = (uint32_t)c.insn.value;
		}
	}
	return -ENODATA;
}

/* mov %rbp,0x60(%rdi) */
int go_code_bp(const struct x86_code *morestack, uint32_t *ret_off)
{
	struct x86_reading c = {.code = morestack};

	while (x86_reading_next(&c)) {
		if (c.insn.kind != X86_STORE || c.insn.to != X86_RBP || c.insn.from == X86_RSP ||
		    !is_offset(c.insn.value, GO_G_BYTES))
			continue;
		*ret_off = (uint32_t)c.insn.value;
		return 0;
	}
	return -ENODATA;
}

/* and $-16,%rsp; mov %rdi,8(%rsp); mov 8(%rdi),%rdi; sub %rdx,%rdi; mov %rdi,(%rsp) */
int go_code_depth(const struct x86_code *asmcgocall, uint32_t *ret_off)
{
	struct x86_reading c = {.code = asmcgocall};
	int64_t off = -1;
	bool aligned = false;

	while (x86_reading_next(&c)) {
		if (c.insn.kind == X86_ALIGN && c.insn.to == X86_RSP)
			aligned = true;
		if (!aligned || c.insn.kind != X86_STORE || c.insn.from != X86_RSP)
			continue;
		if (off < 0) {
			off = c.insn.value;
		} else if (off - c.insn.value == 8 && is_offset(off, 256)) {
			*ret_off = (uint32_t)c.insn.value;
			return 0;
		}
	}
	return -ENODATA;
}

bool go_code_has_frame(const struct x86_code *function)
{
	return function->n > 0 && function->bytes[0] == 0x55;
}

/* ---- where stacks change ---- */

static bool goes_to_another(const struct x86_insn *insn)
{
	return (insn->kind == X86_LOAD && insn->to == X86_RSP) ||
	       (insn->kind == X86_SET && insn->to == X86_RSP && insn->from != X86_RSP);
}

/* asmcgocall that is on the system stack already: sub $16,%rsp */
static bool makes_room(const struct x86_insn *insn, uint32_t kind)
{
	return kind == GO_CODE_ASMCGOCALL && insn->kind == X86_SET && insn->to == X86_RSP &&
	       insn->value < 0;
}

/*
 * From after the instruction that leaves a stack, up to the one after a call that comes back;
 * that one is within, since rsp changes after it. morestack never comes back.
 */
uint32_t go_code_switched(const struct x86_code *function, uint32_t kind, struct go_code *codes,
			  uint32_t max)
{
	struct x86_reading c = {.code = function};
	bool away = false, called = false;
	size_t start = 0;
	uint32_t n = 0;

	while (n < max && x86_reading_next(&c)) {
		if (c.insn.kind == X86_CALL) {
			called = true;
		} else if (!away && (goes_to_another(&c.insn) || makes_room(&c.insn, kind))) {
			away = true;
			called = false;
			start = c.at;
		} else if (away && called && goes_to_another(&c.insn)) {
			codes[n++] = (struct go_code){function->va + start,
						      (uint32_t)(c.at - start), kind};
			away = false;
		}
	}
	if (away && n < max)
		codes[n++] = (struct go_code){function->va + start,
					      (uint32_t)(function->n - start), kind};
	return n;
}
