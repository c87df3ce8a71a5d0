/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LNOTAB, 3.6 to 3.9 (Objects/lnotab_notes.txt and PyCode_Addr2Line in Objects/codeobject.c,
 * v3.9.18): pairs of bytes. Code begins on the first line; what follows an offset is on the sum of
 * all increments up to it.
 *
 *	| offset += unsigned | line += signed | ...
 *
 * RANGES, 3.10 (Objects/lnotab_notes.txt v3.10.13, advance() in Objects/codeobject.c): pairs too,
 * each a range of instructions and the change to *its* line. -128: the range has no line, and the
 * count stays.
 *
 *	| length, bytes, unsigned | line += signed | ...
 *
 * LOCATIONS, 3.11 and newer (Objects/locations.md v3.11.7, InternalDocs/code_objects.md v3.14.0):
 * entries of a byte with bit 7 set and bytes without it. Little-endian integers of 6 bits a byte,
 * bit 6 set in all but the last; signed ones have the sign in bit 0.
 *
 *	| 1 | code:4 | length - 1:3, in units of 2 bytes |  rest by code
 *	    0-9    same line		1 byte of columns
 *	    10-12  line += code - 10	2 bytes of columns
 *	    13     line += signed
 *	    14     line += signed	3 integers: end line, columns
 *	    15     no line, and the count stays
 */
#include "plugins/python/symbolize/lines.h"

#include "core/base/vec.h"
#include "plugins/python/symbolize/names.h"

#include <errno.h>

#define CODE_UNIT_BYTES	  2
#define RANGES_NO_LINE	  (-128)
#define LOCATION_ONE_LINE 10
#define LOCATION_SIGNED	  13
#define LOCATION_LONG	  14
#define LOCATION_NONE	  15

struct parser {
	const uint8_t *next, *end;
	struct ep_vec runs; /* of struct names_run */
	uint64_t off; /* where the next range begins: at most 255 for each byte of the table */
	int64_t line;
};

static int add_run(struct parser *parser, int64_t line)
{
	struct names_run run = {
		.start = (uint32_t)parser->off,
		.line = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0,
	};
	struct names_run *runs = parser->runs.data;
	size_t len = parser->runs.len;

	if (len && runs[len - 1].start == run.start) /* an empty one */
		len = --parser->runs.len;
	if (len && runs[len - 1].line == run.line)
		return 0;
	return ep_vec_append(&parser->runs, &run, 1);
}

/* The last line holds to the end of the code, wherever that is. */
static int parse_lnotab(struct parser *parser)
{
	int r = add_run(parser, parser->line);

	while (r == 0 && parser->end - parser->next >= 2) {
		parser->off += parser->next[0];
		parser->line += (int8_t)parser->next[1];
		parser->next += 2;
		r = add_run(parser, parser->line);
	}
	return r;
}

static int parse_ranges(struct parser *parser)
{
	int r = 0;

	while (r == 0 && parser->end - parser->next >= 2) {
		int8_t delta = (int8_t)parser->next[1];

		if (delta != RANGES_NO_LINE)
			parser->line += delta;
		r = add_run(parser, delta != RANGES_NO_LINE ? parser->line : 0);
		parser->off += parser->next[0];
		parser->next += 2;
	}
	return r < 0 ? r : add_run(parser, 0);
}

/*
 * The number at parser->next, which stays: entries are distinguished by bit 7 alone, as advance()
 * does. 0 or -EBADMSG: it goes on after the table, or has more than 32 bits.
 */
static int read_signed(const struct parser *parser, int64_t *ret)
{
	const uint8_t *next = parser->next;
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (next == parser->end || shift > 30)
			return -EBADMSG;
		byte = *next++;
		value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	*ret = value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	return 0;
}

/* After the entry's first byte, to the next entry. The line's change and whether there is one. */
static int read_location(struct parser *parser, unsigned int code, int64_t *ret_delta)
{
	int r = 0;

	*ret_delta = 0;
	if (code == LOCATION_SIGNED || code == LOCATION_LONG)
		r = read_signed(parser, ret_delta);
	else if (code >= LOCATION_ONE_LINE && code != LOCATION_NONE)
		*ret_delta = code - LOCATION_ONE_LINE;
	while (parser->next < parser->end && !(*parser->next & 0x80))
		parser->next++;
	return r;
}

static int parse_locations(struct parser *parser)
{
	int r = 0;

	while (r == 0 && parser->next < parser->end && *parser->next & 0x80) {
		uint8_t first = *parser->next++;
		unsigned int code = first >> 3 & 15;
		int64_t delta;

		if (read_location(parser, code, &delta) < 0)
			break;
		parser->line += delta;
		r = add_run(parser, code == LOCATION_NONE ? 0 : parser->line);
		parser->off += ((first & 7) + 1) * CODE_UNIT_BYTES;
	}
	return r < 0 ? r : add_run(parser, 0);
}

int py_lines_parse(enum py_line_format format, const uint8_t *bytes, size_t n_bytes,
		   int32_t first_line, struct py_lines *ret_lines)
{
	struct parser parser = {.next = bytes, .end = bytes + n_bytes, .line = first_line};
	int r;

	ep_vec_init(&parser.runs, sizeof(struct names_run), PY_LINES_MAX_BYTES + 2);
	if (format == PY_LINES_LNOTAB)
		r = parse_lnotab(&parser);
	else if (format == PY_LINES_RANGES)
		r = parse_ranges(&parser);
	else
		r = parse_locations(&parser);
	if (r < 0) {
		ep_vec_fini(&parser.runs);
		return -ENOMEM;
	}
	*ret_lines = (struct py_lines){.runs = parser.runs.data, .len = parser.runs.len};
	return 0;
}

void py_lines_fini(struct py_lines *lines)
{
	free(lines->runs);
	*lines = (struct py_lines){0};
}
