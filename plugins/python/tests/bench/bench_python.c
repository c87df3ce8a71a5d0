/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming a Python frame (tests/kit/name_times.h): the code objects of a live process with a
 *good part of the standard library loaded, at random instructions, read with process_vm_readv.
 *
 *	bench_python [INTERPRETER [SCRIPT]]
 */
#include "plugins/python/tests/unit/live.h"
#include "tests/kit/name_times.h"

#define MAX_CODE   8192
#define KNOWN_CODE 2000 /* all of them stay in the cache */

static struct live live;
static struct names_cache *cache;
static struct {
	uint64_t addr;
	uint32_t check;
} codes[MAX_CODE];

static struct names_cache *begin(void)
{
	if (py_code_cache_new(&cache) < 0)
		abort();
	return cache;
}

static void end(void)
{
	names_cache_free(cache);
}

static void name_code(size_t i, uint64_t random)
{
	if (py_code_symbolize(cache, live.exe->host, &live.host.target, &live.exe->offsets.code,
			      codes[i].addr, codes[i].check, (uint32_t)random & 0xfe,
			      &live.host.names))
		abort();
}

/* live.py, which runs until the first pipe is closed; what it prints. */
static FILE *start(const char *python, const char *script)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return NULL;
	if (fork() == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execlp(python, python, script, NULL);
		_exit(77);
	}
	close(to[0]);
	close(from[1]);
	return fdopen(from[0], "r");
}

int main(int argc, char **argv)
{
	struct name_times times = {"code object", 0,   KNOWN_CODE, 50000, 1000,
				   begin,	  end, name_code,  NULL};
	const char *root = getenv("EBPF_PROFILER_ROOT");
	char script[4096], *line = NULL;
	size_t size = 0;
	FILE *out;
	int pid;

	snprintf(script, sizeof(script), "%s/plugins/python/tests/unit/live.py", root ? root : ".");
	out = start(argc > 1 ? argv[1] : "python3", argc > 2 ? argv[2] : script);
	if (!out || fscanf(out, "python %d\n", &pid) != 1) {
		printf("no Python runs %s\n", script);
		return 77;
	}
	/* Only addresses are of interest, once all of them are there. */
	while (times.n < MAX_CODE && getline(&line, &size, out) > 0 &&
	       strncmp(line, "table", 5) != 0)
		times.n += sscanf(line, "code %" SCNu64, &codes[times.n].addr) == 1;
	free(line);
	if (!live_begin(&live, pid))
		return 1;
	for (size_t i = 0; i < times.n; i++) {
		if (!live_check(&live, codes[i].addr, &codes[i].check))
			return 1;
	}
	return times.n >= KNOWN_CODE ? name_times_print(&times) : 1;
}
