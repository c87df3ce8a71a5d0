/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time from an opened ELF file to its finished table of stack deltas, with the file in the page
 * cache; MB/s are 10^6 bytes of CFI per second.
 *
 *	bench_unwind [-n ROUNDS] FILE...
 *
 * cold: file to table, the first time in a fresh process; median of several processes.
 * file: file to table, again and again in one process. Section and table are new memory each time.
 * warm: .eh_frame in memory to table, again and again. The table is new memory each time.
 * Of the last two, the median, and the best in parentheses: other load only ever makes it slower.
 */
#include "core/base/clock.h"
#include "core/elf/file.h"
#include "core/unwind/build.h"
#include "core/unwind/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define COLD_RUNS 9

struct run {
	uint64_t ns;
	uint64_t section_bytes, fdes, deltas, bytes;
};

/* What is built, and from what. */
struct subject {
	struct ep_elf *elf;
	struct ep_eh_source source; /* warm: read once */
	struct ep_build_input input;
};

static int build_file(struct subject *subject, struct ep_unwind_table **ret_table)
{
	return ep_unwind_table_build(subject->elf, NULL, ret_table);
}

static int build_memory(struct subject *subject, struct ep_unwind_table **ret_table)
{
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
		bool ok = ep_elf_open(path, &subject.elf) == 0 &&
			  measure(&subject, build_file, ret) == 0;

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

/* ret[0]: the median, ret[1]: the best. */
static int measure_often(struct subject *subject,
			 int (*build)(struct subject *, struct ep_unwind_table **), size_t rounds,
			 struct run ret[2])
{
	ep_autofree struct run *runs = calloc(rounds, sizeof(*runs));
	int r = runs ? 0 : -ENOMEM;

	for (size_t i = 0; i < rounds && r == 0; i++)
		r = measure(subject, build, &runs[i]);
	if (r < 0)
		return r;
	ret[0] = median(runs, rounds);
	ret[1] = runs[0];
	return 0;
}

static double mb_per_s(const struct run *run)
{
	return (double)run->section_bytes * 1e3 / (double)EP_MAX(run->ns, 1);
}

static int measure_all(struct subject *subject, const char *path, size_t rounds, struct run runs[5])
{
	int r;

	r = measure_cold(path, &runs[0]);
	if (r == 0)
		r = ep_elf_open(path, &subject->elf);
	if (r == 0)
		r = measure_often(subject, build_file, rounds, &runs[1]);
	if (r == 0)
		r = read_eh_frame(subject);
	if (r == 0)
		r = measure_often(subject, build_memory, rounds, &runs[3]);
	return r;
}

static int bench_file(const char *path, size_t rounds)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	struct run runs[5] = { 0 };
	int r = subject ? measure_all(subject, path, rounds, runs) : -ENOMEM;

	if (r < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
	else
		printf("%s: %.2f MB, %zu FDEs, %zu deltas, table %.2f MB; cold %.2f ms %.0f MB/s; "
		       "file %.2f ms %.0f MB/s (%.0f); warm %.2f ms %.0f MB/s (%.0f)\n",
		       path, (double)runs[0].section_bytes / 1e6, (size_t)runs[0].fdes,
		       (size_t)runs[0].deltas, (double)runs[0].bytes / 1e6, (double)runs[0].ns / 1e6,
		       mb_per_s(&runs[0]), (double)runs[1].ns / 1e6, mb_per_s(&runs[1]),
		       mb_per_s(&runs[2]), (double)runs[3].ns / 1e6, mb_per_s(&runs[3]),
		       mb_per_s(&runs[4]));
	if (subject) {
		ep_eh_source_close(&subject->source);
		ep_elf_close(subject->elf);
		free(subject);
	}
	return r;
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
