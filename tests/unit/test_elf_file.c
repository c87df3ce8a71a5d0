/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols, sections, bytes and functions of ELF files as plugins ask for them: of this very
 * program, whose addresses are known, and of the samples of core/elf.
 */
#include "core/plugin/elf_file.h"
#include "core/plugin/process_target.h"
#include "pclntab_file.h"
#include "tests/kit/test.h"

#include <sys/mman.h>

extern const char __ehdr_start; /* of the linker: where the file's first byte is in memory */

const uint64_t test_elf_file_constant[4] = {11, 22, 33, 44};
uint64_t test_elf_file_zeroed[1000];
__thread uint32_t test_elf_file_thread_first = 7, test_elf_file_thread_second = 8;
static volatile uint64_t test_elf_file_local;
EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY")

__attribute__((noinline)) uint64_t test_elf_file_function(uint64_t x);
__attribute__((noinline)) uint64_t test_elf_file_function(uint64_t x)
{
	__asm__ volatile("" : "+r"(x));
	return 2 * x + test_elf_file_zeroed[x % 1000] + test_elf_file_thread_first +
	       test_elf_file_thread_second;
}

static uint64_t va_of(const void *thing)
{
	return (uint64_t)(uintptr_t)thing - (uint64_t)(uintptr_t)&__ehdr_start;
}

struct fixture {
	struct ep_elf *elf;
	struct ep_elf_file file;
};

static void fixture_close(void *made)
{
	ep_autofree struct fixture *fx = made;

	ep_elf_file_fini(&fx->file);
	ep_elf_close(fx->elf);
}

static struct fixture *fixture_open_in(const char *root, const char *path, const char *seen_as)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	assert_non_null(fx);
	if (ep_elf_open(path, &fx->elf) < 0)
		fail_msg("%s cannot be opened", path);
	ep_elf_file_init(&fx->file, fx->elf, root, seen_as);
	ep_test_owns(fx, fixture_close);
	return fx;
}

static struct fixture *fixture_open(const char *path)
{
	return fixture_open_in(NULL, path, path);
}

static struct fixture *fixture_sample(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", ep_test_argument[0], name);
	return fixture_open(path);
}

static int symbol(struct fixture *fx, const char *name, struct ep_symbol *ret)
{
	return ep_unwinder_host_get()->file_symbol(&fx->file.file, name, ret);
}

EP_TEST(symbols_are_found_by_exact_name)
{
	struct fixture *fx = fixture_open("/proc/self/exe");
	struct ep_symbol found = {0};
	char long_name[1000];

	assert_int_equal(symbol(fx, "test_elf_file_constant", &found), 0);
	assert_int_equal(found.va, va_of(test_elf_file_constant));
	assert_int_equal(found.bytes, sizeof(test_elf_file_constant));
	assert_int_equal(symbol(fx, "test_elf_file_zeroed", &found), 0);
	assert_int_equal(found.va, va_of(test_elf_file_zeroed));
	assert_int_equal(symbol(fx, "test_elf_file_constan", &found), -ENODATA);
	assert_int_equal(symbol(fx, "test_elf_file_constant2", &found), -ENODATA);
	assert_int_equal(symbol(fx, "", &found), -ENODATA);
	assert_int_equal(symbol(fx, "dlopen", &found), -ENODATA); /* used here, defined elsewhere */
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(symbol(fx, long_name, &found), -E2BIG);
}

EP_TEST(a_local_symbol_is_found)
{
	struct fixture *fx = fixture_open("/proc/self/exe");
	struct ep_symbol found = {0};

	assert_int_equal(symbol(fx, "test_elf_file_local", &found), 0);
	assert_int_equal(found.va, va_of((const void *)&test_elf_file_local));
}

EP_TEST(thread_symbols_give_their_offset)
{
	struct fixture *fx = fixture_open("/proc/self/exe");
	struct ep_symbol first = {0}, second = {0};

	assert_int_equal(symbol(fx, "test_elf_file_thread_first", &first), 0);
	assert_int_equal(symbol(fx, "test_elf_file_thread_second", &second), 0);
	assert_int_equal(second.va - first.va, (uintptr_t)&test_elf_file_thread_second -
						       (uintptr_t)&test_elf_file_thread_first);
	assert_true(first.va < 4096);
}

