/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of many functions to one table: ranges, signal frames, several sources, what is described, pages. */
#include "core/unwind/outer.h"
#include "tests/unit/unwind_build.h"

/* ---- ranges ---- */

EP_TEST(gaps_have_no_rule_but_padding_does)
{
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;

	add_fde(image, 0x1101, 0x10, BYTES("")); /* ends at 0x1111 */
	add_fde(image, 0x1120, 0x10, BYTES("")); /* 15 bytes later */
	add_fde(image, 0x1140, 0x10, BYTES("")); /* 16 bytes later */
	table = build_image(image);
	assert_rules(table, {0x1100, NONE}, {0x1101, SP(8)}, {0x1111, SP(8)}, {0x112f, SP(8)},
			    {0x1130, NONE}, {0x1140, SP(8)}, {0x1150, NONE}, {0x4fff, NONE},
			    {0x5000, NONE});
	assert_int_equal(table->stats.covered_bytes, 0x30);
}

EP_TEST(the_later_of_two_fdes_begins_on_time)
{
	const struct bytes first = BYTES("\x41\x0e\x10\x50\x0e\x18");
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;

	add_fde(image, 0x1120, 0x10, BYTES(""));
	add_fde(image, 0x1100, 0x80, first);
	add_fde(image, 0x1200, 0x10, first);
	add_fde(image, 0x1200, 0x10, BYTES("")); /* the same start: the last one */
	table = build_image(image);
	assert_rules(table, {0x1101, SP(16)}, {0x111f, SP(24)}, {0x1120, SP(8)});
	assert_rule(table, 0x1130, NONE); /* as a search by start address finds nothing there */
	assert_rule(table, 0x1201, SP(8));
	assert_int_equal(table->stats.overlaps, 2);
}

EP_TEST(fdes_outside_text_are_counted)
{
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;

	add_fde(image, 0x800, 0x1000, BYTES(""));
	add_fde(image, 0x4ff8, 0x1000, BYTES("")); /* cut at the end of the text */
	add_fde(image, 0x6000, 0x10, BYTES(""));
	table = build_image(image);
	assert_int_equal(table->stats.outside, 2);
	assert_rule(table, 0x1000, NONE);
	assert_rule(table, 0x4fff, SP(8));
	assert_int_equal(table->stats.covered_bytes, 8);
}

EP_TEST(the_entry_point_stops)
{
	static const struct {
		uint64_t entry, stop_end, next_fde;
	} cases[] = {
		{ 0x1200, 0x1240, 0x1400 },
		{ 0x1200, 0x1220, 0x1220 }, /* up to the next FDE */
		{ 0x1115, 0x1118, 0x1118 }, /* in what looks like padding */
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct image *image = new_eh_frame();
		struct ep_build_input input = asm_input();
		struct ep_unwind_table *table;

		add_fde(image, 0x1100, 0x10, BYTES(""));
		add_fde(image, cases[i].next_fde, 0x10, BYTES(""));
		input.entry_va = cases[i].entry;
		table = build_input(&input, &image, 1);
		assert_rules(table, {0x1110, NONE}, {cases[i].entry - 1, NONE},
				    {cases[i].entry, EP_RULE_STOP},
				    {cases[i].stop_end - 1, EP_RULE_STOP});
		assert_rule(table, cases[i].stop_end,
			    cases[i].stop_end == cases[i].next_fde ? SP(8) : NONE);
	}
}

EP_TEST(an_entry_with_an_fde_does_as_it_says)
{
	struct image *image = new_eh_frame();
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	add_fde(image, 0x1100, 0x22, BYTES("\x07\x10")); /* undefined: glibc's crt1 */
	add_fde(image, 0x1200, 0x22, BYTES(""));
	input.entry_va = 0x1200;
	table = build_input(&input, &image, 1);
	assert_rule(table, 0x1100, EP_RULE_STOP);
	assert_rule(table, 0x1200, SP(8));
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
	struct cie cie = CIE_GCC;
	struct image *image = new_eh_frame();
	struct ep_build_input input = asm_input();

	cie.augmentation = augmentation;
	add_fde(image, 0x1100, 0x20, BYTES(""));
	asm_fde(image, asm_cie(image, &cie), 0x1120, 0x10, &sigframe);
	input.read_code = code_is_trampoline;
	input.read_code_arg = &code_va;
	return build_input(&input, &image, 1);
}

