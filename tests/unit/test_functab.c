/* SPDX-License-Identifier: Apache-2.0 */
/* Rules from Go's function tables: by distance, and for the functions of the runtime that leave their stack. */
#include "core/elf/file.h"
#include "core/pclntab/pclntab.h"
#include "core/unwind/table.h"
#include "pclntab_file.h"
#include "tests/kit/test.h"
#include "unwind_asm.h"

#define OUTER (MADE_TEXT_VA + 64) /* main.outer, which tests make another function of */
#define NONE  EP_RULE_NONE
#define SP(off)	      (EP_RULE_IMM(0, 0, off) & ~EP_RULE_KEEPS)
#define SAVED(off)    (EP_RULE_IMM(0, 2, off) & ~EP_RULE_KEEPS)
#define BY_FRAME(off) (EP_RULE_IMM(1, 2, off) & ~EP_RULE_KEEPS)

#define FLAG_TOP	1
#define FLAG_SP_WRITE	2
#define FLAG_ASM	4

EP_TEST_RELEASES(ep_unwind_table_free)

static struct ep_unwind_table *build(const struct made *made)
{
	struct ep_unwind_table *table = NULL;
	struct ep_elf *elf = NULL;

	assert_int_equal(ep_elf_open_memory(made->bytes, sizeof(made->bytes), &elf), 0);
	assert_int_equal(ep_unwind_table_build(elf, NULL, &table), 0);
	ep_elf_close(elf);
	ep_test_owns(table, ep_unwind_table_free_made);
	return table;
}

static const struct ep_rule *table_rule(const struct ep_unwind_table *table, uint64_t va)
{
	uint32_t rule = ep_unwind_table_find(table, va);

	assert_false(rule & EP_RULE_IMMEDIATE);
	assert_true(rule >= EP_RULE_FIRST_TABLE);
	return &table->rules[rule - EP_RULE_FIRST_TABLE];
}

static void assert_table_rule(const struct ep_unwind_table *table, uint64_t va, uint8_t reg, int32_t off,
			      bool saved, uint8_t others)
{
	const struct ep_rule *rule = table_rule(table, va);

	assert_int_equal(rule->cfa_kind, EP_CFA_REG);
	assert_int_equal(rule->cfa_reg, reg);
	assert_int_equal(rule->cfa_off, off);
	assert_int_equal(rule->ra_kind, EP_REG_AT_CFA);
	assert_int_equal(rule->ra_off, -8);
	assert_int_equal(rule->fp_kind, saved ? EP_REG_AT_CFA : EP_REG_SAME);
	assert_int_equal(rule->fp_off, saved ? -16 : 0);
	assert_int_equal(rule->others, others);
}

/* The function before main.outer is asyncPreempt. */
static void assert_before(const struct ep_unwind_table *table, uint64_t va)
{
	assert_table_rule(table, va, 7, 8, false, EP_OTHERS_INTERRUPTED);
}

EP_TEST(every_layout_gives_rules)
{
	struct made made;

	for (size_t i = 0; i < EP_LEN(made_versions); i++) {
		struct ep_unwind_table *table;

		made_file(&made, &made_versions[i]);
		table = build(&made);
		assert_int_equal(table->stats.sources, EP_UNWIND_PCLNTAB);
		assert_int_equal(table->stats.functions, MADE_FUNCS);
		assert_int_equal(table->stats.bad_functions, 0);
		assert_rule(table, MADE_TEXT_VA, EP_RULE_STOP); /* goexit */
		assert_rules(table, {MADE_TEXT_VA + 15, EP_RULE_STOP}, {MADE_TEXT_VA + 16, SP(8)},
				    {OUTER, SP(8)}, {OUTER + 1, SAVED(16)}, {OUTER + 3, SAVED(16)},
				    {OUTER + 4, SAVED(48)}, {OUTER + 89, SAVED(48)},
				    {OUTER + 90, SAVED(16)}, {OUTER + 91, SP(8)});
		assert_rule(table, OUTER + 95, SP(8)); /* padding */
		assert_rule(table, MADE_TEXT_VA + 207, SP(8));
		assert_rule(table, MADE_TEXT_VA + 208, NONE);
		assert_int_equal(table->stats.covered_bytes, 208);
	}
}

