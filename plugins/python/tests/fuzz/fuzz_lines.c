/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's line tables. Whatever the bytes are: the runs ascend, and a look-up gives what going
 * through the table one entry at a time gives, as PyCode_Addr2Line does it.
 */
#include "plugins/python/symbolize/code.h"
#include "plugins/python/symbolize/line_table.h"
#include "tests/kit/fuzz.h"

#define HEAD_BYTES 5
#define MAX_SLOW   1024 /* tables up to this size are gone through for some offsets */

static uint32_t clean(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t slow_lnotab(const uint8_t *bytes, size_t n, int64_t line, uint32_t off)
{
	uint32_t at = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		at += bytes[i];
		if (at > off)
			break;
		line += (int8_t)bytes[i + 1];
	}
	return clean(line);
}

static uint32_t slow_ranges(const uint8_t *bytes, size_t n, int64_t line, uint32_t off)
{
	uint32_t end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		end += bytes[i];
		if (bytes[i + 1] != 0x80)
			line += (int8_t)bytes[i + 1];
		if (off < end)
			return bytes[i + 1] == 0x80 ? 0 : clean(line);
	}
	return 0;
}

/* The signed integer behind an entry's first byte; false when there is none of 32 bits. */
static int slow_signed(const uint8_t *bytes, size_t n, size_t i, int64_t *line)
{
	uint64_t value = 0;

	for (unsigned int k = 0; k < 6; k++) {
		if (i + k >= n)
			return 0;
		value += (uint64_t)(bytes[i + k] % 64) << 6 * k;
		if (!(bytes[i + k] & 64)) {
			*line += value % 2 ? -(int64_t)(value / 2) : (int64_t)(value / 2);
			return 1;
		}
	}
	return 0;
}

static uint32_t slow_locations(const uint8_t *bytes, size_t n, int64_t line, uint32_t off)
{
	uint32_t end = 0;
	size_t i = 0;

	while (i < n && bytes[i] >= 128) {
		unsigned int code = bytes[i] / 8 % 16;

		if ((code == 13 || code == 14) && !slow_signed(bytes, n, i + 1, &line))
			return 0;
		line += code == 11 ? 1 : code == 12 ? 2 : 0;
		end += 2 * (bytes[i] % 8 + 1);
		if (off < end)
			return code == 15 ? 0 : clean(line);
		for (i++; i < n && bytes[i] < 128;)
			i++;
	}
	return 0;
}

static uint32_t slow(enum py_line_format format, const uint8_t *bytes, size_t n, int64_t line,
		     uint32_t off)
{
	if (format == PY_LINES_LNOTAB)
		return slow_lnotab(bytes, n, line, off);
	if (format == PY_LINES_RANGES)
		return slow_ranges(bytes, n, line, off);
	return slow_locations(bytes, n, line, off);
}

static void check_offset(const struct py_lines *lines, enum py_line_format format,
			 const uint8_t *bytes, size_t n, int32_t first_line, uint32_t off)
{
	uint32_t fast = py_lines_find(lines->runs, lines->len, off);

	if (fast != slow(format, bytes, n, first_line, off)) {
		fprintf(stderr, "format %d: offset %u: %u, not %u\n", (int)format, off, fast,
			slow(format, bytes, n, first_line, off));
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum py_line_format format;
	struct py_lines lines = {0};
	int32_t first_line;

	if (size < HEAD_BYTES)
		return 0;
	format = (enum py_line_format)(data[0] % 4); /* one that does not exist, too */
	memcpy(&first_line, data + 1, sizeof(first_line));
	data += HEAD_BYTES;
	size -= HEAD_BYTES;
	if (size > PY_LINES_MAX_BYTES)
		size = PY_LINES_MAX_BYTES;
	if (py_lines_parse(format, data, size, first_line, &lines) < 0)
		abort();
	if (lines.len < 1 || lines.len > size + 1)
		abort();
	for (size_t i = 1; i < lines.len; i++) {
		if (lines.runs[i].start <= lines.runs[i - 1].start)
			abort();
	}
	for (size_t i = 0; size <= MAX_SLOW && i < lines.len; i++) {
		uint32_t start = lines.runs[i].start;

		check_offset(&lines, format, data, size, first_line, start);
		check_offset(&lines, format, data, size, first_line, start + 1);
		if (start)
			check_offset(&lines, format, data, size, first_line, start - 1);
	}
	py_lines_fini(&lines);
	return 0;
}
