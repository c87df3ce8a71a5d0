/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/lines.h"

#include "core/base/util.h"
#include "plugins/shared/search.h"
#include "plugins/v8/symbolize/positions.h"

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
 * Space for the lines that n units more may end. A line is a unit at least, and its length takes no
 * more bytes than it has units; but for the last, of no unit, and the one that began before.
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

/* ---- lengths ---- */

#define GROUP 8u /* lines; a divisor of V8_LINES_MARK */

static void add_mark(struct v8_lines *lines, uint32_t start)
{
	if (lines->n_lines % V8_LINES_MARK == 0)
		lines->marks[lines->n_marks++] =
			(struct v8_line_mark){.start = start, .at = lines->n_bytes};
}

static void end_line(struct v8_lines *lines, uint32_t start, uint32_t end)
{
	uint32_t length = end - start;

	add_mark(lines, start);
	for (; length > 0x7f; length >>= 7)
		lines->lengths[lines->n_bytes++] = (uint8_t)(length | 0x80);
	lines->lengths[lines->n_bytes++] = (uint8_t)length;
	lines->n_lines++;
}

/* A group of lines whose lengths are a byte each; false, and nothing done: they are not. */
static inline bool end_group(struct v8_lines *lines, const uint32_t *starts)
{
	uint8_t lengths[GROUP];
	uint32_t all = 0;

	for (uint32_t i = 0; i < GROUP; i++) { /* no branch: compilers make vectors of it */
		uint32_t length = starts[i + 1] - starts[i];

		lengths[i] = (uint8_t)length;
		all |= length;
	}
	if (all > 0x7f)
		return false;
	add_mark(lines, starts[0]);
	memcpy(lines->lengths + lines->n_bytes, lengths, GROUP);
	lines->n_bytes += GROUP;
	lines->n_lines += GROUP;
	return true;
}

/* `n` of them, each from a start to the next one. */
static void end_lines(struct v8_lines *lines, const uint32_t *starts, uint32_t n)
{
	uint32_t i = 0;

	while (i < n) {
		if (lines->n_lines % GROUP == 0 && n - i >= GROUP && end_group(lines, starts + i)) {
			i += GROUP;
		} else {
			end_line(lines, starts[i], starts[i + 1]);
			i++;
		}
	}
	lines->start = starts[n];
}

/* ---- where they end ---- */

#define BLOCK	      64u /* units, a bit each */
#define ALWAYS_INLINE inline __attribute__((always_inline)) /* for each size of units */

/* Bits of "\n" and of "\r"; whole: what ends a line whatever is after it. */
struct ends {
	uint64_t feeds, returns, whole;
};

#ifdef __SSE2__
/* 64 bytes, or what compares of them reported. Nothing here is a loop, which not every compiler
 * unrolls. */
struct block {
	__m128i a, b, c, d;
};

static inline __m128i load(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)at);
}

static inline struct block load_block(const uint8_t *at)
{
	return (struct block){load(at), load(at + 16), load(at + 32), load(at + 48)};
}

/* Units of two bytes as one; what is no byte becomes 0 or 255. */
static inline struct block pack(const struct block *low, const struct block *high)
{
	return (struct block){_mm_packus_epi16(low->a, low->b), _mm_packus_epi16(low->c, low->d),
			      _mm_packus_epi16(high->a, high->b),
			      _mm_packus_epi16(high->c, high->d)};
}

static inline struct block find_byte(const struct block *in, char wanted)
{
	__m128i all = _mm_set1_epi8(wanted);

	return (struct block){_mm_cmpeq_epi8(in->a, all), _mm_cmpeq_epi8(in->b, all),
			      _mm_cmpeq_epi8(in->c, all), _mm_cmpeq_epi8(in->d, all)};
}

static inline __m128i find_separator(__m128i units)
{
	return _mm_cmpeq_epi16(_mm_or_si128(units, _mm_set1_epi16(1)),
			       _mm_set1_epi16(SEPARATORS | 1));
}

/* As signed words: what was found stays 255. */
static inline struct block find_separators(const struct block *low, const struct block *high)
{
	return (struct block){
		_mm_packs_epi16(find_separator(low->a), find_separator(low->b)),
		_mm_packs_epi16(find_separator(low->c), find_separator(low->d)),
		_mm_packs_epi16(find_separator(high->a), find_separator(high->b)),
		_mm_packs_epi16(find_separator(high->c), find_separator(high->d)),
	};
}

static inline bool has_any(const struct block *found)
{
	return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(found->a, found->b),
					      _mm_or_si128(found->c, found->d)));
}

static inline uint64_t get_bits(const struct block *found)
{
	uint32_t low = (uint32_t)_mm_movemask_epi8(found->a) |
		       (uint32_t)_mm_movemask_epi8(found->b) << 16;
	uint32_t high = (uint32_t)_mm_movemask_epi8(found->c) |
			(uint32_t)_mm_movemask_epi8(found->d) << 16;

	return low | (uint64_t)high << 32;
}

static ALWAYS_INLINE void find_ends(const uint8_t *at, bool two_bytes, struct ends *ends)
{
	struct block bytes = load_block(at), found;

	if (two_bytes) {
		struct block high = load_block(at + sizeof(bytes));

		found = find_separators(&bytes, &high);
		bytes = pack(&bytes, &high);
		ends->whole = has_any(&found) ? get_bits(&found) : 0;
	}
	found = find_byte(&bytes, '\n');
	ends->feeds = get_bits(&found);
	ends->whole |= ends->feeds;
	found = find_byte(&bytes, '\r');
	ends->returns = has_any(&found) ? get_bits(&found) : 0;
}
#else
static ALWAYS_INLINE void find_ends(const uint8_t *at, bool two_bytes, struct ends *ends)
{
	for (uint32_t i = 0; i < BLOCK; i++) {
		uint16_t unit = at[i];

		if (two_bytes)
			memcpy(&unit, at + 2 * i, sizeof(unit));
		ends->feeds |= (uint64_t)(unit == '\n') << i;
		ends->returns |= (uint64_t)(unit == '\r') << i;
		ends->whole |= (uint64_t)(unit == '\n' || unit >> 1 == SEPARATORS >> 1) << i;
	}
}
#endif

