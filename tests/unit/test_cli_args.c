/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/cli/parts/args.h"
#include "tests/unit/command_line.h"

static const struct ep_command commands_here[] = {
	{.syntax = &ep_agent_syntax},
	{.syntax = &ep_record_syntax},
	{.syntax = &ep_doctor_syntax},
	{.syntax = &ep_plugins_syntax},
	{.syntax = &ep_dump_syntax},
	{.syntax = &ep_capture_syntax},
	{0},
};
static const struct ep_command *const tables[] = {commands_here, NULL};

static int parse(const char *line, struct ep_args *args)
{
	int n;
	char **words = words_of("ebpf-profiler", line, &n);

	return ep_args_parse(n, words, tables, args);
}

#define EXTENSIONS ".html, .otlp.gz, .pb.gz, .pprof, .folded, .perf.txt, .json.gz, .svg, .pgo"
#define FORMATS	   "html, otlp, pprof, folded, perf, firefox, svg, pgo"

static const struct {
	const char *line, *error;
} errors[] = {
	{"record --min-named 101",
	 "--min-named takes per cent from 0 to 100, like 98 or 99.5, not '101'"},
	{"record --min-complete 99.555",
	 "--min-complete takes per cent from 0 to 100, like 98 or 99.5, not '99.555'"},
	{"record --min-named 100.01",
	 "--min-named takes per cent from 0 to 100, like 98 or 99.5, not '100.01'"},
	{"record --min-named 9.",
	 "--min-named takes per cent from 0 to 100, like 98 or 99.5, not '9.'"},
	{"record --min-named %",
	 "--min-named takes per cent from 0 to 100, like 98 or 99.5, not '%'"},
	{"-q", "nothing to do: give --config FILE for the agent, or a command: record, doctor, "
	       "plugins (see --help)"},
	{"--check", "--check needs a file: ebpf-profiler --config FILE --check"},
	{"--config", "--config needs a value: see --help for what it takes"},
	{"--confg f", "unknown option --confg: did you mean --config?"},
	{"--config f --check --print-config",
	 "--check and --print-config are two commands: give one of them"},
	{"dump", "dump takes one process, -p PID, or one core file, --core FILE"},
	{"dump -p 1,2", "dump takes one process, -p PID, or one core file, --core FILE"},
	{"dump -p 1 -o x", "unknown option -o: see ebpf-profiler dump --help"},
	{"capture -p 1", "capture writes one file: say which, like -o app.fixture.zst"},
	{"plugins --check a.so --new a", "--check and --new are two commands: give one of them"},
	{"plugins --jit", "--jit goes with --new: ebpf-profiler plugins --new NAME --jit"},
	{"plugins --new", "--new needs a value: see --help for what it takes"},
	{"--config f extra", "'extra' is one word too many: see --help"},
	{"-x", "unknown option -x: see ebpf-profiler --help"},
	{"--check=3 --config f", "--check takes no value: leave '=3' out"},
	{"recrod", "unknown command 'recrod': did you mean 'record'?"},
	{"annotate",
	 "no command 'annotate': for the cost of lines, ebpf-profiler report --list FUNCTION [FILE]"},
	{"script",
	 "no command 'script': for samples as text, ebpf-profiler convert FILE -o out.perf.txt"},
	{"flamegraph",
	 "no command 'flamegraph': for a flame graph, ebpf-profiler record -o flame.svg, or of a "
	 "profile ebpf-profiler convert FILE -o flame.svg"},
	{"stat",
	 "no command 'stat': no events are counted; for where CPU time goes, ebpf-profiler record -- COMMAND"},
	{"record -e cycles -- true",
	 "-e cycles: only CPU time is sampled, on every machine: leave -e out"},
	{"record -p 12 13 -d 5",
	 "'13' would be a command: several pids go with commas, -p \"$(pgrep -d, NAME)\""},
	{"sleep", "unknown command 'sleep': to profile a program, ebpf-profiler record -- sleep"},
	{"record -F 0", "-F takes samples per second from 1 to 10000, not '0'"},
	{"record -F 10001", "-F takes samples per second from 1 to 10000, not '10001'"},
	{"record -F max", "-F takes samples per second from 1 to 10000, not 'max'"},
	{"record -F", "-F needs a value: see --help for what it takes"},
	{"record --frq 3", "unknown option --frq: did you mean --freq?"},
	{"record --frequency 99", "unknown option --frequency: did you mean --freq?"},
	{"record --zzzzz", "unknown option --zzzzz: see ebpf-profiler record --help"},
	{"record -x", "unknown option -x: see ebpf-profiler record --help"},
	{"record -d 3y", "-d takes a time like 10, 10s, 500ms or 1m30s, not '3y'"},
	{"record -d 0", "-d takes a time like 10, 10s, 500ms or 1m30s, not '0'"},
	{"record -p 12,", "-p takes process ids with commas between them, like -p 1234,1235"},
	{"record -p a", "-p takes process ids with commas between them, like -p 1234,1235"},
	{"record -p 0", "-p takes process ids with commas between them, like -p 1234,1235"},
	{"record -p 2147483648",
	 "-p takes process ids with commas between them, like -p 1234,1235"},
	{"record -o out.bmp", "-o 'out.bmp': the extension says the format: " EXTENSIONS
			      "; another name goes with -f FORMAT in front of it"},
	{"record -o .pb.gz", "-o '.pb.gz': the extension says the format: " EXTENSIONS
			     "; another name goes with -f FORMAT in front of it"},
	{"record -f bmp", "-f takes one of " FORMATS ", not 'bmp'"},
	{"record -f foldde -o x",
	 "-f takes one of " FORMATS ", not 'foldde': did you mean folded?"},
	{"record -o - -o -", "-o '-' is there twice: leave one out"},
	{"record -o a.pb.gz -o a.pb.gz", "-o 'a.pb.gz' is there twice: leave one out"},
	{"record -a --", "no command after '--': leave it out, or add one"},
	{"doctor now", "'now' is one word too many: see --help"},
	{"doctor --jsn", "unknown option --jsn: did you mean --json?"},
};

