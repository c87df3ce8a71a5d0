/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embedded builtins of every Node that this machine has, with symbols (npm's) and without
 * (Debian's): each where its symbol says; nearly all of their code has rows. Arguments: more files.
 */
#include "plugins/v8/code/builtins.h"

#include "core/base/clock.h"
#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/unwinder.h"
#include "tests/kit/fakes.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIP		77
/* percent of the bytes of builtins: 12 and 14 have tables after the code */
#define MIN_RULED	92
/* percent: where stacks are switched, and where deoptimization writes one anew */
#define MAX_UNKNOWN 0.5
#define RUNTIMES	"/var/tmp/ebpf-profiler-runtimes"

static const char *const patterns[] = {
	RUNTIMES "/npm-node*/bin/node",
	RUNTIMES "/*/usr/lib/x86_64-linux-gnu/libnode.so.*",
	"/usr/lib/x86_64-linux-gnu/libnode.so.*",
};

static bool verbose; /* EP_TEST_VERBOSE is set: what has no rows */

/* What is found in a file. */
struct found {
	struct v8_builtins *builtins;
	struct ep_vec rows; /* struct v8_builtin_row */
	double read_ms, rows_ms;
};

static int read_file(const struct ep_file *file, struct found *ret)
{
	uint64_t start_ns = ep_clock_cpu_ns(), read_ns;
	int r = v8_builtins_read(ep_unwinder_host_get(), file, &ret->builtins);

	read_ns = ep_clock_cpu_ns();
	ret->read_ms = (double)(read_ns - start_ns) / 1e6;
	if (!r)
		r = v8_builtins_make_rows(ret->builtins, ep_unwinder_host_get(), file, &ret->rows);
	ret->rows_ms = (double)(ep_clock_cpu_ns() - read_ns) / 1e6;
	return r;
}

/* --- what is to hold */

struct count {
	const struct v8_builtins *builtins;
	size_t n, wrong;
};

#define PREFIX "Builtins_"

static int check_symbol(void *arg, const char *name, const struct ep_symbol *symbol)
{
	struct count *count = arg;
	const struct v8_builtin *builtin = v8_builtins_find(count->builtins, name + strlen(PREFIX));

	count->n++;
	if (builtin && builtin->va == symbol->va &&
	    (!symbol->bytes || builtin->bytes == symbol->bytes) &&
	    v8_builtins_at(count->builtins, symbol->va) == builtin)
		return 0;
	if (count->wrong++ < 5)
		printf("    %s: %#llx, %llu bytes, by metadata %#llx, %u\n", name,
		       (unsigned long long)symbol->va, (unsigned long long)symbol->bytes,
		       builtin ? (unsigned long long)builtin->va : 0, builtin ? builtin->bytes : 0);
	return 0;
}

static bool check_symbols(const struct ep_file *file, const struct v8_builtins *builtins)
{
	struct count count = { .builtins = builtins };
	int r = ep_unwinder_host_get()->file_symbols(file, PREFIX, check_symbol, &count);

	printf("    %zu symbols, %zu wrong\n", count.n, count.wrong);
	return !r && !count.wrong && (!count.n || count.n + 16 >= v8_builtins_count(builtins));
}

/* Bytes of a builtin that have rows which say something. *i: the first row that can be of it. */
static uint64_t ruled_bytes(const struct v8_builtin *builtin, const struct v8_builtin_row *rows,
			    size_t n, size_t *i)
{
	uint64_t end = builtin->va + builtin->bytes, ruled = 0;

	while (*i < n && rows[*i].va_end <= builtin->va)
		++*i;
	for (size_t at = *i; at < n && rows[at].va < end; at++)
		if (rows[at].base != V8_ROW_NONE)
			ruled += EP_MIN(rows[at].va_end, end) - EP_MAX(rows[at].va, builtin->va);
	return ruled;
}

static bool are_rows(const struct v8_builtin_row *rows, size_t n)
{
	uint64_t before = 0;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].va < before || rows[i].va_end <= rows[i].va)
			return false;
		before = rows[i].va_end;
	}
	return n > 1000 && n <= V8_MAX_BUILTIN_ROWS;
}

