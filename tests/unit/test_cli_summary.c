/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/progress.h"
#include "core/cli/parts/summary.h"
#include "core/cli/parts/text.h"
#include "ebpf-profiler/batch.h"
#include "ebpf-profiler/frame.h"
#include "tests/kit/test.h"

/*
 * Four stacks, leaf first:
 *	1  leaf work main			complete	60 samples, pid 10
 *	2  work (recursive) work work main	complete	20 samples, pid 10
 *	3  inlined into leaf, then an error	NO_MAPPING	15 samples, pid 11
 *	4  an error alone			NOT_ANALYSED	 5 samples, pid 10 again, other
 * start
 */
static const char *const strings[] = {
	"",
	"main",
	"work",
	"leaf",
	"inlined",
	"[truncated: address in no known executable]",
	"app",
	"evil\033[2Jcomm",
	"/usr/bin/app",
	"[truncated: process not analysed yet]",
	"native",
	"toyscript",
	"error",
	"address in no known executable",
	"/lib/libbad.so",
};
static const uint32_t string_bytes[] = {0, 4, 4, 4, 7, 43, 3, 12, 12, 38, 6, 9, 5, 30, 14};
static const uint32_t function_name[] = {0, 1, 2, 3, 4, 5, 9};
static const uint32_t function_file[EP_LEN(function_name)], function_line[EP_LEN(function_name)];
/* locations: 1 main, 2 work, 3 leaf, 4 leaf with `inlined` inside, 5 and 6 errors */
static const uint32_t location_flags[] = {0, 0, 0, 0, 0, EP_LOCATION_ERROR, EP_LOCATION_ERROR};
static const uint32_t location_kind[] = {0, 10, 11, 10, 10, 12, 12};
static const uint32_t location_mapping[] = {0, 1, 0, 1, 2, 0, 0};
static const uint32_t mapping_path[] = {0, 8, 14};
static const uint32_t location_line_first[] = {0, 0, 1, 2, 3, 5, 6, 7};
static const uint32_t line_function[] = {1, 2, 3, 4, 3, 5, 6};
static const uint32_t stack_location_first[] = {0, 0, 3, 7, 9, 10};
static const uint32_t stack_location[] = {3, 2, 1, 2, 2, 2, 1, 4, 5, 6};
static const uint32_t stack_error[] = {0, 0, 0, EP_ERROR_NO_MAPPING, EP_ERROR_NOT_ANALYSED};
static const uint32_t stack_error_text[] = {0, 0, 0, 13, 0};
static const uint32_t process_pid[] = {0, 10, 11, 10};
static const uint64_t process_start_ns[] = {0, 1000, 2000, 3000};
static const uint32_t process_comm[] = {0, 6, 7, 6};
static const uint32_t process_exe_path[] = {0, 8, 0, 0};
static const uint32_t sample_stack[] = {1, 1, 2, 3, 4};
static const uint32_t sample_process[] = {1, 1, 1, 2, 3};
static const uint32_t sample_count[] = {50, 10, 20, 15, 5};

static const struct ep_batch batch = {
	.size = sizeof(batch),
	.period_hz = 100,
	.duration_ns = 2000000000,
	.period_ns = 10000000,
	.n_strings = EP_LEN(strings),
	.string_text = strings,
	.string_bytes = string_bytes,
	.n_functions = EP_LEN(function_name),
	.function_name = function_name,
	.function_file = function_file,
	.function_line = function_line,
	.n_locations = EP_LEN(location_flags),
	.location_flags = location_flags,
	.location_kind = location_kind,
	.location_mapping = location_mapping,
	.n_mappings = EP_LEN(mapping_path),
	.mapping_path = mapping_path,
	.location_line_first = location_line_first,
	.n_lines = EP_LEN(line_function),
	.line_function = line_function,
	.n_stacks = EP_LEN(stack_error),
	.stack_location_first = stack_location_first,
	.stack_location = stack_location,
	.stack_error = stack_error,
	.stack_error_text = stack_error_text,
	.n_processes = EP_LEN(process_pid),
	.process_pid = process_pid,
	.process_start_ns = process_start_ns,
	.process_comm = process_comm,
	.process_exe_path = process_exe_path,
	.n_samples = EP_LEN(sample_stack),
	.sample_stack = sample_stack,
	.sample_process = sample_process,
	.sample_count = sample_count,
	.lost_samples = 25,
};

