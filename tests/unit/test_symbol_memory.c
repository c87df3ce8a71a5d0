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

#define MAX_ALLOCATIONS 10000

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY", "KALLSYMS")

/* Runs `work` with its first, second, ... allocation failing, until none is left to fail. */
static void fail_one_by_one(int (*work)(const char *path), const char *path)
{
	uint32_t n;

	for (n = 1; n < MAX_ALLOCATIONS; n++) {
		int r;

		heap_arm(n);
		r = work(path);
		if (heap_disarm()) {
			assert_int_equal(r, 0);
			break;
		}
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_in_range(n, 4, MAX_ALLOCATIONS - 1);
}

static int build_table(const char *path)
{
	ep_cleanup(ep_symtab_freep) struct ep_symtab *symtab = NULL;
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	int r;

	r = ep_elf_open(path, &elf);
	return r < 0 ? r : ep_symtab_build(elf, NULL, &symtab);
}

static int load_kernel(const char *path)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;

	return ep_kernel_symbols_load(path, &symbols);
}

static int open_path(void *arg)
{
	int fd = open(arg, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int resolve_names(const char *path)
{
	struct ep_native_file file = {.key = 1,
				      .open = open_path,
				      .arg = (void *)(uintptr_t)path,
				      .root = "",
				      .path = path};
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
			fail_one_by_one(build_table, sample_path(forms[i]));
	}
}

EP_TEST(kernel_names_survive_without_memory)
{
	fail_one_by_one(load_kernel, ep_test_argument[1]);
}

EP_TEST(the_cache_survives_without_memory)
{
	fail_one_by_one(resolve_names, sample_path("full"));
}

/* The same of a file with a function table, and of C code in it. */
EP_TEST(function_tables_survive_without_memory)
{
	char path[] = "/tmp/ep-symbol-XXXXXX";
	static struct made made;
	int fd = mkstemp(path);

	made_file(&made, &made_versions[EP_LEN(made_versions) - 1]);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, made.bytes, sizeof(made.bytes)), sizeof(made.bytes));
	close(fd);
	fail_one_by_one(resolve_names, path);
	unlink(path);
}
