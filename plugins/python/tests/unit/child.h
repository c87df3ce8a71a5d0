/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interpreters for tests: finds them, starts them on a script, and knows their layout. The script's
 * first line is
 *
 *	python MAJOR MINOR DEBUG TRACE_REFS FREE_THREADED ADDRESS-OF-PyCode_Type
 * ADDRESS-OF-_PyRuntime
 *
 * Interpreters are looked for in $PYENV_ROOT (or ~/.pyenv), /usr/bin, and in directories below
 * $EP_RUNTIMES: installations, and unpacked roots, which are run through their own loader.
 */
#ifndef TEST_PYTHON_CHILD_H
#define TEST_PYTHON_CHILD_H

#include "plugins/python/symbolize/code.h"
#include "plugins/python/tests/unit/target.h"

#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_MINOR    64
#define OLDEST_MINOR 6
#define NEWEST_MINOR 15
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
		snprintf(loader, sizeof(loader), "%s/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
			 root);
		snprintf(libs, sizeof(libs), "%s/usr/lib/x86_64-linux-gnu:%s/lib/x86_64-linux-gnu",
			 root, root);
		execl(loader, loader, "--library-path", libs, path, script, NULL);
	} else {
		execlp(path, path, script, NULL);
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

static int layout_from_runtime(const struct ep_target *target, const struct interpreter *python,
			       struct py_code_layout *ret)
{
	uint64_t words[96];
	int r;

	r = target_read(target, python->runtime_addr, words, sizeof(words));
	for (size_t i = 0; r == 0 && i < EP_LEN(debug_offsets); i++) {
		const uint64_t *code = words + debug_offsets[i].code;
		const uint64_t *unicode = words + debug_offsets[i].unicode;
		const struct py_code_debug_offsets in = {
			.version = PY_VERSION(python->major, python->minor),
			.free_threaded = python->free_threaded,
			.ob_type = words[debug_offsets[i].ob_type],
			.co_filename = code[0],
			.co_name = code[1],
			.co_qualname = code[2],
			.co_linetable = code[3],
			.co_firstlineno = code[4],
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

		if (debug_offsets[i].minor == python->minor)
			return py_code_layout_from_debug_offsets(&in, ret);
	}
	return r < 0 ? r : -ENOTSUP;
}

/* What the runtime says must be what the table says, where there are both. */
static int check_table(const struct interpreter *python, const struct py_code_layout *layout)
{
	struct py_code_layout table;

	if (py_code_layout_find(layout->version, false, &table) < 0 || python->free_threaded)
		return 0;
	table.code_type_addr = layout->code_type_addr;
	if (memcmp(&table, layout, sizeof(table)) == 0)
		return 0;
	printf("    the table differs from _Py_DebugOffsets\n");
	return -EINVAL;
}

static int find_layout(const struct ep_target *target, const struct interpreter *python,
		       struct py_code_layout *ret)
{
	uint32_t version = PY_VERSION(python->major, python->minor);
	int r;

	if (python->runtime_addr)
		r = layout_from_runtime(target, python, ret);
	else
		r = py_code_layout_find(version, python->trace_refs, ret);
	if (r < 0)
		return r;
	ret->code_type_addr = python->code_type_addr;
	return check_table(python, ret);
}

/* The script's first line. 0 or CANNOT_RUN. */
static int read_interpreter(FILE *out, struct interpreter *ret)
{
	char line[256];
	int n;

	if (!fgets(line, sizeof(line), out))
		return CANNOT_RUN;
	n = sscanf(line, "python %u %u %u %u %u %" SCNu64 " %" SCNu64, &ret->major, &ret->minor,
		   &ret->debug, &ret->trace_refs, &ret->free_threaded, &ret->code_type_addr,
		   &ret->runtime_addr);
	return n == 7 ? 0 : CANNOT_RUN;
}

/* Of each shape of line tables one, and the newest: what is looked at once more under sanitizers. */
static bool is_left_out(unsigned int minor)
{
	bool is_one = minor == OLDEST_MINOR || minor == 10 || minor == 11 || minor == NEWEST_MINOR;

	return getenv("EBPF_PROFILER_TEST_FEW") && !is_one;
}

/* Whether one like it was compared before, and this one is not wanted. */
static bool is_seen(const struct interpreter *python)
{
	static unsigned int seen[MAX_MINOR];
	unsigned int bit = 1u << (python->debug | python->free_threaded << 1);
	bool was = python->minor < MAX_MINOR && seen[python->minor] & bit;

	if (python->minor < MAX_MINOR)
		seen[python->minor] |= bit;
	return is_left_out(python->minor) || (was && !getenv("EBPF_PROFILER_TEST_FULL"));
}

/* ---- looking into one ---- */

struct session {
	struct ep_target target;
	struct interpreter python;
	struct py_code_layout layout;
	struct names_cache *cache; /* `work` makes it, the caller frees it */
};

/* 0, SEEN, CANNOT_RUN, or a negative errno; `work` gets what the script prints from line 2 on. */
static int run_session(const char *path, const char *script, struct session *session,
		       int (*work)(struct session *session, FILE *out))
{
	struct child child = {0};
	int r = start(path, script, &child);

	if (r < 0)
		return r;
	session->target.pid = child.pid;
	r = read_interpreter(child.out, &session->python);
	if (r == 0 && is_seen(&session->python))
		r = SEEN;
	if (r == 0)
		r = find_layout(&session->target, &session->python, &session->layout);
	if (r == 0)
		r = work(session, child.out);
	stop(&child);
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
	find_in(found, "/usr/bin", "/python3.[0-9]");
	find_in(found, "/usr/bin", "/python3.[0-9]*[0-9dt]");
	if (!runtimes)
		runtimes = "/var/tmp/ebpf-profiler-runtimes";
	find_in(found, runtimes, "/*/usr/bin/python3.[0-9]");
	find_in(found, runtimes, "/*/usr/bin/python3.[0-9]*[0-9dt]");
	find_in(found, runtimes, "/python3*/bin/python3.[0-9]*[0-9dt]");
}

/* `test` says 0, CANNOT_RUN, SEEN, or a negative errno; ret_minor what it was. */
static inline int test_interpreters(int argc, char **argv,
			     int (*test)(const char *path, const char *script,
					 unsigned int *ret_minor))
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
		int r = test(argc > 2 ? argv[i + 2] : found.gl_pathv[i], argv[1], &minor);

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

#endif
