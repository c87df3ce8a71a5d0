/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"

#include <string.h>

#define HIGH_BITS 0x8080808080808080ull

/* Unicode 15.0, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t ep_utf8_len(const char *text, size_t bytes)
{
	const unsigned char *str = (const unsigned char *)text;
	unsigned char lead, low = 0x80, high = 0xbf;
	size_t need;

	if (!bytes)
		return 0;
	lead = str[0];
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	need = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf4)
		high = 0x8f;
	if (bytes < need || str[1] < low || str[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++) {
		if ((str[i] & 0xc0) != 0x80)
			return 0;
	}
	return need;
}

#define EACH_BYTE(byte) (0x0101010101010101ull * (byte))

/* None of the eight bytes needs a look of its own. A borrow only follows a byte that does. */
static bool is_plain_text(uint64_t eight)
{
	uint64_t deleted = eight ^ EACH_BYTE(0x7f);

	return !((eight | (eight - EACH_BYTE(0x20)) | (deleted - EACH_BYTE(1))) & HIGH_BITS);
}

/* Eight bytes at a time: nearly all text is ASCII. */
static size_t skip_plain(const char *text, size_t bytes)
{
	size_t i = 0;

	while (i + 8 <= bytes && is_plain_text(ep_get_u64(text + i)))
		i += 8;
	return i;
}

/* As ep_utf8_len, but 0 for control characters as well: C0, DEL, and C1, which are U+0080 to U+009F. */
static size_t clean_len(const char *text, size_t bytes)
{
	size_t n = ep_utf8_len(text, bytes);
	unsigned char first = (unsigned char)text[0];

	if (n == 1)
		return first >= 0x20 && first != 0x7f ? 1 : 0;
	return n == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0 ? 0 : n;
}

bool ep_utf8_is_clean(const char *text, size_t bytes)
{
	for (size_t i = skip_plain(text, bytes); i < bytes;) {
		size_t n = clean_len(text + i, bytes - i);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

void ep_utf8_clean(const char *text, size_t bytes, char *ret_text)
{
	for (size_t i = 0; i < bytes;) {
		size_t n = clean_len(text + i, bytes - i);

		if (n == 0) {
			ret_text[i++] = '?';
			continue;
		}
		memmove(ret_text + i, text + i, n);
		i += n;
	}
}

size_t ep_utf8_cut(const char *text, size_t bytes, size_t max)
{
	size_t end = max;

	if (bytes <= max)
		return bytes;
	/* text[end] is the first byte that is left out: it must not continue a sequence */
	while (end > 0 && max - end < 3 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	return ((unsigned char)text[end] & 0xc0) == 0x80 ? max : end;
}
