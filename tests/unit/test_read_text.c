/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as it comes: with the marks and line ends of other systems, without its last end, with fractions; and
 * lines that could be something else. The same profile, or a sentence.
 */
#include "tests/unit/read_profile.h"

/* --- the same text in all ways it is written --- */

static const char folded[] = "# a comment\n"
			     "main;read 10\n"
			     "main;parse;split 20\n"
			     "prog \xc3\xa9\xe6\x97\xa5\xf0\x9f\x90\xa2;write 30\n";
static const char script[] = "# ========\n"
			     "main 7/7 [000] 1.000000: 10 cycles: \n"
			     "\t          401000 read+0x4 (/opt/x)\n"
			     "\n"
			     "main 7/7 [000] 1.010000: 20 cycles: \n"
			     "\t          402000 split+0x4 (/opt/x)\n"
			     "\t          403000 main+0x4 (/opt/x)\n"
			     "\n"
			     "prog \xc3\xa9\xe6\x97\xa5\xf0\x9f\x90\xa2 8/8 [000] 1.020000: 30 cycles: \n"
			     "\t          404000 write (/opt/x)\n"
			     "\n";
static const char lines[] = "            main     7 [000] 1.000000: 10 cycles:      401000 read+0x4 (/opt/x)\n"
			    "            main     7 [000] 1.010000: 20 cycles:      402000 split+0x4 (/opt/x)\n"
			    "            prog     8 [000] 1.020000: 30 cycles:      404000 write (/opt/x)\n";

enum { CRLF = 1, MARK = 2, NO_END = 4, LITTLE = 8, BIG = 16 };

static const struct {
	const char *label;
	int how;
} ways[] = {
	{"as it is", 0},
	{"CRLF", CRLF},
	{"a mark", MARK},
	{"a mark, CRLF", MARK | CRLF},
	{"no end", NO_END},
	{"CRLF, no end", CRLF | NO_END},
	{"a mark, CRLF, no end", MARK | CRLF | NO_END},
	{"UTF-16 LE", LITTLE},
	{"UTF-16 LE, CRLF", LITTLE | CRLF},
	{"UTF-16 LE, no end", LITTLE | NO_END},
	{"UTF-16 BE, CRLF", BIG | CRLF},
	{"UTF-16 BE, no end", BIG | NO_END},
};

static void put_unit(struct ep_vec *to, int how, uint32_t unit)
{
	uint8_t bytes[2] = {(uint8_t)unit, (uint8_t)(unit >> 8)};

	if (how & BIG)
		bytes[0] = (uint8_t)(unit >> 8), bytes[1] = (uint8_t)unit;
	assert_int_equal(ep_vec_append(to, bytes, 2), 0);
}

/* The text is ours, and valid. */
static void put_utf16(struct ep_vec *to, int how, const char *text, size_t bytes)
{
	put_unit(to, how, 0xfeff);
	for (size_t i = 0; i < bytes;) {
		uint8_t first = (uint8_t)text[i++];
		uint32_t c = first < 0x80 ? first : first < 0xe0 ? first & 0x1f : first < 0xf0 ? first & 0xf : first & 7;

		for (; i < bytes && ((uint8_t)text[i] & 0xc0) == 0x80; i++)
			c = c << 6 | ((uint8_t)text[i] & 0x3f);
		if (c >= 0x10000) {
			put_unit(to, how, 0xd800 + ((c - 0x10000) >> 10));
			c = 0xdc00 + (c & 0x3ff);
		}
		put_unit(to, how, c);
	}
}

static void put_text(struct ep_vec *to, int how, const char *text)
{
	ep_cleanup(ep_vec_fini) struct ep_vec plain;
	size_t bytes = strlen(text);

	ep_vec_init(&plain, 1, 1 << 20);
	while (how & NO_END && bytes && text[bytes - 1] == '\n')
		bytes--;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '\n' && how & CRLF)
			assert_int_equal(ep_vec_append(&plain, "\r", 1), 0);
		assert_int_equal(ep_vec_append(&plain, text + i, 1), 0);
	}
	if (how & MARK)
		assert_int_equal(ep_vec_append(to, "\xef\xbb\xbf", 3), 0);
	if (how & (LITTLE | BIG))
		put_utf16(to, how, plain.data, plain.len);
	else
		assert_int_equal(ep_vec_append(to, plain.data, plain.len), 0);
}

static uint64_t weight_at(const struct ep_batch *batch, const char *leaf)
{
	return batch->sample_weight_ns[sample_with_leaf(batch, leaf)];
}

