/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming a Python frame: the code objects of a live process with a good part of the
 * standard library loaded, read with process_vm_readv. New ones are each read once into an empty
 * cache, in several rounds; known ones come from the cache, in random order and at random
 * instructions.
 *
 *	bench_python [INTERPRETER [SCRIPT]]
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "plugins/python/symbolize/code.h"
#include "plugins/python/tests/unit/target.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#define MAX_CODE     8192
#define ROUNDS	     5
#define KNOWN	     4000000
#define KNOWN_CODE   2000 /* all of them stay in the cache */
#define NEW_BAR_NS   50000.0
#define KNOWN_BAR_NS 1000.0

struct code {
	uint64_t addr;
	uint32_t check;
};

static struct ep_target target;
static struct py_code_layout layout;
static struct code codes[MAX_CODE];
static uint64_t times[ROUNDS * MAX_CODE];
static size_t n_codes;
static uint64_t n_names;

static int count_name(struct ep_names *names, const struct ep_name *name)
{
	(void)names;
	n_names += name->line > 0;
	return 0;
}

static const struct ep_unwinder_host host = {
	.size = sizeof(struct ep_unwinder_host),
	.target_read = target_read,
	.add_name = count_name,
};

static int start(const char *python, const char *script, FILE **ret_out)
{
	int to[2], from[2];

	if (pipe(to) < 0 || pipe(from) < 0)
		return -errno;
	target.pid = fork();
	if (target.pid < 0)
		return -errno;
	if (target.pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		execlp(python, python, script, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*ret_out = fdopen(from[0], "r");
	return *ret_out ? 0 : -errno;
}

static void add_code(uint64_t addr)
{
	__u64 words[PY_CHECK_WORDS];

	if (n_codes == MAX_CODE ||
	    target_read(&target, addr + layout.check_off, words, sizeof(words)) < 0)
		return;
	codes[n_codes++] = (struct code){addr, py_code_check(words, layout.check_mask)};
}

/* The lines of live.py; only addresses are of interest. */
static int read_codes(FILE *out)
{
	unsigned int major, minor, debug, trace_refs;
	uint64_t addr;
	ep_autofree char *line = NULL;
	size_t size = 0;
	int r = -ENODATA;

	if (getline(&line, &size, out) > 0 &&
	    sscanf(line, "python %u %u %u %u", &major, &minor, &debug, &trace_refs) == 4)
		r = py_code_layout_find(PY_VERSION(major, minor), trace_refs, &layout);
	while (r == 0 && getline(&line, &size, out) > 0 && strncmp(line, "done", 4) != 0) {
		if (sscanf(line, "code %" SCNu64, &addr) == 1)
			add_code(addr);
	}
	return r;
}

static void symbolize(struct names_cache *cache, const struct code *code, uint32_t off)
{
	if (py_code_symbolize(cache, &host, &target, &layout, code->addr, code->check, off, NULL))
		abort();
}

static int compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void measure_new(void)
{
	size_t n = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct names_cache *cache = NULL;

		if (py_code_cache_new(&cache) < 0)
			abort();
		for (size_t i = 0; i < n_codes; i++) {
			uint64_t start_ns = ep_clock_mono_ns();

			symbolize(cache, &codes[i], 0);
			times[n++] = ep_clock_mono_ns() - start_ns;
		}
		names_cache_free(cache);
	}
	qsort(times, n, sizeof(times[0]), compare_times);
}

static double measure_known(size_t *ret_bytes)
{
	struct names_cache *cache = NULL;
	size_t n = EP_MIN(n_codes, (size_t)KNOWN_CODE), first = n_codes - n;
	uint64_t start_ns, ns;

	if (py_code_cache_new(&cache) < 0)
		abort();
	for (size_t i = 0; i < n; i++)
		symbolize(cache, &codes[first + i], 0);
	start_ns = ep_clock_mono_ns();
	for (uint64_t i = 0; i < KNOWN; i++) {
		uint64_t random = ep_mix64(i);

		symbolize(cache, &codes[first + random % n], (uint32_t)(random >> 32) & 0xfe);
	}
	ns = ep_clock_mono_ns() - start_ns;
	*ret_bytes = names_cache_bytes(cache) / n;
	names_cache_free(cache);
	return (double)ns / KNOWN;
}

static int print_rows(void)
{
	size_t n = n_codes * ROUNDS, bytes;
	double known_ns, new_ns = 0, p99_ns = (double)times[n - n / 100];

	for (size_t i = 0; i < n; i++)
		new_ns += (double)times[i] / (double)n;
	known_ns = measure_known(&bytes);
	printf("frame of a known code object\t%.0f\tns\t%.0f\t%s\n", known_ns, KNOWN_BAR_NS,
	       known_ns <= KNOWN_BAR_NS ? "met" : "missed");
	printf("new code object, mean of %zu\t%.1f\tus\t%.0f\t%s\n", n_codes, new_ns / 1000,
	       NEW_BAR_NS / 1000, new_ns <= NEW_BAR_NS ? "met" : "missed");
	printf("new code object, 99th percentile\t%.1f\tus\t%.0f\t%s\n", p99_ns / 1000,
	       NEW_BAR_NS / 1000, p99_ns <= NEW_BAR_NS ? "met" : "missed");
	printf("new code object, largest (60000 lines)\t%.1f\tus\t\tfor information\n",
	       (double)times[n - 1] / 1000);
	printf("cache, for each code object\t%zu\tbytes\t\tfor information\n", bytes);
	return known_ns <= KNOWN_BAR_NS && new_ns <= NEW_BAR_NS ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *root = getenv("EBPF_PROFILER_ROOT");
	char script[4096];
	FILE *out = NULL;
	int r;

	snprintf(script, sizeof(script), "%s/plugins/python/tests/unit/live.py", root ? root : ".");
	r = start(argc > 1 ? argv[1] : "python3", argc > 2 ? argv[2] : script, &out);
	if (r == 0)
		r = read_codes(out);
	if (r == 0 && n_codes >= KNOWN_CODE) {
		measure_new();
		r = print_rows();
	} else {
		printf("no Python of 3.6 to 3.13 runs %s\n", script);
		r = 77;
	}
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	return r;
}
