/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our stack deltas with elfutils' libdw, which interprets CFI independently: for every row
 * of every FDE both ways run on the same random registers and memory, and the caller's CFA, return
 * address, rbp and rsp must come out equal. Of the other registers, those that our rule says are
 * kept must be unchanged for libdw too, and rbx must be where the rule says it is saved.
 *
 *	diff_unwind_libdw --all | FILE_OR_DIRECTORY...
 *
 * Of Go programs, whose rules are from their function table, the CFA is compared with their .debug_frame,
 * where that is what the rule hangs on rsp for: it says nothing of rbp, and what the runtime's own functions
 * do with the stack it does not know. Those rows are counted.
 *
 * Rows we call unsupported are counted and their expressions listed; one that is of a shape we claim
 * to support is a difference. Exit code 1 on any difference, 77 when there was nothing to compare.
 */
#include "core/elf/file.h"
#include "core/unwind/table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RBX	 3
#define RBP	 6
#define RSP	 7
#define RA	 16
#define N_REGS	 17
#define PADDING	 15 /* docs/stack-deltas.md: a gap that long keeps the rule before it */
#define SHOWN	 20 /* differences printed per file */
#define MAX_EXPR 64

struct fde {
	uint64_t start, end;
};

struct totals {
	uint64_t files, no_cfi, rows, differences, unsupported, refused, fdes, bad_fdes;
	uint64_t by_name; /* rules of functions that are known by name, which .debug_frame does not tell */
	char exprs[MAX_EXPR][96];
	uint64_t expr_counts[MAX_EXPR];
};

struct compare {
	const char *path;
	struct ep_unwind_table *table;
	Dwarf_CFI *cfi;
	uint64_t entry;
	struct fde *fdes;
	size_t n_fdes;
	uint64_t shown;
	struct totals *totals;
};

/* ---- a machine state that two ways of unwinding can be run on ---- */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

static uint64_t reg_value(unsigned int reg, uint64_t pc)
{
	return reg == RA ? pc : mix(reg + 1) & 0x7ffffffffff8ull;
}

static uint64_t memory(uint64_t addr)
{
	return mix(addr ^ 0x5bd1e995) & 0x7ffffffffff8ull;
}

enum status { VALUE, UNDEFINED, UNKNOWN };

struct result {
	enum status status;
	uint64_t value;
};

struct caller {
	struct result cfa, ra, fp, sp;
	uint32_t kept;	   /* registers that have their values */
	uint32_t below_sp; /* libdw: saved where the stack has been popped */
	struct result rbx;
};

/* ---- libdw's way: an evaluator of Dwarf_Op ---- */

struct eval {
	uint64_t stack[16];
	unsigned int depth;
	uint64_t pc, cfa;
	bool unknown, is_value;
};

static void eval_push(struct eval *e, uint64_t value)
{
	if (e->depth == 16)
		e->unknown = true;
	else
		e->stack[e->depth++] = value;
}

static uint64_t eval_pop(struct eval *e)
{
	if (e->depth == 0) {
		e->unknown = true;
		return 0;
	}
	return e->stack[--e->depth];
}

static void eval_binary(struct eval *e, uint8_t atom)
{
	uint64_t b = eval_pop(e), a = eval_pop(e);

	switch (atom) {
	case DW_OP_plus:
		eval_push(e, a + b);
		break;
	case DW_OP_minus:
		eval_push(e, a - b);
		break;
	case DW_OP_and:
		eval_push(e, a & b);
		break;
	case DW_OP_mul:
		eval_push(e, a * b);
		break;
	case DW_OP_shl:
		eval_push(e, b < 64 ? a << b : 0);
		break;
	case DW_OP_ge:
		eval_push(e, (int64_t)a >= (int64_t)b);
		break;
	}
}

