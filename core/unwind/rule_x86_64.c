/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64: rows that no immediate rule expresses. Register numbers: System V psABI, figure 3.36
 * (6 rbp, 7 rsp, 16 return address).
 */
#include "core/unwind/expr.h"
#include "core/unwind/machine.h"

#include <elf.h>
#include <string.h>

#define X86_RBX 3
#define X86_RBP 6
#define X86_RSP 7
#define X86_RA	16

/*
 * The frame the kernel makes for a signal, seen from __restore_rt where rsp points at its ucontext
 * (arch/x86/include/asm/sigframe.h, struct rt_sigframe; registers from
 * arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64, which lies at ucontext + 40: r8
 * +40, ... rbp +120, rsp +160, rip +168). glibc describes it so in
 * sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c.
 */
#define SIGFRAME_RBP 120
#define SIGFRAME_RSP 160
#define SIGFRAME_RIP 168

/* mov $__NR_rt_sigreturn, %rax; syscall: the whole of __restore_rt, also in musl. */
static const uint8_t trampoline[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };

/* On the way from a row to a rule; `failed` says that the row has none, and was counted. */
struct x86 {
	const struct ep_cfi_row *row;
	struct ep_rule_counts *counts;
	struct ep_rule rule;
	bool failed;
};

static void fail(struct x86 *x, uint64_t *counter)
{
	if (!x->failed)
		(*counter)++;
	x->failed = true;
}

static int32_t to_s32(struct x86 *x, int64_t value)
{
	if (value != (int32_t)value)
		fail(x, &x->counts->too_large);
	return (int32_t)value;
}

static int16_t to_s16(struct x86 *x, int64_t value)
{
	if (value != (int16_t)value)
		fail(x, &x->counts->too_large);
	return (int16_t)value;
}

static uint8_t to_reg(struct x86 *x, uint64_t reg)
{
	if (reg > 15) /* what BPF has values of */
		fail(x, &x->counts->too_large);
	return (uint8_t)reg;
}

static bool saved_at_rsp(const struct ep_cfi_col *col, int64_t off)
{
	struct ep_expr expr;

	return col->kind == EP_COL_EXPR && ep_expr_parse(col->expr, 1, X86_RA, &expr) == 0 &&
	       expr.kind == EP_EXPR_REG && expr.reg == X86_RSP && expr.add == off;
}

static bool is_sigframe(const struct ep_cfi_row *row)
{
	struct ep_expr cfa;

	return row->cfa_kind == EP_ROW_CFA_EXPR &&
	       ep_expr_parse(row->cfa_expr, 0, X86_RA, &cfa) == 0 && cfa.kind == EP_EXPR_DEREF &&
	       cfa.reg == X86_RSP && cfa.off == SIGFRAME_RSP && cfa.add == 0 &&
	       saved_at_rsp(&row->cols[EP_COL_RA], SIGFRAME_RIP) &&
	       saved_at_rsp(&row->cols[EP_COL_FP], SIGFRAME_RBP);
}

static void cfa_from_expr(struct x86 *x)
{
	struct ep_expr expr;

	if (ep_expr_parse(x->row->cfa_expr, 0, X86_RA, &expr) < 0 || expr.kind == EP_EXPR_CONST) {
		fail(x, &x->counts->bad_cfa_expr);
		return;
	}
	x->rule.cfa_reg = to_reg(x, expr.reg);
	if (expr.kind == EP_EXPR_REG) {
		x->rule.cfa_kind = EP_CFA_REG;
		x->rule.cfa_off = to_s32(x, expr.add);
		return;
	}
	x->rule.cfa_off = to_s32(x, expr.off);
	if (expr.kind == EP_EXPR_DEREF_TWICE) {
		x->rule.cfa_kind = EP_CFA_DEREF_TWICE;
		x->rule.cfa_add = EP_CFA_ADD_TWICE(to_s16(x, expr.between), to_s16(x, expr.add));
		return;
	}
	x->rule.cfa_kind = expr.kind == EP_EXPR_PLT ? EP_CFA_PLT : EP_CFA_DEREF;
	x->rule.cfa_add = to_s32(x, expr.add);
}

static void cfa_to_rule(struct x86 *x)
{
	switch (x->row->cfa_kind) {
	case EP_ROW_CFA_REG:
		x->rule.cfa_kind = EP_CFA_REG;
		x->rule.cfa_reg = to_reg(x, x->row->cfa_reg);
		x->rule.cfa_off = to_s32(x, x->row->cfa_off);
		x->counts->base_cfa += x->row->cfa_reg == X86_RBX;
		break;
	case EP_ROW_CFA_EXPR:
		cfa_from_expr(x);
		break;
	default:
		fail(x, &x->counts->no_cfa);
	}
}

