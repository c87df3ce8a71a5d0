/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of Go's function tables, over files made here in each layout there has been. */
#include "core/elf/file.h"
#include "core/pclntab/pclntab.h"
#include "pclntab_file.h"
#include "tests/kit/test.h"

#define CACHE ((size_t)64 << 10)

EP_TEST_RELEASES(ep_elf_close)
EP_TEST_RELEASES(ep_pclntab_close)

/* The table of a file that a test has changed, or NULL with this error; the test owns it. */
static struct ep_pclntab *open_as(const struct made *made, int error)
{
	struct ep_pclntab *tab = NULL;
	struct ep_elf *elf = NULL;

	assert_int_equal(ep_elf_open_memory(made->bytes, sizeof(made->bytes), &elf), 0);
	ep_test_owns(elf, ep_elf_close_made);
	assert_int_equal(ep_pclntab_open(elf, CACHE, &tab), error);
	ep_test_owns(tab, ep_pclntab_close_made);
	return tab;
}

static struct ep_pclntab *open_made(const struct made *made)
{
	return open_as(made, 0);
}

static void is_refused(const struct made *made, int error)
{
	assert_null(open_as(made, error));
}

static struct ep_pclntab_func get_func(struct ep_pclntab *tab, uint32_t index)
{
	struct ep_pclntab_func func;

	assert_int_equal(ep_pclntab_next(tab, &index, &func), 0);
	return func;
}

static void assert_name(struct ep_pclntab *tab, uint32_t name, const char *expected)
{
	char buf[64];

	assert_int_equal(ep_pclntab_name(tab, name, buf, sizeof(buf)), 0);
	assert_string_equal(buf, expected);
}

/* ---- what each layout says ---- */

static void check_functions(const struct made_version *version, struct ep_pclntab *tab)
{
	struct ep_pclntab_func func;
	uint64_t start, end;
	uint32_t cursor = 0;

	ep_pclntab_text(tab, &start, &end);
	assert_int_equal(start, MADE_TEXT_VA);
	assert_int_equal(end, MADE_TEXT_VA + made_starts[MADE_FUNCS]);
	assert_int_equal(ep_pclntab_count(tab), MADE_FUNCS);
	for (uint32_t i = 0; i < MADE_FUNCS; i++) {
		assert_int_equal(ep_pclntab_next(tab, &cursor, &func), 0);
		assert_int_equal(func.index, i);
		assert_int_equal(func.start, MADE_TEXT_VA + made_starts[i]);
		assert_int_equal(func.end, MADE_TEXT_VA + made_starts[i + 1]);
		assert_int_equal(func.start_line, version->start_lines ? i + 1 : 0);
		assert_name(tab, func.name, i == 2 && !version->preempts ? "runtime.panicwrap" : made_names[i]);
	}
	assert_int_equal(ep_pclntab_next(tab, &cursor, &func), 1);
}

static void check_roles(const struct made_version *version, struct ep_pclntab *tab)
{
	struct ep_pclntab_func func = get_func(tab, 0);

	assert_int_equal(func.role, EP_PCLNTAB_ROOT);
	assert_true(func.flags & EP_PCLNTAB_TOP);
	assert_int_equal(!!(func.flags & EP_PCLNTAB_ASM),
			 version->magic == 0xfffffff0 || version->magic == 0xfffffff1);
	func = get_func(tab, 2);
	assert_int_equal(func.role, version->preempts ? EP_PCLNTAB_ASYNC_PREEMPT : EP_PCLNTAB_PANICWRAP);
	func = get_func(tab, MADE_WRAPPER);
	assert_int_equal(func.role, version->id_switch ? EP_PCLNTAB_WRAPPER : EP_PCLNTAB_ORDINARY);
	func = get_func(tab, MADE_OUTER);
	assert_int_equal(func.role, EP_PCLNTAB_ORDINARY);
	assert_int_equal(func.flags, 0);
}

static void check_values(struct ep_pclntab *tab, const struct ep_pclntab_func *func, uint32_t table,
			 const struct made_pair *pairs)
{
	struct ep_pclntab_values values;
	uint64_t va = func->start, end;
	int32_t value;

	assert_int_equal(ep_pclntab_values_begin(tab, func, table, &values), 0);
	for (; pairs->bytes; pairs++) {
		assert_int_equal(ep_pclntab_values_next(&values, &end, &value), 0);
		assert_int_equal(end, va + pairs->bytes);
		assert_int_equal(value, pairs->value);
		for (; va < end; va++) {
			assert_int_equal(ep_pclntab_value_at(tab, func, table, va, &value), 0);
			assert_int_equal(value, pairs->value);
		}
	}
	assert_int_equal(ep_pclntab_values_next(&values, &end, &value), 1);
	assert_int_equal(ep_pclntab_value_at(tab, func, table, va, &value), -ENODATA);
	assert_int_equal(ep_pclntab_value_at(tab, func, table, func->start - 1, &value), -ENODATA);
}