static void eval_op(struct eval *e, const Dwarf_Op *op)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg16)
		eval_push(e, reg_value(atom - DW_OP_breg0, e->pc) + op->number);
	else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		eval_push(e, atom - DW_OP_lit0);
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		eval_push(e, op->number);
	else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg16) {
		eval_push(e, reg_value(atom - DW_OP_reg0, e->pc));
		e->is_value = true;
	} else if (atom == DW_OP_regx && op->number < N_REGS) {
		eval_push(e, reg_value(op->number, e->pc));
		e->is_value = true;
	} else if (atom == DW_OP_bregx && op->number < N_REGS)
		eval_push(e, reg_value(op->number, e->pc) + op->number2);
	else if (atom == DW_OP_plus_uconst)
		eval_push(e, eval_pop(e) + op->number);
	else if (atom == DW_OP_deref)
		eval_push(e, memory(eval_pop(e)));
	else if (atom == DW_OP_call_frame_cfa)
		eval_push(e, e->cfa);
	else if (atom == DW_OP_stack_value)
		e->is_value = true;
	else if (atom == DW_OP_plus || atom == DW_OP_minus || atom == DW_OP_and ||
		 atom == DW_OP_mul || atom == DW_OP_shl || atom == DW_OP_ge)
		eval_binary(e, atom);
	else if (atom != DW_OP_nop)
		e->unknown = true;
}

static struct result eval_ops(const Dwarf_Op *ops, size_t n, uint64_t pc, uint64_t cfa, bool location)
{
	struct eval e = { .pc = pc, .cfa = cfa };
	uint64_t value;

	for (size_t i = 0; i < n && !e.unknown; i++)
		eval_op(&e, &ops[i]);
	value = eval_pop(&e);
	if (e.unknown)
		return (struct result){ .status = UNKNOWN };
	return (struct result){ .value = location && !e.is_value ? memory(value) : value };
}

static struct result libdw_cfa(Dwarf_Frame *frame, uint64_t pc)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0)
		return (struct result){ .status = UNKNOWN };
	if (n == 0)
		return (struct result){ .status = UNDEFINED };
	return eval_ops(ops, n, pc, 0, false);
}

static struct result libdw_register(Dwarf_Frame *frame, int reg, uint64_t pc, uint64_t cfa)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n) != 0)
		return (struct result){ .status = UNKNOWN };
	if (n == 0)
		return !ops ? (struct result){ .value = reg_value(reg, pc) } :
			     (struct result){ .status = UNDEFINED };
	return eval_ops(ops, n, pc, cfa, true);
}

/*
 * libdw says the same of a register that was not mentioned and of one reported to be undefined,
 * when a call may change it: both count as kept. So does rbx, which its x86_64_cfi.c confuses with
 * rax.
 */
static void libdw_others(Dwarf_Frame *frame, uint64_t pc, struct caller *caller)
{
	for (int reg = 0; reg < RA; reg++) {
		Dwarf_Op mem[3], *ops;
		struct result at;
		size_t n;

		if (!((EP_CALLEE_REGS | EP_CALLER_REGS) >> reg & 1) ||
		    dwarf_frame_register(frame, reg, mem, &ops, &n) != 0)
			continue;
		if (n == 0) {
			caller->kept |= (!ops || (EP_CALLER_REGS >> reg & 1) || reg == RBX) << reg;
			continue;
		}
		at = eval_ops(ops, n, pc, caller->cfa.value, false);
		if (at.status == VALUE && at.value < reg_value(RSP, pc))
			caller->below_sp |= 1u << reg;
	}
	caller->rbx = libdw_register(frame, RBX, pc, caller->cfa.value);
}

static struct caller libdw_caller(Dwarf_Frame *frame, uint64_t pc)
{
	struct caller caller = { .cfa = libdw_cfa(frame, pc) };

	caller.ra = libdw_register(frame, RA, pc, caller.cfa.value);
	caller.fp = libdw_register(frame, RBP, pc, caller.cfa.value);
	caller.sp = libdw_register(frame, RSP, pc, caller.cfa.value);
	libdw_others(frame, pc, &caller);
	return caller;
}

/* ---- our way, as the BPF unwinder does it ---- */

