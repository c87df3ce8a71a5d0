/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/run_fast.h"
#include "core/unwind/dwarf_ops.h"

#define FAST_DEPTH 8

#define FP_SLOT_MASK (0x1fu << 13)
#define CFA_OFF_MASK (0xfffu << 1)
#define CFA_MASK     (CFA_OFF_MASK | EP_RULE_BASE_FP)

/* Operands that matter are small: one or two bytes of ULEB128. */
struct operand {
	const uint8_t *next; /* NULL: does not fit, or the instructions end */
	uint32_t value;
};

static inline struct operand read_operand(const uint8_t *pos, const uint8_t *end)
{
	if (__builtin_expect(pos >= end, 0))
		return (struct operand){ 0 };
	if (__builtin_expect(pos[0] < 0x80, 1))
		return (struct operand){ .next = pos + 1, .value = pos[0] };
	if (end - pos < 2 || pos[1] >= 0x80)
		return (struct operand){ 0 };
	return (struct operand){ .next = pos + 2,
				 .value = (uint32_t)(pos[0] & 0x7f) | (uint32_t)pos[1] << 7 };
}

/* What is ignored may be as long as it likes. */
static inline const uint8_t *skip_operand(const uint8_t *pos, const uint8_t *end)
{
	while (pos < end && *pos >= 0x80)
		pos++;
	return pos < end ? pos + 1 : NULL;
}

/* The rule with another CFA offset; 0 when that does not fit. */
static inline uint32_t with_cfa_off(uint32_t rule, uint32_t off)
{
	if (__builtin_expect(off % 8 != 0 || off > EP_RULE_IMM_MAX_CFA_OFF, 0))
		return 0;
	return (rule & ~CFA_OFF_MASK) | off >> 3 << 1;
}

/* CFA = sp + 8: nothing but the return address is on the stack. */
static inline bool is_at_return(uint32_t rule)
{
	return (rule & CFA_MASK) == 8 >> 3 << 1;
}

/*
 * Before anything was pushed a save is one below the stack pointer; after that the stack is
 * popped: run.c, note_pushed.
 */
static inline uint32_t with_save(uint32_t rule)
{
	return is_at_return(rule) ? 0 : rule & ~EP_RULE_KEEPS;
}

/* The rule that is put for a row: before a return, what was saved has been popped. */
static inline uint32_t row_rule(uint32_t rule)
{
	return rule | is_at_return(rule) * EP_RULE_KEEPS;
}

static inline uint32_t with_cfa_reg(const struct ep_machine *machine, uint32_t rule, uint32_t reg)
{
	if (reg == machine->fp_reg)
		return rule | EP_RULE_BASE_FP;
	return reg == machine->sp_reg ? rule & ~EP_RULE_BASE_FP : 0;
}

/* Bytes of the operand of DW_CFA_advance_loc1, 2, 4: by the low three bits of the opcode. */
static inline bool read_step(const uint8_t **pos, const uint8_t *end, uint8_t op, uint64_t *ret_step)
{
	unsigned int bytes = 1u << (op - DW_CFA_advance_loc1);
	uint32_t step = 0;

	if (end - *pos < bytes)
		return false;
	memcpy(&step, *pos, bytes);
	*pos += bytes;
	*ret_step = step;
	return true;
}

/* Opcodes of one byte by what is done for them; the rest is for the general interpreter. */
enum action {
	OTHER,
	NOP,
	ADVANCE,
	ADVANCE_LONG,
	SAVE_IGNORED,
	SAVE_CALLEE,
	SAVE_FP,
	RESTORE_FP,
	CFA,
	CFA_REG,
	CFA_OFF,
	REMEMBER,
	RESTORE_STATE,
	ARGS_SIZE,
};

/* In machine->fp_prologue: how far its two DW_CFA_advance_loc go, which is anyone's guess. */
#define PROLOGUE_STEPS (0x3full | 0x3full << 40)

