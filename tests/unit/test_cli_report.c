/* SPDX-License-Identifier: Apache-2.0 */
/* What `report` prints of a profile that is known. */
#include "core/cli/parts/text.h"
#include "reports/commands/parts/json.h"
#include "reports/commands/parts/report_print.h"
#include "tests/unit/view_batch.h"

#include <sys/stat.h>

static const struct ep_source_rules no_rules;

/* Prints with the defaults of `report`. */
static char *print(const struct ep_batch *batch, struct ep_report report, int expected)
{
	report.out = ep_test_print();
	report.batch = batch;
	report.title = "x.pb.gz";
	if (!report.sources)
		report.sources = &no_rules;
	if (!report.least_10000)
		report.least_10000 = 50;
	assert_int_equal(ep_report_print(&report), expected);
	return ep_test_printed(report.out);
}

static void check(const struct ep_batch *batch, struct ep_report report, const char *expected)
{
	char *text = print(batch, report, 0);

	if (strcmp(text, expected) != 0)
		fail_msg("is:\n%s\nis not:\n%s", text, expected);
}

#define HEAD                                                                                       \
	"x.pb.gz: 10 samples in 10.0 s at 1 Hz on here: 0.0 ms of CPU time; 1 sample lost (9.09 % of the ticks due)\n" \
	"stacks: 100.00 % complete\n"                                                              \
	"names: 100.00 % fully named\n\n"

EP_TEST(a_table_of_functions)
{
	struct ep_batch *batch = view_batch(true);

	check(batch, (struct ep_report){.rows = 4},
	      HEAD "      self     total  by itself  function\n"
		   "   30.00 %   30.00 %     0.0 ms  parse  a.toy:1\n"
		   "   30.00 %   30.00 %     0.0 ms  sys_write\n"
		   "   20.00 %   40.00 %     0.0 ms  spin  [program]\n"
		   "   20.00 %   20.00 %     0.0 ms  inlined  [program]\n"
		   "  and 2 more: -n 0 shows all\n");
	check(batch, (struct ep_report){.rows = 1, .by_total = true},
	      HEAD "      self     total   in total  function\n"
		   "    0.00 %  100.00 %     0.0 ms  main  [program]\n"
		   "  and 5 more: -n 0 shows all\n");
}

EP_TEST(what_shows_as_nothing_is_listed_on_demand)
{
	struct ep_batch *batch = view_batch(false);
	struct ep_batch light = *batch;
	uint64_t weights[] = {1000000, 40, 0, 40}; /* parse; inlined and spin; spin; sys_write */
	char *text;

	assert_int_equal(light.n_samples, EP_LEN(weights));
	light.sample_weight_ns = weights;
	text = print(&light, (struct ep_report){.rows = 4}, 0);
	assert_non_null(strstr(text, "    0.00 %  100.00 %     0.0 ms  main"));
	assert_null(strstr(text, "sys_write"));
	assert_non_null(strstr(text, "  and 4 more: -n 0 shows all\n"));
	text = print(&light, (struct ep_report){0}, 0);
	assert_non_null(strstr(text, "    0.00 %    0.00 %     0.0 ms  sys_write\n"));
}

EP_TEST(tables_of_samples)
{
	struct ep_batch *batch = view_batch(true);

	check(batch, (struct ep_report){.by = EP_TALLY_PROCESS, .rows = 1},
	      HEAD "     share       time       pid  process\n"
		   "   40.00 %     0.0 ms        20  server\n"
		   "  and 2 more: -n 0 shows all\n");
	check(batch, (struct ep_report){.by = EP_TALLY_THREAD, .rows = 2},
	      HEAD "     share       time       pid       tid  thread\n"
		   "   40.00 %     0.0 ms        20        20  server\n"
		   "   30.00 %     0.0 ms        30        30  cat\n"
		   "  and 1 more: -n 0 shows all\n");
	check(batch, (struct ep_report){.by = EP_TALLY_CONTAINER},
	      HEAD "     share       time  container\n"
		   "   60.00 %     0.0 ms  (outside of any container)\n"
		   "   40.00 %     0.0 ms  abcdef\n");
	check(batch, (struct ep_report){.by = EP_TALLY_CPU},
	      HEAD "     share       time  CPU\n"
		   "   40.00 %     0.0 ms  CPU 2\n"
		   "   30.00 %     0.0 ms  CPU 1\n"
		   "   30.00 %     0.0 ms  CPU 3\n");
}

EP_TEST(a_tree_is_indented_where_stacks_part)
{
	struct ep_batch *batch = view_batch(true);

	check(batch, (struct ep_report){.what = EP_REPORT_TREE},
	      HEAD "       self     total  stacks from their roots\n"
		   "     0.00 %  100.00 %  - main\n"
		   "     0.00 %   40.00 %    - spin\n"
		   "    20.00 %   40.00 %      spin\n"
		   "    20.00 %   20.00 %      inlined\n"
		   "    30.00 %   30.00 %    - parse\n"
		   "     0.00 %   30.00 %    - write\n"
		   "    30.00 %   30.00 %      sys_write\n");
	check(batch, (struct ep_report){.what = EP_REPORT_CALLERS, .function = "write"},
	      HEAD "       time     share  called by\n"
		   "     0.0 ms   30.00 %  - write\n"
		   "     0.0 ms   30.00 %    main\n");
}