EP_TEST(signal_frames)
{
	struct ep_unwind_table *table;

	table = build_signal("zRS", 0x1121); /* as in glibc, which begins one byte early */
	assert_rules(table, {0x111f, SP(8)}, {0x1120, EP_RULE_SIGNAL}, {0x112f, EP_RULE_SIGNAL});
	table = build_signal("zRS", 0x1120); /* one that does not */
	assert_rules(table, {0x111e, SP(8)}, {0x111f, EP_RULE_SIGNAL}, {0x1120, EP_RULE_SIGNAL});
	table = build_signal("zR", 0x1120); /* no 'S': the same words, but no signal frame */
	assert_rule(table, 0x111f, SP(8));
	assert_rule(table, 0x1120, UNSUPPORTED);
}

EP_TEST(another_frame_with_s_is_a_usual_one)
{
	struct cie cie = CIE_GCC;
	struct bytes insns = BYTES("\x41\x0e\x10");
	struct ep_unwind_table *table;

	cie.augmentation = "zRS";
	table = build_one(&cie, &insns);
	assert_rule(table, FDE_VA + 1, SP(16));
}

/* ---- several sources ---- */

EP_TEST(debug_frame_fills_gaps)
{
	struct cie debug_cie = { .version = 3, .augmentation = "", CIE_REST };
	const struct bytes debug = BYTES("\x41\x0e\x10");
	struct image *images[2] = { new_eh_frame(), new_image(false) };
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	asm_cie(images[1], &debug_cie);
	add_fde(images[0], 0x1100, 0x20, BYTES(""));
	add_fde(images[0], 0x1200, 0x20, BYTES(""));
	add_fde(images[1], 0x1080, 0x20, debug);
	add_fde(images[1], 0x1108, 0x100, debug); /* hidden: its function is in .eh_frame */
	add_fde(images[1], 0x1180, 0x100, debug); /* cut */
	add_fde(images[1], 0x1300, 0x20, debug);
	table = build_input(&input, images, 2);
	assert_rules(table, {0x1080, SP(8)}, {0x1081, SP(16)}, {0x10a0, NONE}, {0x1101, SP(8)},
			    {0x1120, NONE}, {0x1181, SP(16)}, {0x11ff, SP(16)}, {0x1200, SP(8)},
			    {0x1220, NONE}, {0x1301, SP(16)}, {0x1320, NONE});
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

EP_TEST(the_linkers_table_is_checked)
{
	for (size_t i = 0; i < EP_LEN(hdr_cases); i++) {
		struct image *image = new_eh_frame(), *hdr = new_image(true);
		size_t fdes[2];
		struct ep_cfi_section sec, hdr_sec;
		ep_cleanup(ep_fde_list_fini) struct ep_fde_list list = { 0 };
		int r;

		fdes[0] = add_fde(image, 0x1100, 0x20, BYTES("\x41\x0e\x10"));
		fdes[1] = add_fde(image, 0x1200, 0x20, BYTES("\x41\x0e\x10"));
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
EP_TEST(rows_say_what_call_frame_information_says)
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
	}
}

EP_TEST(rows_fill_what_the_file_leaves_open)
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
		ROW_SP(0x9000, 0x80, 96),  /* after it */
	};
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;

	add_fde(image, 0x1100, 0x10, BYTES(""));
	add_fde(image, 0x1118, 0x28, BYTES(""));
	add_fde(image, 0x1400, 0x10, BYTES(""));
	table = build_rows(image, rows, EP_LEN(rows));
	assert_rules(table, {0x1000, SP(40)}, {0x102f, SP(40)}, {0x1030, NONE}, {0x10e0, SP(48)},
			    {0x1100, SP(8)});
	assert_rule(table, 0x1110, SP(48)); /* 8 bytes, and no padding */
	assert_rules(table, {0x1118, SP(8)}, {0x113f, SP(8)}, {0x1140, SP(48)}, {0x11df, SP(48)},
			    {0x11e0, NONE}, {0x131e, SP(56)}, {0x133f, SP(64)}, {0x134f, SP(72)},
			    {0x1350, NONE}, {0x1400, SP(8)}, {0x1410, NONE}, {0x4ff0, SP(88)},
			    {0x5000, NONE});
	assert_int_equal(table->stats.covered_bytes, 0x48);
	assert_int_equal(table->stats.described_bytes, 0x30 + 0x20 + 8 + 0xa0 + 0x10 + 0x21 + 0x10 + 0x10);
}

