/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from demangle.c, which needs libiberty: the test kit that is installed has this alone. */
#include "core/symbol/demangle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 sequence at `text` (RFC 3629, section 4), or 0 when it is none. */
static size_t utf8_sequence(const unsigned char *text)
{
	unsigned char first = text[0];
	uint32_t code;
	size_t len;

	if (first < 0x80)
		return 1;
	len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	code = first & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (len == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000)))
		return 0;
	if (len == 4 && (code < 0x10000 || code > 0x10ffff))
		return 0;
	return len;
}

/* C0, DEL and C1 (U+0080 to U+009F) drive terminals. */
static bool is_control(const unsigned char *at)
{
	return *at < 0x20 || *at == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0);
}

void ep_name_clean(char *name)
{
	unsigned char *at = (unsigned char *)name;

	while (*at) {
		size_t len = utf8_sequence(at);

		if (!len || is_control(at)) {
			*at++ = '?';
			continue;
		}
		at += len;
	}
}
