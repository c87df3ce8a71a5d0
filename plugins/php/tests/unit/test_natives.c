/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions in C, by tables and code that are made up. */
#include "plugins/php/natives.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#define TEXT_VA	   0x1000u /* functions at each multiple of 16, 12 bytes long; then code */
#define CODE_VA	   0x1800u /* one function */
#define RODATA_VA  0x2000u
#define DATA_VA	   0x3000u /* .data.rel.ro */
#define RELA_VA	   0x4000u
#define SYMBOLS_VA 0x4800u
#define END_VA	   0x5000u
#define PUBLIC	   1u

enum reg { RAX = 0, RDX = 2, RSI = 6, RDI = 7 };

struct made {
	uint8_t bytes[END_VA - TEXT_VA];
	uint32_t code, text, data, relocations; /* so far */
	bool packed;  /* relocations are in place */
	bool is_long; /* entries of 8.4 */
	uint32_t arg_info;
	struct fake_host host;
	struct fake_symbol sections[6], symbols[3];
	char said[1024];
};

static int made_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	struct made *made = (struct made *)((char *)arg - offsetof(struct made, host));

	if (va >= CODE_VA && va < CODE_VA + made->code)
		*ret = (struct ep_symbol){CODE_VA, made->code};
	else if (va >= TEXT_VA && va < CODE_VA && va % 16 < 12)
		*ret = (struct ep_symbol){va & ~15ull, 12};
	else
		return -ENODATA;
	return 0;
}

static void put(struct made *made, uint64_t va, const void *from, size_t bytes)
{
	assert_true(va >= TEXT_VA && va + bytes <= END_VA);
	memcpy(made->bytes + (va - TEXT_VA), from, bytes);
}

static void put_word(struct made *made, uint64_t va, uint64_t value)
{
	put(made, va, &value, sizeof(value));
}

static uint32_t put_text(struct made *made, const char *text)
{
	uint32_t va = RODATA_VA + 0x10 + made->text;

	put(made, va, text, strlen(text) + 1);
	made->text += (uint32_t)strlen(text) + 1;
	return va;
}

static void relocate(struct made *made, uint64_t va, uint32_t info, uint64_t addend)
{
	uint64_t rela[3] = {va, info, addend};

	put(made, RELA_VA + made->relocations, rela, sizeof(rela));
	made->relocations += sizeof(rela);
}

static void put_pointer(struct made *made, uint64_t va, uint64_t to)
{
	if (made->packed)
		put_word(made, va, to);
	else if (to)
		relocate(made, va, 8, to);
}

/* A function at TEXT_VA + function; its argument is no string. */
static uint64_t put_entry(struct made *made, const char *name, uint32_t function, uint32_t flags)
{
	uint64_t va = DATA_VA + made->data;

	put_pointer(made, va, put_text(made, name));
	put_pointer(made, va + 8, TEXT_VA + function);
	put_pointer(made, va + 16, made->arg_info);
	put_word(made, va + 24, 2 | (uint64_t)flags << 32);
	made->data += made->is_long ? 48 : 32;
	return va;
}

/* The end of a table. */
static void put_end(struct made *made)
{
	made->data += made->is_long ? 48 : 32;
}

static struct made *made_new(bool packed, bool is_long)
{
	struct made *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	ep_test_owns(made, free);
	made->packed = packed;
	made->is_long = is_long;
	made->arg_info = DATA_VA;
	put_word(made, made->arg_info, 1);
	put_pointer(made, DATA_VA + 24, put_text(made, "argument"));
	made->data = 64;
	return made;
}

static const struct ep_file *file_of(struct made *made)
{
	const struct fake_symbol sections[] = {
		{".data.rel.ro", {DATA_VA, made->data}},
		{".dynsym", {SYMBOLS_VA, 48}},
		{".rela.dyn", {RELA_VA, made->relocations}},
		{".rodata", {RODATA_VA, 0x10 + made->text}},
		{".text", {TEXT_VA, CODE_VA - TEXT_VA + made->code}},
	};

	fake_host_init(&made->host, NULL, 0);
	fake_memory_add(&made->host.contents, TEXT_VA, made->bytes, sizeof(made->bytes));
	memcpy(made->sections, sections, sizeof(sections));
	made->host.sections = made->sections;
	made->host.n_sections = EP_LEN(sections);
	made->host.symbols = made->symbols;
	made->host.file_ops.function = made_function;
	return &made->host.file;
}

static int say(void *arg, const struct ep_symbol *symbol, const char *name)
{
	struct made *made = arg;
	size_t used = strlen(made->said);

	assert_int_equal(symbol->bytes, 12);
	snprintf(made->said + used, sizeof(made->said) - used, "%x %s\n",
		 (unsigned int)(symbol->va - TEXT_VA), name);
	return 0;
}

static void check(struct made *made, const char *said)
{
	made->said[0] = '\0';
	assert_int_equal(php_tables_names(ep_unwinder_host_get(), file_of(made), say, made), 0);
	assert_string_equal(made->said, said);
}

