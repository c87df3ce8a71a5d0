/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information to stack deltas, on hand-assembled bytes. */
#include "unwind_asm.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define FDE_VA	  0x1010ull
#define FDE_BYTES 0x80

#define SP(off)	      EP_RULE_IMM(0, 0, off)
#define SP_FP(off, k) EP_RULE_IMM(0, k, off)
#define FP(off, k)    EP_RULE_IMM(1, k, off)
#define LOST(rule)    ((rule) & ~EP_RULE_KEEPS)
#define TABLE	      EP_RULE_FIRST_TABLE /* the file's first table rule */
#define NONE	      EP_RULE_NONE
#define UNSUPPORTED   EP_RULE_UNSUPPORTED

static struct image *new_image(bool eh)
{
	struct image *image = calloc(1, sizeof(*image));

	assert_non_null(image);
	image->eh = eh;
	return image;
}

/* Builds a table over the sections, first one first. */
static struct ep_unwind_table *build_input(struct ep_build_input *input, struct image **images,
					   size_t n)
{
	struct ep_fde_list *lists = calloc(EP_MAX(n, 1), sizeof(*lists));
	struct ep_unwind_table *table = NULL;

	assert_non_null(lists);
	for (size_t i = 0; i < n; i++) {
		struct ep_cfi_section sec = asm_section(images[i]);

		assert_int_equal(ep_fde_list_init_scan(&lists[i], &sec), 0);
		input->lists[i] = &lists[i];
	}
	input->n_lists = n;
	assert_int_equal(ep_build(input, &table), 0);
	for (size_t i = 0; i < n; i++)
		ep_fde_list_fini(&lists[i]);
	free(lists);
	return table;
}

static struct ep_unwind_table *build_image(struct image *image)
{
	struct ep_build_input input = asm_input();

	return build_input(&input, &image, 1);
}

static struct ep_unwind_table *build_one(const struct cie *cie, const struct bytes *insns)
{
	struct image *image = new_image(true);
	struct ep_unwind_table *table;

	asm_fde(image, asm_cie(image, cie), FDE_VA, FDE_BYTES, insns);
	table = build_image(image);
	free(image);
	return table;
}

#define NOTHING_KEPT 0x80 /* of `others`, which says everything where it is 0 */

/* Most cases mention no other registers: their table rules say so without saying so here. */
static bool is_first_rule(const struct ep_unwind_table *table, struct ep_rule want)
{
	if (!want.others)
		want.others = EP_OTHERS_KEEPS;
	want.others &= EP_OTHERS_KEEPS | 0xf;
	return memcmp(&table->rules[0], &want, sizeof(want)) == 0;
}

#define assert_rule(table, va, want)                                                               \
	do {                                                                                       \
		uint32_t rule_ = ep_unwind_table_find(table, va);                                  \
		if (rule_ != (want))                                                               \
			fail_msg("0x%llx: rule 0x%x, not 0x%x", (unsigned long long)(va), rule_,   \
				 (unsigned int)(want));                                            \
	} while (0)

/* ---- instructions ---- */

struct insn_case {
	const char *label;
	struct bytes insns;
	struct {
		uint32_t off; /* from the FDE's start */
		uint32_t rule;
	} want[6]; /* ends with a zero rule that is not the first */
	struct ep_rule table; /* when TABLE is expected */
};