/* Each byte's lowest bit, and every byte the same. */
#define BYTES(value) (0x0101010101010101ull * (value))

#define OTHER_SAVED_REG 3 /* rbx on x86-64 */

void ep_run_fast_init(struct ep_run_fast *fast, const struct ep_machine *machine)
{
	uint64_t other;

	*fast = (struct ep_run_fast){ .machine = machine };
	for (unsigned int reg = 0; reg < 64; reg++) {
		uint8_t column = reg < sizeof(machine->columns) ? machine->columns[reg] : 0;

		fast->actions[DW_CFA_advance_loc + reg] = ADVANCE;
		fast->actions[DW_CFA_offset + reg] = column == EP_COL_IGNORED ? SAVE_IGNORED :
						     column == EP_COL_CALLEE  ? SAVE_CALLEE :
						     column == EP_COL_FP      ? SAVE_FP :
										OTHER;
		fast->actions[DW_CFA_restore + reg] =
			column == EP_COL_IGNORED || column >= EP_COL_FIRST_SHARED ? NOP :
			column == EP_COL_FP					  ? RESTORE_FP :
										    OTHER;
	}
	fast->leave = DW_CFA_remember_state | DW_CFA_def_cfa << 8 | (uint32_t)machine->sp_reg << 16 | 8u << 24;
	fast->prologue = machine->fp_prologue ? machine->fp_prologue & ~PROLOGUE_STEPS : UINT64_MAX;
	other = machine->columns[OTHER_SAVED_REG] == EP_COL_CALLEE ? OTHER_SAVED_REG : 12;
	fast->other_save = BYTES(DW_CFA_offset | other);
	fast->actions[DW_CFA_nop] = NOP;
	fast->actions[DW_CFA_advance_loc1] = ADVANCE_LONG;
	fast->actions[DW_CFA_advance_loc2] = ADVANCE_LONG;
	fast->actions[DW_CFA_advance_loc4] = ADVANCE_LONG;
	fast->actions[DW_CFA_def_cfa] = CFA;
	fast->actions[DW_CFA_def_cfa_register] = CFA_REG;
	fast->actions[DW_CFA_def_cfa_offset] = CFA_OFF;
	fast->actions[DW_CFA_remember_state] = REMEMBER;
	fast->actions[DW_CFA_restore_state] = RESTORE_STATE;
	fast->actions[DW_CFA_GNU_args_size] = ARGS_SIZE;
}

/* After a DW_CFA_offset often come more, of registers 12 to 15: how many bytes of them. */
static inline size_t more_saves(const uint8_t *pos, const uint8_t *end)
{
	uint64_t other;

	if (end - pos < 8)
		return 0;
	other = (ep_run_fast_load(pos) ^ 0x008c008c008c008cull) & 0x80fc80fc80fc80fcull;
	return other ? (size_t)__builtin_ctzll(other) / 16 * 2 : 8;
}

/* The top bit of each byte that is zero; of one above it that is 1, too, which does no harm here. */
static inline uint64_t zero_bytes(uint64_t word)
{
	return (word - BYTES(1)) & ~word & BYTES(0x80);
}

/*
 * Once the frame pointer is set up, compilers save other registers: DW_CFA_advance_loc, and
 * DW_CFA_offset of registers 12 to 15 and of `other_save`'s, whose operand is one byte. None of
 * that changes more of the rule than what it keeps.
 * How many bytes of `word` are such instructions, whether one saves a register, and how far they
 * advance; all bytes at a time.
 */
struct quiet {
	uint64_t bytes, step;
	bool saves;
};