/* .dynsym by hash against every symbol it has, in a library that has thousands. */
EP_TEST(every_dynamic_symbol_is_found)
{
	struct ep_symbol found = {0};
	struct fixture *libc = NULL;
	const char *path = NULL;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	assert_non_null(maps);
	while (!path && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/libc.so.6") && !strstr(line, "/libc-2"))
			continue;
		line[strcspn(line, "\n")] = '\0';
		path = strchr(line, '/');
	}
	(void)fclose(maps);
	assert_non_null(path);
	libc = fixture_open(path);
	{
		struct ep_elf_section symbols, strings;
		struct ep_elf_bytes symbol_bytes = {0}, string_bytes = {0};
		size_t n_found = 0;

		assert_int_equal(ep_elf_find_section(libc->elf, ".dynsym", &symbols), 0);
		assert_int_equal(ep_elf_find_section(libc->elf, ".dynstr", &strings), 0);
		assert_int_equal(ep_elf_read_section(libc->elf, &symbols, &symbol_bytes), 0);
		assert_int_equal(ep_elf_read_section(libc->elf, &strings, &string_bytes), 0);
		for (size_t i = 1; i < symbol_bytes.bytes / sizeof(Elf64_Sym); i++) {
			const Elf64_Sym *at =
				(const Elf64_Sym *)(const void *)symbol_bytes.data + i;
			const char *name = (const char *)string_bytes.data + at->st_name;

			if (at->st_shndx == SHN_UNDEF)
				continue;
			if (symbol(libc, name, &found) < 0)
				fail_msg("%s is not found", name);
			n_found++;
		}
		assert_true(n_found > 1000);
		assert_int_equal(libc->file.lookup.statics.result, 1); /* never looked at */
		ep_elf_bytes_fini(&symbol_bytes);
		ep_elf_bytes_fini(&string_bytes);
	}
}

EP_TEST(a_stripped_file_has_only_dynamic_symbols)
{
	struct fixture *full = fixture_sample("full"), *stripped = fixture_sample("stripped");
	struct ep_symbol found = {0}, again = {0};

	assert_int_equal(symbol(full, "sample_compare", &found), 0);
	assert_int_equal(symbol(full, "sample_compare", &again), 0);
	assert_int_equal(found.va, again.va);
	assert_int_equal(symbol(stripped, "sample_compare", &found), -ENODATA);
	assert_int_equal(symbol(stripped, "sample_compare", &found), -ENODATA);
}

EP_TEST(a_debug_file_has_the_rest)
{
	struct fixture *fx, *full = fixture_sample("full");
	struct ep_symbol found = {0}, expected = {0};
	char root[4096], path[4096 + 16];

	snprintf(root, sizeof(root), "%s/root", ep_test_argument[0]);
	snprintf(path, sizeof(path), "%s/bin/stripped", root);
	fx = fixture_open_in(root, path, "/bin/stripped");
	assert_int_equal(symbol(full, "sample_compare", &expected), 0);
	assert_int_equal(symbol(fx, "sample_compare", &found), 0);
	assert_int_equal(found.va, expected.va);
	assert_int_equal(symbol(fx, "sample_compare2", &found), -ENODATA);
}

/* Without .eh_frame of its own, a file has the bounds that its debug file's .debug_frame gives. */
EP_TEST(a_debug_file_has_function_bounds)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct ep_symbol known = {0}, found = {0};
	struct fixture *fx, *alone = fixture_sample("beside/bare");
	char path[4096];

	snprintf(path, sizeof(path), "%s/beside/bare", ep_test_argument[0]);
	fx = fixture_open_in("", path, path);
	assert_int_equal(symbol(alone, "sample_known", &known), 0);
	assert_int_equal(host->file_function(&alone->file.file, known.va + 1, &found), -ENODATA);
	assert_int_equal(host->file_function(&fx->file.file, known.va + 1, &found), 0);
	assert_int_equal(found.va, known.va);
	assert_int_equal(found.bytes, known.bytes);
}

/* In a file without symbols, whose table of functions is for its own runtime. */
EP_TEST(functions_of_the_files_own_table_have_names)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct fixture *fx = fixture_sample("full");
	struct ep_symbol found;
	struct ep_elf_file file;
	struct ep_elf *elf = NULL;
	static struct made made;

	made_file(&made, &made_versions[EP_LEN(made_versions) - 1]);
	assert_int_equal(ep_elf_open_memory(made.bytes, sizeof(made.bytes), &elf), 0);
	ep_elf_file_init(&file, elf, NULL, "made");
	assert_int_equal(host->file_named(&file.file, "main.outer", &found), 0);
	assert_int_equal(found.va, MADE_TEXT_VA + made_starts[MADE_OUTER]);
	assert_int_equal(found.bytes, made_starts[MADE_OUTER + 1] - made_starts[MADE_OUTER]);
	assert_int_equal(host->file_named(&file.file, "main.nothing", &found), -ENODATA);
	assert_int_equal(host->file_named(&fx->file.file, "sample_known", &found), -ENODATA);
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
}

struct names_seen {
	struct fixture *fx;
	size_t n, stop_at;
	char last[64], all[4096];
};

