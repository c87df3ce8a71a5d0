/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbol over the files of test_elf_samples.sh (first argument: their directory) and a short
 * kallsyms (second argument).
 */
#include "core/base/vec.h"
#include "core/symbol/demangle.h"
#include "core/symbol/kernel.h"
#include "core/symbol/symtab.h"
#include "ebpf-profiler/unwinder.h"
#include "tests/unit/elf_samples.h"

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY", "KALLSYMS")

EP_TEST_RELEASES(ep_symtab_free)

static struct ep_symtab *symtab_of(const char *name, const char *debug_name)
{
	struct ep_elf *elf = sample_open(name), *debug = NULL;
	struct ep_symtab *symtab = NULL;

	if (debug_name)
		debug = sample_open(debug_name);
	assert_int_equal(ep_symtab_build(elf, debug, &symtab), 0);
	if (debug)
		ep_test_release(debug);
	ep_test_release(elf); /* the table does not need it any more */
	ep_test_owns(symtab, ep_symtab_free_made);
	return symtab;
}

/* The name at an address, "" when there is none. Valid until the next call. */
static const char *name_at(const struct ep_symtab *symtab, uint64_t va)
{
	static char name[EP_SYMTAB_NAME_MAX];
	struct ep_symtab_hit hit;
	int len;

	if (ep_symtab_find(symtab, va, &hit) < 0)
		return "";
	assert_true(va >= hit.start_va && va - hit.start_va < hit.size);
	len = ep_symtab_name(symtab, &hit, name, sizeof(name));
	assert_int_equal(len, strlen(name));
	return name;
}

/* ---- symbol tables ---- */

EP_TEST(every_function_nm_lists_is_found)
{
	struct ep_symtab *symtab = symtab_of("full", NULL);
	FILE *file = fopen(sample_path("full.nm"), "re");
	char line[512], name[256], type;
	struct ep_symtab_hit hit;
	size_t checked = 0;
	uint64_t va;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %c %255s", &va, &type, name) != 3 ||
		    !strchr("tT", type) || !strcmp(name, "sample_inner_label"))
			continue;
		print_message("%s\n", name);
		assert_int_equal(ep_symtab_find(symtab, va, &hit), 0);
		assert_int_equal(hit.start_va, va);
		checked++;
	}
	fclose(file);
	assert_true(checked >= 10);
}

EP_TEST(function_ends_where_its_size_says)
{
	struct ep_symtab *symtab = symtab_of("full", NULL);
	uint64_t va = nm_address("full.nm", "sample_known");
	struct ep_symtab_hit hit;

	assert_int_equal(ep_symtab_find(symtab, va, &hit), 0);
	assert_string_equal(name_at(symtab, va), "sample_known");
	assert_string_equal(name_at(symtab, va + hit.size - 1), "sample_known");
	assert_string_not_equal(name_at(symtab, va + hit.size), "sample_known");
	assert_string_not_equal(name_at(symtab, va - 1), "sample_known");
	assert_string_equal(name_at(symtab, 0), "");
	assert_string_equal(name_at(symtab, UINT64_MAX), "");
}

EP_TEST(best_alias_is_chosen)
{
	struct ep_symtab *symtab = symtab_of("full", NULL);

	assert_int_equal(nm_address("full.nm", "sample_public"),
			 nm_address("full.nm", "__sample_internal"));
	assert_string_equal(name_at(symtab, nm_address("full.nm", "sample_w")), "sample_public");
}

EP_TEST(resolver_of_an_ifunc_is_not_the_function)
{
	struct ep_symtab *symtab = symtab_of("full", NULL);
	uint64_t va = nm_address("full.nm", "sample_ifunc");

	assert_int_equal(va, nm_address("full.nm", "sample_resolve"));
	assert_string_equal(name_at(symtab, va), "sample_resolve");
}

EP_TEST(assembly_has_names)
{
	static const char *const forms[] = {"full", "mini", "stripped"};
	uint64_t func = nm_address("full.nm", "sample_asm_func");
	uint64_t label = nm_address("full.nm", "sample_asm_label");

	for (size_t i = 0; i < EP_LEN(forms); i++) {
		struct ep_symtab *symtab = symtab_of(forms[i], NULL);

		print_message("%s\n", forms[i]);
		assert_string_equal(name_at(symtab, func), "sample_asm_func");
		/* a local label does not end a function that has no size, a global one does */
		assert_string_equal(name_at(symtab, func + 30), "sample_asm_func");
		assert_string_equal(name_at(symtab, label - 1), "sample_asm_func");
		assert_string_equal(name_at(symtab, label), "sample_asm_label");
		assert_string_equal(name_at(symtab, label + 15), "sample_asm_label");
		assert_string_equal(name_at(symtab, label + 16), "sample_asm_long");
	}
}

