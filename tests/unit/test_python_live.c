/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer beside CPython itself: starts each interpreter it finds on
 * python_symbolize_live.py, which says of some thousand code objects what their names are and which
 * lines PyCode_Addr2Line gives for their instructions, and reads the same from its memory.
 *
 *	test_python_live SCRIPT [INTERPRETER...]
 *
 * Interpreters are looked for in $PYENV_ROOT (or ~/.pyenv), /usr/bin, and in unpacked root
 * directories below $EP_RUNTIMES; those of a root are run through its own loader. Of each minor one
 * release, one debug and one free-threaded build are compared; all that are found with EP_TEST_FULL
 * in the environment. Minors that are nowhere are said to be skipped; when there is none at all,
 * the test is (exit 77).
 */
#include "plugins/python/symbolize/code.h"
#include "tests/unit/python_target.h"

#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_MINOR    64
#define OLDEST_MINOR 6
#define NEWEST_MINOR 15
#define MAX_SHOWN    10 /* differences printed of one interpreter */
#define PATH_BYTES   512

#define CANNOT_RUN 1 /* outcomes of one interpreter, beside 0 and negative errnos */
#define SEEN	   2

struct child {
	pid_t pid;
	FILE *out;
	int in;
};

struct interpreter {
	unsigned int major, minor, debug, trace_refs, free_threaded;
	uint64_t code_type_addr, runtime_addr;
};

struct run {
	struct ep_target target;
	struct interpreter python;
	struct py_code_layout layout;
	struct py_code_cache *cache;
	uint64_t n_code, n_points, n_wrong;
};

/* ---- starting one ---- */

/* ROOT/usr/bin/python3.14 -> ROOT, when ROOT is not "/". */
static bool split_root(const char *path, char *root, size_t size)
{
	const char *usr = strstr(path, "/usr/bin/");

	if (!usr || usr == path || (size_t)(usr - path) >= size)
		return false;
	memcpy(root, path, (size_t)(usr - path));
	root[usr - path] = '\0';
	return true;
}

