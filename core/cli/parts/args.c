/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/args.h"
#include "core/base/parse.h"
#include "core/cli/parts/option_error.h"
#include "core/config/problems.h"
#include "core/config/units.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_FREQ_HZ 99 /* prime to the 100 Hz of timers: no lockstep */
#define MAX_FREQ_HZ	10000

/* Long options without a letter. */
enum {
	OPT_CONFIG = 256,
	OPT_CHECK,
	OPT_CHECK_PLUGIN,
	OPT_NEW_PLUGIN,
	OPT_NEW_JIT,
	OPT_PRINT_CONFIG,
	OPT_JSON,
	OPT_FORCE,
	OPT_KEEP_ROOT,
	OPT_MIN_COMPLETE,
	OPT_MIN_NAMED,
	OPT_CALL_GRAPH,
	OPT_CORE,
};

struct command {
	const char *name;      /* "" for no command */
	const char *help_name; /* "record " */
	enum ep_command command;
	const char
		*letters; /* '+': options end at the first other word; ':': report missing values */
	const struct option *options; /* NULL: it parses itself */
};

static const struct option agent_options[] = {
	{"config", required_argument, NULL, OPT_CONFIG},
	{"check", no_argument, NULL, OPT_CHECK},
	{"print-config", no_argument, NULL, OPT_PRINT_CONFIG},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

static const struct option record_options[] = {
	{"freq", required_argument, NULL, 'F'},
	{"rate", required_argument, NULL, 'F'},
	EP_FILTER_OPTIONS
	{"all-cpus", no_argument, NULL, 'a'},
	{"duration", required_argument, NULL, 'd'},
	{"output", required_argument, NULL, 'o'},
	{"format", required_argument, NULL, 'f'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"keep-root", no_argument, NULL, OPT_KEEP_ROOT},
	{"min-complete", required_argument, NULL, OPT_MIN_COMPLETE},
	{"min-named", required_argument, NULL, OPT_MIN_NAMED},
	{"call-graph", required_argument, NULL, OPT_CALL_GRAPH},
	{"event", required_argument, NULL, 'e'},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const struct option doctor_options[] = {
	{"json", no_argument, NULL, OPT_JSON},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const struct option plugins_options[] = {
	{"check", required_argument, NULL, OPT_CHECK_PLUGIN},
	{"new", required_argument, NULL, OPT_NEW_PLUGIN},
	{"jit", no_argument, NULL, OPT_NEW_JIT},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const struct option capture_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 't'},
	{"core", required_argument, NULL, OPT_CORE},
	{"output", required_argument, NULL, 'o'},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const struct option dump_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 't'},
	{"core", required_argument, NULL, OPT_CORE},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const struct command commands[] = {
	{"", "", EP_COMMAND_AGENT, "+:qvhV", agent_options},
	{"record", "record ", EP_COMMAND_RECORD, "+:F:r:" EP_FILTER_LETTERS "ad:o:f:ge:qvh",
	 record_options},
	{"report", "report ", EP_COMMAND_REPORT, NULL, NULL},
	{"convert", "convert ", EP_COMMAND_CONVERT, NULL, NULL},
	{"diff", "diff ", EP_COMMAND_DIFF, NULL, NULL},
	{"top", "top ", EP_COMMAND_TOP, "+:F:r:" EP_FILTER_LETTERS "ad:o:f:ge:qvh", record_options},
	{"doctor", "doctor ", EP_COMMAND_DOCTOR, "+:vh", doctor_options},
	{"plugins", "plugins ", EP_COMMAND_PLUGINS, "+:vh", plugins_options},
	{"capture", "capture ", EP_COMMAND_CAPTURE, "+:p:t:o:qvh", capture_options},
	{"dump", "dump ", EP_COMMAND_DUMP, "+:p:t:qvh", dump_options},
};

static int fail(struct ep_args *args, const char *fmt, ...) EP_PRINTF(2, 3);

static int fail(struct ep_args *args, const char *fmt, ...)
{
	va_list list;

	va_start(list, fmt);
	vsnprintf(args->error, sizeof(args->error), fmt, list);
	va_end(list);
	return -EINVAL;
}

static int add_output(struct ep_args *args, const char *path)
{
	if (args->command != EP_COMMAND_CAPTURE)
		return ep_output_choose(&args->outputs, path, args->error, sizeof(args->error));
	if (args->outputs.n)
		return fail(args, "capture writes one file: leave one -o out");
	args->outputs.list[args->outputs.n++] = (struct ep_output){.path = path};
	return 0;
}

/* Of processes or of threads. */
struct ids {
	const char *option, *what, *too_many;
	pid_t *ids;
	size_t *n;
};

static int add_id(struct ep_args *args, const struct ids *to, const char *pos, const char *end)
{
	uint64_t id;

	if (ep_parse_u64(&pos, end, 10, &id) < 0 || pos != end || id == 0 || id > INT_MAX)
		return fail(args, "%s takes %s ids with commas between them, like %s 1234,1235",
			    to->option, to->what, to->option);
	for (size_t i = 0; i < *to->n; i++)
		if (to->ids[i] == (pid_t)id)
			return 0;
	if (*to->n == EP_ARGS_MAX_PIDS)
		return fail(args, "more than %d %s", EP_ARGS_MAX_PIDS, to->too_many);
	to->ids[(*to->n)++] = (pid_t)id;
	return 0;
}

static int add_ids(struct ep_args *args, const struct ids *to, const char *text)
{
	int r;

	for (;;) {
		const char *end = strchrnul(text, ',');

		r = add_id(args, to, text, end);
		if (r < 0 || *end == '\0')
			return r;
		text = end + 1;
	}
}

static int add_pids(struct ep_args *args, const char *text)
{
	const struct ids pids = {"-p", "process",
				 "processes: record the whole machine instead", args->pids,
				 &args->n_pids};

	return add_ids(args, &pids, text);
}

static int add_tids(struct ep_args *args, const char *text)
{
	const struct ids tids = {"-t", "thread", "threads: leave -t out for all of them",
				 args->tids, &args->n_tids};

	return add_ids(args, &tids, text);
}

static int set_freq(struct ep_args *args, const char *text)
{
	uint64_t freq_hz;

	if (ep_parse_u64_str(text, &freq_hz) < 0 || freq_hz == 0 || freq_hz > MAX_FREQ_HZ)
		return fail(args, "-F takes samples per second from 1 to %d, not '%s'", MAX_FREQ_HZ,
			    text);
	args->freq_hz = (uint32_t)freq_hz;
	return 0;
}

static int set_duration(struct ep_args *args, const char *text)
{
	if (ep_parse_duration(text, &args->duration_ns) < 0 || args->duration_ns == 0)
		return fail(args, "-d takes a time like 10, 10s, 500ms or 1m30s, not '%s'", text);
	return 0;
}

/* "98", "99.5", "99.95%" */
static int parse_percent(const char *text, uint32_t *ret_10000)
{
	const char *pos = text, *end = text + strlen(text);
	uint64_t whole, part = 0;

	if (end > text && end[-1] == '%')
		end--;
	if (ep_parse_u64(&pos, end, 10, &whole) < 0 || whole > 100)
		return -EINVAL;
	if (pos < end && *pos == '.') {
		const char *first = ++pos;

		if (ep_parse_u64(&pos, end, 10, &part) < 0 || pos - first > 2)
			return -EINVAL;
		part *= pos - first == 1 ? 10 : 1;
	}
	if (pos != end || whole * 100 + part > 10000)
		return -EINVAL;
	*ret_10000 = (uint32_t)(whole * 100 + part);
	return 0;
}

static int set_percent(struct ep_args *args, const char *option, const char *text, uint32_t *to)
{
	if (parse_percent(text, to) < 0)
		return fail(args, "%s takes per cent from 0 to 100, like 98 or 99.5, not '%s'", option,
			    text);
	return 0;
}

static int set_agent_command(struct ep_args *args, enum ep_command command)
{
	if (args->command != EP_COMMAND_AGENT && args->command != command)
		return fail(args, "--check and --print-config are two commands: give one of them");
	args->command = command;
	return 0;
}

static void ask_for_help(struct ep_args *args)
{
	args->help_topic = args->command;
	args->command = EP_COMMAND_HELP;
}

static int apply_filter_option(struct ep_args *args, int option, const char *value)
{
	int r = ep_filter_args_apply(&args->filter, option, value, args->error, sizeof(args->error));

	args->n_pids = 0;
	for (size_t i = 0; i < args->filter.n_terms; i++) {
		const struct ep_filter_term *term = &args->filter.terms[i];

		if (term->key == EP_FILTER_PID && !term->is_excluded)
			args->pids[args->n_pids++] = (pid_t)term->number;
	}
	return r;
}

/* Other tools sample other events; CPU time has several names there. */
static int set_event(struct ep_args *args, const char *text)
{
	static const char *const names[] = {"cpu", "cpu-clock", "task-clock", "cpu-clock:u",
					    "task-clock:u"};

	for (size_t i = 0; i < EP_LEN(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			snprintf(args->note, sizeof(args->note),
				 "CPU time is what is always sampled: -e changes nothing");
			return 0;
		}
	}
	return fail(args, "-e %.64s: only CPU time is sampled, on every machine: leave -e out",
		    text);
}

static int apply_record_option(struct ep_args *args, int option, const char *value)
{
	bool is_chosen = args->command == EP_COMMAND_RECORD || args->command == EP_COMMAND_TOP;
	int r = is_chosen ? apply_filter_option(args, option, value) : 1;

	if (r <= 0)
		return r;
	switch (option) {
	case 'F':
	case 'r':
		return set_freq(args, value);
	case 'e':
		return set_event(args, value);
	case 'p':
		return add_pids(args, value);
	case 't':
		return add_tids(args, value);
	case 'd':
		return set_duration(args, value);
	case 'o':
		return add_output(args, value);
	case 'f':
		return ep_output_choose_format(&args->outputs, value, args->error,
					       sizeof(args->error));
	case 'a':
		args->all_cpus = true;
		break;
	case 'g':
	case OPT_CALL_GRAPH:
		snprintf(args->note, sizeof(args->note),
			 "stacks are always recorded: -g and --call-graph change nothing");
		break;
	case OPT_CORE:
		args->core_path = value;
		break;
	case OPT_FORCE:
		args->force = true;
		break;
	case OPT_KEEP_ROOT:
		args->keep_root = true;
		break;
	case OPT_MIN_COMPLETE:
		return set_percent(args, "--min-complete", value, &args->min_complete);
	case OPT_MIN_NAMED:
		return set_percent(args, "--min-named", value, &args->min_named);
	}
	return 0;
}

static int apply_option(struct ep_args *args, int option, const char *value)
{
	switch (option) {
	case 'q':
		args->quiet = true;
		return 0;
	case 'v':
		args->verbose++;
		return 0;
	case OPT_JSON:
		args->json = true;
		return 0;
	case OPT_CONFIG:
		args->config_path = value;
		return 0;
	case OPT_CHECK_PLUGIN:
		args->plugin_path = value;
		return 0;
	case OPT_NEW_PLUGIN:
		args->new_plugin = value;
		return 0;
	case OPT_NEW_JIT:
		args->new_jit = true;
		return 0;
	case OPT_CHECK:
		return set_agent_command(args, EP_COMMAND_CHECK);
	case OPT_PRINT_CONFIG:
		return set_agent_command(args, EP_COMMAND_PRINT_CONFIG);
	}
	return apply_record_option(args, option, value);
}

/* Options up to the first word that is none; *ret_rest is its index. argv[0] is the command. */
static int parse_options(struct ep_args *args, const struct command *command, int argc, char **argv,
			 int *ret_rest)
{
	bool help = false;
	int option, r;

	optind = 0; /* glibc: start anew, and read the '+' again */
	opterr = 0;
	for (;;) {
		const char *word = argv[EP_MAX(optind, 1)];

		option = getopt_long(argc, argv, command->letters, command->options, NULL);
		if (option == -1)
			break;
		if (option == '?' || option == ':')
			return ep_option_error(args->error, sizeof(args->error), command->help_name,
					       command->options, option, word);
		if (option == 'V')
			args->command = EP_COMMAND_VERSION;
		else if (option == 'h')
			help = true;
		r = apply_option(args, option, optarg);
		if (r < 0)
			return r;
	}
	if (help)
		ask_for_help(args);
	*ret_rest = optind;
	return 0;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 1; i < EP_LEN(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int unknown_command(struct ep_args *args, const char *name)
{
	static const char *const names[] = {"record", "report", "convert", "diff", "top", "doctor", "plugins", "capture", "dump", "help",
					    "version"};
	/* Commands of perf, and words that others use for ours. */
	static const struct {
		const char *name, *fix;
	} habits[] = {
		{"annotate", "for the cost of lines, ebpf-profiler report --list FUNCTION [FILE]"},
		{"script", "for samples as text, ebpf-profiler convert FILE -o out.perf.txt"},
		{"flamegraph",
		 "for a flame graph, ebpf-profiler record -o flame.svg, or of a profile "
		 "ebpf-profiler convert FILE -o flame.svg"},
		{"stat",
		 "no events are counted; for where CPU time goes, ebpf-profiler record -- COMMAND"},
	};
	const char *nearest = ep_suggest(name, names, EP_LEN(names));

	for (size_t i = 0; i < EP_LEN(habits); i++)
		if (strcmp(name, habits[i].name) == 0)
			return fail(args, "no command '%s': %s", name, habits[i].fix);
	if (nearest)
		return fail(args, "unknown command '%s': did you mean '%s'?", name, nearest);
	return fail(args, "unknown command '%s': to profile a program, ebpf-profiler record -- %s",
		    name, name);
}

static int check_agent(struct ep_args *args)
{
	if (args->command == EP_COMMAND_CHECK && !args->config_path)
		return fail(args, "--check needs a file: ebpf-profiler --config FILE --check");
	if (args->command == EP_COMMAND_AGENT && !args->config_path)
		return fail(args, "nothing to do: give --config FILE for the agent, or a command: "
				  "record, doctor, plugins (see --help)");
	return 0;
}

/* capture, and dump, which writes no file */
static int check_capture(struct ep_args *args)
{
	bool is_dump = args->command == EP_COMMAND_DUMP;

	if ((args->n_pids == 1) == (args->core_path != NULL) || args->n_pids > 1)
		return fail(args, "%s takes one process, -p PID, or one core file, --core FILE",
			    is_dump ? "dump" : "capture");
	if (!is_dump && args->outputs.n != 1)
		return fail(args, "capture writes one file: say which, like -o app.fixture.zst");
	return 0;
}

static int check_plugins(struct ep_args *args)
{
	if (args->plugin_path && args->new_plugin)
		return fail(args, "--check and --new are two commands: give one of them");
	if (args->new_jit && !args->new_plugin)
		return fail(args, "--jit goes with --new: ebpf-profiler plugins --new NAME --jit");
	return 0;
}

static bool is_number(const char *word)
{
	return word[0] && word[strspn(word, "0123456789")] == '\0';
}

/* "-p $(pgrep x)" without quotes: the second pid and those after it are words of their own. */
static int take_more_pids(struct ep_args *args, int argc, char **argv, int *rest)
{
	int r = 0, end = *rest;

	while (end < argc && is_number(argv[end]))
		end++;
	if (end < argc)
		return fail(
			args,
			"'%s' would be a command: several pids go with commas, -p \"$(pgrep -d, NAME)\"",
			argv[*rest]);
	for (; *rest < argc && r == 0; ++*rest)
		r = apply_filter_option(args, 'p', argv[*rest]);
	return r;
}

/* An option of ours after a command without "--" is the command's, which is not what everybody
 * means. */
static void hint_at_options(struct ep_args *args, char **child)
{
	static const char letters[] = "dFopafqv";

	for (char **word = child + 1; *word; word++) {
		if ((*word)[0] != '-' || !(*word)[1] || !strchr(letters, (*word)[1]) || (*word)[2])
			continue;
		snprintf(
			args->hint, sizeof(args->hint),
			"%s went to %.64s, as all that comes after the command: options of %s come before it: "
			"ebpf-profiler %s %s .. -- %.64s ..",
			*word, child[0], args->command == EP_COMMAND_TOP ? "top" : "record",
			args->command == EP_COMMAND_TOP ? "top" : "record", *word, child[0]);
		return;
	}
}

static int take_rest(struct ep_args *args, int argc, char **argv, int rest)
{
	bool has_dashes = rest > 1 && strcmp(argv[rest - 1], "--") == 0;
	bool takes_command = args->command == EP_COMMAND_RECORD || args->command == EP_COMMAND_TOP;

	if (args->all_cpus) /* the whole machine, even with -p */
		ep_filter_drop(&args->filter, EP_FILTER_PID);
	if (takes_command && rest < argc && args->n_pids && !has_dashes && is_number(argv[rest])) {
		int r = take_more_pids(args, argc, argv, &rest);

		if (r < 0)
			return r;
	}
	if (takes_command && rest < argc)
		args->child_argv = argv + rest;
	else if (takes_command && strcmp(argv[argc - 1], "--") == 0)
		return fail(args, "no command behind '--': leave it out, or add one");
	else if (rest < argc && args->command != EP_COMMAND_HELP)
		return fail(args, "'%s' is one word too many: see --help", argv[rest]);
	if (args->child_argv && !has_dashes)
		hint_at_options(args, args->child_argv);
	if (args->command == EP_COMMAND_CAPTURE || args->command == EP_COMMAND_DUMP)
		return check_capture(args);
	if (args->command == EP_COMMAND_PLUGINS)
		return check_plugins(args);
	return takes_command ? 0 : check_agent(args);
}

/* "help", "help record", "version" */
static bool parse_word(struct ep_args *args, int argc, char **argv)
{
	const struct command *topic = argc > 2 ? find_command(argv[2]) : NULL;

	if (strcmp(argv[1], "help") == 0)
		args->help_topic = topic ? topic->command : EP_COMMAND_HELP;
	else if (strcmp(argv[1], "version") == 0)
		args->command = EP_COMMAND_VERSION;
	else
		return false;
	return true;
}

int ep_args_parse(int argc, char **argv, struct ep_args *ret_args)
{
	const struct command *command = &commands[0];
	int rest = 0, r;

	*ret_args = (struct ep_args){.command = EP_COMMAND_HELP, .freq_hz = DEFAULT_FREQ_HZ};
	if (argc > 1 && argv[1][0] != '-') {
		if (parse_word(ret_args, argc, argv))
			return 0;
		command = find_command(argv[1]);
		if (!command)
			return unknown_command(ret_args, argv[1]);
		argc--;
		argv++;
	} else if (argc < 2) {
		return 0;
	}
	ret_args->command = command->command;
	if (!command->options) {
		ret_args->rest_argc = argc;
		ret_args->rest_argv = argv;
		return 0;
	}
	r = parse_options(ret_args, command, argc, argv, &rest);
	if (r < 0)
		return r;
	if (ret_args->command == EP_COMMAND_HELP && ret_args->help_topic == EP_COMMAND_AGENT)
		ret_args->help_topic = EP_COMMAND_HELP;
	return take_rest(ret_args, argc, argv, rest);
}
