/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming a Perl frame: the subs of a live process that has loaded some thousand (programs/subs.pl), read
 * with process_vm_readv. New ones are each read once into an empty cache, in several rounds; known ones come from
 * the cache, in random order.
 *
 *	bench_perl_names [PERL [SCRIPT]]
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/base/util.h"
#include "plugins/perl/perl_shared.h"
#include "plugins/perl/symbolize/names.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SUBS     8192
#define FEWEST	     1000
#define ROUNDS	     5
#define KNOWN	     4000000
#define NEW_BAR_NS   20000.0
#define KNOWN_BAR_NS 1000.0

struct ep_target {
	pid_t pid;
};

struct ep_names {
	uint64_t n;
};

static struct ep_target target;
static struct ep_names names;
static struct pl_layout layout;
static struct ep_raw_frame frames[MAX_SUBS];
static uint64_t times[ROUNDS * MAX_SUBS];
static size_t n_frames;

/* --- the host ------------------------------------------------------------------------------------ */

static int read_target(const struct ep_target *of, uint64_t addr, void *buf, size_t bytes)
{
	struct iovec local = {.iov_base = buf, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t got = process_vm_readv(of->pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EFAULT;
}

static int read_string(const struct ep_target *of, uint64_t addr, char *buf, size_t size)
{
	size_t n = EP_MIN(size - 1, 4096 - addr % 4096);
	int r = read_target(of, addr, buf, n);

	buf[r < 0 ? 0 : n] = '\0';
	return r;
}

static int count_name(struct ep_names *of, const struct ep_name *name)
{
	of->n += name->line > 0 && name->file && name->function[0] != '(';
	return 0;
}

static void count(const struct ep_target *of, uint32_t counter, uint64_t n)
{
	(void)of, (void)counter, (void)n;
}

static const struct ep_unwinder_host host = {
	.size = sizeof(struct ep_unwinder_host),
	.target_read = read_target,
	.target_string = read_string,
	.add_name = count_name,
	.count = count,
};

/* --- subs ---------------------------------------------------------------------------------------- */

static int start(const char *perl, const char *script, FILE **ret_out)
{
	int from[2];

	if (pipe(from) < 0)
		return -errno;
	target.pid = fork();
	if (target.pid < 0)
		return -errno;
	if (target.pid == 0) {
		(void)dup2(from[1], STDOUT_FILENO);
		(void)close(from[0]);
		execlp(perl, perl, script, (char *)NULL);
		_exit(127);
	}
	(void)close(from[1]);
	*ret_out = fdopen(from[0], "r");
	return *ret_out ? 0 : -errno;
}

/* As BPF pushes it, at its first statement. */
static void add_sub(uint64_t cv, uint64_t statement)
{
	__u64 words[PL_CV_WORDS], check;
	uint64_t body;

	if (n_frames == MAX_SUBS || read_target(&target, cv, &body, sizeof(body)) < 0 ||
	    read_target(&target, body + PL_CV_AT, words, sizeof(words)) < 0)
		return;
	check = pl_check_cv(words);
	frames[n_frames++] = (struct ep_raw_frame){
		.aux = (uint32_t)(check & 0xff) << PL_OP_BITS,
		.n_words = 2,
		.words = {(cv >> 3 & PL_ADDRESS_MASK) | (check >> 8 & 0xffff) << PL_CHECK_SHIFT |
				  (uint64_t)PL_KIND_SUB << PL_KIND_SHIFT,
			  (statement >> 3 & PL_ADDRESS_MASK) | check >> 24 << PL_ADDRESS_BITS},
	};
}

static void read_subs(FILE *out)
{
	uint64_t cv, statement;
	unsigned int minor;
	char line[128];

	while (fgets(line, sizeof(line), out) && strcmp(line, "ready\n") != 0) {
		if (sscanf(line, "release %u", &minor) == 1)
			(void)pl_layout_find(minor, &layout);
		else if (sscanf(line, "sub %" SCNu64 " %" SCNu64, &cv, &statement) == 2)
			add_sub(cv, statement);
	}
	layout.threads = true;
}

/* --- measuring ----------------------------------------------------------------------------------- */

static struct pl_namer new_namer(void)
{
	struct pl_namer namer = {.host = &host, .target = &target, .layout = &layout};

	if (pl_names_cache_new(&namer.cache) < 0 || pl_files_new(&namer.files) < 0)
		abort();
	return namer;
}

static void free_namer(struct pl_namer *namer)
{
	names_cache_free(namer->cache);
	pl_files_free(namer->files);
}

static void symbolize(const struct pl_namer *namer, const struct ep_raw_frame *frame)
{
	bool placed;

	if (pl_names_add(namer, frame, &names, &placed) != 0)
		abort();
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure_new(void)
{
	for (size_t round = 0; round < ROUNDS; round++) {
		struct pl_namer namer = new_namer();

		for (size_t i = 0; i < n_frames; i++) {
			uint64_t start_ns = ep_clock_mono_ns();

			symbolize(&namer, &frames[i]);
			times[round * n_frames + i] = ep_clock_mono_ns() - start_ns;
		}
		free_namer(&namer);
	}
	qsort(times, ROUNDS * n_frames, sizeof(*times), compare_times);
}

static double measure_known(size_t *ret_bytes)
{
	struct pl_namer namer = new_namer();
	uint64_t start_ns, ns;

	for (size_t i = 0; i < FEWEST; i++)
		symbolize(&namer, &frames[i]);
	start_ns = ep_clock_mono_ns();
	for (uint64_t i = 0; i < KNOWN; i++)
		symbolize(&namer, &frames[ep_mix64(i) % FEWEST]);
	ns = ep_clock_mono_ns() - start_ns;
	*ret_bytes = names_cache_bytes(namer.cache) / FEWEST;
	free_namer(&namer);
	return (double)ns / KNOWN;
}

static void print_row(const char *what, double ns, double bar)
{
	printf("%s\t%.0f\tns\t%.0f\t%s\n", what, ns, bar, ns <= bar ? "met" : "missed");
}

static int print_rows(void)
{
	size_t n = n_frames * ROUNDS, bytes;
	double known_ns = measure_known(&bytes), new_ns = 0;

	for (size_t i = 0; i < n; i++)
		new_ns += (double)times[i] / (double)n;
	print_row("frame of a known sub", known_ns, KNOWN_BAR_NS);
	print_row("new sub, mean", new_ns, NEW_BAR_NS);
	print_row("new sub, 99th percentile", (double)times[n - n / 100 - 1], NEW_BAR_NS);
	printf("subs that were named\t%zu\t\t\tfor information\n", n_frames);
	printf("cache, for each of them\t%zu\tbytes\t\tfor information\n", bytes);
	return known_ns <= KNOWN_BAR_NS && new_ns <= NEW_BAR_NS ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *root = getenv("EBPF_PROFILER_ROOT");
	char script[4096];
	FILE *out = NULL;
	int r;

	snprintf(script, sizeof(script), "%s/plugins/perl/tests/bench/programs/subs.pl", root ? root : ".");
	r = start(argc > 1 ? argv[1] : "perl", argc > 2 ? argv[2] : script, &out);
	if (r < 0)
		return 1;
	read_subs(out);
	if (n_frames >= FEWEST) {
		measure_new();
		r = print_rows();
		if (names.n < n_frames) {
			printf("only %" PRIu64 " had a name and a line\n", names.n);
			r = 1;
		}
	} else {
		printf("no Perl with threads runs %s\n", script);
		r = 77;
	}
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	(void)fclose(out);
	return r;
}
