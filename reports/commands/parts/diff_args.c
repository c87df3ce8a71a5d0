/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/diff_args.h"
#include "core/base/parse.h"
#include "core/cli/parts/output_format.h"
#include "core/config/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ERROR_BYTES  512
#define DEFAULT_ROWS 15

enum { OPT_ABSOLUTE = 256, OPT_TOTAL, OPT_BASE, OPT_FAIL_ABOVE, OPT_JSON, OPT_FORCE };

static const struct option options[] = {
	{"absolute", no_argument, NULL, OPT_ABSOLUTE},
	{"total", no_argument, NULL, OPT_TOTAL},
	{"base", required_argument, NULL, OPT_BASE},
	{"fail-above", required_argument, NULL, OPT_FAIL_ABOVE},
	{"json", no_argument, NULL, OPT_JSON},
	{"force", no_argument, NULL, OPT_FORCE},
	{"limit", required_argument, NULL, 'n'},
	{"output", required_argument, NULL, 'o'},
	{0},
};

static int fail(char *error, const char *fmt, const char *value)
{
	snprintf(error, ERROR_BYTES, fmt, value);
	return -EINVAL;
}

static int set_rows(struct ep_diff_args *args, const char *value, char *error)
{
	uint64_t rows;

	if (ep_parse_u64_str(value, &rows) < 0 || rows > UINT32_MAX)
		return fail(error, "-n takes a number of rows, 0 for all, not '%.64s'", value);
	args->rows = (uint32_t)rows;
	return 0;
}

static int set_output(struct ep_diff_args *args, const char *value, char *error)
{
	const struct ep_output_format *format = ep_output_format_of(value);

	if (!format || strcmp(format->name, "html") != 0)
		return fail(error, "-o '%.256s': diff writes a page: name it like -o diff.html", value);
	if (args->output)
		return fail(error, "-o is there twice: leave '%.256s' out", value);
	args->output = value;
	return 0;
}

static int set_amount(struct ep_diff_args *args, enum ep_movers_amount amount, char *error)
{
	if (args->amount != EP_MOVERS_SHARE && args->amount != amount)
		return fail(error, "--absolute compares CPU time per second, --total that of whole "
				   "recordings: leave one out%s", "");
	args->amount = amount;
	return 0;
}

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
	if (is_total)
		return fail(args->view.error,
			    "--fail-above takes CPU time with --total, like 0.5s, not '%.64s'",
			    value);
	return fail(args->view.error, "--fail-above takes per cent, like 5 or 0.5, not '%.64s'",
		    value);
}

static int apply(void *arg, int option, const char *value, char *error)
{
	struct ep_diff_args *args = arg;

	switch (option) {
	case 'n':
		return set_rows(args, value, error);
	case 'o':
		return set_output(args, value, error);
	case OPT_FAIL_ABOVE:
		args->fail_above_text = value;
		break;
	case OPT_BASE:
		if (args->n_bases == EP_DIFF_MAX_BASES)
			return fail(error, "--base %.256s: more than 64 of them", value);
		args->bases[args->n_bases++] = value;
		break;
	case OPT_ABSOLUTE:
		return set_amount(args, EP_MOVERS_PER_SECOND, error);
	case OPT_TOTAL:
		return set_amount(args, EP_MOVERS_TOTAL, error);
	case OPT_JSON:
		args->json = true;
		break;
	case OPT_FORCE:
		args->force = true;
		break;
	}
	return 0;
}

/* Without --base the first of two is it. */
static int take_files(struct ep_diff_args *args)
{
	size_t n = args->view.n_files;

	if (args->view.help)
		return 0;
	if (args->n_bases && n)
		return 0;
	if (args->n_bases)
		return fail(args->view.error, "nothing to compare with %.256s: ebpf-profiler diff --base A B",
			    args->bases[0]);
	if (n != 2)
		return fail(args->view.error, n < 2 ? "diff takes two profiles: ebpf-profiler diff BEFORE AFTER%s"
						    : "diff takes two profiles; of more than two say which are the "
						      "earlier ones: --base A1 --base A2 B1 B2%s", "");
	args->bases[args->n_bases++] = args->view.files[0];
	args->others_at = 1;
	return 0;
}

int ep_diff_args_parse(struct ep_diff_args *ret_args, int argc, char **argv)
{
	const struct ep_view_command command = {
		.name = "diff", .letters = "n:o:", .options = options, .apply = apply, .arg = ret_args};
	int r;

	*ret_args = (struct ep_diff_args){.rows = DEFAULT_ROWS, .fail_above = -1};
	r = ep_view_args_parse(&ret_args->view, &command, argc, argv);
	r = r < 0 ? r : set_fail_above(ret_args);
	return r < 0 ? r : take_files(ret_args);
}

void ep_diff_args_fini(struct ep_diff_args *args)
{
	ep_view_args_fini(&args->view);
}