/* The root of a stack, in place of what the file says. */
#define ROW_ROOT(at, n) {.va = (at), .bytes = (n), .cfa_reg = 7, .cfa_off = 8, .ra_place = EP_CODE_LOST, .flags = EP_CODE_INSTEAD}

EP_TEST(rows_hold_in_place_of_what_the_file_says)
{
	static const struct ep_code_row rows[] = {
		ROW_ROOT(0xf00, 0x108),	  /* its end is in the text */
		ROW_ROOT(0x1110, 8),	  /* within an FDE */
		ROW_SP(0x1130, 8, 48),	  /* not in place of anything */
		ROW_ROOT(0x1200, 0x20),	  /* all of an FDE */
		ROW_ROOT(0x1280, 0x40),	  /* over the end of one and the begin of the next */
		ROW_ROOT(0x1300, 0x20),	  /* cut where the next begins */
		ROW_ROOT(0x1310, 4),
		ROW_ROOT(0x1340, 0x10),	  /* where nothing is reported */
		ROW_ROOT(0x1ff0, 0x1020), /* over a page */
		ROW_ROOT(0x4ff0, 0x80),	  /* its begin is in the text */
		ROW_ROOT(0x9000, 0x80),	  /* after it */
	};
	struct bytes insns = BYTES("\x44\x0e\x10\x4c\x0e\x18\x50\x0e\x20"); /* +4: 16, +16: 24, +32: 32 */
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;

	add_fde(image, 0x1100, 0x40, insns);
	add_fde(image, 0x1200, 0x20, insns);
	add_fde(image, 0x1240, 0x60, insns);
	add_fde(image, 0x12a0, 0x40, insns);
	add_fde(image, 0x1300, 0x40, BYTES(""));
	add_fde(image, 0x2000, 0x40, insns);
	table = build_rows(image, rows, EP_LEN(rows));
	assert_rules(table, {0x1000, EP_RULE_STOP}, {0x1007, EP_RULE_STOP}, {0x1008, NONE}, {0x1100, SP(8)},
			    {0x1104, SP(16)}, {0x110f, SP(16)}, {0x1110, EP_RULE_STOP},
			    {0x1117, EP_RULE_STOP}, {0x1118, SP(24)}, {0x1120, SP(32)}, {0x113f, SP(32)});
	assert_rules(table, {0x1140, NONE}, {0x1200, EP_RULE_STOP}, {0x121f, EP_RULE_STOP}, {0x1220, NONE},
			    {0x1240, SP(8)}, {0x127f, SP(32)}, {0x1280, EP_RULE_STOP},
			    {0x12bf, EP_RULE_STOP}, {0x12c0, SP(32)}, {0x12df, SP(32)}, {0x12e0, NONE});
	assert_rules(table, {0x1300, EP_RULE_STOP}, {0x1313, EP_RULE_STOP}, {0x1314, SP(8)}, {0x133f, SP(8)},
			    {0x1340, EP_RULE_STOP}, {0x134f, EP_RULE_STOP}, {0x1350, NONE},
			    {0x1fef, NONE}, {0x1ff0, EP_RULE_STOP}, {0x2020, EP_RULE_STOP},
			    {0x300f, EP_RULE_STOP}, {0x3010, NONE});
	assert_rules(table, {0x4fef, NONE}, {0x4ff0, EP_RULE_STOP}, {0x4fff, EP_RULE_STOP}, {0x5000, NONE});
	assert_int_equal(table->stats.replaced_rows, 10);
}