static struct result our_register(uint8_t kind, uint8_t reg, int32_t off, unsigned int same,
				  uint64_t pc, uint64_t cfa)
{
	switch (kind) {
	case EP_REG_SAME:
		return (struct result){ .value = reg_value(same, pc) };
	case EP_REG_AT_CFA:
		return (struct result){ .value = memory(cfa + off) };
	case EP_REG_IN_REG:
		return (struct result){ .value = reg_value(reg, pc) };
	case EP_REG_AT_REG:
		return (struct result){ .value = memory(reg_value(reg, pc) + off) };
	case EP_REG_IS_CFA:
		return (struct result){ .value = cfa + off };
	}
	return (struct result){ .status = UNDEFINED };
}

static struct caller table_rule_caller(const struct ep_rule *rule, uint64_t pc)
{
	uint64_t cfa = reg_value(rule->cfa_reg, pc) + rule->cfa_off;
	struct caller caller = {
		.kept = (rule->others & EP_OTHERS_KEEPS_CALLEE ? EP_CALLEE_REGS : 0) |
			(rule->others & EP_OTHERS_KEEPS_CALLER ? EP_CALLER_REGS : 0),
		.rbx.status = UNKNOWN,
	};

	if (rule->cfa_kind == EP_CFA_DEREF)
		cfa = memory(cfa) + rule->cfa_add;
	else if (rule->cfa_kind == EP_CFA_DEREF_TWICE)
		cfa = memory(memory(cfa) + EP_CFA_ADD_BETWEEN(rule->cfa_add)) + EP_CFA_ADD_AFTER(rule->cfa_add);
	else if (rule->cfa_kind == EP_CFA_PLT)
		cfa += (int32_t)(pc & 15) >= rule->cfa_add ? 8 : 0;
	caller.cfa = caller.sp = (struct result){ .value = cfa };
	caller.ra = our_register(rule->ra_kind, rule->ra_reg, rule->ra_off, RA, pc, cfa);
	caller.fp = our_register(rule->fp_kind, rule->fp_reg, rule->fp_off, RBP, pc, cfa);
	if (rule->base_slot) {
		caller.kept &= ~(1u << EP_OTHERS_REG(rule->others));
		caller.rbx = (struct result){ .value = memory(cfa - 8 * rule->base_slot) };
	}
	return caller;
}

static struct caller immediate_caller(uint32_t rule, uint64_t pc)
{
	uint64_t cfa = reg_value(rule & EP_RULE_BASE_FP ? RBP : RSP, pc) + EP_RULE_CFA_OFF(rule);
	uint32_t slot = EP_RULE_FP_SLOT(rule);

	return (struct caller){
		.cfa.value = cfa,
		.sp.value = cfa,
		.ra.value = memory(cfa - 8),
		.fp.value = slot ? memory(cfa - 8 * slot) : reg_value(RBP, pc),
		.kept = EP_CALLER_REGS | (rule & EP_RULE_KEEPS ? EP_CALLEE_REGS : 0),
		.rbx.status = UNKNOWN,
	};
}

/* The kernel's rt_sigframe: see rule_x86_64.c. */
static struct caller signal_caller(uint64_t pc)
{
	uint64_t sp = reg_value(RSP, pc);

	return (struct caller){
		.cfa.value = memory(sp + 160),
		.sp.value = memory(sp + 160),
		.ra.value = memory(sp + 168),
		.fp.value = memory(sp + 120),
		.rbx.status = UNKNOWN,
	};
}

/* ---- comparison ---- */

static bool same(struct result a, struct result b)
{
	return a.status == b.status && (a.status != VALUE || a.value == b.value);
}

static void difference(struct compare *c, uint64_t pc, uint32_t rule, const char *what)
{
	c->totals->differences++;
	if (c->shown++ < SHOWN)
		printf("DIFFERENCE %s 0x%" PRIx64 " rule 0x%x: %s\n", c->path, pc, rule, what);
}

static void print_ops(char *buf, size_t bytes, const Dwarf_Op *ops, size_t n)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && len + 24 < bytes; i++)
		len += (size_t)snprintf(buf + len, bytes - len, "%s%02x(%" PRId64 ")", i ? " " : "",
					ops[i].atom, (int64_t)ops[i].number);
}