static const struct insn_case insn_cases[] = {
	{ "nothing but the CIE's row", { .len = 0 }, { { 0, SP(8) }, { 0x7f, SP(8) } }, { 0 } },
	{ "push rbp; mov; pop", BYTES("\x41\x0e\x10\x86\x02\x43\x0d\x06\x60\x0c\x07\x08"),
	  { { 0, SP(8) }, { 1, SP_FP(16, 2) }, { 4, FP(16, 2) }, { 0x23, FP(16, 2) }, { 0x24, SP_FP(8, 2) } },
	  { 0 } },
	{ "restore", BYTES("\x41\x86\x02\x41\xc6"), { { 0, SP(8) }, { 1, SP_FP(8, 2) }, { 2, SP(8) } }, { 0 } },
	{ "restore_extended", BYTES("\x41\x86\x02\x41\x06\x06"),
	  { { 1, SP_FP(8, 2) }, { 2, SP(8) } }, { 0 } },
	{ "same_value", BYTES("\x41\x86\x02\x41\x08\x06"), { { 1, SP_FP(8, 2) }, { 2, SP(8) } }, { 0 } },
	{ "advance_loc1, 2, 4", BYTES("\x02\x05\x0e\x10\x03\x05\x00\x0e\x18\x04\x05\x00\x00\x00\x0e\x20"),
	  { { 4, SP(8) }, { 5, SP(16) }, { 10, SP(24) }, { 15, SP(32) } }, { 0 } },
	{ "MIPS_advance_loc8", BYTES("\x1d\x05\x00\x00\x00\x00\x00\x00\x00\x0e\x10"),
	  { { 4, SP(8) }, { 5, SP(16) } }, { 0 } },
	{ "an advance of nothing makes no row", BYTES("\x41\x0e\x10\x40\x0e\x18"),
	  { { 0, SP(8) }, { 1, SP(24) } }, { 0 } },
	{ "an advance beyond the end", BYTES("\x41\x0e\x10\x03\x00\x01\x0e\x18"),
	  { { 0x7f, SP(16) }, { 0x80, NONE }, { 0x90, NONE } }, { 0 } },
	{ "two-byte offset", BYTES("\x41\x0e\x80\x01"), { { 0, SP(8) }, { 1, SP(128) } }, { 0 } },
	{ "largest immediate offset", BYTES("\x41\x0e\xf8\xff\x01"), { { 1, SP(32760) } }, { 0 } },
	{ "offset too large for an immediate", BYTES("\x41\x0e\x80\x80\x02"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 32768, .ra_kind = EP_REG_AT_CFA, .ra_off = -8 } },
	{ "offset that is no multiple of 8", BYTES("\x41\x0e\x0c"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 12, .ra_kind = EP_REG_AT_CFA, .ra_off = -8 } },
	{ "offset above 31 bits", BYTES("\x41\x0e\xff\xff\xff\xff\x7f\x41\x0e\x08"),
	  { { 1, UNSUPPORTED }, { 2, SP(8) } }, { 0 } },
	{ "def_cfa_sf, def_cfa_offset_sf", BYTES("\x41\x12\x06\x7e\x41\x13\x7d"),
	  { { 1, FP(16, 0) }, { 2, FP(24, 0) } }, { 0 } },
	{ "offset_extended, offset_extended_sf", BYTES("\x41\x05\x06\x02\x41\x11\x06\x03"),
	  { { 1, SP_FP(8, 2) }, { 2, SP_FP(8, 3) } }, { 0 } },
	{ "GNU_negative_offset_extended", BYTES("\x41\x2f\x06\x02"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
	    .fp_kind = EP_REG_AT_CFA, .fp_off = 16 } },
	{ "rbp at the slot beyond the last immediate one", BYTES("\x41\x86\x1f\x41\x86\x20"),
	  { { 1, SP_FP(8, 31) }, { 2, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
	    .fp_kind = EP_REG_AT_CFA, .fp_off = -256 } },
	{ "val_offset of rbp", BYTES("\x41\x14\x06\x02"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
	    .fp_kind = EP_REG_IS_CFA, .fp_off = -16 } },
	{ "val_offset_sf of rbp", BYTES("\x41\x15\x06\x02"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
	    .fp_kind = EP_REG_IS_CFA, .fp_off = -16 } },
	{ "rbp in a register", BYTES("\x41\x09\x06\x03"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
	    .fp_kind = EP_REG_IN_REG, .fp_reg = 3 } },
	{ "rbp undefined", BYTES("\x41\x07\x06"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
	    .fp_kind = EP_REG_UNDEFINED } },
	{ "return address in a register (vfork)", BYTES("\x41\x09\x10\x05\x0e\x00"), { { 1, TABLE } },
	  { .cfa_reg = 7, .ra_kind = EP_REG_IN_REG, .ra_reg = 5 } },
	{ "return address undefined", BYTES("\x41\x07\x10"), { { 0, SP(8) }, { 1, EP_RULE_STOP } }, { 0 } },
	{ "return address elsewhere", BYTES("\x41\x90\x02"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -16 } },
	{ "return address unchanged", BYTES("\x41\x08\x10"), { { 1, UNSUPPORTED } }, { 0 } },
	{ "CFA from another register", BYTES("\x41\x0c\x0a\x00"), { { 1, TABLE } },
	  { .cfa_reg = 10, .ra_kind = EP_REG_AT_CFA, .ra_off = -8 } },
	{ "CFA from a register BPF has not", BYTES("\x41\x0d\x11"), { { 1, UNSUPPORTED } }, { 0 } },
	{ "stack pointer said to be the CFA", BYTES("\x41\x14\x07\x00"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8 } },
	{ "stack pointer saved (setcontext)", BYTES("\x41\x87\x02"), { { 1, UNSUPPORTED } }, { 0 } },
	{ "GNU_args_size, nop, negate_ra_state", BYTES("\x41\x2e\x80\x80\x01\x00\x2d\x2c\x0e\x10"),
	  { { 0, SP(8) }, { 1, SP(16) } }, { 0 } },
	{ "remember and restore", BYTES("\x41\x0e\x10\x86\x02\x41\x0a\x0e\x08\xc6\x41\x0b"),
	  { { 1, SP_FP(16, 2) }, { 2, SP(8) }, { 3, SP_FP(16, 2) } }, { 0 } },
	{ "remember nine deep",
	  BYTES("\x41\x0e\x10\x0a\x0e\x18\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0e\x20\x41\x0b\x41\x0b\x0b\x0b"
		"\x0b\x0b\x0b\x0b\x0b"),
	  { { 1, SP(32) }, { 2, SP(24) }, { 3, SP(16) } }, { 0 } },
	{ "restore without remember", BYTES("\x41\x0e\x10\x0b"), { { 0, NONE }, { 0x7f, NONE } }, { 0 } },
	{ "unknown instruction", BYTES("\x41\x0e\x10\x41\x3f"), { { 0, NONE }, { 0x7f, NONE } }, { 0 } },
	{ "expression for a register nobody asks for", BYTES("\x41\x10\x11\x02\x77\x08\x0e\x10"),
	  { { 1, SP(16) } }, { 0 } },
	{ "rbx pushed and popped", BYTES("\x41\x0e\x10\x83\x02\x44\x0e\x08"),
	  { { 0, SP(8) }, { 1, LOST(SP(16)) }, { 4, LOST(SP(16)) }, { 5, SP(8) } }, { 0 } },
	{ "r12 to r15 pushed, an early return",
	  BYTES("\x42\x0e\x10\x8f\x02\x42\x0e\x18\x8e\x03\x42\x0e\x20\x8d\x04\x42\x0e\x28\x8c\x05\x42\x0a\x0e\x08"
		"\x41\x0b"),
	  { { 0, SP(8) }, { 2, LOST(SP(16)) }, { 9, LOST(SP(40)) }, { 10, SP(8) }, { 11, LOST(SP(40)) } },
	  { 0 } },
	{ "r12 saved behind the frame pointer's set-up", BYTES("\x41\x0e\x10\x86\x02\x43\x0d\x06\x8c\x03\x60\x0c\x07\x08"),
	  { { 1, SP_FP(16, 2) }, { 4, LOST(FP(16, 2)) }, { 0x24, SP_FP(8, 2) } }, { 0 } },
	{ "rbx saved below the stack pointer", BYTES("\x41\x83\x02\x44\xc3"),
	  { { 0, SP(8) }, { 1, LOST(SP(8)) }, { 5, LOST(SP(8)) } }, { 0 } },
	{ "r12 held by another register", BYTES("\x41\x09\x0c\x00\x0e\x20"), { { 1, LOST(SP(32)) } }, { 0 } },
	{ "rbx undefined", BYTES("\x41\x07\x03\x0e\x20"), { { 1, LOST(SP(32)) } }, { 0 } },
	{ "r12 and rbx said to be unchanged", BYTES("\x41\x08\x0c\x08\x03\x0e\x20"), { { 1, SP(32) } }, { 0 } },
	{ "r11 saved, which a call may change", BYTES("\x41\x0e\x10\x8b\x02"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 16, .ra_kind = EP_REG_AT_CFA, .ra_off = -8, .others = EP_OTHERS_KEEPS_CALLEE } },
	{ "r11 and r12 saved", BYTES("\x41\x0e\x18\x8b\x02\x8c\x03\x8d\x04"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 24, .ra_kind = EP_REG_AT_CFA, .ra_off = -8, .others = NOTHING_KEPT } },
	{ "r12 saved, the CFA from rax", BYTES("\x41\x0d\x00\x8c\x02"), { { 1, TABLE } },
	  { .cfa_reg = 0, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8, .others = EP_OTHERS_KEEPS_CALLER } },
	{ "def_cfa_register after an expression keeps the offset",
	  BYTES("\x41\x0e\x38\x41\x0f\x03\x77\x08\x06\x41\x0d\x07"),
	  { { 1, SP(56) }, { 2, TABLE }, { 3, SP(56) } },
	  { .cfa_kind = EP_CFA_DEREF, .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8 } },
};

static void check_insn_case(const struct insn_case *c, const struct bytes *insns)
{
	struct cie cie = CIE_GCC;
	struct ep_unwind_table *table = build_one(&cie, insns);

	for (size_t i = 0; i < EP_LEN(c->want) && (i == 0 || c->want[i].rule || c->want[i].off); i++) {
		uint32_t rule = ep_unwind_table_find(table, FDE_VA + c->want[i].off);

		if (rule != c->want[i].rule)
			fail_msg("%s: at +0x%x rule 0x%x, not 0x%x", c->label, c->want[i].off, rule,
				 c->want[i].rule);
		if (rule == TABLE && !is_first_rule(table, c->table))
			fail_msg("%s: another table rule", c->label);
	}
	ep_unwind_table_free(table);
}

/* Every case runs twice: an expression in front keeps the fast interpreter from taking the FDE. */
static void instructions_make_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < EP_LEN(insn_cases); i++) {
		struct bytes general = BYTES("\x10\x11\x00");

		check_insn_case(&insn_cases[i], &insn_cases[i].insns);
		memcpy(general.data + general.len, insn_cases[i].insns.data, insn_cases[i].insns.len);
		general.len += insn_cases[i].insns.len;
		check_insn_case(&insn_cases[i], &general);
	}
}

/* No prefix of any case may be read beyond; the sanitizer build sees to "beyond". */
static void truncated_instructions_are_safe(void **state)
{
	struct cie cie = CIE_GCC;

	(void)state;
	for (size_t i = 0; i < EP_LEN(insn_cases); i++) {
		for (size_t len = 0; len < insn_cases[i].insns.len; len++) {
			struct bytes insns = insn_cases[i].insns;
			struct ep_unwind_table *table;

			insns.len = len;
			table = build_one(&cie, &insns);
			assert_rule(table, FDE_VA - 1, NONE);
			ep_unwind_table_free(table);
		}
	}
}

static void set_loc_goes_forward_only(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x01\0\0\0\0\x0e\x10");
	int targets[] = { 0x20, -0x20 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct image *image = new_image(true);
		size_t cie_at = asm_cie(image, &cie);
		int32_t rel = (int32_t)(FDE_VA + targets[i] - (ASM_SECTION_VA + image->len + 18));
		struct ep_unwind_table *table;

		memcpy(insns.data + 1, &rel, sizeof(rel));
		asm_fde(image, cie_at, FDE_VA, FDE_BYTES, &insns);
		table = build_image(image);
		assert_rule(table, FDE_VA + 0x1f, i ? NONE : SP(8));
		assert_rule(table, FDE_VA + 0x20, i ? NONE : SP(16));
		assert_int_equal(table->stats.bad_fdes, i);
		ep_unwind_table_free(table);
		free(image);
	}
}

/* ---- expressions ---- */

struct expr_case {
	const char *label;
	struct bytes insns; /* behind one advance of 1 */
	uint32_t rule;
	struct ep_rule table;
};

