/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/expr.h"
#include "core/unwind/cursor.h"
#include "core/unwind/dwarf_ops.h"

#include <errno.h>

#define EXPR_DEPTH 8
/* The PLT's expression has 11 bytes. It is read for every row, so it must not be a megabyte. */
#define MAX_EXPR   64

struct expr_stack {
	struct ep_expr values[EXPR_DEPTH];
	unsigned int depth;
	bool unknown; /* an operation or a combination outside our shapes */
};

static void push(struct expr_stack *stack, struct ep_expr value)
{
	if (stack->depth == EXPR_DEPTH)
		stack->unknown = true;
	else
		stack->values[stack->depth++] = value;
}

static void push_const(struct expr_stack *stack, int64_t value)
{
	push(stack, (struct ep_expr){ .kind = EP_EXPR_CONST, .add = value });
}

static void push_reg(struct expr_stack *stack, uint64_t reg, int64_t off)
{
	if (reg > UINT16_MAX)
		stack->unknown = true;
	push(stack, (struct ep_expr){ .kind = EP_EXPR_REG, .reg = (uint32_t)reg, .add = off });
}

static struct ep_expr pop(struct expr_stack *stack)
{
	if (stack->depth == 0) {
		stack->unknown = true;
		return (struct ep_expr){ 0 };
	}
	return stack->values[--stack->depth];
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_const(struct expr_stack *stack, int64_t value)
{
	struct ep_expr top = pop(stack);

	top.add = wrap_add(top.add, value);
	push(stack, top);
}

static void plus(struct expr_stack *stack)
{
	struct ep_expr b = pop(stack);
	struct ep_expr a = pop(stack);

	if (b.kind != EP_EXPR_CONST) {
		struct ep_expr other = a;

		a = b;
		b = other;
	}
	if (b.kind != EP_EXPR_CONST)
		stack->unknown = true;
	a.add = wrap_add(a.add, b.add);
	push(stack, a);
}

static void minus(struct expr_stack *stack)
{
	struct ep_expr b = pop(stack);
	struct ep_expr a = pop(stack);

	if (b.kind != EP_EXPR_CONST)
		stack->unknown = true;
	a.add = wrap_add(a.add, (int64_t)-(uint64_t)b.add);
	push(stack, a);
}

static void deref(struct expr_stack *stack)
{
	struct ep_expr top = pop(stack);

	if (top.kind == EP_EXPR_DEREF) {
		top.kind = EP_EXPR_DEREF_TWICE;
		top.between = top.add;
		top.add = 0;
		push(stack, top);
		return;
	}
	if (top.kind != EP_EXPR_REG)
		stack->unknown = true;
	push(stack, (struct ep_expr){ .kind = EP_EXPR_DEREF, .reg = top.reg, .off = top.add });
}

static int64_t read_const(struct ep_cursor *cur, uint8_t op)
{
	switch (op) {
	case DW_OP_const1u:
		return ep_cursor_u8(cur);
	case DW_OP_const1s:
		return (int8_t)ep_cursor_u8(cur);
	case DW_OP_const2u:
		return ep_cursor_u16(cur);
	case DW_OP_const2s:
		return (int16_t)ep_cursor_u16(cur);
	case DW_OP_const4u:
		return ep_cursor_u32(cur);
	case DW_OP_const4s:
		return (int32_t)ep_cursor_u32(cur);
	case DW_OP_constu:
		return (int64_t)ep_cursor_uleb(cur);
	case DW_OP_consts:
		return ep_cursor_sleb(cur);
	}
	return (int64_t)ep_cursor_u64(cur); /* const8u, const8s */
}

static void step(struct expr_stack *stack, struct ep_cursor *cur, uint8_t op)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		push_const(stack, op - DW_OP_lit0);
	else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		push_reg(stack, op - DW_OP_breg0, ep_cursor_sleb(cur));
	else if (op >= DW_OP_const1u && op <= DW_OP_consts)
		push_const(stack, read_const(cur, op));
	else if (op == DW_OP_bregx) {
		uint64_t reg = ep_cursor_uleb(cur);

		push_reg(stack, reg, ep_cursor_sleb(cur));
	} else if (op == DW_OP_plus_uconst)
		add_const(stack, (int64_t)ep_cursor_uleb(cur));
	else if (op == DW_OP_plus)
		plus(stack);
	else if (op == DW_OP_minus)
		minus(stack);
	else if (op == DW_OP_deref)
		deref(stack);
	else if (op != DW_OP_nop)
		stack->unknown = true;
}

/*
 * The lazy PLT, as GNU ld has written it since 2.22 (binutils bfd/elfxx-x86.c, "eh_frame_plt"):
 * breg7 (rsp) 8; breg16 (rip) 0; lit15; and; lit11; ge; lit3; shl; plus. The threshold differs
 * between kinds of PLT: 11, or 10 and 9 with IBT.
 */
static bool parse_plt(struct ep_cursor cur, uint32_t pc_reg, struct ep_expr *ret)
{
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	uint8_t base = ep_cursor_u8(&cur);
	int64_t off = ep_cursor_sleb(&cur);
	uint8_t lit;

	if (base < DW_OP_breg0 || base > DW_OP_breg31 || pc_reg > 31 ||
	    ep_cursor_u8(&cur) != DW_OP_breg0 + pc_reg || ep_cursor_sleb(&cur) != 0 ||
	    ep_cursor_u8(&cur) != DW_OP_lit15 || ep_cursor_u8(&cur) != DW_OP_and)
		return false;
	lit = ep_cursor_u8(&cur);
	if (cur.bad || lit < DW_OP_lit0 || lit > DW_OP_lit31 ||
	    ep_cursor_left(&cur) != sizeof(tail) || memcmp(cur.pos, tail, sizeof(tail)) != 0)
		return false;
	*ret = (struct ep_expr){
		.kind = EP_EXPR_PLT, .reg = base - DW_OP_breg0, .off = off, .add = lit - DW_OP_lit0
	};
	return true;
}

static struct ep_cursor expr_bytes(const uint8_t *expr)
{
	struct ep_cursor cur = { .pos = expr, .end = expr + 10 }; /* the length is in bounds */
	uint64_t len = ep_cursor_uleb(&cur);

	return (struct ep_cursor){ .pos = cur.pos, .end = cur.pos + len };
}

int ep_expr_parse(const uint8_t *expr, int push_cfa, uint32_t pc_reg, struct ep_expr *ret)
{
	struct expr_stack stack = { .depth = 0 };
	struct ep_cursor cur = expr_bytes(expr);

	if (ep_cursor_left(&cur) > MAX_EXPR)
		return -ENOTSUP;
	if (!push_cfa && parse_plt(cur, pc_reg, ret))
		return 0;
	if (push_cfa)
		push(&stack, (struct ep_expr){ .kind = EP_EXPR_REG, .reg = EP_EXPR_REG_CFA });
	while (cur.pos < cur.end && !stack.unknown)
		step(&stack, &cur, ep_cursor_u8(&cur));
	if (stack.unknown || cur.bad || stack.depth == 0)
		return -ENOTSUP;
	*ret = stack.values[stack.depth - 1];
	return 0;
}
