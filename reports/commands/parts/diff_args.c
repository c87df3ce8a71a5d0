/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/diff_args.h"
#include "core/config/units.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define DEFAULT_ROWS 15

static int set_output(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_diff_args *args = arg;
	const struct ep_output_format *format = ep_output_format_of(value);

	(void)option;
	if (!format || strcmp(format->name, "html") != 0)
		return ep_cli_fail(
			error, "-o '%.256s': diff writes a page: name it like -o diff.html", value);
	if (args->outputs.n)
		return ep_cli_fail(error, "-o is there twice: leave '%.256s' out", value);
	args->outputs.list[args->outputs.n++] = (struct ep_output){.path = value, .format = format};
	return 0;
}

static int set_amount(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_diff_args *args = arg;
	enum ep_movers_amount amount = (enum ep_movers_amount)option->which;

	(void)value;
	if (args->amount != EP_MOVERS_SHARE && args->amount != amount)
		return ep_cli_fail(error, "--absolute compares CPU time per second, --total that "
					     "of whole recordings: leave one out");
	args->amount = amount;
	return 0;
}

static int set_by(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_diff_args *args = arg;

	if (ep_tally_parse_by(value, &args->by) == 0 &&
	    (args->by == EP_TALLY_FUNCTION || ep_group_is_possible(args->by)))
		return 0;
	return ep_cli_fail(error, "--%s takes function, program, comm, user, unit or container, "
				  "not '%.64s'", option->name, value);
}

static int add_base(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_diff_args *args = arg;

	(void)option;
	if (args->n_bases == EP_DIFF_MAX_BASES)
		return ep_cli_fail(error, "--base %.256s: more than %d of them", value,
				      EP_DIFF_MAX_BASES);
	args->bases[args->n_bases++] = value;
	return 0;
}

#define AT(member) offsetof(struct ep_diff_args, member)

static const struct ep_cli_option options[] = {
	{"base", 0, EP_CLI_SET, .value = "FILE", .set = add_base,
	 .help = "a profile of the earlier side; can be repeated, all others are the later side"},
	{"by", 0, EP_CLI_SET, .value = "WHAT", .set = set_by,
	 .help = "what is compared: function (if nothing is said), program, comm, user, unit or "
		 "container"},
	{"absolute", 0, EP_CLI_SWITCH, .which = EP_MOVERS_PER_SECOND, .set = set_amount,
	 .help = "CPU time per second of recording, not shares of each profile: of a service under "
		 "equal load"},
	{"total", 0, EP_CLI_SWITCH, .which = EP_MOVERS_TOTAL, .set = set_amount,
	 .help = "CPU time of whole recordings: of equal work, which may take longer"},
	{"fail-above", 0, EP_CLI_TEXT, AT(fail_above_text), .value = "N",
	 .help = "end with exit status 6 when a function certainly takes N more than before: N "
		 "points of the share (from 5 % to 8 % are 3 points), with --absolute per cent of "
		 "one CPU, with --total CPU time like 0.5s. 0: when it takes more at all. Status 5: "
		 "the samples are too few to tell"},
	{"output", 'o', EP_CLI_SET, .value = "FILE", .set = set_output,
	 .help = "a page in the shape of B, red and blue: .html"},
	{"force", 0, EP_CLI_FLAG, AT(force), .help = "overwrite a file that exists"},
	{"limit", 'n', EP_CLI_NUMBER, AT(rows), 0, UINT32_MAX, .value = "ROWS",
	 .help = "so many rows of each table: 15; 0: all", .takes = "a number of rows, 0 for all"},
	{"json", 0, EP_CLI_FLAG, AT(json), .help = "the movers as JSON, with their intervals"},
	{.kind = EP_CLI_INCLUDE, .include = ep_view_options},
	{0},
};

const struct ep_syntax ep_diff_syntax = {
	.name = "diff",
	.usage = "[--total] [--fail-above N] [option].. BEFORE AFTER\n"
		 "[option].. --base A1 --base A2 .. B1 B2 ..",
	.about = "what differs between two profiles by more than chance",
	.text = "Which functions take more or less in AFTER (B) than in BEFORE (A): by themselves, "
		"and with what they call. What the noise of counting samples explains is left out "
		"(95 %, over all functions together). Reads what report reads; a directory or "
		"several files are one side. Needs no privileges; root gives them up once the files "
		"are open.",
	.options = options,
	.end = "exit status: 0 ok, 1 a file cannot be read or written, 2 usage, 3 permission, 5 no "
	       "sample of a side passes the filters, or too few for --fail-above, 6 above "
	       "--fail-above\n\n"
	       "  ebpf-profiler diff before.otlp.gz after.otlp.gz\n"
	       "  ebpf-profiler diff --fail-above 2 --comm server main.pb.gz branch.pb.gz",
	.words = EP_WORDS_FILES,
};

/* "5", "0.5", "2%"; with --total "0.5", "0.5s", "300ms". */
static int set_fail_above(struct ep_diff_args *args)
{
	const char *value = args->fail_above_text;
	bool is_total = args->amount == EP_MOVERS_TOTAL;
	uint64_t ns;
	char *end;

	if (!value)
		return 0;
	args->fail_above = strtod(value, &end);
	if (end != value && isfinite(args->fail_above) && args->fail_above >= 0 &&
	    (!*end || (!is_total && strcmp(end, "%") == 0)))
		return 0;
	if (is_total && ep_parse_duration(value, &ns) == 0) {
		args->fail_above = (double)ns / 1e9;
		return 0;
	}
	return ep_cli_fail(args->view.error, "--fail-above takes %s, not '%.64s'",
			      is_total ? "CPU time with --total, like 0.5s"
				       : "per cent, like 5 or 0.5",
			      value);
}

/* Without --base the first of two is it. */
static int take_files(struct ep_diff_args *args)
{
	size_t n = args->view.n_files;

	if (args->view.help || (args->n_bases && n))
		return 0;
	if (args->n_bases)
		return ep_cli_fail(args->view.error,
				   "nothing to compare with %.256s: ebpf-profiler diff --base A B",
				   args->bases[0]);
	if (n != 2)
		return ep_cli_fail(args->view.error, "diff takes two profiles%s",
				      n < 2 ? ": ebpf-profiler diff BEFORE AFTER"
					    : "; of more than two say which are the earlier ones: "
					      "--base A1 --base A2 B1 B2");
	args->bases[args->n_bases++] = args->view.files[0];
	args->others_at = 1;
	return 0;
}

int ep_diff_args_parse(struct ep_diff_args *ret_args, int argc, char **argv)
{
	int r;

	*ret_args = (struct ep_diff_args){.rows = DEFAULT_ROWS, .fail_above = -1};
	r = ep_view_args_parse(&ret_args->view, &ep_diff_syntax, argc, argv);
	r = r < 0 ? r : set_fail_above(ret_args);
	return r < 0 ? r : take_files(ret_args);
}

void ep_diff_args_fini(struct ep_diff_args *args)
{
	ep_view_args_fini(&args->view);
}