static void exec_python(const char *path, const char *script)
{
	char root[PATH_BYTES], loader[PATH_BYTES + 64], libs[2 * PATH_BYTES + 128];

	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("PYTHONIOENCODING", "utf-8", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	if (split_root(path, root, sizeof(root))) {
		snprintf(libs, sizeof(libs), "%s/usr", root);
		setenv("PYTHONHOME", libs, 1);
		snprintf(loader, sizeof(loader), "%s/lib64/ld-linux-x86-64.so.2", root);
		snprintf(libs, sizeof(libs), "%s/usr/lib/x86_64-linux-gnu:%s/lib/x86_64-linux-gnu",
			 root, root);
		execl(loader, loader, "--library-path", libs, path, script, NULL);
	} else {
		execl(path, path, script, NULL);
	}
	_exit(127);
}

static int start(const char *path, const char *script, struct child *ret)
{
	int to[2], from[2];
	pid_t pid;

	if (pipe(to) < 0 || pipe(from) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		exec_python(path, script);
	}
	close(to[0]);
	close(from[1]);
	*ret = (struct child){.pid = pid, .out = fdopen(from[0], "r"), .in = to[1]};
	return ret->out ? 0 : -errno;
}

static void stop(struct child *child)
{
	close(child->in);
	fclose(child->out);
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
}

/* ---- its layout ---- */

/* Where the parts of _Py_DebugOffsets begin, in words: offsetof() of the three versions' headers.
 */
static const struct {
	unsigned int minor, ob_type, code, bytes, unicode;
} debug_offsets[] = {
	{13, 45, 35, 65, 67}, /* Include/internal/pycore_runtime.h v3.13.0 */
	{14, 51, 40, 75, 77}, /* Include/internal/pycore_debug_offsets.h, 3.14.10 of Debian */
	{15, 59, 48, 87, 89}, /* the same, 3.15.2 */
};

static int layout_from_runtime(const struct run *run, struct py_code_layout *ret)
{
	uint64_t words[96];
	int r;

	r = target_read(&run->target, run->python.runtime_addr, words, sizeof(words));
	for (size_t i = 0; r == 0 && i < EP_LEN(debug_offsets); i++) {
		const uint64_t *code = words + debug_offsets[i].code;
		const uint64_t *unicode = words + debug_offsets[i].unicode;
		const struct py_code_debug_offsets in = {
			.version = PY_VERSION(run->python.major, run->python.minor),
			.free_threaded = run->python.free_threaded,
			.ob_type = words[debug_offsets[i].ob_type],
			.co_filename = code[0],
			.co_name = code[1],
			.co_qualname = code[2],
			.co_linetable = code[3],
			.co_firstlineno = code[4],
			.co_argcount = code[5],
			.co_localsplusnames = code[6],
			.co_localspluskinds = code[7],
			.co_code_adaptive = code[8],
			.bytes_ob_size = words[debug_offsets[i].bytes],
			.bytes_ob_sval = words[debug_offsets[i].bytes + 1],
			.unicode_size = unicode[0],
			.unicode_state = unicode[1],
			.unicode_length = unicode[2],
			.unicode_asciiobject_size = unicode[3],
		};

		if (debug_offsets[i].minor == run->python.minor)
			return py_code_layout_from_debug_offsets(&in, ret);
	}
	return r < 0 ? r : -ENOTSUP;
}

/* What the runtime says must be what the table says, where there are both. */
static int check_table(const struct run *run)
{
	struct py_code_layout table;

	if (py_code_layout_find(run->layout.version, false, &table) < 0 ||
	    run->python.free_threaded)
		return 0;
	table.code_type_addr = run->layout.code_type_addr;
	if (memcmp(&table, &run->layout, sizeof(table)) == 0)
		return 0;
	printf("    the table differs from _Py_DebugOffsets\n");
	return -EINVAL;
}

static int find_layout(struct run *run)
{
	uint32_t version = PY_VERSION(run->python.major, run->python.minor);
	int r;

	if (!run->python.runtime_addr) {
		r = py_code_layout_find(version, run->python.trace_refs, &run->layout);
		run->layout.code_type_addr = run->python.code_type_addr;
		return r;
	}
	r = layout_from_runtime(run, &run->layout);
	if (r < 0)
		return r;
	run->layout.code_type_addr = run->python.code_type_addr;
	return check_table(run);
}

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
	static struct ep_names names;
	int r;

	names.n = 0;
	run->n_points++;
	r = py_code_symbolize(run->cache, &test_host, &run->target, &run->layout, expected->addr,
			      check, (uint32_t)off, &names);
	if (r != 0 || names.n != 1 || names.line != line ||
	    names.start_line != expected->first_line ||
	    strcmp(names.function, expected->function) != 0 ||
	    strcmp(names.file, expected->file) != 0)
		wrong(run, expected, off, line, r, &names);
}

