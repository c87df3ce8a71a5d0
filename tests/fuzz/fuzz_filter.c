/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user, or a file, says of what is recorded: the first byte is a key, a line is a value, and the rest is a
 * name that is matched. Two ways of matching must agree: each value by itself, and all of them together.
 */
#include "core/config/filter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_VALUES 8

static struct ep_filter filter, alone;
static struct ep_glob all, one;

static uint32_t match_each(enum ep_filter_key key, char *const *values, size_t n, const char *text)
{
	char error[512];
	uint32_t bits = 0;

	for (size_t i = 0; i < n; i++) {
		alone = (struct ep_filter){0};
		if (ep_filter_add(&alone, key, "--key", values[i], error, sizeof(error)) < 0)
			continue;
		assert(ep_filter_compile(&alone, key, &one) == 0);
		bits |= ep_filter_match(&one, key, text);
	}
	return bits;
}

static void try_values(enum ep_filter_key key, char *const *values, size_t n, const char *text)
{
	char error[512];

	filter = (struct ep_filter){0};
	for (size_t i = 0; i < n; i++) {
		*error = '\0';
		if (ep_filter_add(&filter, key, "--key", values[i], error, sizeof(error)) < 0) {
			assert(*error);
			return; /* together they may be too long */
		}
	}
	assert(filter.n_terms <= EP_FILTER_MAX_TERMS);
	(void)ep_filter_takes_number(&filter, key, n);
	if (key != EP_FILTER_COMM && key != EP_FILTER_EXE)
		return;
	assert(ep_filter_compile(&filter, key, &all) == 0);
	assert(ep_filter_match(&all, key, text) == match_each(key, values, n, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text, *values[MAX_VALUES], *rest, *line;
	size_t n = 0;

	if (size < 2)
		return 0;
	text = malloc(size);
	assert(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	rest = text;
	while (n < MAX_VALUES && (line = strsep(&rest, "\n")) && rest)
		values[n++] = line;
	try_values(data[0] % EP_FILTER_KEYS, values, n, rest ? rest : "");
	free(text);
	return 0;
}
