/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time for the name of a frame of a Go executable, from the file in the page cache, with its
 * lines: NAMES random addresses, as the agent asks, in batches of sorted ones and one by one; and
 * for a frame whose name is known. Rows for scripts/bench.
 *
 *	bench_functions [FILE...]		no FILE: go's compiler and gofmt, where there are
 * any
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/elf/file.h"
#include "core/pclntab/pclntab.h"
#include "core/symbol/native.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#define NAMES	   20000
#define BATCH	   256
#define MAX_BYTES  ((size_t)8 << 20)
#define NEW_BAR	   10.0 /* us */
#define CACHED_BAR 0.2
#define SKIPPED	   77

struct text {
	uint64_t start, end;
};

static int open_path(void *arg)
{
	int fd = open(arg, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int find_text(const char *path, struct text *ret_text)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_pclntab_closep) struct ep_pclntab *tab = NULL;
	int r = ep_elf_open(path, &elf);

	if (r == 0)
		r = ep_pclntab_open(elf, 0, &tab);
	if (r == 0)
		ep_pclntab_text(tab, &ret_text->start, &ret_text->end);
	return r;
}

/* The time of one name, in microseconds of this thread: what else runs does not count; negative: it failed. */
static double measure(const char *path, const struct text *text, size_t batch, uint64_t seed,
		      size_t *ret_lines)
{
	struct ep_native_file file = {.key = 1,
				      .open = open_path,
				      .arg = (void *)(uintptr_t)path,
				      .root = "",
				      .path = path};
	struct ep_native_symbols *symbols = NULL;
	struct ep_frame_line line[EP_FRAME_MAX_LINES];
	uint64_t vas[BATCH], ns = 0, n = 0;

	if (ep_native_symbols_new(MAX_BYTES, &symbols) < 0)
		return -1;
	for (uint64_t done = 0; done < NAMES; done += batch) {
		struct ep_lines lines;
		uint64_t start_ns;
		int r;

		for (size_t i = 0; i < batch; i++)
			vas[i] =
				text->start + ep_mix64(seed + done + i) % (text->end - text->start);
		qsort(vas, batch, sizeof(*vas), compare);
		if (ep_lines_init(&lines, batch) < 0)
			break;
		start_ns = ep_clock_thread_cpu_ns();
		r = ep_native_symbols_resolve(symbols, &file, vas, batch, &lines);
		/* the first one opens the file */
		if (done) {
			ns += ep_clock_thread_cpu_ns() - start_ns;
			n += batch;
		}
		for (size_t i = 0; r == 0 && i < ep_lines_frames(&lines); i++)
			*ret_lines += ep_lines_get(&lines, i, line);
		ep_lines_fini(&lines);
		if (r < 0)
			break;
	}
	ep_native_symbols_free(symbols);
	return n ? (double)ns / (double)n / 1000 : -1;
}

static double measure_known(void)
{
	struct ep_frames *frames = NULL;
	uint64_t start_ns;
	uint32_t id = 0;

	if (ep_frames_new(2 * NAMES, 1 << 20, 1 << 20, &frames) < 0)
		return -1;
	for (int round = 0; round < 2; round++) {
		start_ns = ep_clock_thread_cpu_ns();
		for (uint64_t i = 0; i < NAMES; i++) {
			uint64_t va = ep_mix64(i);

			(void)ep_frames_add(frames, EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 1), &va,
					    (struct ep_program){0}, &id);
		}
	}
	start_ns = ep_clock_thread_cpu_ns() - start_ns;
	ep_frames_unref(frames);
	return (double)start_ns / NAMES / 1000;
}

static bool print(const char *what, const char *path, double us, double bar)
{
	bool met = us >= 0 && us <= bar;

	printf("%s%s%s\t%.3f\tus\t<= %.1f us\t%s\n", what, path ? ", " : "", path ? path : "", us,
	       bar, met ? "met" : "missed");
	return met;
}

static int bench(const char *path)
{
	struct text text;
	size_t lines = 0;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool met;

	if (find_text(path, &text) < 0)
		return SKIPPED;
	met = print("new name, in batches of 256", name, measure(path, &text, BATCH, 1, &lines),
		    NEW_BAR);
	fprintf(stderr, "%s: %zu lines of %d names\n", path, lines, NAMES);
	met &= print("new name, alone", name, measure(path, &text, 1, NAMES, &lines), NEW_BAR);
	return !met;
}

int main(int argc, char **argv)
{
	glob_t found = {0};
	int r = SKIPPED;

	if (argc < 2) {
		(void)glob("/usr/local/go/pkg/tool/*/compile", 0, NULL, &found);
		(void)glob("/usr/l*/go*/bin/gofmt", GLOB_APPEND, NULL, &found);
		argc = (int)found.gl_pathc + 1;
		argv = found.gl_pathv - 1;
	}
	for (int i = 1; i < argc; i++) {
		int one = bench(argv[i]);

		r = one == SKIPPED || r == 1 ? r : one;
	}
	globfree(&found);
	return !print("name of a known frame", NULL, measure_known(), CACHED_BAR) || r == 1 ? 1 : r;
}
