/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/test.h"

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

int ep_test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	if (n_tests == 0)
		abort();
	return _cmocka_run_group_tests(program_invocation_short_name, tests, n_tests, setup,
				       teardown);
}
