/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of opening, building and resolving fails once, one by one: the answer is
 * -ENOMEM or (where a part may be missing) success, and nothing leaks or crashes.
 * Arguments as for test_symbol.c.
 */
#include "core/symbol/kernel.h"
#include "core/symbol/native.h"
#include "core/symbol/symtab.h"
#include "core/trace/lines.h"
#include "tests/kit/heap.h"
#include "tests/unit/elf_samples.h"
#include "tests/unit/pclntab_file.h"

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY", "KALLSYMS")

static void check_each(int (*work)(void *path), const char *path)
{
	uint32_t n;
	const char *wrong = heap_fail_each(work, (void *)(uintptr_t)path, &n);

	if (wrong)
		fail_msg("%s", wrong);
	assert_true(n >= 4);
}

static int build_table(void *path)
{
	ep_cleanup(ep_symtab_freep) struct ep_symtab *symtab = NULL;
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	int r;

	r = ep_elf_open(path, &elf);
	return r < 0 ? r : ep_symtab_build(elf, NULL, &symtab);
}

static int load_kernel(void *path)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;

	return ep_kernel_symbols_load(path, &symbols);
}

static int open_path(void *arg)
{
	int fd = open(arg, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int resolve_names(void *path)
{
	struct ep_native_file file = {
		.key = 1, .open = open_path, .arg = path, .root = "", .path = path};
	ep_cleanup(ep_lines_fini) struct ep_lines lines = {0};
	struct ep_native_symbols *symbols = NULL;
	uint64_t vas[64];
	int r;

	for (size_t i = 0; i < EP_LEN(vas); i++)
		vas[i] = 0x401000 + i * 16;
	r = ep_lines_init(&lines, EP_LEN(vas));
	if (r == 0)
		r = ep_native_symbols_new(1 << 20, &symbols);
	if (r < 0)
		return r;
	r = ep_native_symbols_resolve(symbols, &file, vas, EP_LEN(vas), &lines);
	ep_native_symbols_free(symbols);
	return r;
}

EP_TEST(tables_survive_without_memory)
{
	static const char *const forms[] = {"full", "stripped", "mini"};

	for (size_t i = 0; i < EP_LEN(forms); i++) {
		if (access(sample_path(forms[i]), R_OK) == 0)
			check_each(build_table, sample_path(forms[i]));
	}
}

EP_TEST(kernel_names_survive_without_memory)
{
	check_each(load_kernel, ep_test_argument[1]);
}

EP_TEST(the_cache_survives_without_memory)
{
	check_each(resolve_names, sample_path("full"));
}

/* The same of a file with a function table, and of C code in it. */
EP_TEST(function_tables_survive_without_memory)
{
	const char *path = ep_test_path(ep_test_directory(), "made");
	ep_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	static struct made made;

	made_file(&made, &made_versions[EP_LEN(made_versions) - 1]);
	assert_int_equal(write(fd, made.bytes, sizeof(made.bytes)), sizeof(made.bytes));
	check_each(resolve_names, path);
}