#define AT_CFA_8 .ra_kind = EP_REG_AT_CFA, .ra_off = -8

static const struct expr_case expr_cases[] = {
	{ "breg", BYTES("\x0f\x02\x77\x10"), TABLE, { .cfa_reg = 7, .cfa_off = 16, AT_CFA_8 } },
	{ "breg, plus_uconst", BYTES("\x0f\x04\x77\x10\x23\x08"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 24, AT_CFA_8 } },
	{ "bregx, lit, minus", BYTES("\x0f\x05\x92\x07\x10\x38\x1c"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8 } },
	{ "stack realignment: breg6 -8, deref", BYTES("\x0f\x03\x76\x78\x06"), TABLE,
	  { .cfa_kind = EP_CFA_DEREF, .cfa_reg = 6, .cfa_off = -8, AT_CFA_8 } },
	{ "const1u, plus", BYTES("\x0f\x05\x77\x10\x08\xf0\x22"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 256, AT_CFA_8 } },
	{ "const1s, plus", BYTES("\x0f\x05\x77\x10\x09\xf8\x22"), TABLE, { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8 } },
	{ "const2u, plus", BYTES("\x0f\x06\x77\x10\x0a\xf0\xff\x22"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 65536, AT_CFA_8 } },
	{ "const2s, plus", BYTES("\x0f\x06\x77\x10\x0b\xf8\xff\x22"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8 } },
	{ "const4u, plus", BYTES("\x0f\x08\x77\x10\x0c\x08\x00\x00\x01\x22"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 0x1000018, AT_CFA_8 } },
	{ "const4s, plus", BYTES("\x0f\x08\x77\x10\x0d\xf8\xff\xff\xff\x22"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8 } },
	{ "const8u, plus, nop", BYTES("\x0f\x0d\x77\x10\x0e\xf8\xff\xff\xff\xff\xff\xff\xff\x22\x96"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8 } },
	{ "constu and consts, breg on top", BYTES("\x0f\x09\x10\x88\x01\x11\x78\x22\x77\x08\x22"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 136, AT_CFA_8 } },
	{ "two registers added", BYTES("\x0f\x05\x77\x10\x73\x00\x22"), UNSUPPORTED, { 0 } },
	{ "a register taken away", BYTES("\x0f\x05\x77\x10\x73\x00\x1c"), UNSUPPORTED, { 0 } },
	{ "bregx of a register nobody has", BYTES("\x0f\x05\x92\x80\x80\x04\x00"), UNSUPPORTED, { 0 } },
	{ "a stack of nine", BYTES("\x0f\x09\x30\x30\x30\x30\x30\x30\x30\x30\x30"), UNSUPPORTED, { 0 } },
	{ "deref and add", BYTES("\x0f\x06\x77\x98\x04\x06\x23\x38"), TABLE,
	  { .cfa_kind = EP_CFA_DEREF, .cfa_reg = 7, .cfa_off = 536, .cfa_add = 56, AT_CFA_8 } },
	{ "PLT", BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), TABLE,
	  { .cfa_kind = EP_CFA_PLT, .cfa_reg = 7, .cfa_off = 8, .cfa_add = 11, AT_CFA_8 } },
	{ "PLT with another threshold", BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3a\x2a\x33\x24\x22"), TABLE,
	  { .cfa_kind = EP_CFA_PLT, .cfa_reg = 7, .cfa_off = 8, .cfa_add = 10, AT_CFA_8 } },
	{ "PLT of another shift", BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x32\x24\x22"), UNSUPPORTED, { 0 } },
	{ "scaled index (OpenSSL)", BYTES("\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08"), UNSUPPORTED, { 0 } },
	{ "two derefs", BYTES("\x0f\x04\x77\x08\x06\x06"), UNSUPPORTED, { 0 } },
	{ "nothing", BYTES("\x0f\x00"), UNSUPPORTED, { 0 } },
	{ "a constant", BYTES("\x0f\x01\x30"), UNSUPPORTED, { 0 } },
	{ "operand cut off", BYTES("\x0f\x01\x77"), UNSUPPORTED, { 0 } },
	{ "stack underflow", BYTES("\x0f\x01\x22"), UNSUPPORTED, { 0 } },
	{ "rbp at an expression", BYTES("\x10\x06\x02\x76\x70"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8, .fp_kind = EP_REG_AT_REG, .fp_reg = 6, .fp_off = -16 } },
	{ "rbp at an expression of the CFA's register", BYTES("\x10\x06\x02\x77\x70"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8, .fp_kind = EP_REG_AT_CFA, .fp_off = -24 } },
	{ "rbp at the CFA plus a constant", BYTES("\x10\x06\x03\x09\xe8\x22"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8, .fp_kind = EP_REG_AT_CFA, .fp_off = -24 } },
	{ "rbp is the CFA plus a constant", BYTES("\x16\x06\x02\x23\x08"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8, .fp_kind = EP_REG_IS_CFA, .fp_off = 8 } },
	{ "rbp is what lies at rbx + 8", BYTES("\x16\x06\x03\x73\x08\x06"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8, .fp_kind = EP_REG_AT_REG, .fp_reg = 3, .fp_off = 8 } },
	{ "rbp is rbx", BYTES("\x16\x06\x02\x73\x00"), TABLE,
	  { .cfa_reg = 7, .cfa_off = 8, AT_CFA_8, .fp_kind = EP_REG_IN_REG, .fp_reg = 3 } },
	{ "rbp is rbx + 8", BYTES("\x16\x06\x02\x73\x08"), UNSUPPORTED, { 0 } },
	{ "return address at an expression of another register", BYTES("\x10\x10\x02\x73\x08"), UNSUPPORTED, { 0 } },
};

static void expressions_make_rules(void **state)
{
	struct cie cie = CIE_GCC;

	(void)state;
	for (size_t i = 0; i < EP_LEN(expr_cases); i++) {
		const struct expr_case *c = &expr_cases[i];
		struct bytes insns = { .data = { 0x41 }, .len = 1 + c->insns.len };
		struct ep_unwind_table *table;

		memcpy(insns.data + 1, c->insns.data, c->insns.len);
		table = build_one(&cie, &insns);
		assert_rule(table, FDE_VA, SP(8));
		if (ep_unwind_table_find(table, FDE_VA + 1) != c->rule)
			fail_msg("%s: rule 0x%x", c->label, ep_unwind_table_find(table, FDE_VA + 1));
		if (c->rule == TABLE && !is_first_rule(table, c->table))
			fail_msg("%s: another table rule", c->label);
		assert_int_equal(table->stats.unsupported, c->rule == UNSUPPORTED);
		ep_unwind_table_free(table);
	}
}

static void block_length_is_checked(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes cases[] = {
		BYTES("\x41\x0f\x7f\x77\x08"),
		BYTES("\x41\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		BYTES("\x41\x0f\x82\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\x77\x08"),
		BYTES("\x41\x10\x06\x7f\x77\x08"),
	};

	(void)state;
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_unwind_table *table = build_one(&cie, &cases[i]);

		assert_rule(table, FDE_VA, NONE);
		assert_int_equal(table->stats.bad_fdes, 1);
		ep_unwind_table_free(table);
	}
}

static void table_rules_are_stored_once(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x41\x0c\x0a\x00\x41\x0c\x07\x08\x41\x0c\x0b\x00\x41\x0c\x0a\x00");
	struct ep_unwind_table *table = build_one(&cie, &insns);

	(void)state;
	assert_int_equal(table->n_rules, 2);
	assert_rule(table, FDE_VA + 1, TABLE);
	assert_rule(table, FDE_VA + 3, TABLE + 1);
	assert_rule(table, FDE_VA + 4, TABLE);
	ep_unwind_table_free(table);
}

/* ---- CIEs ---- */

struct cie_case {
	const char *label;
	struct cie cie;
	bool good;
};

#define CIE_REST .insns = BYTES("\x0c\x07\x08\x90\x01"), .code_align = 1, .data_align = 0x78, .ra_reg = 16

