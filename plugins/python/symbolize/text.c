/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/python/symbolize/text.h"

#include "core/base/util.h"
#include "plugins/python/symbolize/code.h"

#include <errno.h>
#include <string.h>

#define REPLACEMENT    0xfffd
#define ELLIPSIS       0x2026
#define ELLIPSIS_BYTES 3
#define PAGE_BYTES     4096 /* the smallest there is */
#define GUESS_BYTES    256  /* nearly every name and path with its head */
#define MAX_CHARACTERS PY_FILE_BYTES

struct text {
	uint64_t data_addr;
	uint64_t len; /* characters */
	unsigned int kind;
};

static uint32_t get_character(const uint8_t *data, size_t i, unsigned int kind)
{
	uint32_t character = 0;

	memcpy(&character, data + i * kind, kind); /* little-endian targets only */
	if (character < 0x20 || (character >= 0x7f && character < 0xa0) || character > 0x10ffff ||
	    (character >= 0xd800 && character < 0xe000))
		return REPLACEMENT;
	return character;
}

/* Its length; up to 4 bytes. RFC 3629. */
static size_t put_character(char *out, uint32_t character)
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

void py_text_encode(const uint8_t *data, size_t n, unsigned int kind, bool more, char *buf,
		    size_t size)
{
	size_t used = 0,
	       cut = 0; /* cut: the last end that leaves room for the ellipsis and the NUL */

	for (size_t i = 0; i < n; i++) {
		char encoded[4];
		size_t len = put_character(encoded, get_character(data, i, kind));

		if (used + ELLIPSIS_BYTES + 1 <= size)
			cut = used;
		if (used + len + 1 > size) {
			more = true;
			break;
		}
		memcpy(buf + used, encoded, len);
		used += len;
	}
	if (more) {
		if (used + ELLIPSIS_BYTES + 1 > size)
			used = cut;
		used += put_character(buf + used, ELLIPSIS);
	}
	buf[used] = '\0';
}

static uint64_t get_word(const uint8_t *head, size_t off)
{
	uint64_t word;

	memcpy(&word, head + off, sizeof(word));
	return word;
}

static int parse_head(const struct py_code_layout *layout, uint64_t addr, const uint8_t *head,
		      size_t bytes, struct text *ret)
{
	struct text text = {0};
	uint32_t state, bits;

	if (layout->str_length + 8u > bytes || layout->str_state + 4u > bytes ||
	    layout->str_any + 8u > GUESS_BYTES)
		return -EBADMSG;
	text.len = get_word(head, layout->str_length);
	memcpy(&state, head + layout->str_state, sizeof(state));
	bits = state >> layout->str_kind_shift;
	text.kind = bits & 7;
	if (text.kind != 1 && text.kind != 2 && text.kind != 4)
		return -EBADMSG;
	if (text.len > INT64_MAX)
		return -EBADMSG;
	if (!(bits & 8))
		text.data_addr = get_word(head, layout->str_any);
	else
		text.data_addr =
			addr + (bits & 16 ? layout->str_ascii_data : layout->str_compact_data);
	if (!text.data_addr)
		return -EBADMSG;
	*ret = text;
	return 0;
}

/*
 * The head and what follows it, in one read if possible: short strings may end where mapped memory
 * does, so otherwise no further than the page. *ret_bytes are valid, the rest is 0.
 */
static int read_head(const struct ep_unwinder_host *host, const struct ep_target *target,
		     uint64_t addr, uint8_t head[GUESS_BYTES], size_t *ret_bytes)
{
	size_t in_page = PAGE_BYTES - addr % PAGE_BYTES;
	int r;

	r = host->target_read(target, addr, head, GUESS_BYTES);
	*ret_bytes = GUESS_BYTES;
	if (r != -EFAULT || in_page >= GUESS_BYTES)
		return r;
	memset(head, 0, GUESS_BYTES);
	*ret_bytes = in_page;
	return host->target_read(target, addr, head, in_page);
}

int py_text_read(const struct ep_unwinder_host *host, const struct ep_target *target,
		 const struct py_code_layout *layout, uint64_t addr, char *buf, size_t size)
{
	uint8_t head[GUESS_BYTES], characters[MAX_CHARACTERS * 4];
	size_t got, n;
	struct text text;
	uint64_t off;
	int r;

	r = read_head(host, target, addr, head, &got);
	if (r < 0)
		return r;
	r = parse_head(layout, addr, head, got, &text);
	if (r < 0)
		return r;
	n = EP_MIN(EP_MIN(text.len, (uint64_t)MAX_CHARACTERS), (uint64_t)size);
	off = text.data_addr - addr;
	if (ep_in_bounds(off, n * text.kind, got)) {
		py_text_encode(head + off, n, text.kind, n < text.len, buf, size);
		return 0;
	}
	r = n ? host->target_read(target, text.data_addr, characters, n * text.kind) : 0;
	if (r < 0)
		return r;
	py_text_encode(characters, n, text.kind, n < text.len, buf, size);
	return 0;
}
