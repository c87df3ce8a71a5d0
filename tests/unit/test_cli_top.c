/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/args.h"
#include "reports/commands/parts/top_view.h"
#include "tests/unit/profile_batch.h"

/* "hot" 60 ms itself, called by "main"; "evil" 40 ms, in a thread of another process. */
static struct ep_batch *new_batch(void)
{
	static const struct ep_profile_header header = {.start_ns = 1000, .duration_ns = 100000000, .n_cpus = 2,
							.sample_type = "cpu", .weight_unit = "nanoseconds"};
	static const struct made_frame hot = {"native", {{"hot", .line = 1}}}, root = {"native", {{"main", .line = 2}}};
	static const struct made_frame evil = {"toyscript", {{"evil\033[2J", .line = 3}}};
	static const struct made_process one = {1, 10, "app", "/usr/bin/app"}, two = {2, 11, "other", NULL, "8f1d"};
	static const struct made_sample samples[] = {
		{&one, 10, 0, 6, 60000000, NULL, NULL, {&hot, &root}},
		{&two, 12, 0, 4, 40000000, "worker", NULL, {&evil}},
	};

	return make_batch(&header, samples, EP_LEN(samples));
}

static char *draw(struct ep_top_view *view, const struct ep_batch *batch, unsigned int rows, unsigned int columns)
{
	struct ep_top_second seconds[2] = {0};
	struct ep_top_data data = {
		.seconds = seconds,
		.n_seconds = 2,
		.progress = {.passed_ns = 7000000000, .samples = 10, .complete = 10, .due = 20},
	};
	FILE *out = ep_test_print();

	/* Two seconds that are alike. */
	assert_int_equal(ep_top_view_count(view, batch, &seconds[0]), 0);
	assert_int_equal(ep_top_view_count(view, batch, &seconds[1]), 0);
	assert_int_equal(ep_top_view_draw(view, &data, rows, columns, out), 0);
	ep_top_second_fini(&seconds[0]);
	ep_top_second_fini(&seconds[1]);
	return ep_test_printed(out);
}

static enum ep_top_action type(struct ep_top_view *view, const char *keys)
{
	enum ep_top_action action = EP_TOP_NOTHING;

	for (; *keys; keys++)
		action = ep_top_view_key(view, *keys);
	return action;
}

EP_TEST(a_table_is_text_where_there_is_no_terminal)
{
	struct ep_batch *batch = new_batch();
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;
	const char *text;

	assert_int_equal(ep_top_view_init(&view), 0);
	text = draw(&view, batch, 0, 0);
	assert_string_equal(text, "ebpf-profiler top: 7 s, 10 samples, 100.00 % complete, 0.00 % lost\n"
				  "0 s: 0.20 s of CPU time, 50 % of 2 CPUs\n"
				  "by function\n"
				  "    self     total  function, by self\n"
				  " 60.00 %   60.00 %  hot\n"
				  " 40.00 %   40.00 %  evil?[2J\n"
				  "  0.00 %   60.00 %  main\n"
				  "\n");
}

/* In one second and in the next: a name is distinguished from when two functions have it. */
EP_TEST(functions_of_one_name_are_told_apart)
{
	static const struct ep_profile_header header = {.start_ns = 1000,
							.duration_ns = 100000000,
							.sample_type = "cpu",
							.weight_unit = "nanoseconds"};
	static const struct made_frame a = {
		"toyscript", {{"search", .file = "/srv/a.toy", .start_line = 12, .line = 13}}};
	static const struct made_frame b = {
		"toyscript", {{"search", .file = "/srv/b.toy", .start_line = 3, .line = 4}}};
	static const struct made_process one = {1, 10, "app", "/usr/bin/app"};
	static const struct made_sample samples[] = {
		{&one, 10, 0, 6, 60000000, NULL, NULL, {&a}},
		{&one, 10, 0, 4, 40000000, NULL, NULL, {&b}},
	};
	struct ep_batch *both = make_batch(&header, samples, 2),
			*alone = make_batch(&header, samples, 1);
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;

	assert_int_equal(ep_top_view_init(&view), 0);
	assert_non_null(strstr(draw(&view, alone, 0, 0), "100.00 %  100.00 %  search\n"));
	assert_non_null(strstr(draw(&view, both, 0, 0), " 60.00 %   60.00 %  search (a.toy:12)\n"
						       " 40.00 %   40.00 %  search (b.toy:3)\n"));
	assert_non_null(
		strstr(draw(&view, alone, 0, 0), "100.00 %  100.00 %  search (a.toy:12)\n"));
}

EP_TEST(what_shows_as_nothing_is_not_listed)
{
	static const uint64_t weights[] = {100000000, 4000};
	struct ep_batch *batch = new_batch();
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;
	struct ep_batch light = *batch;
	const char *text;

	light.sample_weight_ns = weights;
	assert_int_equal(ep_top_view_init(&view), 0);
	text = draw(&view, &light, 0, 0);
	assert_non_null(strstr(text, "  0.00 %  100.00 %  main\n"));
	assert_null(strstr(text, "evil"));
}

