/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/option_error.h"
#include "core/config/problems.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAMES 64

static void say_unknown(char *error, size_t size, const char *help_name,
			const struct option *options, const char *word)
{
	const char *names[MAX_NAMES], *nearest;
	char name[64];
	size_t n = 0;

	for (const struct option *o = options; o->name && n < EP_LEN(names); o++)
		names[n++] = o->name;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (optopt) {
		snprintf(error, size, "--%s takes no value: leave '%s' out", name,
			 strchrnul(word, '='));
		return;
	}
	nearest = ep_suggest(name, names, n);
	if (nearest)
		snprintf(error, size, "unknown option --%s: did you mean --%s?", name, nearest);
	else
		snprintf(error, size, "unknown option --%s: see ebpf-profiler %s--help", name,
			 help_name);
}

int ep_option_error(char *error, size_t size, const char *help_name, const struct option *options,
		    int result, const char *word)
{
	if (result == ':')
		snprintf(error, size, "%s needs a value: see --help for what it takes", word);
	else if (optopt > 0 && optopt < 256 && strncmp(word, "--", 2) != 0)
		snprintf(error, size, "unknown option -%c: see ebpf-profiler %s--help", optopt,
			 help_name);
	else
		say_unknown(error, size, help_name, options, word);
	return -EINVAL;
}
