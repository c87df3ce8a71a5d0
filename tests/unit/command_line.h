/* SPDX-License-Identifier: Apache-2.0 */
/* A command line as text. */
#ifndef EP_TESTS_COMMAND_LINE_H
#define EP_TESTS_COMMAND_LINE_H

#include "tests/kit/test.h"

/* Its words, of which the first is the command; they are there until the next call. */
static inline char **words_of(const char *command, const char *line, int *ret_n)
{
	static char copy[512], *words[17];
	char *rest = copy, *word;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s %s", command, line);
	while ((word = strsep(&rest, " ")) && n < 16)
		if (word[0])
			words[n++] = word;
	words[n] = NULL;
	*ret_n = n;
	return words;
}

#endif