EP_TEST(local_functions_need_more_than_dynsym)
{
	uint64_t va = nm_address("full.nm", "sample_compare");
	struct ep_symtab *symtab = symtab_of("stripped", NULL);

	assert_string_equal(name_at(symtab, va), "");
	assert_string_equal(name_at(symtab, nm_address("full.nm", "main")), "main");
	symtab = symtab_of("stripped", "full.debug");
	assert_int_equal(ep_symtab_fds(symtab), 0);
	assert_string_equal(name_at(symtab, va), "sample_compare");
	symtab = symtab_of("mini", NULL);
	assert_string_equal(name_at(symtab, va), "sample_compare");
	assert_string_equal(name_at(symtab, nm_address("full.nm", "main")), "main");
}

/* Names of stubs somewhere in a section, as "a b ", in the order of their addresses. */
static void stubs_in(const char *name, const char *section_name, char *names, size_t bytes)
{
	struct ep_elf *elf = sample_open(name);
	struct ep_symtab *symtab = symtab_of(name, NULL);
	struct ep_elf_section section;
	size_t used = 0;

	names[0] = '\0';
	if (ep_elf_find_section(elf, section_name, &section) == 0)
		for (uint64_t off = 3; off < section.bytes; off += 8) {
			const char *stub = name_at(symtab, section.va + off);

			if (*stub && (used < strlen(stub) + 1 ||
				      strncmp(names + used - strlen(stub) - 1, stub, strlen(stub))))
				used += (size_t)snprintf(names + used, bytes - used, "%s ", stub);
		}
}

/* With .dynsym alone nobody knows what follows a function that has no size. */
EP_TEST(guessed_size_is_small_without_symtab)
{
	uint64_t va = nm_address("full.nm", "sample_asm_long");
	struct ep_symtab *symtab = symtab_of("stripped", NULL);

	assert_string_equal(name_at(symtab, va + 255), "sample_asm_long");
	assert_string_equal(name_at(symtab, va + 256), "");
	symtab = symtab_of("full", NULL);
	assert_string_equal(name_at(symtab, va + 400), "sample_asm_long");
	assert_string_equal(name_at(symtab, va + 401), ""); /* the section ends */
}

EP_TEST(plt_stubs_are_named)
{
	char names[512];

	if (ep_elf_machine(sample_open("full")) != EM_X86_64)
		skip();
	stubs_in("full", ".plt", names, sizeof(names));
	assert_non_null(strstr(names, "qsort@plt "));
	assert_non_null(strstr(names, "printf@plt "));
	stubs_in("linked", ".plt.got", names, sizeof(names));
	assert_string_equal(names, "__cxa_finalize@plt ");
	stubs_in("linked", ".plt.sec", names, sizeof(names));
	assert_non_null(strstr(names, "qsort@plt "));
	assert_non_null(strstr(names, "printf@plt "));
}

EP_TEST(file_without_functions_says_so)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	struct ep_symtab *symtab = NULL;
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
	};

	assert_int_equal(ep_elf_open_memory(&header, sizeof(header), &elf), 0);
	assert_int_equal(ep_symtab_build(elf, NULL, &symtab), -ENODATA);
	assert_false(ep_symtab_is_complete(elf));
}

/* The test program itself is big enough for its names to stay in the file; libc surely is. */
EP_TEST(large_tables_keep_names_in_the_file)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_symtab_freep) struct ep_symtab *symtab = NULL;
	size_t named = 0;

	if (ep_elf_open("/usr/lib/x86_64-linux-gnu/libc.so.6", &elf) < 0 &&
	    ep_elf_open("/usr/lib/aarch64-linux-gnu/libc.so.6", &elf) < 0 &&
	    ep_elf_open("/lib64/libc.so.6", &elf) < 0)
		skip();
	assert_int_equal(ep_symtab_build(elf, NULL, &symtab), 0);
	assert_true(ep_symtab_len(symtab) > 1000);
	assert_true(ep_symtab_bytes(symtab) < ep_symtab_len(symtab) * 12 + (64 << 10) + 1024);
	for (uint32_t i = 0; i < ep_symtab_len(symtab); i++) {
		struct ep_symtab_hit hit = {.index = i};
		char name[EP_SYMTAB_NAME_MAX];

		assert_true(ep_symtab_name(symtab, &hit, name, sizeof(name)) > 0);
		named += !strcmp(name, "qsort") || !strcmp(name, "malloc");
	}
	assert_int_equal(named, 2);
}

