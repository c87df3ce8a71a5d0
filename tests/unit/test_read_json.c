/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's JSON, by hand after its schema, and what of JSON both readers of it share. */
#include "reports/read/shared/json.h"
#include "tests/unit/read_profile.h"

#define SCHEMA "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\""
#define FRAMES                                                                                     \
	"\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"app.py\",\"line\":3},"               \
	"{\"name\":\"work\"},{\"name\":\"[truncated: out of tail calls]\"},"                       \
	"{\"name\":\"r\\u00e9ad \\ud83d\\ude00\",\"file\":null}]}"
#define FILE_OF(profiles) "{" SCHEMA "," FRAMES ",\"profiles\":[" profiles "]}"
#define SAMPLED(unit, samples, weights)                                                            \
	"{\"type\":\"sampled\",\"name\":\"MainThread\",\"unit\":\"" unit                           \
	"\",\"startValue\":0,\"endValue\":1,\"samples\":" samples ",\"weights\":" weights "}"
#define EVENTED(unit, events)                                                                      \
	"{\"type\":\"evented\",\"name\":\"loop\",\"unit\":\"" unit                                 \
	"\",\"startValue\":0,\"endValue\":10,\"events\":[" events "]}"
#define OPEN(frame, at)	 "{\"type\":\"O\",\"frame\":" #frame ",\"at\":" #at "}"
#define CLOSE(frame, at) "{\"type\":\"C\",\"frame\":" #frame ",\"at\":" #at "}"

static uint64_t weight_of_leaf(const struct ep_batch *batch, const char *name)
{
	return batch->sample_weight_ns[sample_with_leaf(batch, name)];
}

EP_TEST(sampled_profiles_are_read)
{
	struct ep_batch *batch = batch_of_text(
		FILE_OF(SAMPLED("seconds", "[[0,1],[0],[0,1],[]]", "[0.01,0.01,1e-2,5]")));
	uint32_t sample = sample_with_leaf(batch, "work");
	uint32_t line = line_in(batch, sample, 1, 0);

	assert_string_equal(batch->weight_unit, "nanoseconds");
	assert_int_equal(batch->n_samples, 2);
	assert_int_equal(batch->sample_count[sample], 2);
	assert_int_equal(batch->sample_weight_ns[sample], 20000000);
	assert_int_equal(weight_in(batch), 30000000);
	assert_int_equal(depth_in(batch, sample), 2);
	assert_string_equal(name_in(batch, sample, 1, 0), "main");
	assert_string_equal(kind_in(batch, sample, 1), "cpython");
	assert_int_equal(batch->line_line[line], 3);
	assert_string_equal(text_in(batch, batch->sample_thread_name[sample]), "MainThread");
}

/* main from 1 to 9, work in it from 2 to 5 and from 5 to 6: its stretches are one row. */
EP_TEST(evented_profiles_are_read)
{
	struct ep_batch *batch = batch_of_text(
		FILE_OF(EVENTED("microseconds", OPEN(0, 1) "," OPEN(1, 2) "," CLOSE(1, 5) "," OPEN(
							1, 5) "," CLOSE(1, 6) "," CLOSE(0, 9.5))));

	assert_int_equal(batch->n_samples, 2);
	assert_int_equal(weight_of_leaf(batch, "main"), 1000 + 3500);
	assert_int_equal(weight_of_leaf(batch, "work"), 4000);
	assert_int_equal(batch->sample_count[sample_with_leaf(batch, "work")], 2);
	assert_int_equal(depth_in(batch, sample_with_leaf(batch, "work")), 2);
}

EP_TEST(time_without_a_frame_is_no_sample)
{
	struct ep_batch *batch = batch_of_text(FILE_OF(
		EVENTED("none", OPEN(0, 1) "," CLOSE(0, 2) "," OPEN(1, 5) "," CLOSE(1, 6))));

	assert_int_equal(batch->n_samples, 2);
	assert_int_equal(weight_in(batch), 2);
}

/* As an exporter leaves it that was stopped. */
EP_TEST(the_end_of_a_profile_ends_what_is_open)
{
	struct ep_batch *batch = batch_of_text(FILE_OF(EVENTED("nanoseconds", OPEN(0, 4))));

	assert_int_equal(weight_in(batch), 6);
}

