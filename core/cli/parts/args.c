/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/args.h"
#include "core/base/parse.h"
#include "core/config/problems.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define DEFAULT_FREQ_HZ 99 /* prime to the 100 Hz of timers: no lockstep */
#define MAX_FREQ_HZ	10000
#define MAX_NAMES	32
#define COMMAND_COLUMN	19

/* --- values of options ----------------------------------------------------------------------- */

/* What of the machine is sampled; processes are known by themselves as well. */
static int set_filter(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_args *args = arg;
	char label[EP_CLI_LABEL_BYTES];
	int r = ep_filter_add(&args->filter, (enum ep_filter_key)option->which,
			      ep_cli_option_label(option, label), value, error, EP_CLI_ERROR_BYTES);

	args->n_pids = 0;
	for (size_t i = 0; i < args->filter.n_terms; i++) {
		const struct ep_filter_term *term = &args->filter.terms[i];

		if (term->key == EP_FILTER_PID && !term->is_excluded)
			args->pids[args->n_pids++] = (pid_t)term->number;
	}
	return r;
}

/* Options of capture and dump: -p PID, -t TID,TID.. */
static int set_ids(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_args *args = arg;
	bool is_pid = option->letter == 'p';
	pid_t *ids = is_pid ? args->pids : args->tids;
	size_t *n = is_pid ? &args->n_pids : &args->n_tids;

	for (const char *pos = value, *end;; pos = end + 1) {
		uint64_t id;
		size_t i = 0;

		end = strchrnul(pos, ',');
		if (ep_parse_u64(&pos, end, 10, &id) < 0 || pos != end || id == 0 || id > INT_MAX)
			return ep_cli_fail(
				error,
				"-%c takes %s ids with commas between them, like -%c 1234,1235",
				option->letter, is_pid ? "process" : "thread", option->letter);
		while (i < *n && ids[i] != (pid_t)id)
			i++;
		if (i == EP_ARGS_MAX_PIDS)
			return ep_cli_fail(error, "more than %d %s", EP_ARGS_MAX_PIDS,
					      is_pid ? "processes: record the whole machine instead"
						     : "threads: leave -t out for all of them");
		ids[i] = (pid_t)id;
		*n = EP_MAX(*n, i + 1);
		if (*end == '\0')
			return 0;
	}
}

/* A fixture is of no format. */
static int set_fixture(void *arg, const struct ep_cli_option *option, const char *value,
		       char *error)
{
	struct ep_args *args = arg;

	(void)option;
	if (args->outputs.n)
		return ep_cli_fail(error, "capture writes one file: leave one -o out");
	args->outputs.list[args->outputs.n++] = (struct ep_output){.path = value};
	return 0;
}

static int say_stacks(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	struct ep_args *args = arg;

	(void)option, (void)value, (void)error;
	snprintf(args->note, sizeof(args->note),
		 "stacks are always recorded: -g and --call-graph change nothing");
	return 0;
}

