/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/lines.h"

#include "core/base/util.h"

#include <errno.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MAX_LENGTH_BYTES 5 /* of 32 bits, 7 at a time */
#define SEPARATORS	 0x2028 /* and 0x2029 */

static int grow(void **array, uint32_t *max, uint64_t need, size_t bytes)
{
	uint64_t more = EP_MAX((uint64_t)*max + *max / 2, need);
	void *grown;

	if (need <= *max)
		return 0;
	if (more > UINT32_MAX)
		return -ENOMEM;
	grown = realloc(*array, more * bytes);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*max = (uint32_t)more;
	return 0;
}

/*
 * Room for the lines that n units more may end. A line is a unit at least, and its length takes no more bytes
 * than it has units; but for the last, of no unit, and the one that began before.
 */
static int reserve(struct v8_lines *lines, size_t n)
{
	int r = grow((void **)&lines->lengths, &lines->max_bytes,
		     (uint64_t)lines->n_bytes + n + 2 * MAX_LENGTH_BYTES, 1);

	if (r < 0)
		return r;
	return grow((void **)&lines->marks, &lines->max_marks,
		    lines->n_marks + (n + 2) / V8_LINES_MARK + 2, sizeof(*lines->marks));
}

/* The last line goes up to `end`. */
static inline void end_line(struct v8_lines *lines, uint32_t end)
{
	uint32_t length = end - lines->start;

	if (lines->n_lines++ % V8_LINES_MARK == 0)
		lines->marks[lines->n_marks++] =
			(struct v8_line_mark){.start = lines->start, .at = lines->n_bytes};
	for (; length > 0x7f; length >>= 7)
		lines->lengths[lines->n_bytes++] = (uint8_t)(length | 0x80);
	lines->lengths[lines->n_bytes++] = (uint8_t)length;
	lines->start = end;
}

/* One unit that may end a line; `at` is its position. */
static inline void add_unit(struct v8_lines *lines, uint32_t unit, uint32_t at)
{
	if (lines->has_return && !(unit == '\n' && at == lines->units))
		end_line(lines, lines->units);
	lines->has_return = unit == '\r';
	lines->units = at + 1;
	if (unit == '\n' || unit >> 1 == SEPARATORS >> 1)
		end_line(lines, at + 1);
}

static bool may_end(uint32_t unit)
{
	return unit == '\n' || unit == '\r' || unit >> 1 == SEPARATORS >> 1;
}

#ifdef __SSE2__
#define BLOCK 64u /* bytes */

/* A bit for each of 16 bytes, two for each unit of two bytes, that may be the end of a line. */
static inline uint64_t find_in_16(const uint8_t *at, bool two_bytes)
{
	__m128i block = _mm_loadu_si128((const __m128i *)at), found;

	if (!two_bytes) {
		found = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('\n')),
				     _mm_cmpeq_epi8(block, _mm_set1_epi8('\r')));
		return (uint32_t)_mm_movemask_epi8(found);
	}
	found = _mm_or_si128(_mm_cmpeq_epi16(block, _mm_set1_epi16('\n')),
			     _mm_cmpeq_epi16(block, _mm_set1_epi16('\r')));
	found = _mm_or_si128(found, _mm_cmpeq_epi16(_mm_or_si128(block, _mm_set1_epi16(1)),
						    _mm_set1_epi16(SEPARATORS | 1)));
	return (uint32_t)_mm_movemask_epi8(found) & 0x5555;
}

static inline uint64_t find_ends(const uint8_t *at, bool two_bytes)
{
	return find_in_16(at, two_bytes) | find_in_16(at + 16, two_bytes) << 16 |
	       find_in_16(at + 32, two_bytes) << 32 | find_in_16(at + 48, two_bytes) << 48;
}
#else
#define BLOCK 1u /* each by itself: add_rest */

static inline uint64_t find_ends(const uint8_t *at, bool two_bytes)
{
	(void)at;
	(void)two_bytes;
	return 0;
}
#endif

static uint32_t get_unit(const uint8_t *bytes, size_t i, bool two_bytes)
{
	uint16_t unit;

	if (!two_bytes)
		return bytes[i];
	memcpy(&unit, bytes + 2 * i, sizeof(unit));
	return unit;
}