static inline struct quiet quiet_instructions(uint64_t word, uint64_t other_save)
{
	uint64_t saves = (zero_bytes((word ^ BYTES(0x8c)) & BYTES(0xfc)) |
			  zero_bytes(word ^ other_save)) >> 7;
	uint64_t operands = saves << 8;
	uint64_t advances = word >> 6 & ~(word >> 7) & BYTES(1) & ~operands;
	uint64_t good = advances | (saves & ~operands) | (operands & ~(word >> 7));
	uint64_t bad = good ^ BYTES(1);
	uint64_t below = (bad & -bad) - 1; /* all bits of the bytes before the first bad one */
	uint64_t open = saves & below & ~((operands & below) >> 8); /* without its operand */
	uint64_t steps;

	below = open ? open - 1 : below;
	steps = word & (advances & below) * 0x3f;
	steps = (steps & 0x00ff00ff00ff00ff) + (steps >> 8 & 0x00ff00ff00ff00ff);
	return (struct quiet){ .bytes = (below & BYTES(1)) * BYTES(1) >> 56,
			       .step = steps * 0x0001000100010001 >> 48,
			       .saves = (saves & ~operands & below) != 0 };
}

/* What is being run. `loc` is far from wrapping: less than 2^30 steps of 32 bits. */
struct fast_state {
	const uint8_t *pos, *end;
	uint64_t loc, hi;
	uint32_t rule;
};

static inline void step_by(struct fast_state *st, struct ep_pack *pack, uint32_t rule, uint64_t step)
{
	if (step && st->loc < st->hi)
		ep_pack_put(pack, st->loc, row_rule(rule));
	st->loc += step;
}

/* The instructions of a function with a frame pointer, as far as they are the usual ones. */
static inline void run_framed(const struct ep_run_fast *fast, struct ep_pack *pack,
			      struct fast_state *st)
{
	const uint32_t leave = fast->leave;
	const uint64_t leave_return = leave | (uint64_t)(DW_CFA_restore_state << 8 | DW_CFA_advance_loc) << 32;
	uint32_t left = (st->rule & ~CFA_MASK) | 8 >> 3 << 1;
	struct quiet quiet;
	uint64_t word, step;
	unsigned int bytes;

	do {
		do {
			quiet = quiet_instructions(ep_run_fast_peek(st->pos, st->end), fast->other_save);
			/*
			 * Registers are given up a few instructions before they are saved: a row
			 * of its own for that would be a delta more in each such function.
			 */
			st->rule &= ~(quiet.saves * EP_RULE_KEEPS);
			step_by(st, pack, st->rule, quiet.step);
			st->pos += quiet.bytes;
		} while (quiet.bytes >= 7 && st->pos < st->end);
		if (st->pos >= st->end)
			return;
		word = ep_run_fast_peek(st->pos, st->end);
		bytes = (word & 0xff) == DW_CFA_advance_loc1 ? 2 :
			(word & 0xff) == DW_CFA_advance_loc2 ? 3 : 0;
		if (st->end - st->pos < (ptrdiff_t)bytes)
			return;
		step = bytes == 2 ? word >> 8 & 0xff : bytes == 3 ? word >> 8 & 0xffff : 0;
		step_by(st, pack, st->rule, step);
		st->pos += bytes;
		word = ep_run_fast_peek(st->pos, st->end);
		if ((word & 0xffc0ffffffffull) != leave_return)
			break;
		step_by(st, pack, left, word >> 32 & 0x3f);
		st->pos += 6;
	} while (!ep_run_fast_only_nops(st->pos, st->end));
	if ((word & 0xffffff) == leave >> 8) {
		st->rule = left;
		st->pos += 3;
	}
}

