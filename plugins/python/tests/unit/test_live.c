/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer beside CPython itself: starts each interpreter it finds on
 * live.py, which says of some thousand code objects what their names are and which
 * lines PyCode_Addr2Line gives for their instructions, and reads the same from its memory.
 *
 *	test_python_live SCRIPT [INTERPRETER...]
 *
 * Of each minor one release, one debug and one free-threaded build are compared; all that are found
 * with EBPF_PROFILER_TEST_FULL in the environment, four minors with EBPF_PROFILER_TEST_FEW. Minors that are nowhere are said to be skipped; when there
 * is none at all, the test is (exit 77).
 */
#include "plugins/python/tests/unit/child.h"

#define MAX_SHOWN 10 /* differences printed of one interpreter */
struct run {
	struct session session; /* the first: functions get its address */
	uint64_t n_code, n_points, n_wrong;
};

/* ---- comparing ---- */

struct expected {
	uint64_t addr;
	uint32_t first_line;
	char function[1024], file[2048];
};

static void unhex(const char *hex, char *text, size_t size)
{
	size_t n = 0;
	unsigned int byte;

	while (*hex != '-' && n + 1 < size && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		text[n++] = (char)byte;
	text[n] = '\0';
}

static void wrong(struct run *run, const struct expected *expected, int32_t off, uint32_t line,
		  int r, const struct ep_names *names)
{
	if (run->n_wrong++ >= MAX_SHOWN)
		return;
	printf("    %s (%s, line %u) at %d: line %u\n", expected->function, expected->file,
	       expected->first_line, off, line);
	printf("    got %d: %s (%s, line %u): line %u\n", r, names->function, names->file,
	       names->start_line, names->line);
}

static void compare(struct run *run, const struct expected *expected, uint32_t check, int32_t off,
		    uint32_t line)
{
	const struct session *of = &run->session;
	static struct ep_names names;
	int r;

	names.n = 0;
	run->n_points++;
	r = py_code_symbolize(of->cache, &test_host, &of->target, &of->layout, expected->addr, check,
			      (uint32_t)off, &names);
	if (r != 0 || names.n != 1 || names.line != line ||
	    names.start_line != expected->first_line ||
	    strcmp(names.function, expected->function) != 0 ||
	    strcmp(names.file, expected->file) != 0)
		wrong(run, expected, off, line, r, &names);
}

/* off:line,off:line,... */
static void compare_points(struct run *run, const struct expected *expected, char *points)
{
	__u64 words[PY_CHECK_WORDS];
	uint32_t check;

	if (target_read(&run->session.target, expected->addr + run->session.layout.check_off, words,
			sizeof(words)) < 0) {
		run->n_wrong++;
		return;
	}
	check = py_code_check(words, run->session.layout.check_mask);
	while (*points) {
		int32_t off = (int32_t)strtol(points, &points, 10);
		uint32_t line = *points ? (uint32_t)strtoul(points + 1, &points, 10) : 0;

		compare(run, expected, check, off, line);
		points += *points == ',';
	}
}

static bool compare_line(struct run *run, char *line)
{
	static struct expected expected;
	char *save, *word = strtok_r(line, " \n", &save), *words[5];

	if (!word || strcmp(word, "code") != 0)
		return false;
	for (size_t i = 0; i < EP_LEN(words); i++) {
		words[i] = strtok_r(NULL, " \n", &save);
		if (!words[i])
			return false;
	}
	expected.addr = strtoull(words[0], NULL, 10);
	expected.first_line = (uint32_t)strtoul(words[1], NULL, 10);
	unhex(words[2], expected.function, sizeof(expected.function));
	unhex(words[3], expected.file, sizeof(expected.file));
	compare_points(run, &expected, words[4]);
	run->n_code++;
	return true;
}

/*
 * The script prints while it is still at work: everything is read first, so that nothing of the
 * comparison happens before "done".
 */
static int compare_all(struct session *session, FILE *out)
{
	struct run *run = (struct run *)session;
	char **lines = NULL, *line = NULL;
	size_t n = 0, cap = 0, size = 0;
	bool done = false;
	int r = py_code_cache_new(&session->cache);

	if (r < 0)
		return r;
	while (!done && getline(&line, &size, out) > 0) {
		done = strncmp(line, "done ", 5) == 0;
		if (n == cap) {
			cap = cap ? 2 * cap : 4096;
			lines = realloc(lines, cap * sizeof(*lines));
			if (!lines)
				abort();
		}
		lines[n++] = line;
		line = NULL;
		size = 0;
	}
	free(line);
	for (size_t i = 0; i < n; i++) {
		if (done && i + 1 < n && !compare_line(run, lines[i]))
			run->n_wrong++;
		free(lines[i]);
	}
	free(lines);
	return done ? 0 : -ENODATA;
}

static void print_result(const char *path, const struct run *run, int r)
{
	if (r == CANNOT_RUN)
		printf("  SKIPPED: %s cannot run the script\n", path);
	if (r == SEEN || r == CANNOT_RUN)
		return;
	printf("  %s 3.%u%s%s: %" PRIu64 " code objects, %" PRIu64 " instructions, %" PRIu64
	       " wrong, cache %zu kB",
	       path, run->session.python.minor, run->session.python.debug ? " debug" : "",
	       run->session.python.free_threaded ? " free-threaded" : "", run->n_code, run->n_points,
	       run->n_wrong, run->session.cache ? names_cache_bytes(run->session.cache) / 1024 : 0);
	printf(r < 0 ? ": %s\n" : "\n", strerror(-r));
}

/* 0, SEEN, CANNOT_RUN, or a negative errno. */
static int test_interpreter(const char *path, const char *script, unsigned int *ret_minor)
{
	struct run run = {0};
	int r = run_session(path, script, &run.session, compare_all);

	if (r == 0 && run.n_code < 1000)
		r = -ENODATA;
	if (r == 0 && run.n_wrong)
		r = -EBADMSG;
	print_result(path, &run, r);
	names_cache_free(run.session.cache);
	*ret_minor = run.session.python.minor;
	return r;
}

int main(int argc, char **argv)
{
	return test_interpreters(argc, argv, test_interpreter);
}