static char *print(const struct ep_batch *const *batches, size_t n,
		   const struct ep_summary_info *info)
{
	FILE *out = ep_test_print();

	assert_int_equal(ep_summary_print(out, batches, n, info), 0);
	return ep_test_printed(out);
}

static char *print_one(const struct ep_batch *one, const struct ep_summary_info *info)
{
	return print(&one, 1, info);
}

EP_TEST(a_recording_is_told_in_full)
{
	const char *files[] = {"-", "out dir/it's.pb.gz", "b.pprof"};
	struct ep_summary_info info = {
		.files = files,
		.n_files = 3,
		.agent_cpu_ns = 4000000,
		.bpf_ns = 1000000,
		.n_cpus = 2,
	};
	const char *text = print_one(&batch, &info);

	assert_string_equal(
		text,
		"100 samples in 2.0 s at 100 Hz on 2 CPUs: 1.00 s of CPU time, 25 % of what there "
		"was\n"
		"stacks: 80.00 % complete; 15.00 % address in no known executable, 5.00 % process "
		"not analysed yet\n"
		"\n     share  complete  language\n"
		"   80.00 %  100.00 %  toyscript\n"
		"   20.00 %    0.00 %  native; 75.00 % address in no known executable, 25.00 % "
		"process not analysed yet\n"
		"\n      self     total  functions by their own time\n"
		"   60.00 %   75.00 %  leaf\n"
		"   20.00 %   80.00 %  work\n"
		"   15.00 %   15.00 %  inlined\n"
		"    5.00 %    5.00 %  [truncated: process not analysed yet]\n"
		"    0.00 %   80.00 %  main\n"
		"\n      self     total  functions with what they call\n"
		"   20.00 %   80.00 %  work\n"
		"    0.00 %   80.00 %  main\n"
		"   60.00 %   75.00 %  leaf\n"
		"   15.00 %   15.00 %  inlined\n"
		"    5.00 %    5.00 %  [truncated: process not analysed yet]\n"
		"\n     share       pid  program\n"
		"   80.00 %        10  app               /usr/bin/app\n"
		"   15.00 %        11  evil?[2Jcomm\n"
		"    5.00 %        10  app\n"
		"\noverhead: profiler 0.20 % of one CPU, BPF 0.05 %, 25 samples lost "
		"(20.00 % of the ticks due)\n"
		"wrote: out dir/it's.pb.gz, b.pprof\n"
		"next: go tool pprof -top 'out dir/it'\\''s.pb.gz'\n"
		"next: go tool pprof -top b.pprof\n"
		"next: ebpf-profiler report 'out dir/it'\\''s.pb.gz' --kind toyscript --by line\n");
}

EP_TEST(batches_of_one_recording_add_up)
{
	const struct ep_batch *batches[] = {&batch, &batch};
	struct ep_summary_info info = {.wall_ns = 8000000000, .color = true};
	const char *text = print(batches, 2, &info);

	assert_int_equal(ep_summary_samples(batches, 2), 200);
	assert_non_null(strstr(text, "200 samples in 8.0 s at 100 Hz: 2.00 s of CPU time\n"));
	assert_non_null(strstr(text, "   20.00 %   80.00 %  work\n"));
	assert_non_null(strstr(text, "   80.00 %        10  app "));
	assert_non_null(strstr(text, "\033[1m      self     total  functions by"));
	assert_non_null(strstr(text, "overhead: 50 samples lost (20.00 % of the ticks due)\n"));
	assert_null(strstr(text, "next:"));
}

