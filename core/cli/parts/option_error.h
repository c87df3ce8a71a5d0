/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an option that getopt_long(3) refused: one sentence with the fix. */
#ifndef EP_CLI_OPTION_ERROR_H
#define EP_CLI_OPTION_ERROR_H

#include <getopt.h>
#include <stddef.h>

/*
 * For '?' and ':' of getopt_long, right after the call. `word` is the word of argv it stood at;
 * help_name is
 * "" or "record ". Returns -EINVAL.
 */
int ep_option_error(char *error, size_t size, const char *help_name, const struct option *options,
		    int result, const char *word);

#endif
