/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of it. That all formats say the same of a recording is tested by tests/live/test_formats.py. */
#include "exporters/firefox/encode.h"
#include "exporters/firefox/json.h"
#include "tests/unit/writer_batch.h"

static const char *const parts[] = {
	"\"startTime\":1700000000000,",
	"\"interval\":10,",
	"\"preprocessedProfileVersion\":61,",
	"{\"name\":\"kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}",
	"{\"arch\":\"\",\"name\":\"my server\",\"path\":\"/opt/my server\",\"debugName\":\"my server\","
	"\"debugPath\":\"/opt/my server\",\"breakpadId\":\"67452301AB89EFCD0123456789ABCDEF0\","
	"\"codeId\":\"0123456789abcdef0123456789abcdef01234567\",\"ebpfProfiler\":{\"startVa\":\"0x401000\","
	"\"limitVa\":\"0x411000\",\"fileOffset\":\"0x1000\",\"flags\":\"0x0\",\"fileId\":\"\"}}",
	"\"handler\\\"<b>\\\\?[2J 12\"",
	"\"processName\":\"evil;comm?\"",
	"\"name\":\"worker 3\",\"isMainThread\":false,\"pid\":\"7\",\"tid\":8,\"samples\":",
	"\"time\":[10,40],\"weight\":[10,10.000001],\"weightType\":\"tracing-ms\"",
	"\"time\":[30],\"weight\":[9],\"weightType\":\"tracing-ms\",\"threadCPUDelta\":[9000000],\"length\":1}",
	"\"processStartupTime\":-1000,",
};

EP_TEST(a_profile_has_these_parts)
{
	char *text = written_by(firefox_encode, writer_batch(), NULL);

	for (size_t i = 0; i < EP_LEN(parts); i++) {
		if (!strstr(text, parts[i]))
			fail_msg("no %s in\n%s", parts[i], text);
	}
}

EP_TEST(threads_of_two_processes_with_one_id_are_two)
{
	char *text = written_by(firefox_encode, two_processes("native", 7, "server", 8, "shell"), NULL);
	const char *first = strstr(text, "\"tid\":7,");

	assert_non_null(first);
	assert_non_null(strstr(first + 1, "\"tid\":7,"));
}

EP_TEST(an_error_of_the_sink_is_returned)
{
	check_error_of_sink(firefox_encode);
}

/* --- JSON --- */

static char *json_of(const char *text, size_t bytes)
{
	struct ep_sink sink = {.write = write_to_stream, .arg = ep_test_print()};
	struct json json = {.out = ep_text_out_new(&sink)};

	json_text(&json, NULL, text, bytes);
	assert_int_equal(ep_text_out_end(json.out), 0);
	return ep_test_printed(sink.arg);
}

EP_TEST(text_is_escaped_and_repaired)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{"", "\"\""},
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n\t\x7f\x1b", "\"\\u000a\\u0009\\u007f\\u001b\""},
		{"größe \xf0\x9f\x98\x80", "\"größe \xf0\x9f\x98\x80\""},
		{"\xff" "a\xc3", "\"\\ufffda\\ufffd\""},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
	};

	for (size_t i = 0; i < EP_LEN(rows); i++)
		assert_string_equal(json_of(rows[i].text, strlen(rows[i].text)), rows[i].json);
	assert_string_equal(json_of("a\0b", 3), "\"a\\u0000b\"");
}