/* Text of many ranges, each with all of one row: there is space for what that takes. */
EP_TEST(a_row_may_go_through_many_ranges)
{
	struct ep_code_row rows[] = {ROW_SP(0x100, 0x10000000, 16), ROW_SP(0x20000000, 1, 24)};
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

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
		assert_rules(table, {0x1000f + i * 0x3000, NONE}, {0x10017 + i * 0x3000, SP(16)},
				    {0x10018 + i * 0x3000, NONE});
	}
	rows[0].flags |= EP_CODE_INSTEAD;
	rows[0].ra_place = EP_CODE_LOST;
	table = build_input(&input, NULL, 0);
	for (size_t i = 0; i < input.n_ranges; i++) {
		assert_rules(table, {0x1000f + i * 0x3000, NONE}, {0x10017 + i * 0x3000, EP_RULE_STOP},
				    {0x10018 + i * 0x3000, NONE});
	}
}

/* The program's entry may be code that somebody describes. */
EP_TEST(a_row_at_the_entry_holds)
{
	static const struct ep_code_row rows[] = {ROW_SP(0x2000, 0x100, 16)};
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;

	input.entry_va = 0x2010;
	input.rows = rows;
	input.n_rows = 1;
	table = build_input(&input, NULL, 0);
	assert_rule(table, 0x2010, SP(16));
	input.entry_va = 0x3010;
	table = build_input(&input, NULL, 0);
	assert_rule(table, 0x2010, SP(16));
	assert_rule(table, 0x3010, EP_RULE_STOP);
}

/* ---- code that runs in the frame of a function ---- */

/* GHC 9.0.2's StgRun, and the same as one sub and with a direct jump to after it. */
static const struct bytes stg_run = BYTES(
	"\x48\x83\xec\x30\x48\x89\xe0\x48\x81\xec\x00\x40\x00\x00\x48\x89\x18\x48\x89\x68\x08\x4c\x89\x60\x10"
	"\x4c\x89\x68\x18\x4c\x89\x70\x20\x4c\x89\x78\x28\x49\x89\xf5\x48\x89\xf8\xff\xe0\x48\x89\xd8\xc3\x90\x90\x90");
static const struct bytes plain_run = BYTES(
	"\x48\x81\xec\x48\x20\x00\x00\x48\x89\x9c\x24\x00\x20\x00\x00\x48\x89\xac\x24\x08\x20\x00\x00"
	"\x4c\x89\xa4\x24\x10\x20\x00\x00\x4c\x89\xac\x24\x18\x20\x00\x00\x4c\x89\xb4\x24\x20\x20\x00\x00"
	"\x4c\x89\xbc\x24\x28\x20\x00\x00\x48\x89\xfd\xe9\x00\x10\x00\x00\x90\x90\x90\x90");
static const struct bytes short_run = BYTES(
	"\x48\x81\xec\x48\x20\x00\x00\x48\x89\x18\x48\x89\x28\x4c\x89\x20\x4c\x89\x28\x4c\x89\x30\x4c\x89\x38"
	"\xeb\x30\x90\x90\x90\x90\x90\x90\x90\x90");

EP_TEST(a_function_that_others_run_in_is_told_by_its_code)
{
	static const struct {
		const char *label;
		const struct bytes *code;
		size_t at;
		uint8_t byte;
		size_t want;
	} cases[] = {
		{"StgRun", &stg_run, 0, 0x48, 0x2d}, {"little room", &stg_run, 11, 0x0f, 0},
		{"rbx is not saved", &stg_run, 16, 0x10, 0}, {"r15 is not saved", &stg_run, 35, 0x60, 0},
		{"no jump", &stg_run, 44, 0xd0, 0}, {"a register is no memory", &stg_run, 16, 0xd8, 0},
		{"a plain one", &plain_run, 0, 0x48, 0x3f}, {"a jump within", &plain_run, 60, 0, 0},
		{"a short jump within", &plain_run, 58, 0xeb, 0},
		{"a call", &plain_run, 58, 0xe8, 0}, {"a short jump", &short_run, 0, 0x48, 27},
		{"a short jump backwards", &short_run, 26, 0x80, 27}, {"within", &short_run, 26, 0xf0, 0},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		uint8_t code[128] = {0};

		memcpy(code, cases[i].code->data, cases[i].code->len);
		code[cases[i].at] = cases[i].byte;
		if (ep_outer_match(code, cases[i].code->len) != cases[i].want)
			fail_msg("%s: 0x%zx", cases[i].label, ep_outer_match(code, cases[i].code->len));
		for (size_t n = 0; n < cases[i].want; n++)
			assert_int_equal(ep_outer_match(code, n), 0);
	}
}