/* --- code that registers a class -------------------------------------------------------------- */

static void emit(struct made *made, const char *code, size_t bytes)
{
	put(made, CODE_VA + made->code, code, bytes);
	made->code += (uint32_t)bytes;
}

static void load_address(struct made *made, enum reg reg, uint64_t va)
{
	int32_t distance = (int32_t)(va - CODE_VA - made->code - 7);
	char code[7] = {0x48, (char)0x8d, (char)(5 | reg << 3)};

	memcpy(code + 3, &distance, sizeof(distance));
	emit(made, code, sizeof(code));
}

static void call(struct made *made)
{
	emit(made, "\xe8\x00\x10\x00\x00", 5);
}

/* zend_string_init_interned(name, len, 1) */
static void make_name(struct made *made, const char *name, size_t len)
{
	char code[5] = {(char)0xbe, (char)len};

	emit(made, code, sizeof(code));
	emit(made, "\xf3\x48\xab", 3); /* rep stos */
	load_address(made, RDI, put_text(made, name));
	emit(made, "\xff\x10", 2); /* call *(%rax) */
}

static void register_class(struct made *made, const char *name, uint64_t table)
{
	make_name(made, name, strlen(name));
	load_address(made, RAX, table);
	emit(made, "\x48\x89\x84\x24\xe0\x01\x00\x00", 8); /* mov %rax, 0x1e0(%rsp) */
	call(made);
}

/* --- tests ------------------------------------------------------------------------------------ */

EP_TEST_EACH(tables_name_functions, size_t, i, 4)
{
	struct made *made = made_new(i & 1, i & 2);

	put_entry(made, "second", 0x20, 0);
	put_entry(made, "My\\Space\\first", 0x10, 0);
	put_end(made);
	put_entry(made, "third", 0x40, 0x800);
	put_end(made);
	check(made, "10 zif_My_Space_first\n20 zif_second\n40 zif_third\n");
}

EP_TEST(a_function_has_all_its_names)
{
	struct made *made = made_new(true, true);

	put_entry(made, "implode", 0x20, 0);
	put_entry(made, "join", 0x20, 0);
	put_end(made);
	put_entry(made, "joined", 0x20, PUBLIC);
	put_entry(made, "m", 0x30, PUBLIC);
	put_end(made);
	for (int i = 0; i < 40; i++)
		put_entry(made, i ? "any_other" : "one", 0x50, 0);
	put_entry(made, "last", 0x50, 0);
	put_end(made);
	check(made, "20 zif_implode|join\n30 zim_m\n50 zif_one|any_other|last\n");
}

EP_TEST(many_names_are_cut)
{
	struct made *made = made_new(true, false);
	char name[64];

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "a_name_of_some_length_that_has_a_%02d", i);
		put_entry(made, name, 0x20, 0);
	}
	put_end(made);
	check(made,
	      "20 zif_a_name_of_some_length_that_has_a_00|a_name_of_some_length_that_has_a_01"
	      "|a_name_of_some_length_that_has_a_02|a_name_of_some_length_that_has_a_03"
	      "|a_name_of_some_length_that_has_a_04|a_name_of_some_length_that_has_a_05|...\n");
}

EP_TEST(frameless_functions_have_names)
{
	struct made *made = made_new(false, true);
	uint64_t entry = put_entry(made, "strpos", 0x10, 0), infos = DATA_VA + 0x800;

	put_pointer(made, entry + 32, infos);
	put_end(made);
	put_pointer(made, infos, TEXT_VA + 0x20);
	put_word(made, infos + 8, 2);
	put_pointer(made, infos + 16, TEXT_VA + 0x30);
	put_word(made, infos + 24, 3);
	made->data = 0x900;
	check(made, "10 zif_strpos\n20 zflf_strpos_2\n30 zflf_strpos_3\n");
}

EP_TEST(methods_have_the_class_that_is_registered_with_their_table)
{
	struct made *made = made_new(false, false);
	uint64_t one = put_entry(made, "count", 0x10, PUBLIC), two;

	put_end(made);
	two = put_entry(made, "count", 0x20, PUBLIC);
	put_entry(made, "next", 0x30, PUBLIC);
	put_end(made);
	register_class(made, "ArrayObject", one);
	register_class(made, "My\\Queue", two);
	check(made, "10 zim_ArrayObject_count\n20 zim_My_Queue_count\n30 zim_My_Queue_next\n");
}

EP_TEST(name_and_table_may_be_arguments)
{
	struct made *made = made_new(false, false);
	uint64_t table = put_entry(made, "cases", 0x10, PUBLIC);

	put_end(made);
	load_address(made, RDX, table);
	load_address(made, RDI, put_text(made, "Suit"));
	call(made);
	check(made, "10 zim_Suit_cases\n");
}

