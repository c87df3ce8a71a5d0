/* SPDX-License-Identifier: Apache-2.0 */
/* The three line table formats: expected lines worked out by hand from their descriptions. */
#include "core/base/util.h"
#include "plugins/python/symbolize/names.h"
#include "plugins/python/symbolize/lines.h"
#include "tests/kit/test.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define MAX_POINTS 8

static const struct row {
	const char *label;
	enum py_line_format format;
	const uint8_t *bytes;
	size_t n_bytes;
	int32_t first_line;
	struct {
		uint32_t off, line;
	} points[MAX_POINTS]; /* ends with offset and line 0, but for the first */
} rows[] = {
	{"lnotab: the example of lnotab_notes.txt",
	 PY_LINES_LNOTAB,
	 BYTES(0, 1, 6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1),
	 0,
	 {{0, 1}, {5, 1}, {6, 2}, {50, 7}, {349, 7}, {350, 207}, {361, 208}, {9999, 208}}},
	{"lnotab: empty, all is the first line", PY_LINES_LNOTAB, BYTES(0), 7, {{0, 7}, {100, 7}}},
	{"lnotab: lines go back",
	 PY_LINES_LNOTAB,
	 BYTES(2, 10, 2, 0xfb),
	 100,
	 {{0, 100}, {2, 110}, {4, 105}}},
	{"lnotab: half a pair is none",
	 PY_LINES_LNOTAB,
	 BYTES(2, 1, 2),
	 3,
	 {{0, 3}, {2, 4}, {4, 4}}},
	{"lnotab: below line 1 there is none",
	 PY_LINES_LNOTAB,
	 BYTES(2, 0x80, 2, 127, 2, 1),
	 1,
	 {{0, 1}, {2, 0}, {4, 0}, {6, 1}}},
	{"ranges: lines belong to the range before",
	 PY_LINES_RANGES,
	 BYTES(4, 0, 6, 2, 2, 0xff),
	 10,
	 {{0, 10}, {3, 10}, {4, 12}, {9, 12}, {10, 11}, {11, 11}, {12, 0}, {99, 0}}},
	{"ranges: -128 has no line and keeps the count",
	 PY_LINES_RANGES,
	 BYTES(2, 1, 2, 0x80, 2, 0),
	 5,
	 {{0, 6}, {2, 0}, {4, 6}, {6, 0}}},
	{"ranges: empty ones only add up",
	 PY_LINES_RANGES,
	 BYTES(0, 127, 0, 127, 2, 1, 2, 0),
	 1,
	 {{0, 256}, {1, 256}, {2, 256}, {4, 0}}},
	{"locations: short, one-line, none",
	 PY_LINES_LOCATIONS,
	 /* code 0 of 1 unit, code 11 of 2 units, code 15 of 1, code 12 of 8 */
	 BYTES(0x80, 0x12, 0xd9, 3, 4, 0xf8, 0xe7, 1, 2),
	 20,
	 {{0, 20}, {2, 21}, {5, 21}, {6, 0}, {8, 23}, {23, 23}, {24, 0}}},
	{"locations: signed integers",
	 PY_LINES_LOCATIONS,
	 /* 13: +200 = 400 -> 0x50 0x06; 13: -3 = 7; 14: +1 = 2, and three more */
	 BYTES(0xe8, 0x50, 0x06, 0xe8, 0x07, 0xf0, 0x02, 0x41, 0x01, 0x05, 0x06),
	 1,
	 {{0, 201}, {2, 198}, {4, 199}, {6, 0}}},
	{"locations: -2147483647 and back",
	 PY_LINES_LOCATIONS,
	 BYTES(0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x03, 0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x03,
	       0x80, 0),
	 9,
	 {{0, 0}, {2, 9}, {4, 9}, {6, 0}}},
	{"locations: an integer without end ends the table",
	 PY_LINES_LOCATIONS,
	 BYTES(0x80, 0, 0xe8, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x01, 0x80, 0),
	 4,
	 {{0, 4}, {2, 0}, {4, 0}}},
	{"locations: an integer cut off",
	 PY_LINES_LOCATIONS,
	 BYTES(0x80, 0, 0xe8),
	 4,
	 {{0, 4}, {2, 0}}},
	{"locations: begins in the middle of an entry",
	 PY_LINES_LOCATIONS,
	 BYTES(0x12, 0x80, 0),
	 4,
	 {{0, 0}, {2, 0}}},
};

static void parse(const struct row *row, struct py_lines *lines)
{
	/* A block of its own size: a sanitizer sees what goes beyond. */
	size_t n = strstr(row->label, "empty, all") ? 0 : row->n_bytes;
	ep_autofree uint8_t *bytes = malloc(n + !n);

	assert_non_null(bytes);
	memcpy(bytes, row->bytes, n);
	assert_int_equal(py_lines_parse(row->format, bytes, n, row->first_line, lines), 0);
}

EP_TEST(lines_are_those_of_the_format)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct py_lines lines = {0};

		parse(row, &lines);
		for (size_t p = 0; p < MAX_POINTS; p++) {
			uint32_t off = row->points[p].off, line = row->points[p].line;

			if (p && !off && !line)
				break;
			if (names_find_line(lines.runs, lines.len, off) != line)
				fail_msg("%s: offset %u: line %u, not %u", row->label, off,
					 names_find_line(lines.runs, lines.len, off), line);
		}
		py_lines_fini(&lines);
	}
}

EP_TEST(equal_lines_share_a_run)
{
	ep_cleanup(py_lines_fini) struct py_lines lines = {0};
	uint8_t bytes[200];

	for (size_t i = 0; i < sizeof(bytes); i += 2) {
		bytes[i] = 0x87;
		bytes[i + 1] = 0x11;
	}
	assert_int_equal(py_lines_parse(PY_LINES_LOCATIONS, bytes, sizeof(bytes), 5, &lines), 0);
	assert_int_equal(lines.len, 2); /* one line, and its end */
	assert_int_equal(lines.runs[1].start, 1600);
}

/* The largest table that is read: as many lines as bytes allow, offsets up to 255 a byte. */
EP_TEST(largest_tables_fit)
{
	static uint8_t bytes[PY_LINES_MAX_BYTES];
	struct py_lines lines = {0};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i % 2 ? 1 : 255;
	assert_int_equal(py_lines_parse(PY_LINES_LNOTAB, bytes, sizeof(bytes), 1, &lines), 0);
	assert_int_equal(lines.len, sizeof(bytes) / 2 + 1);
	assert_int_equal(names_find_line(lines.runs, lines.len, 255 * 1000), 1001);
	py_lines_fini(&lines);

	memset(bytes, 0xdf, sizeof(bytes)); /* one line further, 8 units, no columns: a byte each */
	assert_int_equal(py_lines_parse(PY_LINES_LOCATIONS, bytes, sizeof(bytes), 1, &lines), 0);
	assert_int_equal(lines.len, sizeof(bytes) + 1);
	py_lines_fini(&lines);
}