/* ---- demangling ---- */

EP_TEST(names_are_readable)
{
	static const struct {
		const char *label, *symbol, *name;
	} rows[] = {
		{"c", "main", "main"},
		{"empty", "", ""},
		{"version", "memcpy@@GLIBC_2.14", "memcpy"},
		{"stub", "malloc@plt", "malloc@plt"},
		{"c++ stub", "_Znwm@plt", "operator new(unsigned long)@plt"},
		{"c++", "_ZN3foo3barEi", "foo::bar(int)"},
		{"cold part", "_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"},
		{"clone", "_ZN3foo3barEi.constprop.0", "foo::bar(int) [clone .constprop.0]"},
		{"c clone", "parse.part.0.cold", "parse.part.0.cold"},
		{"constructor", "_ZNSsC1Ev",
		 "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::"
		 "basic_string()"},
		{"initialiser", "_GLOBAL__I_main", "global constructors keyed to main"},
		{"initialiser of today", "_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"},
		{"rust", "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
		 "core::fmt::Formatter::pad"},
		{"rust, llvm", "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1234567890",
		 "core::fmt::Formatter::pad"},
		{"rust escapes", "_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE",
		 "core::ops::function::FnOnce::call_once"},
		{"rust generic",
		 "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
		 "4drop17h0123456789abcdefE",
		 "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"},
		{"rust v0", "_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"rust v0 generic", "_RINvNtC4core3mem4swapjE", "core::mem::swap::<usize>"},
		{"rust v0 closure", "_RNCNvC7mycrate4main0", "mycrate::main::{closure#0}"},
		{"d", "_D3std5stdio7writelnFAyaZv", "std.stdio.writeln(immutable(char)[])"},
		{"d main", "_Dmain", "D main"},
		{"not mangled", "_Zebra", "_Zebra"},
		{"not mangled", "_Right", "_Right"},
		{"not mangled", "_Data", "_Data"},
		{"control characters", "a\x01\n\x1b[31m", "a???[31m"},
		{"not utf-8", "a\xff\xc3(\xed\xa0\x80",
		 "a?"
		 "?(???"},
		{"utf-8", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		ep_autofree char *name = NULL;

		print_message("%s\n", rows[i].label);
		assert_int_equal(ep_demangle(rows[i].symbol, &name), 0);
		assert_string_equal(name, rows[i].name);
	}
}

/* A name whose every level holds the one before twice: 2^40 words from some 500 bytes. */
static void exploding_name(char *symbol, size_t bytes)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t used = (size_t)snprintf(symbol, bytes, "_Z1f1AIiiE");

	/* S_ is A, S0_ is A<int, int>, S1_ is A<S0_, S0_> and so on */
	for (size_t i = 0; i < 34; i++)
		used += (size_t)snprintf(symbol + used, bytes - used, "S_IS%c_S%c_E", digits[i],
					 digits[i]);
}

EP_TEST(exploding_names_stop)
{
	ep_autofree char *name = NULL;
	char symbol[1024];

	exploding_name(symbol, sizeof(symbol));
	assert_int_equal(ep_demangle(symbol, &name), 0);
	assert_int_equal(strlen(name), EP_DEMANGLE_MAX_OUTPUT - 1);
	assert_memory_equal(name, "f(A<int, int>, A<A<int, int>, A<int, int> >, ", 45);
	assert_string_equal(name + strlen(name) - 3, "...");
}

EP_TEST(long_and_deep_names_are_bounded)
{
	static const char *const repeated[] = {"P", "1a", "I", "Q", "A", "N", "S_", "F", "R", "M"};
	static const char *const starts[] = {"_Z1f", "_ZN", "_R", "_RNv", "_D", "_D1aF", "x", "_Z"};
	ep_autofree char *symbol = malloc(100000);
	char *name = NULL;

	assert_non_null(symbol);
	for (size_t i = 0; i < EP_LEN(repeated) * EP_LEN(starts); i++)
		for (size_t bytes = 500; bytes < 100000; bytes *= 4) {
			const char *start = starts[i / EP_LEN(repeated)];
			const char *piece = repeated[i % EP_LEN(repeated)];
			size_t used = strlen(start);

			memcpy(symbol, start, used);
			for (; used + 2 < bytes; used += strlen(piece))
				memcpy(symbol + used, piece, strlen(piece));
			symbol[used] = '\0';
			assert_int_equal(ep_demangle(symbol, &name), 0);
			assert_true(strlen(name) < EP_DEMANGLE_MAX_OUTPUT);
			free(name);
		}
}

/* ---- the kernel ---- */

EP_TEST(kernel_names_are_found)
{
	static const struct {
		const char *label;
		uint64_t addr;
		const char *name; /* NULL: none */
		const char *module;
	} rows[] = {
		{"before everything", 0xffffffff80ffffff, NULL, ""},
		{"best alias", 0xffffffff81000000, "startup_64", ""},
		{"inside", 0xffffffff810000ff, "secondary_startup", ""},
		{"prefix", 0xffffffff81000108, "__pfx_do_one_initcall", ""},
		{"global before local", 0xffffffff81000111, "do_one_initcall", ""},
		{"weak", 0xffffffff81000400, "weak_handler", ""},
		{"last byte of text", 0xffffffff810004ff, "last_of_text", ""},
		{"end of text", 0xffffffff81000500, NULL, ""},
		{"data", 0xffffffff81001010, NULL, ""},
		{"after data", 0xffffffff81002000, "after_data", ""},
		{"data again", 0xffffffff81002100, NULL, ""},
		{"open end", 0xffffffff81003fff, "init_function", ""},
		{"far behind an open end", 0xffffffff81103000, NULL, ""},
		{"module", 0xffffffffc0200010, "ext4_open", "ext4"},
		{"module's last", 0xffffffffc02002ff, "ext4_close", "ext4"},
		{"module's data", 0xffffffffc0200300, NULL, ""},
		{"trampoline", 0xffffffffc0201004, "ftrace_trampoline", "__builtin__ftrace"},
		{"bpf", 0xffffffffc0208042, "bpf_prog_6deef7357e7b4530_sample", "bpf"},
		{"zero", 0, NULL, ""},
		{"the end", UINT64_MAX, NULL, ""},
	};
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;

	assert_int_equal(ep_kernel_symbols_load(ep_test_argument[1], &symbols), 0);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_kernel_name name;
		int r = ep_kernel_symbols_find(symbols, rows[i].addr, &name);

		print_message("%s\n", rows[i].label);
		assert_int_equal(r, rows[i].name ? 0 : -ENODATA);
		if (r < 0)
			continue;
		assert_string_equal(name.name, rows[i].name);
		assert_string_equal(name.module, rows[i].module);
		assert_true(name.start_addr <= rows[i].addr);
	}
}

