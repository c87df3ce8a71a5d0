/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/text/writer.h"
#include "tests/kit/test.h"

#define REPLACED "\xef\xbf\xbd"
#define ELLIPSIS "\xe2\x80\xa6"

EP_TEST(one_line_of_utf8)
{
	static const struct {
		uint32_t character;
		const char *want;
	} rows[] = {
		{' ', " "},
		{'~', "~"},
		{0xa0, "\xc2\xa0"},
		{0x7ff, "\xdf\xbf"},
		{0x800, "\xe0\xa0\x80"},
		{0xffff, "\xef\xbf\xbf"},
		{0x10000, "\xf0\x90\x80\x80"},
		{0x10ffff, "\xf4\x8f\xbf\xbf"},
		{'\n', REPLACED},
		{0, REPLACED},
		{0x7f, REPLACED},
		{0x9f, REPLACED},
		{0xd800, REPLACED},
		{0xdfff, REPLACED},
		{0x2028, REPLACED},
		{0x2029, REPLACED},
		{0x110000, REPLACED},
		{UINT32_MAX, REPLACED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[8];
		struct text_writer writer = {.buf = buf, .size = sizeof(buf)};

		text_put(&writer, rows[i].character);
		text_end(&writer, false);
		assert_string_equal(buf, rows[i].want);
	}
}

EP_TEST(pairs_are_one_character)
{
	static const struct {
		uint32_t units[4];
		const char *want;
	} rows[] = {
		{{0xd83d, 0xde00}, "\xf0\x9f\x98\x80"},
		{{'a', 0xd83d}, "a" REPLACED},
		{{0xd83d, 'a'}, REPLACED "a"},
		{{0xde00, 'a'}, REPLACED "a"},
		{{0xd83d, 0xd83d, 0xde00}, REPLACED "\xf0\x9f\x98\x80"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[16];
		struct text_writer writer = {.buf = buf, .size = sizeof(buf)};

		for (size_t k = 0; k < 4 && rows[i].units[k]; k++)
			text_put_unit(&writer, rows[i].units[k]);
		text_end(&writer, false);
		assert_string_equal(buf, rows[i].want);
	}
}

/* Never a byte after the buffer, never half a character. */
EP_TEST(what_does_not_fit_is_said)
{
	static const struct {
		const char *from;
		bool more;
		const char *want;
	} rows[] = {
		{"abcdefg", false, "abcdefg"},
		{"abcdefgh", false, "abcd" ELLIPSIS},
		{"abcdefghi", false, "abcd" ELLIPSIS},
		{"abcdefg", true, "abcd" ELLIPSIS},
		{"abcd", true, "abcd" ELLIPSIS},
		{"abc", true, "abc" ELLIPSIS},
		{"", true, ELLIPSIS},
		{"", false, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[9];
		struct text_writer writer = {.buf = buf, .size = 8};

		memset(buf, '#', sizeof(buf));
		for (const char *c = rows[i].from; *c; c++)
			text_put(&writer, (unsigned char)*c);
		text_end(&writer, rows[i].more);
		assert_string_equal(buf, rows[i].want);
		assert_int_equal(buf[8], '#');
	}
}

EP_TEST(long_characters_are_not_cut)
{
	char buf[12];
	struct text_writer writer = {.buf = buf, .size = sizeof(buf)};

	for (int i = 0; i < 3; i++)
		text_put(&writer, 0x1f600);
	text_end(&writer, false);
	assert_string_equal(buf, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80" ELLIPSIS);
}

EP_TEST(bytes_of_utf8)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"ab", "ab"},
		{"gr\xc3\xb6\xc3\x9f" "e", "gr\xc3\xb6\xc3\x9f" "e"},
		{"\xe2\x82\xac\xf0\x9f\x92\x8e", "\xe2\x82\xac\xf0\x9f\x92\x8e"},
		{"\xc2\x80", REPLACED},		     /* the first of each length; a control */
		{"\xe0\xa0\x80\xf0\x90\x80\x80", "\xe0\xa0\x80\xf0\x90\x80\x80"},
		{"\xc3", REPLACED},			     /* cut */
		{"\xc0\x80", REPLACED REPLACED},	     /* overlong */
		{"\xe0\x80\xaf", REPLACED REPLACED REPLACED},
		{"\xed\xa0\x80", REPLACED},		     /* a surrogate */
		{"\xf4\x90\x80\x80", REPLACED},	     /* after the last character */
		{"\xff" "a\x80", REPLACED "a" REPLACED},
		{"\xc3(", REPLACED "("},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[32];
		struct text_writer writer = {.buf = buf, .size = sizeof(buf)};

		text_put_utf8(&writer, (const uint8_t *)rows[i].text, strlen(rows[i].text));
		text_end(&writer, false);
		assert_string_equal(buf, rows[i].want);
	}
}