static void check_files(struct ep_pclntab *tab, const struct ep_pclntab_func *func)
{
	static const char *const names[] = { "/src/main.go", "/src/lib.go" };
	int32_t number;
	char buf[64];

	for (uint32_t at = 0; at < 92; at++) {
		assert_int_equal(ep_pclntab_value_at(tab, func, func->pcfile, func->start + at, &number), 0);
		assert_int_equal(ep_pclntab_file(tab, func, number, buf, sizeof(buf)), 0);
		assert_string_equal(buf, names[at >= 20 && at < 60]);
	}
	assert_int_equal(ep_pclntab_file(tab, func, -1, buf, sizeof(buf)), -ENODATA);
}

static void check_inlined(const struct made_version *version, struct ep_pclntab *tab,
			  const struct ep_pclntab_func *func)
{
	struct ep_pclntab_call call;

	if (!version->preempts) { /* before 1.13 the numbers of the tables were others */
		assert_int_equal(func->inline_tree, 0);
		return;
	}
	check_values(tab, func, func->inline_index, made_calls);
	assert_int_equal(ep_pclntab_inlined(tab, func, 0, &call), 0);
	assert_name(tab, call.name, "main.inner");
	assert_int_equal(call.parent_va, func->start + 15);
	assert_int_equal(call.start_line, version->start_lines ? 30 : 0);
	assert_int_equal(call.role, EP_PCLNTAB_ORDINARY);
	assert_int_equal(ep_pclntab_inlined(tab, func, 1, &call), 0);
	assert_name(tab, call.name, "main.innermost");
	assert_int_equal(call.parent_va, func->start + 25);
	assert_int_equal(ep_pclntab_inlined(tab, func, -1, &call), -ENODATA);
}

static void check_find(struct ep_pclntab *tab)
{
	struct ep_pclntab_func func;
	uint32_t i = 0;

	for (uint32_t at = 0; at < made_starts[MADE_FUNCS]; at++) {
		i += at >= made_starts[i + 1];
		assert_int_equal(ep_pclntab_find(tab, MADE_TEXT_VA + at, &func), 0);
		assert_int_equal(func.index, i);
	}
	assert_int_equal(ep_pclntab_find(tab, MADE_TEXT_VA - 1, &func), -ENODATA);
	assert_int_equal(ep_pclntab_find(tab, MADE_TEXT_VA + 208, &func), -ENODATA);
}

static void check_named(const struct made_version *version, struct ep_pclntab *tab)
{
	struct ep_pclntab_func func;

	for (uint32_t i = 0; i < MADE_FUNCS; i++) {
		bool is_wrapper = i == MADE_WRAPPER && version->id_wrapper;
		const char *name = i == 2 && !version->preempts ? "runtime.panicwrap" : made_names[i];

		assert_int_equal(ep_pclntab_find_named(tab, name, &func), is_wrapper ? -ENODATA : 0);
		if (!is_wrapper)
			assert_int_equal(func.index, i);
	}
	assert_int_equal(ep_pclntab_find_named(tab, "main.oute", &func), -ENODATA);
	assert_int_equal(ep_pclntab_find_named(tab, "ain.outer", &func), -ENODATA);
	assert_int_equal(ep_pclntab_find_named(tab, "", &func), -ENODATA);
}

static void check_version(const struct made_version *version, const struct made *made)
{
	struct ep_pclntab *tab = open_made(made);
	struct ep_pclntab_func func;

	check_functions(version, tab);
	check_roles(version, tab);
	func = get_func(tab, MADE_OUTER);
	check_values(tab, &func, func.pcsp, made_pcsp);
	check_values(tab, &func, func.pcln, made_lines);
	check_files(tab, &func);
	check_inlined(version, tab, &func);
	check_find(tab);
	check_named(version, tab);
}

#define VERSION_TEST(name) EP_TEST_EACH(name, size_t, i, EP_LEN(made_versions))

VERSION_TEST(every_layout_is_read)
{
	const struct made_version *version = &made_versions[i];
	struct made made;

	print_message("layout of Go %s\n", version->name);
	made_file(&made, version);
	check_version(version, &made);
}

/* ---- where it is ---- */