static void check_text(const char *text, const char *label, int how)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_batch *batch = NULL;

	ep_vec_init(&bytes, 1, 1 << 20);
	put_text(&bytes, how, text);
	if (read_bytes(bytes.data, bytes.len, &batch) != 0)
		fail_msg("%s: %s", label, read_why);
	ep_test_owns(batch, release_batch);
	check_batch(batch);
	assert_int_equal(batch->n_samples, 3);
	assert_int_equal(weight_at(batch, "read"), 10);
	assert_int_equal(weight_at(batch, "split"), 20);
	assert_int_equal(weight_at(batch, "write"), 30);
}

EP_TEST_EACH(folded_stacks_are_the_same_in_every_way, size_t, way, EP_LEN(ways))
{
	check_text(folded, ways[way].label, ways[way].how);
}

EP_TEST_EACH(perf_script_is_the_same_in_every_way, size_t, way, EP_LEN(ways))
{
	check_text(script, ways[way].label, ways[way].how);
}

EP_TEST_EACH(perf_script_without_stacks_is_the_same_in_every_way, size_t, way, EP_LEN(ways))
{
	check_text(lines, ways[way].label, ways[way].how);
}

EP_TEST(names_come_out_of_utf16_whole)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_batch *batch;

	ep_vec_init(&bytes, 1, 1 << 20);
	put_text(&bytes, LITTLE, folded);
	batch = batch_of(bytes.data, bytes.len);
	assert_string_equal(name_in(batch, sample_with_leaf(batch, "write"), 1, 0), "prog \xc3\xa9\xe6\x97\xa5\xf0\x9f\x90\xa2");
}

/* As `type a b` and `cat a b` leave it. */
EP_TEST(marks_within_are_no_part_of_a_name)
{
	struct ep_batch *batch = batch_of_text("\xef\xbb\xbfmain;read 1\r\n\xef\xbb\xbfmain;read 2\r\n\xef\xbb\xbf");

	assert_int_equal(batch->n_samples, 1);
	assert_int_equal(weight_in(batch), 3);
}

EP_TEST(half_characters_are_replaced)
{
	static const uint8_t text[] = {0xff, 0xfe, 'f', 0, 0x00, 0xd8, ';', 0, 0x01, 0xdc, ' ', 0, '3', 0, '\n', 0, 0x3d};
	struct ep_batch *batch = NULL;

	/* the last byte is half a unit: a line of its own, which is no stack */
	check_refused(text, sizeof(text), "line 2: it is not a stack");
	batch = batch_of(text, sizeof(text) - 1);
	assert_string_equal(name_in(batch, 0, 0, 0), "\xef\xbf\xbd");
	assert_string_equal(name_in(batch, 0, 1, 0), "f\xef\xbf\xbd");
}

EP_TEST(other_encodings_are_named)
{
	check_refused("\xff\xfe\0\0m\0\0\0", 8, "UTF-32");
	check_refused("m\0a\0i\0n\0 \0" "1\0", 12, "UTF-16 without a byte order mark");
	check_refused("\0m\0a\0i\0n\0 \0" "1", 12, "UTF-16 without a byte order mark");
	check_refused("\xef\xbb\xbf{\"meta\": 1}", 14, "is JSON");
	check_refused("\xff\xfe{\0\"\0", 6, "is JSON");
}

/* --- counts --- */

EP_TEST(whole_counts_may_have_a_point)
{
	struct ep_batch *batch = batch_of_text("main;read 10.0\nmain;write 20.\nmain;write 0.000000000\n");

	assert_string_equal(batch->weight_unit, "count");
	assert_int_equal(weight_at(batch, "read"), 10);
	assert_int_equal(weight_at(batch, "write"), 20);
}

EP_TEST(fractions_are_kept)
{
	struct ep_batch *batch = batch_of_text("main;read 0.25\nmain;write 12\nmain;parse .0000015\nmain;read 0.5\n"
					       "main;split 3.9999999\n");

	assert_string_equal(batch->weight_unit, "1/1000000 count");
	assert_int_equal(weight_at(batch, "read"), 750000);
	assert_int_equal(weight_at(batch, "write"), 12000000);
	assert_int_equal(weight_at(batch, "parse"), 2);
	assert_int_equal(weight_at(batch, "split"), 4000000);
	assert_int_equal(batch->sample_count[sample_with_leaf(batch, "parse")], 1);
	assert_int_equal(batch->sample_count[sample_with_leaf(batch, "write")], 12);
}

/* Nanoseconds of hours: a millionth of one is nothing. */
EP_TEST(fractions_of_large_counts_are_rounded)
{
	struct ep_batch *batch = batch_of_text("main;read 10000000000000000.5\nmain;write 7.4\n");

	assert_string_equal(batch->weight_unit, "count");
	assert_int_equal(weight_at(batch, "read"), 10000000000000001);
	assert_int_equal(weight_at(batch, "write"), 7);
}

