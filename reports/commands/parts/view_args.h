/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of the commands that read profiles (report, convert, diff): the filters of the view,
 * which are the same for all of them, beside each command's own options, and files. Options may stand before
 * and after files.
 *
 *	static const struct option own[] = {{"absolute", no_argument, NULL, OPT_ABSOLUTE}, {0}};
 *	const struct ep_view_command command = {
 *		.name = "diff", .letters = "n:", .options = own, .apply = apply, .arg = &diff};
 *
 *	r = ep_view_args_parse(&view, &command, argc, argv);     argv[0] is the command's name
 */
#ifndef EP_REPORTS_VIEW_ARGS_H
#define EP_REPORTS_VIEW_ARGS_H

#include "reports/view/filter.h"

#include <getopt.h>

#define EP_VIEW_MAX_FILES     4096
#define EP_VIEW_OPTIONS_FIRST 1024 /* numbers of the filters' long options: a command's own are below */

/* Help of the filters, a block of lines for a command's text. */
#define EP_VIEW_HELP                                                                               \
	"      --pid PID,..     samples of these processes; !PID: of all others\n"                 \
	"      --comm GLOB      of processes with this name; !GLOB excludes, here and\n"           \
	"                       below\n"                                                           \
	"      --exe GLOB       of processes that run this file: '/opt/*', or node\n"              \
	"                       wherever it is\n"                                                  \
	"      --thread GLOB    of threads with this name or id\n"                                 \
	"      --container ID   of this container; the beginning of the id is enough\n"            \
	"      --cpu LIST       on these CPUs: 0-3,7\n"                                            \
	"      --kind KIND,..   only frames of these kinds: kernel, native, a language's;\n"       \
	"                       the time of the others is their callers'\n"                        \
	"      --from T, --to T 10s after the start, -10m before the end, or a time:\n"            \
	"                       14:03:00, 2026-01-31T14:03:00\n"                                   \
	"  -I REGEX             stacks with a function whose name matches\n"                       \
	"  -X REGEX             stacks without any such function\n"                                \
	"                       Each can be repeated: those of one kind add up, different\n"       \
	"                       ones must all hold.\n"

struct ep_view_args {
	struct ep_view_filter *filter;
	const char **files; /* borrowed from argv, in their order */
	size_t n_files;
	bool help;	      /* --help: nothing else counts */
	bool quiet;	      /* -q */
	unsigned int verbose; /* number of -v */
	char error[512];      /* not empty when parsing failed: one sentence with the fix */
};

struct ep_view_command {
	const char *name;	     /* "report" */
	const char *letters;	     /* its own, as getopt takes them: "n:f" */
	const struct option *options; /* its own, ended by a zeroed one */
	/* One of its own. 0, or -EINVAL with `error`, of 512 bytes, filled. */
	int (*apply)(void *arg, int option, const char *value, char *error);
	void *arg;
};

/* 0; -EINVAL with ret_args->error filled: print it and exit with EP_EXIT_USAGE; -ENOMEM. To be ended by fini in any case. */
int ep_view_args_parse(struct ep_view_args *ret_args, const struct ep_view_command *command, int argc, char **argv);
void ep_view_args_fini(struct ep_view_args *args); /* accepts a zeroed one */

/* The log's level, as -q and -v say. */
void ep_view_args_set_log(const struct ep_view_args *args);

/* "10s", "-10m", "14:03", "14:03:00", "2026-01-31", "2026-01-31T14:03:00[.5][Z]". 0 or -EINVAL. */
int ep_view_parse_moment(const char *text, struct ep_view_moment *ret_moment);

#endif