static const struct cie_case cie_cases[] = {
	{ "version 1, zR", CIE_GCC, true },
	{ "version 3", { .version = 3, .augmentation = "zR", .augmentation_data = BYTES("\x1b"), CIE_REST }, true },
	{ "version 4", { .version = 4, .augmentation = "zR", .augmentation_data = BYTES("\x1b"),
			 .between = BYTES("\x08\x00"), CIE_REST }, true },
	{ "version 4, 4-byte addresses", { .version = 4, .augmentation = "zR",
			 .augmentation_data = BYTES("\x1b"), .between = BYTES("\x04\x00"), CIE_REST }, false },
	{ "version 4, segments", { .version = 4, .augmentation = "zR", .augmentation_data = BYTES("\x1b"),
			 .between = BYTES("\x08\x02"), CIE_REST }, false },
	{ "version 2", { .version = 2, .augmentation = "zR", .augmentation_data = BYTES("\x1b"), CIE_REST }, false },
	{ "zPLR (C++)", { .version = 1, .augmentation = "zPLR",
			 .augmentation_data = BYTES("\x9b\x11\x22\x33\x44\x1b\x1b"), CIE_REST }, true },
	{ "zRSL", { .version = 1, .augmentation = "zRSL", .augmentation_data = BYTES("\x1b\x1b"), CIE_REST }, true },
	{ "zRB", { .version = 1, .augmentation = "zRB", .augmentation_data = BYTES("\x1b"), CIE_REST }, true },
	{ "unknown letter behind R", { .version = 1, .augmentation = "zRq", .augmentation_data = BYTES("\x1b"),
			 CIE_REST }, true },
	{ "unknown augmentation", { .version = 1, .augmentation = "armcc+", CIE_REST }, false },
	{ "personality cut off", { .version = 1, .augmentation = "zPR", .augmentation_data = BYTES("\x9b\x11"),
			 CIE_REST }, false },
	{ "aligned personality", { .version = 1, .augmentation = "zPR",
			 .augmentation_data = BYTES("\x50\x11\x11\x11\x11\x11\x11\x11\x11\x1b"), CIE_REST }, false },
	{ "R without its byte", { .version = 1, .augmentation = "zR", CIE_REST }, false },
	{ "another return address column", { .version = 1, .augmentation = "zR",
			 .augmentation_data = BYTES("\x1b"), .insns = BYTES("\x0c\x07\x08\x90\x01"),
			 .code_align = 1, .data_align = 0x78, .ra_reg = 15 }, false },
	{ "an advance in the CIE", { .version = 1, .augmentation = "zR", .augmentation_data = BYTES("\x1b"),
			 .insns = BYTES("\x0c\x07\x08\x90\x01\x41"), .code_align = 1, .data_align = 0x78,
			 .ra_reg = 16 }, false },
	{ "unknown instruction in the CIE", { .version = 1, .augmentation = "zR",
			 .augmentation_data = BYTES("\x1b"), .insns = BYTES("\x0c\x07\x08\x90\x01\x3f"),
			 .code_align = 1, .data_align = 0x78, .ra_reg = 16 }, false },
};

static void cies_are_understood_or_refused(void **state)
{
	struct bytes insns = BYTES("\x41\x0e\x10");

	(void)state;
	for (size_t i = 0; i < EP_LEN(cie_cases); i++) {
		struct ep_unwind_table *table = build_one(&cie_cases[i].cie, &insns);
		uint32_t rule = ep_unwind_table_find(table, FDE_VA + 1);

		if (rule != (cie_cases[i].good ? SP(16) : NONE))
			fail_msg("%s: rule 0x%x", cie_cases[i].label, rule);
		assert_int_equal(table->stats.bad_fdes, !cie_cases[i].good);
		ep_unwind_table_free(table);
	}
}

static void alignment_factors_apply(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x42\x0e\x10\x86\x04\x02\x03\x0e\x18");
	struct ep_unwind_table *table;

	(void)state;
	cie.code_align = 4;
	cie.data_align = 0x7c; /* -4 */
	cie.insns = BYTES("\x0c\x07\x08\x90\x02");
	table = build_one(&cie, &insns);
	assert_rule(table, FDE_VA + 7, SP(8));
	assert_rule(table, FDE_VA + 8, SP_FP(16, 2));
	assert_rule(table, FDE_VA + 20, SP_FP(24, 2));
	ep_unwind_table_free(table);
}

/* ---- pointer encodings ---- */

struct pointer_case {
	uint8_t encoding;
	size_t start_bytes, range_bytes;
	bool good;
};

static const struct pointer_case pointer_cases[] = {
	{ 0x00, 8, 8, true }, /* absptr */
	{ 0x02, 2, 2, true }, /* udata2 */
	{ 0x03, 4, 4, true },
	{ 0x04, 8, 8, true },
	{ 0x0a, 2, 2, true }, /* sdata2 */
	{ 0x0b, 4, 4, true },
	{ 0x0c, 8, 8, true },
	{ 0x10, 8, 8, true }, /* pcrel absptr */
	{ 0x1b, 4, 4, true },
	{ 0x1c, 8, 8, true },
	{ 0x3b, 4, 4, true }, /* datarel, base 0 */
	{ 0x2b, 4, 4, false }, /* textrel */
	{ 0x4b, 4, 4, false }, /* funcrel */
	{ 0x50, 8, 8, false }, /* aligned */
	{ 0x9b, 4, 4, false }, /* indirect */
	{ 0x05, 8, 8, false }, /* no such format */
	{ 0xff, 4, 4, false }, /* omit */
};

static void pointer_encodings(void **state)
{
	(void)state;
	for (size_t i = 0; i < EP_LEN(pointer_cases); i++) {
		const struct pointer_case *c = &pointer_cases[i];
		struct cie cie = CIE_GCC;
		struct image *image = new_image(true);
		struct ep_unwind_table *table;
		uint64_t base;
		size_t at;

		cie.augmentation_data.data[0] = c->encoding;
		at = asm_fde_begin(image, asm_cie(image, &cie));
		base = (c->encoding & 0x70) == 0x10 ? ASM_SECTION_VA + image->len : 0;
		asm_int(image, FDE_VA - base, c->start_bytes);
		asm_int(image, FDE_BYTES, c->range_bytes);
		asm_int(image, 0, 1);
		asm_end(image, at);
		table = build_image(image);
		if (ep_unwind_table_find(table, FDE_VA) != (c->good ? SP(8) : NONE))
			fail_msg("encoding 0x%x", c->encoding);
		assert_int_equal(table->stats.bad_fdes, !c->good);
		ep_unwind_table_free(table);
		free(image);
	}
}

static void leb128_pointers(void **state)
{
	struct cie cie = CIE_GCC;
	struct image *image = new_image(true);
	struct ep_unwind_table *table;
	size_t at;

	(void)state;
	cie.augmentation_data.data[0] = 0x01; /* uleb128 */
	at = asm_fde_begin(image, asm_cie(image, &cie));
	asm_bytes(image, "\x90\x20\x80\x01\x00", 5); /* 0x1010, 0x80, no augmentation data */
	asm_end(image, at);
	table = build_image(image);
	assert_rule(table, FDE_VA, SP(8));
	assert_rule(table, FDE_VA + 0x7f, SP(8));
	ep_unwind_table_free(table);
	free(image);
}

/* ---- entries ---- */

static void sixty_four_bit_lengths(void **state)
{
	struct cie cie = CIE_GCC, debug_cie = { .version = 3, .augmentation = "", CIE_REST };
	struct bytes insns = BYTES("\x41\x0e\x10");

	(void)state;
	for (int eh = 0; eh < 2; eh++) {
		struct image *image = new_image(eh);
		struct ep_unwind_table *table;

		image->is64 = true;
		asm_fde(image, asm_cie(image, eh ? &cie : &debug_cie), FDE_VA, FDE_BYTES, &insns);
		table = build_image(image);
		assert_rule(table, FDE_VA + 1, SP(16));
		ep_unwind_table_free(table);
		free(image);
	}
}