EP_TEST(each_mistake_comes_with_the_fix)
{
	struct ep_args args;

	for (size_t i = 0; i < EP_LEN(errors); i++) {
		int r = parse(errors[i].line, &args);

		if (strcmp(args.error, errors[i].error) != 0)
			print_error("row %zu: %s\n", i, errors[i].line);
		assert_string_equal(args.error, errors[i].error);
		assert_true(r == (errors[i].error[0] ? -EINVAL : 0));
	}
}

static const struct {
	const char *line;
	const struct ep_syntax *syntax;
	const char *config;
	bool quiet;
	unsigned int verbose;
	bool json, check, print_config;
} commands[] = {
	{"--config f", &ep_agent_syntax, .config = "f"},
	{"--config=f -vv", &ep_agent_syntax, .config = "f", .verbose = 2},
	{"--config f --check", &ep_agent_syntax, .config = "f", .check = true},
	{"--print-config --config f -q", &ep_agent_syntax, .config = "f", .quiet = true,
	 .print_config = true},
	{"--print-config", &ep_agent_syntax, .print_config = true},
	{.line = "record", .syntax = &ep_record_syntax},
	{"record -v -q", &ep_record_syntax, .quiet = true, .verbose = 1},
	{.line = "doctor", .syntax = &ep_doctor_syntax},
	{"doctor --json", &ep_doctor_syntax, .json = true},
	{.line = "plugins", .syntax = &ep_plugins_syntax},
	{.line = "plugins --check toy.so", .syntax = &ep_plugins_syntax},
	{.line = "dump -p 1", .syntax = &ep_dump_syntax},
	{.line = "capture --core c -o x", .syntax = &ep_capture_syntax},
};

EP_TEST(commands_and_common_options)
{
	struct ep_args args;

	for (size_t i = 0; i < EP_LEN(commands); i++) {
		assert_int_equal(parse(commands[i].line, &args), 0);
		assert_ptr_equal(args.command->syntax, commands[i].syntax);
		assert_true(!args.config_path == !commands[i].config);
		if (args.config_path)
			assert_string_equal(args.config_path, commands[i].config);
		assert_int_equal(args.quiet, commands[i].quiet);
		assert_int_equal(args.verbose, commands[i].verbose);
		assert_int_equal(args.json, commands[i].json);
		assert_int_equal(args.check, commands[i].check);
		assert_int_equal(args.print_config, commands[i].print_config);
		assert_false(args.help || args.version);
	}
	assert_int_equal(parse("--version", &args), 0);
	assert_true(args.version);
	assert_int_equal(parse("version", &args), 0);
	assert_true(args.version);
}

