/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information to rules, on hand-assembled bytes: instructions, expressions, CIEs, FDEs. */
#include "tests/unit/unwind_build.h"

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
	{ "stack pointer so far from the CFA (val_offset_sf)", BYTES("\x41\x15\x07\x7e\x86\x02"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 24, .ra_kind = EP_REG_AT_CFA, .ra_off = -24,
	    .fp_kind = EP_REG_AT_CFA, .fp_off = -32, .others = NOTHING_KEPT } },
	{ "the same from its own value (GHC's StgRun)",
	  BYTES("\x41\x0e\x00\x11\x10\x7e\x11\x06\x7f\x16\x07\x02\x77\x18"), { { 1, TABLE } },
	  { .cfa_reg = 7, .cfa_off = 24, .ra_kind = EP_REG_AT_CFA, .ra_off = -8,
	    .fp_kind = EP_REG_AT_CFA, .fp_off = -16, .others = NOTHING_KEPT } },
	{ "stack pointer from another register", BYTES("\x41\x16\x07\x02\x76\x18"), { { 1, UNSUPPORTED } }, { 0 } },
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
	struct ep_unwind_table *table = build_fde(insns);

	for (size_t i = 0; i < EP_LEN(c->want) && (i == 0 || c->want[i].rule || c->want[i].off); i++) {
		uint32_t rule = ep_unwind_table_find(table, FDE_VA + c->want[i].off);

		if (rule != c->want[i].rule)
			fail_msg("%s: at +0x%x rule 0x%x, not 0x%x", c->label, c->want[i].off, rule,
				 c->want[i].rule);
		if (rule == TABLE && !is_first_rule(table, c->table))
			fail_msg("%s: another table rule", c->label);
	}
}

/* Every case runs twice: an expression in front keeps the fast interpreter from taking the FDE. */
EP_TEST(instructions_make_rules)
{
	for (size_t i = 0; i < EP_LEN(insn_cases); i++) {
		struct bytes general = BYTES("\x10\x11\x00");

		check_insn_case(&insn_cases[i], &insn_cases[i].insns);
		memcpy(general.data + general.len, insn_cases[i].insns.data, insn_cases[i].insns.len);
		general.len += insn_cases[i].insns.len;
		check_insn_case(&insn_cases[i], &general);
	}
}

/* No prefix of any case may be read beyond; the sanitizer build sees to "beyond". */
EP_TEST(truncated_instructions_are_safe)
{
	for (size_t i = 0; i < EP_LEN(insn_cases); i++) {
		for (size_t len = 0; len < insn_cases[i].insns.len; len++) {
			struct bytes insns = insn_cases[i].insns;

			insns.len = len;
			assert_rule(build_fde(&insns), FDE_VA - 1, NONE);
			ep_test_release(NULL);
		}
	}
}

EP_TEST(set_loc_goes_forward_only)
{
	struct bytes insns = BYTES("\x01\0\0\0\0\x0e\x10");
	int targets[] = { 0x20, -0x20 };

	for (int i = 0; i < 2; i++) {
		struct image *image = new_eh_frame();
		int32_t rel = (int32_t)(FDE_VA + targets[i] - (ASM_SECTION_VA + image->len + 18));
		struct ep_unwind_table *table;

		memcpy(insns.data + 1, &rel, sizeof(rel));
		add_fde(image, FDE_VA, FDE_BYTES, insns);
		table = build_image(image);
		assert_rule(table, FDE_VA + 0x1f, i ? NONE : SP(8));
		assert_rule(table, FDE_VA + 0x20, i ? NONE : SP(16));
		assert_int_equal(table->stats.bad_fdes, i);
	}
}

/* ---- expressions ---- */

