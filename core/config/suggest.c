/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimal string alignment: Levenshtein's distance with a swap of two neighbours as one edit, since
 * that is how fingers err. Three rows of the table are enough.
 */
#include "core/config/problems.h"

#include <string.h>

#define MAX_WORD 64 /* no key is longer: longer words are cut */

static size_t min3(size_t a, size_t b, size_t c)
{
	return EP_MIN(EP_MIN(a, b), c);
}

size_t ep_edit_distance(const char *a, const char *b)
{
	size_t rows[3][MAX_WORD + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2], *spare;
	size_t a_len = strnlen(a, MAX_WORD), b_len = strnlen(b, MAX_WORD);

	for (size_t j = 0; j <= b_len; j++)
		above[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
				      above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = EP_MIN(row[j], before[j - 2] + 1);
		}
		spare = before;
		before = above;
		above = row;
		row = spare;
	}
	return above[b_len];
}

/* frequency for freq, out for output: one begins the other, by three letters at least. */
static bool begins(const char *a, const char *b)
{
	size_t len = EP_MIN(strlen(a), strlen(b));

	return len >= 3 && memcmp(a, b, len) == 0;
}

const char *ep_suggest(const char *word, const char *const *candidates, size_t n)
{
	size_t best = EP_MAX(strlen(word) / 3, (size_t)1) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t distance = ep_edit_distance(word, candidates[i]);

		if (distance < best) {
			best = distance;
			found = candidates[i];
		}
	}
	for (size_t i = 0; i < n && !found; i++)
		found = begins(word, candidates[i]) ? candidates[i] : NULL;
	return found;
}