/* Loads a kallsyms of that text; the result of the load. */
static int load_text(const char *text, struct ep_kernel_symbols **ret_symbols)
{
	char path[PATH_MAX];
	int fd, r;

	snprintf(path, sizeof(path), "%s/kallsyms.%d", ep_test_argument[0], (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	r = ep_kernel_symbols_load(path, ret_symbols);
	unlink(path);
	return r;
}

EP_TEST(hidden_addresses_are_a_permission)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;

	assert_int_equal(load_text("0000000000000000 T _text\n0000000000000000 t foo\n", &symbols),
			 -EACCES);
	assert_int_equal(load_text("", &symbols), -ENODATA);
	assert_int_equal(load_text("no such line\n\n\nffff\nffffffffffffffff\n", &symbols),
			 -ENODATA);
	assert_int_equal(ep_kernel_symbols_load("/no/such/file", &symbols), -ENOENT);
}

EP_TEST(modules_may_be_far_away)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;
	struct ep_kernel_name name;

	assert_int_equal(load_text("ffff800080000000 T near\n"
				   "ffff800080000100 T _etext\n"
				   "ffff7fff00000000 t far\t[mod]\n"
				   "ffff7fff00000100 t farther\t[mod]",
				   &symbols),
			 0);
	assert_int_equal(ep_kernel_symbols_find(symbols, 0xffff800080000010, &name), 0);
	assert_string_equal(name.name, "near");
	assert_int_equal(ep_kernel_symbols_find(symbols, 0xffff7fff00000010, &name), 0);
	assert_string_equal(name.name, "far");
	assert_string_equal(name.module, "mod");
	/* the last line has no newline: it is not whole */
	assert_int_equal(ep_kernel_symbols_find(symbols, 0xffff7fff00000100, &name), 0);
	assert_string_equal(name.name, "far");
}

