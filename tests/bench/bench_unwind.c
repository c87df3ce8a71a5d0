/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time from an opened ELF file to its finished table of stack deltas, reading of the section
 * included, with the file in the page cache.
 *
 *	bench_unwind [-n ROUNDS] FILE...
 *
 * Prints per file: size of the CFI, FDEs, deltas, bytes of the table, then milliseconds and MB/s
 * (10^6 bytes of CFI) cold and warm. Cold: the first build of a fresh process, median of several
 * processes. Warm: the median and the best of many builds in one process. Both map and touch new memory
 * for the section and the table, since a table's memory goes back to the system.
 */
#include "core/base/clock.h"
#include "core/elf/file.h"
#include "core/unwind/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define COLD_RUNS 9

struct run {
	uint64_t ns;
	uint64_t section_bytes, fdes, deltas, bytes;
};

static int build_once(const struct ep_elf *elf, struct run *ret)
{
	struct ep_unwind_table *table = NULL;
	uint64_t start = ep_clock_mono_ns();
	int r = ep_unwind_table_build(elf, NULL, &table);

	if (r < 0)
		return r;
	*ret = (struct run){
		.ns = ep_clock_mono_ns() - start,
		.section_bytes = table->stats.section_bytes,
		.fdes = table->stats.fdes,
		.deltas = table->n_deltas,
		.bytes = ep_unwind_table_bytes(table),
	};
	ep_unwind_table_free(table);
	return 0;
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

static int build_in_child(const char *path, struct run *ret)
{
	struct ep_elf *elf = NULL;
	int pipe_fds[2], status;
	ssize_t got;
	pid_t pid;

	if (pipe(pipe_fds) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		bool ok = ep_elf_open(path, &elf) == 0 && build_once(elf, ret) == 0;

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

static int measure_warm(const char *path, size_t rounds, struct run *ret, struct run *ret_best)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_autofree struct run *runs = calloc(rounds, sizeof(*runs));
	int r;

	r = runs ? ep_elf_open(path, &elf) : -ENOMEM;
	for (size_t i = 0; i < rounds && r == 0; i++)
		r = build_once(elf, &runs[i]);
	if (r < 0)
		return r;
	*ret = median(runs, rounds);
	*ret_best = runs[0];
	return 0;
}

static double mb_per_s(const struct run *run)
{
	return (double)run->section_bytes * 1e3 / (double)EP_MAX(run->ns, 1);
}

static int bench_file(const char *path, size_t rounds)
{
	struct run cold = { 0 }, warm = { 0 }, best = { 0 };
	int r;

	r = measure_cold(path, &cold);
	if (r == 0)
		r = measure_warm(path, rounds, &warm, &best);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		return r;
	}
	printf("%-50s %8.2f MB %7zu FDEs %8zu deltas %8.2f MB table  cold %7.2f ms %6.0f MB/s  warm %7.2f ms %6.0f MB/s  best %6.0f MB/s\n",
	       path, (double)warm.section_bytes / 1e6, (size_t)warm.fdes, (size_t)warm.deltas,
	       (double)warm.bytes / 1e6, (double)cold.ns / 1e6, mb_per_s(&cold),
	       (double)warm.ns / 1e6, mb_per_s(&warm), mb_per_s(&best));
	return 0;
}

int main(int argc, char **argv)
{
	size_t rounds = 50;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "n:")) != -1) {
		if (option != 'n' || strtoul(optarg, NULL, 10) == 0)
			return 2;
		rounds = strtoul(optarg, NULL, 10);
	}
	if (optind == argc) {
		fprintf(stderr, "usage: %s [-n ROUNDS] FILE...\n", argv[0]);
		return 2;
	}
	for (int i = optind; i < argc; i++)
		failed |= bench_file(argv[i], rounds) < 0;
	return failed;
}