static Elf64_Shdr *section(struct made *made, size_t i)
{
	return (Elf64_Shdr *)(made->bytes + 0x200) + i;
}

VERSION_TEST(a_table_without_section_is_found)
{
	const struct made_version *version = &made_versions[i];
	struct made made;

	made_file(&made, version);
	section(&made, 2)->sh_name = 0;
	section(&made, 3)->sh_name = 0;
	check_version(version, &made);
	/* Words that look like a header before it. */
	memcpy(made_data(&made, 0x1f00), "\xf1\xff\xff\xff\0\0\1\x08", 8);
	memcpy(made.bytes + MADE_TEXT_OFF + 0x800, "\xfb\xff\xff\xff\0\0\1\x08", 8);
	check_version(version, &made);
	section(&made, 4)->sh_name = 0; /* nothing says that Go made it */
	is_refused(&made, -ENODATA);
}

EP_TEST(text_start_is_taken_from_module_data)
{
	struct made made;

	made_file(&made, version_of("1.20"));
	made_put(&made, 24, 0, 8);
	check_version(made.version, &made);
	/* A header that is wrong is not trusted: goexit is not there. */
	made_put(&made, 24, MADE_TEXT_VA + 16, 8);
	check_version(made.version, &made);
	made_put(&made, MADE_MODULE + 22 * 8, MADE_TEXT_VA + 32, 8);
	is_refused(&made, -EBADMSG);
}

EP_TEST(without_module_data_nothing_is_inlined)
{
	struct made made;

	made_file(&made, version_of("1.20"));
	made_put(&made, MADE_MODULE, 0, 8);
	assert_int_equal(get_func(open_made(&made), MADE_OUTER).inline_tree, 0);
	made_file(&made, version_of("1.26"));
	made_put(&made, MADE_MODULE, 0, 8);
	is_refused(&made, -EBADMSG);
}

/* The inline tree's number is the third of a function's values. */
EP_TEST(a_function_with_two_values_has_nothing_inlined)
{
	struct made made;

	made_file(&made, version_of("1.26"));
	made_put(&made, made.funcs[MADE_OUTER] + 28, 2, 4);
	made_put(&made, made.funcs[MADE_OUTER] + 44 + 4 * 5, 0, 4); /* where a tree's offset would be */
	assert_int_equal(get_func(open_made(&made), MADE_OUTER).inline_tree, 0);
}

/* What ld leaves to the dynamic linker: words that are zero in the file, and relocations. */
EP_TEST(relocations_are_read)
{
	struct made made;
	Elf64_Rela *relocs;
	size_t n = 0;

	made_file(&made, version_of("1.20"));
	made_put(&made, 24, 0, 8);
	relocs = (Elf64_Rela *)(made.bytes + 0x600);
	for (size_t word = 0; word < 45; word++)
		made_reloc(&made, MADE_MODULE + 8 * word, relocs, &n);
	made_rela_section(&made, n);
	check_version(made.version, &made);
}

/* Tables of Go before 1.18 have addresses in functab, functions and what these point at. */
EP_TEST(addresses_of_functions_are_relocated)
{
	static const char *const names[] = { "1.2", "1.12", "1.15", "1.16", "1.17" };
	struct made made;

	for (size_t i = 0; i < EP_LEN(names); i++) {
		made_file(&made, version_of(names[i]));
		made_relocate(&made);
		check_version(made.version, &made);
		section(&made, 3)->sh_size -= 2 * sizeof(Elf64_Rela); /* one function's entry is not there */
		(void)open_made(&made);
		section(&made, 3)->sh_name = 0;
		is_refused(&made, -EBADMSG);
	}
}

/* ---- what is refused ---- */

EP_TEST(headers_are_checked)
{
	static const struct {
		size_t off;
		uint64_t value;
		size_t bytes;
	} wrong[] = {
		{ 0, 0xfffffff2, 4 },	/* a magic of nobody's */
		{ 4, 1, 1 },
		{ 6, 4, 1 },		/* instructions of four bytes */
		{ 7, 4, 1 },		/* pointers of four bytes */
		{ 8, 0, 8 },		/* no function */
		{ 8, 1 << 24, 8 },
		{ 8, 0x300, 8 },	/* the functab is after the end */
		{ 32, 8, 8 },		/* names in the header */
		{ 40, 0xfff0, 8 },
		{ 48, 0, 8 },
		{ 64, 0x1000, 8 },
		{ 64, UINT64_MAX, 8 },
	};
	struct made made;

	for (size_t i = 0; i < EP_LEN(wrong); i++) {
		made_file(&made, version_of("1.26"));
		(void)open_made(&made);
		made_put(&made, wrong[i].off, wrong[i].value, wrong[i].bytes);
		is_refused(&made, -EBADMSG);
	}
	made_file(&made, version_of("1.26"));
	section(&made, 2)->sh_size = 40;
	is_refused(&made, -EBADMSG);
	made_file(&made, version_of("1.26"));
	((Elf64_Ehdr *)made.bytes)->e_machine = EM_AARCH64;
	is_refused(&made, -ENOTSUP);
}