static void add_rest(struct v8_lines *lines, const uint8_t *bytes, size_t from, size_t n,
		     bool two_bytes, uint32_t base)
{
	for (size_t i = from; i < n; i++) {
		uint32_t unit = get_unit(bytes, i, two_bytes);

		if (may_end(unit) || lines->has_return)
			add_unit(lines, unit, base + (uint32_t)i);
	}
}

static size_t get_used(const struct v8_lines *lines)
{
	return lines->n_marks * sizeof(*lines->marks) + lines->n_bytes;
}

int v8_lines_add(struct v8_lines *lines, const void *units, size_t n, bool two_bytes)
{
	const uint8_t *bytes = units;
	size_t per_block = EP_MAX(BLOCK >> two_bytes, 1u), i = 0;
	uint32_t base = lines->units;
	int r = reserve(lines, n);

	if (r < 0)
		return r;
	for (; i + per_block <= n && per_block > 1; i += per_block) {
		uint64_t ends = find_ends(bytes + (i << two_bytes), two_bytes);

		for (; ends; ends &= ends - 1) {
			size_t at = i + ((uint32_t)__builtin_ctzll(ends) >> two_bytes);

			add_unit(lines, get_unit(bytes, at, two_bytes), base + (uint32_t)at);
		}
	}
	add_rest(lines, bytes, i, n, two_bytes, base);
	/* Where something else came behind it, "\r" does not wait for the next piece. */
	if (lines->has_return && lines->units != base + n)
		add_unit(lines, 0, base + (uint32_t)n - 1);
	lines->units = base + (uint32_t)n;
	return get_used(lines) <= V8_LINES_MAX_BYTES ? 0 : -E2BIG;
}

/* What was kept for lines that did not come is given back. */
static void trim(struct v8_lines *lines)
{
	void *marks = realloc(lines->marks, lines->n_marks * sizeof(*lines->marks));
	void *lengths = realloc(lines->lengths, lines->n_bytes);

	if (marks) {
		lines->marks = marks;
		lines->max_marks = lines->n_marks;
	}
	if (lengths) {
		lines->lengths = lengths;
		lines->max_bytes = lines->n_bytes;
	}
}

int v8_lines_end(struct v8_lines *lines)
{
	int r = reserve(lines, 1);

	if (r < 0)
		return r;
	if (lines->has_return)
		end_line(lines, lines->units);
	lines->has_return = false;
	end_line(lines, lines->units);
	trim(lines);
	return get_used(lines) <= V8_LINES_MAX_BYTES ? 0 : -E2BIG;
}

void v8_lines_fini(struct v8_lines *lines)
{
	free(lines->marks);
	free(lines->lengths);
	*lines = (struct v8_lines){0};
}

size_t v8_lines_bytes(const struct v8_lines *lines)
{
	return lines->max_marks * sizeof(*lines->marks) + lines->max_bytes;
}

/* The last mark at or before it. */
static uint32_t find_mark(const struct v8_lines *lines, uint32_t position)
{
	uint32_t low = 0, high = lines->n_marks;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (lines->marks[middle].start <= position)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint32_t get_length(const struct v8_lines *lines, uint32_t *at)
{
	uint32_t length = 0;

	for (uint32_t shift = 0; *at < lines->n_bytes && shift < 7 * MAX_LENGTH_BYTES; shift += 7) {
		uint8_t byte = lines->lengths[(*at)++];

		length |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return length;
}

void v8_lines_find(const struct v8_lines *lines, uint32_t position, uint32_t *ret_line,
		   uint32_t *ret_column)
{
	uint32_t mark = find_mark(lines, position), line = mark * V8_LINES_MARK, start, at;

	*ret_line = 0;
	*ret_column = position;
	if (!lines->n_marks)
		return;
	start = lines->marks[mark].start;
	at = lines->marks[mark].at;
	while (line + 1 < lines->n_lines) {
		uint32_t length = get_length(lines, &at);

		if (position - start < length)
			break;
		start += length;
		line++;
	}
	*ret_line = line;
	*ret_column = position - start;
}