/* ---- functions of the runtime ---- */

struct function {
	const char *name;
	uint8_t flags;
	const struct made_pair *pcsp;
	const char *code;
	size_t code_bytes;
};
#define CODE(text) .code = text, .code_bytes = sizeof(text) - 1

/* Makes main.outer the function, in a table of Go 1.26, and builds the rules. */
static struct ep_unwind_table *build_function(const struct function *function)
{
	struct made made;
	uint32_t values;

	made_file(&made, version_of("1.26"));
	made.at = 0xc00;
	made_put(&made, made.funcs[MADE_OUTER] + 4, made_text(&made, function->name) - made.names, 4);
	values = made_values(&made, function->pcsp, 0);
	made_put(&made, made.funcs[MADE_OUTER] + 16, values, 4);
	made_put(&made, made.funcs[MADE_OUTER] + 41, function->flags, 1);
	memcpy(made.bytes + MADE_TEXT_OFF + 64, function->code, function->code_bytes);
	return build(&made);
}

/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; mov %rsp,%r12; mov 0x38(%rdx),%rsp; and $-16,%rsp; call *%rax;
 * mov %r12,%rsp; add $16,%rsp; pop %rbp; ret; syscall; jmp */
#define SWITCHING "\x55\x48\x89\xe5\x48\x83\xec\x10\x49\x89\xe4\x48\x8b\x62\x38\x48\x83\xe4\xf0\xff\xd0" \
		  "\x4c\x89\xe4\x48\x83\xc4\x10\x5d\xc3\x0f\x05\xeb\xf3"
static const struct made_pair switching[] = { { 1, 0 }, { 7, 8 }, { 20, 24 }, { 1, 8 }, { 1, 0 }, { 4, 24 }, { 0, 0 } };

EP_TEST(another_stack_is_left_by_the_frame)
{
	static const char *const names[] = { "runtime.nanotime1", "time.now", "runtime.systemstack",
					     "runtime.asmcgocall", "runtime.cgocallback" };

	for (size_t i = 0; i < EP_LEN(names); i++) {
		struct ep_unwind_table *table = build_function(&(struct function){
			.name = names[i], .flags = FLAG_ASM | FLAG_SP_WRITE, .pcsp = switching, CODE(SWITCHING) });

		assert_rules(table, {OUTER, SP(8)}, {OUTER + 1, SAVED(16)}, {OUTER + 7, SAVED(16)});
		assert_table_rule(table, OUTER + 8, 6, 16, true, EP_OTHERS_SWITCH);
		assert_table_rule(table, OUTER + 20, 6, 16, true, EP_OTHERS_SWITCH);
		assert_rule(table, OUTER + 28, SAVED(16));
		assert_rule(table, OUTER + 29, SP(8));
		assert_table_rule(table, OUTER + 30, 6, 16, true, EP_OTHERS_SWITCH); /* after the return */
	}
}

EP_TEST(an_aligned_stack_is_left_by_the_frame)
{
	struct ep_unwind_table *table = build_function(&(struct function){
		.name = "runtime.sigfwd", .flags = FLAG_ASM | FLAG_SP_WRITE, .pcsp = switching, CODE(SWITCHING) });

	assert_rules(table, {OUTER + 7, SAVED(16)}, {OUTER + 8, BY_FRAME(16)},
			    {OUTER + 28, SAVED(16)});
}

/* Go 1.15's: sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp; mov %rsp,%rbp; then as above */
EP_TEST(the_frame_may_be_anywhere_in_it)
{
	static const struct made_pair pcsp[] = { { 4, 0 }, { 60, 24 }, { 0, 0 } };
	struct ep_unwind_table *table = build_function(&(struct function){
		.name = "runtime.nanotime1", .flags = FLAG_ASM | FLAG_SP_WRITE, .pcsp = pcsp,
		CODE("\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\x48\x89\xe5\x48\x8b\x62\x38\x48\x83\xe4\xf0\xff\xd0"
		     "\x48\x89\xec") });

	assert_rules(table, {OUTER, SP(8)}, {OUTER + 4, SAVED(32)}, {OUTER + 16, SAVED(32)});
	assert_table_rule(table, OUTER + 17, 6, 32, true, EP_OTHERS_SWITCH);
	table = build_function(&(struct function){
		.name = "runtime.nanotime1", .flags = FLAG_ASM | FLAG_SP_WRITE, .pcsp = pcsp,
		CODE("\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\x48\x8b\x62\x38\x48\x89\xec") });
	assert_table_rule(table, OUTER + 14, 6, 16, true, EP_OTHERS_SWITCH);
}