VERSION_TEST(entries_must_ascend)
{
	const struct made_version *version = &made_versions[i];
	struct made made;
	size_t word;

	made_file(&made, version);
	word = version->magic >= 0xfffffffa ? 8 : 4;
	made_put(&made, made.functab + 8 * word, made_starts[2], word);
	is_refused(&made, -EBADMSG);
}

/* What obfuscators do: all functions say another entry than the functab. */
VERSION_TEST(garbled_tables_are_refused)
{
	const struct made_version *version = &made_versions[i];
	struct made made;

	made_file(&made, version);
	for (size_t k = 0; k < MADE_FUNCS; k++)
		*made_data(&made, made.funcs[k] + 1) ^= 0x55;
	is_refused(&made, -EBADMSG);
}

VERSION_TEST(text_must_be_code)
{
	const struct made_version *version = &made_versions[i];
	struct made made;
	Elf64_Phdr *text;

	made_file(&made, version);
	text = (Elf64_Phdr *)(made.bytes + sizeof(Elf64_Ehdr));
	text->p_filesz = text->p_memsz = 200;
	is_refused(&made, -EBADMSG);
}

/* ---- a bad function costs itself ---- */

static void check_others(struct ep_pclntab *tab, uint32_t bad)
{
	struct ep_pclntab_func func;
	uint32_t cursor = 0;

	for (uint32_t i = 0; i < MADE_FUNCS; i++) {
		assert_int_equal(ep_pclntab_next(tab, &cursor, &func), i == bad ? -EBADMSG : 0);
		assert_int_equal(func.start, MADE_TEXT_VA + made_starts[i]);
		assert_int_equal(func.end, MADE_TEXT_VA + made_starts[i + 1]);
	}
	assert_int_equal(ep_pclntab_find(tab, MADE_TEXT_VA + made_starts[bad], &func), -EBADMSG);
	assert_int_equal(ep_pclntab_find(tab, MADE_TEXT_VA + made_starts[bad + 1], &func), 0);
}

EP_TEST(bad_functions_cost_themselves)
{
	struct made made;

	for (size_t i = 0; i < EP_LEN(made_versions); i++) {
		size_t word = made_versions[i].magic >= 0xfffffffa ? 8 : 4;
		const struct {
			size_t off;
			uint64_t value;
		} wrong[] = {
			{ 0, 1 },	      /* another entry */
			{ 0, 0xffffffff },
			{ word, 0xfffffff0 }, /* a name after the table */
		};

		for (size_t k = 0; k < EP_LEN(wrong); k++) {
			made_file(&made, &made_versions[i]);
			made_put(&made, made.funcs[MADE_OUTER] + wrong[k].off, wrong[k].value, 4);
			check_others(open_made(&made), MADE_OUTER);
		}
		made_file(&made, &made_versions[i]);
		made_put(&made, made.functab + (2 * MADE_OUTER + 1) * word, UINT64_MAX, word);
		check_others(open_made(&made), MADE_OUTER);
	}
}

static void check_bad_values(const char *bytes, size_t n, int good)
{
	struct ep_pclntab_values values;
	struct ep_pclntab_func func;
	struct ep_pclntab *tab;
	struct made made;
	uint64_t end;
	int32_t value;

	made_file(&made, version_of("1.20"));
	memcpy(made_data(&made, made.values + made.pcsp), bytes, n);
	tab = open_made(&made);
	func = get_func(tab, MADE_OUTER);
	assert_int_equal(ep_pclntab_values_begin(tab, &func, func.pcsp, &values), 0);
	for (int i = 0; i < good; i++)
		assert_int_equal(ep_pclntab_values_next(&values, &end, &value), 0);
	assert_int_equal(ep_pclntab_values_next(&values, &end, &value), -EBADMSG);
}