static void count_expr(struct totals *totals, const char *text)
{
	for (size_t i = 0; i < MAX_EXPR; i++) {
		if (!totals->exprs[i][0])
			snprintf(totals->exprs[i], sizeof(totals->exprs[i]), "%s", text);
		if (strcmp(totals->exprs[i], text) == 0) {
			totals->expr_counts[i]++;
			return;
		}
	}
}

/* Shapes that core/unwind/expr.h promises, in libdw's spelling: breg [deref] [plus_uconst]. */
static bool promised_shape(const Dwarf_Op *ops, size_t n)
{
	size_t i = 0;

	if (n == 0 || ops[i].atom < DW_OP_breg0 || ops[i].atom > DW_OP_breg15)
		return n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < 16;
	i++;
	if (i < n && ops[i].atom == DW_OP_deref)
		i++;
	if (i < n && ops[i].atom == DW_OP_plus_uconst)
		i++;
	return i == n;
}

/* Memory or a value relative to the CFA. */
static bool cfa_relative(const Dwarf_Op *ops, size_t n)
{
	if (n == 0 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	return n == 1 || (n == 2 && (ops[1].atom == DW_OP_plus_uconst ||
				     ops[1].atom == DW_OP_stack_value));
}

/* True when nothing of the row leaves our shapes: then "unsupported" is a bug of ours. */
static bool should_be_supported(struct compare *c, Dwarf_Frame *frame, uint64_t pc)
{
	struct caller libdw = libdw_caller(frame, pc);
	Dwarf_Op mem[3], *ops;
	char text[96];
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0)
		n = 0;
	print_ops(text, sizeof(text), ops, n);
	if (!promised_shape(ops, n)) {
		count_expr(c->totals, text);
		return false;
	}
	if (!same(libdw.sp, libdw.cfa)) {
		count_expr(c->totals, "the stack pointer is not the CFA");
		return false;
	}
	for (int i = 0; i < 2; i++) {
		int reg = i ? RBP : RA;

		if (dwarf_frame_register(frame, reg, mem, &ops, &n) != 0)
			n = 0;
		if (n == 0 && reg == RBP)
			continue;
		if (cfa_relative(ops, n) || (reg == RBP && promised_shape(ops, n)))
			continue;
		snprintf(text, sizeof(text), "register %d: ", reg);
		print_ops(text + strlen(text), sizeof(text) - strlen(text), ops, n);
		count_expr(c->totals, text);
		return false;
	}
	return true;
}

/*
 * What was saved and lies below the stack pointer has been popped, before a return. The rule
 * may lose what libdw keeps: registers share a bit, and it is set some instructions early.
 */
static bool same_others(const struct caller *ours, const struct caller *libdw)
{
	return !(ours->kept & ~libdw->kept & ~libdw->below_sp) &&
	       (ours->rbx.status == UNKNOWN || same(ours->rbx, libdw->rbx));
}

static bool has_functions(const struct compare *c)
{
	return c->table->stats.sources & EP_UNWIND_PCLNTAB;
}

/* A rule that is not from the distance which the function table gives alone. */
static bool is_by_name(const struct compare *c, uint32_t rule)
{
	const struct ep_rule *entry;

	if (!has_functions(c))
		return false;
	if (rule & EP_RULE_IMMEDIATE)
		return rule & EP_RULE_BASE_FP;
	if (rule < EP_RULE_FIRST_TABLE || rule - EP_RULE_FIRST_TABLE >= c->table->n_rules)
		return rule < EP_RULE_FIRST_TABLE;
	entry = &c->table->rules[rule - EP_RULE_FIRST_TABLE];
	return entry->cfa_reg != RSP || entry->ra_kind != EP_REG_AT_CFA;
}

