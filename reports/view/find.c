/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view/find.h"
#include "ebpf-profiler/batch.h"

#include <string.h>

static bool is_of_identifier(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 0x80 || u == '_' || u == '$' || (u >= '0' && u <= '9') ||
	       (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z');
}

static bool is_exact(const char *name, const char *word)
{
	return strcmp(name, word) == 0;
}

/* The word stands before the arguments or at the end, and no part of an identifier before it. */
static bool is_last_part(const char *name, const char *word)
{
	size_t bytes = strlen(word);

	for (const char *at = strstr(name, word); at; at = strstr(at + 1, word)) {
		if (at > name && is_of_identifier(at[-1]))
			continue;
		if (at[bytes] == '\0' || at[bytes] == '(' || at[bytes] == '<' || at[bytes] == '[')
			return true;
	}
	return false;
}

static bool is_somewhere(const char *name, const char *word)
{
	return strstr(name, word) != NULL;
}

int ep_view_find_functions(const struct ep_batch *batch, const char *word, uint8_t **ret_wanted,
			   size_t *ret_n)
{
	static bool (*const ways[])(const char *, const char *) = {is_exact, is_last_part,
								   is_somewhere};
	uint8_t *wanted = calloc((size_t)batch->n_strings + 1, 1);
	size_t n = 0;

	if (!wanted)
		return -ENOMEM;
	for (size_t way = 0; way < EP_LEN(ways) && n == 0 && word[0]; way++) {
		for (uint32_t i = 1; i < batch->n_functions; i++) {
			uint32_t name = batch->function_name[i];

			if (wanted[name] ||
			    !(ways[way](batch->string_text[name], word) ||
			      ways[way](batch->string_text[batch->function_system_name[i]], word)))
				continue;
			wanted[name] = 1;
			n++;
		}
	}
	*ret_wanted = wanted;
	*ret_n = n;
	return 0;
}
