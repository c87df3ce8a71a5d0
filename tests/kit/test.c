/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/test.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TESTS 256
#define MAX_MADE  1024

const char *ep_test_argument[4];

/* File-level, since constructors fill it before main. */
static struct CMUnitTest tests[MAX_TESTS];
static int lines[MAX_TESTS];
static size_t n_tests;

/* File-level, since cmocka leaves a failed test without returning. No allocation: some tests let
 * those fail. */
static struct {
	void *what;
	void (*release)(void *what);
} made[MAX_MADE];
static size_t n_made;

/* Sorted by line: constructors of a file may run in any order. */
void ep_test_add(const char *name, CMUnitTestFunction function, CMFixtureFunction setup,
		 CMFixtureFunction teardown, int line)
{
	size_t at = n_tests++;

	if (n_tests > MAX_TESTS)
		abort();
	for (; at > 0 && lines[at - 1] > line; at--) {
		tests[at] = tests[at - 1];
		lines[at] = lines[at - 1];
	}
	tests[at] = (struct CMUnitTest){name, function, setup, teardown, NULL};
	lines[at] = line;
}

void ep_test_owns(void *what, void (*release)(void *what))
{
	if (n_made == MAX_MADE)
		abort();
	made[n_made].what = what;
	made[n_made++].release = release;
}

void ep_test_release(const void *what)
{
	for (size_t i = n_made; i-- > 0;) {
		if (what && made[i].what != what)
			continue;
		made[i].release(made[i].what);
		made[i] = made[--n_made];
		if (what)
			return;
	}
	if (what)
		abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_directory(void *path)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		perror(path);
	free(path);
}

const char *ep_test_directory(void)
{
	char *path = strdup("/tmp/ep-test-XXXXXX");

	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	ep_test_owns(path, remove_directory);
	return path;
}

char *ep_test_path(const char *directory, const char *format, ...)
{
	char name[256], *path = NULL;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	ep_test_owns(path, free);
	return path;
}

void ep_test_write(const char *path, const char *text)
{
	char above[512];
	FILE *file;

	(void)snprintf(above, sizeof(above), "%s", path);
	for (char *slash = above; (slash = strchr(slash + 1, '/')); *slash = '/') {
		*slash = '\0';
		(void)mkdir(above, 0755);
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

void ep_test_copy(const char *from, const char *to, mode_t mode)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out;
	char buf[65536];
	ssize_t n;

	(void)unlink(to);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	assert_int_equal(fchmod(out, mode), 0);
	close(in);
	close(out);
}

static void end_child(void *child)
{
	(void)kill((pid_t)(intptr_t)child, SIGKILL);
	(void)waitpid((pid_t)(intptr_t)child, NULL, 0);
}

pid_t ep_test_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		for (;;)
			pause();
	}
	ep_test_owns(EP_TEST_CHILD(pid), end_child);
	return pid;
}

/* File-level, since a stream does not say where its text is. */
static char *printed;
static size_t printed_bytes;

FILE *ep_test_print(void)
{
	FILE *out = open_memstream(&printed, &printed_bytes);

	assert_non_null(out);
	return out;
}

char *ep_test_printed(FILE *out)
{
	assert_int_equal(fclose(out), 0);
	ep_test_owns(printed, free);
	return printed;
}

int ep_test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	if (n_tests == 0)
		abort();
	return _cmocka_run_group_tests(program_invocation_short_name, tests, n_tests, setup,
				       teardown);
}