static void compare_points(struct run *run, const struct expected *expected, char *points)
{
	__u64 words[PY_CHECK_WORDS];
	uint32_t check, line;
	int32_t off;
	char *save;

	if (target_read(&run->target, expected->addr + run->layout.check_off, words,
			sizeof(words)) < 0) {
		run->n_wrong++;
		return;
	}
	check = py_code_check(words, run->layout.check_mask);
	for (char *point = strtok_r(points, ",", &save); point;
	     point = strtok_r(NULL, ",", &save)) {
		if (sscanf(point, "%" SCNd32 ":%" SCNu32, &off, &line) == 2)
			compare(run, expected, check, off, line);
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
static int compare_all(struct run *run, FILE *out)
{
	char **lines = NULL, *line = NULL;
	size_t n = 0, cap = 0, size = 0;
	bool done = false;

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

/* Whether one like it was compared before, and this one is not wanted. */
static bool is_seen(const struct interpreter *python)
{
	static unsigned int seen[MAX_MINOR];
	unsigned int bit = 1u << (python->debug | python->free_threaded << 1);
	bool was = python->minor < MAX_MINOR && seen[python->minor] & bit;

	if (python->minor < MAX_MINOR)
		seen[python->minor] |= bit;
	return was && !getenv("EP_TEST_FULL");
}

static int compare_child(struct run *run, struct child *child)
{
	struct interpreter *python = &run->python;
	char line[256];
	int r;

	if (!fgets(line, sizeof(line), child->out) ||
	    sscanf(line, "python %u %u %u %u %u %" SCNu64 " %" SCNu64, &python->major,
		   &python->minor, &python->debug, &python->trace_refs, &python->free_threaded,
		   &python->code_type_addr, &python->runtime_addr) != 7)
		return CANNOT_RUN;
	if (is_seen(python))
		return SEEN;
	run->target.pid = child->pid;
	r = find_layout(run);
	if (r < 0)
		return r;
	r = py_code_cache_new(0, &run->cache);
	if (r == 0)
		r = compare_all(run, child->out);
	return r;
}

static void print_result(const char *path, const struct run *run, int r)
{
	if (r == CANNOT_RUN)
		printf("  SKIPPED: %s cannot run the script\n", path);
	if (r == SEEN || r == CANNOT_RUN)
		return;
	printf("  %s 3.%u%s%s: %" PRIu64 " code objects, %" PRIu64 " instructions, %" PRIu64
	       " wrong, cache %zu kB",
	       path, run->python.minor, run->python.debug ? " debug" : "",
	       run->python.free_threaded ? " free-threaded" : "", run->n_code, run->n_points,
	       run->n_wrong, run->cache ? py_code_cache_bytes(run->cache) / 1024 : 0);
	printf(r < 0 ? ": %s\n" : "\n", strerror(-r));
}

/* 0, SEEN, CANNOT_RUN, or a negative errno. */
static int test_interpreter(const char *path, const char *script, unsigned int *ret_minor)
{
	struct run run = {0};
	struct child child = {0};
	int r;

	r = start(path, script, &child);
	if (r < 0)
		return r;
	r = compare_child(&run, &child);
	stop(&child);
	if (r == 0 && run.n_code < 1000)
		r = -ENODATA;
	if (r == 0 && run.n_wrong)
		r = -EBADMSG;
	print_result(path, &run, r);
	py_code_cache_free(run.cache);
	*ret_minor = run.python.minor;
	return r;
}

/* ---- finding them ---- */

static void find_in(glob_t *found, const char *directory, const char *pattern)
{
	char path[2 * PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s", directory, pattern);
	(void)glob(path, found->gl_pathc ? GLOB_APPEND : 0, NULL, found);
}

static void find_interpreters(glob_t *found)
{
	const char *pyenv = getenv("PYENV_ROOT"), *home = getenv("HOME");
	const char *runtimes = getenv("EP_RUNTIMES");
	char directory[PATH_BYTES];

	if (pyenv)
		snprintf(directory, sizeof(directory), "%s", pyenv);
	else
		snprintf(directory, sizeof(directory), "%s/.pyenv", home ? home : "");
	find_in(found, directory, "/versions/3.*/bin/python3");
	find_in(found, "/usr/bin", "/python3.[0-9]*[0-9dt]");
	if (!runtimes)
		runtimes = "/var/tmp/ebpf-profiler-runtimes";
	find_in(found, runtimes, "/*/usr/bin/python3.[0-9]*[0-9dt]");
}

int main(int argc, char **argv)
{
	bool seen[MAX_MINOR] = {false};
	unsigned int n = 0, n_failed = 0;
	glob_t found = {0};

	if (argc < 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2)
		find_interpreters(&found);
	for (size_t i = 0; argc > 2 ? i + 2 < (size_t)argc : i < found.gl_pathc; i++) {
		unsigned int minor = 0;
		int r = test_interpreter(argc > 2 ? argv[i + 2] : found.gl_pathv[i], argv[1],
					 &minor);

		n_failed += r < 0;
		n += r != CANNOT_RUN;
		seen[minor % MAX_MINOR] = true;
	}
	globfree(&found);
	for (unsigned int minor = OLDEST_MINOR; argc == 2 && minor <= NEWEST_MINOR; minor++) {
		if (!seen[minor])
			printf("  SKIPPED: no interpreter of 3.%u found\n", minor);
	}
	if (!n)
		return 77;
	return n_failed ? 1 : 0;
}