EP_TEST(keys_sort_and_group)
{
	struct ep_batch *batch = new_batch();
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;
	static const struct {
		const char *keys, *shows;
	} cases[] = {
		{"s", " 60.00 %   60.00 %  hot\n  0.00 %   60.00 %  main\n 40.00 %"},
		{"g", " 60.00 %  app               /usr/bin/app\n 40.00 %  other"},
		{"g", " 60.00 %        10  app               /usr/bin/app\n 40.00 %        11  other"},
		{"g", " 40.00 %        12  worker            of 11 other\n"},
		{"g", "100.00 %  [unknown]\n"}, /* nobody says whose they are */
		{"g", "100.00 %  [unknown]\n"},
		{"g", " 60.00 %  [none]\n 40.00 %  8f1d\n"},
		{"g", " 60.00 %   60.00 %  native\n 40.00 %   40.00 %  toyscript\n"},
		{"gs", "function, by self\n"},
		{"h", "q, Ctrl-C  quit\n"},
	};

	assert_int_equal(ep_top_view_init(&view), 0);
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		const char *text;

		assert_true(type(&view, cases[i].keys) != EP_TOP_NOTHING);
		text = draw(&view, batch, 0, 0);
		if (!strstr(text, cases[i].shows))
			print_message("%s", text);
		assert_non_null(strstr(text, cases[i].shows));
	}
	assert_int_equal(type(&view, "w"), EP_TOP_WRITE);
	assert_int_equal(type(&view, " "), EP_TOP_COUNT);
	assert_true(view.frozen);
	assert_int_equal(type(&view, "q"), EP_TOP_QUIT);
	assert_int_equal(type(&view, "~"), EP_TOP_NOTHING);
}

EP_TEST(a_regular_expression_is_typed_and_checked)
{
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;
	char huge[1000];

	assert_int_equal(ep_top_view_init(&view), 0);
	assert_int_equal(type(&view, "/^hoz\x7ft$\r"), EP_TOP_COUNT);
	assert_string_equal(view.regex, "^hot$");
	assert_non_null(view.filter);
	assert_int_equal(type(&view, "f(\r"), EP_TOP_DRAW); /* wrong: the one before stays */
	assert_string_equal(view.regex, "^hot$");
	assert_true(view.message[0] != '\0');
	assert_int_equal(type(&view, "fq"), EP_TOP_DRAW); /* a letter, no command */
	assert_true(view.editing);
	assert_int_equal(type(&view, "\033"), EP_TOP_DRAW);
	assert_false(view.editing);
	assert_string_equal(view.regex, "^hot$");
	view.escape = 0;
	assert_int_equal(type(&view, "f\x7f\x7f\x7f\x7f\x7f\r"), EP_TOP_COUNT);
	assert_null(view.filter);
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	(void)type(&view, "f");
	(void)type(&view, huge);
	assert_int_equal(strlen(view.typed), EP_TOP_REGEX_BYTES - 1);
}

/* Arrows, mice and function keys are sent as sequences with letters in them. */
EP_TEST(escape_sequences_are_no_commands)
{
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;

	assert_int_equal(ep_top_view_init(&view), 0);
	assert_int_equal(type(&view, "\033[A"), EP_TOP_DRAW);
	assert_int_equal(type(&view, "\033[1;5s"), EP_TOP_DRAW);
	assert_int_equal(type(&view, "\033Oq"), EP_TOP_DRAW);
	assert_false(view.by_total);
	assert_int_equal(type(&view, "s"), EP_TOP_DRAW);
	assert_true(view.by_total);
}

/* Exactly as many lines as there are, none wider; names cannot move the cursor. */
EP_TEST(a_screen_is_filled_and_not_left)
{
	struct ep_batch *batch = new_batch();
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;

	assert_int_equal(ep_top_view_init(&view), 0);
	for (unsigned int rows = 6; rows < 40; rows += 11) {
		const char *text = draw(&view, batch, rows, 80);
		unsigned int lines = 0, width = 0;

		assert_int_equal(strncmp(text, "\033[H", 3), 0);
		for (const char *pos = text + 3; *pos; pos++) {
			if (strncmp(pos, "\033[K", 3) == 0) {
				pos += 2;
				continue;
			}
			assert_true(*pos != '\033');
			if (*pos == '\n') {
				lines++;
				width = 0;
			} else if (*pos != '\r') {
				assert_true(++width <= 80);
			}
		}
		assert_int_equal(lines, rows - 1);
	}
}

EP_TEST(a_filter_leaves_its_share)
{
	struct ep_batch *batch = new_batch();
	ep_cleanup(ep_top_view_fini) struct ep_top_view view;
	const char *text;

	assert_int_equal(ep_top_view_init(&view), 0);
	assert_int_equal(type(&view, "/^main$\r"), EP_TOP_COUNT);
	text = draw(&view, batch, 0, 0);
	assert_non_null(strstr(text, "by function; only stacks with /^main$/: 60.00 %\n"));
	assert_non_null(strstr(text, " 60.00 %   60.00 %  hot\n  0.00 %   60.00 %  main\n\n"));
}

EP_TEST(its_command_line_is_that_of_record)
{
	static char *argv[] = {(char *)"ebpf-profiler", (char *)"top", (char *)"-F", (char *)"199", (char *)"-d",
			       (char *)"5", (char *)"--", (char *)"make", (char *)"-j", NULL};
	static const struct ep_command commands[] = {{.syntax = &ep_agent_syntax}, {.syntax = &ep_top_syntax}, {0}};
	static const struct ep_command *const tables[] = {commands, NULL};
	static struct ep_args args;

	assert_int_equal(ep_args_parse(9, argv, tables, &args), 0);
	assert_ptr_equal(args.command->syntax, &ep_top_syntax);
	assert_int_equal(args.freq_hz, 199);
	assert_string_equal(args.child_argv[1], "-j");
}
