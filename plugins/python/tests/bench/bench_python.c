/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming a Python frame (tests/kit/name_times.h): the code objects of a live process with a good
 * part of the standard library loaded, at random instructions, read with process_vm_readv.
 *
 *	bench_python [INTERPRETER [SCRIPT]]
 */
#include "plugins/python/tests/unit/child.h"
#include "tests/kit/name_times.h"

#define MAX_CODE   8192
#define KNOWN_CODE 2000 /* all of them stay in the cache */

struct code {
	uint64_t addr;
	uint32_t check;
};

static struct session session;
static struct code codes[MAX_CODE];
static size_t n_codes;
static uint64_t n_names;

static int count_name(struct ep_names *names, const struct ep_name *name)
{
	n_names += name->line > 0;
	return 0;
}

static const struct ep_unwinder_host host = {
	.size = sizeof(struct ep_unwinder_host),
	.target_read = target_read,
	.add_name = count_name,
};

static void add_code(uint64_t addr)
{
	__u64 words[PY_CHECK_WORDS];

	if (n_codes == MAX_CODE ||
	    target_read(&session.target, addr + session.layout.check_off, words, sizeof(words)) < 0)
		return;
	codes[n_codes++] = (struct code){addr, py_code_check(words, session.layout.check_mask)};
}

static struct names_cache *begin(void)
{
	if (py_code_cache_new(&session.cache) < 0)
		abort();
	return session.cache;
}

static void end(void)
{
	names_cache_free(session.cache);
}

static void name_code(size_t i, uint64_t random)
{
	if (py_code_symbolize(session.cache, &host, &session.target, &session.layout, codes[i].addr,
			      codes[i].check, (uint32_t)random & 0xfe, NULL))
		abort();
}

/* The lines of live.py; only addresses are of interest. */
static int measure(struct session *of, FILE *out)
{
	struct name_times times = {
		"code object", 0, KNOWN_CODE, 50000, 1000, begin, end, name_code, NULL};
	uint64_t addr;
	ep_autofree char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, out) > 0 && strncmp(line, "done", 4) != 0) {
		if (sscanf(line, "code %" SCNu64, &addr) == 1)
			add_code(addr);
	}
	times.n = n_codes;
	return n_codes >= KNOWN_CODE ? name_times_print(&times) : CANNOT_RUN;
}

int main(int argc, char **argv)
{
	const char *root = getenv("EBPF_PROFILER_ROOT");
	char script[4096];
	int r;

	snprintf(script, sizeof(script), "%s/plugins/python/tests/unit/live.py", root ? root : ".");
	r = run_session(argc > 1 ? argv[1] : "python3", argc > 2 ? argv[2] : script, &session,
			measure);
	if (r == CANNOT_RUN || r < 0) {
		printf("no Python runs %s\n", script);
		return 77;
	}
	return r;
}
