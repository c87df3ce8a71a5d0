/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the lines of a script begin. V8 makes such a table (Script::line_ends) only when somebody
 * asks for a line, so this one is made from the source, once and in pieces, as
 * String::CalculateLineEnds does it (objects/string.cc; strings/unicode.h,
 * IsLineTerminatorSequence): a line ends at "\n", at "\r" without "\n" after it, at U+2028 and
 * U+2029.
 *
 *	marks: every 64th line: where it begins, and its place in the lengths
 *	lengths of lines, with their terminators, each 7 bits a byte, lower ones first
 */
#ifndef V8_LINES_H
#define V8_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define V8_LINES_PIECE (64u << 10)
#define V8_LINES_MARK  64u
/* Bytes of a table with its marks; adding a piece may exceed it. A larger table is not kept, but
 * made for each place. */
#define V8_LINES_MAX_BYTES ((2u << 20) - 4096)

struct v8_line_mark {
	uint32_t start, at;
};

struct v8_lines {
	struct v8_line_mark *marks;
	uint8_t *lengths;
	uint32_t n_lines, n_marks, n_bytes;
	uint32_t max_marks, max_bytes;
	uint32_t start;	  /* of the last line */
	uint32_t units;	  /* seen so far */
	bool has_end;	  /* the last unit ended a line for sure */
	bool has_return;  /* or was "\r" */
};

/*
 * A zeroed one is one line of nothing; add the source piece by piece. 0, -ENOMEM; -E2BIG: it would
 * be larger than a table may be.
 */
int v8_lines_add(struct v8_lines *lines, const void *units, size_t n, bool two_bytes);
int v8_lines_end(struct v8_lines *lines); /* after the last piece */
void v8_lines_fini(struct v8_lines *lines);
size_t v8_lines_bytes(const struct v8_lines *lines);

/* Line and column of a position, both from 0. */
void v8_lines_find(const struct v8_lines *lines, uint32_t position, uint32_t *ret_line,
		   uint32_t *ret_column);

#endif
