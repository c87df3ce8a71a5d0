/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TESTS 256

/* File-level, since constructors fill it before main. */
static struct CMUnitTest tests[MAX_TESTS];
static int lines[MAX_TESTS];
static size_t n_tests;

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

int ep_test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	if (n_tests == 0)
		abort();
	return _cmocka_run_group_tests(program_invocation_short_name, tests, n_tests, setup,
				       teardown);
}
