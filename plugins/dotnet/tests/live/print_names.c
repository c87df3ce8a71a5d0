/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names all JIT code of a running process: PID FILE (of the runtime in it: libcoreclr.so).
 *
 *	NAME	where it begins	name	system name	line
 *	COST	which	median ns	99th percentile		of new methods, of another offset
 *					(its line is new), and of the same once more
 */
#include "core/base/clock.h"
#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "plugins/dotnet/dotnet.h"
#include "plugins/dotnet/symbolize/ranges.h"
#include "tests/kit/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_METHODS 20000u

static struct fake_host host;
static struct dotnet_state state;
static uint64_t starts[MAX_METHODS];
static uint32_t n_starts;
static struct {
	char function[2048], system[2048];
	uint32_t line;
} last; /* the outermost name of a frame */

static int add_name(void *arg, const struct ep_name *name)
{
	(void)arg;
	snprintf(last.function, sizeof(last.function), "%s", name->function);
	snprintf(last.system, sizeof(last.system), "%s",
		 name->system_name ? name->system_name : name->function);
	last.line = name->line;
	return 0;
}

static int see_method(void *arg, uint64_t start)
{
	(void)arg;
	if (n_starts == MAX_METHODS)
		return 1;
	starts[n_starts++] = start;
	return 0;
}

static int see_range(void *arg, const struct dotnet_range *range)
{
	if (range->flags != DOTNET_RANGE_HEAP)
		return 0;
	return dotnet_heap_visit(arg, range, UINT32_MAX, see_method, NULL);
}

static int name(void *instance, uint64_t start, uint32_t off)
{
	struct ep_names names = {.add = add_name};
	const struct ep_raw_frame frame = {.n_words = 1, .aux = off, .words = {start}};

	return dotnet_symbolize(instance, &frame, &names);
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* A method that is new; another offset of it, whose line is new; the same once more. */
static const struct {
	const char *what;
	uint32_t off;
} passes[] = {{"new", 0}, {"line", 16}, {"known", 16}};

static uint64_t took[EP_LEN(passes)][MAX_METHODS];

static void measure(void *instance, uint32_t i)
{
	for (size_t pass = 0; pass < EP_LEN(passes); pass++) {
		uint64_t begin = ep_clock_mono_ns();
		int r = name(instance, starts[i], passes[pass].off);

		took[pass][i] = ep_clock_mono_ns() - begin;
		if (pass == 0 && r == 0)
			printf("NAME\t%" PRIx64 "\t%s\t%s\t%u\n", starts[i], last.function,
			       last.system, last.line);
		else if (pass == 0)
			printf("NAME\t%" PRIx64 "\t\t%d\t0\n", starts[i], r);
	}
}

static void measure_all(void *instance)
{
	for (uint32_t i = 0; i < n_starts; i++)
		measure(instance, i);
	for (size_t pass = 0; n_starts && pass < EP_LEN(passes); pass++) {
		qsort(took[pass], n_starts, sizeof(took[pass][0]), compare);
		printf("COST\t%s\t%" PRIu64 "\t%" PRIu64 "\n", passes[pass].what,
		       took[pass][n_starts / 2], took[pass][n_starts * 99ull / 100]);
	}
}

/* Where the file's first page is mapped. */
static int see_mapping(void *path, const struct ep_target_mapping *mapping)
{
	if (!mapping->is_file || mapping->file_off || strcmp(mapping->path, path) != 0)
		return 0;
	host.target.bias = mapping->start;
	return 1;
}

static int run(char *path)
{
	const struct ep_unwinder_host *services = fake_host_services(&host);
	struct ep_elf *elf = NULL;
	struct ep_elf_file file;
	struct dotnet_layout layout;
	struct dotnet_reader reader = {{host.ops.read, &host}, &layout, 0};
	struct dotnet_executable *exe = NULL;
	void *instance = NULL;
	int r = ep_elf_open(path, &elf);

	if (r < 0)
		return r;
	ep_elf_file_init(&file, elf, "", path);
	r = dotnet_probe(services, &file.file, (void **)&exe);
	if (r == 0)
		r = host.ops.mappings(&host, see_mapping, path);
	if (r == 0)
		r = dotnet_attach(exe, &host.target, &instance);
	if (r == 0) {
		(void)dotnet_layout_find(exe->major, &layout);
		reader.range_map = state.range_map;
		r = dotnet_ranges_visit(&reader, see_range, &reader);
		measure_all(instance);
		dotnet_detach(instance);
	}
	if (exe)
		dotnet_unload(exe);
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	return r < 0 ? r : 0;
}

int main(int argc, char **argv)
{
	int r;

	if (argc != 3)
		return 2;
	fake_host_init(&host, &state, sizeof(state));
	fake_host_be_live(&host, (pid_t)atoi(argv[1]));
	r = run(argv[2]);
	fake_host_end_job(&host);
	if (r != 0)
		fprintf(stderr, "print_names: %d\n", r);
	return r != 0;
}