/* At 0x2000 and over the edge of a piece that is read: sub $8,%rsp; call; add $8,%rsp. */
static bool read_outer(void *arg, uint64_t va, uint8_t *buf, size_t bytes)
{
	static const uint8_t call[] = {0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x08};
	static const uint64_t at[] = {0x2000, 0x1120 + 0xfffb};

	(void)arg;
	memset(buf, 0x90, bytes);
	for (size_t i = 0; i < EP_LEN(at); i++) {
		for (size_t n = 0; n < sizeof(call); n++) {
			if (at[i] + n - va < bytes)
				buf[at[i] + n - va] = call[n];
		}
	}
	return true;
}

EP_TEST(code_without_rules_runs_in_the_frame_of_a_function)
{
	struct ep_build_input input = asm_input();
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;
	const struct ep_rule *rule;

	add_fde(image, 0x1100, 0x20, BYTES(""));
	add_fde(image, 0x11128, 0x20, BYTES(""));
	input.ranges[0].end = 0x12000;
	input.outer_va = 0x1110;
	input.read_code = read_outer;
	table = build_input(&input, &image, 1);
	assert_int_equal(table->n_rules, 2);
	rule = &table->rules[0];
	assert_int_equal(rule->ra_kind, EP_REG_IS_CODE);
	assert_int_equal(rule->ra_off, 0x1110);
	assert_int_equal(rule->cfa_off, 0);
	assert_int_equal(rule->others, EP_OTHERS_SWITCH);
	assert_int_equal(table->rules[1].cfa_off, 8);
	assert_rules(table, {0x1000, TABLE}, {0x10ff, TABLE}, {0x1100, SP(8)}, {0x1120, TABLE}, {0x2003, TABLE},
			    {0x2004, TABLE + 1}, {0x200c, TABLE + 1}, {0x200d, TABLE}, {0x1111e, TABLE});
	assert_rules(table, {0x1111f, TABLE + 1}, {0x11127, TABLE + 1}, {0x11128, SP(8)}, {0x11148, TABLE});
	assert_int_equal(table->stats.outer_va, 0x1110);
}

/* ---- pages ---- */

EP_TEST(rules_carry_over_pages)
{
	struct bytes insns = BYTES("\x41\x0e\x10\x03\xff\x1f\x0e\x18"); /* +1: 16, +0x2000: 24 */
	struct image *image = new_eh_frame();
	struct ep_unwind_table *table;

	add_fde(image, 0x1800, 0x2800, insns); /* to 0x4000 */
	table = build_image(image);
	assert_int_equal(table->n_pages, 4);
	assert_int_equal(EP_PAGE_COUNT(table->pages[0]), 3);
	assert_int_equal(table->pages[1], EP_PAGE(0, SP(16)));
	assert_int_equal(EP_PAGE_COUNT(table->pages[2]), 2);
	assert_int_equal(table->pages[3], EP_PAGE(0, NONE)); /* a page that begins with its only rule */
	assert_rules(table, {0x17ff, NONE}, {0x1800, SP(8)}, {0x37ff, SP(16)}, {0x3800, SP(24)},
			    {0x3fff, SP(24)}, {0x4000, NONE});
}

EP_TEST(large_text_is_several_segments)
{
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table;
	uint64_t va = 0x40000000;

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
}

EP_TEST(too_much_text_is_refused)
{
	struct ep_build_input input = asm_input();
	struct ep_unwind_table *table = NULL;

	input.ranges[0].end = input.ranges[0].start + ((uint64_t)EP_BUILD_MAX_PAGES << 12) + 1;
	assert_int_equal(ep_build(&input, &table), -E2BIG);
	assert_null(table);
}
