/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/functab.h"

#include <string.h>

/* DWARF registers of x86-64, the only processor of these tables here. */
#define REG_FP 6
#define REG_SP 7
#define REG_R12 12

#define MAX_FRAME     (INT32_MAX - 16) /* bytes; each program has one of 2^30: runtime.call1073741824 */
#define MAX_CODE      1024	 /* of a function that leaves its stack; the largest has 400 bytes */
#define PROLOGUE      96	 /* where assembly saves rbp, if it does */
#define NOWHERE	      UINT64_MAX

/* Go saves no registers for its callers: a rule that leaves rbx and r12 to r15 alone would lie. */
#define COMPILED(base_fp, slot, off) (EP_RULE_IMM(base_fp, slot, off) & ~EP_RULE_KEEPS)

/*
 * What the code of a function does with rsp and rbp that its table does not say. Addresses are
 * after the instruction.
 */
struct code {
	uint64_t frame;	     /* rbp is set from rsp, for the last time before rsp is written */
	uint32_t frame_off;  /* rbp - rsp then */
	uint64_t write, last_write; /* the first and the last that set rsp, but for push, pop, add, sub */
	uint64_t kept;	     /* rsp is put into r12, before it is written */
	bool from_kept;	     /* the last write takes it from there */
	bool saves_fp;
	bool pops_return; /* takes the return address into r12: syscall.rawVforkSyscall, as glibc's vfork */
};

/* How a function is treated: by its table up to `from`, from there to `to` by `rule`. */
struct plan {
	uint64_t from, to;
	uint32_t rule;
	bool at_greatest; /* only where the stack is deepest */
	bool return_in_reg; /* where the stack is less deep than at entry the return address is in r12 */
	uint8_t others;	  /* of table rules */
	uint8_t slot;	  /* where rbp is when there is something on the stack */
};

void ep_functab_next(struct ep_functab *functab)
{
	int r = ep_pclntab_next(functab->tab, &functab->cursor, &functab->func);

	functab->bad = r < 0;
	if (r == 1)
		functab->func = (struct ep_pclntab_func){ .start = UINT64_MAX, .end = UINT64_MAX };
}

void ep_functab_begin(struct ep_functab *functab, struct ep_pclntab *tab)
{
	*functab = (struct ep_functab){ .tab = tab, .func = { .start = UINT64_MAX, .end = UINT64_MAX } };
	if (!tab)
		return;
	ep_pclntab_text(tab, &functab->start, &functab->end);
	ep_functab_next(functab);
}

/* ---- code ---- */

/* Bytes of an instruction whose mod, reg, rm byte is the third. */
static size_t insn_bytes(const uint8_t *insn)
{
	uint8_t mod = insn[2] >> 6, rm = insn[2] & 7;
	size_t bytes = 3;

	if (mod == 3)
		return bytes;
	if (rm == 4)
		bytes += 1 + (mod == 0 && (insn[3] & 7) == 5 ? 4 : 0);
	if (mod == 0)
		return bytes + (rm == 5 ? 4 : 0);
	return bytes + (mod == 1 ? 1 : 4);
}

/*
 * mov or lea to rsp, and of rsp: Intel's manual, volume 2. Prefixes and register fields of three bytes are
 * matched without decoding what is before; these are some twenty functions of known code, and the prefix
 * is no opcode in 64-bit code.
 */
static bool sets_sp(const uint8_t *insn)
{
	if ((insn[0] == 0x48 || insn[0] == 0x49) && (insn[1] == 0x8b || insn[1] == 0x8d))
		return (insn[2] >> 3 & 7) == 4;
	if ((insn[0] == 0x48 || insn[0] == 0x4c) && insn[1] == 0x89)
		return insn[2] >> 6 == 3 && (insn[2] & 7) == 4;
	return insn[0] == 0x48 && insn[1] == 0x83 && insn[2] == 0xe4;
}

/* mov %rsp,%rbp; lea OFF(%rsp),%rbp */
static bool sets_fp(const uint8_t *insn, uint32_t *ret_off)
{
	*ret_off = 0;
	if (memcmp(insn, "\x48\x89\xe5", 3) == 0)
		return true;
	if (memcmp(insn, "\x48\x8d\x6c\x24", 4) == 0 && insn[4] < 0x80) {
		*ret_off = insn[4];
		return true;
	}
	if (memcmp(insn, "\x48\x8d\xac\x24", 4) != 0)
		return false;
	memcpy(ret_off, insn + 4, 4);
	return true;
}