/* A column as a rule: where the value is. */
struct reg_rule {
	uint8_t kind; /* enum ep_reg_rule */
	uint8_t reg;
	int32_t off;
};

/* Memory at reg + off; given relative to the CFA where the CFA is that register too. */
static struct reg_rule at_reg(struct x86 *x, uint32_t reg, int64_t off)
{
	if (reg == EP_EXPR_REG_CFA)
		return (struct reg_rule){ .kind = EP_REG_AT_CFA, .off = to_s32(x, off) };
	if (x->rule.cfa_kind == EP_CFA_REG && x->rule.cfa_reg == reg)
		return (struct reg_rule){ .kind = EP_REG_AT_CFA,
					  .off = to_s32(x, off - x->rule.cfa_off) };
	return (struct reg_rule){ .kind = EP_REG_AT_REG,
				  .reg = to_reg(x, reg),
				  .off = to_s32(x, off) };
}

static struct reg_rule value_rule(struct x86 *x, const struct ep_expr *expr)
{
	if (expr->kind == EP_EXPR_DEREF && expr->add == 0)
		return at_reg(x, expr->reg, expr->off);
	if (expr->kind == EP_EXPR_REG && expr->reg == EP_EXPR_REG_CFA)
		return (struct reg_rule){ .kind = EP_REG_IS_CFA, .off = to_s32(x, expr->add) };
	if (expr->kind == EP_EXPR_REG && expr->add == 0)
		return (struct reg_rule){ .kind = EP_REG_IN_REG, .reg = to_reg(x, expr->reg) };
	fail(x, &x->counts->bad_reg_expr);
	return (struct reg_rule){ 0 };
}

static struct reg_rule expr_to_rule(struct x86 *x, const struct ep_cfi_col *col)
{
	struct ep_expr expr;

	if (ep_expr_parse(col->expr, 1, X86_RA, &expr) < 0) {
		fail(x, &x->counts->bad_reg_expr);
		return (struct reg_rule){ 0 };
	}
	if (col->kind == EP_COL_VAL_EXPR)
		return value_rule(x, &expr);
	if (expr.kind == EP_EXPR_REG)
		return at_reg(x, expr.reg, expr.add);
	fail(x, &x->counts->bad_reg_expr);
	return (struct reg_rule){ 0 };
}

static struct reg_rule column_to_rule(struct x86 *x, const struct ep_cfi_col *col)
{
	switch (col->kind) {
	case EP_COL_AT_CFA:
		return (struct reg_rule){ .kind = EP_REG_AT_CFA, .off = to_s32(x, col->value) };
	case EP_COL_IS_CFA:
		return (struct reg_rule){ .kind = EP_REG_IS_CFA, .off = to_s32(x, col->value) };
	case EP_COL_IN_REG:
		return (struct reg_rule){ .kind = EP_REG_IN_REG,
					  .reg = to_reg(x, (uint64_t)col->value) };
	case EP_COL_EXPR:
	case EP_COL_VAL_EXPR:
		return expr_to_rule(x, col);
	case EP_COL_UNDEFINED:
		return (struct reg_rule){ .kind = EP_REG_UNDEFINED };
	}
	return (struct reg_rule){ .kind = EP_REG_SAME };
}

/* Only memory relative to the CFA and registers can hold a return address in ep_rule. */
static void ra_to_rule(struct x86 *x)
{
	struct reg_rule ra = column_to_rule(x, &x->row->cols[EP_COL_RA]);

	if (ra.kind != EP_REG_AT_CFA && ra.kind != EP_REG_IN_REG)
		fail(x, &x->counts->bad_reg_expr);
	x->rule.ra_kind = ra.kind;
	x->rule.ra_reg = ra.reg;
	x->rule.ra_off = ra.off;
}

static void fp_to_rule(struct x86 *x)
{
	struct reg_rule fp = column_to_rule(x, &x->row->cols[EP_COL_FP]);

	x->rule.fp_kind = fp.kind;
	x->rule.fp_reg = fp.reg;
	x->rule.fp_off = fp.off;
}

/*
 * What becomes of registers that are not followed, and where the caller's rbx is, for a caller
 * whose CFA starts from it; other forms of that are not kept.
 */
static void others_to_rule(struct x86 *x)
{
	const struct ep_cfi_col *base = &x->row->cols[EP_COL_BASE];

	if (x->row->cols[EP_COL_CALLER].kind == EP_COL_SAME)
		x->rule.others |= EP_OTHERS_KEEPS_CALLER;
	if (base->kind == EP_COL_AT_CFA && base->value < 0 && base->value % 8 == 0 &&
	    base->value >= -8 * UINT8_MAX) {
		x->rule.others |= X86_RBX;
		x->rule.base_slot = (uint8_t)(-base->value / 8);
	} else if (base->kind != EP_COL_SAME) {
		return;
	}
	if (x->row->keeps_callee)
		x->rule.others |= EP_OTHERS_KEEPS_CALLEE;
}