/* ---- their list ---- */

/* How many a block has a processor cannot foresee: four are written at once, also where there are
 * fewer. */
#define LISTED	(8 * BLOCK)
#define AT_ONCE 4

struct scan {
	struct ends last; /* those of the block before, whose last unit is the top bit */
	uint32_t units, n;
	uint32_t starts[1 + LISTED + AT_ONCE]; /* of the line that has not ended, and n after it */
};

static void scan_begin(struct scan *scan, const struct v8_lines *lines)
{
	scan->last.whole = (uint64_t)lines->has_end << (BLOCK - 1);
	scan->last.returns = (uint64_t)lines->has_return << (BLOCK - 1);
	scan->units = lines->units;
	scan->starts[0] = lines->start;
	scan->n = 0;
}

static void scan_end(const struct scan *scan, struct v8_lines *lines)
{
	end_lines(lines, scan->starts, scan->n);
	lines->units = scan->units;
	lines->has_end = scan->last.whole >> (BLOCK - 1);
	lines->has_return = scan->last.returns >> (BLOCK - 1);
}

/* A bit for each of a block's `n` units that is the first of a line. */
static ALWAYS_INLINE uint64_t find_starts(struct scan *scan, const uint8_t *at, bool two_bytes,
					  uint32_t n)
{
	struct ends ends = {0};
	uint64_t starts;

	find_ends(at, two_bytes, &ends);
	starts = ends.whole << 1 | scan->last.whole >> (BLOCK - 1);
	if ((ends.returns | scan->last.returns) != 0)
		starts |= (ends.returns << 1 | scan->last.returns >> (BLOCK - 1)) & ~ends.feeds;
	scan->last.whole = ends.whole << (BLOCK - n);
	scan->last.returns = ends.returns << (BLOCK - n);
	return starts & UINT64_MAX >> (BLOCK - n);
}

static ALWAYS_INLINE uint64_t list_start(struct scan *scan, uint64_t starts, uint32_t *n)
{
	uint32_t bit = (uint32_t)__builtin_ctzll(starts | 1ull << (BLOCK - 1));

	scan->starts[*n] = scan->units + bit;
	*n += starts != 0;
	return starts & (starts - 1);
}

static ALWAYS_INLINE void list_starts(struct scan *scan, uint64_t starts)
{
	uint32_t n = scan->n + 1;

	while (starts) { /* AT_ONCE */
		starts = list_start(scan, starts, &n);
		starts = list_start(scan, starts, &n);
		starts = list_start(scan, starts, &n);
		starts = list_start(scan, starts, &n);
	}
	scan->n = n - 1;
}

static ALWAYS_INLINE void add_block(struct v8_lines *lines, struct scan *scan, const uint8_t *at,
				    bool two_bytes, uint32_t n)
{
	list_starts(scan, find_starts(scan, at, two_bytes, n));
	scan->units += n;
	if (scan->n > LISTED - BLOCK) {
		end_lines(lines, scan->starts, scan->n);
		scan->starts[0] = lines->start;
		scan->n = 0;
	}
}

static ALWAYS_INLINE void add_units(struct v8_lines *lines, const uint8_t *units, size_t n,
				    bool two_bytes)
{
	uint8_t rest[2 * BLOCK] = {0};
	struct scan scan;

	scan_begin(&scan, lines);
	for (size_t i = 0; i < n; i += BLOCK) {
		const uint8_t *at = units + (i << two_bytes);
		uint32_t in_block = (uint32_t)EP_MIN(n - i, (size_t)BLOCK);

		if (in_block < BLOCK)
			at = memcpy(rest, at, in_block << two_bytes);
		add_block(lines, &scan, at, two_bytes, in_block);
	}
	scan_end(&scan, lines);
}

static size_t get_used(const struct v8_lines *lines)
{
	return lines->n_marks * sizeof(*lines->marks) + lines->n_bytes;
}

int v8_lines_add(struct v8_lines *lines, const void *units, size_t n, bool two_bytes)
{
	int r = reserve(lines, n);

	if (r < 0)
		return r;
	if (two_bytes)
		add_units(lines, units, n, true);
	else
		add_units(lines, units, n, false);
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
	if (lines->has_end || lines->has_return) {
		end_line(lines, lines->start, lines->units);
		lines->start = lines->units;
	}
	lines->has_end = lines->has_return = false;
	end_line(lines, lines->start, lines->units);
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
	size_t n = search_sorted(lines->n_marks, i, lines->marks[i].start <= position);

	return n ? (uint32_t)n - 1 : 0;
}

void v8_lines_find(const struct v8_lines *lines, uint32_t position, uint32_t *ret_line,
		   uint32_t *ret_column)
{
	uint32_t mark = find_mark(lines, position), line = mark * V8_LINES_MARK, start, at;
	uint64_t length;

	*ret_line = 0;
	*ret_column = position;
	if (!lines->n_marks)
		return;
	start = lines->marks[mark].start;
	at = lines->marks[mark].at;
	while (line + 1 < lines->n_lines &&
	       v8_number(lines->lengths, lines->n_bytes, &at, 7 * MAX_LENGTH_BYTES, &length) &&
	       position - start >= length) {
		start += (uint32_t)length;
		line++;
	}
	*ret_line = line;
	*ret_column = position - start;
}