/* push %rbp; mov %rsp,%rbp, or mov %rbp,OFF(%rsp) */
static bool saves_fp(const uint8_t *insn)
{
	return memcmp(insn, "\x55\x48\x89\xe5", 4) == 0 || memcmp(insn, "\x48\x89\x6c\x24", 4) == 0 ||
	       memcmp(insn, "\x48\x89\x2c\x24", 4) == 0 || memcmp(insn, "\x48\x89\xac\x24", 4) == 0;
}

static void see_insn(struct code *code, uint64_t va, size_t off, const uint8_t *insn)
{
	uint32_t frame_off;

	if (insn[0] == 0x41 && insn[1] == 0x5c)
		code->pops_return = true;
	if (off < PROLOGUE && saves_fp(insn))
		code->saves_fp = true;
	if (code->write == NOWHERE && off < PROLOGUE && sets_fp(insn, &frame_off)) {
		code->frame = va + (frame_off == 0 && insn[1] == 0x89 ? 3 : insn_bytes(insn));
		code->frame_off = frame_off;
	}
	if (code->write == NOWHERE && off < PROLOGUE && memcmp(insn, "\x49\x89\xe4", 3) == 0)
		code->kept = va + 3;
	if (!sets_sp(insn))
		return;
	code->from_kept = memcmp(insn, "\x4c\x89\xe4", 3) == 0;
	code->last_write = va + (insn[1] == 0x83 ? 4 : insn_bytes(insn));
	if (code->write == NOWHERE)
		code->write = code->last_write;
}

static void read_function(const struct ep_pclntab_func *func, ep_functab_code_fn read_code, void *arg,
			  struct code *code)
{
	size_t bytes = (size_t)EP_MIN(func->end - func->start, (uint64_t)MAX_CODE);
	uint8_t buf[MAX_CODE + 8] = { 0 };

	*code = (struct code){ .frame = NOWHERE, .write = NOWHERE, .last_write = NOWHERE, .kept = NOWHERE };
	if (!read_code || !read_code(arg, func->start, buf, bytes))
		return;
	for (size_t off = 0; off < bytes; off++)
		see_insn(code, func->start + off, off, buf + off);
}

/* ---- rules ---- */

static uint32_t table_rule(uint8_t reg, int32_t cfa_off, uint8_t slot, uint8_t others,
			   struct ep_rule_set *rules)
{
	return ep_rule_set_add(rules, &(struct ep_rule){
		.cfa_kind = EP_CFA_REG, .cfa_reg = reg, .cfa_off = cfa_off,
		.ra_kind = EP_REG_AT_CFA, .ra_off = -8,
		.fp_kind = slot ? EP_REG_AT_CFA : EP_REG_SAME, .fp_off = -8 * slot,
		.others = others,
	});
}

/* Can rsp be that far from where it was at the entry? 8 bytes above: the return address was popped. */
static bool is_depth(int32_t depth)
{
	return depth >= -8 && depth <= MAX_FRAME && depth % 8 == 0;
}

static uint32_t popped_rule(const struct plan *plan, struct ep_rule_set *rules)
{
	if (!plan->return_in_reg)
		return EP_RULE_UNSUPPORTED;
	return ep_rule_set_add(rules, &(struct ep_rule){
		.cfa_kind = EP_CFA_REG, .cfa_reg = REG_SP, .ra_kind = EP_REG_IN_REG, .ra_reg = REG_R12,
	});
}

/* The rule where the stack is `depth` deeper than at the function's entry. */
static uint32_t depth_rule(const struct plan *plan, int32_t depth, struct ep_rule_set *rules)
{
	uint8_t slot = depth ? plan->slot : 0;

	if (depth < 0)
		return popped_rule(plan, rules);
	if (plan->others || depth + 8 > EP_RULE_IMM_MAX_CFA_OFF)
		return table_rule(REG_SP, depth + 8, slot, plan->others, rules);
	return COMPILED(0, slot, depth + 8);
}

static void from_to(struct plan *plan, uint64_t from, uint64_t to, uint32_t rule)
{
	plan->from = from;
	plan->to = to;
	plan->rule = rule;
}

