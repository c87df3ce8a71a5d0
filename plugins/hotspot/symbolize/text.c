/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/symbolize/text.h"

#include "core/base/util.h"
#include "plugins/shared/text/writer.h"

#include <errno.h>
#include <string.h>

#define GUESS_BYTES 64 /* most symbols with their heads; hotspot_keep.bpf.c keeps no less */
#define MAX_BODY    4096

/* Up to three bytes at *i as one UTF-16 unit; 0xfffd and one byte further where there is none. */
static uint32_t get_unit(const uint8_t *bytes, size_t n, size_t *i)
{
	size_t at = *i, left = n - at;
	uint32_t first = bytes[at];

	*i = at + 1;
	if (first < 0x80)
		return first;
	if (first >> 5 == 6 && left >= 2 && bytes[at + 1] >> 6 == 2) {
		*i = at + 2;
		return (first & 31) << 6 | (bytes[at + 1] & 63);
	}
	if (first >> 4 == 14 && left >= 3 && bytes[at + 1] >> 6 == 2 && bytes[at + 2] >> 6 == 2) {
		*i = at + 3;
		return (first & 15) << 12 | (bytes[at + 1] & 63u) << 6 | (bytes[at + 2] & 63u);
	}
	return TEXT_REPLACEMENT;
}

void hotspot_text_encode(const uint8_t *bytes, size_t n, bool more, char *buf, size_t size)
{
	struct text_writer writer = {.buf = buf, .size = size};

	for (size_t i = 0; i < n && !writer.is_full;)
		text_put_unit(&writer, get_unit(bytes, n, &i));
	text_end(&writer, more);
}

/* One that nobody refers to is freed, or will be (share/oops/symbol.cpp, decrement_refcount, 8 to
 * 27). */
static bool is_alive(const struct hotspot_layout *layout, const uint8_t *head)
{
	uint16_t count;

	memcpy(&count, head + hotspot_symbol_shift(layout) / 8, sizeof(count));
	return count != 0;
}

int hotspot_symbol_read(const struct memory *memory, const struct hotspot_layout *layout,
			uint64_t addr, char *buf, size_t size)
{
	uint32_t body = hotspot_off(layout, HOTSPOT_F_names_symbol_body);
	uint8_t head[GUESS_BYTES], bytes[MAX_BODY];
	size_t got, len, n;
	int r;

	if (!addr)
		return -EBADMSG;
	r = memory_read_head(memory, addr, head, sizeof(head), &got);
	if (r < 0)
		return r;
	if (!is_alive(layout, head))
		return -EBADMSG;
	len = hotspot_get(layout, HOTSPOT_F_names_symbol_bytes, head, got);
	n = EP_MIN(len, EP_MIN((size_t)MAX_BODY, size));
	if (ep_in_bounds(body, n, got)) {
		hotspot_text_encode(head + body, n, n < len, buf, size);
		return 0;
	}
	r = memory_read(memory, addr + body, bytes, n);
	if (r < 0)
		return r;
	hotspot_text_encode(bytes, n, n < len, buf, size);
	return 0;
}

static bool is_all(const char *text, const char *of)
{
	return *text && strspn(text, of) == strlen(text);
}

/*
 * A hidden class is its name, "+0x" and an address (mangle_hidden_class_name,
 * share/classfile/classFileParser.cpp, 15 on). Classes of lambdas are numbered in 8, 11 and
 * 17 (the class library's InnerClassLambdaMetafactory: "$$Lambda$" and a counter), and were seen
 * not to be in 21.
 */
void hotspot_class_name(char *name)
{
	char *tail = strrchr(name, '+');

	if (tail && strncmp(tail, "+0x", 3) == 0 && is_all(tail + 3, "0123456789abcdef"))
		*tail = '\0';
	tail = strrchr(name, '$');
	if (tail && tail - name >= 8 && strncmp(tail - 8, "$$Lambda", 8) == 0 &&
	    is_all(tail + 1, "0123456789"))
		*tail = '\0';
	for (char *c = name; *c; c++) {
		if (*c == '/')
			*c = '.';
	}
}