/* In order, and what file_symbol says. */
static int see_name(void *arg, const char *name, const struct ep_symbol *found)
{
	struct names_seen *seen = arg;
	struct ep_symbol expected = {0};

	assert_true(strcmp(seen->last, name) < 0);
	snprintf(seen->last, sizeof(seen->last), "%s", name);
	assert_int_equal(symbol(seen->fx, name, &expected), 0);
	assert_int_equal(found->va, expected.va);
	assert_int_equal(found->bytes, expected.bytes);
	snprintf(seen->all + strlen(seen->all), sizeof(seen->all) - strlen(seen->all), "%s ", name);
	return ++seen->n == seen->stop_at;
}

static int see_names(struct names_seen *seen, const char *prefix)
{
	seen->n = 0;
	seen->last[0] = seen->all[0] = '\0';
	return ep_unwinder_host_get()->file_symbols(&seen->fx->file.file, prefix, see_name, seen);
}

/* test_elf_sample.c: of .dynsym and .symtab, functions, IFUNCs, data and labels, each once. */
EP_TEST(symbols_are_found_by_prefix)
{
	struct names_seen seen = {.fx = fixture_sample("full")};

	assert_int_equal(see_names(&seen, "sample_"), 0);
	assert_string_equal(seen.all,
			    "sample_asm_func sample_asm_label sample_asm_long "
			    "sample_compare sample_ifunc sample_inner_label sample_known "
			    "sample_public sample_resolve sample_w ");
	assert_int_equal(see_names(&seen, "sample_compare"), 0);
	assert_string_equal(seen.all, "sample_compare ");
	assert_int_equal(see_names(&seen, "sample_compares"), 0);
	assert_int_equal(seen.n, 0);
	seen.stop_at = 2;
	assert_int_equal(see_names(&seen, "sample_"), 0);
	assert_string_equal(seen.all, "sample_asm_func sample_asm_label ");
	seen = (struct names_seen){.fx = fixture_sample("stripped")};
	assert_int_equal(see_names(&seen, "sample_c"), 0);
	assert_int_equal(seen.n, 0);
	assert_int_equal(see_names(&seen, "sample_k"), 0);
	assert_string_equal(seen.all, "sample_known ");
}

static int count_name(void *arg, const char *name, const struct ep_symbol *found)
{
	(*(size_t *)arg)++;
	return 0;
}

EP_TEST(too_many_symbols_are_none)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct fixture *fx = fixture_sample("crowd");
	size_t n = 0;

	assert_int_equal(host->file_symbols(&fx->file.file, "crowd_", count_name, &n), -E2BIG);
	assert_int_equal(n, 0);
	assert_int_equal(host->file_symbols(&fx->file.file, "crowd_1", count_name, &n), 0);
	assert_int_equal(n, 1111); /* 1, 10 to 19, 100 to 199, 1000 to 1999 */
}

EP_TEST(sections_without_bits_have_an_address)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct fixture *fx = fixture_open("/proc/self/exe");
	struct ep_symbol found = {0};

	assert_int_equal(host->file_section(&fx->file.file, ".bss", &found), 0);
	assert_true(va_of(test_elf_file_zeroed) >= found.va);
	assert_true(va_of(test_elf_file_zeroed) + sizeof(test_elf_file_zeroed) <=
		    found.va + found.bytes);
	assert_int_equal(host->file_section(&fx->file.file, ".bs", &found), -ENODATA);
}

EP_TEST(bytes_are_read_by_address)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct fixture *fx = fixture_open("/proc/self/exe");
	const struct ep_file *file = &fx->file.file;
	uint64_t buf[4];
	uint8_t code[8];

	assert_int_equal(host->file_read(file, va_of(test_elf_file_constant), buf, sizeof(buf)), 0);
	assert_memory_equal(buf, test_elf_file_constant, sizeof(buf));
	memset(buf, 0xff, sizeof(buf));
	test_elf_file_zeroed[3] = 5; /* the file does not know */
	assert_int_equal(host->file_read(file, va_of(test_elf_file_zeroed), buf, sizeof(buf)), 0);
	assert_int_equal(buf[0] | buf[1] | buf[2] | buf[3], 0);
	assert_int_equal(host->file_read(file, va_of(test_elf_file_function), code, sizeof(code)),
			 0);
	assert_memory_equal(code, (const void *)test_elf_file_function, sizeof(code));
	assert_int_equal(host->file_read(file, UINT64_MAX - 4, buf, sizeof(buf)), -ENODATA);
	assert_int_equal(host->file_read(file, 1ull << 40, buf, sizeof(buf)), -ENODATA);
}

