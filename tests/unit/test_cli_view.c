/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of the commands that read profiles. */
#include "core/base/clock.h"
#include "reports/commands/parts/convert_args.h"
#include "reports/commands/parts/report_args.h"
#include "tests/unit/command_line.h"

#include <time.h>

static int parse_report(const char *line, struct ep_report_args *args)
{
	int n;
	char **words = words_of("report", line, &n);

	return ep_report_args_parse(args, n, words);
}

static int parse_convert(const char *line, struct ep_convert_args *args)
{
	int n;
	char **words = words_of("convert", line, &n);

	return ep_convert_args_parse(args, n, words);
}

static const struct {
	const char *line, *error;
} report_errors[] = {
	{"--by functions", "--by takes no such word: did you mean function?"},
	{"--by colour", "--by takes function, line, module, kind, program, comm, process, thread, user, unit, "
			 "container or cpu, not 'colour'"},
	{"--tree --list f", "--tree, --callers and --list are three reports: give one of them"},
	{"--by line --tree", "--by is of the table, which --tree, --callers and --list replace: give one of them"},
	{"-n many", "-n takes a number of rows, 0 for all, not 'many'"},
	{"-n", "-n needs a value: see --help for what it takes"},
	{"--sort name", "--sort takes self or total, not 'name'"},
	{"--min 101", "--min takes per cent from 0 to 100, like 0.5, not '101'"},
	{"--min nan", "--min takes per cent from 0 to 100, like 0.5, not 'nan'"},
	{"--source here", "--source takes OLD=NEW, beginnings of paths, like /build/app=/home/me/app, not 'here'"},
	{"--pid x", "--pid takes process ids, like 1234,1235 or !1234, not 'x'"},
	{"x.pb.gz --cpu a", "--cpu takes numbers of CPUs, like 0-3,7, not 'a'"},
	{"-I (", "-I takes a regular expression, not '(': Unmatched ( or \\("},
	{"--from soon", "--from takes a time like 10s (after the start), -10m (before the end), 14:03:00 or "
			"2026-01-31T14:03:00, not 'soon'"},
	{"--too 1s", "unknown option --too: did you mean --to?"},
	{"--qqqqqqqq", "unknown option --qqqqqqqq: see ebpf-profiler report --help"},
	{"-z", "unknown option -z: see ebpf-profiler report --help"},
	{"--tree=1", "--tree takes no value: leave '=1' out"},
};

EP_TEST(errors_of_report_say_what_to_do)
{
	for (size_t i = 0; i < EP_LEN(report_errors); i++) {
		struct ep_report_args args;

		assert_int_equal(parse_report(report_errors[i].line, &args), -EINVAL);
		assert_string_equal(args.view.error, report_errors[i].error);
		ep_report_args_fini(&args);
	}
}

static const struct {
	const char *line, *error;
} convert_errors[] = {
	{"", "convert needs a file to read: ebpf-profiler convert FILE -o OUT ('-' is standard input)"},
	{"x.pb.gz", "convert needs a file to write: -o OUT, whose extension is the format, or -f FORMAT -o -"},
	{"x.pb.gz -o x.folded --debuginfod",
	 "--debug-dir and --debuginfod say where --symbols looks: add --symbols"},
	{"x.pb.gz -o x.folded -o x.folded", "-o 'x.folded' is there twice: leave one out"},
};

EP_TEST(errors_of_convert_say_what_to_do)
{
	for (size_t i = 0; i < EP_LEN(convert_errors); i++) {
		struct ep_convert_args args;

		assert_int_equal(parse_convert(convert_errors[i].line, &args), -EINVAL);
		assert_string_equal(args.view.error, convert_errors[i].error);
		ep_convert_args_fini(&args);
	}
}

EP_TEST(options_stand_before_and_after_files)
{
	struct ep_report_args args;

	assert_int_equal(parse_report("a.pb.gz --pid 1 - -n 3 --by line -- --b.pb.gz", &args), 0);
	assert_int_equal(args.view.n_files, 3);
	assert_string_equal(args.view.files[0], "a.pb.gz");
	assert_string_equal(args.view.files[1], "-");
	assert_string_equal(args.view.files[2], "--b.pb.gz");
	assert_false(ep_view_filter_is_empty(args.view.filter));
	assert_int_equal(args.report.rows, 3);
	assert_int_equal(args.report.by, EP_TALLY_LINE);
	ep_report_args_fini(&args);
}

