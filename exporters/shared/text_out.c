/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/text_out.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct ep_text_out *ep_text_out_new(struct ep_sink *sink)
{
	struct ep_text_out *out = malloc(sizeof(*out));

	if (out) {
		out->sink = sink;
		out->error = 0;
		out->used = 0;
	}
	return out;
}

static void hand_over(struct ep_text_out *out)
{
	if (out->error == 0)
		out->error = ep_sink_write(out->sink, out->buf, out->used);
	out->used = 0;
}

int ep_text_out_end(struct ep_text_out *out)
{
	int r;

	hand_over(out);
	r = out->error;
	free(out);
	return r;
}

void ep_text_out_put(struct ep_text_out *out, const char *text, size_t bytes)
{
	while (bytes > 0) {
		size_t n = EP_MIN(bytes, EP_TEXT_OUT_BYTES - out->used);

		memcpy(out->buf + out->used, text, n);
		out->used += n;
		text += n;
		bytes -= n;
		if (out->used == EP_TEXT_OUT_BYTES)
			hand_over(out);
	}
}

void ep_text_out_str(struct ep_text_out *out, const char *text)
{
	ep_text_out_put(out, text, strlen(text));
}

void ep_text_out_char(struct ep_text_out *out, char c)
{
	out->buf[out->used++] = c;
	if (out->used == EP_TEXT_OUT_BYTES)
		hand_over(out);
}

void ep_text_out_u64(struct ep_text_out *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	ep_text_out_put(out, digits + at, sizeof(digits) - at);
}

void ep_text_out_printf(struct ep_text_out *out, const char *fmt, ...)
{
	char text[256];
	va_list list;
	int n;

	va_start(list, fmt);
	n = vsnprintf(text, sizeof(text), fmt, list);
	va_end(list);
	if (n > 0)
		ep_text_out_put(out, text, EP_MIN((size_t)n, sizeof(text) - 1));
}

void ep_text_out_name(struct ep_text_out *out, const char *text, size_t bytes, char from, char to)
{
	size_t done = 0; /* what stands before is written */

	for (size_t i = 0; i < bytes; i++) {
		bool is_control = (unsigned char)text[i] < ' ' || text[i] == 0x7f;

		if (!is_control && text[i] != from)
			continue;
		ep_text_out_put(out, text + done, i - done);
		ep_text_out_char(out, is_control ? '?' : to);
		done = i + 1;
	}
	ep_text_out_put(out, text + done, bytes - done);
}
