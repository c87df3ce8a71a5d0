/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/bytecode.h"
#include "core/replay/bytecode_internal.h"

#include <errno.h>
#include <string.h>

/* Of one program: far more than the million that a verifier walks, and still no endless loop. */
#define MAX_STEPS 4000000

#define MAX_CALLS 8 /* as a kernel has it, linux/include/linux/bpf_verifier.h: MAX_CALL_FRAMES */
#define STACK	  512

/* Who called a function of the program: what it keeps over the call, and where it goes on. */
struct caller {
	uint64_t kept[4]; /* r6 to r9 */
	size_t pc;
};

struct machine {
	uint64_t regs[11];
	_Alignas(8) uint8_t stack[MAX_CALLS][STACK];
	struct caller callers[MAX_CALLS];
	size_t n_callers;
	ep_bytecode_helper helper;
	void *arg;
};

static uint64_t load_bytes(uint64_t addr, uint8_t code)
{
	const void *from = (const void *)(uintptr_t)addr;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (BPF_SIZE(code)) {
	case BPF_DW:
		memcpy(&u64, from, sizeof(u64));
		return u64;
	case BPF_W:
		memcpy(&u32, from, sizeof(u32));
		return u32;
	case BPF_H:
		memcpy(&u16, from, sizeof(u16));
		return u16;
	default:
		return *(const uint8_t *)from;
	}
}

static void store_bytes(uint64_t addr, uint8_t code, uint64_t value)
{
	static const uint8_t bytes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8};

	memcpy((void *)(uintptr_t)addr, &value, bytes[BPF_SIZE(code) >> 3]); /* little-endian */
}

/* clang-format off */
/* Shifts take the lower bits of their count, x / 0 is 0 and x % 0 is x: instruction-set.rst. */
static bool do_alu64(uint8_t op, uint64_t *to, uint64_t from)
{
	switch (op) {
	case BPF_ADD: *to += from; break;
	case BPF_SUB: *to -= from; break;
	case BPF_MUL: *to *= from; break;
	case BPF_DIV: *to = from ? *to / from : 0; break;
	case BPF_MOD: *to = from ? *to % from : *to; break;
	case BPF_OR: *to |= from; break;
	case BPF_AND: *to &= from; break;
	case BPF_XOR: *to ^= from; break;
	case BPF_LSH: *to <<= from & 63; break;
	case BPF_RSH: *to >>= from & 63; break;
	case BPF_ARSH: *to = (uint64_t)((int64_t)*to >> (from & 63)); break;
	case BPF_NEG: *to = 0 - *to; break;
	case BPF_MOV: *to = from; break;
	default: return false;
	}
	return true;
}

static bool do_alu32(uint8_t op, uint64_t *to, uint32_t from)
{
	uint32_t value = (uint32_t)*to;

	switch (op) {
	case BPF_ADD: value += from; break;
	case BPF_SUB: value -= from; break;
	case BPF_MUL: value *= from; break;
	case BPF_DIV: value = from ? value / from : 0; break;
	case BPF_MOD: value = from ? value % from : value; break;
	case BPF_OR: value |= from; break;
	case BPF_AND: value &= from; break;
	case BPF_XOR: value ^= from; break;
	case BPF_LSH: value <<= from & 31; break;
	case BPF_RSH: value >>= from & 31; break;
	case BPF_ARSH: value = (uint32_t)((int32_t)value >> (from & 31)); break;
	case BPF_NEG: value = 0 - value; break;
	case BPF_MOV: value = from; break;
	default: return false;
	}
	*to = value;
	return true;
}

/* BPF_END: to little-endian cuts, to big-endian swaps as well. */
static bool do_end(const struct bpf_insn *insn, uint64_t *to)
{
	bool swap = BPF_SRC(insn->code) == BPF_TO_BE;

	switch (insn->imm) {
	case 16: *to = swap ? __builtin_bswap16((uint16_t)*to) : (uint16_t)*to; break;
	case 32: *to = swap ? __builtin_bswap32((uint32_t)*to) : (uint32_t)*to; break;
	case 64: *to = swap ? __builtin_bswap64(*to) : *to; break;
	default: return false;
	}
	return true;
}

static bool is_taken(uint8_t op, uint64_t a, uint64_t b, int64_t sa, int64_t sb)
{
	switch (op) {
	case BPF_JA: return true;
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSET: return a & b;
	case BPF_JSGT: return sa > sb;
	case BPF_JSGE: return sa >= sb;
	case BPF_JSLT: return sa < sb;
	default: return sa <= sb; /* BPF_JSLE */
	}
}

/* clang-format on */
static bool do_jump(const struct machine *m, const struct bpf_insn *insn)
{
	uint64_t a = m->regs[insn->dst_reg];
	uint64_t b = BPF_SRC(insn->code) == BPF_X ? m->regs[insn->src_reg]
						  : (uint64_t)(int64_t)insn->imm;

	if (BPF_CLASS(insn->code) == BPF_JMP32)
		return is_taken(BPF_OP(insn->code), (uint32_t)a, (uint32_t)b, (int32_t)a,
				(int32_t)b);
	return is_taken(BPF_OP(insn->code), a, b, (int64_t)a, (int64_t)b);
}