EP_TEST(units_are_what_they_say)
{
	static const struct {
		const char *text, *unit;
		uint64_t weight, count;
	} rows[] = {
		{FILE_OF(SAMPLED("none", "[[0]]", "[7]")), "count", 7, 7},
		{FILE_OF(SAMPLED("none", "[[0]]", "[2.5]")), "1/1000000 count", 2500000, 3},
		{FILE_OF(SAMPLED("nanoseconds", "[[0]]", "[7]")), "nanoseconds", 7, 1},
		{FILE_OF(SAMPLED("microseconds", "[[0]]", "[7.25]")), "nanoseconds", 7250, 1},
		{FILE_OF(SAMPLED("milliseconds", "[[0]]", "[7]")), "nanoseconds", 7000000, 1},
		{FILE_OF(SAMPLED("seconds", "[[0]]", "[9.999999999999787e-3]")), "nanoseconds",
		 10000000, 1},
		{FILE_OF(SAMPLED("bytes", "[[0]]", "[4096]")), "bytes", 4096, 1},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_batch *batch = batch_of_text(rows[i].text);

		assert_string_equal(batch->weight_unit, rows[i].unit);
		assert_int_equal(batch->sample_weight_ns[0], rows[i].weight);
		assert_int_equal(batch->sample_count[0], rows[i].count);
	}
}

/* Times add up, whatever their unit; what counts something else than the profile that is shown
 * first is left out. */
EP_TEST(profiles_of_one_measure_are_one_file)
{
	struct ep_batch *batch = batch_of_text(
		FILE_OF(SAMPLED("bytes", "[[0]]", "[1]") "," SAMPLED("seconds", "[[0]]", "[1]")));

	assert_string_equal(batch->weight_unit, "bytes");
	batch = batch_of_text("{" SCHEMA ",\"activeProfileIndex\":1,\"profiles\":[" SAMPLED(
		"bytes", "[[0]]",
		"[1]") "," SAMPLED("seconds", "[[0]]",
				   "[1]") "," EVENTED("milliseconds", OPEN(1, 0)) "]," FRAMES "}");
	assert_string_equal(batch->weight_unit, "nanoseconds");
	assert_int_equal(weight_in(batch), 1010000000);
	assert_string_equal(
		text_in(batch, batch->sample_thread_name[sample_with_leaf(batch, "work")]), "loop");
}

EP_TEST(texts_are_decoded)
{
	struct ep_batch *batch =
		batch_of_text("\xef\xbb\xbf " FILE_OF(SAMPLED("none", "[ [0 , 3] ]", "[1]")));

	assert_string_equal(name_in(batch, 0, 0, 0), "r\xc3\xa9" "ad \xf0\x9f\x98\x80");
}

/* Of our own profile that others turned into speedscope's. */
EP_TEST(what_is_missing_is_said)
{
	struct ep_batch *batch = batch_of_text(FILE_OF(EVENTED("none", OPEN(2, 0) "," OPEN(1, 0))));

	assert_string_equal(kind_in(batch, 0, 1), "error");
	assert_int_not_equal(batch->stack_error[batch->sample_stack[0]], 0);
}

EP_TEST(files_that_are_wrong_are_refused_by_a_sentence)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"{" SCHEMA "}", "it has no frames"},
		{"{" SCHEMA "," FRAMES "}", "it has no profiles"},
		{FILE_OF(""), "no profile in it: record for longer"},
		{FILE_OF("{\"name\":\"x\"}"), "neither events nor samples"},
		{FILE_OF(SAMPLED("hours", "[[0]]", "[1]")), "none of speedscope's"},
		{FILE_OF(SAMPLED("none", "[[9]]", "[1]")), "a frame that is not there"},
		{FILE_OF(SAMPLED("none", "[[-2]]", "[1]")), "no number of a row"},
		{FILE_OF(SAMPLED("none", "[[0],[1]]", "[1]")), "fewer weights"},
		{FILE_OF(SAMPLED("none", "[[0]]", "[1,1]")), "more weights"},
		{FILE_OF(SAMPLED("none", "[[0]]", "[-1]")), "difference of two profiles"},
		{FILE_OF(SAMPLED("none", "[[0]]", "[1e30]")), "larger than any"},
		{FILE_OF(SAMPLED("none", "[[0]]", "[\"1\"]")), "a number is expected"},
		{FILE_OF(EVENTED("none", OPEN(0, 5) "," CLOSE(0, 4))),
		 "before that of the event before"},
		{FILE_OF(EVENTED("none", OPEN(0, 1) "," CLOSE(1, 4))), "not the innermost"},
		{FILE_OF(EVENTED("none", CLOSE(0, 1))), "not the innermost"},
		{FILE_OF(EVENTED("none", "{\"type\":\"O\",\"at\":1}")), "lacks its type"},
		{"{" SCHEMA "," FRAMES ",\"profiles\":[{\"type\":\"sam", "the file was cut off"},
		{"{" SCHEMA ",\"x\":[1}", "another kind of bracket"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++)
		check_refused(rows[i].text, strlen(rows[i].text), rows[i].says);
}

/* Every length that a file can be cut to. */
EP_TEST(a_file_that_is_cut_off_is_refused)
{
	static const char text[] = FILE_OF(SAMPLED("none", "[[0]]", "[1]"));
	struct ep_batch *batch = NULL;

	for (size_t bytes = strlen("{" SCHEMA); bytes < strlen(text); bytes++) {
		assert_int_equal(read_bytes(text, bytes, &batch), -EBADMSG);
		assert_non_null(strstr(read_why, "cut off"));
	}
}