EP_TEST(samples_lost_to_deep_stacks_are_told_with_what_to_do)
{
	struct ep_summary_info info = {.walked = 20};
	const char *text = print_one(&batch, &info), *few;

	assert_non_null(strstr(text, "25 samples lost (20.00 % of the ticks due), 20 while deep stacks were walked: "
				     "a lower -F loses less\n"));
	info.walked = 1;
	few = print_one(&batch, &info);
	assert_non_null(strstr(few, "25 samples lost (20.00 % of the ticks due)\n"));
}

/* By counts leaf itself would be 60 %, and work 20 %. */
EP_TEST(shares_are_of_cpu_time)
{
	static const uint64_t weight_ns[] = {400000000, 80000000, 320000000, 165000000, 35000000};
	struct ep_batch weighted = batch;
	struct ep_summary_info info = {.wall_ns = 2000000000, .n_cpus = 1};
	const char *text;

	weighted.sample_weight_ns = weight_ns;
	text = print_one(&weighted, &info);
	assert_non_null(strstr(text, "100 samples in 2.0 s at 100 Hz on 1 CPU: 1.00 s of CPU time, "
				     "50 % of what there was\n"));
	assert_non_null(strstr(text, "stacks: 80.00 % complete; 16.50 % address in no known "
				     "executable, 3.50 % process not analysed yet\n"));
	assert_non_null(strstr(text, "   48.00 %   64.50 %  leaf\n"));
	assert_non_null(strstr(text, "   32.00 %   80.00 %  work\n"));
	assert_non_null(strstr(text, "   16.50 %        11  "));
	assert_non_null(strstr(text, "25 samples lost (20.00 % of the ticks due)\n"));
}

EP_TEST(a_process_is_another_one_after_an_exec)
{
	static const uint64_t starts_ns[] = {0, 1000, 2000, 1000};
	static const uint32_t images[] = {0, 1, 1, 2};
	struct ep_batch executed = batch;
	const char *text;

	executed.process_start_ns = starts_ns;
	executed.process_image = images;
	text = print_one(&executed, &(struct ep_summary_info){0});
	assert_non_null(strstr(text, "   80.00 %        10  app "));
	assert_non_null(strstr(text, "    5.00 %        10  app\n"));
}

/* A build is a few programs, not its many processes. */
EP_TEST(processes_of_one_program_are_one_row)
{
	static const uint32_t paths[] = {0, 8, 8, 0};
	struct ep_batch build = batch;
	const char *text;

	build.process_exe_path = paths;
	text = print_one(&build, &(struct ep_summary_info){0});
	assert_non_null(strstr(text, "   95.00 %    2 pids  app               /usr/bin/app\n"));
	assert_non_null(strstr(text, "    5.00 %        10  app\n"));
}

EP_TEST(functions_that_show_as_nothing_are_not_listed)
{
	static const uint64_t weight_ns[] = {400000000, 80000000, 320000000, 8000, 200000000};
	struct ep_batch light = batch;
	const char *text;

	light.sample_weight_ns = weight_ns;
	text = print_one(&light, &(struct ep_summary_info){0});
	assert_non_null(strstr(text, "    0.00 %   80.00 %  main\n"));
	assert_null(strstr(text, "inlined"));
}

/* The second stack's `main` is an address that is in no file; in the third, which is cut off, it is not counted. */
EP_TEST(code_of_no_file_is_neither_complete_nor_incomplete)
{
	static const uint32_t raw[] = {0, 0, EP_LOCATION_UNNAMED, 0, EP_LOCATION_UNNAMED,
				       EP_LOCATION_ERROR, EP_LOCATION_ERROR};
	static const struct {
		uint32_t mapping;
		const char *quality;
	} cases[] = {
		{0, "stacks: 0.00 % complete, 80.00 % unverified (through code of no file, by frame "
		    "pointers alone); 15.00 % address"},
		{1, "stacks: 80.00 % complete; 15.00 % address"}, /* a stripped file */
	};
	struct ep_batch with = batch;
	struct ep_summary_info info = {.wall_ns = 2000000000};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		uint32_t mapping = cases[i].mapping;
		uint32_t mappings[] = {0, 1, mapping, 1, mapping, 0, 0};
		const char *text;

		with.location_flags = raw;
		with.location_mapping = mappings;
		text = print_one(&with, &info);
		assert_non_null(strstr(text, cases[i].quality));
	}
}

