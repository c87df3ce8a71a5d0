/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/diff_args.h"
#include "reports/commands/parts/diff_print.h"
#include "tests/unit/profile_batch.h"

#include <errno.h>

static int parse(struct ep_diff_args *args, const char *const *words, size_t n)
{
	static char *argv[16]; /* files are a part of it */

	for (size_t i = 0; i < n; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	argv[n] = NULL;
	return ep_diff_args_parse(args, (int)n, argv);
}

EP_TEST(two_files_are_before_and_after)
{
	static const char *const words[] = {"diff", "--absolute", "a.pb.gz", "-n", "3", "b.html", "-o", "d.html",
					    "--fail-above", "2.5%"};
	ep_cleanup(ep_diff_args_fini) struct ep_diff_args args;

	assert_int_equal(parse(&args, words, EP_LEN(words)), 0);
	assert_int_equal(args.n_bases, 1);
	assert_string_equal(args.bases[0], "a.pb.gz");
	assert_string_equal(args.view.files[args.others_at], "b.html");
	assert_int_equal(args.view.n_files - args.others_at, 1);
	assert_int_equal(args.amount, EP_MOVERS_PER_SECOND);
	assert_int_equal(args.rows, 3);
	assert_string_equal(args.outputs.list[0].path, "d.html");
	assert_float_equal(args.fail_above, 2.5, 1e-9);
}

EP_TEST(bases_can_be_repeated)
{
	static const char *const words[] = {"diff", "--base", "a1", "b1", "--base", "a2", "b2", "b3"};
	ep_cleanup(ep_diff_args_fini) struct ep_diff_args args;

	assert_int_equal(parse(&args, words, EP_LEN(words)), 0);
	assert_int_equal(args.n_bases, 2);
	assert_int_equal(args.others_at, 0);
	assert_int_equal(args.view.n_files, 3);
	assert_true(args.fail_above < 0);
}

EP_TEST(what_is_wrong_is_said_in_one_sentence)
{
	static const struct {
		const char *words[6];
		const char *says;
	} cases[] = {
		{{"diff", NULL}, "diff takes two profiles: ebpf-profiler diff BEFORE AFTER"},
		{{"diff", "a", NULL}, "diff takes two profiles: ebpf-profiler diff BEFORE AFTER"},
		{{"diff", "a", "b", "c", NULL}, "which are the earlier ones"},
		{{"diff", "--base", "a", NULL}, "nothing to compare with a"},
		{{"diff", "a", "b", "-o", "x.pb.gz", NULL}, "name it like -o diff.html"},
		{{"diff", "a", "b", "--fail-above", "x", NULL}, "like 5 or 0.5, not 'x'"},
		{{"diff", "a", "b", "--fail-above", "-1", NULL}, "like 5 or 0.5, not '-1'"},
		{{"diff", "a", "b", "-n", "many", NULL}, "not 'many'"},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		ep_cleanup(ep_diff_args_fini) struct ep_diff_args args;
		size_t n = 0;

		while (n < EP_LEN(cases[i].words) && cases[i].words[n])
			n++;
		assert_int_equal(parse(&args, cases[i].words, n), -EINVAL);
		if (!strstr(args.view.error, cases[i].says))
			print_message("%s\n", args.view.error);
		assert_non_null(strstr(args.view.error, cases[i].says));
	}
}

struct share {
	const char *name;
	uint32_t count;
};

/* Each a leaf called by main; of 10 ms a sample. */
static struct ep_batch *batch_of(const struct share *shares, size_t n)
{
	static const struct ep_profile_header header = {
		.start_ns = 1000, .duration_ns = 100000000000, .sample_type = "cpu", .weight_unit = "nanoseconds"};
	static const struct made_frame root = {"native", {{"main", .line = 2}}};
	struct ep_profile_builder *builder = begin_profile();

	assert_int_equal(ep_profile_add_header(builder, &header), 0);
	for (size_t i = 0; i < n; i++) {
		const struct made_frame leaf = {"native", {{shares[i].name, .line = 1}}};

		add_made(builder, &(struct made_sample){.count = shares[i].count,
							.weight = shares[i].count * 10000000ull,
							.stack = {&leaf, &root}});
	}
	return finish_profile(builder);
}

static struct ep_movers *movers_of(const struct share *a, size_t n_a, const struct share *b, size_t n_b, bool absolute)
{
	struct ep_movers_options options = {.amount = absolute ? EP_MOVERS_PER_SECOND
							       : EP_MOVERS_SHARE};
	struct ep_movers *movers = NULL;

	assert_int_equal(ep_movers_new(&options, &movers), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_A, batch_of(a, n_a)), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_B, batch_of(b, n_b)), 0);
	assert_int_equal(ep_movers_compare(movers), 0);
	return movers;
}

/* The least change of one side like the other, of leaves below so many callers that all stacks
 * have. */
