/* SPDX-License-Identifier: Apache-2.0 */
/* core/base/utf8.c: what a terminal would obey does not get through. */
#include "core/base/utf8.h"
#include "tests/kit/test.h"

static const struct {
	const char *in, *out;
	size_t bytes;
} cases[] = {
	{"", "", 0},
	{"/usr/bin/a program", "/usr/bin/a program", 18},
	{"\x1b]0;owned\x07", "?]0;owned?", 10},
	{"twenty bytes and then\x1b[2J", "twenty bytes and then?[2J", 25},
	{"tab\tline\n\x7f", "tab?line??", 10},
	{"a\0b", "a?b", 3},
	{"\xc2\x9b" "2J \xc2\x80\xc2\x9f", "??2J ????", 9},	/* C1: CSI is U+009B */
	{"\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 11},
	{"\x9b" "2J", "?2J", 3},	/* the same in eight bits */
	{"\xff ok \xc3\xa9", "? ok \xc3\xa9", 7},
	{"\xed\xa0\x80", "???", 3},
	{"cut \xe2\x82", "cut ??", 6},
};

EP_TEST(text_is_made_clean)
{
	char text[64];

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		size_t bytes = cases[i].bytes;

		ep_utf8_clean(cases[i].in, bytes, text);
		text[bytes] = '\0';
		assert_string_equal(text, cases[i].out);
		assert_int_equal(ep_utf8_is_clean(cases[i].in, bytes), memcmp(cases[i].in, text, bytes) == 0);
		assert_true(ep_utf8_is_clean(text, bytes));
		memcpy(text, cases[i].in, bytes);
		ep_utf8_clean(text, bytes, text);
		assert_string_equal(text, cases[i].out);
	}
}

EP_TEST(text_is_cut_between_characters)
{
	static const struct {
		const char *text;
		size_t max, cut;
	} rows[] = {
		{"ab", 5, 2},
		{"abc", 2, 2},
		{"a\xc3\xa9 b", 2, 1},
		{"a\xe2\x82\xac b", 3, 1},
		{"a\xf0\x9f\x98\x80 b", 4, 1},
		{"a\xf0\x9f\x98\x80 b", 5, 5},
		{"\x80\x80\x80\x80\x80\x80", 4, 4}, /* no text */
	};

	for (size_t i = 0; i < EP_LEN(rows); i++)
		assert_int_equal(ep_utf8_cut(rows[i].text, strlen(rows[i].text), rows[i].max), rows[i].cut);
}

/* Text is looked at in pieces of eight: each byte at each place of one. */
EP_TEST(no_byte_hides_among_plain_ones)
{
	char text[17] = "abcdefghijklmnop";

	for (size_t at = 0; at < 16; at++) {
		for (int c = 0; c < 256; c++) {
			char had = text[at];

			text[at] = (char)c;
			assert_int_equal(ep_utf8_is_clean(text, 16), c >= 0x20 && c < 0x7f);
			text[at] = had;
		}
	}
}
