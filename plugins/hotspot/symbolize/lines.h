/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method's compressed line number table (CompressedLineNumberReadStream::read_pair,
 * share/oops/method.cpp, the same in 8 to 27):
 *
 *	0			the end
 *	0xff, signed, signed	both UNSIGNED5: add to bci, to line
 *	any other byte		bci += byte >> 3, line += byte & 7
 *
 * The pairs are sorted by bci as a rule, not always. A line is looked up as the VM does it
 * (Method::line_number_from_bci): the first pair of exactly that bci, else the last one of the
 * nearest bci below.
 */
#ifndef HOTSPOT_LINES_H
#define HOTSPOT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOTSPOT_MAX_BYTECODES 65536 /* JVMS 4.7.3: code_length is less */

struct hotspot_line {
	uint16_t bci;
	uint16_t file; /* 0: the class's own; else one of the source map's: methods.c */
	uint32_t line;
};

struct hotspot_lines {
	struct hotspot_line *runs; /* ascending by bci, pairs of one bci as they were */
	size_t len;
};

/*
 * The table at the beginning of n bytes, of a method of code_bytes. *excluded (unsigned5.h) is the
 * guess before and what the table shows after. 0, -EBADMSG (no such table), -ENOMEM.
 */
int hotspot_lines_parse(const uint8_t *bytes, size_t n, uint32_t code_bytes, uint32_t *excluded,
			struct hotspot_lines *ret);
void hotspot_lines_fini(struct hotspot_lines *lines);

/* NULL: no line. */
const struct hotspot_line *hotspot_lines_find(const struct hotspot_line *runs, size_t n,
					      uint32_t bci);

#endif
