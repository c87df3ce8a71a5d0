/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/run.h"
#include "core/unwind/dwarf_ops.h"

#include <errno.h>

/* What one run of instructions works on; lives in registers as far as they reach. */
struct state {
	struct ep_cursor cur;
	struct ep_cfi_row row;
	uint64_t loc; /* va of the row being built */
	unsigned int depth;
	int error;
	const struct ep_cfi_row *initial; /* NULL while the CIE itself runs */
	const struct ep_cie *cie;
	const struct ep_machine *machine;
};

static inline size_t column_of(const struct state *st, uint64_t reg)
{
	return reg < sizeof(st->machine->columns) ? st->machine->columns[reg] : EP_COL_IGNORED;
}

/* Once one of a group was mentioned all of it is, until a state from before is restored. */
static inline void set_column(struct state *st, uint64_t reg, struct ep_cfi_col col)
{
	size_t i = column_of(st, reg);

	if (i < EP_COL_FIRST_SHARED)
		st->row.cols[i] = col;
	else if (col.kind != EP_COL_SAME)
		st->row.cols[i].kind = EP_COL_UNDEFINED;
}

static inline void set_value(struct state *st, uint64_t reg, enum ep_col_kind kind, int64_t value)
{
	set_column(st, reg, (struct ep_cfi_col){ .kind = kind, .value = value });
}

/* Factored offsets wrap like the address arithmetic they stand for. */
static inline int64_t factored(const struct state *st, uint64_t value)
{
	return (int64_t)(value * (uint64_t)st->cie->data_align);
}

static void set_cfa(struct state *st, uint64_t reg, int64_t off)
{
	st->row.cfa_kind = EP_ROW_CFA_REG;
	st->row.cfa_reg = reg < EP_REG_NUMBER_MAX ? (uint32_t)reg : EP_REG_NUMBER_MAX;
	st->row.cfa_off = off;
}

/*
 * After an expression DWARF 5 allows neither of these two; libgcrypt uses the first to
 * get back to the register rule they had before, which is how libgcc reads it (unwind-dw2.c,
 * execute_cfa_program: the offset is kept, and only the register's instruction changes the kind).
 */
static void set_cfa_register(struct state *st, uint64_t reg)
{
	set_cfa(st, reg, st->row.cfa_off);
}

static void set_cfa_offset(struct state *st, int64_t off)
{
	st->row.cfa_off = off;
}

/* Skips a block and returns where it begins: at its length, which takes 10 bytes at most. */
static const uint8_t *read_block(struct state *st)
{
	const uint8_t *block = st->cur.pos;
	uint64_t len = ep_cursor_uleb(&st->cur);

	if (st->cur.pos - block > 10)
		st->error = -EBADMSG;
	ep_cursor_skip(&st->cur, len);
	return block;
}

static void set_expression(struct state *st, enum ep_col_kind kind)
{
	uint64_t reg = ep_cursor_uleb(&st->cur);

	set_column(st, reg, (struct ep_cfi_col){ .kind = kind, .expr = read_block(st) });
}

static void set_cfa_expression(struct state *st)
{
	st->row.cfa_kind = EP_ROW_CFA_EXPR;
	st->row.cfa_expr = read_block(st);
}

static void restore_column(struct state *st, uint64_t reg)
{
	size_t i = column_of(st, reg);

	if (!st->initial)
		st->error = -EBADMSG;
	else if (i < EP_COL_FIRST_SHARED)
		st->row.cols[i] = st->initial->cols[i];
}

static void remember(struct state *st, struct ep_run *run)
{
	if (st->depth == EP_RUN_DEPTH)
		st->error = -EBADMSG;
	else
		run->stack[st->depth++] = st->row;
}

static void restore(struct state *st, struct ep_run *run)
{
	if (st->depth == 0)
		st->error = -EBADMSG;
	else
		st->row = run->stack[--st->depth];
}