/* All of a parsed `record` in one line, to compare. */
static void describe(const struct ep_args *args, char *buf, size_t size)
{
	FILE *out = fmemopen(buf, size, "w");

	fprintf(out, "%u Hz", args->freq_hz);
	if (args->duration_ns)
		fprintf(out, ", %llu ms", (unsigned long long)(args->duration_ns / EP_NS_PER_MS));
	for (size_t i = 0; i < args->n_pids; i++)
		fprintf(out, ", pid %d", (int)args->pids[i]);
	for (size_t i = 0; i < args->outputs.n; i++)
		fprintf(out, ", %s to %s", args->outputs.list[i].format->name,
			args->outputs.list[i].path);
	if (args->outputs.n == 0 && args->outputs.format)
		fprintf(out, ", %s", args->outputs.format->name);
	fprintf(out, "%s%s%s%s", args->all_cpus ? ", all" : "", args->force ? ", force" : "",
		args->keep_root ? ", root" : "", args->note[0] ? ", note" : "");
	if (args->min_complete || args->min_named)
		fprintf(out, ", at least %u %u", args->min_complete, args->min_named);
	for (char **word = args->child_argv; word && *word; word++)
		fprintf(out, "%s%s", word == args->child_argv ? ", run " : " ", *word);
	fclose(out);
}

static const struct {
	const char *line, *meaning;
} records[] = {
	{"record", "99 Hz"},
	{"record -F 199 -a", "199 Hz, all"},
	{"record --freq=20 --all-cpus --duration 5m", "20 Hz, 300000 ms, all"},
	{"record -r 49", "49 Hz"},
	{"record -F 10000", "10000 Hz"},
	{"record --rate 50 -d 500ms", "50 Hz, 500 ms"},
	{"record -d10 -F99", "99 Hz, 10000 ms"},
	{"record -p 1", "99 Hz, pid 1"},
	{"record -p 12,13 --pid 14,12", "99 Hz, pid 12, pid 13, pid 14"},
	{"record -o a.pb.gz -o - --output b.pprof --force",
	 "99 Hz, pprof to a.pb.gz, pprof to -, pprof to b.pprof, force"},
	{"record -o dir.d/x.pb.gz --keep-root", "99 Hz, pprof to dir.d/x.pb.gz, root"},
	{"record -o x.html -o x.otlp.gz -o x.folded -o x.perf.txt -o x.json.gz -o x.pgo",
	 "99 Hz, html to x.html, otlp to x.otlp.gz, folded to x.folded, perf to x.perf.txt, "
	 "firefox to x.json.gz, pgo to x.pgo"},
	{"record -o a.pgo -f folded -o b.pgo -o - -f perf -o c",
	 "99 Hz, pgo to a.pgo, folded to b.pgo, "
	 "folded to -, perf to c"},
	{"record -o - --format=folded", "99 Hz, folded to -"},
	{"record -f otlp", "99 Hz, otlp"},
	{"record -F 99 -a -g -- sleep 30", "99 Hz, all, note, run sleep 30"},
	{"record -F 99 --call-graph dwarf sleep 3", "99 Hz, note, run sleep 3"},
	{"record -F 99 sleep -F 3 -x", "99 Hz, run sleep -F 3 -x"},
	{"record -- -odd -- name", "99 Hz, run -odd -- name"},
	{"record -ag -F 9 ls", "9 Hz, all, note, run ls"},
	{"record --min-complete 98", "99 Hz, at least 9800 0"},
	{"record --min-named=99.5% --min-complete 100", "99 Hz, at least 10000 9950"},
	{"record --min-named 99.95", "99 Hz, at least 0 9995"},
	{"record --min-named 0 --min-complete 7.05", "99 Hz, at least 705 0"},
};

EP_TEST(record_understands_what_perf_users_type)
{
	struct ep_args args;
	char meaning[512];

	for (size_t i = 0; i < EP_LEN(records); i++) {
		int r = parse(records[i].line, &args);

		assert_string_equal(args.error, "");
		assert_int_equal(r, 0);
		assert_ptr_equal(args.command->syntax, &ep_record_syntax);
		describe(&args, meaning, sizeof(meaning));
		assert_string_equal(meaning, records[i].meaning);
	}
}