/* Nobody knows whose they are: the method alone. */
EP_TEST_EACH(a_class_that_is_not_certain_is_left_out, int, i, 5)
{
	struct made *made = made_new(false, false);
	uint64_t one = put_entry(made, "a", 0x10, PUBLIC), two;

	put_end(made);
	two = put_entry(made, "b", 0x20, PUBLIC);
	put_end(made);
	make_name(made, "First", i == 0 ? 4 : 5);
	if (i == 1)
		call(made);
	if (i == 2)
		load_address(made, RAX, two);
	if (i == 3)
		emit(made, "\xc3", 1);
	load_address(made, RAX, one);
	call(made);
	if (i == 4)
		register_class(made, "Second", one);
	check(made, "10 zim_a\n20 zim_b\n");
}

EP_TEST_EACH(what_is_no_table_is_left_out, int, i, 9)
{
	static const char *const names[9] = {"1st", "a.b", "", "a-b", "space\\"};
	struct made *made = made_new(true, i & 1);
	uint64_t entry = put_entry(made, names[i] ? names[i] : "name", 0x10, 0);

	if (i == 5)
		put_word(made, entry + 8, DATA_VA); /* no code */
	else if (i == 6)
		put_word(made, entry + 24, 1000); /* arguments */
	else if (i == 7)
		put_word(made, made->arg_info, RODATA_VA);
	else if (i == 8)
		put_word(made, entry + 16, 0);
	if (i != 4)
		put_end(made);
	check(made, "");
}

EP_TEST(without_an_end_it_is_none)
{
	struct made *made = made_new(true, false);

	put_entry(made, "name", 0x10, 0);
	check(made, "");
}

EP_TEST(abstract_methods_and_those_inside_of_functions_are_left_out)
{
	struct made *made = made_new(true, false);

	put_word(made, put_entry(made, "nothing", 0x10, PUBLIC) + 8, 0);
	put_entry(made, "inside", 0x24, PUBLIC);
	put_entry(made, "nowhere", 0x3e, PUBLIC);
	put_entry(made, "m", 0x40, PUBLIC);
	put_end(made);
	check(made, "40 zim_m\n");
}

EP_TEST(functions_may_be_symbols)
{
	struct made *made = made_new(false, false);
	uint64_t entry = put_entry(made, "name", 0x10, 0);

	put_end(made);
	relocate(made, entry + 8, 1, 0x10);
	put(made, RELA_VA + made->relocations - 12, (uint32_t[]){1}, 4);
	put_word(made, SYMBOLS_VA + 24 + 8, TEXT_VA + 0x50);
	check(made, "60 zif_name\n");
	/* Of another file. */
	put_word(made, SYMBOLS_VA + 24 + 8, 0);
	check(made, "");
}

EP_TEST(each_failure_to_read_is_told)
{
	struct made *made = made_new(false, false);
	const struct ep_file *file;
	uint32_t n_reads;

	put_entry(made, "name", 0x10, 0);
	put_end(made);
	check(made, "10 zif_name\n");
	n_reads = made->host.contents.n_reads;
	assert_true(n_reads >= 4);
	for (uint32_t i = 1; i <= n_reads; i++) {
		file = file_of(made);
		made->host.contents.fail_at = i;
		made->host.contents.fail_with = -EBADMSG;
		made->said[0] = '\0';
		assert_int_equal(php_tables_names(ep_unwinder_host_get(), file, say, made),
				 -EBADMSG);
	}
}

/* --- which files ------------------------------------------------------------------------------ */

static bool is_extension(struct made *made, const char *name, uint64_t va)
{
	const struct ep_file *file = file_of(made);

	made->symbols[0] = (struct fake_symbol){name, {va, 8}};
	made->symbols[1] = (struct fake_symbol){"zend_extension_entry", {DATA_VA, 8}};
	made->host.n_symbols = strcmp(name, "extension_version_info") == 0 ? 2 : 1;
	return php_tables_is_extension(ep_unwinder_host_get(), file);
}

EP_TEST(extensions_say_for_which_php_they_are)
{
	struct made *made = made_new(false, false);
	uint64_t entry = DATA_VA + 0x100;

	put_word(made, entry, 168 | 20220829ull << 32);
	load_address(made, RAX, entry);
	emit(made, "\xc3", 1);
	assert_true(is_extension(made, "get_module", CODE_VA));
	made->code = 0x20;
	emit(made, "\xf3\x0f\x1e\xfa", 4);
	load_address(made, RAX, entry);
	assert_true(is_extension(made, "get_module", CODE_VA + 0x20));
	put_word(made, entry, 168 | 20050922ull << 32);
	assert_false(is_extension(made, "get_module", CODE_VA));
	put_word(made, entry, 20220829ull << 32);
	assert_false(is_extension(made, "get_module", CODE_VA));
	assert_false(is_extension(made, "get_module", CODE_VA + 7));
	assert_false(is_extension(made, "get_module", END_VA));
	put_word(made, entry, 420220829);
	assert_true(is_extension(made, "extension_version_info", entry));
	put_word(made, entry, 1);
	assert_false(is_extension(made, "extension_version_info", entry));
	assert_false(is_extension(made, "something", entry));
}