static void compare_callers(struct compare *c, uint64_t pc, uint32_t rule, const struct caller *ours,
			    const struct caller *libdw)
{
	/* Of a rule the CFA is the caller's rsp, which a row may say is elsewhere. */
	if (!same(ours->cfa, libdw->cfa) && same(libdw->sp, libdw->cfa))
		difference(c, pc, rule, "CFA");
	else if (!same(ours->sp, libdw->sp))
		difference(c, pc, rule, "rsp");
	else if (!same(ours->ra, libdw->ra))
		difference(c, pc, rule, "return address");
	else if (!has_functions(c) && !same(ours->fp, libdw->fp))
		difference(c, pc, rule, "rbp");
	else if (!same_others(ours, libdw))
		difference(c, pc, rule, "registers that are kept");
}

static void compare_at(struct compare *c, Dwarf_Frame *frame, uint64_t pc, uint32_t rule)
{
	struct caller libdw = libdw_caller(frame, pc);
	struct caller ours;

	if (rule == EP_RULE_STOP) {
		if (libdw.ra.status != UNDEFINED)
			difference(c, pc, rule, "stop, but there is a return address");
		return;
	}
	if (rule == EP_RULE_NONE) {
		difference(c, pc, rule, "no rule");
		return;
	}
	if (rule == EP_RULE_SIGNAL)
		ours = signal_caller(pc);
	else if (rule & EP_RULE_IMMEDIATE)
		ours = immediate_caller(rule, pc);
	else if (rule - EP_RULE_FIRST_TABLE < c->table->n_rules)
		ours = table_rule_caller(&c->table->rules[rule - EP_RULE_FIRST_TABLE], pc);
	else {
		difference(c, pc, rule, "number of no rule");
		return;
	}
	compare_callers(c, pc, rule, &ours, &libdw);
}

/*
 * libdw calls the CFA invalid when DW_CFA_def_cfa_register follows an expression, as DWARF 5 does;
 * libgcc, for which libgcrypt's Camellia code is written so, takes the offset from before, and the
 * code shows that it is right. Such rows are counted, not compared.
 */
static bool cfa_refused(Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t n;

	return dwarf_frame_cfa(frame, &ops, &n) != 0;
}

static void compare_row(struct compare *c, Dwarf_Frame *frame, uint64_t start, uint64_t end)
{
	uint64_t pc = start;

	if (cfa_refused(frame)) {
		c->totals->refused++;
		return;
	}
	while (pc < end) {
		uint64_t run_end;
		uint32_t rule = ep_unwind_table_run(c->table, pc, &run_end);

		run_end = run_end < end ? run_end : end;
		if (is_by_name(c, rule)) {
			c->totals->by_name++;
		} else if (rule == EP_RULE_UNSUPPORTED) {
			c->totals->unsupported++;
			if (should_be_supported(c, frame, pc))
				difference(c, pc, rule, "unsupported, but of a promised shape");
		} else {
			compare_at(c, frame, pc, rule);
			compare_at(c, frame, run_end - 1, rule);
			if (run_end - pc > 11) /* both sides of the PLT's threshold */
				compare_at(c, frame, pc + 11, rule);
			if (run_end - pc > 12)
				compare_at(c, frame, (pc & ~15ull) + 10 >= pc ? (pc & ~15ull) + 10 : pc, rule);
		}
		pc = run_end;
	}
	c->totals->rows++;
}

static void compare_fde(struct compare *c, uint64_t start, uint64_t end)
{
	uint64_t pc = start;

	while (pc < end) {
		Dwarf_Addr row_start, row_end;
		Dwarf_Frame *frame;
		uint64_t run_end;

		if (dwarf_cfi_addrframe(c->cfi, pc, &frame) != 0) {
			uint32_t rule = ep_unwind_table_run(c->table, pc, &run_end);

			c->totals->refused++;
			if (rule != EP_RULE_NONE && rule != EP_RULE_UNSUPPORTED)
				difference(c, pc, rule, "libdw refuses, we do not");
			return;
		}
		(void)dwarf_frame_info(frame, &row_start, &row_end, NULL);
		row_end = row_end > pc && row_end < end ? row_end : end;
		compare_row(c, frame, pc, row_end);
		free(frame);
		pc = row_end;
	}
}

