/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/report_args.h"
#include "core/config/problems.h"

#include <errno.h>
#include <string.h>

#define MAX_ROWS      (UINT32_MAX - 1)
#define ROWS_UNSAID   UINT32_MAX
#define DEFAULT_ROWS  30
#define TREE_ROWS     200
#define LIST_ROWS     10 /* functions of one name */
#define DEFAULT_LEAST 50 /* of 10000: 0.5 % */

static int set_by(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_report_args *args = arg;
	const char *names[EP_TALLY_COUNT], *nearest;

	args->has_by = true;
	if (ep_tally_parse_by(value, &args->report.by) == 0)
		return 0;
	for (int by = 0; by < EP_TALLY_COUNT; by++)
		names[by] = ep_tally_by_name((enum ep_tally_by)by);
	nearest = ep_suggest(value, names, EP_LEN(names));
	if (nearest)
		return ep_cli_fail(error, "--by takes no such word: did you mean %s?", nearest);
	return ep_cli_fail(error, "--%s takes function, line, module, kind, program, comm, process, "
				  "thread, user, unit, container or cpu, not '%.64s'",
			   option->name, value);
}

static int set_what(void *arg, const struct ep_cli_option *option, const char *function,
		    char *error)
{
	struct ep_report_args *args = arg;

	if (args->report.what != EP_REPORT_TABLE)
		return ep_cli_fail(
			error, "--tree, --callers and --list are three reports: give one of them");
	if (function && !function[0])
		return ep_cli_fail(error, "--%s takes the name of a function, or a part of it",
				      option->name);
	args->report.what = (enum ep_report_what)option->which;
	args->report.function = function;
	return 0;
}

static int set_order(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_report_args *args = arg;

	(void)option;
	args->report.by_total = strcmp(value, "total") == 0;
	if (args->report.by_total || strcmp(value, "self") == 0)
		return 0;
	return ep_cli_fail(error, "--sort takes self or total, not '%.64s'", value);
}

static int add_source(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_report_args *args = arg;
	bool is_directory = strcmp(option->name, "source-dir") == 0;
	int r = is_directory ? ep_source_add_directory(&args->sources, value)
			     : ep_source_add_replacement(&args->sources, value);

	if (r == -E2BIG)
		return ep_cli_fail(error,
				      "--source and --source-dir can be given 64 times at most");
	if (r < 0)
		return ep_cli_fail(error,
				      "--source takes OLD=NEW, beginnings of paths, like "
				      "/build/app=/home/me/app, not '%.64s'",
				      value);
	return 0;
}

#define AT(member) offsetof(struct ep_report_args, member)

static const struct ep_cli_option options[] = {
	{"by", 0, EP_CLI_SET, .value = "WHAT", .set = set_by,
	 .help = "a table by function (if nothing is said), line, module, kind, program, comm, "
		 "process, thread, user, unit, container or cpu"},
	{"tree", 0, EP_CLI_SWITCH, .which = EP_REPORT_TREE, .set = set_what,
	 .help = "the stacks from their roots; indented where they part"},
	{"callers", 0, EP_CLI_SET, .value = "FUNC", .which = EP_REPORT_CALLERS, .set = set_what,
	 .help = "who calls a function: its stacks, from it to their roots"},
	{"list", 0, EP_CLI_SET, .value = "FUNC", .which = EP_REPORT_LIST, .set = set_what,
	 .help = "its source, with the time of each line beside it"},
	{"source", 0, EP_CLI_SET, .value = "O=N", .set = add_source,
	 .help = "source that was in O is now in N: the beginning of a path is replaced"},
	{"source-dir", 0, EP_CLI_SET, .value = "DIR", .set = add_source,
	 .help = "source is looked for below DIR, too"},
	{"sort", 0, EP_CLI_SET, .value = "ORDER", .set = set_order,
	 .help = "of a table: self (if nothing is said) or total"},
	{"limit", 'n', EP_CLI_NUMBER, AT(report.rows), 0, MAX_ROWS, .value = "ROWS",
	 .help = "so many rows; 0: all", .takes = "a number of rows, 0 for all"},
	{"min", 0, EP_CLI_PERCENT, AT(report.least_10000), .value = "PCT",
	 .help = "of trees: leave out what has less than this share: 0.5",
	 .takes = "per cent from 0 to 100, like 0.5"},
	{"json", 0, EP_CLI_FLAG, AT(report.json), .help = "the same as JSON, without a limit"},
	{.kind = EP_CLI_INCLUDE, .include = ep_view_options},
	{0},
};

const struct ep_syntax ep_report_syntax = {
	.name = "report",
	.usage = "[--by WHAT] [--tree] [--list FUNC] [option].. [FILE|DIRECTORY]..",
	.about = "where the time went: tables, trees, source with its cost",
	.text = "Where the CPU time went: the newest profile here, or the files that are named, "
		"merged. Any of .html, .otlp.gz, .pb.gz, .pprof, .folded, .perf.txt, and '-', "
		"standard input. Of a directory, where the agent writes, the newest file, or those "
		"of --from and --to. Needs no privileges; root gives them up once the files are "
		"open.",
	.options = options,
	.end = "FUNC is a name, or its last part, or any part: the first of these that there is.\n\n"
	       "exit status: 0 ok, 1 a file cannot be read or is none, 2 usage, 3 permission, 5 no "
	       "sample passes the filters\n\n"
	       "  ebpf-profiler report                               the newest profile here\n"
	       "  ebpf-profiler report --by line --comm python3 x.otlp.gz\n"
	       "  ebpf-profiler report --list parse x.html           the guilty line\n"
	       "  ebpf-profiler report /var/lib/ebpf-profiler --from -10m",
	.words = EP_WORDS_FILES,
};

int ep_report_args_parse(struct ep_report_args *ret_args, int argc, char **argv)
{
	static const uint32_t rows[] = {
		[EP_REPORT_TABLE] = DEFAULT_ROWS,
		[EP_REPORT_TREE] = TREE_ROWS,
		[EP_REPORT_CALLERS] = TREE_ROWS,
		[EP_REPORT_LIST] = LIST_ROWS,
	};
	struct ep_report *report = &ret_args->report;
	int r;

	*ret_args = (struct ep_report_args){
		.report = {.least_10000 = DEFAULT_LEAST, .rows = ROWS_UNSAID}};
	r = ep_view_args_parse(&ret_args->view, &ep_report_syntax, argc, argv);
	if (r < 0)
		return r;
	if (ret_args->has_by && report->what != EP_REPORT_TABLE && !ret_args->view.help)
		return ep_cli_fail(ret_args->view.error,
				      "--by is of the table, which --tree, --callers and --list "
				      "replace: give one of them");
	if (report->rows == ROWS_UNSAID)
		report->rows = report->json ? 0 : rows[report->what];
	return 0;
}

void ep_report_args_fini(struct ep_report_args *args)
{
	ep_view_args_fini(&args->view);
}