EP_TEST(what_is_no_number_is_no_count)
{
	static const char *const counts[] = {"1.2.3", ".", "..", "-1", "1e3", "0x10", "1,5"};

	for (size_t i = 0; i < EP_LEN(counts); i++) {
		char text[64];

		snprintf(text, sizeof(text), "a;b 1\na;c %s\na;b 1\n", counts[i]);
		check_refused(text, strlen(text), "profile");
	}
}

/* --- names that look like something else --- */

EP_TEST(a_name_may_begin_as_a_comment)
{
	struct ep_batch *batch = batch_of_text("# a comment 5\n"
					       "#\n"
					       "#no count\n"
					       "#cron;main 10\n"
					       " # x;main 20\n"
					       "  spaced;main 40\n"
					       "\tindented;main 80\n");
	static const char *const names[] = {"#cron", "# x", " spaced", "indented"};

	assert_int_equal(batch->n_samples, EP_LEN(names));
	assert_int_equal(weight_in(batch), 150);
	for (uint32_t i = 0; i < EP_LEN(names); i++)
		assert_string_equal(name_in(batch, i, 1, 0), names[i]);
}

/* perf's line of a recording without call chains: the name of a program may be hex digits. */
static const char *comm_in(const struct ep_batch *batch, uint32_t sample)
{
	return text_in(batch, batch->process_comm[batch->sample_process[sample]]);
}

EP_TEST(a_name_of_hex_digits_is_no_frame)
{
	static const char *const names[] = {"f", "dd", "ab", "bad", "beef", "0", "12", "deadbeefdeadbee"};

	for (size_t i = 0; i < EP_LEN(names); i++) {
		struct ep_batch *batch;
		char text[512];

		/* padded, after another one; and not, with call chains */
		snprintf(text, sizeof(text), "%16s %5d [001] %12s:     250000 cpu-clock:      55e0c0de1000 work (/opt/app)\n"
			 "%16s %5d [001] %12s:     250000 cpu-clock:      55e0c0de1000 work+0x4 (/opt/app)\n",
			 "bash", 10, "1.000000", names[i], 11, "1.010000");
		batch = batch_of_text(text);
		assert_int_equal(batch->n_samples, 2);
		assert_string_equal(comm_in(batch, 1), names[i]);
		snprintf(text, sizeof(text), "bash 10/10 [001] 1.000000: 250000 cpu-clock: \n\t12 f (/x)\n\n"
			 "%s 11/11 [001] 1.010000: 250000 cpu-clock: \n\t12 f (/x)\n\n", names[i]);
		batch = batch_of_text(text);
		assert_int_equal(batch->n_samples, 2);
		assert_string_equal(comm_in(batch, 1), names[i]);
	}
}

/* perf script -F without cpu: then only what follows tells the number of a name from ids. */
EP_TEST(a_name_that_ends_in_a_number_is_whole)
{
	static const char *const forms[] = {
		"worker 5 1234 [001] 5.250000: 250000 cpu-clock: \n\t12 f (/x)\n\n",
		"worker 5 1234 5.250000: 250000 cpu-clock: \n\t12 f (/x)\n\n",
		"worker 5 1234 5.250000: cpu-clock: \n\t12 f (/x)\n\n",
		"worker 5 1234/1234 5.250000: 250000 cpu-clock: \n\t12 f (/x)\n\n",
		"worker 5  1234 5.250000: 250000 cpu-clock:      55e0c0de1000 work (/opt/app)\n",
		"worker 5 1234 250000 cpu-clock: \n\t12 f (/x)\n\n",
	};

	for (size_t i = 0; i < EP_LEN(forms); i++) {
		struct ep_batch *batch = batch_of_text(forms[i]);

		assert_int_equal(batch->n_samples, 1);
		assert_string_equal(comm_in(batch, 0), "worker 5");
		assert_int_equal(batch->process_pid[batch->sample_process[0]], 1234);
		assert_string_equal(batch->sample_type, "cpu");
	}
}

EP_TEST(a_name_of_a_sample_may_begin_as_a_comment)
{
	struct ep_batch *batch = batch_of_text("# sample duration :   1000.0 ms\n"
					       "#x 10/10 [001] 1.000000: 250000 cpu-clock: \n\t12 f (/x)\n\n"
					       "              #y    11 [001] 1.000000: 250000 cpu-clock: 12 f (/x)\n");

	assert_int_equal(batch->n_samples, 2);
	assert_string_equal(comm_in(batch, 0), "#x");
	assert_string_equal(comm_in(batch, 1), "#y");
}