/*
 * A function that has its frame in rbp before it leaves the stack, or aligns it. The stack was left
 * wherever the table says that it is deepest: what is after the jump back is there as well.
 */
static bool plan_by_frame(const struct ep_functab *functab, const struct code *code, bool leaves,
			  struct plan *plan, struct ep_rule_set *rules)
{
	const struct ep_pclntab_func *func = &functab->func;
	int32_t depth, cfa_off;

	if (code->frame == NOWHERE || code->frame > code->write ||
	    ep_pclntab_value_at(functab->tab, func, func->pcsp, code->frame, &depth) < 0)
		return false;
	cfa_off = depth + 8 - (int32_t)code->frame_off;
	if (cfa_off < 16 || cfa_off > 1024 || cfa_off & 7)
		return false;
	from_to(plan, code->frame, func->end, leaves ?
		table_rule(REG_FP, cfa_off, plan->slot, EP_OTHERS_SWITCH, rules) :
		COMPILED(1, plan->slot, cfa_off));
	plan->at_greatest = true;
	return true;
}

/* From where rsp is written to where it is written back, which is the end where that does not happen. */
static void plan_between(const struct ep_pclntab_func *func, const struct code *code, uint32_t rule,
			 struct plan *plan)
{
	from_to(plan, code->write, code->last_write > code->write ? code->last_write : func->end, rule);
}

/*
 * runtime/race_amd64.s: racecall keeps rsp in r12: mov %rsp,%r12; ...; call *%rax; mov %r12,%rsp. It is known
 * as long as the C code above has not saved r12, to use it.
 */
static bool plan_by_register(const struct ep_functab *functab, const struct code *code, struct plan *plan,
			     struct ep_rule_set *rules)
{
	const struct ep_pclntab_func *func = &functab->func;
	int32_t depth;

	if (code->kept == NOWHERE || !code->from_kept ||
	    ep_pclntab_value_at(functab->tab, func, func->pcsp, code->kept, &depth) < 0 || depth < 0 ||
	    !is_depth(depth))
		return false;
	from_to(plan, code->write, code->last_write,
		table_rule(REG_R12, depth + 8, depth ? plan->slot : 0, EP_OTHERS_SWITCH, rules));
	return true;
}

static void plan_writer(const struct ep_functab *functab, const struct code *code, struct plan *plan,
			struct ep_rule_set *rules)
{
	const struct ep_pclntab_func *func = &functab->func;

	switch (func->role) {
	case EP_PCLNTAB_MCALL:
	case EP_PCLNTAB_GOGO:
	case EP_PCLNTAB_CLONE:
		/* Goes on at another place on another stack, or is a new thread's. */
		from_to(plan, code->write, func->end, EP_RULE_STOP);
		return;
	case EP_PCLNTAB_MORESTACK:
		/* Where the other stack is only the goroutine knows. */
		plan_between(func, code, EP_RULE_UNSUPPORTED, plan);
		return;
	case EP_PCLNTAB_SYSTEMSTACK:
	case EP_PCLNTAB_ASMCGOCALL:
	case EP_PCLNTAB_CGOCALLBACK:
		if (!plan_by_frame(functab, code, true, plan, rules))
			plan_between(func, code, EP_RULE_UNSUPPORTED, plan);
		return;
	default:
		if (!plan_by_frame(functab, code, func->role == EP_PCLNTAB_VDSO_CALL, plan, rules) &&
		    !plan_by_register(functab, code, plan, rules))
			plan_between(func, code, EP_RULE_NONE, plan);
	}
}

static void make_plan(const struct ep_functab *functab, ep_functab_code_fn read_code, void *arg,
		      struct plan *plan, struct ep_rule_set *rules)
{
	const struct ep_pclntab_func *func = &functab->func;
	struct code code;

	*plan = (struct plan){ .from = NOWHERE, .to = NOWHERE, .slot = 2 };
	if (func->role == EP_PCLNTAB_ASYNC_PREEMPT || func->role == EP_PCLNTAB_SIGPANIC ||
	    func->role == EP_PCLNTAB_DEBUG_CALL)
		plan->others = EP_OTHERS_INTERRUPTED;
	/* Compiled code saves rbp with the first of what it puts on the stack. */
	if (!(func->flags & (EP_PCLNTAB_ASM | EP_PCLNTAB_SP_WRITE)))
		return;
	read_function(func, read_code, arg, &code);
	plan->slot = code.saves_fp ? 2 : 0;
	plan->return_in_reg = code.pops_return;
	if (func->flags & EP_PCLNTAB_SP_WRITE && code.write != NOWHERE)
		plan_writer(functab, &code, plan, rules);
}

