/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/python/symbolize/text.h"

#include "core/base/util.h"
#include "plugins/python/symbolize/names.h"
#include "plugins/shared/text/writer.h"

#include <errno.h>
#include <string.h>

#define HEAD_BYTES     256  /* above what it has in any version */
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

static int parse_head(const struct py_code_layout *layout, uint64_t addr, const uint8_t *head,
		      size_t bytes, struct text *ret)
{
	struct text text = {0};
	uint32_t state, bits;

	if (layout->str_length + 8u > bytes || layout->str_state + 4u > bytes ||
	    layout->str_any + 8u > HEAD_BYTES)
		return -EBADMSG;
	text.len = ep_get_u64(head + layout->str_length);
	memcpy(&state, head + layout->str_state, sizeof(state));
	bits = state >> layout->str_kind_shift;
	text.kind = bits & 7;
	if (text.kind != 1 && text.kind != 2 && text.kind != 4)
		return -EBADMSG;
	if (text.len > INT64_MAX)
		return -EBADMSG;
	if (!(bits & 8))
		text.data_addr = ep_get_u64(head + layout->str_any);
	else
		text.data_addr =
			addr + (bits & 16 ? layout->str_ascii_data : layout->str_compact_data);
	if (!text.data_addr)
		return -EBADMSG;
	*ret = text;
	return 0;
}

int py_text_read(const struct memory *memory, const struct py_code_layout *layout, uint64_t addr,
		 char *buf, size_t size)
{
	uint8_t head[HEAD_BYTES], characters[MAX_CHARACTERS * 4];
	size_t got, n;
	struct text text = {0};
	uint64_t off;
	int r;

	r = memory_read_head(memory, addr, head, EP_MIN(layout->str_any + 8u, HEAD_BYTES), &got);
	if (r == 0)
		r = parse_head(layout, addr, head, got, &text);
	if (r < 0)
		return r;
	n = EP_MIN(EP_MIN(text.len, (uint64_t)MAX_CHARACTERS), (uint64_t)size);
	off = text.data_addr - addr;
	if (ep_in_bounds(off, n * text.kind, got)) {
		py_text_encode(head + off, n, text.kind, n < text.len, buf, size);
		return 0;
	}
	r = n ? memory_read(memory, text.data_addr, characters, n * text.kind) : 0;
	if (r < 0)
		return r;
	py_text_encode(characters, n, text.kind, n < text.len, buf, size);
	return 0;
}