/* push %rax; mov %rsp,8(%rdi); mov 0x38(%rdx),%rsp; call *%rax; mov 0x38(%rax),%rsp; ret */
#define FRAMELESS "\x50\x48\x89\x67\x08\x48\x8b\x62\x38\xff\xd0\x48\x8b\x60\x38\xc3"
static const struct made_pair frameless[] = { { 1, 0 }, { 15, 8 }, { 0, 0 } };

EP_TEST(without_a_frame_the_stack_ends_honestly)
{
	static const struct {
		const char *name;
		uint32_t between, behind;
	} cases[] = {
		{ "runtime.systemstack", EP_RULE_UNSUPPORTED, SP(16) }, /* up to Go 1.20 */
		{ "runtime.asmcgocall", EP_RULE_UNSUPPORTED, SP(16) },
		{ "runtime.morestack", EP_RULE_UNSUPPORTED, SP(16) },
		{ "runtime.cgocallback", EP_RULE_UNSUPPORTED, SP(16) },
		{ "runtime.callCgoMmap", NONE, SP(16) },
		{ "example.com/x.asm", NONE, SP(16) },
		{ "runtime.mcall", EP_RULE_STOP, EP_RULE_STOP },
		{ "gogo", EP_RULE_STOP, EP_RULE_STOP },
		{ "runtime.clone", EP_RULE_STOP, EP_RULE_STOP },
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_unwind_table *table = build_function(&(struct function){
			.name = cases[i].name, .flags = FLAG_ASM | FLAG_SP_WRITE, .pcsp = frameless, CODE(FRAMELESS) });

		assert_rule(table, OUTER, SP(8));
		assert_rule(table, OUTER + 8, SP(16)); /* rbp is not saved: it is the caller's */
		assert_rules(table, {OUTER + 9, cases[i].between}, {OUTER + 14, cases[i].between},
				    {OUTER + 15, cases[i].behind}, {OUTER + 95, cases[i].behind},
				    {OUTER + 96, SP(8)});
	}
}

/* Go's racecall: push %rax; mov %rsp,%r12; mov (%r10),%rsp; and $-16,%rsp; call *%rax; mov %r12,%rsp; ret */
EP_TEST(a_stack_kept_in_a_register_is_found)
{
	static const struct made_pair pcsp[] = { { 1, 0 }, { 16, 8 }, { 0, 0 } };
	struct function function = { .name = "racecall", .flags = FLAG_ASM | FLAG_SP_WRITE, .pcsp = pcsp,
				     CODE("\x50\x49\x89\xe4\x49\x8b\x22\x48\x83\xe4\xf0\xff\xd0\x4c\x89\xe4\xc3") };
	struct ep_unwind_table *table = build_function(&function);

	assert_rule(table, OUTER + 6, SP(16));
	assert_table_rule(table, OUTER + 7, 12, 16, false, EP_OTHERS_SWITCH);
	assert_table_rule(table, OUTER + 15, 12, 16, false, EP_OTHERS_SWITCH);
	assert_rule(table, OUTER + 16, SP(16));
	/* It takes another one back: mov %r13,%rsp */
	function.code = "\x50\x49\x89\xe4\x49\x8b\x22\x48\x83\xe4\xf0\xff\xd0\x4c\x89\xec\xc3";
	table = build_function(&function);
	assert_rule(table, OUTER + 7, NONE);
}