bool ep_run_fde_fast(const struct ep_run_fast *fast, struct ep_pack *pack, const struct ep_fde *fde,
		     uint32_t first, uint64_t hi)
{
	const struct ep_machine *machine = fast->machine;
	struct fast_state st = {
		.pos = fde->insns, .end = fde->insns_end, .loc = fde->start, .hi = hi, .rule = first
	};
	uint32_t stack[FAST_DEPTH];
	unsigned int depth = 0;
	uint64_t start, step;
	uint32_t word;
	struct operand a, b;

	/* Functions that keep a frame pointer begin alike: three instructions' rows at once. */
	start = ep_run_fast_peek(st.pos, st.end);
	if ((start & ~PROLOGUE_STEPS) == fast->prologue) {
		step_by(&st, pack, first, start & 0x3f);
		step_by(&st, pack, EP_RULE_IMM(0, 2, 16), start >> 40 & 0x3f);
		st.rule = EP_RULE_IMM(1, 2, 16);
		st.pos += 8;
		run_framed(fast, pack, &st);
	}
	if (ep_run_fast_only_nops(st.pos, st.end))
		st.pos = st.end;
	while (st.pos < st.end) {
		uint8_t op = *st.pos++;

		switch (fast->actions[op]) {
		case NOP:
			if (op == DW_CFA_nop && ep_run_fast_only_nops(st.pos, st.end))
				st.pos = st.end;
			continue;
		case ADVANCE:
			step = op & 0x3f;
advance:
			step_by(&st, pack, st.rule, step);
			if (st.end - st.pos < 4)
				continue;
			if (st.pos[0] == DW_CFA_def_cfa_offset && st.pos[1] < 0x80) {
				st.rule = with_cfa_off(st.rule, st.pos[1]);
				st.pos += 2;
				break;
			}
			memcpy(&word, st.pos, sizeof(word));
			if (word == fast->leave && depth < FAST_DEPTH) {
				stack[depth++] = st.rule;
				st.rule = (st.rule & ~CFA_MASK) | 8 >> 3 << 1;
				st.pos += 4;
			}
			continue;
		case ADVANCE_LONG:
			if (!read_step(&st.pos, st.end, op, &step))
				return false;
			goto advance;
		case SAVE_IGNORED:
			st.pos = skip_operand(st.pos, st.end);
			break;
		case SAVE_CALLEE:
			st.rule = with_save(st.rule);
			st.pos = skip_operand(st.pos, st.end);
			if (st.pos)
				st.pos += more_saves(st.pos, st.end);
			break;
		case SAVE_FP:
			a = read_operand(st.pos, st.end);
			if (a.value == 0 || a.value > EP_RULE_IMM_MAX_FP_SLOT)
				return false;
			st.rule = (st.rule & ~FP_SLOT_MASK) | a.value << 13;
			st.pos = a.next;
			break;
		case RESTORE_FP:
			st.rule = (st.rule & ~FP_SLOT_MASK) | (first & FP_SLOT_MASK);
			continue;
		case CFA_OFF:
			a = read_operand(st.pos, st.end);
			st.rule = with_cfa_off(st.rule, a.value);
			st.pos = a.next;
			break;
		case CFA_REG:
			a = read_operand(st.pos, st.end);
			st.rule = with_cfa_reg(machine, st.rule, a.value);
			st.pos = a.next;
			break;
		case CFA:
			a = read_operand(st.pos, st.end);
			if (!a.next)
				return false;
			b = read_operand(a.next, st.end);
			st.rule = with_cfa_reg(machine, st.rule, a.value);
			st.rule = st.rule ? with_cfa_off(st.rule, b.value) : 0;
			st.pos = b.next;
			break;
		case REMEMBER:
			if (depth == FAST_DEPTH)
				return false;
			stack[depth++] = st.rule;
			continue;
		case RESTORE_STATE:
			if (depth == 0)
				return false;
			st.rule = stack[--depth];
			continue;
		case ARGS_SIZE:
			st.pos = skip_operand(st.pos, st.end);
			break;
		default:
			return false;
		}
		if (__builtin_expect(!st.pos || !st.rule, 0))
			return false;
	}
	if (st.pos > st.end)
		return false; /* run_framed stepped over the end */
	if (st.loc < hi)
		ep_pack_put(pack, st.loc, row_rule(st.rule));
	return true;
}
