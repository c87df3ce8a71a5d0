/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/filter_args.h"

#include <stdio.h>

static enum ep_filter_key key_of(int option)
{
	if (option >= EP_FILTER_OPTIONS_FIRST && option < EP_FILTER_NO_INHERIT)
		return (enum ep_filter_key)(option - EP_FILTER_OPTIONS_FIRST);
	return ep_filter_key_by_letter(option);
}

int ep_filter_args_apply(struct ep_filter *filter, int option, const char *value, char *error,
			 size_t error_bytes)
{
	enum ep_filter_key key = key_of(option);
	char name[32];

	if (option == EP_FILTER_NO_INHERIT) {
		filter->no_inherit = true;
		return 0;
	}
	if (key == EP_FILTER_KEYS)
		return 1;
	if (ep_filter_keys[key].letter)
		snprintf(name, sizeof(name), "-%c", ep_filter_keys[key].letter);
	else
		snprintf(name, sizeof(name), "--%s", ep_filter_keys[key].name);
	return ep_filter_add(filter, key, name, value, error, error_bytes);
}