/* A name that begins as JSON does, and JSON of others. */
EP_TEST(what_is_no_profile_of_speedscope_is_left_alone)
{
	struct ep_batch *batch = batch_of_text("{closure};main 3\n{main};work 4\n");

	assert_int_equal(weight_in(batch), 7);
	check_refused("{\"traceEvents\":[]}", strlen("{\"traceEvents\":[]}"), "is JSON");
	check_refused("{\"meta\":{\"version\":30}}", strlen("{\"meta\":{\"version\":30}}"),
		      "is JSON");
}

EP_TEST(firefox_profiles_of_others_are_refused)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"{\"meta\":{\"product\":\"Firefox\",\"preprocessedProfileVersion\":61}}",
		 "another program"},
		{"{\"meta\":{\"product\":\"ebpf-profiler 1\",\"preprocessedProfileVersion\":70}}",
		 "61 is"},
		{"{\"meta\":{\"product\":\"ebpf-profiler 1\",\"preprocessedProfileVersion\":61}}",
		 "no whole file"},
		{"{\"meta\":{\"product\":\"ebpf-profiler 1\",\"preprocessedProfileVersion\":61},\"libs\":[],\"threads\":[],"
		 "\"shared\":{\"stackTable\":{\"frame\":[0],\"prefix\":[null]}}}",
		 "do not fit together"},
		{"{\"meta\":{\"product\":\"ebpf-profiler 1\",\"preprocessedProfileVersion\":61",
		 "cut off"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++)
		check_refused(rows[i].text, strlen(rows[i].text), rows[i].says);
}

/* As `cat` joins them. */
EP_TEST(files_that_were_joined_are_their_sum)
{
	struct ep_batch *batch = batch_of_text(
		FILE_OF(SAMPLED("none", "[[0]]", "[1]")) "\n"
							 "\xef\xbb\xbf" FILE_OF(SAMPLED(
								 "none", "[[1]]", "[2]")) " \n");

	assert_int_equal(weight_in(batch), 3);
	check_refused(FILE_OF(SAMPLED("none", "[[0]]", "[1]")) "]",
		      strlen(FILE_OF(SAMPLED("none", "[[0]]", "[1]")) "]"),
		      "an object is expected");
}

/* --- JSON --- */

static struct ep_json json_of(const char *text, struct ep_vec *bytes)
{
	return ep_json_of((const uint8_t *)text, strlen(text), (const uint8_t *)text, bytes);
}

EP_TEST(what_is_skipped_is_nested_to_a_depth_only)
{
	char text[2 * EP_JSON_MAX_DEPTH + 3];

	for (size_t depth = EP_JSON_MAX_DEPTH; depth <= EP_JSON_MAX_DEPTH + 1; depth++) {
		ep_cleanup(ep_vec_fini) struct ep_vec bytes;
		struct ep_json json;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		json = ep_json_of((const uint8_t *)text, 2 * depth, (const uint8_t *)text, &bytes);
		ep_json_skip(&json);
		assert_true(depth > EP_JSON_MAX_DEPTH ? json.why != NULL
						      : !json.why && json.at == json.end);
	}
}

EP_TEST(numbers_are_exact)
{
	static const struct {
		const char *text;
		unsigned int digits;
		int64_t parts;
	} rows[] = {
		{"0", 0, 0},
		{"-0.0", 3, 0},
		{"12", 0, 12},
		{"-12", 2, -1200},
		{"1.5", 0, 2},
		{"1.25e2", 0, 125},
		{"0.1", 9, 100000000},
		{"1.0E-9", 9, 1},
		{"4e-10", 9, 0},
		{"5e-10", 9, 1},
		{"0.000000000049e1", 9, 0},
		{"1700000000000.000001", 6, 1700000000000000001},
		{"9223372036854775807", 0, INT64_MAX},
		{"0.33333333333333333333333333333333", 9, 333333333},
		{"1e-999999999999", 9, 0},
		{"0e999999", 9, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		ep_cleanup(ep_vec_fini) struct ep_vec bytes;
		struct ep_json json = json_of(rows[i].text, &bytes);
		int64_t parts = -1;

		assert_true(ep_json_parts(&json, rows[i].digits, &parts));
		assert_int_equal(parts, rows[i].parts);
	}
}

EP_TEST(numbers_that_are_none_are_refused)
{
	static const char *const texts[] = {
		"", "-", "1.", ".5", "1e", "x", "9223372036854775808", "1e19", "1e400"};

	for (size_t i = 0; i < EP_LEN(texts); i++) {
		ep_cleanup(ep_vec_fini) struct ep_vec bytes;
		struct ep_json json = json_of(texts[i], &bytes);
		int64_t parts;

		assert_false(ep_json_parts(&json, 0, &parts));
		assert_non_null(json.why);
	}
}
