/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time from an opened ELF file to its finished table of stack deltas, with the file in the page
 * cache; MB/s are 10^6 bytes of CFI per second. Rows for scripts/bench; details go to stderr.
 *
 *	bench_unwind [-n ROUNDS] [FILE...]	no FILE: libc, libjvm.so, node and Go's compiler, where
 *						there are any
 *
 * cold: file to table, the first time in a fresh process; median of several processes.
 * warm: .eh_frame in memory to table, again and again, in the memory of the table before; the median.
 *
 * Of a Go program, which has a function table instead: cold time for each 100 MB of its file, and how much
 * memory the process has at its peak above what it had before, the rules included.
 */
#include "core/base/clock.h"
#include "core/elf/file.h"
#include "core/pclntab/pclntab.h"
#include "core/unwind/build.h"
#include "core/unwind/source.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define COLD_RUNS 9
#define SKIPPED	  77

/* The bars of "`.eh_frame` to rules", MB/s. */
#define COLD_BAR 300
#define WARM_BAR 800

/* The bars of "rules for a 100 MB Go binary". */
#define FUNCTIONS_MS_BAR  150
#define FUNCTIONS_MIB_BAR 8

enum { COLD, WARM, N_RUNS };

struct run {
	uint64_t ns;
	uint64_t section_bytes, fdes, functions, deltas, bytes;
	long peak_kib; /* in a fresh process: what it took */
};

/* What is built, and from what. */
struct subject {
	struct ep_elf *elf;
	struct ep_eh_source source; /* warm: read once */
	struct ep_build_input input;
	struct ep_build_memory memory; /* warm: of all rounds */
};

static int build_file(struct subject *subject, struct ep_unwind_table **ret_table)
{
	return ep_unwind_table_build(subject->elf, NULL, ret_table);
}

static int build_warm(struct subject *subject, struct ep_unwind_table **ret_table)
{
	subject->input.memory = &subject->memory;
	return ep_build(&subject->input, ret_table);
}

static int measure(struct subject *subject, int (*build)(struct subject *, struct ep_unwind_table **),
		   struct run *ret)
{
	struct ep_unwind_table *table = NULL;
	uint64_t start = ep_clock_mono_ns();
	int r = build(subject, &table);

	if (r < 0)
		return r;
	*ret = (struct run){
		.ns = ep_clock_mono_ns() - start,
		.section_bytes = table->stats.section_bytes,
		.fdes = table->stats.fdes,
		.functions = table->stats.functions,
		.deltas = table->n_deltas,
		.bytes = ep_unwind_table_bytes(table),
	};
	ep_unwind_table_free(table);
	return 0;
}

static int read_eh_frame(struct subject *subject)
{
	struct ep_elf_segment segments[EP_BUILD_MAX_RANGES];
	struct ep_build_input *input = &subject->input;
	size_t n = ep_elf_exec_segments(subject->elf, segments, EP_BUILD_MAX_RANGES);
	int r = ep_eh_source_open(&subject->source, subject->elf, false);

	if (r < 0)
		return r;
	input->machine = ep_machine_find(ep_elf_machine(subject->elf));
	input->lists[input->n_lists++] = &subject->source.list;
	for (size_t i = 0; i < EP_MIN(n, (size_t)EP_BUILD_MAX_RANGES); i++)
		input->ranges[input->n_ranges++] = (struct ep_pack_range){
			.start = segments[i].va, .end = segments[i].va + segments[i].file_bytes
		};
	ep_build_sort_ranges(input);
	return input->machine ? 0 : -ENOTSUP;
}