/* ---- rows ---- */

/* The greatest depth; -1: a value is none that a stack pointer can have, or the table is wrong. */
static int64_t greatest_depth(const struct ep_functab *functab)
{
	struct ep_pclntab_values values;
	int64_t greatest = 0;
	uint64_t end;
	int32_t value;
	int r = ep_pclntab_values_begin(functab->tab, &functab->func, functab->func.pcsp, &values);

	while (r == 0) {
		r = ep_pclntab_values_next(&values, &end, &value);
		if (r == 0 && !is_depth(value))
			return -1;
		if (r == 0)
			greatest = EP_MAX(greatest, (int64_t)value);
	}
	return r < 0 ? -1 : greatest;
}

struct put {
	struct ep_pack *pack;
	uint64_t at, to; /* what is still to be put */
};

static void put_to(struct put *put, uint64_t end, uint32_t rule)
{
	end = EP_MIN(end, put->to);
	if (end <= put->at)
		return;
	ep_pack_put(put->pack, put->at, rule);
	put->at = end;
}

/* One value's stretch, cut where the plan's own rule begins and ends. */
static void put_value(struct put *put, const struct plan *plan, uint64_t end, uint32_t rule, bool greatest)
{
	if (plan->from == NOWHERE || (plan->at_greatest && !greatest)) {
		put_to(put, end, rule);
		return;
	}
	put_to(put, EP_MIN(end, plan->from), rule);
	put_to(put, EP_MIN(end, plan->to), plan->rule);
	put_to(put, end, rule);
}

/* After the last value is padding, which keeps the rule before it. */
static bool put_values(const struct ep_functab *functab, const struct plan *plan, struct put *put,
		       struct ep_rule_set *rules)
{
	const struct ep_pclntab_func *func = &functab->func;
	int64_t greatest = plan->at_greatest ? greatest_depth(functab) : 0;
	struct ep_pclntab_values values;
	uint32_t rule = EP_RULE_NONE;
	uint64_t end;
	int32_t value = 0;
	int r = ep_pclntab_values_begin(functab->tab, func, func->pcsp, &values);

	while (r == 0) {
		r = ep_pclntab_values_next(&values, &end, &value);
		if (r)
			break;
		if (!is_depth(value))
			return false;
		rule = depth_rule(plan, value, rules);
		put_value(put, plan, end, rule, value == greatest);
	}
	if (r < 0 && func->pcsp)
		return false;
	put_value(put, plan, put->to, rule, value == greatest);
	return true;
}

bool ep_functab_put(const struct ep_functab *functab, uint64_t from, uint64_t to,
		    ep_functab_code_fn read_code, void *arg, struct ep_pack *pack,
		    struct ep_rule_set *rules)
{
	const struct ep_pclntab_func *func = &functab->func;
	struct put put = { .pack = pack, .at = from, .to = to };
	struct plan plan;

	if (functab->bad) {
		ep_pack_put(pack, from, EP_RULE_NONE);
		return false;
	}
	if (func->role == EP_PCLNTAB_SIGRETURN) {
		/* A handler "returns" to its first byte, and an unwinder looks up the byte before. */
		if (from == func->start && pack->held_va < from)
			ep_pack_put(pack, from - 1, EP_RULE_SIGNAL);
		ep_pack_put(pack, from, EP_RULE_SIGNAL);
		return true;
	}
	if (func->role == EP_PCLNTAB_ROOT ||
	    (func->flags & EP_PCLNTAB_TOP && func->role != EP_PCLNTAB_SIGTRAMP)) {
		ep_pack_put(pack, from, EP_RULE_STOP);
		return true;
	}
	make_plan(functab, read_code, arg, &plan, rules);
	if (put_values(functab, &plan, &put, rules))
		return true;
	ep_pack_cut(pack, from);
	ep_pack_put(pack, from, EP_RULE_NONE);
	return false;
}
