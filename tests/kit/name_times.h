/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the name of a frame costs, for benches of languages that have found frames in a live process:
 * each new one is named once with an empty cache, in several rounds; known ones come from the cache,
 * in random order. Prints rows for scripts/bench. Needs core/base and plugins/shared/names.
 */
#ifndef EP_TESTS_KIT_NAME_TIMES_H
#define EP_TESTS_KIT_NAME_TIMES_H

#include "core/base/clock.h"
#include "core/base/map.h"
#include "plugins/shared/names/cache.h"
#include "tests/kit/fakes.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_TIMES_ROUNDS 5
#define NAME_TIMES_KNOWN  4000000

struct name_times {
	const char *what; /* a frame is one: "sub" */
	size_t n;	  /* frames that were found */
	size_t n_known;	  /* the last ones, which all stay in the cache */
	double new_bar_ns, known_bar_ns;
	struct names_cache *(*begin)(void); /* an empty cache, which `name` uses until `end` */
	void (*end)(void);
	void (*name)(size_t frame, uint64_t random);
	uint64_t *ns; /* of new ones, sorted */
};

static inline int name_times_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static inline void name_times_new(struct name_times *times)
{
	size_t n = 0;

	times->ns = calloc(times->n * NAME_TIMES_ROUNDS, sizeof(*times->ns));
	for (int round = 0; times->ns && round < NAME_TIMES_ROUNDS; round++) {
		(void)times->begin();
		for (size_t i = 0; i < times->n; i++) {
			uint64_t start_ns = ep_clock_mono_ns();

			times->name(i, 0);
			times->ns[n++] = ep_clock_mono_ns() - start_ns;
		}
		times->end();
	}
	qsort(times->ns, n, sizeof(*times->ns), name_times_compare);
}

static inline double name_times_known(const struct name_times *times, size_t *ret_bytes)
{
	const struct names_cache *cache = times->begin();
	size_t first = times->n - times->n_known;
	uint64_t start_ns, ns;

	for (size_t i = 0; i < times->n_known; i++)
		times->name(first + i, 0);
	start_ns = ep_clock_mono_ns();
	for (uint64_t i = 0; i < NAME_TIMES_KNOWN; i++) {
		uint64_t random = ep_mix64(i);

		times->name(first + random % times->n_known, random >> 32);
	}
	ns = ep_clock_mono_ns() - start_ns;
	*ret_bytes = names_cache_bytes(cache) / times->n_known;
	times->end();
	return (double)ns / NAME_TIMES_KNOWN;
}

static inline void name_times_row(const char *format, const char *what, double ns, double bar)
{
	printf(format, what);
	printf("\t%.0f\tns\t%.0f\t%s\n", ns, bar, ns <= bar ? "met" : "missed");
}

/* 0: a bar that is missed is in the table. */
static inline int name_times_print(struct name_times *times)
{
	size_t n = times->n * NAME_TIMES_ROUNDS, bytes;
	double new_ns = 0, known_ns;

	name_times_new(times);
	for (size_t i = 0; i < n; i++)
		new_ns += (double)times->ns[i] / (double)n;
	known_ns = name_times_known(times, &bytes);
	name_times_row("frame of a known %s", times->what, known_ns, times->known_bar_ns);
	name_times_row("new %s, mean", times->what, new_ns, times->new_bar_ns);
	name_times_row("new %s, 99th percentile", times->what, (double)times->ns[n - n / 100 - 1],
		       times->new_bar_ns);
	printf("new %s, longest of %zu\t%.0f\tns\t\tfor information\n", times->what, times->n,
	       (double)times->ns[n - 1]);
	printf("cache, for each of them\t%zu\tbytes\t\tfor information\n", bytes);
	free(times->ns);
	return 0;
}

#endif