/* Of two batches, whose numbers of strings differ. */
EP_TEST(names_that_are_missing_are_told_by_reason)
{
	static const char *const texts[] = {"", "main", "work", "leaf", "inlined", "[truncated]", "app",
					    "comm", "/usr/bin/app", "[not yet]",
					    "toy: gone before it was named", "frames missing"};
	static const char *const swapped[] = {"", "main", "work", "leaf", "inlined", "[truncated]", "app",
					      "comm", "/usr/bin/app", "[not yet]", "frames missing",
					      "toy: gone before it was named"};
	static const uint32_t bytes[] = {0, 4, 4, 4, 7, 11, 3, 4, 12, 9, 29, 14};
	static const uint32_t swapped_bytes[] = {0, 4, 4, 4, 7, 11, 3, 4, 12, 9, 14, 29};
	static const uint32_t locations[] = {0, EP_UNNAMED_NO_SYMBOL, 0, 0, 0, EP_UNNAMED_MISSING,
					     EP_UNNAMED_MISSING};
	static const uint32_t whys[] = {0, 0, EP_UNNAMED_GONE, EP_UNNAMED_MISSING, EP_UNNAMED_MISSING};
	static const uint32_t why_texts[] = {0, 0, 10, 11, 11}, swapped_whys[] = {0, 0, 11, 10, 10};
	static const uint32_t none[EP_LEN(location_flags)] = {0};
	struct ep_summary_info info = {.wall_ns = 2000000000};
	struct ep_batch one = batch, two;
	const struct ep_batch *batches[] = {&one, &two};
	const char *text;
	struct ep_summary_quality quality;

	one.n_strings = EP_LEN(texts);
	one.string_text = texts;
	one.string_bytes = bytes;
	one.location_unnamed = locations;
	one.location_kind = none;
	one.mapping_path = none;
	one.stack_error_text = none;
	one.stack_unnamed = whys;
	one.stack_unnamed_text = why_texts;
	two = one;
	two.string_text = swapped;
	two.string_bytes = swapped_bytes;
	two.stack_unnamed_text = swapped_whys;
	text = print(batches, 2, &info);
	assert_non_null(strstr(text, "\nnames: 60.00 % fully named; 20.00 % toy: gone before it was named, "
				     "20.00 % frames missing\nsymbols: 80.00 % with native code that has "
				     "none; see convert --symbols --debug-dir\n\n"));
	quality = ep_summary_quality(&one);
	assert_int_equal(quality.complete, 8000);
	assert_int_equal(quality.named, 6000);
}

/* As an older host made it: nothing of it is called named. */
EP_TEST(names_of_which_a_batch_says_nothing_are_not_told)
{
	struct ep_summary_info info = {.wall_ns = 2000000000};
	const char *text = print_one(&batch, &info);

	assert_null(strstr(text, "names:"));
	assert_int_equal(ep_summary_quality(&batch).named, 0);
}

/* An idle machine: one sample of five was lost, and nearly all ticks found nobody. */
EP_TEST(a_loss_is_a_share_of_the_ticks_that_were_due)
{
	struct ep_batch idle = batch;
	struct ep_summary_info info = {.wall_ns = 2000000000};
	const char *text;

	idle.due_samples = 10000;
	text = print_one(&idle, &info);
	assert_non_null(strstr(text, "25 samples lost (0.25 % of the ticks due)\n"));
	assert_int_equal(ep_batch_due_samples(&idle, 100), 10000);
	idle.due_samples = 0; /* an older host */
	assert_int_equal(ep_batch_due_samples(&idle, 100), 125);
}

/*
 * What is cut above inlined code of libbad.so counts against it, an error alone against its process's file,
 * which is not known; what has no name against the file it is in, once for each stack.
 */
