/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that register themselves with cmocka. A file of tests is
 *
 *	#include "tests/kit/test.h"
 *
 *	EP_TEST(probe_ignores_other_executables)
 *	{
 *		assert_int_equal(...);
 *	}
 *
 * and needs no list of them and no main: all tests of a program run in the order of its lines. A
 * program with arguments of its own, or with something to prepare once, has a main that calls
 * ep_test_run. Run one by hand with its name, or a pattern: test_plugin 'probe_*'.
 *
 * Needs cmocka, and nothing of this project.
 */
#ifndef EP_TESTS_KIT_TEST_H
#define EP_TESTS_KIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EP_TEST(name) EP_TEST_WITH(name, NULL, NULL)
/* With functions of cmocka that run before and after it; NULL: none. */
#define EP_TEST_WITH(name, setup, teardown)                                                        \
	static void name(void **state);                                                            \
	__attribute__((constructor)) static void name##_is_a_test(void)                            \
	{                                                                                          \
		ep_test_add(#name, name, setup, teardown, __LINE__);                               \
	}                                                                                          \
	static void name(__attribute__((unused)) void **state)

void ep_test_add(const char *name, CMUnitTestFunction function, CMFixtureFunction setup,
		 CMFixtureFunction teardown, int line);
/* Runs all of them; `setup` and `teardown` once, before and after all, each may be NULL. For main
 * to return. */
int ep_test_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