/* Whatever one field of an entry says, the FDE in front keeps its rules and nothing is read beyond. */
static void hostile_fields_cost_their_own_fde(void **state)
{
	static const uint32_t values[] = { 0,	       1,	   3,	       8,	   0x7fffffff,
					   0x80000000, 0xfffffffe, 0xffffffff, 0x10000 };
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x41\x0e\x10\x86\x02");

	(void)state;
	for (size_t i = 0; i < EP_LEN(values); i++) {
		for (size_t field = 0; field < 5; field++) {
			struct image *image = new_image(true);
			size_t cie_at = asm_cie(image, &cie), at;
			struct ep_unwind_table *table;

			asm_fde(image, cie_at, FDE_VA, FDE_BYTES, &insns);
			at = asm_fde(image, cie_at, FDE_VA + 0x100, FDE_BYTES, &insns);
			memcpy(image->data + at + field * 4, &values[i], 4);
			table = build_image(image);
			if (!(field == 2)) /* another start may hide the first FDE */
				assert_rule(table, FDE_VA + 1, SP_FP(16, 2));
			ep_unwind_table_free(table);
			free(image);
		}
	}
}

static void a_bad_fde_costs_its_own_range(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes good = BYTES("\x41\x0e\x10"), bad = BYTES("\x41\x0e\x20\x41\x0e\x28\x41\x3f");
	struct image *image = new_image(true);
	size_t cie_at = asm_cie(image, &cie);
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(image, cie_at, 0x1010, 0x10, &good);
	asm_fde(image, cie_at, 0x1020, 0x2000, &bad); /* pages in between are undone too */
	asm_fde(image, cie_at, 0x3020, 0x10, &good);
	table = build_image(image);
	assert_int_equal(table->stats.bad_fdes, 1);
	assert_int_equal(table->stats.fdes, 2);
	assert_rule(table, 0x101f, SP(16));
	assert_rule(table, 0x1020, NONE);
	assert_rule(table, 0x2100, NONE);
	assert_rule(table, 0x3020, SP(8));
	assert_rule(table, 0x3021, SP(16));
	ep_unwind_table_free(table);
	free(image);
}

/*
 * A hundred FDEs, each of them as long as the rest of the section: expressions for rbx hide the
 * headers of those behind it. All are well-formed, but the tail is not read a hundred times.
 */
static void instructions_are_read_once(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes none = { .len = 0 }, hide = BYTES("\x10\x03\x15");
	struct image *image = new_image(true);
	size_t cie_at = asm_cie(image, &cie), at;
	struct ep_unwind_table *table;
	struct ep_build_input input = asm_input();
	struct ep_fde_list list;
	struct ep_fde_ref refs[100];

	(void)state;
	for (size_t i = 0; i < EP_LEN(refs); i++) {
		at = asm_fde(image, cie_at, 0x1100 + 0x20 * i, 0x20, i + 1 < EP_LEN(refs) ? &hide : &none);
		refs[i] = (struct ep_fde_ref){ .start = 0x1100 + 0x20 * i, .off = at };
	}
	for (size_t i = 0; i < EP_LEN(refs); i++) { /* each one as long as the section */
		uint32_t len = (uint32_t)(image->len - refs[i].off - 4);

		memcpy(image->data + refs[i].off, &len, sizeof(len));
	}
	list = (struct ep_fde_list){ .sec = asm_section(image), .refs = refs, .n = EP_LEN(refs) };
	input.lists[0] = &list;
	input.n_lists = 1;
	assert_int_equal(ep_build(&input, &table), 0);
	assert_int_equal(table->stats.fdes + table->stats.bad_fdes, EP_LEN(refs));
	assert_true(table->stats.fdes > 0);
	assert_true(table->stats.bad_fdes > EP_LEN(refs) / 2);
	ep_unwind_table_free(table);
	free(image);
}

/* What a bad FDE wrote before it turned out to be bad is undone, over page edges too. */
static void bad_fdes_leave_no_trace(void **state)
{
	static const uint64_t starts[] = { 0x1030, 0x1fff, 0x2000, 0x2001, 0x2800, 0x3000 };
	static const uint16_t steps[] = { 1, 0x800, 0xfe0, 0x1000, 0x1800 };
	struct cie cie = CIE_GCC;
	struct bytes good = BYTES("\x41\x0e\x10\x86\x02\x48\x0e\x18");
	struct bytes bads[] = { BYTES("\x03\0\0\x0e\x20\x48\x0e\x28\x48\x3f"), /* found by the fast way */
				BYTES("\x03\0\0\x0e\x20\x10\x03\x00\x48\x0e\x28\x48\x0b") };

	(void)state;
	for (size_t i = 0; i < EP_LEN(starts) * EP_LEN(steps) * EP_LEN(bads); i++) {
		uint64_t start = starts[i % EP_LEN(starts)];
		struct bytes bad = bads[i / EP_LEN(starts) / EP_LEN(steps)];
		struct ep_unwind_table *tables[2];

		memcpy(bad.data + 1, &steps[i / EP_LEN(starts) % EP_LEN(steps)], 2);
		for (int with_bad = 0; with_bad < 2; with_bad++) {
			struct image *image = new_image(true);
			size_t cie_at = asm_cie(image, &cie);

			asm_fde(image, cie_at, 0x1002, 0x10, &good);
			if (with_bad)
				asm_fde(image, cie_at, start, 0x1900, &bad);
			asm_fde(image, cie_at, 0x4950, 0x10, &good);
			tables[with_bad] = build_image(image);
			free(image);
		}
		assert_int_equal(tables[1]->stats.bad_fdes, 1);
		assert_int_equal(tables[0]->n_deltas, tables[1]->n_deltas);
		assert_memory_equal(tables[0]->deltas, tables[1]->deltas, tables[0]->n_deltas * 4);
		assert_memory_equal(tables[0]->pages, tables[1]->pages, tables[0]->n_pages * 8);
		ep_unwind_table_free(tables[0]);
		ep_unwind_table_free(tables[1]);
	}
}

/* ---- ranges ---- */

static void gaps_have_no_rule_but_padding_does(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes none = { .len = 0 };
	struct image *image = new_image(true);
	size_t cie_at = asm_cie(image, &cie);
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(image, cie_at, 0x1101, 0x10, &none); /* ends at 0x1111 */
	asm_fde(image, cie_at, 0x1120, 0x10, &none); /* 15 bytes later */
	asm_fde(image, cie_at, 0x1140, 0x10, &none); /* 16 bytes later */
	table = build_image(image);
	assert_rule(table, 0x1100, NONE);
	assert_rule(table, 0x1101, SP(8));
	assert_rule(table, 0x1111, SP(8));
	assert_rule(table, 0x112f, SP(8));
	assert_rule(table, 0x1130, NONE);
	assert_rule(table, 0x1140, SP(8));
	assert_rule(table, 0x1150, NONE);
	assert_rule(table, 0x4fff, NONE);
	assert_rule(table, 0x5000, NONE);
	assert_int_equal(table->stats.covered_bytes, 0x30);
	ep_unwind_table_free(table);
	free(image);
}

static void the_later_of_two_fdes_begins_on_time(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes first = BYTES("\x41\x0e\x10\x50\x0e\x18"), second = { .len = 0 };
	struct image *image = new_image(true);
	size_t cie_at = asm_cie(image, &cie);
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(image, cie_at, 0x1120, 0x10, &second);
	asm_fde(image, cie_at, 0x1100, 0x80, &first);
	asm_fde(image, cie_at, 0x1200, 0x10, &first);
	asm_fde(image, cie_at, 0x1200, 0x10, &second); /* the same start: the last one */
	table = build_image(image);
	assert_rule(table, 0x1101, SP(16));
	assert_rule(table, 0x111f, SP(24));
	assert_rule(table, 0x1120, SP(8));
	assert_rule(table, 0x1130, NONE); /* as a search by start address finds nothing there */
	assert_rule(table, 0x1201, SP(8));
	assert_int_equal(table->stats.overlaps, 2);
	ep_unwind_table_free(table);
	free(image);
}

