/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML bytes as a configuration. What is accepted must print as TOML that is accepted again and
 * prints the same; what is not must have at least one problem.
 */
#include "core/config/config.h"
#include "tests/kit/fuzz.h"

/* Like --print-config, without the comments, which name lines of the input. NULL: rejected. */
static char *print_once(const char *text, size_t len)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = NULL;
	struct ep_config_problems problems;
	char *printed = NULL;
	size_t printed_bytes;
	FILE *out;
	int r;

	ep_config_problems_init(&problems);
	r = ep_config_parse("fuzz.toml", text, len, NULL, &problems, &config);
	assert((r == 0) == (ep_config_problems_count(&problems) == 0));
	ep_config_problems_fini(&problems);
	if (r < 0)
		return NULL;
	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++)
		config->sources[i].line = 1;
	out = open_memstream(&printed, &printed_bytes);
	assert(out);
	r = ep_config_print(config, out);
	assert(r == 0);
	fclose(out);
	return printed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_autofree char *first = print_once((const char *)data, size);
	ep_autofree char *second = NULL;

	if (!first)
		return 0;
	second = print_once(first, strlen(first));
	assert(second && strcmp(first, second) == 0);
	return 0;
}
