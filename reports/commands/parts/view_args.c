/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/view_args.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/config/units.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define DIGITS_OF_NS 9

/* --- times ----------------------------------------------------------------------------------- */

/* Exactly two digits, at most `max`. */
static int parse_two(const char **pos, unsigned int max, unsigned int *ret)
{
	const char *text = *pos;

	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return -EINVAL;
	*ret = (unsigned int)(text[0] - '0') * 10 + (unsigned int)(text[1] - '0');
	*pos += 2;
	return *ret > max ? -EINVAL : 0;
}

/* "14:03", "14:03:00", "14:03:00.25" */
static int parse_clock(const char **pos, uint64_t *ret_ns)
{
	unsigned int hours, minutes, seconds = 0;
	uint64_t part = 0;

	if (parse_two(pos, 24, &hours) < 0 || *(*pos)++ != ':' || parse_two(pos, 59, &minutes) < 0)
		return -EINVAL;
	if (**pos == ':') {
		++*pos;
		if (parse_two(pos, 60, &seconds) < 0)
			return -EINVAL;
	}
	if (**pos == '.') {
		uint64_t unit = EP_NS_PER_SEC;

		++*pos;
		for (int i = 0; i < DIGITS_OF_NS && **pos >= '0' && **pos <= '9'; i++, ++*pos) {
			unit /= 10;
			part += unit * (uint64_t)(**pos - '0');
		}
	}
	*ret_ns = (hours * 3600ull + minutes * 60 + seconds) * EP_NS_PER_SEC + part;
	return 0;
}

/* "2026-01-31", then nothing or a time; 'Z' is UTC, else it is local. */
static int parse_date(const char *text, struct ep_view_moment *ret_moment)
{
	struct tm tm = {.tm_isdst = -1};
	const char *pos = strptime(text, "%Y-%m-%d", &tm);
	uint64_t clock_ns = 0;
	time_t seconds;
	bool utc;

	if (!pos)
		return -EINVAL;
	if (*pos == 'T' || *pos == ' ') {
		pos++;
		if (parse_clock(&pos, &clock_ns) < 0)
			return -EINVAL;
	}
	utc = *pos == 'Z';
	if (pos[utc] != '\0')
		return -EINVAL;
	tm.tm_hour = (int)(clock_ns / EP_NS_PER_SEC / 3600);
	tm.tm_min = (int)(clock_ns / EP_NS_PER_SEC / 60 % 60);
	tm.tm_sec = (int)(clock_ns / EP_NS_PER_SEC % 60);
	seconds = utc ? timegm(&tm) : mktime(&tm);
	if (seconds < 0)
		return -EINVAL;
	*ret_moment = (struct ep_view_moment){
		EP_VIEW_WALL_CLOCK, (uint64_t)seconds * EP_NS_PER_SEC + clock_ns % EP_NS_PER_SEC};
	return 0;
}

int ep_view_parse_moment(const char *text, struct ep_view_moment *ret_moment)
{
	bool from_end = text[0] == '-';
	const char *pos = text;
	uint64_t ns;

	if (ep_parse_duration(text + from_end, &ns) == 0) {
		*ret_moment = (struct ep_view_moment){
			from_end ? EP_VIEW_FROM_END : EP_VIEW_FROM_START, ns};
		return 0;
	}
	if (!strchr(text, '-') && parse_clock(&pos, &ns) == 0 && *pos == '\0') {
		*ret_moment = (struct ep_view_moment){EP_VIEW_TIME_OF_DAY, ns};
		return 0;
	}
	return parse_date(text, ret_moment);
}

/* --- options --------------------------------------------------------------------------------- */

static int set_moment(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_view_args *args = arg;
	struct ep_view_moment moment;

	if (ep_view_parse_moment(value, &moment) < 0)
		return ep_cli_fail(
			error,
			"--%s takes a time like 10s (after the start), -10m (before the end), 14:03:00 or "
			"2026-01-31T14:03:00, not '%.64s'",
			option->name, value);
	if (strcmp(option->name, "from") == 0)
		ep_view_filter_set_from(args->filter, moment);
	else
		ep_view_filter_set_to(args->filter, moment);
	return 0;
}