/* Blocks of names end after 100 and after 4 KiB; a prefix and its function are in one. */
EP_TEST(names_at_the_edges_of_blocks_are_found)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;
	ep_cleanup(ep_vec_fini) struct ep_vec text;
	struct ep_kernel_name name;
	char expected[600];

	ep_vec_init(&text, 1, 1 << 20);
	for (int i = 0; i < 1000; i++) {
		int width = i < 700 ? 4 : i < 900 ? 60 : 520; /* longer than a name may be */
		uint64_t addr = 0xffffffff81000000 + (uint64_t)i * 64;

		assert_int_equal(ep_vec_printf(&text, "%" PRIx64 " t __pfx_f%0*d\n%" PRIx64 " t f%0*d\n", addr, width, i,
					       addr + 16, width, i), 0);
		if (i % 7 == 0)
			assert_int_equal(ep_vec_printf(&text, "%" PRIx64 " d data_%d\n", addr + 48, i), 0);
	}
	assert_int_equal(ep_vec_printf(&text, "ffffffff82000000 t \001\n"), 0); /* a name that means something to us */
	assert_int_equal(load_text(text.data, &symbols), 0);
	for (int i = 0; i < 1000; i++) {
		int width = i < 700 ? 4 : i < 900 ? 60 : 520;
		uint64_t addr = 0xffffffff81000000 + (uint64_t)i * 64;

		assert_int_equal(ep_kernel_symbols_find(symbols, addr + 15, &name), 0);
		assert_int_equal(name.start_addr, addr);
		snprintf(expected, sizeof(expected), "__pfx_f%0*d", width, i);
		assert_int_equal(strncmp(name.name, expected, EP_KERNEL_NAME_MAX - 1), 0);
		assert_int_equal(ep_kernel_symbols_find(symbols, addr + 47, &name), 0);
		assert_int_equal(strncmp(name.name, expected + 6, EP_KERNEL_NAME_MAX - 1), 0);
		assert_int_equal(ep_kernel_symbols_find(symbols, addr + 48, &name), i % 7 ? 0 : -ENODATA);
	}
	assert_int_equal(ep_kernel_symbols_find(symbols, 0xffffffff82000000, &name), 0);
	assert_true(strlen(name.name) < 8);
}

EP_TEST(kernel_itself_lies_between_its_symbols)
{
	static const struct {
		const char *label, *text;
		uint64_t start, end; /* 0: nowhere */
	} rows[] = {
		{"modules behind it",
		 "ffffffff81000000 T _text\nffffffff81800000 D data\nffffffffc0200000 t ext4_open\t[ext4]\n"
		 "ffffffffc0300000 t bpf_prog_1\t[bpf]\n",
		 0xffffffff81000000, 0xffffffff81800000},
		{"modules before it, and per-CPU data at low addresses",
		 "0000000000001000 D percpu\nffff800079000000 t far\t[mod]\nffff800080000000 T _text\n"
		 "ffff800080000100 T last\n",
		 0xffff800080000000, 0xffff800080000100},
		{"one symbol", "ffffffff81000000 T _text\nffffffffc0200000 t ext4_open\t[ext4]\n", 0, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;
		uint64_t start = 0, end = 0;

		print_message("%s\n", rows[i].label);
		assert_int_equal(load_text(rows[i].text, &symbols), 0);
		assert_int_equal(ep_kernel_symbols_own(symbols, &start, &end), rows[i].start != 0);
		assert_int_equal(start, rows[i].start);
		assert_int_equal(end, rows[i].end);
	}
}

/* Every code symbol of the running kernel, against its own list. */
EP_TEST(running_kernel_agrees_with_its_list)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;
	uint8_t id[EP_ELF_BUILD_ID_MAX];
	char line[1024], text[512], type;
	struct ep_kernel_name name;
	size_t found = 0, same = 0;
	uint64_t addr;
	FILE *file;
	int r;

	r = ep_kernel_symbols_load("/proc/kallsyms", &symbols);
	if (r == -EACCES || r == -ENOENT || r == -ENODATA)
		skip();
	assert_int_equal(r, 0);
	file = fopen("/proc/kallsyms", "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %c %511s", &addr, &type, text) != 3 || !addr ||
		    !strchr("tTwW", type) || !strcmp(text, "_etext") || !strcmp(text, "_einittext"))
			continue;
		/* programs come and go between the two readings */
		if (strstr(line, "[bpf]") || strstr(line, "[__builtin__"))
			continue;
		assert_int_equal(ep_kernel_symbols_find(symbols, addr, &name), 0);
		assert_int_equal(name.start_addr, addr);
		same += !strcmp(name.name, text);
		found++;
	}
	fclose(file);
	assert_true(found > 10000);
	assert_true(same > found / 10 * 9); /* the rest are aliases */
	assert_true(ep_kernel_symbols_bytes(symbols) < ep_kernel_symbols_len(symbols) * 14);
	assert_true(ep_kernel_build_id(id) > 0 || ep_kernel_build_id(id) == -ENODATA);
}