/* How far the caller's rsp is from the CFA. False: it is somewhere else. */
static bool find_sp(const struct x86 *x, int64_t *ret_off)
{
	const struct ep_cfi_col *sp = &x->row->cols[EP_COL_SP];
	struct ep_expr expr;

	*ret_off = sp->kind == EP_COL_IS_CFA ? sp->value : 0;
	if (sp->kind == EP_COL_SAME || sp->kind == EP_COL_IS_CFA)
		return true;
	if (sp->kind != EP_COL_VAL_EXPR || ep_expr_parse(sp->expr, 1, X86_RA, &expr) < 0 ||
	    expr.kind != EP_EXPR_REG)
		return false;
	*ret_off = expr.reg == EP_EXPR_REG_CFA ? expr.add : expr.add - x->rule.cfa_off;
	return expr.reg == EP_EXPR_REG_CFA || (x->rule.cfa_kind == EP_CFA_REG && expr.reg == x->rule.cfa_reg);
}

/*
 * The caller's rsp is the CFA of a rule. A row may say that it is so far from its own CFA, as GHC's StgRun does
 * (rts/StgCRun.c, "Unwinding foreign exports on x86-64"): then all is that far from the rule's.
 */
static void sp_to_rule(struct x86 *x)
{
	struct ep_rule *rule = &x->rule;
	int64_t off;

	if (!find_sp(x, &off) || (off && rule->cfa_kind != EP_CFA_REG)) {
		fail(x, &x->counts->bad_sp);
		return;
	}
	if (!off)
		return;
	rule->cfa_off = to_s32(x, rule->cfa_off + off);
	if (rule->ra_kind == EP_REG_AT_CFA)
		rule->ra_off = to_s32(x, rule->ra_off - off);
	if (rule->fp_kind == EP_REG_AT_CFA || rule->fp_kind == EP_REG_IS_CFA)
		rule->fp_off = to_s32(x, rule->fp_off - off);
	rule->base_slot = 0;
	rule->others = 0;
}

static uint32_t x86_rule(const struct ep_cfi_row *row, bool signal, struct ep_rule_set *set,
			 struct ep_rule_counts *counts)
{
	struct x86 x = { .row = row, .counts = counts };

	if (row->cols[EP_COL_RA].kind == EP_COL_UNDEFINED)
		return EP_RULE_STOP;
	if (signal && is_sigframe(row))
		return EP_RULE_SIGNAL;
	cfa_to_rule(&x);
	ra_to_rule(&x);
	fp_to_rule(&x);
	others_to_rule(&x);
	sp_to_rule(&x);
	return x.failed ? EP_RULE_UNSUPPORTED : ep_rule_set_add(set, &x.rule);
}

/* push %rbp: CFA offset 16, rbp at CFA - 16; mov %rsp, %rbp, 3 bytes: CFA register rbp. */
#define FP_PROLOGUE 0x060d430286100e40

/* System V psABI, figure 3.4: which registers belong to the calling function. Without rbx. */
#define COLUMNS                                                                                    \
	[0 ... 2] = EP_COL_CALLER, [4 ... 5] = EP_COL_CALLER, [X86_RBP] = EP_COL_FP,               \
	[X86_RSP] = EP_COL_SP, [8 ... 11] = EP_COL_CALLER, [12 ... 15] = EP_COL_CALLEE,            \
	[X86_RA] = EP_COL_RA

static const struct ep_machine x86_64_with_base = {
	.e_machine = EM_X86_64,
	.sp_reg = X86_RSP,
	.fp_reg = X86_RBP,
	.ra_reg = X86_RA,
	.imm_ra_off = -8,
	.rule = x86_rule,
	.trampoline = trampoline,
	.trampoline_bytes = sizeof(trampoline),
	.fp_prologue = FP_PROLOGUE,
	.columns = { COLUMNS, [X86_RBX] = EP_COL_BASE },
};

const struct ep_machine ep_machine_x86_64 = {
	.e_machine = EM_X86_64,
	.sp_reg = X86_RSP,
	.fp_reg = X86_RBP,
	.ra_reg = X86_RA,
	.imm_ra_off = -8,
	.rule = x86_rule,
	.trampoline = trampoline,
	.trampoline_bytes = sizeof(trampoline),
	.fp_prologue = FP_PROLOGUE,
	.columns = { COLUMNS, [X86_RBX] = EP_COL_CALLEE },
	.with_base = &x86_64_with_base,
};
