/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/view_args.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/cli/parts/option_error.h"
#include "core/config/units.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_OPTIONS  64
#define MAX_LETTERS  64
#define DIGITS_OF_NS 9

enum { OPT_FROM = EP_VIEW_OPTIONS_FIRST + EP_VIEW_DROP + 1, OPT_TO };

static const struct option view_options[] = {
	{"pid", required_argument, NULL, EP_VIEW_OPTIONS_FIRST + EP_VIEW_PID},
	{"comm", required_argument, NULL, EP_VIEW_OPTIONS_FIRST + EP_VIEW_COMM},
	{"exe", required_argument, NULL, EP_VIEW_OPTIONS_FIRST + EP_VIEW_EXE},
	{"thread", required_argument, NULL, EP_VIEW_OPTIONS_FIRST + EP_VIEW_THREAD},
	{"container", required_argument, NULL, EP_VIEW_OPTIONS_FIRST + EP_VIEW_CONTAINER},
	{"cpu", required_argument, NULL, EP_VIEW_OPTIONS_FIRST + EP_VIEW_CPU},
	{"kind", required_argument, NULL, EP_VIEW_OPTIONS_FIRST + EP_VIEW_KIND},
	{"from", required_argument, NULL, OPT_FROM},
	{"to", required_argument, NULL, OPT_TO},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
};

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

static int set_moment(struct ep_view_args *args, int option, const char *value)
{
	struct ep_view_moment moment;

	if (ep_view_parse_moment(value, &moment) < 0) {
		snprintf(
			args->error, sizeof(args->error),
			"--%s takes a time like 10s (after the start), -10m (before the end), 14:03:00 or "
			"2026-01-31T14:03:00, not '%.64s'",
			option == OPT_FROM ? "from" : "to", value);
		return -EINVAL;
	}
	if (option == OPT_FROM)
		ep_view_filter_set_from(args->filter, moment);
	else
		ep_view_filter_set_to(args->filter, moment);
	return 0;
}

static const char *name_of(enum ep_view_key key)
{
	for (size_t i = 0; i < EP_LEN(view_options); i++)
		if (view_options[i].val == EP_VIEW_OPTIONS_FIRST + (int)key)
			return view_options[i].name;
	return NULL;
}

static int add_rule(struct ep_view_args *args, enum ep_view_key key, const char *value)
{
	const char *name = name_of(key);
	char why[EP_VIEW_WHY_BYTES];
	int r = ep_view_filter_add(args->filter, key, value, why);

	if (r == -E2BIG)
		snprintf(why, sizeof(why), "can be given %d times at most", EP_VIEW_MAX_RULES);
	if (r == -E2BIG || r == -EINVAL) {
		snprintf(args->error, sizeof(args->error), "%s%s %s", name ? "--" : "-",
			 name		       ? name
			 : key == EP_VIEW_KEEP ? "I"
					       : "X",
			 why);
		return -EINVAL;
	}
	return r;
}

static int add_file(struct ep_view_args *args, const char *path)
{
	if (args->n_files == EP_VIEW_MAX_FILES) {
		snprintf(args->error, sizeof(args->error),
			 "more than %d files: give their directory instead", EP_VIEW_MAX_FILES);
		return -EINVAL;
	}
	args->files[args->n_files++] = path;
	return 0;
}

static int apply(struct ep_view_args *args, const struct ep_view_command *command, int option,
		 const char *value)
{
	switch (option) {
	case 1: /* getopt_long: a word that is no option */
		return add_file(args, value);
	case 'I':
		return add_rule(args, EP_VIEW_KEEP, value);
	case 'X':
		return add_rule(args, EP_VIEW_DROP, value);
	case OPT_FROM:
	case OPT_TO:
		return set_moment(args, option, value);
	case 'q':
		args->quiet = true;
		return 0;
	case 'v':
		args->verbose++;
		return 0;
	case 'h':
		args->help = true;
		return 0;
	}
	if (option >= EP_VIEW_OPTIONS_FIRST)
		return add_rule(args, (enum ep_view_key)(option - EP_VIEW_OPTIONS_FIRST), value);
	return command->apply(command->arg, option, value, args->error);
}

/* The command's own options and those of all; ended by a zeroed one. */
static void join_options(const struct ep_view_command *command, struct option *all)
{
	size_t n = 0;

	for (const struct option *own = command->options; own && own->name; own++)
		all[n++] = *own;
	for (size_t i = 0; i < EP_LEN(view_options); i++)
		all[n++] = view_options[i];
	all[n] = (struct option){0};
}

static int parse(struct ep_view_args *args, const struct ep_view_command *command, int argc,
		 char **argv)
{
	struct option options[MAX_OPTIONS];
	char letters[MAX_LETTERS], help_name[32];
	int r = 0;

	join_options(command, options);
	snprintf(letters, sizeof(letters), "-:I:X:qvh%s", command->letters ? command->letters : "");
	snprintf(help_name, sizeof(help_name), "%s ", command->name);
	optind = 0; /* glibc: start anew, and read the '-' again */
	opterr = 0;
	while (r == 0) {
		const char *word = argv[EP_MAX(optind, 1)];
		int option = getopt_long(argc, argv, letters, options, NULL);

		if (option == -1)
			break;
		if (option == '?' || option == ':')
			return ep_option_error(args->error, sizeof(args->error), help_name, options,
					       option, word);
		r = apply(args, command, option, optarg);
	}
	for (int i = optind; r == 0 && i < argc; i++) /* after "--" */
		r = add_file(args, argv[i]);
	return r;
}

int ep_view_args_parse(struct ep_view_args *ret_args, const struct ep_view_command *command,
		       int argc, char **argv)
{
	int r;

	*ret_args =
		(struct ep_view_args){.files = calloc((size_t)EP_MIN(argc, EP_VIEW_MAX_FILES) + 1,
						      sizeof(*ret_args->files))};
	r = ret_args->files ? ep_view_filter_new(&ret_args->filter) : -ENOMEM;
	return r < 0 ? r : parse(ret_args, command, argc, argv);
}

void ep_view_args_fini(struct ep_view_args *args)
{
	ep_view_filter_free(args->filter);
	free(args->files);
	*args = (struct ep_view_args){0};
}

void ep_view_args_set_log(const struct ep_view_args *args)
{
	if (args->quiet)
		ep_log_set_level(EP_LOG_ERROR);
	else
		ep_log_set_level(args->verbose > 1 ? EP_LOG_DEBUG
				 : args->verbose   ? EP_LOG_INFO
						   : EP_LOG_WARN);
}