static void fdes_outside_text_are_counted(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes none = { .len = 0 };
	struct image *image = new_image(true);
	size_t cie_at = asm_cie(image, &cie);
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(image, cie_at, 0x800, 0x1000, &none);
	asm_fde(image, cie_at, 0x4ff8, 0x1000, &none); /* cut at the end of the text */
	asm_fde(image, cie_at, 0x6000, 0x10, &none);
	table = build_image(image);
	assert_int_equal(table->stats.outside, 2);
	assert_rule(table, 0x1000, NONE);
	assert_rule(table, 0x4fff, SP(8));
	assert_int_equal(table->stats.covered_bytes, 8);
	ep_unwind_table_free(table);
	free(image);
}

static void the_entry_point_stops(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes none = { .len = 0 };
	static const struct {
		uint64_t entry, stop_end, next_fde;
	} cases[] = {
		{ 0x1200, 0x1240, 0x1400 },
		{ 0x1200, 0x1220, 0x1220 }, /* up to the next FDE */
		{ 0x1115, 0x1118, 0x1118 }, /* in what looks like padding */
	};

	(void)state;
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct image *image = new_image(true);
		size_t cie_at = asm_cie(image, &cie);
		struct ep_build_input input = asm_input();
		struct ep_unwind_table *table;

		asm_fde(image, cie_at, 0x1100, 0x10, &none);
		asm_fde(image, cie_at, cases[i].next_fde, 0x10, &none);
		input.entry_va = cases[i].entry;
		table = build_input(&input, &image, 1);
		assert_rule(table, 0x1110, NONE);
		assert_rule(table, cases[i].entry - 1, NONE);
		assert_rule(table, cases[i].entry, EP_RULE_STOP);
		assert_rule(table, cases[i].stop_end - 1, EP_RULE_STOP);
		assert_rule(table, cases[i].stop_end,
			    cases[i].stop_end == cases[i].next_fde ? SP(8) : NONE);
		ep_unwind_table_free(table);
		free(image);
	}
}

static void an_entry_with_an_fde_does_as_it_says(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes undefined = BYTES("\x07\x10"), none = { .len = 0 };
	struct image *image = new_image(true);
	size_t cie_at = asm_cie(image, &cie);
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(image, cie_at, 0x1100, 0x22, &undefined); /* glibc's crt1 */
	asm_fde(image, cie_at, 0x1200, 0x22, &none);
	input.entry_va = 0x1200;
	table = build_input(&input, &image, 1);
	assert_rule(table, 0x1100, EP_RULE_STOP);
	assert_rule(table, 0x1200, SP(8));
	ep_unwind_table_free(table);
	free(image);
}

/* ---- signal frames ---- */

/* As glibc writes it: CFA *(rsp + 160), rbp at rsp + 120, rip at rsp + 168. */
static const struct bytes sigframe =
	BYTES("\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00\x10\x10\x03\x77\xa8\x01\x10\x07\x03\x77\xa0\x01");

static bool code_is_trampoline(void *arg, uint64_t va, uint8_t *buf, size_t bytes)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	memset(buf, 0x90, bytes);
	if (va == *(uint64_t *)arg && bytes == sizeof(code))
		memcpy(buf, code, bytes);
	return true;
}

static struct ep_unwind_table *build_signal(const char *augmentation, uint64_t code_va)
{
	struct cie cie = CIE_GCC, plain = CIE_GCC;
	struct bytes none = { .len = 0 };
	struct image *image = new_image(true);
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	cie.augmentation = augmentation;
	asm_fde(image, asm_cie(image, &plain), 0x1100, 0x20, &none);
	asm_fde(image, asm_cie(image, &cie), 0x1120, 0x10, &sigframe);
	input.read_code = code_is_trampoline;
	input.read_code_arg = &code_va;
	table = build_input(&input, &image, 1);
	free(image);
	return table;
}

static void signal_frames(void **state)
{
	struct ep_unwind_table *table;

	(void)state;
	table = build_signal("zRS", 0x1121); /* as in glibc, which begins one byte early */
	assert_rule(table, 0x111f, SP(8));
	assert_rule(table, 0x1120, EP_RULE_SIGNAL);
	assert_rule(table, 0x112f, EP_RULE_SIGNAL);
	ep_unwind_table_free(table);
	table = build_signal("zRS", 0x1120); /* one that does not */
	assert_rule(table, 0x111e, SP(8));
	assert_rule(table, 0x111f, EP_RULE_SIGNAL);
	assert_rule(table, 0x1120, EP_RULE_SIGNAL);
	ep_unwind_table_free(table);
	table = build_signal("zR", 0x1120); /* no 'S': the same words, but no signal frame */
	assert_rule(table, 0x111f, SP(8));
	assert_rule(table, 0x1120, UNSUPPORTED);
	ep_unwind_table_free(table);
}

static void another_frame_with_s_is_a_usual_one(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x41\x0e\x10");
	struct ep_unwind_table *table;

	(void)state;
	cie.augmentation = "zRS";
	table = build_one(&cie, &insns);
	assert_rule(table, FDE_VA + 1, SP(16));
	ep_unwind_table_free(table);
}

/* ---- several sources ---- */

static void debug_frame_fills_gaps(void **state)
{
	struct cie cie = CIE_GCC, debug_cie = { .version = 3, .augmentation = "", CIE_REST };
	struct bytes eh = { .len = 0 }, debug = BYTES("\x41\x0e\x10");
	struct image *images[2] = { new_image(true), new_image(false) };
	size_t cie_at = asm_cie(images[0], &cie), debug_at = asm_cie(images[1], &debug_cie);
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(images[0], cie_at, 0x1100, 0x20, &eh);
	asm_fde(images[0], cie_at, 0x1200, 0x20, &eh);
	asm_fde(images[1], debug_at, 0x1080, 0x20, &debug);
	asm_fde(images[1], debug_at, 0x1108, 0x100, &debug); /* hidden: its function is in .eh_frame */
	asm_fde(images[1], debug_at, 0x1180, 0x100, &debug); /* cut */
	asm_fde(images[1], debug_at, 0x1300, 0x20, &debug);
	table = build_input(&input, images, 2);
	assert_rule(table, 0x1080, SP(8));
	assert_rule(table, 0x1081, SP(16));
	assert_rule(table, 0x10a0, NONE);
	assert_rule(table, 0x1101, SP(8));
	assert_rule(table, 0x1120, NONE);
	assert_rule(table, 0x1181, SP(16));
	assert_rule(table, 0x11ff, SP(16));
	assert_rule(table, 0x1200, SP(8));
	assert_rule(table, 0x1220, NONE);
	assert_rule(table, 0x1301, SP(16));
	assert_rule(table, 0x1320, NONE);
	ep_unwind_table_free(table);
	free(images[0]);
	free(images[1]);
}

/* ---- .eh_frame_hdr ---- */

#define HDR_VA (ASM_SECTION_VA - 0x1000)

struct hdr_case {
	const char *label;
	uint8_t enc[4]; /* version, pointer, count, table */
	int32_t eh_frame_off, count_off;
	bool swap, far;
	bool good;
};

static const struct hdr_case hdr_cases[] = {
	{ "as ld writes it", { 1, 0x1b, 0x03, 0x3b }, 0, 0, false, false, true },
	{ "version", { 2, 0x1b, 0x03, 0x3b }, 0, 0, false, false, false },
	{ "another .eh_frame", { 1, 0x1b, 0x03, 0x3b }, 8, 0, false, false, false },
	{ "no table", { 1, 0x1b, 0xff, 0xff }, 0, 0, false, false, false },
	{ "another table encoding", { 1, 0x1b, 0x03, 0x1b }, 0, 0, false, false, false },
	{ "count too large", { 1, 0x1b, 0x03, 0x3b }, 0, 1, false, false, false },
	{ "count of nothing", { 1, 0x1b, 0x03, 0x3b }, 0, -2, false, false, false },
	{ "unsorted", { 1, 0x1b, 0x03, 0x3b }, 0, 0, true, false, false },
	{ "FDE outside the section", { 1, 0x1b, 0x03, 0x3b }, 0, 0, false, true, false },
};

