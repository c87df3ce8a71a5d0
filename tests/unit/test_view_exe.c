/* SPDX-License-Identifier: Apache-2.0 */
/* --exe of the commands that read profiles, and what is reported where --comm finds nothing. */
#include "reports/view/filter.h"
#include "tests/unit/view_batch.h"

EP_TEST_RELEASES(ep_batch_unref)
EP_TEST_RELEASES(ep_view_filter_free)

/* node under the name of its main thread, weight 1; sh, weight 2; and one whose file is not known, weight 4. */
static struct ep_batch *programs(bool has_files)
{
	static const struct {
		uint32_t pid;
		const char *comm, *exe;
		uint64_t weight;
	} rows[] = {{10, "Main\033Thread", "/opt/node/bin/node", 1}, {20, "sh", "/usr/bin/dash", 2}, {30, "x", "", 4}};
	const struct ep_profile_header header = {.sample_type = "cpu", .weight_unit = "nanoseconds"};
	struct ep_profile_builder *builder;
	struct ep_batch *batch = NULL;

	assert_int_equal(ep_profile_builder_new(&builder), 0);
	assert_int_equal(ep_profile_add_header(builder, &header), 0);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		uint32_t location = location_named(builder, "native", "f", 1);
		struct ep_profile_process process = {.pid = rows[i].pid, .comm = string_of(builder, rows[i].comm),
						     .exe_path = string_of(builder, has_files ? rows[i].exe : "")};
		struct ep_profile_sample sample = {.stack = stack_of(builder, &location, 1), .count = 1,
						   .weight = rows[i].weight};

		assert_int_equal(ep_profile_add_process(builder, &process, &sample.process), 0);
		assert_int_equal(ep_profile_add_sample(builder, &sample), 0);
	}
	assert_int_equal(ep_profile_finish(builder, &batch), 0);
	ep_profile_builder_free(builder);
	ep_test_owns(batch, ep_batch_unref_made);
	return batch;
}

static struct ep_view_filter *filter_of(enum ep_view_key key, const char *value)
{
	struct ep_view_filter *filter;
	char why[EP_VIEW_WHY_BYTES];

	assert_int_equal(ep_view_filter_new(&filter), 0);
	ep_test_owns(filter, ep_view_filter_free_made);
	assert_int_equal(ep_view_filter_add(filter, key, value, why), 0);
	return filter;
}

static uint64_t weight_of(enum ep_view_key key, const char *value)
{
	struct ep_batch *result = NULL;
	char why[EP_VIEW_WHY_BYTES] = "";

	assert_int_equal(ep_view_filter_apply(filter_of(key, value), programs(true), &result, why), 0);
	ep_test_owns(result, ep_batch_unref_made);
	return weight_in(result);
}

EP_TEST(a_file_is_chosen_by_its_name_or_path)
{
	static const struct {
		const char *value;
		uint64_t weight;
	} rows[] = {
		{"node", 1}, {"nod?", 1}, {"/opt/*", 1}, {"/opt/node/bin/node", 1}, {"*/node", 1}, {"bin/node", 0},
		{"MainThread", 0}, {"!node", 6}, {"dash", 2}, {"*", 7},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		if (weight_of(EP_VIEW_EXE, rows[i].value) != rows[i].weight)
			fail_msg("--exe %s", rows[i].value);
	}
}

EP_TEST(an_exe_must_be_one)
{
	struct ep_view_filter *filter = filter_of(EP_VIEW_COMM, "x");
	char why[EP_VIEW_WHY_BYTES];

	assert_int_equal(ep_view_filter_add(filter, EP_VIEW_EXE, "", why), -EINVAL);
	assert_string_equal(why, "takes a file, like python3 or '/opt/*', not ''");
}

static void explained(enum ep_view_key key, const char *value, bool has_files, const char *text)
{
	char why[EP_VIEW_WHY_BYTES] = "";

	assert_int_equal(ep_view_filter_explain(filter_of(key, value), programs(has_files), why), *text != '\0');
	assert_string_equal(why, text);
}

EP_TEST(a_name_that_is_the_files_is_explained)
{
	explained(EP_VIEW_COMM, "node", true, "process 10 runs node and is named 'Main?Thread': choose by file, --exe node");
	explained(EP_VIEW_COMM, "dash", true, "process 20 runs dash and is named 'sh': choose by file, --exe dash");
	explained(EP_VIEW_COMM, "sh", true, "");
	explained(EP_VIEW_COMM, "!node", true, "");
	explained(EP_VIEW_COMM, "node", false, "");
	explained(EP_VIEW_EXE, "cat", true, "");
	explained(EP_VIEW_EXE, "node", false,
		  "--exe needs the file of each process, which .otlp.gz and .html files keep and this one does not: "
		  "choose by --comm");
}