EP_TEST(functions_have_the_bounds_of_their_fde)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct fixture *fx = fixture_open("/proc/self/exe");
	uint64_t va = va_of(test_elf_file_function);
	struct ep_symbol by_name = {0}, found = {0};

	assert_true(test_elf_file_function(1) > 0);
	assert_int_equal(symbol(fx, "test_elf_file_function", &by_name), 0);
	assert_int_equal(host->file_function(&fx->file.file, va, &found), 0);
	assert_int_equal(found.va, by_name.va);
	assert_int_equal(found.bytes, by_name.bytes);
	assert_int_equal(host->file_function(&fx->file.file, va + by_name.bytes - 1, &found), 0);
	assert_int_equal(found.va, va);
	assert_int_equal(host->file_function(&fx->file.file, 0, &found), -ENODATA);
	assert_int_equal(host->file_function(&fx->file.file, UINT64_MAX, &found), -ENODATA);
}

/* --- the process --- */

struct seen {
	uint64_t addr;
	size_t n;
	bool mapped, found, stop;
};

static int see(void *arg, const struct ep_target_mapping *mapping)
{
	struct seen *seen = arg;

	seen->n++;
	seen->mapped |= seen->addr >= mapping->start && seen->addr < mapping->end;
	if (seen->addr >= mapping->start && seen->addr < mapping->end)
		seen->found = mapping->is_file && mapping->prot == (PROT_READ | PROT_EXEC) &&
			      strstr(mapping->path, "test_elf_file");
	return seen->stop;
}

static size_t maps_reads;

int __real_ep_maps_read(struct ep_maps *maps, pid_t pid, enum ep_maps_filter filter);
int __wrap_ep_maps_read(struct ep_maps *maps, pid_t pid, enum ep_maps_filter filter)
{
	maps_reads++;
	return __real_ep_maps_read(maps, pid, filter);
}

EP_TEST(mappings_of_a_process_are_visited)
{
	struct seen seen = {.addr = (uintptr_t)test_elf_file_function}, first = {.stop = true};
	struct ep_process_target process;

	ep_process_target_init(&process, getpid());
	assert_int_equal(ep_process_target_ops.mappings(&process, see, &seen), 0);
	assert_true(seen.found && seen.n > 10);
	assert_int_equal(ep_process_target_ops.mappings(&process, see, &first), 0);
	assert_int_equal(first.n, 1);
	ep_process_target_end_job(&process);
}

/* What was mapped meanwhile is seen by the next one. */
EP_TEST(a_job_reads_mappings_once)
{
	struct fixture *fx = fixture_open("/proc/self/exe");
	struct ep_process_target process;
	struct seen seen = {0}, new = {0};
	struct ep_symbol variable = {0};
	struct ep_tls tls;
	void *page;

	assert_int_equal(symbol(fx, "test_elf_file_thread_first", &variable), 0);
	ep_process_target_init(&process, getpid());
	maps_reads = 0;
	process.module_addr = (uintptr_t)test_elf_file_function;
	process.bias = (uintptr_t)&__ehdr_start;
	assert_int_equal(ep_process_target_ops.tls_variable(&process, variable.va, &tls), 0);
	assert_int_equal(ep_process_target_ops.tls_key(&process, 0, &tls), 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	seen.addr = new.addr = (uintptr_t)page;
	assert_int_equal(ep_process_target_ops.mappings(&process, see, &seen), 0);
	assert_int_equal(maps_reads, 1);
	assert_false(seen.mapped);
	ep_process_target_end_job(&process);
	assert_int_equal(ep_process_target_ops.mappings(&process, see, &new), 0);
	assert_int_equal(maps_reads, 2);
	assert_true(new.mapped);
	ep_process_target_end_job(&process);
	(void)munmap(page, 4096);
}

EP_TEST(mappings_that_could_not_be_read_are_read_again)
{
	struct ep_process_target process;
	struct seen seen = {0};

	ep_process_target_init(&process, INT32_MAX);
	maps_reads = 0;
	assert_int_equal(ep_process_target_ops.mappings(&process, see, &seen), -ESRCH);
	assert_int_equal(ep_process_target_ops.mappings(&process, see, &seen), -ESRCH);
	assert_int_equal(maps_reads, 2);
	assert_int_equal(seen.n, 0);
	ep_process_target_end_job(&process);
}

EP_TEST(memory_of_a_process_is_read_all_or_nothing)
{
	struct ep_process_target own, none;
	uint64_t buf[4] = {0};

	ep_process_target_init(&own, getpid());
	ep_process_target_init(&none, INT32_MAX);
	assert_int_equal(ep_process_target_ops.read(&own, (uintptr_t)test_elf_file_constant, buf,
						    sizeof(buf)),
			 0);
	assert_memory_equal(buf, test_elf_file_constant, sizeof(buf));
	assert_int_equal(ep_process_target_ops.read(&own, 8, buf, sizeof(buf)), -EFAULT);
	assert_int_equal(ep_process_target_ops.read(&none, 8, buf, sizeof(buf)), -ESRCH);
}