static void make_hdr(struct image *hdr, const struct hdr_case *c, const size_t fdes[2])
{
	static const uint64_t starts[2] = { 0x1100, 0x1200 };

	asm_bytes(hdr, c->enc, 4);
	asm_int(hdr, ASM_SECTION_VA + c->eh_frame_off - (HDR_VA + 4), 4);
	asm_int(hdr, (uint64_t)(2 + c->count_off), 4);
	for (int i = 0; i < 2; i++) {
		int k = c->swap ? 1 - i : i;

		asm_int(hdr, starts[k] - HDR_VA, 4);
		asm_int(hdr, ASM_SECTION_VA + fdes[k] + (c->far ? 0x100000 : 0) - HDR_VA, 4);
	}
}

static void the_linkers_table_is_checked(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x41\x0e\x10");

	(void)state;
	for (size_t i = 0; i < EP_LEN(hdr_cases); i++) {
		struct image *image = new_image(true), *hdr = new_image(true);
		size_t cie_at = asm_cie(image, &cie), fdes[2];
		struct ep_cfi_section sec, hdr_sec;
		struct ep_fde_list list = { 0 };
		int r;

		fdes[0] = asm_fde(image, cie_at, 0x1100, 0x20, &insns);
		fdes[1] = asm_fde(image, cie_at, 0x1200, 0x20, &insns);
		make_hdr(hdr, &hdr_cases[i], fdes);
		sec = asm_section(image);
		hdr_sec = asm_section(hdr);
		hdr_sec.va = hdr_sec.data_va = HDR_VA;
		r = ep_fde_list_init_table(&list, &sec, &hdr_sec);
		if ((r == 0) != hdr_cases[i].good)
			fail_msg("%s: %d", hdr_cases[i].label, r);
		if (r == 0) {
			assert_int_equal(list.n, 2);
			assert_int_equal(ep_fde_list_get(&list, 1).start, 0x1200);
			assert_int_equal(ep_fde_list_get(&list, 1).off, fdes[1]);
		}
		ep_fde_list_fini(&list);
		free(image);
		free(hdr);
	}
}

/* ---- what is described ---- */

#define ROW_SP(at, n, off)                                                                         \
	{                                                                                          \
		.va = (at), .bytes = (n), .cfa_reg = 7, .cfa_off = (off), .flags = EP_CODE_KEEPS,  \
		.ra_place = EP_CODE_AT_CFA, .ra = -8                                               \
	}

static struct ep_unwind_table *build_rows(struct image *image, const struct ep_code_row *rows,
					  size_t n)
{
	struct ep_build_input input = asm_input();

	input.rows = rows;
	input.n_rows = n;
	return build_input(&input, &image, image ? 1 : 0);
}

/* What a row says, and the rule of that. */
static void rows_say_what_call_frame_information_says(void **state)
{
	static const struct {
		const char *label;
		struct ep_code_row row;
		uint32_t rule;
		struct ep_rule table;
	} cases[] = {
		{ "entry", { .cfa_reg = 7, .cfa_off = 8, .flags = EP_CODE_KEEPS,
			     .ra_place = EP_CODE_AT_CFA, .ra = -8 }, SP(8), { 0 } },
		{ "registers lost", { .cfa_reg = 7, .cfa_off = 8, .ra_place = EP_CODE_AT_CFA, .ra = -8 },
		  LOST(SP(8)), { 0 } },
		{ "frame", { .cfa_reg = 6, .cfa_off = 16, .flags = EP_CODE_KEEPS,
			     .ra_place = EP_CODE_AT_CFA, .ra = -8, .fp_place = EP_CODE_AT_CFA,
			     .fp = -16 }, FP(16, 2), { 0 } },
		{ "return address in rcx", { .cfa_reg = 7, .flags = EP_CODE_KEEPS,
					     .ra_place = EP_CODE_IN_REG, .ra = 2 }, TABLE,
		  { .cfa_reg = 7, .ra_kind = EP_REG_IN_REG, .ra_reg = 2 } },
		{ "return address elsewhere", { .cfa_reg = 7, .cfa_off = 24, .flags = EP_CODE_KEEPS,
						.ra_place = EP_CODE_AT_CFA, .ra = -24 }, TABLE,
		  { .cfa_reg = 7, .cfa_off = 24, .ra_kind = EP_REG_AT_CFA, .ra_off = -24 } },
		{ "frame pointer lost", { .cfa_reg = 12, .cfa_off = -8, .ra_place = EP_CODE_AT_CFA,
					  .ra = -8, .fp_place = EP_CODE_LOST }, TABLE,
		  { .cfa_reg = 12, .cfa_off = -8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
		    .fp_kind = EP_REG_UNDEFINED, .others = EP_OTHERS_KEEPS_CALLER } },
		{ "frame pointer in r11", { .cfa_reg = 7, .cfa_off = 8, .flags = EP_CODE_KEEPS,
					    .ra_place = EP_CODE_AT_CFA, .ra = -8,
					    .fp_place = EP_CODE_IN_REG, .fp = 11 }, TABLE,
		  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
		    .fp_kind = EP_REG_IN_REG, .fp_reg = 11 } },
		{ "root", { .cfa_reg = 7, .ra_place = EP_CODE_LOST }, EP_RULE_STOP, { 0 } },
		{ "unknown", { .flags = EP_CODE_UNKNOWN }, NONE, { 0 } },
		{ "no return address", { .cfa_reg = 7, .cfa_off = 8 }, UNSUPPORTED, { 0 } },
		{ "no such register", { .cfa_reg = 16, .ra_place = EP_CODE_AT_CFA }, UNSUPPORTED, { 0 } },
		{ "no such register to return to", { .cfa_reg = 7, .ra_place = EP_CODE_IN_REG, .ra = -1 },
		  UNSUPPORTED, { 0 } },
		{ "no such place", { .cfa_reg = 7, .cfa_off = 8, .ra_place = EP_CODE_AT_CFA, .ra = -8,
				     .fp_place = 200 }, TABLE,
		  { .cfa_reg = 7, .cfa_off = 8, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
		    .fp_kind = EP_REG_UNDEFINED, .others = EP_OTHERS_KEEPS_CALLER } },
	};

	(void)state;
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_code_row row = cases[i].row;
		struct ep_unwind_table *table;

		row.va = 0x1801;
		row.bytes = 0x30;
		table = build_rows(NULL, &row, 1);
		if (ep_unwind_table_find(table, 0x1801) != cases[i].rule ||
		    ep_unwind_table_find(table, 0x1830) != cases[i].rule)
			fail_msg("%s: rule 0x%x", cases[i].label, ep_unwind_table_find(table, 0x1801));
		if (cases[i].rule == TABLE && !is_first_rule(table, cases[i].table))
			fail_msg("%s: another table rule", cases[i].label);
		assert_rule(table, 0x1800, NONE);
		assert_rule(table, 0x1831, NONE);
		assert_int_equal(table->stats.described_bytes, 0x30);
		assert_int_equal(table->stats.covered_bytes, 0);
		ep_unwind_table_free(table);
	}
}