static bool check_rows(const struct found *found)
{
	const struct v8_builtins *builtins = found->builtins;
	const struct v8_builtin_row *rows = found->rows.data;
	size_t n = found->rows.len, at = 0, handlers = 0;
	uint64_t code = 0, ruled = 0, unknown = 0;

	for (size_t i = 0; i < v8_builtins_count(builtins); i++) {
		const struct v8_builtin *builtin = v8_builtins_get(builtins, i);
		uint64_t bytes = ruled_bytes(builtin, rows, n, &at);

		code += builtin->bytes;
		ruled += bytes;
		handlers += !!(builtin->flags & V8_BUILTIN_HANDLER);
		if (verbose && (bytes < builtin->bytes || builtin->flags & ~V8_BUILTIN_HANDLER))
			printf("    %s: %llu of %u bytes, flags %u\n", builtin->name,
			       (unsigned long long)bytes, builtin->bytes, builtin->flags);
	}
	for (size_t i = 0; i < n; i++)
		unknown += rows[i].base == V8_ROW_NONE ? rows[i].va_end - rows[i].va : 0;
	printf("    %zu rows, %.2f %% of %llu bytes, %.2f %% unknown, %zu handlers\n", n,
	       100. * (double)ruled / (double)code, (unsigned long long)code,
	       100. * (double)unknown / (double)code, handlers);
	return are_rows(rows, n) && 100. * (double)ruled >= MIN_RULED * (double)code &&
	       100. * (double)unknown <= MAX_UNKNOWN * (double)code && handlers > 100;
}

static bool check_single_ones(const struct v8_builtins *builtins)
{
	const struct v8_builtin *trampoline =
		v8_builtins_find(builtins, "InterpreterEntryTrampoline");
	uint64_t back = v8_builtins_dispatch_return(builtins);
	struct v8_entry_offsets offsets;

	v8_builtins_entry_offsets(builtins, &offsets);
	printf("    dispatch %+lld, r13 %d: c_entry_fp %#x, fast %#x %#x, js_entry_sp %#x, "
	       "deopt %#x %#x\n",
	       trampoline ? (long long)(back - trampoline->va) : 0, offsets.isolate,
	       offsets.c_entry_fp, offsets.fast_c_call_fp, offsets.fast_c_call_pc,
	       offsets.js_entry_sp, offsets.deopt_input, offsets.deopt_content);
	return trampoline && v8_builtins_at(builtins, back) == trampoline &&
	       offsets.isolate == -0x80 && offsets.c_entry_fp &&
	       offsets.js_entry_sp > offsets.c_entry_fp && v8_builtins_find(builtins, "JSEntry") &&
	       (offsets.deopt_input > 0 && offsets.deopt_content > 0) ==
		       !!v8_builtins_find(builtins, "DeoptimizationEntry_Eager") &&
	       v8_builtins_find(builtins, "JSConstructEntry") &&
	       !v8_builtins_find(builtins, "NoSuchBuiltin");
}

/* 0 right, 1 wrong, -1: it has none. */
static int check(const struct ep_file *file)
{
	struct found found = { 0 };
	int r = read_file(file, &found);
	bool right = !r && check_symbols(file, found.builtins) && check_rows(&found) &&
		     check_single_ones(found.builtins);

	printf("    %d in %.1f ms; rows in %.1f ms\n", r, found.read_ms, found.rows_ms);
	ep_vec_fini(&found.rows);
	v8_builtins_free(found.builtins);
	return r == -ENODATA ? -1 : !right;
}

static int check_path(const char *path)
{
	struct ep_elf_file file = { 0 };
	struct ep_elf *elf = NULL;
	int r = ep_elf_open(path, &elf);

	printf("%s\n", path);
	if (r)
		return 1;
	ep_elf_file_init(&file, elf, NULL, path);
	r = check(&file.file);
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	return r;
}

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0, without = 0;

	verbose = getenv("EP_TEST_VERBOSE") != NULL;
	for (size_t i = 0; i < EP_LEN(patterns) + (size_t)(argc - 1); i++) {
		glob_t found;

		if (glob(i < EP_LEN(patterns) ? patterns[i] : argv[i - EP_LEN(patterns) + 1], 0,
			 NULL, &found))
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++) {
			int r = check_path(found.gl_pathv[j]);

			printf("    %s\n", r > 0 ? "FAILED" : r ? "has none" : "ok");
			*(r > 0 ? &failed : r ? &without : &passed) += 1;
		}
		globfree(&found);
	}
	printf("%u right, %u wrong, %u without embedded builtins\n", passed, failed, without);
	if (!passed && !failed)
		printf("SKIPPED: no Node of 12 or up\n");
	return failed ? 1 : passed ? 0 : SKIP;
}