EP_TEST(what_never_returns_is_unknown_to_its_end)
{
	struct ep_unwind_table *table = build_function(&(struct function){
		.name = "runtime.morestack", .flags = FLAG_ASM | FLAG_SP_WRITE, .pcsp = frameless,
		CODE("\x50\x48\x8b\x63\x38\xff\xd0") });

	assert_rules(table, {OUTER + 4, SP(16)}, {OUTER + 5, EP_RULE_UNSUPPORTED},
			    {OUTER + 95, EP_RULE_UNSUPPORTED});
}

EP_TEST(roots_stop_but_the_signal_handler)
{
	static const char *const roots[] = { "runtime.mstart", "runtime.rt0_go", "_rt0_amd64_linux", "x.y" };
	struct ep_unwind_table *table;

	for (size_t i = 0; i < EP_LEN(roots); i++) {
		table = build_function(&(struct function){
			.name = roots[i], .flags = FLAG_ASM | FLAG_TOP, .pcsp = frameless, CODE(FRAMELESS) });
		assert_before(table, OUTER - 1);
		assert_rule(table, OUTER, EP_RULE_STOP);
		assert_rule(table, OUTER + 95, EP_RULE_STOP);
	}
	table = build_function(&(struct function){
		.name = "runtime.sigtramp", .flags = FLAG_ASM | FLAG_TOP, .pcsp = frameless, CODE(FRAMELESS) });
	assert_rule(table, OUTER + 1, SP(16));
}

EP_TEST(a_handler_returns_to_the_trampoline)
{
	static const char *const names[] = { "runtime.sigreturn", "runtime.sigreturn__sigaction" };

	for (size_t i = 0; i < EP_LEN(names); i++) {
		struct ep_unwind_table *table = build_function(&(struct function){
			.name = names[i], .flags = FLAG_ASM, .pcsp = made_flat, CODE("\xb8\x0f\0\0\0\x0f\x05") });

		assert_before(table, OUTER - 2);
		assert_rule(table, OUTER - 1, EP_RULE_SIGNAL);
		assert_rule(table, OUTER, EP_RULE_SIGNAL);
	}
}

EP_TEST(interrupted_callers_are_told)
{
	static const char *const names[] = { "runtime.asyncPreempt", "runtime.sigpanic", "runtime.debugCallV2" };

	for (size_t i = 0; i < EP_LEN(names); i++) {
		struct ep_unwind_table *table = build_function(&(struct function){
			.name = names[i], .flags = i == 1 ? 0 : FLAG_ASM, .pcsp = switching, CODE(SWITCHING) });

		assert_table_rule(table, OUTER, 7, 8, false, EP_OTHERS_INTERRUPTED);
		assert_table_rule(table, OUTER + 8, 7, 32, true, EP_OTHERS_INTERRUPTED);
	}
}

/* pop %r12; syscall; push %r12; ret */
EP_TEST(a_popped_return_address_is_followed)
{
	static const struct made_pair pcsp[] = { { 2, 0 }, { 2, -8 }, { 3, 0 }, { 0, 0 } };
	struct function function = { .name = "syscall.rawVforkSyscall", .flags = FLAG_ASM, .pcsp = pcsp,
				     CODE("\x41\x5c\x0f\x05\x41\x54\xc3") };
	struct ep_unwind_table *table = build_function(&function);
	const struct ep_rule *rule = table_rule(table, OUTER + 2);

	assert_int_equal(rule->cfa_reg, 7);
	assert_int_equal(rule->cfa_off, 0);
	assert_int_equal(rule->ra_kind, EP_REG_IN_REG);
	assert_int_equal(rule->ra_reg, 12);
	assert_rule(table, OUTER + 4, SP(8));
	function.code = "\x5b\x90\x0f\x05\x53\x90\xc3";
	table = build_function(&function);
	assert_rule(table, OUTER + 2, EP_RULE_UNSUPPORTED);
}

EP_TEST(large_frames_are_in_the_table)
{
	static const struct made_pair pcsp[] = { { 1, 0 }, { 3, 32752 }, { 3, 32760 }, { 3, 1 << 30 }, { 0, 0 } };
	struct ep_unwind_table *table = build_function(&(struct function){
		.name = "main.large", .pcsp = pcsp, CODE("\x90") });

	assert_rule(table, OUTER + 1, SAVED(32760));
	assert_table_rule(table, OUTER + 4, 7, 32768, true, 0);
	assert_table_rule(table, OUTER + 7, 7, (1 << 30) + 8, true, 0);
}