/* perf prints -1 for a thread that had ended, and for no CPU. */
EP_TEST(what_had_ended_is_nobody)
{
	static const char *const heads[] = {
		":-1    -1 [006] 1.010000: 250000 cpu-clock: \n\t12 f (/x)\n\n",
		":-1 -1/-1 [006] 1.010000: 250000 cpu-clock: \n\t12 f (/x)\n\n",
		"             :-1    -1 [-01] 1.010000: 250000 cpu-clock: 12 f (/x)\n",
		":-1 -1 1.010000: cpu-clock: 12 f (/x)\n",
		":-1 -1 250000 cpu-clock: 12 f (/x)\n",
	};

	for (size_t i = 0; i < EP_LEN(heads); i++) {
		char text[512];
		struct ep_batch *batch;

		snprintf(text, sizeof(text), "%sserver 7/8 [001] 1.020000: 250000 cpu-clock: \n\t12 g (/x)\n\n", heads[i]);
		batch = batch_of_text(text);
		assert_int_equal(batch->n_samples, 2);
		assert_int_equal(batch->sample_process[0], 0);
		assert_int_equal(batch->sample_tid[0], 0);
		assert_string_equal(text_in(batch, batch->sample_thread_name[0]), "");
		assert_int_equal(batch->process_pid[batch->sample_process[1]], 7);
		assert_string_equal(text_in(batch, batch->sample_thread_name[1]), "server");
	}
}

/* A sample, then a line that is nothing: it is named, and is not half understood. */
EP_TEST(lines_of_perf_that_are_nothing_are_named)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"server -2 [001] 1.0: 250000 cpu-clock: 12 f (/x)\n", "line 3: it is neither"},
		{"server 7/8/9 [001] 1.0: 250000 cpu-clock: 12 f (/x)\n", "line 3: it is neither"},
		{"server x [001] 1.0: 250000 cpu-clock: 12 f (/x)\n", "line 3: it is neither"},
		{"server 1.0: 250000 cpu-clock: 12 f (/x)\n", "line 3: it is neither"},
		{"an error on line 12 happened: stop\n", "line 3: it is neither"},
		{"  what is this\n", "line 3: it is neither"},
		{"\tnothing\n", "line 3: it is neither"},
		{"12345678901234567 f (/x)\n", "line 3: it is neither"},
		{"\n\t12 f (/x)\n", "line 4: it is a frame, and no sample is before it"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		char text[512];

		snprintf(text, sizeof(text), "server 7 [001] 1.0: 250000 cpu-clock: \n\t12 f (/x)\n%s", rows[i].line);
		check_refused(text, strlen(text), rows[i].says);
	}
}

/* perf script -F +srcline. */
EP_TEST(source_lines_between_frames_are_left_out)
{
	struct ep_batch *batch = batch_of_text("server 7 [001] 1.0: 250000 cycles: \n"
					       "\t12 f+0x2 (/x)\n  app.c:12\n"
					       "\t13 g (/x)\n  app.c:13 (discriminator 3)\n"
					       "\t14 h (/x)\n  main+0x12\n"
					       "\t15 i (/x)\n  libx.so[15]\n"
					       "\t16 j (/x)\n  ??:0\n\n");

	assert_int_equal(batch->n_samples, 1);
	assert_int_equal(depth_in(batch, 0), 5);
}

/* As rstrip("\\n") of text with line ends of Windows. */
EP_TEST(half_of_a_line_end_is_one)
{
	assert_int_equal(batch_of_text("a 1 5.0: 1 cycles: \r\n\t 12 f (x)\r\n\r\n\r")->n_samples, 1);
	assert_int_equal(batch_of_text("a;b 1\r\na;c 2\r")->n_samples, 2);
}

EP_TEST(text_that_was_cut_off_is_named)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"a;b 1\na;c", "line 2: it is not a stack"},
		{"a;b 1\na;c d", "line 2: it does not end in a count"},
		{"a 1 5.0: 1 cycles: \n\t 12 f (", "line 2: it has no end: the file was cut off"},
		{"a 1 5.0: 1 cycles: \n\t 12 f (/opt/x", "line 2: it has no end: the file was cut off"},
		{"a 1 5.0: 1 cycles: \n\t 12 f (x)\n\na 1 5.1: 1 cyc", "line 4: it has no end: the file was cut off"},
		{"a 1 5.0: 1 cycles: \n\t 12 f (x)\n\t  ", "line 3: it has no end: the file was cut off"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++)
		check_refused(rows[i].text, strlen(rows[i].text), rows[i].says);
}
