/* SPDX-License-Identifier: Apache-2.0 */
/* str objects of every form as UTF-8. */
#include "plugins/python/symbolize/text.h"
#include "plugins/python/tests/unit/objects.h"
#include "tests/kit/test.h"

#define DATA(type, ...)                                                                            \
	(const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__}) / sizeof(type),           \
		sizeof(type)

static const struct row {
	const char *label;
	const void *data;
	size_t n;
	unsigned int kind;
	bool ascii;
	const char *expected;
} rows[] = {
	{"ascii", "abc", 3, 1, true, "abc"},
	{"nothing", "", 0, 1, true, ""},
	{"latin1", DATA(uint8_t, 'c', 0xe9, 0xff), false, "c\u00e9\u00ff"},
	{"two bytes", DATA(uint16_t, 0x438, 'x', 0x20ac), false, "\u0438x\u20ac"},
	{"four bytes", DATA(uint32_t, 0x1f40d, 'y', 0x10ffff), false, "\U0001f40dy\U0010ffff"},
	{"lone surrogates", DATA(uint16_t, 'a', 0xd800, 0xdfff, 'b'), false, "a\ufffd\ufffdb"},
	{"surrogates of a file name", DATA(uint16_t, 0xdc80, '/'), false, "\ufffd/"},
	{"no character", DATA(uint32_t, 0x110000, 0xffffffff, 'z'), false, "\ufffd\ufffdz"},
	{"control characters", DATA(uint8_t, 'a', 0, '\n', 0x7f, 0x85, 'b'), false,
	 "a\ufffd\ufffd\ufffd\ufffdb"},
};

static struct py_code_layout layout;
static struct fake_host host;

static void begin(uint32_t version)
{
	heap_host(&host);
	assert_int_equal(py_code_layout_find(version, false, &layout), 0);
}

static int read_text(uint64_t addr, char *buf, size_t size)
{
	const struct memory memory = {fake_memory_read, &host.memory};

	return py_text_read(&memory, &layout, addr, buf, size);
}

static const uint32_t versions[] = {PY_VERSION(3, 6), PY_VERSION(3, 11), PY_VERSION(3, 12)};

static void read_row(const struct row *row, uint32_t version, bool compact)
{
	char buf[64];

	begin(version);
	put_str(&layout, NAME_ADDR, row->kind, compact, row->ascii && compact, row->data, row->n);
	assert_int_equal(read_text(NAME_ADDR, buf, sizeof(buf)), 0);
	if (strcmp(buf, row->expected) != 0)
		fail_msg("%s: \"%s\"", row->label, buf);
}

EP_TEST(every_form_reads)
{
	for (size_t v = 0; v < EP_LEN(versions); v++) {
		for (size_t i = 0; i < EP_LEN(rows); i++) {
			read_row(&rows[i], versions[v], true);
			read_row(&rows[i], versions[v], false);
		}
	}
}

EP_TEST(a_cut_is_marked_even_when_all_that_was_read_fits)
{
	char buf[16];

	py_text_encode((const uint8_t *)"abc", 3, 1, true, buf, sizeof(buf));
	assert_string_equal(buf, "abc\u2026");
	py_text_encode((const uint8_t *)"abcdefg", 7, 1, true, buf, 8);
	assert_string_equal(buf, "abcd\u2026");
}

EP_TEST(lengths_are_capped)
{
	static const uint64_t lengths[] = {1 << 20, 1ULL << 40, INT64_MAX};
	char buf[32];

	for (size_t i = 0; i < EP_LEN(lengths); i++) {
		begin(PY_VERSION(3, 12));
		put_str(&layout, NAME_ADDR, 1, true, true, "0123456789012345678901234567890123",
			34);
		heap_put_word(NAME_ADDR + layout.str_length, lengths[i]);
		assert_int_equal(read_text(NAME_ADDR, buf, sizeof(buf)), 0);
		assert_string_equal(buf, "0123456789012345678901234567\u2026");
	}
	heap_put_word(NAME_ADDR + layout.str_length, UINT64_MAX);
	assert_int_equal(read_text(NAME_ADDR, buf, sizeof(buf)), -EBADMSG);
}

EP_TEST(strings_at_the_end_of_memory_read)
{
	char buf[512];
	uint64_t addr;

	begin(PY_VERSION(3, 11));
	for (size_t n = 1; n < 300; n++) {
		char text[301];

		memset(text, 'q', n);
		text[n] = '\0';
		addr = HEAP_ADDR + HEAP_BYTES - layout.str_ascii_data - n;
		put_str(&layout, addr, 1, true, true, text, n);
		assert_int_equal(read_text(addr, buf, sizeof(buf)), 0);
		assert_string_equal(buf, text);
	}
	/* One byte too far. */
	heap_put_word(addr + layout.str_length, 300);
	assert_int_equal(read_text(addr, buf, sizeof(buf)), -EFAULT);
}

EP_TEST(what_is_no_str_is_refused)
{
	char buf[64];

	begin(PY_VERSION(3, 8));
	/* kind 0: wchar_t only, or zeroed memory */
	assert_int_equal(read_text(NAME_ADDR, buf, 64), -EBADMSG);
	put_str(&layout, NAME_ADDR, 3, true, false, "abcdef", 2);
	assert_int_equal(read_text(NAME_ADDR, buf, 64), -EBADMSG);
	put_str(&layout, NAME_ADDR, 1, false, false, "abc", 3);
	heap_put_word(NAME_ADDR + layout.str_any, 0);
	assert_int_equal(read_text(NAME_ADDR, buf, 64), -EBADMSG);
	assert_int_equal(read_text(0, buf, 64), -EFAULT);
	assert_int_equal(read_text(UINT64_MAX - 7, buf, 64), -EFAULT);
}
