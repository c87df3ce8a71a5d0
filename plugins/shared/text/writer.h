/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of a target as one line of valid UTF-8 (RFC 3629) in a buffer: what is no character, and
 * control characters, C1's and U+2028 and U+2029 included, become U+FFFD; what does not fit ends in
 * "…". Nothing is allocated.
 *
 *	struct text_writer writer = {.buf = buf, .size = size};
 *
 *	text_put(&writer, 'a');
 *	text_end(&writer, false);
 */
#ifndef TEXT_WRITER_H
#define TEXT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_REPLACEMENT 0xfffd

struct text_writer {
	char *buf;
	size_t size; /* with the NUL; 8 at least */
	size_t used;
	size_t cut;    /* the last end that leaves space for "…" and the NUL */
	uint32_t high; /* the first half of a pair of UTF-16 units, 0: none */
	bool is_full;  /* something did not fit: no more is taken */
};

/* A character's number. */
void text_put(struct text_writer *writer, uint32_t character);

/* A unit of UTF-16: two of them may be one character, one half alone is none. */
void text_put_unit(struct text_writer *writer, uint32_t unit);

/* Bytes of UTF-8: those that are no character, overlong ones too, are U+FFFD each. */
void text_put_utf8(struct text_writer *writer, const uint8_t *text, size_t bytes);
/* The same, to its NUL. */
static inline void text_put_string(struct text_writer *writer, const char *text)
{
	text_put_utf8(writer, (const uint8_t *)text, strlen(text));
}

/* `more`: the text goes on, but is not read. The buffer ends in NUL then. */
void text_end(struct text_writer *writer, bool more);

#endif
