/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a script's table of lines, as a multiple of memcpy of the same bytes; rows for
 * scripts/bench.
 *
 * The source lies outside of a heap that is made up, as an external string, and a place in it is
 * asked for: what is timed is all that happens once for a script (v8_script_place), reading in
 * pieces included. memcpy is that of the same bytes into one buffer of a piece's size, which is
 * always warm: the fastest there is. Both begin with a source that no cache holds. Medians of CPU
 * time, both in the same rounds. The bar is for lines as sources have them, of 40 units; the rest
 * shows what the length does.
 */
#include "core/base/clock.h"
#include "plugins/v8/symbolize/lines.h"
#include "plugins/v8/symbolize/scripts.h"
#include "plugins/v8/tests/names/made_heap.h"

#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define BAR	     3.0
#define ROUNDS	     25
#define SOURCE_BYTES (8u << 20)
#define SOURCE_AT    0x500000000000ull
#define VERSION	     7 /* of versions.h; they do not differ in this */
#define CACHE_LINE   64u

enum { COPY, LINES, LINES_BY_KERNEL, N_TIMES };

struct subject {
	const char *name;
	bool two_bytes;
	uint32_t line_length; /* mean */
	const char *end;
	bool has_bar;
};

struct bench {
	struct made_heap made;
	struct v8_heap heap;
	struct names_cache *cache;
	struct v8_script *script;
	uint8_t *source, *piece;
	bool by_kernel; /* as a process's memory is read */
};

/* ---- what is read ---- */

static int read_source(const struct bench *bench, uint64_t off, void *buf, size_t bytes)
{
	struct iovec local = {buf, bytes}, remote = {bench->source + off, bytes};

	if (bench->by_kernel)
		return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes ?
			       0 : -EFAULT;
	memcpy(buf, bench->source + off, bytes);
	return 0;
}

static int read_memory(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct bench *bench = arg;

	if (addr >= SOURCE_AT && ep_in_bounds(addr - SOURCE_AT, bytes, SOURCE_BYTES))
		return read_source(bench, addr - SOURCE_AT, buf, bytes);
	return made_heap_read(&bench->made, addr, buf, bytes);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Lines of any length up to twice the mean. */
static void write_source(struct bench *bench, const struct subject *subject)
{
	uint32_t state = 1, n = SOURCE_BYTES >> subject->two_bytes, left = 0;
	const char *end = subject->end + strlen(subject->end);

	for (uint32_t i = 0; i < n; i++) {
		uint16_t unit = (uint16_t)(' ' + next_random(&state) % 95);

		if (left == 0 && !*end) {
			left = next_random(&state) % (2 * subject->line_length - 1);
			end = subject->end;
		}
		if (left > 0)
			left--;
		else
			unit = (uint8_t)*end++;
		if (subject->two_bytes)
			memcpy(bench->source + 2 * i, &unit, 2);
		else
			bench->source[i] = (uint8_t)unit;
	}
}

static void evict(const struct bench *bench)
{
#ifdef __SSE2__
	for (uint32_t i = 0; i < SOURCE_BYTES; i += CACHE_LINE)
		__builtin_ia32_clflush(bench->source + i);
	__builtin_ia32_mfence();
#else
	(void)bench;
#endif
}

/* ---- what is timed ---- */

static uint64_t time_copy(struct bench *bench)
{
	uint64_t start;

	evict(bench);
	start = ep_clock_thread_cpu_ns();
	for (uint32_t at = 0; at < SOURCE_BYTES; at += V8_LINES_PIECE) {
		memcpy(bench->piece, bench->source + at, V8_LINES_PIECE);
		__asm__ volatile("" : : "r"(bench->piece) : "memory");
	}
	return ep_clock_thread_cpu_ns() - start;
}

/* Each time of another script: its table is not known. */
static uint64_t time_lines(struct bench *bench, const struct subject *subject, bool by_kernel)
{
	struct v8_place place;
	uint64_t start;

	bench->script->item.key[1]++;
	bench->by_kernel = by_kernel;
	evict(bench);
	start = ep_clock_thread_cpu_ns();
	if (v8_script_place(&bench->heap, bench->cache, bench->script,
			    SOURCE_BYTES >> subject->two_bytes, &place) < 0 || !place.line) {
		fprintf(stderr, "no line of the end of %s\n", subject->name);
		exit(1);
	}
	return ep_clock_thread_cpu_ns() - start;
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static double median(uint64_t times[ROUNDS])
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return (double)times[ROUNDS / 2];
}

/* ---- rows ---- */

static void point_to_source(struct bench *bench, const struct subject *subject)
{
	struct made_heap *made = &bench->made;
	uint64_t source = other_string(made, EXTERNAL | (subject->two_bytes ? 0 : ONE_BYTE),
				       SOURCE_BYTES >> subject->two_bytes, 0, SOURCE_AT);

	put64(made, bench->script->object, made->layout.script_source, source);
	v8_heap_forget(&bench->heap);
}

static void measure(struct bench *bench, const struct subject *subject)
{
	uint64_t times[N_TIMES][ROUNDS];
	double copy, ratio;

	write_source(bench, subject);
	point_to_source(bench, subject);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		times[COPY][i] = time_copy(bench);
		times[LINES][i] = time_lines(bench, subject, false);
		times[LINES_BY_KERNEL][i] = time_lines(bench, subject, true);
	}
	copy = median(times[COPY]);
	ratio = median(times[LINES]) / copy;
	printf("table of lines, %s: of memcpy's time\t%.3g\tx\t", subject->name, ratio);
	if (subject->has_bar)
		printf("<= %.0f\t%s\n", BAR, ratio <= BAR ? "met" : "missed");
	else
		printf("\tfor information\n");
	printf("memcpy of %u MiB, in pieces\t%.0f\tus\t\tfor information\n", SOURCE_BYTES >> 20,
	       copy / 1e3);
	printf("the table, read from a process\t%.3g\tx\t\tfor information\n",
	       median(times[LINES_BY_KERNEL]) / copy);
}

static void init(struct bench *bench)
{
	struct memory memory = {.read = read_memory, .arg = bench};

	made_heap_init(&bench->made, VERSION);
	bench->source = malloc(SOURCE_BYTES);
	bench->piece = calloc(1, V8_LINES_PIECE);
	bench->script = calloc(1, sizeof(*bench->script) + 1);
	if (!bench->source || !bench->piece || !bench->script ||
	    v8_heap_init(&bench->heap, &memory, &bench->made.layout) < 0 ||
	    names_cache_new(&v8_names_budget, &bench->cache) < 0)
		abort();
	bench->heap.reads_left = bench->heap.bytes_left = UINT64_MAX;
	bench->script->object = new_script(&bench->made, one_byte(&bench->made, "/a.js"), 0, 1);
}

static void fini(struct bench *bench)
{
	names_cache_free(bench->cache);
	v8_heap_fini(&bench->heap);
	free(bench->script);
	free(bench->piece);
	free(bench->source);
	made_heap_fini(&bench->made);
}

int main(void)
{
	static const struct subject subjects[] = {
		{"lines of 40, a byte each", false, 40, "\n", true},
		{"lines of 40, two bytes each", true, 40, "\n", true},
		{"lines of 40 that end in CR and LF", false, 40, "\r\n", false},
		{"lines of 15", false, 15, "\n", false},
		{"lines of 2000", false, 2000, "\n", false},
	};
	static struct bench bench;

	init(&bench);
	for (size_t i = 0; i < EP_LEN(subjects); i++)
		measure(&bench, &subjects[i]);
	fini(&bench);
	return 0;
}