EP_TEST(executables_that_spoil_stacks_are_named)
{
	static const uint32_t unnamed[] = {0, EP_UNNAMED_NO_SYMBOL, 0, EP_UNNAMED_NO_SYMBOL, 0, 0, 0};
	struct ep_batch with = batch;
	const struct ep_batch *batches[] = {&with, &with};
	struct ep_summary_info info = {.wall_ns = 2000000000, .executables = true};
	const char *text;

	with.location_unnamed = unnamed;
	text = print(batches, 2, &info);
	assert_non_null(strstr(text, "\n       cut   unnamed  executables that spoil stacks the most\n"
				     "    0.00 %   80.00 %  /usr/bin/app\n"
				     "   15.00 %    0.00 %  /lib/libbad.so\n"
				     "    5.00 %    0.00 %  [no file]\n\n"));
}

EP_TEST(progress_is_one_line)
{
	static const struct {
		struct ep_progress progress;
		unsigned int columns;
		const char *line;
	} cases[] = {
		{{.passed_ns = 3999999999}, 0, "4 s, 0 samples, 0.00 % lost"},
		{{.passed_ns = 3499999999}, 0, "3 s, 0 samples, 0.00 % lost"},
		{{.passed_ns = 12000000000, .duration_ns = 30000000000, .samples = 3000, .complete = 2999, .lost = 1, .due = 4000},
		 0, "12 of 30 s, 3000 samples, 99.96 % complete, 0.03 % lost"},
		{{.passed_ns = 1000000000, .duration_ns = 1500000000, .samples = 1, .complete = 1}, 0,
		 "1 of 1.5 s, 1 sample, 100.00 % complete, 0.00 % lost"},
		{{.passed_ns = 1000000000, .samples = 3, .complete = 3, .lost = 1}, 11, "1 s, 3 samp"},
	};
	char buf[EP_PROGRESS_BYTES];

	for (size_t i = 0; i < EP_LEN(cases); i++)
		assert_string_equal(ep_progress_format(&cases[i].progress, cases[i].columns, buf), cases[i].line);
}

EP_TEST(who_waited_is_told_so)
{
	char buf[EP_SUMMARY_WAITED_BYTES];
	const uint64_t s = 1000000000;

	assert_string_equal(
		ep_summary_waited(3 * s / 10, 10 * s, buf),
		"it ran 0.3 s of 10.0 s, the rest it waited; CPU time is what is measured");
	assert_non_null(ep_summary_waited(0, 2 * s, buf));
	assert_null(ep_summary_waited(0, s / 2, buf)); /* too short to say it */
	assert_null(ep_summary_waited(9 * s, 10 * s, buf));
	assert_null(ep_summary_waited(20 * s, 10 * s, buf)); /* on several CPUs */
}

EP_TEST(functions_of_one_name_are_told_apart)
{
	static const uint32_t names[] = {0, 1, 2, 3, 2, 5, 9}, lines[] = {0, 0, 12, 0, 90, 0, 0};
	static const uint32_t files[] = {0, 0, 8, 0, 8, 0, 0}; /* some path */
	struct ep_summary_info info = {.wall_ns = 1000000000};
	struct ep_batch shared = batch;
	const char *text;

	shared.function_name = names; /* what is inlined in leaf is called work as well */
	shared.function_file = files;
	shared.function_line = lines;
	text = print_one(&shared, &info);
	assert_non_null(strstr(text, "   20.00 %   80.00 %  work (app:12)\n"));
	assert_non_null(strstr(text, "   15.00 %   15.00 %  work (app:90)\n"));
}

EP_TEST(only_a_target_waits)
{
	struct ep_summary_info info = {.wall_ns = 10000000000};
	struct ep_batch waits = batch;

	waits.lost_samples = 0;
	assert_null(strstr(print_one(&waits, &info), "waited"));
	info.is_target = true;
	assert_non_null(strstr(print_one(&waits, &info),
			       "\nit ran 1.0 s of 10.0 s, the rest it waited; CPU time is"));
	assert_null(strstr(print_one(&batch, &info), "waited")); /* samples were lost */
}