static int set_rule(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_view_args *args = arg;
	char why[EP_VIEW_WHY_BYTES], label[EP_CLI_LABEL_BYTES];
	int r = ep_view_filter_add(args->filter, (enum ep_view_key)option->which, value, why);

	ep_cli_option_label(option, label);
	if (r == -E2BIG)
		return ep_cli_fail(error, "%s can be given %d times at most", label,
				      EP_VIEW_MAX_RULES);
	return r == -EINVAL ? ep_cli_fail(error, "%s %s", label, why) : r;
}

#define AT(member)		  offsetof(struct ep_view_args, member)
#define RULE(name, letter, key, value, ...)                                                        \
	{name, letter, EP_CLI_SET, 0, 0, 0, value, __VA_ARGS__, .which = key, .set = set_rule}

const struct ep_cli_option ep_view_options[] = {
	{"quiet", 'q', EP_CLI_FLAG, AT(quiet), .help = "no notes on standard error"},
	{"verbose", 'v', EP_CLI_COUNT, AT(verbose), .help = "say more"},
	{"help", 'h', EP_CLI_FLAG, AT(help), .help = "this text"},
	{.kind = EP_CLI_NOTE, .help = ""},
	RULE("pid", 0, EP_VIEW_PID, "PID,..",
	     "samples of these processes; !PID: of all others"),
	RULE("comm", 0, EP_VIEW_COMM, "GLOB",
	     "of processes with this name; !GLOB excludes, here and below"),
	RULE("exe", 0, EP_VIEW_EXE, "GLOB",
	     "of processes that run this file: '/opt/*', or node wherever it is"),
	RULE("thread", 0, EP_VIEW_THREAD, "GLOB", "of threads with this name or id"),
	RULE("container", 0, EP_VIEW_CONTAINER, "ID",
	     "of this container; the beginning of the id is enough"),
	RULE("cpu", 0, EP_VIEW_CPU, "LIST", "on these CPUs: 0-3,7"),
	RULE("kind", 0, EP_VIEW_KIND, "KIND,..",
	     "only frames of these kinds: kernel, native, a language's; the time of the others is "
	     "their callers'"),
	{"from", 0, EP_CLI_SET, .value = "T", .set = set_moment,
	 .help = "from 10s after the start, -10m before the end, or a time: 14:03:00, "
		 "2026-01-31T14:03:00"},
	{"to", 0, EP_CLI_SET, .value = "T", .set = set_moment, .help = "until then"},
	RULE(NULL, 'I', EP_VIEW_KEEP, "REGEX", "stacks with a function whose name matches"),
	RULE(NULL, 'X', EP_VIEW_DROP, "REGEX", "stacks without any such function"),
	{.kind = EP_CLI_NOTE,
	 .help = "Each can be repeated: those of one kind add up, different ones must all hold."},
	{0},
};

int ep_view_args_parse(struct ep_view_args *args, const struct ep_syntax *syntax, int argc,
		       char **argv)
{
	struct ep_word_list words;
	int r = ep_view_filter_new(&args->filter);

	r = r < 0 ? r : ep_cli_parse(syntax, argc, argv, args, &words, args->error);
	if (r < 0)
		return r;
	if (words.n > EP_VIEW_MAX_FILES)
		return ep_cli_fail(args->error, "more than %d files: give their directory instead",
				      EP_VIEW_MAX_FILES);
	args->files = (const char *const *)words.list;
	args->n_files = (size_t)words.n;
	return 0;
}

void ep_view_args_fini(struct ep_view_args *args)
{
	ep_view_filter_free(args->filter);
	*args = (struct ep_view_args){0};
}

bool ep_view_args_go(const struct ep_view_args *args, const struct ep_syntax *syntax, int r,
		     enum ep_exit *ret_status)
{
	*ret_status = r == 0 ? EP_EXIT_OK : r == -EINVAL ? EP_EXIT_USAGE : EP_EXIT_FAILED;
	if (r < 0)
		fprintf(stderr, "ebpf-profiler: %s\n",
			args->error[0] ? args->error : ep_strerror(r));
	else if (args->help)
		ep_syntax_print(stdout, syntax);
	ep_log_set_level(args->quiet	     ? EP_LOG_ERROR
			 : args->verbose > 1 ? EP_LOG_DEBUG
			 : args->verbose     ? EP_LOG_INFO
					     : EP_LOG_WARN);
	return r == 0 && !args->help;
}