static void rows_fill_what_the_file_leaves_open(void **state)
{
	static const struct ep_code_row rows[] = {
		ROW_SP(0x500, 0x10, 32),   /* before the text */
		ROW_SP(0xff0, 0x40, 40),   /* its end is in it */
		ROW_SP(0x10e0, 0x100, 48), /* two FDEs are in it */
		ROW_SP(0x1300, 0x10, 56),  /* 15 bytes between two: padding */
		ROW_SP(0x131f, 0x80, 64),  /* cut where the next begins, and not gone on with */
		ROW_SP(0x1340, 0x10, 72),
		ROW_SP(0x1400, 0x10, 80),  /* an FDE is all of it */
		ROW_SP(0x4ff0, 0x80, 88),  /* its begin is in the text */
		ROW_SP(0x9000, 0x80, 96),  /* behind it */
	};
	struct cie cie = CIE_GCC;
	struct bytes none = { .len = 0 };
	struct image *image = new_image(true);
	size_t cie_at = asm_cie(image, &cie);
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(image, cie_at, 0x1100, 0x10, &none);
	asm_fde(image, cie_at, 0x1118, 0x28, &none);
	asm_fde(image, cie_at, 0x1400, 0x10, &none);
	table = build_rows(image, rows, EP_LEN(rows));
	assert_rule(table, 0x1000, SP(40));
	assert_rule(table, 0x102f, SP(40));
	assert_rule(table, 0x1030, NONE);
	assert_rule(table, 0x10e0, SP(48));
	assert_rule(table, 0x1100, SP(8));
	assert_rule(table, 0x1110, SP(48)); /* 8 bytes, and no padding */
	assert_rule(table, 0x1118, SP(8));
	assert_rule(table, 0x113f, SP(8));
	assert_rule(table, 0x1140, SP(48));
	assert_rule(table, 0x11df, SP(48));
	assert_rule(table, 0x11e0, NONE);
	assert_rule(table, 0x131e, SP(56));
	assert_rule(table, 0x133f, SP(64));
	assert_rule(table, 0x134f, SP(72));
	assert_rule(table, 0x1350, NONE);
	assert_rule(table, 0x1400, SP(8));
	assert_rule(table, 0x1410, NONE);
	assert_rule(table, 0x4ff0, SP(88));
	assert_rule(table, 0x5000, NONE);
	assert_int_equal(table->stats.covered_bytes, 0x48);
	assert_int_equal(table->stats.described_bytes, 0x30 + 0x20 + 8 + 0xa0 + 0x10 + 0x21 + 0x10 + 0x10);
	ep_unwind_table_free(table);
	free(image);
}

/* Text of many ranges, each with all of one row: there is room for what that takes. */
static void a_row_may_go_through_many_ranges(void **state)
{
	struct ep_code_row rows[] = {ROW_SP(0x100, 0x10000000, 16), ROW_SP(0x20000000, 1, 24)};
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	(void)state;
	input.n_ranges = EP_BUILD_MAX_RANGES;
	for (size_t i = 0; i < input.n_ranges; i++)
		input.ranges[i] = (struct ep_pack_range){ .start = 0x10010 + i * 0x3000,
							  .end = 0x10018 + i * 0x3000 };
	ep_build_sort_ranges(&input);
	input.rows = rows;
	input.n_rows = 2;
	table = build_input(&input, NULL, 0);
	assert_int_equal(table->n_pages, EP_BUILD_MAX_RANGES);
	for (size_t i = 0; i < input.n_ranges; i++) {
		assert_rule(table, 0x1000f + i * 0x3000, NONE);
		assert_rule(table, 0x10017 + i * 0x3000, SP(16));
		assert_rule(table, 0x10018 + i * 0x3000, NONE);
	}
	ep_unwind_table_free(table);
}

/* The program's entry may be code that somebody describes. */
static void a_row_at_the_entry_holds(void **state)
{
	static const struct ep_code_row rows[] = {ROW_SP(0x2000, 0x100, 16)};
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	(void)state;
	input.entry_va = 0x2010;
	input.rows = rows;
	input.n_rows = 1;
	table = build_input(&input, NULL, 0);
	assert_rule(table, 0x2010, SP(16));
	ep_unwind_table_free(table);
	input.entry_va = 0x3010;
	table = build_input(&input, NULL, 0);
	assert_rule(table, 0x2010, SP(16));
	assert_rule(table, 0x3010, EP_RULE_STOP);
	ep_unwind_table_free(table);
}

/* ---- pages ---- */

static void rules_carry_over_pages(void **state)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x41\x0e\x10\x03\xff\x1f\x0e\x18"); /* +1: 16, +0x2000: 24 */
	struct image *image = new_image(true);
	struct ep_unwind_table *table;

	(void)state;
	asm_fde(image, asm_cie(image, &cie), 0x1800, 0x2800, &insns); /* to 0x4000 */
	table = build_image(image);
	assert_int_equal(table->n_pages, 4);
	assert_int_equal(EP_PAGE_COUNT(table->pages[0]), 3);
	assert_int_equal(table->pages[1], EP_PAGE(0, SP(16)));
	assert_int_equal(EP_PAGE_COUNT(table->pages[2]), 2);
	assert_int_equal(table->pages[3], EP_PAGE(0, NONE)); /* a page that begins with its only rule */
	assert_rule(table, 0x17ff, NONE);
	assert_rule(table, 0x1800, SP(8));
	assert_rule(table, 0x37ff, SP(16));
	assert_rule(table, 0x3800, SP(24));
	assert_rule(table, 0x3fff, SP(24));
	assert_rule(table, 0x4000, NONE);
	ep_unwind_table_free(table);
	free(image);
}

static void large_text_is_several_segments(void **state)
{
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;
	uint64_t va = 0x40000000;

	(void)state;
	input.ranges[0] = (struct ep_pack_range){ .start = va + 0x800,
						  .end = va + EP_ROW_MAX_PAGES * 4096ull + 0x1801 };
	input.ranges[1] = (struct ep_pack_range){ .start = 0x2000, .end = 0x2001 };
	input.ranges[2] = (struct ep_pack_range){ .start = 0x2800, .end = 0x4000 }; /* shares a page */
	input.ranges[3] = (struct ep_pack_range){ .start = 0x9000, .end = 0x9000 }; /* empty */
	input.n_ranges = 4;
	ep_build_sort_ranges(&input);
	assert_int_equal(input.n_ranges, 2);
	table = build_input(&input, NULL, 0);
	assert_int_equal(table->n_segments, 3);
	assert_int_equal(table->segments[0].va, 0x2000);
	assert_int_equal(table->segments[0].n_pages, 2);
	assert_int_equal(table->segments[1].va, va);
	assert_int_equal(table->segments[1].n_pages, EP_ROW_MAX_PAGES);
	assert_int_equal(table->segments[2].va, va + EP_ROW_MAX_PAGES * 4096ull);
	assert_int_equal(table->segments[2].n_pages, 2);
	assert_int_equal(table->segments[2].first_page, 2 + EP_ROW_MAX_PAGES);
	assert_int_equal(table->n_pages, 4 + EP_ROW_MAX_PAGES);
	ep_unwind_table_free(table);
}

static void too_much_text_is_refused(void **state)
{
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table = NULL;

	(void)state;
	input.ranges[0].end = input.ranges[0].start + ((uint64_t)EP_BUILD_MAX_PAGES << 12) + 1;
	assert_int_equal(ep_build(&input, &table), -E2BIG);
	assert_null(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_make_rules),
		cmocka_unit_test(truncated_instructions_are_safe),
		cmocka_unit_test(set_loc_goes_forward_only),
		cmocka_unit_test(expressions_make_rules),
		cmocka_unit_test(block_length_is_checked),
		cmocka_unit_test(table_rules_are_stored_once),
		cmocka_unit_test(cies_are_understood_or_refused),
		cmocka_unit_test(alignment_factors_apply),
		cmocka_unit_test(pointer_encodings),
		cmocka_unit_test(leb128_pointers),
		cmocka_unit_test(sixty_four_bit_lengths),
		cmocka_unit_test(hostile_fields_cost_their_own_fde),
		cmocka_unit_test(a_bad_fde_costs_its_own_range),
		cmocka_unit_test(instructions_are_read_once),
		cmocka_unit_test(bad_fdes_leave_no_trace),
		cmocka_unit_test(gaps_have_no_rule_but_padding_does),
		cmocka_unit_test(the_later_of_two_fdes_begins_on_time),
		cmocka_unit_test(fdes_outside_text_are_counted),
		cmocka_unit_test(the_entry_point_stops),
		cmocka_unit_test(an_entry_with_an_fde_does_as_it_says),
		cmocka_unit_test(signal_frames),
		cmocka_unit_test(another_frame_with_s_is_a_usual_one),
		cmocka_unit_test(debug_frame_fills_gaps),
		cmocka_unit_test(the_linkers_table_is_checked),
		cmocka_unit_test(rows_say_what_call_frame_information_says),
		cmocka_unit_test(rows_fill_what_the_file_leaves_open),
		cmocka_unit_test(a_row_may_go_through_many_ranges),
		cmocka_unit_test(a_row_at_the_entry_holds),
		cmocka_unit_test(rules_carry_over_pages),
		cmocka_unit_test(large_text_is_several_segments),
		cmocka_unit_test(too_much_text_is_refused),
	};

	return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
