/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view/find.h"
#include "reports/view/group.h"
#include "reports/view/quality.h"
#include "reports/view/tally.h"
#include "reports/view/tree.h"
#include "tests/unit/view_batch.h"

struct expected {
	const char *name;
	uint32_t number; /* as in struct ep_tally_row; 0: whatever it is */
	uint64_t self, total;
};

static const struct tally_case {
	const char *label;
	enum ep_tally_by by;
	struct expected rows[8];
} tally_cases[] = {
	{"functions count once, however often they are in a stack", EP_TALLY_FUNCTION,
	 {{"parse", 0, 30, 30}, {"sys_write", 0, 30, 30}, {"spin", 0, 20, 40}, {"inlined", 0, 20, 20}, {"main", 0, 0, 100},
	  {"write", 0, 0, 30}}},
	{"lines have their own time and that of calls", EP_TALLY_LINE,
	 {{"parse", 7, 30, 30}, {"sys_write", 0, 30, 30}, {"spin", 9, 20, 40}, {"inlined", 5, 20, 20}, {"main", 3, 0, 100},
	  {"spin", 12, 0, 40}, {"write", 2, 0, 30}}},
	{"modules are paths, or kinds of what has none", EP_TALLY_MODULE,
	 {{"/usr/bin/program", 1, 40, 100}, {"kernel", 0, 30, 30}, {"toy", 0, 30, 30}}},
	{"kinds", EP_TALLY_KIND, {{"native", 0, 40, 100}, {"kernel", 0, 30, 30}, {"toy", 0, 30, 30}}},
	{"processes", EP_TALLY_PROCESS, {{"server", 0, 40, 40}, {"cat", 0, 30, 30}, {"prog-py", 0, 30, 30}}},
	{"threads", EP_TALLY_THREAD, {{"server", 20, 40, 40}, {"cat", 30, 30, 30}, {"worker-1", 11, 30, 30}}},
	{"containers", EP_TALLY_CONTAINER, {{"", 0, 60, 60}, {"abcdef", 0, 40, 40}}},
	{"programs, which have no path here", EP_TALLY_PROGRAM,
	 {{"server", 0, 40, 40}, {"cat", 0, 30, 30}, {"prog-py", 0, 30, 30}}},
	{"names of processes", EP_TALLY_COMM,
	 {{"server", 0, 40, 40}, {"cat", 0, 30, 30}, {"prog-py", 0, 30, 30}}},
	{"users", EP_TALLY_USER, {{"root", 0, 60, 60}, {"www", 0, 40, 40}}},
	{"units", EP_TALLY_UNIT, {{"", 0, 60, 60}, {"web.service", 0, 40, 40}}},
	{"CPUs", EP_TALLY_CPU, {{"", 2, 40, 40}, {"", 1, 30, 30}, {"", 3, 30, 30}}},
};

EP_TEST_EACH(samples_are_tallied, size_t, i, EP_LEN(tally_cases))
{
	const struct expected *expected = tally_cases[i].rows;
	struct ep_batch *batch = view_batch(true);
	const struct ep_tally_row *row;
	struct ep_tally tally;

	print_message("%s\n", tally_cases[i].label);
	assert_int_equal(ep_tally_make(batch, tally_cases[i].by, &tally), 0);
	assert_int_equal(tally.weight, 100);
	assert_int_equal(tally.samples, 10);
	ep_vec_each (&tally.rows, row) {
		assert_non_null(expected->name);
		assert_string_equal(text_in(batch, row->name), expected->name);
		if (expected->number)
			assert_int_equal(row->number, expected->number);
		assert_int_equal(row->self, expected->self);
		assert_int_equal(row->total, expected->total);
		assert_int_equal(row->self_samples, expected->self / 10);
		assert_int_equal(row->total_samples, expected->total / 10);
		expected++;
	}
	assert_null(expected->name);
	ep_tally_fini(&tally);
}

EP_TEST(a_function_says_where_it_is)
{
	struct ep_batch *batch = view_batch(false);
	struct ep_tally tally;
	const struct ep_tally_row *row;

	assert_int_equal(ep_tally_make(batch, EP_TALLY_FUNCTION, &tally), 0);
	ep_vec_each(&tally.rows, row) {
		const char *name = text_in(batch, row->name);

		if (strcmp(name, "parse") == 0) {
			assert_int_equal(row->mapping, 0);
			assert_string_equal(text_in(batch, row->file), "a.toy");
		}
		if (strcmp(name, "spin") == 0)
			assert_int_equal(row->mapping, 1);
	}
	ep_tally_fini(&tally);
}

EP_TEST(tallies_are_known_by_name)
{
	enum ep_tally_by by;

	for (int i = 0; i < EP_TALLY_COUNT; i++) {
		assert_int_equal(ep_tally_parse_by(ep_tally_by_name((enum ep_tally_by)i), &by), 0);
		assert_int_equal(by, i);
	}
	assert_int_equal(ep_tally_parse_by("functions", &by), -EINVAL);
}

/* --- groups --- */

