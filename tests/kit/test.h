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
 * program with something to prepare once has a main that calls ep_test_run. Run one by hand with its
 * name, or a pattern, after the arguments that the program needs: test_plugin 'probe_*'.
 *
 * Needs cmocka, and nothing of this project. What nearly every test needs of libc comes with it.
 */
#ifndef EP_TESTS_KIT_TEST_H
#define EP_TESTS_KIT_TEST_H

#include "tests/kit/fakes.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#define EP_TEST(name) EP_TEST_WITH(name, NULL, NULL)
/* With functions of cmocka that run before and after it; NULL: none. */
#define EP_TEST_WITH(name, setup, teardown)                                                        \
	static void name(void **state);                                                            \
	static int name##_ends(void **state)                                                       \
	{                                                                                          \
		const CMFixtureFunction function = teardown;                                       \
                                                                                                   \
		ep_test_release(NULL);                                                               \
		return function ? function(state) : 0;                                             \
	}                                                                                          \
	__attribute__((constructor)) static void name##_is_a_test(void)                            \
	{                                                                                          \
		ep_test_add(#name, name, setup, name##_ends, __LINE__);                            \
	}                                                                                          \
	static void name(void **state)

/* The same, with what `setup` leaves in *state as the declaration `what` says: struct world *w. */
#define EP_TEST_ON(name, what, setup, teardown)                                                    \
	static void name##_on(what);                                                               \
	EP_TEST_WITH(name, setup, teardown)                                                        \
	{                                                                                          \
		name##_on(*state);                                                                 \
	}                                                                                          \
	static void name##_on(what)

/* A test of what `made` makes for it, a declaration and its value: struct world *w, new_world(). */
#define EP_TEST_OF(name, what, made)                                                               \
	static void name##_of(what);                                                               \
	EP_TEST(name)                                                                              \
	{                                                                                          \
		name##_of(made);                                                                   \
	}                                                                                          \
	static void name##_of(what)

/* The same for each i, of the type, that is below n; what one has made is released before the next. */
#define EP_TEST_EACH(name, type, i, n)                                                             \
	static void name##_at(type i);                                                             \
	EP_TEST(name)                                                                              \
	{                                                                                          \
		for (type at_ = 0; at_ < (n); at_++) {                                             \
			name##_at(at_);                                                            \
			ep_test_release(NULL);                                                     \
		}                                                                                  \
	}                                                                                          \
	static void name##_at(type i)

void ep_test_add(const char *name, CMUnitTestFunction function, CMFixtureFunction setup,
		 CMFixtureFunction teardown, int line);
/*
 * What a test makes is released when it ends, also when it fails: a helper that makes something says
 * so at once, and no test has to. The last one made is released first, all before `teardown` runs.
 */
void ep_test_owns(void *what, void (*release)(void *what));
/* Releases it now; NULL: all there is, between the rounds of a test. */
void ep_test_release(const void *what);
/* A new directory, which goes with all that is in it. */
const char *ep_test_directory(void);
/* A path in it, printed as by printf. The test owns it. */
__attribute__((format(printf, 2, 3))) char *ep_test_path(const char *directory, const char *format, ...);
/* Makes a file of this text, and the directories above it. */
void ep_test_write(const char *path, const char *text);
void ep_test_copy(const char *from, const char *to, mode_t mode);
/* A process that maps what we map and does nothing, until the test ends or it is released as EP_TEST_CHILD(pid). */
pid_t ep_test_child(void);
#define EP_TEST_CHILD(pid) ((void *)(intptr_t)(pid))
/* What is printed to the stream until ep_test_printed, which closes it. One at a time. */
FILE *ep_test_print(void);
char *ep_test_printed(FILE *out);
/* name_made: a function of `name`, which takes a pointer to what was made, for ep_test_owns. */
#define EP_TEST_RELEASES(name)                                                                     \
	static void name##_made(void *made)                                                        \
	{                                                                                          \
		name(made);                                                                        \
	}
/* What the program must be given, by name: EP_TEST_ARGUMENTS("SAMPLES"), once; then they are there. */
#define EP_TEST_ARGUMENTS(...) const char *const ep_test_arguments[] = {__VA_ARGS__, NULL};
extern const char *const ep_test_arguments[] __attribute__((weak));
extern const char *ep_test_argument[4];
/* Runs all of them; `setup` and `teardown` once, before and after all, each may be NULL. For main
 * to return. */
int ep_test_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