/* Other tools sample other events; CPU time has several names there. */
static int set_event(void *arg, const struct ep_cli_option *option, const char *value, char *error)
{
	static const char *const names[] = {"cpu", "cpu-clock", "task-clock", "cpu-clock:u",
					    "task-clock:u"};
	struct ep_args *args = arg;

	(void)option;
	for (size_t i = 0; i < EP_LEN(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		snprintf(args->note, sizeof(args->note),
			 "CPU time is what is always sampled: -e changes nothing");
		return 0;
	}
	return ep_cli_fail(
		error, "-e %.64s: only CPU time is sampled, on every machine: leave -e out", value);
}

/* --- tables ---------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct ep_args, member)
#define HELP	   {"help", 'h', EP_CLI_FLAG, AT(help), .help = "this text"}
#define QUIET(...) {"quiet", 'q', EP_CLI_FLAG, AT(quiet), .help = __VA_ARGS__}
#define VERBOSE(...) {"verbose", 'v', EP_CLI_COUNT, AT(verbose), .help = __VA_ARGS__}
#define FILTER(name, letter, key, value, ...)                                                      \
	{name, letter, EP_CLI_SET, 0, 0, 0, value, __VA_ARGS__, .which = key, .set = set_filter}

static const struct ep_cli_option agent_options[] = {
	{"config", 0, EP_CLI_TEXT, AT(config_path), .value = "FILE",
	 .help = "run as the agent until SIGTERM, exporting what FILE says"},
	{"check", 0, EP_CLI_FLAG, AT(check), .help = "only say what is wrong with FILE"},
	{"print-config", 0, EP_CLI_FLAG, AT(print_config),
	 .help = "only print FILE, environment and defaults as one configuration"},
	QUIET("warnings and errors only"),
	VERBOSE("say more"),
	{"help", 'h', EP_CLI_FLAG, AT(help),
	 .help = "this text; 'ebpf-profiler record --help' for a command"},
	{"version", 'V', EP_CLI_FLAG, AT(version), .help = "the version"},
	{0},
};

const struct ep_syntax ep_agent_syntax = {
	.name = "",
	.usage = "--config FILE [--check | --print-config] [-q] [-v]",
	.text = "Profiles a whole Linux machine: kernel and native code, without frame pointers, "
		"with no change to what runs. As root (see doctor for the capabilities that are "
		"enough).",
	.options = agent_options,
	.end = "Every key of the configuration can be set in the environment, which wins over "
	       "the file: EBPF_PROFILER_SAMPLING_FREQ=50.\n\n"
	       "exit status: 0 ok, 1 failed, 2 usage, 3 permission, 4 kernel cannot, 5 no "
	       "samples, 6 below --min-complete or --min-named, 126 a command cannot be run, 127 "
	       "there is none",
};

const struct ep_cli_option ep_record_options[] = {
	{"freq", 'F', EP_CLI_NUMBER, AT(freq_hz), 1, MAX_FREQ_HZ, .value = "HZ",
	 .help = "samples per second on every CPU: 99 (also -r, --rate)",
	 .takes = "samples per second from 1 to 10000"},
	{"rate", 'r', EP_CLI_NUMBER, AT(freq_hz), 1, MAX_FREQ_HZ,
	 .takes = "samples per second from 1 to 10000"},
	FILTER("pid", 'p', EP_FILTER_PID, "PID,..", "these processes and their children"),
	{"no-inherit", 0, EP_CLI_FLAG, AT(filter.no_inherit), .help = "without their children"},
	FILTER("tid", 't', EP_FILTER_TID, "TID,..", "these threads"),
	FILTER("cgroup", 'G', EP_FILTER_CGROUP, "CGROUP",
	       "this cgroup (v2, as systemd-cgls shows them) and those below it"),
	FILTER("container", 0, EP_FILTER_CONTAINER, "ID",
	       "this container; the beginning of its id is enough"),
	FILTER("unit", 0, EP_FILTER_UNIT, "NAME", "this unit of systemd, nginx.service or nginx"),
	FILTER("comm", 0, EP_FILTER_COMM, "GLOB",
	       "processes with this name, as ps shows it: 'java*'"),
	FILTER("exe", 0, EP_FILTER_EXE, "GLOB",
	       "processes that run this file: '/opt/*', or python3 wherever it is"),
	FILTER("user", 'u', EP_FILTER_USER, "USER,..",
	       "what runs with the rights of this user, by name or number"),
	FILTER("cpu", 'C', EP_FILTER_CPU, "CPU,..", "only these CPUs: 0-3,5"),
	{.kind = EP_CLI_NOTE,
	 .help = "Each can be repeated: values of one option add up, different options must all "
		 "hold. One that begins with ! excludes: --comm '!bash'"},
	{"all-cpus", 'a', EP_CLI_FLAG, AT(all_cpus), .help = "the whole machine"},
	{"duration", 'd', EP_CLI_DURATION, AT(duration_ns), .value = "T",
	 .help = "10, 10s, 500ms, 1m30s", .takes = "a time like 10, 10s, 500ms or 1m30s"},
	{"output", 'o', EP_CLI_SET, AT(outputs), .value = "FILE", .set = ep_output_choose,
	 .help = "where to; the extension is the format: .html (a page to look at and to send), "
		 ".otlp.gz (the same without the page), .pb.gz or .pprof (pprof), .svg (a flame "
		 "graph), .folded (flamegraph.pl), .perf.txt (as perf script), .json.gz (Firefox "
		 "Profiler), .pgo (go build -pgo). Can be repeated; '-' is standard output. Without "
		 "-o: profile-NAME-TIME.html here, NAME being the command's or the host's"},
	{"format", 'f', EP_CLI_SET, AT(outputs), .value = "NAME", .set = ep_output_choose_format,
	 .help = "the format whatever the extension: html, otlp, pprof, svg, folded, perf, "
		 "firefox, pgo; of the -o that follow, and of '-'"},
	{"force", 0, EP_CLI_FLAG, AT(force), .help = "overwrite a file that exists"},
	{"keep-root", 0, EP_CLI_FLAG, AT(keep_root),
	 .help = "run CMD as root, not as the user who called sudo"},
	{"min-complete", 0, EP_CLI_PERCENT, AT(min_complete), .value = "PCT",
	 .help = "end with exit status 6 when less of the CPU time than this has complete stacks "
		 "(first figure of the summary's line \"stacks\")",
	 .takes = "per cent from 0 to 100, like 98 or 99.5"},
	{"min-named", 0, EP_CLI_PERCENT, AT(min_named), .value = "PCT",
	 .help = "the same for stacks that are complete and in which all frames of languages have "
		 "their names (first figure of its line \"names\")",
	 .takes = "per cent from 0 to 100, like 98 or 99.5"},
	{NULL, 'g', EP_CLI_SWITCH, .set = say_stacks,
	 .help = "accepted as in perf, without effect: stacks are always recorded"},
	{"call-graph", 0, EP_CLI_SET, .value = "X", .set = say_stacks, .help = "likewise"},
	{"event", 'e', EP_CLI_SET, .value = "EVENT", .set = set_event,
	 .help = "cpu-clock as in perf, without effect: CPU time is what is sampled"},
	QUIET("no summary, and no line a second on a terminal"),
	VERBOSE("say more, and which executables spoil the most stacks"),
	HELP,
	{0},
};

const struct ep_syntax ep_record_syntax = {
	.name = "record",
	.usage = "[-F HZ] [-p PID,..] [-a] [-d TIME] [-o FILE].. [option].. [--] [CMD ARG..]",
	.about = "profile a command, processes or the machine, and write a file",
	.text = "Profiles CMD and what it starts, or the processes of -p and what they start, or, "
		"with neither or with -a, the whole machine; of that, what further options choose; "
		"until -d is over, CMD ends, or Ctrl-C. Writes a file and prints a summary on "
		"stderr. With -p or -a, CMD only says how long, as in perf.",
	.options = ep_record_options,
	.end = "CMD's exit status is passed on, unless it is 0. When -d is over, CMD and what it "
	       "started are ended, by SIGTERM and 2 s later by SIGKILL. No samples of a CMD are a "
	       "warning, of -p or -a an error.\n\n"
	       "  ebpf-profiler record -d 10                        the machine for 10 seconds\n"
	       "  ebpf-profiler record -F 199 -o out.pb.gz -- make  a build\n"
	       "  go tool pprof -top out.pb.gz                      read it\n"
	       "  ebpf-profiler record -d 5 -o out.svg              a picture for a ticket",
	.words = EP_WORDS_COMMAND,
};

static const struct ep_cli_option doctor_options[] = {
	{"json", 0, EP_CLI_FLAG, AT(json), .help = "an array of {check, status, detail, fix}"},
	VERBOSE("say more"),
	HELP,
	{0},
};

const struct ep_syntax ep_doctor_syntax = {
	.name = "doctor",
	.usage = "[--json]",
	.about = "what this kernel and these privileges allow, and how to fix the rest",
	.text = "One line for each thing that profiling needs: ok, info, warn or fail, what was "
		"found, and what to type when it is not good; then what the languages of running "
		"processes advise for better profiles of them. It only reads.",
	.options = doctor_options,
	.end = "exit status: 0 profiling can work, 3 privileges are missing, 4 the kernel cannot",
};

static const struct ep_cli_option plugins_options[] = {
	{"check", 0, EP_CLI_TEXT, AT(plugin_path), .value = "FILE",
	 .help = "only this one: its descriptor, and for an unwinder also whether it leaves other "
		 "programs alone and whether this kernel takes its BPF program"},
	{"new", 0, EP_CLI_TEXT, AT(new_plugin), .value = "NAME",
	 .help = "make a directory NAME with an unwinder for the language NAME to begin with: a "
		 "toy interpreter's, with its tests; then: cd NAME && make check"},
	{"jit", 0, EP_CLI_FLAG, AT(new_jit), .help = "with --new: a toy JIT's"},
	VERBOSE("say more"),
	HELP,
	{0},
};

const struct ep_syntax ep_plugins_syntax = {
	.name = "plugins",
	.usage = "[--check FILE | --new NAME [--jit]]",
	.about = "the plugins that are installed, and their options",
	.text = "Lists the plugins of the plugin directory: version, kind, ABI, whether they can be "
		"used and if not why; of exporters their options: type, default, what for. "
		"EBPF_PROFILER_PLUGINS_DIR names another directory.",
	.options = plugins_options,
	.end = "exit status of --check: 0 it can be used, 1 it cannot, 3 privileges are missing, "
	       "4 the kernel cannot",
};

static const struct ep_cli_option dump_options[] = {
	{"pid", 'p', EP_CLI_SET, .value = "PID", .set = set_ids,
	 .help = "a process; it is stopped with ptrace for some milliseconds, and nothing is "
		 "written into it"},
	{"tid", 't', EP_CLI_SET, .value = "TID", .set = set_ids,
	 .help = "only this thread; TID,TID.. for more"},
	{"core", 0, EP_CLI_TEXT, AT(core_path), .value = "FILE",
	 .help = "a core file of x86-64 or aarch64, instead; files it names are read from disk"},
	QUIET("no summary on standard error"),
	VERBOSE("say more"),
	HELP,
	{0},
};

const struct ep_syntax ep_dump_syntax = {
	.name = "dump",
	.usage = "{-p PID | --core FILE} [-t TID]",
	.about = "what all threads of a process do now: their stacks, in all languages",
	.text = "Prints the stacks of all threads of a process once, running or waiting: native "
		"code and the languages of all plugins in one stack, innermost frame first. The "
		"process stands still for some milliseconds.",
	.options = dump_options,
};

static const struct ep_cli_option capture_options[] = {
	{"output", 'o', EP_CLI_SET, .value = "FILE", .set = set_fixture,
	 .help = "where to; a file that exists is not overwritten"},
	{.kind = EP_CLI_INCLUDE, .include = dump_options},
	{0},
};

const struct ep_syntax ep_capture_syntax = {
	.name = "capture",
	.usage = "{-p PID | --core FILE} [-t TID] -o FILE",
	.about = "the stacks of a process as a file that can be replayed, for bug reports",
	.text = "Records the stacks of all threads of a process, with everything they were found "
		"and named by: registers, mappings, the pieces of memory that were read (they may "
		"hold anything the process keeps there: look who you send them to), unwind rules "
		"and names. FILE replays them anywhere, without the process, its files, or "
		"privileges. Before it is written it is replayed, and must give the same stacks; "
		"these go to standard output.",
	.options = capture_options,
};

/* --- what is no option ----------------------------------------------------------------------- */

static bool is_number(const char *word)
{
	return word[0] && word[strspn(word, "0123456789")] == '\0';
}

/* "-p $(pgrep x)" without quotes: the second pid and those after it are words of their own. */
static int take_more_pids(struct ep_args *args, struct ep_word_list *words)
{
	static const struct ep_cli_option pid = {.letter = 'p', .which = EP_FILTER_PID};
	int r = 0;

	for (int i = 0; i < words->n; i++)
		if (!is_number(words->list[i]))
			return ep_cli_fail(args->error,
					   "'%s' would be a command: several pids go with commas, "
					   "-p \"$(pgrep -d, NAME)\"",
					   words->list[0]);
	for (; words->n > 0 && r == 0; words->n--)
		r = set_filter(args, &pid, *words->list++, args->error);
	return r;
}

/* An option of ours after a command without "--" is the command's, which is not what everybody
 * means. */
static void hint_at_options(struct ep_args *args, char **child)
{
	static const char letters[] = "dFopafqv";
	const char *name = args->command->syntax->name;

	for (char **word = child + 1; *word; word++) {
		if ((*word)[0] != '-' || !(*word)[1] || !strchr(letters, (*word)[1]) || (*word)[2])
			continue;
		snprintf(args->hint, sizeof(args->hint),
			 "%s went to %.64s, as all that comes after the command: options of %s "
			 "come before it: ebpf-profiler %s %s .. -- %.64s ..",
			 *word, child[0], name, name, *word, child[0]);
		return;
	}
}

static int take_command(struct ep_args *args, struct ep_word_list *words)
{
	if (args->all_cpus) /* the whole machine, even with -p */
		ep_filter_drop(&args->filter, EP_FILTER_PID);
	if (words->n && args->n_pids && !words->has_dashes && is_number(words->list[0])) {
		int r = take_more_pids(args, words);

		if (r < 0)
			return r;
	}
	if (words->n)
		args->child_argv = words->list;
	else if (words->has_dashes)
		return ep_cli_fail(args->error,
				      "no command after '--': leave it out, or add one");
	if (args->child_argv && !words->has_dashes)
		hint_at_options(args, args->child_argv);
	return 0;
}

/* Which options exclude each other, and which ones a command requires. */
static int check(struct ep_args *args)
{
	const struct ep_syntax *syntax = args->command->syntax;
	bool is_capture = syntax == &ep_capture_syntax;

	if (args->check && args->print_config)
		return ep_cli_fail(
			args->error,
			"--check and --print-config are two commands: give one of them");
	if (args->check && !args->config_path)
		return ep_cli_fail(args->error,
				      "--check needs a file: ebpf-profiler --config FILE --check");
	if (syntax == &ep_agent_syntax && !args->config_path && !args->print_config)
		return ep_cli_fail(args->error,
				   "nothing to do: give --config FILE for the agent, "
				   "or a command: record, doctor, plugins (see --help)");
	if ((is_capture || syntax == &ep_dump_syntax) &&
	    ((args->n_pids == 1) == (args->core_path != NULL) || args->n_pids > 1))
		return ep_cli_fail(args->error,
				      "%s takes one process, -p PID, or one core file, --core FILE",
				      syntax->name);
	if (is_capture && args->outputs.n != 1)
		return ep_cli_fail(
			args->error, "capture writes one file: say which, like -o app.fixture.zst");
	if (args->plugin_path && args->new_plugin)
		return ep_cli_fail(args->error,
				      "--check and --new are two commands: give one of them");
	if (args->new_jit && !args->new_plugin)
		return ep_cli_fail(args->error,
				   "--jit goes with --new: ebpf-profiler plugins --new NAME --jit");
	return 0;
}

/* --- the command line ------------------------------------------------------------------------ */

static const struct ep_command *find_command(const struct ep_command *const *tables,
					     const char *name)
{
	for (; *tables; tables++)
		for (const struct ep_command *command = *tables; command->syntax; command++)
			if (strcmp(command->syntax->name, name) == 0)
				return command;
	return NULL;
}

static int unknown_command(const struct ep_command *const *tables, const char *name, char *error)
{
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
	const char *names[MAX_NAMES] = {"help", "version"}, *nearest;
	size_t n = 2;

	for (size_t i = 0; i < EP_LEN(habits); i++)
		if (strcmp(name, habits[i].name) == 0)
			return ep_cli_fail(error, "no command '%s': %s", name, habits[i].fix);
	for (; *tables; tables++)
		for (const struct ep_command *command = *tables; command->syntax && n < MAX_NAMES;
		     command++)
			names[n++] = command->syntax->name;
	nearest = ep_suggest(name, names, n);
	if (nearest)
		return ep_cli_fail(error, "unknown command '%s': did you mean '%s'?", name,
				   nearest);
	return ep_cli_fail(error,
			   "unknown command '%s': to profile a program, ebpf-profiler record -- %s",
			   name, name);
}

static int parse_command(struct ep_args *args, int argc, char **argv)
{
	struct ep_word_list words;
	int r;

	if (args->command->parses_itself) {
		args->rest_argc = argc;
		args->rest_argv = argv;
		return 0;
	}
	r = ep_cli_parse(args->command->syntax, argc, argv, args, &words, args->error);
	if (r < 0 || args->help)
		return r;
	if (args->command->syntax->words == EP_WORDS_COMMAND)
		r = take_command(args, &words);
	else if (words.n)
		r = ep_cli_fail(args->error, "'%s' is one word too many: see --help",
				words.list[0]);
	return r < 0 || args->version ? r : check(args);
}

int ep_args_parse(int argc, char **argv, const struct ep_command *const *tables,
		  struct ep_args *ret_args)
{
	*ret_args = (struct ep_args){.freq_hz = DEFAULT_FREQ_HZ};
	ret_args->help = argc < 2 || strcmp(argv[1], "help") == 0;
	if (ret_args->help) {
		ret_args->command = argc > 2 ? find_command(tables, argv[2]) : NULL;
		return 0;
	}
	ret_args->version = strcmp(argv[1], "version") == 0;
	if (ret_args->version)
		return 0;
	if (argv[1][0] == '-') {
		ret_args->command = &tables[0][0];
		return parse_command(ret_args, argc, argv);
	}
	ret_args->command = find_command(tables, argv[1]);
	if (!ret_args->command)
		return unknown_command(tables, argv[1], ret_args->error);
	return parse_command(ret_args, argc - 1, argv + 1);
}

void ep_args_print_help(FILE *out, const struct ep_args *args,
			const struct ep_command *const *tables)
{
	const struct ep_syntax *agent = tables[0][0].syntax;
	const struct ep_command *command;
	const char *before = "usage: ";

	if (args->command && args->command->syntax != agent) {
		ep_syntax_print(out, args->command->syntax);
		return;
	}
	for (size_t i = 0; tables[i]; i++) {
		for (command = tables[i]; command->syntax; command++, before = "       ")
			if (command->syntax == agent || command->syntax->about)
				ep_syntax_print_usage(out, command->syntax, before);
	}
	ep_syntax_print_text(out, agent->text);
	fputc('\n', out);
	ep_syntax_print_options(out, agent->options);
	fputc('\n', out);
	for (size_t i = 0; tables[i]; i++) {
		for (command = tables[i]; command->syntax; command++)
			if (command->syntax->about)
				ep_syntax_print_row(out, command->syntax->name,
						    command->syntax->about, COMMAND_COLUMN);
	}
	ep_syntax_print_text(out, agent->end);
}
