/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of --help and --version. */
#ifndef EP_CLI_HELP_H
#define EP_CLI_HELP_H

#include "core/cli/parts/args.h"

#include <stdio.h>

extern const char ep_top_help[];

void ep_help_print(FILE *out, enum ep_command topic);
/* help_view.c */
extern const char ep_report_help[], ep_convert_help[], ep_diff_help[];

void ep_version_print(FILE *out);

#endif