/* Between FDEs: no rule, but for padding and for the program's entry. */
static void compare_gap(struct compare *c, uint64_t start, uint64_t end)
{
	uint64_t run_end;

	if (end - start <= PADDING || has_functions(c) || c->table->stats.outer_va)
		return; /* a function goes on to the next one, or all of it runs in another's frame */
	for (uint64_t pc = start; pc < end; pc = run_end) {
		uint32_t rule = ep_unwind_table_run(c->table, pc, &run_end);
		bool at_entry = c->entry >= start && pc >= c->entry && pc < c->entry + 64;

		if (rule != (at_entry ? EP_RULE_STOP : EP_RULE_NONE))
			difference(c, pc, rule, "a rule where there is no FDE");
	}
}

/* ---- FDEs of a file, found without our own parser ---- */

static bool decode_fde(const Dwarf_CFI_Entry *entry, const Dwarf_CIE *cie, const uint8_t *data,
		       uint64_t va, bool eh, struct fde *ret)
{
	const uint8_t *pos = entry->fde.start;
	uint8_t enc = 0;
	int32_t narrow[2];
	uint64_t wide[2];

	for (size_t i = 1, at = 0; eh && cie->augmentation[0] == 'z' && cie->augmentation[i]; i++) {
		if (cie->augmentation[i] == 'R')
			enc = cie->augmentation_data[at];
		at += cie->augmentation[i] == 'P' ? 5 : cie->augmentation[i] != 'S';
		if (at > cie->augmentation_data_size)
			return false;
	}
	if (enc == 0x1b || enc == 0x03) {
		memcpy(narrow, pos, sizeof(narrow));
		ret->start = enc == 0x03 ? (uint32_t)narrow[0] : va + (pos - data) + narrow[0];
		ret->end = ret->start + (uint32_t)narrow[1];
		return true;
	}
	if (enc != 0 && enc != 0x1c)
		return false;
	memcpy(wide, pos, sizeof(wide));
	ret->start = enc ? va + (pos - data) + wide[0] : wide[0];
	ret->end = ret->start + wide[1];
	return true;
}

static int compare_fdes(const void *left, const void *right)
{
	const struct fde *a = left, *b = right;

	return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->end < b->end ? -1 : 1;
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, shdr) && shdr->sh_type != SHT_NOBITS && shdr->sh_size &&
		    strcmp(elf_strptr(elf, names, shdr->sh_name) ?: "", name) == 0)
			return scn;
	}
	return NULL;
}

static void list_fdes(struct compare *c, Elf *elf, Elf_Scn *scn, uint64_t va, bool eh)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	Dwarf_CFI_Entry entry, cie;
	Dwarf_Off off = 0, next, unused;
	size_t cap = 0;
	int r;

	for (; data; off = next) {
		r = dwarf_next_cfi((void *)elf_getident(elf, NULL), data, eh, off, &next, &entry);
		if (r == 1 || next == (Dwarf_Off)-1)
			break;
		if (r < 0 || dwarf_cfi_cie_p(&entry))
			continue;
		if (dwarf_next_cfi((void *)elf_getident(elf, NULL), data, eh, entry.fde.CIE_pointer,
				   &unused, &cie) != 0 || !dwarf_cfi_cie_p(&cie))
			continue;
		if (c->n_fdes == cap)
			c->fdes = realloc(c->fdes, (cap = cap * 2 + 1024) * sizeof(*c->fdes));
		if (c->fdes && decode_fde(&entry, &cie.cie, data->d_buf, va, eh, &c->fdes[c->n_fdes]))
			c->n_fdes++;
		else
			c->totals->bad_fdes++;
	}
	qsort(c->fdes, c->n_fdes, sizeof(*c->fdes), compare_fdes);
}

static bool in_text(const struct compare *c, uint64_t va)
{
	for (size_t i = 0; i < c->table->n_segments; i++) {
		const struct ep_unwind_segment *s = &c->table->segments[i];

		if (va >= s->va && va < s->va + (uint64_t)s->n_pages * EP_PAGE_BYTES)
			return true;
	}
	return false;
}

