/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and what is written in them. That the file is XML and adds up: tests/live/test_formats.py. */
#include "exporters/svg/encode.h"
#include "tests/unit/writer_batch.h"

EP_TEST(functions_are_boxes_as_wide_as_their_time)
{
	static const char *const parts[] = {
		"<text id=\"title\" x=\"10\" y=\"24\">host, 2023-11-14 22:13:20 UTC, 1.0 s, CPU time</text>",
		/* 34.000001 ms in 1180 pixels; programs by name */
		"<g class=\"box\" data-x=\"0.000\" data-w=\"1180.000\" data-y=\"0\">\n<title>all (34.0 ms, 100.00 %)</title>",
		"<g class=\"box\" data-x=\"0.000\" data-w=\"173.529\" data-y=\"1\">\n<title>evil;comm? (5.0 ms, 14.71 %)</title>",
		"<g class=\"box\" data-x=\"173.529\" data-w=\"1006.471\" data-y=\"1\">\n<title>server (29.0 ms, 85.29 %)",
		"data-y=\"2\">\n<title>main (29.0 ms, 85.29 %)</title>",
		"data-w=\"312.353\" data-y=\"3\">\n<title>ns::outer() (9.0 ms, 26.47 %)</title>",
		"data-w=\"312.353\" data-y=\"4\">\n<title>ns::inner(int) (9.0 ms, 26.47 %)</title>",
		"<title>handler&quot;&lt;b&gt;\\?[2J 12 (5.0 ms, 14.71 %)</title>",
		"<![CDATA[",
	};
	char *text = written_by(svg_encode, writer_batch(), NULL);

	for (size_t i = 0; i < EP_LEN(parts); i++) {
		if (!strstr(text, parts[i]))
			fail_msg("no %s in\n%s", parts[i], text);
	}
	assert_null(strstr(text, "too narrow"));
}

/* Before all boxes: a browser would look through them for it at each of their titles. */
EP_TEST(the_file_has_a_title_first)
{
	char *text = written_by(svg_encode, writer_batch(), NULL), *root = strstr(text, "<svg ");

	assert_non_null(root);
	root = strchr(root, '>');
	assert_ptr_equal(strstr(root, ">\n<title>host, 2023-11-14 22:13:20 UTC, 1.0 s, CPU time</title>\n"), root);
}

/* The command that was recorded comes first, and leaves space for where and when. */
EP_TEST(a_command_is_the_title)
{
	struct ep_batch *batch = writer_batch();
	char name[100] = "";

	batch->title = "make -j2 <all>";
	assert_non_null(strstr(written_by(svg_encode, batch, NULL),
			       "y=\"24\">make -j2 &lt;all&gt;: host, 2023-11-14 22:13:20 UTC, 1.0 s, CPU time</text>"));
	memset(name, 'x', sizeof(name) - 1);
	batch->title = name;
	name[79] = '\0';
	assert_non_null(strstr(written_by(svg_encode, batch, NULL), "xxx: host"));
	name[79] = 'x';
	assert_non_null(strstr(written_by(svg_encode, batch, NULL), "xxx…: host"));
}

/* Each box is of its own color, and the kernel's is nobody else's. */
EP_TEST(kinds_have_colors)
{
	char *text = written_by(svg_encode, writer_batch(), NULL);
	const char *kernel = strstr(text, "<title>schedule"), *native = strstr(text, "<title>main");

	assert_non_null(kernel);
	assert_non_null(native);
	assert_int_not_equal(memcmp(strstr(kernel, "fill="), strstr(native, "fill="), 13), 0);
}

EP_TEST(equal_functions_under_one_caller_are_one_box)
{
	const struct made_process *server = WRITER_PROCESS(7, "server", "");
	const struct made_sample samples[] = {
		{server, 7, 0, 1, 1, "a", NULL, {&writer_f}},
		{server, 8, 1, 1, 2, "b", NULL, {&writer_f}},
	};
	char *text = written_by(svg_encode, make_batch(&writer_header, samples, EP_LEN(samples)), NULL);
	const char *first = strstr(text, "<title>f (");

	assert_non_null(first);
	assert_null(strstr(first + 1, "<title>f ("));
}

/* A box of less than a tenth of a pixel, and what is above it, are left out and counted. */
EP_TEST(what_is_too_narrow_is_counted)
{
	const struct made_process *server = WRITER_PROCESS(7, "server", "");
	const struct made_sample samples[] = {
		{server, 7, 0, 1, 1000000, "a", NULL, {&writer_f}},
		{server, 7, 0, 1, 10, "a", NULL, {&writer_f, &writer_main}},
	};
	char *text = written_by(svg_encode, make_batch(&writer_header, samples, EP_LEN(samples)), NULL);

	assert_non_null(strstr(text, ">1 boxes are too narrow to be shown<"));
	assert_null(strstr(text, "<title>main"));
}

/* Other profiles count something else, and may be empty. */
EP_TEST(other_units_and_nothing_at_all)
{
	const struct made_frame f = {"unknown", {{"f"}}};
	const struct made_sample sample = {.count = 1, .weight = 3, .stack = {&f}};
	struct ep_profile_header bytes = writer_header;
	char *text;

	bytes.weight_unit = "bytes";
	text = written_by(svg_encode, make_batch(&bytes, &sample, 1), NULL);
	assert_non_null(strstr(text, "data-y=\"1\">\n<title>f (3 bytes, 100.00 %)</title>"));
	text = written_by(svg_encode, make_batch(&writer_header, NULL, 0), NULL);
	assert_non_null(strstr(text, "<title>all (0.0 ms, 0.00 %)</title>"));
}

/* No name ends an element, an attribute or the script. */
EP_TEST(hostile_names_are_text)
{
	static const char fillings[] = {'\n', '<', '>', '&', '"', '\033', ']', '\\'};

	for (size_t i = 0; i < sizeof(fillings); i++) {
		char *text = written_by(svg_encode, hostile_batch(fillings[i]), NULL);
		const char *title = strstr(text, "data-y=\"2\">\n<title>");
		const char *end = title ? strstr(title, "</title><rect ") : NULL;

		assert_non_null(end);
		for (const char *at = title + 19; at < end; at++)
			assert_true(*at != '<' && *at != '>' && *at != '"' && (unsigned char)*at >= ' ');
	}
}

EP_TEST(an_error_of_the_sink_is_returned)
{
	check_error_of_sink(svg_encode);
}
