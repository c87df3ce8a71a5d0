/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8's strings as UTF-8 (objects/string.h): what is no such text, and control characters, become
 * U+FFFD: what comes out is one line.
 */
#ifndef V8_TEXT_H
#define V8_TEXT_H

#include "plugins/v8/symbolize/heap.h"

/* The characters of a string that has them in one place. */
struct v8_flat {
	uint64_t chars; /* address of the first */
	uint32_t length;
	bool two_bytes;
};

/* -EBADMSG: no string; -ENOTSUP: in several places, or kept by the embedder without a cached
 * address. */
int v8_string_flat(struct v8_heap *heap, uint64_t string, struct v8_flat *ret);

/*
 * At most `size` bytes with the NUL, size >= 8; a longer text ends in "…". -EBADMSG: no string;
 * -ENOTSUP: as above, or in too many pieces.
 */
int v8_string_read(struct v8_heap *heap, uint64_t string, char *buf, size_t size);
/* The same, and "" where there is no string that can be read: as a rule it is undefined. */
int v8_string_or_none(struct v8_heap *heap, uint64_t string, char *buf, size_t size);

#endif
