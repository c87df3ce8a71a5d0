/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of what is read from files: each build of a runtime that this machine has. */
#ifndef EP_TESTS_KIT_BUILDS_H
#define EP_TESTS_KIT_BUILDS_H

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Calls `check` for each file of the command line, else for those that the patterns find: from the root on, and in
 * each root of the cache of tests/runtimes. How many there were.
 */
static inline size_t builds_each(int argc, char **argv, const char *const *places, size_t n_places,
				 void (*check)(const char *path))
{
	const char *cache = getenv("EBPF_PROFILER_RUNTIMES");
	char pattern[512];
	size_t n = 0;

	for (int i = 1; i < argc; i++, n++)
		check(argv[i]);
	for (size_t i = 0; i < 2 * n_places && argc == 1; i++) {
		const char *root = !(i & 1) ? "" : cache ? cache : "/var/tmp/ebpf-profiler-runtimes";
		glob_t found;

		snprintf(pattern, sizeof(pattern), "%s%s%s", root, i & 1 ? "/*" : "", places[i / 2]);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++, n++)
			check(found.gl_pathv[k]);
		globfree(&found);
	}
	return n;
}

#endif