EP_TEST(what_is_not_said_has_a_default)
{
	struct ep_report_args args;

	assert_int_equal(parse_report("", &args), 0);
	assert_int_equal(args.view.n_files, 0);
	assert_true(ep_view_filter_is_empty(args.view.filter));
	assert_int_equal(args.report.what, EP_REPORT_TABLE);
	assert_int_equal(args.report.by, EP_TALLY_FUNCTION);
	assert_int_equal(args.report.rows, 30);
	assert_int_equal(args.report.least_10000, 50);
	ep_report_args_fini(&args);
	assert_int_equal(parse_report("--json --tree --min 2.5%", &args), 0);
	assert_int_equal(args.report.rows, 0); /* all of it */
	assert_int_equal(args.report.least_10000, 250);
	ep_report_args_fini(&args);
}

EP_TEST(symbols_are_looked_for_where_it_is_said)
{
	struct ep_convert_args args;

	assert_int_equal(parse_convert("a b -o c.pb.gz -f folded -o - --symbols --debug-dir x --debug-dir y --debuginfod -q",
				       &args), 0);
	assert_int_equal(args.view.n_files, 2);
	assert_int_equal(args.outputs.n, 2);
	assert_string_equal(args.outputs.list[1].format->name, "folded");
	assert_true(args.symbols && args.debuginfod && args.view.quiet);
	assert_int_equal(args.sources.n_directories, 2);
	ep_convert_args_fini(&args);
}

#define SECOND EP_NS_PER_SEC

static const struct {
	const char *text;
	struct ep_view_moment moment;
} moments[] = {
	{"10", {EP_VIEW_FROM_START, 10 * SECOND}},
	{"10s", {EP_VIEW_FROM_START, 10 * SECOND}},
	{"0", {EP_VIEW_FROM_START, 0}},
	{"1.5s", {EP_VIEW_FROM_START, 1500 * EP_NS_PER_MS}},
	{"-10m", {EP_VIEW_FROM_END, 600 * SECOND}},
	{"14:03", {EP_VIEW_TIME_OF_DAY, (14 * 3600 + 3 * 60) * SECOND}},
	{"14:03:05", {EP_VIEW_TIME_OF_DAY, (14 * 3600 + 3 * 60 + 5) * SECOND}},
	{"14:03:05.25", {EP_VIEW_TIME_OF_DAY, (14 * 3600 + 3 * 60 + 5) * SECOND + SECOND / 4}},
	{"1970-01-02", {EP_VIEW_WALL_CLOCK, 86400 * SECOND}},
	{"1970-01-02T00:00:01", {EP_VIEW_WALL_CLOCK, 86401 * SECOND}},
	{"1970-01-02 00:01", {EP_VIEW_WALL_CLOCK, 86460 * SECOND}},
	{"1970-01-02T00:00:01.5Z", {EP_VIEW_WALL_CLOCK, 86401 * SECOND + SECOND / 2}},
};

EP_TEST(times_are_read)
{
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < EP_LEN(moments); i++) {
		struct ep_view_moment moment;

		assert_int_equal(ep_view_parse_moment(moments[i].text, &moment), 0);
		assert_int_equal(moment.base, moments[i].moment.base);
		assert_int_equal(moment.ns, moments[i].moment.ns);
	}
}

EP_TEST(what_is_no_time_is_refused)
{
	static const char *const texts[] = {"", "-", "10x", "25:00", "14:", "14:3", "14:03:", "14:03:00x", "14:03-",
					    "1970-13-01", "1970-01-01T", "1970-01-01T14", "1970-01-01Zx", "--5s"};

	for (size_t i = 0; i < EP_LEN(texts); i++) {
		struct ep_view_moment moment;

		assert_int_equal(ep_view_parse_moment(texts[i], &moment), -EINVAL);
	}
}