struct expr_case {
	const char *label;
	struct bytes insns; /* after one advance of 1 */
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
	{ "two derefs (OCaml 5)", BYTES("\x0f\x06\x77\x38\x06\x06\x23\x08"), TABLE,
	  { .cfa_kind = EP_CFA_DEREF_TWICE, .cfa_reg = 7, .cfa_off = 56, .cfa_add = EP_CFA_ADD_TWICE(0, 8), AT_CFA_8 } },
	{ "two derefs, less between them", BYTES("\x0f\x09\x77\x08\x06\x11\x70\x22\x06\x23\x18"), TABLE,
	  { .cfa_kind = EP_CFA_DEREF_TWICE, .cfa_reg = 7, .cfa_off = 8, .cfa_add = EP_CFA_ADD_TWICE(-16, 24), AT_CFA_8 } },
	{ "two derefs far apart", BYTES("\x0f\x08\x77\x08\x06\x23\x80\x80\x02\x06"), UNSUPPORTED, { 0 } },
	{ "three derefs", BYTES("\x0f\x05\x77\x08\x06\x06\x06"), UNSUPPORTED, { 0 } },
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

EP_TEST(expressions_make_rules)
{
	for (size_t i = 0; i < EP_LEN(expr_cases); i++) {
		const struct expr_case *c = &expr_cases[i];
		struct bytes insns = { .data = { 0x41 }, .len = 1 + c->insns.len };
		struct ep_unwind_table *table;

		memcpy(insns.data + 1, c->insns.data, c->insns.len);
		table = build_fde(&insns);
		assert_rule(table, FDE_VA, SP(8));
		if (ep_unwind_table_find(table, FDE_VA + 1) != c->rule)
			fail_msg("%s: rule 0x%x", c->label, ep_unwind_table_find(table, FDE_VA + 1));
		if (c->rule == TABLE && !is_first_rule(table, c->table))
			fail_msg("%s: another table rule", c->label);
		assert_int_equal(table->stats.unsupported, c->rule == UNSUPPORTED);
	}
}

EP_TEST(block_length_is_checked)
{
	struct bytes cases[] = {
		BYTES("\x41\x0f\x7f\x77\x08"),
		BYTES("\x41\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		BYTES("\x41\x0f\x82\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\x77\x08"),
		BYTES("\x41\x10\x06\x7f\x77\x08"),
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_unwind_table *table = build_fde(&cases[i]);

		assert_rule(table, FDE_VA, NONE);
		assert_int_equal(table->stats.bad_fdes, 1);
	}
}

EP_TEST(table_rules_are_stored_once)
{
	struct bytes insns = BYTES("\x41\x0c\x0a\x00\x41\x0c\x07\x08\x41\x0c\x0b\x00\x41\x0c\x0a\x00");
	struct ep_unwind_table *table = build_fde(&insns);

	assert_int_equal(table->n_rules, 2);
	assert_rules(table, {FDE_VA + 1, TABLE}, {FDE_VA + 3, TABLE + 1}, {FDE_VA + 4, TABLE});
}

/* ---- CIEs ---- */

struct cie_case {
	const char *label;
	struct cie cie;
	bool good;
};

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

EP_TEST(cies_are_understood_or_refused)
{
	struct bytes insns = BYTES("\x41\x0e\x10");

	for (size_t i = 0; i < EP_LEN(cie_cases); i++) {
		struct ep_unwind_table *table = build_one(&cie_cases[i].cie, &insns);
		uint32_t rule = ep_unwind_table_find(table, FDE_VA + 1);

		if (rule != (cie_cases[i].good ? SP(16) : NONE))
			fail_msg("%s: rule 0x%x", cie_cases[i].label, rule);
		assert_int_equal(table->stats.bad_fdes, !cie_cases[i].good);
	}
}

EP_TEST(alignment_factors_apply)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x42\x0e\x10\x86\x04\x02\x03\x0e\x18");
	struct ep_unwind_table *table;

	cie.code_align = 4;
	cie.data_align = 0x7c; /* -4 */
	cie.insns = BYTES("\x0c\x07\x08\x90\x02");
	table = build_one(&cie, &insns);
	assert_rules(table, {FDE_VA + 7, SP(8)}, {FDE_VA + 8, SP_FP(16, 2)},
			    {FDE_VA + 20, SP_FP(24, 2)});
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

EP_TEST(pointer_encodings)
{
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
	}
}

EP_TEST(a_pointer_of_two_bytes_may_point_back)
{
	const uint64_t start = ASM_SECTION_VA - 0x1000;
	struct ep_build_input input = asm_input();
	struct cie cie = CIE_GCC;
	struct image *image = new_image(true);
	size_t at;

	cie.augmentation_data.data[0] = 0x1a; /* pcrel sdata2 */
	at = asm_fde_begin(image, asm_cie(image, &cie));
	asm_int(image, start - (ASM_SECTION_VA + image->len), 2);
	asm_int(image, FDE_BYTES, 2);
	asm_int(image, 0, 1);
	asm_end(image, at);
	input.ranges[0] = (struct ep_pack_range){ .start = start, .end = ASM_SECTION_VA };
	assert_rule(build_input(&input, &image, 1), start, SP(8));
}

/* Two CIEs of one slot of the cache, asked for in turn. */
EP_TEST(each_function_has_its_own_cie)
{
	struct cie near = CIE_GCC, far = CIE_GCC;
	struct image *image = new_image(true);
	size_t first = asm_cie(image, &near), second;
	struct ep_unwind_table *table;

	far.insns.data[2] = 16;
	do {
		second = asm_cie(image, &far);
	} while (ep_cie_cache_slot(second) != ep_cie_cache_slot(first));
	for (uint64_t i = 0; i < 4; i++)
		asm_fde(image, i % 2 ? second : first, FDE_VA + i * FDE_BYTES, FDE_BYTES,
			&(struct bytes){ .len = 0 });
	table = build_image(image);
	for (uint64_t i = 0; i < 4; i++)
		assert_rule(table, FDE_VA + i * FDE_BYTES, SP(i % 2 ? 16 : 8));
}

EP_TEST(leb128_pointers)
{
	struct cie cie = CIE_GCC;
	struct image *image = new_image(true);
	struct ep_unwind_table *table;
	size_t at;

	cie.augmentation_data.data[0] = 0x01; /* uleb128 */
	at = asm_fde_begin(image, asm_cie(image, &cie));
	asm_bytes(image, "\x90\x20\x80\x01\x00", 5); /* 0x1010, 0x80, no augmentation data */
	asm_end(image, at);
	table = build_image(image);
	assert_rule(table, FDE_VA, SP(8));
	assert_rule(table, FDE_VA + 0x7f, SP(8));
}

/* ---- entries ---- */

EP_TEST(sixty_four_bit_lengths)
{
	struct cie cie = CIE_GCC, debug_cie = { .version = 3, .augmentation = "", CIE_REST };
	struct bytes insns = BYTES("\x41\x0e\x10");

	for (int eh = 0; eh < 2; eh++) {
		struct image *image = new_image(eh);
		struct ep_unwind_table *table;

		image->is64 = true;
		asm_fde(image, asm_cie(image, eh ? &cie : &debug_cie), FDE_VA, FDE_BYTES, &insns);
		table = build_image(image);
		assert_rule(table, FDE_VA + 1, SP(16));
	}
}

/* Whatever one field of an entry says, the FDE in front keeps its rules and nothing is read beyond. */
EP_TEST(hostile_fields_cost_their_own_fde)
{
	static const uint32_t values[] = { 0,	       1,	   3,	       8,	   0x7fffffff,
					   0x80000000, 0xfffffffe, 0xffffffff, 0x10000 };
	const struct bytes insns = BYTES("\x41\x0e\x10\x86\x02");

	for (size_t i = 0; i < EP_LEN(values); i++) {
		for (size_t field = 0; field < 5; field++) {
			struct image *image = new_eh_frame();
			struct ep_unwind_table *table;
			size_t at;

			add_fde(image, FDE_VA, FDE_BYTES, insns);
			at = add_fde(image, FDE_VA + 0x100, FDE_BYTES, insns);
			memcpy(image->data + at + field * 4, &values[i], 4);
			table = build_image(image);
			if (!(field == 2)) /* another start may hide the first FDE */
				assert_rule(table, FDE_VA + 1, SP_FP(16, 2));
		}
	}
}

EP_TEST(a_bad_fde_costs_its_own_range)
{
	struct bytes good = BYTES("\x41\x0e\x10"), bad = BYTES("\x41\x0e\x20\x41\x0e\x28\x41\x3f");
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;

	add_fde(image, 0x1010, 0x10, good);
	add_fde(image, 0x1020, 0x2000, bad); /* pages in between are undone too */
	add_fde(image, 0x3020, 0x10, good);
	table = build_image(image);
	assert_int_equal(table->stats.bad_fdes, 1);
	assert_int_equal(table->stats.fdes, 2);
	assert_rules(table, {0x101f, SP(16)}, {0x1020, NONE}, {0x2100, NONE}, {0x3020, SP(8)},
			    {0x3021, SP(16)});
}

/*
 * A hundred FDEs, each of them as long as the rest of the section: expressions for rbx hide the
 * headers of those after it. All are well-formed, but the tail is not read a hundred times.
 */
EP_TEST(instructions_are_read_once)
{
	struct image *image = new_eh_frame();
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = NULL;
	struct ep_build_input input = asm_input();
	struct ep_fde_list list;
	struct ep_fde_ref refs[100] = { 0 };

	for (size_t i = 0; i < EP_LEN(refs); i++) {
		refs[i].start = 0x1100 + 0x20 * i;
		refs[i].off = add_fde(image, refs[i].start, 0x20,
				      i + 1 < EP_LEN(refs) ? BYTES("\x10\x03\x15") : BYTES(""));
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
}

/* What a bad FDE wrote before it turned out to be bad is undone, over page edges too. */
EP_TEST(bad_fdes_leave_no_trace)
{
	static const uint64_t starts[] = { 0x1030, 0x1fff, 0x2000, 0x2001, 0x2800, 0x3000 };
	static const uint16_t steps[] = { 1, 0x800, 0xfe0, 0x1000, 0x1800 };
	struct bytes good = BYTES("\x41\x0e\x10\x86\x02\x48\x0e\x18");
	struct bytes bads[] = { BYTES("\x03\0\0\x0e\x20\x48\x0e\x28\x48\x3f"), /* found by the fast way */
				BYTES("\x03\0\0\x0e\x20\x10\x03\x00\x48\x0e\x28\x48\x0b") };

	for (size_t i = 0; i < EP_LEN(starts) * EP_LEN(steps) * EP_LEN(bads); i++) {
		uint64_t start = starts[i % EP_LEN(starts)];
		struct bytes bad = bads[i / EP_LEN(starts) / EP_LEN(steps)];
		struct ep_unwind_table *tables[2];

		memcpy(bad.data + 1, &steps[i / EP_LEN(starts) % EP_LEN(steps)], 2);
		for (int with_bad = 0; with_bad < 2; with_bad++) {
			struct image *image = new_eh_frame();

			add_fde(image, 0x1002, 0x10, good);
			if (with_bad)
				add_fde(image, start, 0x1900, bad);
			add_fde(image, 0x4950, 0x10, good);
			tables[with_bad] = build_image(image);
		}
		assert_int_equal(tables[1]->stats.bad_fdes, 1);
		assert_int_equal(tables[0]->n_deltas, tables[1]->n_deltas);
		assert_memory_equal(tables[0]->deltas, tables[1]->deltas, tables[0]->n_deltas * 4);
		assert_memory_equal(tables[0]->pages, tables[1]->pages, tables[0]->n_pages * 8);
	}
}

/* More deltas than are charged for at first: five of a function, whose entry has 36 bytes. */
static int build_within(struct image *image, struct ep_memory_budget *budget)
{
	struct ep_build_input input = asm_input();
	struct ep_cfi_section sec = asm_section(image);
	struct ep_unwind_table *table = NULL;
	struct ep_fde_list list;
	struct ep_work work;
	int r;

	ep_work_init(&work, UINT64_MAX, 0, NULL, budget);
	assert_int_equal(ep_fde_list_init_scan(&list, &sec), 0);
	input.lists[0] = &list;
	input.n_lists = 1;
	input.work = &work;
	r = ep_build(&input, &table);
	ep_unwind_table_free(table);
	ep_fde_list_fini(&list);
	return r;
}

EP_TEST(memory_that_is_refused_is_not_asked_for_again)
{
	struct ep_memory_budget budget = {.limit = SIZE_MAX};
	struct image *image = new_eh_frame();

	for (uint64_t i = 0; i < 100; i++)
		add_fde(image, FDE_VA + 16 * i, 16, BYTES("\x41\x0e\x10\x41\x0e\x18\x41\x0e\x20\x41\x0e\x08"));
	assert_int_equal(build_within(image, &budget), 0);
	assert_int_equal(budget.refused, 0);
	budget.limit = budget.peak - 1;
	assert_int_equal(build_within(image, &budget), -EAGAIN);
	assert_int_equal(budget.refused, 1);
	assert_int_equal(budget.used, 0);
}