EP_TEST(a_function_that_is_not_there_prints_nothing)
{
	struct ep_batch *batch = view_batch(true);
	char *text = print(batch, (struct ep_report){.what = EP_REPORT_LIST, .function = "nobody"}, -ENOENT);

	assert_string_equal(text, "");
}

static const char source_text[] = "one\n\ttwo\nthree\nfour\nfive {\nsix\nseven\neight\nnine \x1b[1m\n10\n11\n12\n13\n14\n15\n16\n17\n18\n";

EP_TEST(source_has_its_time_beside_it)
{
	struct ep_batch *batch = view_batch(true);
	struct ep_source_rules rules = {0};
	const char *directory = ep_test_directory(), *path = ep_test_path(directory, "b.c");
	char expected[2048];

	ep_test_write(path, source_text);
	assert_int_equal(ep_source_add_directory(&rules, directory), 0);
	snprintf(expected, sizeof(expected),
		 "%sspin in %s: 20.00 %% by itself (0.0 ms), 40.00 %% in total (0.0 ms)\n"
		 "       self      total    line\n"
		 "          .          .       1  one\n"
		 "          .          .       2          two\n"
		 "          .          .       3  three\n"
		 "          .          .       4  four\n"
		 "          .          .       5  five {\n"
		 "          .          .       6  six\n"
		 "          .          .       7  seven\n"
		 "          .          .       8  eight\n"
		 "     0.0 ms     0.0 ms       9  nine ?[1m\n"
		 "          .          .      10  10\n"
		 "          .          .      11  11\n"
		 "          .     0.0 ms      12  12\n"
		 "          .          .      13  13\n"
		 "          .          .      14  14\n"
		 "          .          .      15  15\n"
		 "          .          .      16  16\n", HEAD, path);
	check(batch, (struct ep_report){.what = EP_REPORT_LIST, .function = "spin", .sources = &rules}, expected);
}

EP_TEST(lines_are_listed_without_their_source_as_well)
{
	struct ep_batch *batch = view_batch(true);
	char *text = print(batch, (struct ep_report){.what = EP_REPORT_LIST, .function = "spin"}, 0);

	assert_non_null(strstr(text, "spin in b.c: 20.00 % by itself"));
	assert_non_null(strstr(text, "the file is not here: --source OLD=NEW"));
	assert_non_null(strstr(text, "     0.0 ms     0.0 ms       9\n          .     0.0 ms      12\n"));
}

EP_TEST(functions_of_one_name_and_file_are_listed_as_one)
{
	static const struct made_frame first = {
		"toyscript", {{"search", .file = "/srv/a.toy", .start_line = 3, .line = 4}}};
	static const struct made_frame second = {
		"toyscript", {{"search", .file = "/srv/a.toy", .start_line = 12, .line = 13}}};
	const struct made_sample samples[] = {
		{.count = 1, .weight = 10, .stack = {&second}},
		{.count = 2, .weight = 20, .stack = {&first}},
	};
	struct ep_batch *batch = make_batch(NULL, samples, EP_LEN(samples));
	char *text = print(batch, (struct ep_report){.what = EP_REPORT_LIST, .function = "search", .json = true}, 0);

	assert_non_null(strstr(text, "{\"self\": 30, \"total\": 30, \"name\": \"search\", \"file\": "
				     "\"/srv/a.toy\", \"start_line\": 3, "));
}

/* --- where source is looked for --- */

EP_TEST(source_is_found_by_path_tail_package_and_replacement)
{
	const char *directory = ep_test_directory();
	const struct {
		const char *rule; /* with =: a replacement; else a directory */
		const char *file, *function;
		int result;
	} rows[] = {
		{directory, "/build/1/a/b/c.x", "f", 0},
		{directory, "Main.x", "org.app.Main.run(int)", 0},
		{directory, "Main.x", "org/app/Main$1::run", 0},
		{"/build/1=.", "/build/1/a/b/c.x", "f", 0},
		{"/build=.", "file:///build/a/b/c.x", "f", 0},
		{"/elsewhere=.", "/build/a/b/c.x", "f", -ENOENT},
		{".", "fifo", "f", -ENOENT}, /* and does not wait */
		{".", "/dev/zero", "f", -ENOENT},
		{".", "", "f", -ENOENT},
	};

	ep_test_write(ep_test_path(directory, "a/b/c.x"), "text\n");
	ep_test_write(ep_test_path(directory, "org/app/Main.x"), "text\n");
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(mkfifo("fifo", 0644), 0);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_source_rules rules = {0};
		struct ep_source source;
		bool is_replacement = strchr(rows[i].rule, '=');

		assert_int_equal(is_replacement ? ep_source_add_replacement(&rules, rows[i].rule)
						: ep_source_add_directory(&rules, rows[i].rule), 0);
		if (ep_source_read(&rules, rows[i].file, rows[i].function, &source) != rows[i].result)
			fail_msg("%s by %s", rows[i].file, rows[i].rule);
		if (rows[i].result == 0)
			ep_source_fini(&source);
	}
	assert_int_equal(chdir("/"), 0);
}