/* A batch whose functions are users: one frame for each sample, and what else it has. */
EP_TEST(samples_are_grouped_as_if_by_function)
{
	static const struct expected users[] = {{"root", 0, 60, 60}, {"www", 0, 40, 40}};
	struct ep_batch *batch = view_batch(true);
	struct ep_grouped grouped;
	struct ep_tally tally;

	assert_int_equal(ep_group_make(batch, EP_TALLY_USER, &grouped), 0);
	assert_int_equal(ep_tally_make(&grouped.batch, EP_TALLY_FUNCTION, &tally), 0);
	assert_int_equal(tally.rows.len, EP_LEN(users));
	for (size_t i = 0; i < EP_LEN(users); i++) {
		const struct ep_tally_row *row = ep_vec_at(&tally.rows, struct ep_tally_row, i);

		assert_string_equal(text_in(&grouped.batch, row->name), users[i].name);
		assert_int_equal(row->self, users[i].self);
		assert_int_equal(row->total, users[i].total);
	}
	ep_tally_fini(&tally);
	ep_grouped_fini(&grouped);
	assert_true(ep_group_is_possible(EP_TALLY_UNIT));
	assert_false(ep_group_is_possible(EP_TALLY_LINE));
}

/* --- trees --- */

/* "main 100/0 spin 40/0 ...": names with total and self, after each other, "(" and ")" for depth. */
static void draw(const struct ep_tree *tree, uint64_t least, char *text, size_t size)
{
	int depth = -1, last = -1;
	size_t len = 0;

	for (uint32_t node = ep_tree_next(tree, 0, least, &depth); node; node = ep_tree_next(tree, node, least, &depth)) {
		const struct ep_tree_node *at = ep_tree_at(tree, node);

		for (; last >= depth; last--)
			len += (size_t)snprintf(text + len, size - len, ")");
		len += (size_t)snprintf(text + len, size - len, "(%s %" PRIu64 "/%" PRIu64,
					tree->batch->string_text[at->name], at->total, at->self);
		last = depth;
	}
	for (; last >= 0; last--)
		len += (size_t)snprintf(text + len, size - len, ")");
}

EP_TEST(trees_have_the_heaviest_first_and_inlined_functions)
{
	struct ep_batch *batch = view_batch(false);
	struct ep_tree tree;
	char text[512] = "";

	assert_int_equal(ep_tree_make(batch, NULL, &tree), 0);
	draw(&tree, 1, text, sizeof(text));
	assert_string_equal(text, "(main 100/0(spin 40/0(spin 40/20(inlined 20/20)))(parse 30/30)(write 30/0(sys_write 30/30)))");
	text[0] = '\0';
	draw(&tree, 40, text, sizeof(text));
	assert_string_equal(text, "(main 100/0(spin 40/0(spin 40/20)))");
	ep_tree_fini(&tree);
}

EP_TEST(callers_begin_at_the_frame_nearest_to_the_leaf)
{
	struct ep_batch *batch = view_batch(false);
	uint8_t *wanted;
	struct ep_tree tree;
	char text[512] = "";
	size_t n;

	assert_int_equal(ep_view_find_functions(batch, "spin", &wanted, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(ep_tree_make(batch, wanted, &tree), 0);
	draw(&tree, 1, text, sizeof(text));
	assert_string_equal(text, "(spin 40/0(spin 40/0(main 40/40)))");
	free(wanted);
	ep_tree_fini(&tree);
}

/* --- names --- */

static size_t found(const char *const *names, size_t n_names, const char *word)
{
	struct ep_profile_builder *builder = begin_profile();
	uint8_t *wanted;
	size_t n;

	for (size_t i = 0; i < n_names; i++) {
		const struct made_frame frame = {"native", {{names[i], .line = 1}}};

		add_made(builder, &(struct made_sample){.count = 1, .weight = 1, .stack = {&frame}});
	}
	assert_int_equal(ep_view_find_functions(finish_profile(builder), word, &wanted, &n), 0);
	free(wanted);
	return n;
}

EP_TEST(a_function_is_meant_by_its_name_or_the_last_part_of_it)
{
	static const char *const names[] = {"f", "ns::f(int)", "pkg.f", "C#g", "huge", "std::g<int>(int)"};

	assert_int_equal(found(names, EP_LEN(names), "f"), 1);
	assert_int_equal(found(names + 1, EP_LEN(names) - 1, "f"), 2);
	assert_int_equal(found(names, EP_LEN(names), "g"), 2);
	assert_int_equal(found(names, EP_LEN(names), "ns::f"), 1);
	assert_int_equal(found(names, EP_LEN(names), "ug"), 1);
	assert_int_equal(found(names, EP_LEN(names), "nothing"), 0);
	assert_int_equal(found(names, EP_LEN(names), ""), 0);
}

/* --- quality --- */

EP_TEST(quality_is_of_weight_and_says_why)
{
	static const struct made_frame f = {"native", {{"f"}}};
	static const struct made_sample samples[] = {
		{.count = 3, .weight = 30, .stack = {&f}},
		{.count = 1, .weight = 10, .stack = {&f}, .error = 3, .error_text = "no unwind rule",
		 .unnamed = 1, .unnamed_text = "toy: gone"},
	};
	struct ep_batch *batch = make_batch(NULL, samples, EP_LEN(samples));
	const struct ep_quality_reason *reasons;
	struct ep_quality quality;

	assert_int_equal(ep_quality_make(batch, &quality), 0);
	assert_int_equal(quality.weight, 40);
	assert_int_equal(quality.samples, 4);
	assert_int_equal(quality.complete, 30);
	assert_int_equal(quality.named, 30);
	assert_int_equal(quality.errors.len, 1);
	reasons = quality.errors.data;
	assert_string_equal(text_in(batch, reasons[0].text), "no unwind rule");
	reasons = quality.unnamed.data;
	assert_string_equal(text_in(batch, reasons[0].text), "toy: gone");
	ep_quality_fini(&quality);
}