/* ---- what is wrong, and who rules ---- */

EP_TEST(bad_functions_have_no_rule)
{
	static const struct made_pair bad[][4] = {
		{ { 1, 0 }, { 3, 8 }, { 3, 12 }, { 0, 0 } },
		{ { 1, 0 }, { 3, -16 }, { 0, 0 } },
		{ { 1, 0 }, { 3, INT32_MAX }, { 0, 0 } },
		{ { 1, 0 }, { 96, 8 }, { 0, 0 } }, /* beyond its end */
	};

	for (size_t i = 0; i < EP_LEN(bad); i++) {
		struct ep_unwind_table *table = build_function(&(struct function){
			.name = "main.bad", .pcsp = bad[i], CODE("\x90") });

		assert_int_equal(table->stats.bad_functions, 1);
		assert_int_equal(table->stats.functions, MADE_FUNCS - 1);
		for (uint64_t va = OUTER; va < OUTER + 96; va++)
			assert_rule(table, va, NONE);
		assert_before(table, OUTER - 1);
		assert_rule(table, OUTER + 96, SP(8));
	}
}

/* .eh_frame says of the middle of a function, and of code beside, something else. */
EP_TEST(eh_frame_goes_first_and_described_rows_last)
{
	struct ep_fde_list *list = calloc(1, sizeof(*list));
	struct image *image = calloc(1, sizeof(*image));
	const struct ep_code_row rows[] = {
		{ .va = OUTER + 50, .bytes = 10, .ra_place = EP_CODE_LOST, .cfa_reg = 7, .cfa_off = 8 },
		{ .va = MADE_TEXT_VA + 300, .bytes = 10, .ra_place = EP_CODE_LOST, .cfa_reg = 7, .cfa_off = 8 },
	};
	struct ep_build_input input = { .machine = &ep_machine_x86_64, .n_ranges = 1, .n_lists = 1,
					.rows = rows, .n_rows = EP_LEN(rows) };
	struct bytes none = { .len = 0 }, deep = BYTES("\x0e\x40");
	struct ep_unwind_table *table = NULL;
	struct ep_pclntab *tab = NULL;
	struct ep_cfi_section section;
	struct ep_elf *elf = NULL;
	struct made made;
	size_t cie_at;

	assert_true(list && image);
	made_file(&made, &made_versions[EP_LEN(made_versions) - 1]);
	assert_int_equal(ep_elf_open_memory(made.bytes, sizeof(made.bytes), &elf), 0);
	assert_int_equal(ep_pclntab_open(elf, 0, &tab), 0);
	image->eh = true;
	cie_at = asm_cie(image, &(struct cie)CIE_GCC);
	asm_fde(image, cie_at, OUTER + 20, 10, &deep);
	asm_fde(image, cie_at, MADE_TEXT_VA + 400, 10, &none);
	section = asm_section(image);
	assert_int_equal(ep_fde_list_init_scan(list, &section), 0);
	input.lists[0] = list;
	input.tab = tab;
	input.ranges[0] = (struct ep_pack_range){ .start = MADE_TEXT_VA, .end = MADE_TEXT_VA + 0x1000 };
	assert_int_equal(ep_build(&input, &table), 0);
	assert_rules(table, {OUTER + 19, SAVED(48)}, {OUTER + 20, EP_RULE_IMM(0, 0, 0x40)},
			    {OUTER + 29, EP_RULE_IMM(0, 0, 0x40)}, {OUTER + 30, SAVED(48)},
			    {OUTER + 50, SAVED(48)}, {MADE_TEXT_VA + 207, SP(8)},
			    {MADE_TEXT_VA + 208, NONE}, {MADE_TEXT_VA + 300, EP_RULE_STOP},
			    {MADE_TEXT_VA + 310, NONE}, {MADE_TEXT_VA + 400, EP_RULE_IMM(0, 0, 8)});
	ep_unwind_table_free(table);
	ep_fde_list_fini(list);
	ep_pclntab_close(tab);
	ep_elf_close(elf);
	free(image);
	free(list);
}
