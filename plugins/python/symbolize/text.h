/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str objects of the target as UTF-8. A str (PEP 393, Include/cpython/unicodeobject.h) keeps one,
 * two or four bytes for each character, after its head or, when it is not compact, elsewhere:
 *
 *	compact ASCII	| PyASCIIObject | characters
 *	compact		| PyCompactUnicodeObject | characters
 *	not compact	| PyUnicodeObject: data.any ──► characters	subclasses; before 3.12 also
 * others not ready	| PyUnicodeObject: data.any is NULL		before 3.12, wchar_t only:
 * refused
 *
 * Lone surrogates, numbers that are no character, and control characters become U+FFFD: what comes
 * out is one line of valid UTF-8.
 */
#ifndef PY_TEXT_H
#define PY_TEXT_H

#include "plugins/python/symbolize/code_layout.h"
#include "plugins/shared/read/memory.h"

/*
 * At most `size` bytes with the NUL, size >= 8; a longer text ends in "…". 0, -EBADMSG when it is
 * no such object, or what reading returned.
 */
int py_text_read(const struct memory *memory, const struct py_code_layout *layout, uint64_t addr,
		 char *buf, size_t size);

/* n characters of `kind` bytes each; `more`: the text goes on after them. */
void py_text_encode(const uint8_t *data, size_t n, unsigned int kind, bool more, char *buf,
		    size_t size);

#endif