/* "-p $(pgrep x)", with quotes and without. */
EP_TEST(pids_are_taken_as_pgrep_prints_them)
{
	static const char *const lines[] = {"12\n13\n14", "12 13 14\n", " 12, 13 ,14 ", "12,13,14"};
	struct ep_args args;

	for (size_t i = 0; i < EP_LEN(lines); i++) {
		char *words[] = {(char *)"ebpf-profiler", (char *)"record", (char *)"-p",
				 (char *)(uintptr_t)lines[i], NULL};

		assert_int_equal(ep_args_parse(4, words, tables, &args), 0);
		assert_int_equal(args.n_pids, 3);
		assert_int_equal(args.pids[2], 14);
		assert_null(args.child_argv);
	}
	assert_int_equal(parse("record -d 5 -p 12 13 14", &args), 0);
	assert_int_equal(args.n_pids, 3);
	assert_int_equal(args.pids[1], 13);
	assert_null(args.child_argv);
	assert_int_equal(parse("record -p 12 -- 13 14", &args), 0);
	assert_int_equal(args.n_pids, 1);
	assert_string_equal(args.child_argv[0], "13");
	assert_int_equal(parse("record -p 12,,13", &args), -EINVAL);
}

EP_TEST(options_after_a_command_are_hinted_at)
{
	struct ep_args args;

	assert_int_equal(parse("record sleep 1 -d 5", &args), 0);
	assert_string_equal(
		args.hint,
		"-d went to sleep, as all that comes after the command: options of record come "
		"before it: ebpf-profiler record -d .. -- sleep ..");
	assert_int_equal(parse("record -- sleep 1 -d 5", &args), 0);
	assert_string_equal(args.hint, "");
	assert_int_equal(parse("record -d 5 sleep 1", &args), 0);
	assert_string_equal(args.hint, "");
	assert_int_equal(parse("record -e cpu-clock -- true", &args), 0);
	assert_string_equal(args.note, "CPU time is what is always sampled: -e changes nothing");
}

EP_TEST(too_many_of_a_kind_are_refused)
{
	char line[EP_ARGS_MAX_PIDS * 8], name[] = "ebpf-profiler", record[] = "record", p[] = "-p";
	char *words[] = {name, record, p, line, NULL};
	struct ep_args args;
	size_t len = 0;

	for (int i = 1; i <= EP_ARGS_MAX_PIDS + 1; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%d", i > 1 ? "," : "",
					i);
	assert_int_equal(ep_args_parse(4, words, tables, &args), -EINVAL);
	assert_string_equal(args.error,
			    "more than 256 values of what is recorded: leave some out");
	*strrchr(line, ',') = '\0';
	assert_int_equal(ep_args_parse(4, words, tables, &args), 0);
	assert_int_equal(args.n_pids, EP_ARGS_MAX_PIDS);
}

static const struct {
	const char *line, *starts;
} helps[] = {
	{"", "usage: ebpf-profiler --config"},
	{"help", "usage: ebpf-profiler --config"},
	{"--help", "usage: ebpf-profiler --config"},
	{"-h", "usage: ebpf-profiler --config"},
	{"record -h", "usage: ebpf-profiler record"},
	{"record -h --", "usage: ebpf-profiler record"},
	{"doctor -h now", "usage: ebpf-profiler doctor"},
	{"help record", "usage: ebpf-profiler record"},
	{"doctor --help", "usage: ebpf-profiler doctor"},
	{"plugins --help", "usage: ebpf-profiler plugins"},
	{"capture -h", "usage: ebpf-profiler capture"},
	{"dump -h", "usage: ebpf-profiler dump"},
};

static const char *help_of(const char *line)
{
	FILE *out = ep_test_print();
	struct ep_args args;

	assert_int_equal(parse(line, &args), 0);
	assert_true(args.help);
	ep_args_print_help(out, &args, tables);
	return ep_test_printed(out);
}

EP_TEST(help_is_about_what_was_asked)
{
	for (size_t i = 0; i < EP_LEN(helps); i++) {
		const char *text = help_of(helps[i].line);

		assert_memory_equal(text, helps[i].starts, strlen(helps[i].starts));
		for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
			assert_true(strcspn(line, "\n") <= 80);
	}
}

EP_TEST(help_lists_the_table_of_options)
{
	const char *text = help_of("record -h");

	assert_non_null(strstr(
		text,
		"\n  -F, --freq HZ        samples per second on every CPU: 99 (also -r, --rate)\n"
		"  -p, --pid PID,..     these processes and their children\n"
		"      --no-inherit     without their children\n"));
	assert_non_null(strstr(
		text,
		"\n      --min-complete PCT  end with exit status 6 when less of the CPU time than\n"
		"                       this has"));
	assert_null(strstr(text, "--rate HZ")); /* another name of one that is listed */
	text = help_of("");
	assert_non_null(strstr(text, "\n       ebpf-profiler doctor [--json]\n"));
	assert_non_null(strstr(text, "\n  record           profile a command,"));
}
