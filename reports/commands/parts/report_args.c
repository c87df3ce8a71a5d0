/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/report_args.h"
#include "core/base/parse.h"
#include "core/config/problems.h"

#include <string.h>

#define ERROR_BYTES   512
#define DEFAULT_ROWS  30
#define TREE_ROWS     200
#define LIST_ROWS     10 /* functions of one name */
#define DEFAULT_LEAST 50 /* of 10000: 0.5 % */

enum {
	OPT_BY = 256,
	OPT_TREE,
	OPT_CALLERS,
	OPT_LIST,
	OPT_JSON,
	OPT_SORT,
	OPT_MIN,
	OPT_SOURCE,
	OPT_SOURCE_DIR
};

static const struct option options[] = {
	{"by", required_argument, NULL, OPT_BY},
	{"tree", no_argument, NULL, OPT_TREE},
	{"callers", required_argument, NULL, OPT_CALLERS},
	{"list", required_argument, NULL, OPT_LIST},
	{"json", no_argument, NULL, OPT_JSON},
	{"sort", required_argument, NULL, OPT_SORT},
	{"limit", required_argument, NULL, 'n'},
	{"min", required_argument, NULL, OPT_MIN},
	{"source", required_argument, NULL, OPT_SOURCE},
	{"source-dir", required_argument, NULL, OPT_SOURCE_DIR},
	{0},
};

static int fail(char *error, const char *fmt, const char *value)
{
	snprintf(error, ERROR_BYTES, fmt, value);
	return -EINVAL;
}

static int set_by(struct ep_report_args *args, const char *value, char *error)
{
	const char *names[EP_TALLY_CPU + 1], *nearest;

	if (ep_tally_parse_by(value, &args->report.by) == 0) {
		args->has_by = true;
		return 0;
	}
	for (int by = 0; by <= EP_TALLY_CPU; by++)
		names[by] = ep_tally_by_name((enum ep_tally_by)by);
	nearest = ep_suggest(value, names, EP_LEN(names));
	if (nearest)
		return fail(error, "--by takes no such word: did you mean %s?", nearest);
	return fail(
		error,
		"--by takes function, line, module, kind, process, thread, container or cpu, not '%.64s'",
		value);
}

static int set_what(struct ep_report_args *args, enum ep_report_what what, const char *function,
		    char *error)
{
	args->n_whats++;
	if (args->n_whats > 1)
		return fail(error,
			    "--tree, --callers and --list are three reports: give one of them%s",
			    "");
	if (function && !function[0])
		return fail(error, "%s takes the name of a function, or a part of it",
			    what == EP_REPORT_LIST ? "--list" : "--callers");
	args->report.what = what;
	args->report.function = function;
	return 0;
}

static int set_rows(struct ep_report_args *args, const char *value, char *error)
{
	uint64_t rows;

	if (ep_parse_u64_str(value, &rows) < 0 || rows > UINT32_MAX)
		return fail(error, "-n takes a number of rows, 0 for all, not '%.64s'", value);
	args->report.rows = (uint32_t)rows;
	args->has_rows = true;
	return 0;
}

/* "0.5", "2", "2%": in steps of 0.01 % */
static int set_least(struct ep_report_args *args, const char *value, char *error)
{
	char *end;
	double percent = strtod(value, &end);

	end += *end == '%';
	if (end == value || *end != '\0' || !(percent >= 0 && percent <= 100))
		return fail(error, "--min takes per cent from 0 to 100, like 0.5, not '%.64s'",
			    value);
	args->report.least_10000 = (uint32_t)(percent * 100 + 0.5);
	return 0;
}

static int add_source(struct ep_report_args *args, int option, const char *value, char *error)
{
	int r = option == OPT_SOURCE ? ep_source_add_replacement(&args->sources, value)
				     : ep_source_add_directory(&args->sources, value);

	if (r == -E2BIG)
		return fail(error, "--source and --source-dir can be given 64 times at most%s", "");
	if (r < 0)
		return fail(
			error,
			"--source takes OLD=NEW, beginnings of paths, like /build/app=/home/me/app, not '%.64s'",
			value);
	return 0;
}

static int apply(void *arg, int option, const char *value, char *error)
{
	struct ep_report_args *args = arg;

	switch (option) {
	case OPT_BY:
		return set_by(args, value, error);
	case OPT_TREE:
		return set_what(args, EP_REPORT_TREE, NULL, error);
	case OPT_CALLERS:
		return set_what(args, EP_REPORT_CALLERS, value, error);
	case OPT_LIST:
		return set_what(args, EP_REPORT_LIST, value, error);
	case OPT_JSON:
		args->report.json = true;
		return 0;
	case OPT_SORT:
		args->report.by_total = strcmp(value, "total") == 0;
		if (args->report.by_total || strcmp(value, "self") == 0)
			return 0;
		return fail(error, "--sort takes self or total, not '%.64s'", value);
	case OPT_MIN:
		return set_least(args, value, error);
	case 'n':
		return set_rows(args, value, error);
	case OPT_SOURCE:
	case OPT_SOURCE_DIR:
		return add_source(args, option, value, error);
	}
	return -EINVAL;
}

static int check(struct ep_report_args *args)
{
	static const uint32_t rows[] = {
		[EP_REPORT_TABLE] = DEFAULT_ROWS,
		[EP_REPORT_TREE] = TREE_ROWS,
		[EP_REPORT_CALLERS] = TREE_ROWS,
		[EP_REPORT_LIST] = LIST_ROWS,
	};

	if (args->has_by && args->n_whats && !args->view.help)
		return fail(
			args->view.error,
			"--by is of the table, which --tree, --callers and --list replace: give one of "
			"them%s",
			"");
	if (!args->has_rows)
		args->report.rows = args->report.json ? 0 : rows[args->report.what];
	return 0;
}

int ep_report_args_parse(struct ep_report_args *ret_args, int argc, char **argv)
{
	const struct ep_view_command command = {.name = "report",
						.letters = "n:",
						.options = options,
						.apply = apply,
						.arg = ret_args};
	int r;

	*ret_args = (struct ep_report_args){.report = {.least_10000 = DEFAULT_LEAST}};
	r = ep_view_args_parse(&ret_args->view, &command, argc, argv);
	return r < 0 ? r : check(ret_args);
}

void ep_report_args_fini(struct ep_report_args *args)
{
	ep_view_args_fini(&args->view);
}
