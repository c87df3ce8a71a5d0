/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/text/writer.h"

#include <string.h>

#define ELLIPSIS       0x2026
#define ELLIPSIS_BYTES 3
#define MAX_CHARACTER  0x10ffff

static bool is_high(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

static bool is_shown(uint32_t character)
{
	return character >= 0x20 && !(character >= 0x7f && character < 0xa0) &&
	       !is_high(character) && !is_low(character) && character != 0x2028 &&
	       character != 0x2029 && character <= MAX_CHARACTER;
}

/* Its length; up to 4 bytes. */
static size_t encode(char *out, uint32_t character)
{
	if (character < 0x80) {
		out[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		out[0] = (char)(0xc0 | character >> 6);
		out[1] = (char)(0x80 | (character & 63));
		return 2;
	}
	if (character < 0x10000) {
		out[0] = (char)(0xe0 | character >> 12);
		out[1] = (char)(0x80 | (character >> 6 & 63));
		out[2] = (char)(0x80 | (character & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | character >> 18);
	out[1] = (char)(0x80 | (character >> 12 & 63));
	out[2] = (char)(0x80 | (character >> 6 & 63));
	out[3] = (char)(0x80 | (character & 63));
	return 4;
}

void text_put(struct text_writer *writer, uint32_t character)
{
	char encoded[4];
	size_t len;

	if (writer->is_full)
		return;
	len = encode(encoded, is_shown(character) ? character : TEXT_REPLACEMENT);
	if (writer->used + ELLIPSIS_BYTES + 1 <= writer->size)
		writer->cut = writer->used;
	if (writer->used + len + 1 > writer->size) {
		writer->is_full = true;
		return;
	}
	memcpy(writer->buf + writer->used, encoded, len);
	writer->used += len;
}

void text_put_unit(struct text_writer *writer, uint32_t unit)
{
	uint32_t high = writer->high;

	writer->high = 0;
	if (high && is_low(unit)) {
		text_put(writer, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
		return;
	}
	if (high)
		text_put(writer, TEXT_REPLACEMENT);
	if (is_high(unit))
		writer->high = unit;
	else
		text_put(writer, unit);
}

/* Bytes of the character that begins there; 0: it is none. */
static size_t decode(const uint8_t *text, size_t bytes, uint32_t *ret)
{
	static const uint32_t first_of[] = {0, 0, 0x80, 0x800, 0x10000}; /* by length */
	size_t len = text[0] < 0x80 ? 1 : text[0] < 0xc0 ? 0 : text[0] < 0xe0 ? 2 :
		     text[0] < 0xf0 ? 3 : text[0] < 0xf8 ? 4 : 0;
	uint32_t character = len > 1 ? text[0] & (0x7fu >> len) : text[0];

	if (len == 0 || len > bytes)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3f);
	}
	if (character < first_of[len])
		return 0;
	*ret = character;
	return len;
}

void text_put_utf8(struct text_writer *writer, const uint8_t *text, size_t bytes)
{
	for (size_t at = 0; at < bytes && !writer->is_full;) {
		uint32_t character = TEXT_REPLACEMENT;
		size_t len = decode(text + at, bytes - at, &character);

		text_put(writer, character);
		at += len ? len : 1;
	}
}

void text_end(struct text_writer *writer, bool more)
{
	if (writer->high) {
		writer->high = 0;
		text_put(writer, TEXT_REPLACEMENT);
	}
	if (more || writer->is_full) {
		if (writer->used + ELLIPSIS_BYTES + 1 > writer->size)
			writer->used = writer->cut;
		writer->used += encode(writer->buf + writer->used, ELLIPSIS);
	}
	writer->buf[writer->used] = '\0';
}
