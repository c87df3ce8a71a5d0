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

static inline uint32_t with_cfa_reg(const struct ep_machine *machine, uint32_t rule, uint32_t reg)
{
	if (reg == machine->fp_reg)
		return rule | EP_RULE_BASE_FP;
	return reg == machine->sp_reg ? rule & ~EP_RULE_BASE_FP : 0;
}

/* DW_CFA_offset with the data alignment of -8 that the caller made sure of. */
static inline uint32_t with_saved(const struct ep_machine *machine, uint32_t rule, uint32_t reg,
				  uint32_t slot)
{
	uint8_t column = reg < sizeof(machine->columns) ? machine->columns[reg] : EP_COL_IGNORED;

	if (column == EP_COL_IGNORED)
		return rule;
	if (column != EP_COL_FP || slot == 0 || slot > EP_RULE_IMM_MAX_FP_SLOT)
		return 0;
	return (rule & ~FP_SLOT_MASK) | slot << 13;
}

static inline uint32_t with_restored(const struct ep_machine *machine, uint32_t rule,
				     uint32_t first, uint32_t reg)
{
	uint8_t column = reg < sizeof(machine->columns) ? machine->columns[reg] : EP_COL_IGNORED;

	if (column == EP_COL_IGNORED)
		return rule;
	return column == EP_COL_FP ? (rule & ~FP_SLOT_MASK) | (first & FP_SLOT_MASK) : 0;
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

bool ep_run_fde_fast(const struct ep_machine *machine, struct ep_pack *pack,
		     const struct ep_fde *fde, uint32_t first, uint64_t hi)
{
	const uint8_t *pos = fde->insns, *end = fde->insns_end;
	uint32_t stack[FAST_DEPTH], rule = first;
	unsigned int depth = 0;
	uint64_t loc = fde->start, step;
	struct operand a, b;

	while (pos < end) {
		uint8_t op = *pos++;

		if (op >> 6 == DW_CFA_advance_loc >> 6) {
			step = op & 0x3f;
			goto advance;
		}
		if (op >> 6 == DW_CFA_offset >> 6) {
			a = read_operand(pos, end);
			rule = a.next ? with_saved(machine, rule, op & 0x3f, a.value) : 0;
			pos = a.next;
			goto check;
		}
		if (op >> 6 == DW_CFA_restore >> 6) {
			rule = with_restored(machine, rule, first, op & 0x3f);
			goto check;
		}
		switch (op) {
		case DW_CFA_nop:
			continue;
		case DW_CFA_def_cfa_offset:
			a = read_operand(pos, end);
			rule = a.next ? with_cfa_off(rule, a.value) : 0;
			pos = a.next;
			break;
		case DW_CFA_def_cfa_register:
			a = read_operand(pos, end);
			rule = a.next ? with_cfa_reg(machine, rule, a.value) : 0;
			pos = a.next;
			break;
		case DW_CFA_def_cfa:
			a = read_operand(pos, end);
			b = a.next ? read_operand(a.next, end) : a;
			rule = b.next ? with_cfa_reg(machine, rule, a.value) : 0;
			rule = rule ? with_cfa_off(rule, b.value) : 0;
			pos = b.next;
			break;
		case DW_CFA_remember_state:
			if (depth == FAST_DEPTH)
				return false;
			stack[depth++] = rule;
			continue;
		case DW_CFA_restore_state:
			if (depth == 0)
				return false;
			rule = stack[--depth];
			continue;
		case DW_CFA_GNU_args_size:
			pos = skip_operand(pos, end);
			if (!pos)
				return false;
			continue;
		case DW_CFA_advance_loc1:
		case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4:
			if (!read_step(&pos, end, op, &step))
				return false;
			goto advance;
		default:
			return false;
		}
check:
		if (__builtin_expect(rule == 0, 0))
			return false;
		continue;
advance:
		if (step && loc < hi)
			ep_pack_put(pack, loc, rule);
		loc += step; /* far from wrapping: an FDE has less than 2^30 instructions of 32 bits */
	}
	if (loc < hi)
		ep_pack_put(pack, loc, rule);
	return true;
}