EP_TEST(nothing_sampled_is_said)
{
	struct ep_summary_info info = {.wall_ns = 1000000000};
	const char *text = print(NULL, 0, &info);

	assert_int_equal(ep_summary_samples(NULL, 0), 0);
	assert_string_equal(text, "0 samples in 1.0 s at 0 Hz: 0.00 s of CPU time\n"
				  "\noverhead: 0 samples lost\n");
}

static const struct {
	const char *text;
	unsigned int columns;
	const char *fits;
} fits[] = {
	{"short", 10, "short"},
	{"", 5, ""},
	{"exactly10c", 10, "exactly10c"},
	{"std::vector<int>::push_back", 12, "std::.._back"},
	{"abcdefgh", 4, "a..h"},
	{"abcdefgh", 3, "a.."},
	{"abcdefgh", 0, ".."},
	{"\xc3\xa9t\xc3\xa9\xc3\xa9t\xc3\xa9", 6, "\xc3\xa9t\xc3\xa9\xc3\xa9t\xc3\xa9"},
	{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4, "\xc3\xa9..\xc3\xa9"},
	{"a\nb\033c\x7f", 10, "a?b?c?"},
	{"x\xc2\x9b"
	 "1m\xffy\xe2\x82",
	 20, "x?1m?y??"},
};

EP_TEST(types_of_the_library_are_named_as_people_write_them)
{
	static const char string[] =
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
	char name[512], buf[EP_TEXT_BYTES];

	snprintf(name, sizeof(name), "void parse(%s const&, std::map<%s, int>)", string, string);
	assert_string_equal(ep_text_fit_name(name, 200, buf),
			    "void parse(std::string const&, std::map<std::string, int>)");
	snprintf(name, sizeof(name), "%s::_M_append(char const*, unsigned long)", string);
	assert_string_equal(ep_text_fit_name(name, 200, buf),
			    "std::string::_M_append(char const*, unsigned long)");
	assert_string_equal(ep_text_fit_name("std::__cxx11::list<int>::sort()", 200, buf),
			    "std::list<int>::sort()");
	assert_string_equal(ep_text_fit_name("mystd::vector<int>", 200, buf), "mystd::vector<int>");
	snprintf(name, sizeof(name), "f(%s)", string);
	assert_string_equal(ep_text_fit_name(name, 10, buf),
			    "f(st..ing)"); /* cut once it is short */
	assert_non_null(strstr(ep_text_fit(name, 200, buf), "basic_string"));
}

EP_TEST(names_are_cut_in_the_middle_and_made_safe)
{
	char buf[EP_TEXT_BYTES], big[8192];

	for (size_t i = 0; i < EP_LEN(fits); i++) {
		assert_string_equal(ep_text_fit(fits[i].text, fits[i].columns, buf), fits[i].fits);
	}
	for (size_t i = 0; i + 4 < sizeof(big); i += 4)
		memcpy(big + i, "\xf0\x9f\x94\xa5", 4);
	big[8188] = '\0';
	ep_text_fit(big, 4000, buf);
	assert_int_equal(strlen(buf), 248 * 4 + 2);
}

EP_TEST(text_is_broken_at_spaces)
{
	static const struct {
		const char *text, *printed;
		size_t width, used, indent;
	} rows[] = {
		{"one two three", "one two three\n", 13, 0, 2},
		{"one two three", "one two\n  three\n", 12, 0, 2},
		{"one two three", "one\n    two\n    three\n", 9, 4, 4},
		{"a  b\n\n  c d", "a  b\n\n  c d\n", 6, 0, 0},
		{"averylongword b", "averylongword\n b\n", 5, 0, 1},
		{"", "\n", 5, 0, 1},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		FILE *out = ep_test_print();

		ep_text_print(out, rows[i].text, rows[i].width, rows[i].used, rows[i].indent);
		assert_string_equal(ep_test_printed(out), rows[i].printed);
	}
}
