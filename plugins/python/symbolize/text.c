/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/python/symbolize/text.h"

#include "core/base/util.h"
#include "plugins/python/symbolize/code.h"
#include "plugins/shared/text/writer.h"

#include <errno.h>
#include <string.h>

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
	return character;
}

void py_text_encode(const uint8_t *data, size_t n, unsigned int kind, bool more, char *buf,
		    size_t size)
{
	struct text_writer writer = {.buf = buf, .size = size};

	for (size_t i = 0; i < n && !writer.is_full; i++)
		text_put(&writer, get_character(data, i, kind));
	text_end(&writer, more);
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