EP_TEST(values_are_checked)
{
	struct ep_pclntab_values values;
	struct ep_pclntab_func func;
	struct ep_pclntab *tab;
	struct made made;
	uint64_t end;
	int32_t value;

	check_bad_values("\2\1\x10\0", 4, 1);	       /* no step forward */
	check_bad_values("\2\x61", 2, 0);	       /* after the function's end */
	check_bad_values("\2\x50\x10\x11", 4, 1);
	check_bad_values("\x80\x80\x80\x80\x80\1\1", 7, 0); /* six bytes */
	check_bad_values("\2\xff\xff\xff\xff\x7f", 6, 0);
	made_file(&made, version_of("1.20"));
	/* The first pair alone may be without change and without bytes. */
	memcpy(made_data(&made, made.values + made.pcsp), "\0\1\0", 3);
	made_put(&made, made.funcs[1] + 16, 0, 4);
	made_put(&made, made.funcs[2] + 16, 0xffff, 4);
	tab = open_made(&made);
	func = get_func(tab, MADE_OUTER);
	assert_int_equal(ep_pclntab_values_begin(tab, &func, func.pcsp, &values), 0);
	assert_int_equal(ep_pclntab_values_next(&values, &end, &value), 0);
	assert_int_equal(value, -1);
	assert_int_equal(ep_pclntab_values_next(&values, &end, &value), 1);
	func = get_func(tab, 1);
	assert_int_equal(ep_pclntab_values_begin(tab, &func, func.pcsp, &values), -ENODATA);
	func = get_func(tab, 2);
	assert_int_equal(ep_pclntab_value_at(tab, &func, func.pcsp, func.start, &value), -EBADMSG);
}

/* Its systemstack_switch is an ordinary function (funcid.go). deferreturn takes the place of two other names. */
EP_TEST(wrappers_of_1_17_are_told_by_deferreturn)
{
	const size_t id_off = 40;
	struct ep_pclntab *tab;
	struct made made;

	for (uint8_t id = 0; id < 2; id++) {
		made_file(&made, version_of("1.17"));
		memcpy(made_data(&made, made.names + made.name[MADE_OUTER]), "runtime.deferreturn", 20);
		made_put(&made, made.funcs[1] + 8, made.name[MADE_OUTER], 4);
		made_put(&made, made.funcs[1] + id_off, id ? 22 : 0, 1);
		made_put(&made, made.funcs[MADE_OUTER] + 8, made.name[1], 4);
		tab = open_made(&made);
		assert_int_equal(get_func(tab, MADE_WRAPPER).role,
				 id ? EP_PCLNTAB_WRAPPER : EP_PCLNTAB_ORDINARY);
		assert_int_equal(get_func(tab, MADE_WRAPPER + 1).role, EP_PCLNTAB_ORDINARY);
	}
}

EP_TEST(calls_and_texts_are_checked)
{
	struct ep_pclntab_func func;
	struct ep_pclntab_call call;
	struct ep_pclntab *tab;
	struct made made;
	char buf[8];

	made_file(&made, version_of("1.20"));
	made_put(&made, made.tree + 8, 96, 4);	       /* after the function's end */
	made_put(&made, made.tree + 16 + 4, 0x1000, 4); /* a name after the table */
	made_put(&made, made.units, UINT32_MAX, 4);
	made_put(&made, made.units + 4, 0x2000, 4);
	memcpy(made_data(&made, made.names + made.name[0]), "a\nb", 4);
	*made_data(&made, made.names + made.name[1]) = 0;
	tab = open_made(&made);
	func = get_func(tab, MADE_OUTER);
	assert_int_equal(ep_pclntab_inlined(tab, &func, 0, &call), -EBADMSG);
	assert_int_equal(ep_pclntab_inlined(tab, &func, 1, &call), -EBADMSG);
	assert_int_equal(ep_pclntab_inlined(tab, &func, INT32_MAX, &call), -EBADMSG);
	assert_int_equal(ep_pclntab_file(tab, &func, 0, buf, sizeof(buf)), -ENODATA);
	assert_int_equal(ep_pclntab_file(tab, &func, 1, buf, sizeof(buf)), -EBADMSG);
	assert_int_equal(ep_pclntab_file(tab, &func, INT32_MAX, buf, sizeof(buf)), -EBADMSG);
	assert_int_equal(ep_pclntab_name(tab, func.name, buf, sizeof(buf)), -E2BIG);
	assert_int_equal(ep_pclntab_name(tab, made.name[0], buf, sizeof(buf)), -EBADMSG);
	assert_int_equal(ep_pclntab_name(tab, made.name[1], buf, sizeof(buf)), -EBADMSG);
	func.cu = UINT32_MAX;
	assert_int_equal(ep_pclntab_file(tab, &func, 1, buf, sizeof(buf)), -ENODATA);
}
