/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming a Perl frame (tests/kit/name_times.h): the subs of a live process that has loaded some
 * thousand (programs/subs.pl), read with process_vm_readv.
 *
 *	bench_perl_names [PERL [SCRIPT]]
 */
#include "core/base/util.h"
#include "plugins/perl/perl_shared.h"
#include "plugins/perl/symbolize/names.h"
#include "plugins/perl/tests/frames.h"
#include "tests/kit/name_times.h"
#include "tests/kit/process.h"

#include <inttypes.h>
#include <string.h>

#define MAX_SUBS 8192
#define FEWEST	 1000

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
static size_t n_frames;

/* --- the host ------------------------------------------------------------------------------------ */

static int read_target(const struct ep_target *of, uint64_t addr, void *buf, size_t bytes)
{
	return process_read((void *)&of->pid, addr, buf, bytes);
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
}

static const struct ep_unwinder_host host = {
	.size = sizeof(struct ep_unwinder_host),
	.target_read = read_target,
	.target_string = read_string,
	.add_name = count_name,
	.count = count,
};

/* --- subs ---------------------------------------------------------------------------------------- */

/* As BPF pushes it, at its first statement. */
static void add_sub(uint64_t cv, uint64_t statement)
{
	const struct memory memory = {process_read, &target.pid};

	if (n_frames < MAX_SUBS)
		frames[n_frames++] = sub_frame(&memory, cv, statement);
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

static struct pl_namer namer = {.host = &host, .target = &target, .layout = &layout};

static struct names_cache *begin(void)
{
	if (pl_names_cache_new(&namer.cache) < 0 || pl_files_new(&namer.files) < 0)
		abort();
	return namer.cache;
}

static void end(void)
{
	names_cache_free(namer.cache);
	pl_files_free(namer.files);
}

static void name_sub(size_t i, uint64_t random)
{
	bool placed;

	if (pl_names_add(&namer, &frames[i], &names, &placed) != 0)
		abort();
}

int main(int argc, char **argv)
{
	struct name_times times = {"sub", 0, FEWEST, 20000, 1000, begin, end, name_sub, NULL};
	const char *root = getenv("EBPF_PROFILER_ROOT");
	char script[4096];
	FILE *out;
	int r = 77;

	snprintf(script, sizeof(script), "%s/plugins/perl/tests/bench/programs/subs.pl", root ? root : ".");
	target.pid = process_start_reading(
		(const char *const[]){argc > 1 ? argv[1] : "perl", argc > 2 ? argv[2] : script, NULL}, &out);
	if (!out)
		return 1;
	read_subs(out);
	times.n = n_frames;
	if (n_frames < FEWEST)
		printf("no Perl with threads runs %s\n", script);
	else
		r = name_times_print(&times);
	if (r == 0 && names.n < n_frames) {
		printf("only %" PRIu64 " had a name and a line\n", names.n);
		r = 1;
	}
	process_stop(target.pid);
	(void)fclose(out);
	return r;
}
