/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of the commands that read profiles (report, convert, diff): the filters of the
 * view, which are the same for all of them, beside each command's own options, and files. A
 * command's struct begins with this one, and its table includes the one that is here.
 */
#ifndef EP_REPORTS_VIEW_ARGS_H
#define EP_REPORTS_VIEW_ARGS_H

#include "core/cli/parts/exit.h"
#include "core/cli/parts/options.h"
#include "reports/view/filter.h"

#define EP_VIEW_MAX_FILES 4096

extern const struct ep_cli_option ep_view_options[];

struct ep_view_args {
	struct ep_view_filter *filter;
	const char *const *files; /* a part of argv, in their order */
	size_t n_files;
	bool help;	      /* --help: nothing else counts */
	bool quiet;	      /* -q */
	unsigned int verbose; /* number of -v */
	char error[EP_CLI_ERROR_BYTES]; /* of a failure: one sentence with the fix */
};

/* Into a struct with its defaults, by a table of options that includes the one above. 0; -EINVAL
 * with args->error; -ENOMEM. To be ended by fini in any case. */
int ep_view_args_parse(struct ep_view_args *args, const struct ep_syntax *syntax, int argc,
		       char **argv);
void ep_view_args_fini(struct ep_view_args *args); /* accepts a zeroed one */

/* After that, with its result: says what is wrong, prints --help, sets the level of the log. False:
 * that is all, and the command ends with *ret_status. */
bool ep_view_args_go(const struct ep_view_args *args, const struct ep_syntax *syntax, int r,
		     enum ep_exit *ret_status);

/* "10s", "-10m", "14:03", "14:03:00", "2026-01-31", "2026-01-31T14:03:00[.5][Z]". 0 or -EINVAL. */
int ep_view_parse_moment(const char *text, struct ep_view_moment *ret_moment);

#endif