static void compare_all_fdes(struct compare *c)
{
	for (size_t i = 0; i < c->n_fdes; i++) {
		struct fde fde = c->fdes[i];

		if (!in_text(c, fde.start))
			continue;
		if (i + 1 < c->n_fdes && c->fdes[i + 1].start < fde.end)
			fde.end = c->fdes[i + 1].start;
		compare_fde(c, fde.start, fde.end);
		c->totals->fdes++;
		if (i + 1 < c->n_fdes && c->fdes[i + 1].start > fde.end &&
		    in_text(c, c->fdes[i + 1].start) && in_text(c, fde.end))
			compare_gap(c, fde.end, c->fdes[i + 1].start);
	}
}

static void compare_section(struct compare *c, Elf *elf)
{
	GElf_Shdr shdr;
	Dwarf *dwarf = NULL;
	Elf_Scn *scn = find_section(elf, ".eh_frame", &shdr);
	bool eh = scn != NULL;

	if (eh) {
		c->cfi = dwarf_getcfi_elf(elf);
	} else {
		scn = find_section(elf, ".debug_frame", &shdr);
		dwarf = scn ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
		c->cfi = dwarf ? dwarf_getcfi(dwarf) : NULL;
	}
	if (c->cfi) {
		c->totals->files++;
		list_fdes(c, elf, scn, shdr.sh_addr, eh);
		compare_all_fdes(c);
	} else {
		c->totals->no_cfi++;
	}
	if (eh && c->cfi)
		dwarf_cfi_end(c->cfi);
	if (dwarf)
		dwarf_end(dwarf);
}

static void compare_file(struct totals *totals, const char *path)
{
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = NULL;
	ep_cleanup(ep_elf_closep) struct ep_elf *ours = NULL;
	struct compare c = { .path = path, .totals = totals };
	Elf *elf;
	int fd;

	if (ep_elf_open(path, &ours) < 0 || ep_unwind_table_build(ours, NULL, &table) < 0)
		return;
	c.table = table;
	c.entry = ep_elf_entry_va(ours);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		compare_section(&c, elf);
	if (c.shown > SHOWN)
		printf("  ... %" PRIu64 " more in %s\n", c.shown - SHOWN, path);
	free(c.fdes);
	elf_end(elf);
	close(fd);
}

static bool has_elf_magic(const char *path)
{
	ep_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[SELFMAG];

	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static int walk(struct totals *totals, char **paths)
{
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	if (!fts)
		return -errno;
	while ((entry = fts_read(fts)))
		if (entry->fts_info == FTS_F && has_elf_magic(entry->fts_accpath))
			compare_file(totals, entry->fts_path);
	fts_close(fts);
	return 0;
}

static int report(const struct totals *t)
{
	for (size_t i = 0; i < MAX_EXPR && t->expr_counts[i]; i++)
		printf("unsupported: %" PRIu64 " rows: %s\n", t->expr_counts[i], t->exprs[i]);
	printf("rows by what a function is, not compared: %" PRIu64 "\n", t->by_name);
	printf("%" PRIu64 " files (%" PRIu64 " without CFI), %" PRIu64 " FDEs, %" PRIu64
	       " rows compared, %" PRIu64 " differences, %" PRIu64 " unsupported, %" PRIu64
	       " refused by libdw, %" PRIu64 " FDEs not decoded\n",
	       t->files, t->no_cfi, t->fdes, t->rows, t->differences, t->unsupported, t->refused,
	       t->bad_fdes);
	if (t->differences)
		return 1;
	return t->rows ? 0 : 77;
}

int main(int argc, char **argv)
{
	static char lib[] = "/usr/lib", bin[] = "/usr/bin";
	char *all[] = { lib, bin, NULL };
	struct totals totals = { 0 };

	if (argc < 2) {
		fprintf(stderr, "usage: %s --all | FILE_OR_DIRECTORY...\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	elf_version(EV_CURRENT);
	if (walk(&totals, strcmp(argv[1], "--all") == 0 ? all : argv + 1) < 0) {
		perror("fts_open");
		return 2;
	}
	return report(&totals);
}