static double least_below(size_t n_callers)
{
	static const struct made_frame leaf[] = {{"native", {{"hot", .line = 1}}},
						 {"native", {{"cold", .line = 1}}}};
	static const struct made_frame callers[] = {{"native", {{"run", .line = 1}}},
						    {"native", {{"loop", .line = 1}}},
						    {"native", {{"main", .line = 1}}},
						    {"native", {{"start", .line = 1}}}};
	static const struct ep_profile_header header = {.sample_type = "cpu",
							.weight_unit = "nanoseconds"};
	struct ep_movers_options options = {.amount = EP_MOVERS_TOTAL};
	ep_cleanup(ep_movers_freep) struct ep_movers *movers = NULL;

	assert_int_equal(ep_movers_new(&options, &movers), 0);
	for (int side = 0; side < EP_MOVERS_SIDES; side++) {
		struct ep_profile_builder *builder = begin_profile();

		assert_int_equal(ep_profile_add_header(builder, &header), 0);
		for (size_t i = 0; i < EP_LEN(leaf); i++) {
			struct made_sample sample = {
				.count = 1000, .weight = 1000, .stack = {&leaf[i]}};

			for (size_t k = 0; k < n_callers; k++)
				sample.stack[k + 1] = &callers[k];
			add_made(builder, &sample);
		}
		assert_int_equal(
			ep_movers_add(movers, (enum ep_movers_side)side, finish_profile(builder)),
			0);
	}
	assert_int_equal(ep_movers_compare(movers), 0);
	return ep_movers_least_change(movers, 0.1);
}

EP_TEST(functions_of_the_same_stacks_are_one_comparison)
{
	assert_true(least_below(1) > least_below(0));
	assert_float_equal(least_below(4), least_below(1), 1e-9);
}

static char *print(struct ep_movers *movers, bool json, bool absolute)
{
	struct ep_diff_print how = {.title_a = "a",
				    .title_b = "b\"",
				    .amount = absolute ? EP_MOVERS_PER_SECOND : EP_MOVERS_SHARE,
				    .rows = 15};
	FILE *out = ep_test_print();

	if (json)
		ep_diff_print_json(out, movers, &how);
	else
		ep_diff_print_text(out, movers, &how);
	return ep_test_printed(out);
}

static const struct share before[] = {{"hot", 2000}, {"cold", 7800}, {"old", 200}};
static const struct share after[] = {{"hot", 3000}, {"cold", 6800}, {"new\033[2J", 200}};

EP_TEST(movers_are_a_table)
{
	ep_cleanup(ep_movers_freep) struct ep_movers *movers =
		movers_of(before, EP_LEN(before), after, EP_LEN(after), false);
	const char *text = print(movers, false, false), *json = print(movers, true, false);
	double low;

	assert_non_null(strstr(text, "A: a: 10000 samples in 100.0 s, 100.00 s of CPU time\n"));
	assert_non_null(strstr(text, "4 of 5 functions differ by more than chance explains"));
	assert_non_null(strstr(text, "   20.00 %   30.00 %   +10.00  ("));
	assert_non_null(strstr(text, "  hot\n"));
	assert_non_null(strstr(text, "functions that only B has, with what they call\n    0.00 %    2.00 %    +2.00  ("));
	assert_non_null(strstr(text, "  new?[2J\n"));
	assert_non_null(strstr(text, "functions that only A has"));
	assert_null(strstr(text, "main"));
	assert_non_null(strstr(json, "\"profile\": \"b\\\"\""));
	assert_non_null(strstr(json, "\"function\": \"new?[2J\", \"fate\": \"new\""));
	assert_string_equal(ep_diff_worst(movers, false, 0, &low)->name, "hot");
	assert_true(low > 7 && low < 10);
	assert_non_null(ep_diff_worst(movers, false, 7, &low));
	assert_null(ep_diff_worst(movers, false, 10, &low));
}

EP_TEST(absolute_amounts_are_in_per_cent_of_a_cpu)
{
	ep_cleanup(ep_movers_freep) struct ep_movers *movers =
		movers_of(before, EP_LEN(before), after, EP_LEN(after), true);
	const char *text = print(movers, false, true);
	double low;

	assert_non_null(strstr(text, "CPU time per second of recording: 100 % is one CPU\n"));
	assert_non_null(strstr(text, "   20.00 %   30.00 %   +10.00  ("));
	assert_non_null(ep_diff_worst(movers, true, 5, &low));
}

EP_TEST(a_mover_that_shows_as_nothing_is_not_listed)
{
	static const struct share one[] = {{"hot", 1000000}}, more[] = {{"hot", 1000000}, {"tiny", 45}};
	ep_cleanup(ep_movers_freep) struct ep_movers *movers = movers_of(one, 1, more, 2, false);
	const char *text = print(movers, false, false);

	assert_non_null(strstr(text, " of 3 functions differ"));
	assert_null(strstr(text, "tiny"));
	assert_non_null(strstr(text, "  and 1 more (-n 0 for all)\n"));
}

EP_TEST(no_difference_is_said)
{
	ep_cleanup(ep_movers_freep) struct ep_movers *movers =
		movers_of(before, EP_LEN(before), before, EP_LEN(before), false);
	const char *text = print(movers, false, false), *json = print(movers, true, false);
	double low;

	assert_non_null(strstr(text, "no function of 4 differs by more than chance explains"));
	assert_non_null(strstr(json, "\"movers\": []}\n"));
	assert_null(ep_diff_worst(movers, false, 0, &low));
}
