/* SPDX-License-Identifier: Apache-2.0 */
/* https://www.rfc-editor.org/rfc/rfc2781: units of 16 bits, of which two surrogates are one character. */
#include "reports/read/utf16.h"

#include <errno.h>
#include <string.h>

#define REPLACEMENT 0xfffdu
#define HIGH_FIRST  0xd800u
#define LOW_FIRST   0xdc00u
#define LOW_END	    0xe000u

struct units {
	const uint8_t *at, *end;
	bool is_big;
};

static uint32_t unit_at(const struct units *units, const uint8_t *at)
{
	return units->is_big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

/* The next character; false at the end. A last byte alone is half of one. */
static bool next_char(struct units *units, uint32_t *ret_char)
{
	uint32_t unit, low;

	if (units->at == units->end)
		return false;
	*ret_char = REPLACEMENT;
	if (units->end - units->at < 2) {
		units->at = units->end;
		return true;
	}
	unit = unit_at(units, units->at);
	units->at += 2;
	if (unit < HIGH_FIRST || unit >= LOW_END) {
		*ret_char = unit;
		return true;
	}
	low = unit < LOW_FIRST && units->end - units->at >= 2 ? unit_at(units, units->at) : 0;
	if (low >= LOW_FIRST && low < LOW_END) {
		*ret_char = 0x10000 + ((unit - HIGH_FIRST) << 10) + (low - LOW_FIRST);
		units->at += 2;
	}
	return true;
}

static size_t utf8_bytes(uint32_t c)
{
	return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static uint8_t *put_utf8(uint8_t *to, uint32_t c)
{
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = utf8_bytes(c);

	for (size_t i = n; i-- > 1; c >>= 6)
		to[i] = 0x80 | (c & 0x3f);
	to[0] = (uint8_t)(first[n] | c);
	return to + n;
}

static int recode(struct units units, struct ep_vec *text)
{
	struct units again = units;
	size_t len = 0;
	uint8_t *to;
	uint32_t c;
	int r;

	while (next_char(&units, &c))
		len += utf8_bytes(c);
	r = ep_vec_reserve(text, len + 1);
	if (r < 0)
		return r;
	to = text->data;
	while (next_char(&again, &c))
		to = put_utf8(to, c);
	text->len = len;
	return 0;
}

int ep_utf16_decode(struct ep_vec *bytes, const char **ret_why)
{
	const uint8_t *data = bytes->data;
	struct ep_vec text;
	int r;

	if (bytes->len < 2 || (memcmp(data, "\xff\xfe", 2) != 0 && memcmp(data, "\xfe\xff", 2) != 0))
		return 0;
	if (bytes->len >= 4 && memcmp(data, "\xff\xfe\0\0", 4) == 0) {
		*ret_why = "is text in UTF-32: write it anew with `iconv -f UTF-32 -t UTF-8`, and read that";
		return -EBADMSG;
	}
	ep_vec_init(&text, 1, bytes->max);
	r = recode((struct units){.at = data + 2, .end = data + bytes->len, .is_big = data[0] == 0xfe}, &text);
	if (r < 0) {
		ep_vec_fini(&text);
		return r;
	}
	ep_vec_fini(bytes);
	*bytes = text;
	return 0;
}

static bool is_latin(uint8_t byte)
{
	return byte >= ' ' && byte < 0x7f;
}

bool ep_utf16_is_likely(const struct ep_vec *bytes)
{
	const uint8_t *data = bytes->data;

	if (bytes->len < 4)
		return false;
	return (is_latin(data[0]) && !data[1] && is_latin(data[2]) && !data[3]) ||
	       (!data[0] && is_latin(data[1]) && !data[2] && is_latin(data[3]));
}