static int compare_runs(const void *left, const void *right)
{
	const struct run *a = left, *b = right;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static struct run median(struct run *runs, size_t n)
{
	qsort(runs, n, sizeof(*runs), compare_runs);
	return runs[n / 2];
}

static long peak_kib(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static int build_in_child(const char *path, struct run *ret)
{
	static struct subject subject; /* large */
	int pipe_fds[2], status;
	ssize_t got;
	pid_t pid;

	if (pipe(pipe_fds) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		long before = peak_kib();
		bool ok = ep_elf_open(path, &subject.elf) == 0 &&
			  measure(&subject, build_file, ret) == 0;

		ret->peak_kib = peak_kib() - before;
		_exit(ok && write(pipe_fds[1], ret, sizeof(*ret)) == sizeof(*ret) ? 0 : 1);
	}
	close(pipe_fds[1]);
	got = pid > 0 ? read(pipe_fds[0], ret, sizeof(*ret)) : -1;
	close(pipe_fds[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return got == sizeof(*ret) ? 0 : -EIO;
}

static int measure_cold(const char *path, struct run *ret)
{
	struct run runs[COLD_RUNS];
	int r;

	for (size_t i = 0; i < COLD_RUNS; i++) {
		r = build_in_child(path, &runs[i]);
		if (r < 0)
			return r;
	}
	*ret = median(runs, COLD_RUNS);
	return 0;
}

static int measure_warm(struct subject *subject, size_t rounds, struct run *ret)
{
	ep_autofree struct run *runs = calloc(rounds, sizeof(*runs));
	int r = runs ? 0 : -ENOMEM;

	for (size_t i = 0; i < rounds && r == 0; i++)
		r = measure(subject, build_warm, &runs[i]);
	if (r == 0)
		*ret = median(runs, rounds);
	return r;
}

static double mb_per_s(const struct run *run)
{
	return (double)run->section_bytes * 1e3 / (double)EP_MAX(run->ns, 1);
}

static int measure_all(struct subject *subject, const char *path, size_t rounds,
		       struct run runs[N_RUNS])
{
	int r;

	r = measure_cold(path, &runs[COLD]);
	if (r == 0)
		r = ep_elf_open(path, &subject->elf);
	if (r == 0)
		r = read_eh_frame(subject);
	if (r == 0)
		r = measure_warm(subject, rounds, &runs[WARM]);
	return r;
}

static void print_row(const char *what, const char *name, const struct run *run, unsigned int bar)
{
	double value = mb_per_s(run);

	printf(".eh_frame to rules, %s: %s\t%.0f\tMB/s\t>= %u\t%s\n", what, name, value, bar,
	       value >= bar ? "met" : "missed");
}

static void print_rows(const char *name, const struct run runs[N_RUNS])
{
	print_row("cold", name, &runs[COLD], COLD_BAR);
	print_row("warm", name, &runs[WARM], WARM_BAR);
	fflush(stdout);
}

static bool has_functions(const char *path)
{
	ep_cleanup(ep_pclntab_closep) struct ep_pclntab *tab = NULL;
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;

	return ep_elf_open(path, &elf) == 0 && ep_pclntab_open(elf, 0, &tab) == 0;
}

static void print_functions(const char *what, const char *name, double value, const char *unit, double bar)
{
	printf("function table to rules%s: %s\t%.1f\t%s\t<= %.0f\t%s\n", what, name, value, unit, bar,
	       value <= bar ? "met" : "missed");
}

static int bench_functions(const char *path)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct run run;
	double bytes, ms;
	int r = measure_cold(path, &run);

	if (r == 0)
		r = ep_elf_open(path, &elf);
	if (r < 0)
		return r;
	bytes = (double)ep_elf_file_bytes(elf);
	ms = (double)run.ns / 1e6;
	fprintf(stderr, "%s: %.1f MB, %zu functions, %zu deltas, table %.2f MB; cold %.2f ms, peak %ld KiB\n",
		path, bytes / 1e6, (size_t)run.functions, (size_t)run.deltas, (double)run.bytes / 1e6, ms,
		run.peak_kib);
	print_functions("", name, ms * 1e8 / bytes, "ms for 100 MB", FUNCTIONS_MS_BAR);
	print_functions(", memory", name, (double)run.peak_kib / 1024, "MiB", FUNCTIONS_MIB_BAR);
	fflush(stdout);
	return 0;
}

static int bench_file(const char *path, size_t rounds, struct run total[N_RUNS])
{
	struct subject *subject;
	struct run runs[N_RUNS] = { 0 };
	const char *slash = strrchr(path, '/');
	int r;

	if (has_functions(path))
		return bench_functions(path);
	subject = calloc(1, sizeof(*subject));
	r = subject ? measure_all(subject, path, rounds, runs) : -ENOMEM;

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
	} else {
		fprintf(stderr, "%s: %.2f MB, %" PRIu64 " FDEs, %" PRIu64 " deltas, table %.2f MB\n", path,
			(double)runs[COLD].section_bytes / 1e6, runs[COLD].fdes, runs[COLD].deltas,
			(double)runs[COLD].bytes / 1e6);
		print_rows(slash ? slash + 1 : path, runs);
		for (size_t i = 0; i < N_RUNS; i++) {
			total[i].ns += runs[i].ns;
			total[i].section_bytes += runs[i].section_bytes;
		}
	}
	if (subject) {
		ep_build_memory_fini(&subject->memory);
		ep_eh_source_close(&subject->source);
		ep_elf_close(subject->elf);
		free(subject);
	}
	return r;
}

/* The first file of each kind that there is; what is missing is left out. */
static int bench_usual(size_t rounds, struct run total[N_RUNS])
{
	static const char *const places[] = {
		"/{usr/lib,lib}/{x86_64,aarch64}-linux-gnu/libc.so.6",
		"/{usr/lib64,lib64}/libc.so.6",
		"/usr/lib/jvm/*/lib/server/libjvm.so",
		"/{usr/bin,usr/local/bin,opt/*/bin}/node",
		"/{usr/local/go,usr/lib/go-*}/pkg/tool/*/compile",
	};
	int failed = 0;

	for (size_t i = 0; i < EP_LEN(places); i++) {
		glob_t found = { 0 };

		if (glob(places[i], GLOB_BRACE, NULL, &found) == 0)
			failed |= bench_file(found.gl_pathv[0], rounds, total) < 0;
		else
			fprintf(stderr, "no %s\n", places[i]);
		globfree(&found);
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct run total[N_RUNS] = { 0 };
	size_t rounds = 50;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "n:")) != -1) {
		if (option != 'n' || strtoul(optarg, NULL, 10) == 0) {
			fprintf(stderr, "usage: %s [-n ROUNDS] [FILE...]\n", argv[0]);
			return 2;
		}
		rounds = strtoul(optarg, NULL, 10);
	}
	for (int i = optind; i < argc; i++)
		failed |= bench_file(argv[i], rounds, total) < 0;
	if (optind == argc)
		failed = bench_usual(rounds, total);
	if (total[COLD].section_bytes)
		print_rows("all bytes", total);
	else if (!failed && optind == argc)
		puts("none of the usual files is here: name some");
	return failed ? 1 : total[COLD].section_bytes || optind < argc ? 0 : SKIPPED;
}