static bool do_alu(struct machine *m, const struct bpf_insn *insn)
{
	uint64_t *to = &m->regs[insn->dst_reg];
	uint64_t from = BPF_SRC(insn->code) == BPF_X ? m->regs[insn->src_reg]
						     : (uint64_t)(int64_t)insn->imm;

	if (insn->off != 0) /* signed forms of version 4 */
		return false;
	if (BPF_OP(insn->code) == BPF_END)
		return BPF_CLASS(insn->code) == BPF_ALU && do_end(insn, to);
	return BPF_CLASS(insn->code) == BPF_ALU64
		       ? do_alu64(BPF_OP(insn->code), to, from)
		       : do_alu32(BPF_OP(insn->code), to, (uint32_t)from);
}

/* Loads and stores; false for atomics and what else we lack. */
static bool do_memory(struct machine *m, const struct bpf_insn *insn)
{
	uint64_t off = (uint64_t)(int64_t)insn->off;

	if (BPF_MODE(insn->code) != BPF_MEM)
		return false;
	if (BPF_CLASS(insn->code) == BPF_LDX)
		m->regs[insn->dst_reg] = load_bytes(m->regs[insn->src_reg] + off, insn->code);
	else if (BPF_CLASS(insn->code) == BPF_STX)
		store_bytes(m->regs[insn->dst_reg] + off, insn->code, m->regs[insn->src_reg]);
	else
		store_bytes(m->regs[insn->dst_reg] + off, insn->code, (uint64_t)(int64_t)insn->imm);
	return true;
}

static void set_stack(struct machine *m)
{
	m->regs[10] = (uint64_t)(uintptr_t)(m->stack[m->n_callers] + STACK);
}

/* *pc is after the call. */
static int enter(struct machine *m, int32_t off, size_t *pc)
{
	struct caller *caller = &m->callers[m->n_callers];

	if (m->n_callers == MAX_CALLS - 1)
		return -ENOTSUP;
	memcpy(caller->kept, m->regs + 6, sizeof(caller->kept));
	caller->pc = *pc;
	*pc += (size_t)(ptrdiff_t)off;
	m->n_callers++;
	set_stack(m);
	return 0;
}

/* 1: it was the program itself. */
static int leave(struct machine *m, size_t *pc)
{
	if (m->n_callers == 0)
		return 1;
	m->n_callers--;
	memcpy(m->regs + 6, m->callers[m->n_callers].kept, sizeof(m->callers[0].kept));
	*pc = m->callers[m->n_callers].pc;
	set_stack(m);
	return 0;
}

static int call(struct machine *m, const struct bpf_insn *insn, size_t *pc)
{
	if (insn->src_reg == BPF_PSEUDO_CALL)
		return enter(m, insn->imm, pc);
	return insn->src_reg ? -ENOTSUP : m->helper(m->arg, insn->imm, m->regs + 1, m->regs);
}

/* One instruction at *pc, which moves on. 0, 1 at the end, or a negative errno. */
static int step(struct machine *m, const struct ep_bytecode_program *program, size_t *pc)
{
	const struct bpf_insn *insn = &program->insns[(*pc)++];

	if (insn->dst_reg > 10 || insn->src_reg > 10)
		return -EFAULT;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return do_alu(m, insn) ? 0 : -ENOTSUP;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return do_memory(m, insn) ? 0 : -ENOTSUP;
	case BPF_LD:
		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW) || *pc >= program->n)
			return -ENOTSUP;
		m->regs[insn->dst_reg] =
			(uint32_t)insn->imm | (uint64_t)(uint32_t)program->insns[*pc].imm << 32;
		(*pc)++;
		return 0;
	}
	if (insn->code == (BPF_JMP | BPF_EXIT))
		return leave(m, pc);
	if (insn->code == (BPF_JMP | BPF_CALL))
		return call(m, insn, pc);
	if (insn->code == (BPF_JMP32 | BPF_JA) || BPF_OP(insn->code) > BPF_JSLE)
		return -ENOTSUP;
	if (do_jump(m, insn))
		*pc += (size_t)(ptrdiff_t)insn->off;
	return 0;
}

int ep_bytecode_run(const struct ep_bytecode_program *program, void *ctx, ep_bytecode_helper helper,
		    void *arg)
{
	struct machine m = {.helper = helper, .arg = arg};
	size_t pc = program->first;

	m.regs[1] = (uint64_t)(uintptr_t)ctx;
	set_stack(&m);
	for (size_t steps = 0; steps < MAX_STEPS; steps++) {
		int r = pc < program->n ? step(&m, program, &pc) : -EFAULT;

		if (r != 0)
			return r < 0 ? r : 0;
	}
	return -ELOOP;
}