static void run_register_op(struct state *st, uint8_t op)
{
	uint64_t reg = ep_cursor_uleb(&st->cur);

	switch (op) {
	case DW_CFA_offset_extended:
		set_value(st, reg, EP_COL_AT_CFA, factored(st, ep_cursor_uleb(&st->cur)));
		break;
	case DW_CFA_offset_extended_sf:
		set_value(st, reg, EP_COL_AT_CFA, factored(st, (uint64_t)ep_cursor_sleb(&st->cur)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_value(st, reg, EP_COL_AT_CFA, -factored(st, ep_cursor_uleb(&st->cur)));
		break;
	case DW_CFA_val_offset:
		set_value(st, reg, EP_COL_IS_CFA, factored(st, ep_cursor_uleb(&st->cur)));
		break;
	case DW_CFA_val_offset_sf:
		set_value(st, reg, EP_COL_IS_CFA, factored(st, (uint64_t)ep_cursor_sleb(&st->cur)));
		break;
	case DW_CFA_register:
		set_value(st, reg, EP_COL_IN_REG, (int64_t)ep_cursor_uleb(&st->cur));
		break;
	case DW_CFA_undefined:
		set_value(st, reg, EP_COL_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_value(st, reg, EP_COL_SAME, 0);
		break;
	case DW_CFA_restore_extended:
		restore_column(st, reg);
		break;
	}
}

static void run_cfa_op(struct state *st, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = ep_cursor_uleb(&st->cur);
		set_cfa(st, reg, (int64_t)ep_cursor_uleb(&st->cur));
		break;
	case DW_CFA_def_cfa_sf:
		reg = ep_cursor_uleb(&st->cur);
		set_cfa(st, reg, factored(st, (uint64_t)ep_cursor_sleb(&st->cur)));
		break;
	case DW_CFA_def_cfa_register:
		set_cfa_register(st, ep_cursor_uleb(&st->cur));
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(st, (int64_t)ep_cursor_uleb(&st->cur));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(st, factored(st, (uint64_t)ep_cursor_sleb(&st->cur)));
		break;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(st);
		break;
	}
}

/* Everything that neither advances the location nor is in the top two bits. */
static void run_op(struct state *st, struct ep_run *run, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_AARCH64_negate_ra_state: /* return addresses are stripped of their signature */
	case DW_CFA_AARCH64_negate_ra_state_with_pc:
		break;
	case DW_CFA_remember_state:
		remember(st, run);
		break;
	case DW_CFA_restore_state:
		restore(st, run);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		run_cfa_op(st, op);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_register:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_restore_extended:
		run_register_op(st, op);
		break;
	case DW_CFA_expression:
		set_expression(st, EP_COL_EXPR);
		break;
	case DW_CFA_val_expression:
		set_expression(st, EP_COL_VAL_EXPR);
		break;
	case DW_CFA_GNU_args_size: /* bytes pushed for a call: matters to landing pads only */
		(void)ep_cursor_uleb(&st->cur);
		break;
	default:
		st->error = -ENOTSUP;
	}
}

/* Where the next row begins; the same location, with an error, when that is malformed. */
static uint64_t advance(struct state *st, const struct ep_cfi_section *sec, uint8_t op)
{
	uint64_t step, to;

	switch (op) {
	case DW_CFA_set_loc:
		if (ep_cfi_read_pointer(sec, &st->cur, st->cie->fde_encoding, &to) < 0 || to < st->loc)
			st->error = -EBADMSG;
		return st->error ? st->loc : to;
	case DW_CFA_advance_loc1:
		step = ep_cursor_u8(&st->cur);
		break;
	case DW_CFA_advance_loc2:
		step = ep_cursor_u16(&st->cur);
		break;
	case DW_CFA_advance_loc4:
		step = ep_cursor_u32(&st->cur);
		break;
	default:
		step = ep_cursor_u64(&st->cur);
	}
	if (__builtin_mul_overflow(step, st->cie->code_align, &step) ||
	    __builtin_add_overflow(st->loc, step, &to)) {
		st->error = -EBADMSG;
		return st->loc;
	}
	return to;
}

static inline bool is_advance(uint8_t op)
{
	return op == DW_CFA_MIPS_advance_loc8 || (op >= DW_CFA_set_loc && op <= DW_CFA_advance_loc4);
}

/*
 * Where nothing but the return address is left on the stack, before a return, what was pushed
 * has been popped, though compilers do not say so. Before anything was pushed it is otherwise: a
 * function that calls none may save a register below the stack pointer.
 */
static inline void note_pushed(struct ep_cfi_row *row, const struct ep_machine *machine)
{
	struct ep_cfi_col *col = &row->cols[EP_COL_CALLEE];
	bool at_return = row->cfa_kind == EP_ROW_CFA_REG && row->cfa_reg == machine->sp_reg &&
			 row->cfa_off == 8;

	if (col->kind != EP_COL_SAME && !at_return)
		col->value = 1;
	row->keeps_callee = col->kind == EP_COL_SAME || (at_return && col->value);
}

/* The row as an immediate rule, or 0 when it does not fit: see bpf/rule.h. */
static inline uint32_t immediate_rule(const struct ep_cfi_row *row, const struct ep_machine *machine)
{
	const struct ep_cfi_col *fp = &row->cols[EP_COL_FP];
	const struct ep_cfi_col *ra = &row->cols[EP_COL_RA];
	bool base_fp = row->cfa_reg == machine->fp_reg;
	uint64_t off = (uint64_t)row->cfa_off;
	uint64_t slot = 0;

	if (row->cfa_kind != EP_ROW_CFA_REG || (!base_fp && row->cfa_reg != machine->sp_reg) ||
	    ra->kind != EP_COL_AT_CFA || ra->value != machine->imm_ra_off ||
	    row->cols[EP_COL_SP].kind != EP_COL_SAME ||
	    row->cols[EP_COL_BASE].kind != EP_COL_SAME ||
	    row->cols[EP_COL_CALLER].kind != EP_COL_SAME ||
	    off > EP_RULE_IMM_MAX_CFA_OFF || off % 8)
		return 0;
	if (fp->kind == EP_COL_AT_CFA) {
		slot = (uint64_t)-fp->value;
		if (slot - 8 > EP_RULE_IMM_MAX_FP_SLOT * 8 - 8 || slot % 8)
			return 0;
	} else if (fp->kind != EP_COL_SAME) {
		return 0;
	}
	return EP_RULE_IMM(base_fp, slot / 8, off) & ~(row->keeps_callee ? 0 : EP_RULE_KEEPS);
}

static inline void put_row(struct ep_run *run, struct state *st, uint64_t va)
{
	uint32_t rule;

	note_pushed(&st->row, st->machine);
	rule = immediate_rule(&st->row, st->machine);
	if (__builtin_expect(rule == 0, 0))
		rule = st->machine->rule(&st->row, st->cie->signal, run->rules, &run->counts);
	ep_pack_put(run->pack, va, rule);
}

static struct ep_cfi_col described_col(uint8_t place, int32_t value)
{
	static const uint8_t kinds[] = {
		[EP_CODE_SAME] = EP_COL_SAME,
		[EP_CODE_AT_CFA] = EP_COL_AT_CFA,
		[EP_CODE_IN_REG] = EP_COL_IN_REG,
		[EP_CODE_LOST] = EP_COL_UNDEFINED,
	};

	return (struct ep_cfi_col){
		.kind = place < sizeof(kinds) ? kinds[place] : EP_COL_UNDEFINED, .value = value
	};
}

uint32_t ep_run_row(struct ep_run *run, const struct ep_code_row *row)
{
	struct ep_cfi_row cfi = {
		.cfa_kind = EP_ROW_CFA_REG,
		.cfa_reg = row->cfa_reg,
		.cfa_off = row->cfa_off,
		.keeps_callee = row->flags & EP_CODE_KEEPS,
		.cols = { [EP_COL_RA] = described_col(row->ra_place, row->ra),
			  [EP_COL_FP] = described_col(row->fp_place, row->fp) },
	};
	uint32_t rule;

	if (row->flags & EP_CODE_UNKNOWN)
		return EP_RULE_NONE;
	rule = immediate_rule(&cfi, run->machine);
	return rule ? rule : run->machine->rule(&cfi, false, run->rules, &run->counts);
}

/* CIE instructions describe the first row; a location has no meaning there. */
static int run_cie(struct ep_run *run, struct ep_cie *cie)
{
	struct state st = {
		.cur = { .pos = cie->insns, .end = cie->insns_end },
		.cie = cie,
		.machine = run->machine,
	};

	while (st.cur.pos < st.cur.end && st.error == 0) {
		uint8_t op = *st.cur.pos++;

		if (op >> 6 == DW_CFA_offset >> 6)
			set_value(&st, op & 0x3f, EP_COL_AT_CFA,
				  factored(&st, ep_cursor_uleb(&st.cur)));
		else if (op >> 6 || is_advance(op))
			st.error = -EBADMSG;
		else
			run_op(&st, run, op);
	}
	if (st.cur.bad || st.depth)
		st.error = -EBADMSG;
	if (cie->ra_reg != run->machine->ra_reg)
		st.error = -ENOTSUP;
	note_pushed(&st.row, run->machine);
	cie->initial = st.row;
	if (!st.error && cie->code_align == 1 && cie->data_align == -8 && st.row.keeps_callee)
		cie->first_rule = immediate_rule(&st.row, run->machine);
	return st.error;
}

static int initial_row(struct ep_run *run, struct ep_cie *cie)
{
	if (cie->state == EP_CIE_FRESH)
		cie->state = run_cie(run, cie) < 0 ? EP_CIE_BAD : EP_CIE_READY;
	return cie->state == EP_CIE_BAD ? -EBADMSG : 0;
}

/* One instruction that is not an advance_loc with its operand inside. True when the row is done. */
static inline bool run_slow(struct ep_run *run, struct state *st, const struct ep_cfi_section *sec,
			    uint8_t op, uint64_t *to)
{
	switch (op >> 6) {
	case DW_CFA_offset >> 6:
		set_value(st, op & 0x3f, EP_COL_AT_CFA, factored(st, ep_cursor_uleb(&st->cur)));
		return false;
	case DW_CFA_restore >> 6:
		restore_column(st, op & 0x3f);
		return false;
	}
	if (!is_advance(op)) {
		run_op(st, run, op);
		return false;
	}
	*to = advance(st, sec, op);
	return st->error == 0;
}

static int run_general(struct ep_run *run, const struct ep_cfi_section *sec,
		       const struct ep_fde *fde, uint64_t hi)
{
	struct state st = {
		.cur = { .pos = fde->insns, .end = fde->insns_end },
		.loc = fde->start,
		.initial = &fde->cie->initial,
		.cie = fde->cie,
		.machine = run->machine,
	};
	uint64_t to = st.loc;

	st.row = fde->cie->initial;
	while (st.cur.pos < st.cur.end) {
		uint8_t op = *st.cur.pos++;

		if (op >> 6 == DW_CFA_advance_loc >> 6)
			to = st.loc + (op & 0x3f) * st.cie->code_align;
		else if (!run_slow(run, &st, sec, op, &to)) {
			if (__builtin_expect(st.error != 0, 0))
				return st.error;
			continue;
		}
		if (__builtin_expect(to < st.loc, 0))
			return -EBADMSG; /* wrapped around */
		if (to != st.loc && st.loc < hi)
			put_row(run, &st, st.loc);
		st.loc = to;
	}
	if (st.cur.bad || st.error)
		return st.error ? st.error : -EBADMSG;
	if (st.loc < hi)
		put_row(run, &st, st.loc);
	return 0;
}

int ep_run_fde_general(struct ep_run *run, const struct ep_cfi_section *sec,
		       const struct ep_fde *fde, uint64_t hi)
{
	int r = initial_row(run, fde->cie);

	if (r < 0)
		return r;
	r = run_general(run, sec, fde, hi);
	if (r < 0)
		ep_pack_cut(run->pack, fde->start);
	return r;
}