/* --- JSON --- */

EP_TEST(json_is_an_object)
{
	struct ep_batch *batch = view_batch(true);
	char *text = print(batch, (struct ep_report){.json = true, .rows = 1}, 0);

	assert_string_equal(text,
		"{\"profile\": \"x.pb.gz\", \"host\": \"here\", \"start_ns\": 1000000000000, \"duration_ns\": 10000000000, "
		"\"frequency_hz\": 1, \"type\": \"cpu\", \"unit\": \"nanoseconds\",\n"
		" \"samples\": 10, \"weight\": 100, \"lost_samples\": 1, \"complete_weight\": 100, \"unverified_weight\": 0, \"named_weight\": 100, "
		"\"no_symbol_weight\": 0,\n \"incomplete\": [],\n \"unnamed\": [],\n \"by\": \"function\", \"rows\": [\n"
		"  {\"self\": 30, \"total\": 30, \"self_samples\": 3, \"total_samples\": 3, \"name\": \"parse\", "
		"\"file\": \"a.toy\", \"line\": 1}]}\n");
}

EP_TEST(json_rows_have_what_is_known)
{
	struct ep_batch *batch = view_batch(true);
	char *text = print(batch, (struct ep_report){.json = true}, 0);

	assert_non_null(strstr(text, "\"total_samples\": 3, \"name\": \"sys_write\"}"));
	assert_non_null(strstr(text, "\"name\": \"spin\", \"file\": \"b.c\", \"line\": 1, "
				     "\"module\": \"/usr/bin/program\"}"));
	text = print(batch, (struct ep_report){.json = true, .by = EP_TALLY_THREAD, .rows = 1}, 0);
	assert_non_null(strstr(text, "\"by\": \"thread\", \"rows\": [\n  {\"self\": 40, \"total\": 40, "
				     "\"self_samples\": 4, \"total_samples\": 4, \"pid\": 20, \"tid\": 20, "
				     "\"thread\": \"server\", \"comm\": \"server\", \"exe\": \"\", "
				     "\"container\": \"abcdef\"}]}\n"));
	text = print(batch, (struct ep_report){.json = true, .by = EP_TALLY_MODULE}, 0);
	assert_non_null(strstr(text, "\"module\": \"/usr/bin/program\"}"));
	assert_non_null(strstr(text, "\"kind\": \"toy\"}"));
}

EP_TEST(json_strings_are_escaped)
{
	FILE *out = ep_test_print();

	ep_json_put_string(out, "a\"b\\c\n\x7f\xc3\xa4\xff</script>");
	assert_string_equal(ep_test_printed(out), "\"a\\\"b\\\\c\\u000a\\u007f\xc3\xa4\\ufffd</script>\"");
}

/* --- hostile names --- */

EP_TEST(names_do_not_drive_the_terminal)
{
	static const struct {
		const char *name, *shown;
	} rows[] = {
		{"\x1b[31mred", "?[31mred"},
		{"a\r\nb", "a??b"},
		{"\xe2\x80\xae" "evil", "?evil"},	 /* U+202E, right-to-left override */
		{"\xd8\x9c\xe2\x81\xa6x", "??x"}, /* U+061C, U+2066 */
		{"\xe2\x80\xa8line", "?line"},	 /* U+2028 */
		{"\xe2\x82\xac", "\xe2\x82\xac"},
		{"\xc2\x9b" "1m", "?1m"},		 /* CSI */
	};
	char buf[EP_TEXT_BYTES];

	for (size_t i = 0; i < EP_LEN(rows); i++)
		assert_string_equal(ep_text_fit(rows[i].name, 40, buf), rows[i].shown);
}

EP_TEST(long_names_are_cut)
{
	static char name[1 << 20];
	const struct made_frame frame = {"native", {{name, .line = 1}}};
	struct ep_batch *batch;

	memset(name, 'n', sizeof(name) - 1);
	batch = make_batch(NULL, &(struct made_sample){.count = 1, .weight = 1, .stack = {&frame}}, 1);
	for (int what = EP_REPORT_TABLE; what <= EP_REPORT_LIST; what++) {
		char *text = print(batch, (struct ep_report){.what = (enum ep_report_what)what, .function = "n",
							     .width = 80}, 0);

		for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
			assert_true(strcspn(line, "\n") <= 300);
		}
}
